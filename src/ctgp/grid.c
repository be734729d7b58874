/* ctgp grid: the function over one or two inputs, as a table. */
#include "commands.h"

#include <math.h>
#include <stdio.h>

#include "context.h"
#include "failure.h"
#include "names.h"
#include "open.h"
#include "options.h"
#include "score.h"
#include "slice.h"
#include "table.h"
#include "text.h"

typedef struct request {
    const char *files[MOST_FILES], *over, *out;
    long points;
    bool noisy;
} request;

static side grid_side(ctgp *c, const request *r, const span *s, int64_t j)
{
    const double asked = ceil((s[j].hi - s[j].lo) / s[j].step / 2.5);
    if (asked > (double)r->points && !s[j].levels)
        note("the kernel's waves over %s need %.4g points: --points", s[j].input->name, asked);
    return side_make(c, &s[j], j, s[j].lo, s[j].hi, s[j].lo < s[j].hi ? r->points : 1);
}

/* A value of an input as a table has it. */
static const char *value_text(ctgp *c, const span *s, double value)
{
    char text[CT_TIME_TEXT];
    if (s->input->levels) return value < 0 ? "" : s->input->levels[(int64_t)value];
    if (is_number(s->input)) return number_text(c, value);
    return ct_time_write(value, text), text_of(c, "%s", text);
}

/* All inputs, as ctgp predict reads them, and the prediction. */
static void write_grid(ctgp *c, const request *r, const span *s, int64_t d, const side *a, const side *b,
                       const prediction *p)
{
    const int64_t n = p->data.n_rows, inner = b ? b->n : 1;
    sheet to = { .rows = n };
    for (int64_t j = 0; j < d; j++) {
        const char **texts = sheet_texts(c, &to, s[j].input->name), *held = value_text(c, &s[j], s[j].held);
        for (int64_t i = 0; i < n; i++)
            texts[i] = j == a->j        ? value_text(c, &s[j], a->at[i / inner])
                       : b && j == b->j ? value_text(c, &s[j], b->at[i % inner])
                                        : held;
    }
    double *mean = sheet_values(c, &to, "mean"), *std = sheet_values(c, &to, "std"),
           *median = p->transform.kind ? sheet_values(c, &to, "median") : NULL,
           *low = sheet_values(c, &to, "lower95"), *high = sheet_values(c, &to, "upper95");
    for (int64_t i = 0; i < n; i++) {
        prediction_moments(p, i, &mean[i], &std[i]);
        if (median) median[i] = prediction_quantile(p, i, 0);
        low[i] = prediction_quantile(p, i, -Z95), high[i] = prediction_quantile(p, i, Z95);
    }
    sheet_write(c, &to, r->out);
}

static void make(ctgp *c, const request *r)
{
    const model_file m = model_open(c, r->files[0], true);
    const prediction *at_rows = prediction_make(c, m.gp, 1, r->files[1]);
    const span *s = spans_of(c, &at_rows->data, m.gp[0]);
    int64_t which[2];
    const int64_t d = ct_gp_dims(m.gp[0]), n = spans_choose(c, s, d, "--over", r->over, which);
    if (n < 1 || n > 2)
        fail(c, CODE_DATA, "%s: %lld inputs vary in the table; --over A,B says over which the grid is",
             r->files[1], (long long)n);
    const side a = grid_side(c, r, s, which[0]), b = n > 1 ? grid_side(c, r, s, which[1]) : (side){ .n = 1 };
    const prediction p = slice_predict(c, m.gp[0], s, &a, n > 1 ? &b : NULL, r->noisy);
    write_grid(c, r, s, d, &a, n > 1 ? &b : NULL, &p);
    say(is_standard(r->out) ? stderr : stdout, "rows=%lld of=%s out=%s\n", (long long)p.data.n_rows,
        r->noisy ? "observations" : "function", r->out);
}

void run_grid(ctgp *c, int argc, char **argv)
{
    request r = { .points = 50, .out = "-" };
    const option options[] = {
        { "--over", "A,B",
          "the inputs that run through their range in DATA.csv, one or two; those that vary "
          "there unless given",
          .text = &r.over },
        { "--points", "N", "values of each number or time; 50 unless given", .whole = &r.points, .least = 2,
          .most = 1000 },
        { "--noisy", NULL, "predict new observations, with noise, instead of the function",
          .flag = &r.noisy },
        { "--out", "FILE.csv", "where to write; standard output unless given, or for -", .text = &r.out,
          .output = true },
    };
    const command usage = {
        .name = "grid",
        .files = { "MODEL", "DATA.csv" },
        .needed = 2,
        .summary = "Writes the function, without noise, over one or two inputs: a map as a table.",
        .details =
            "Other inputs are held at their median in DATA.csv, categories at their most frequent level. "
            "The\n"
            "columns are all inputs, mean, std, lower95 and upper95, after fit --transform also median.",
        .shared = OF_OUTPUTS | OF_TABLES | OF_ROWS | OF_DEVICE,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    parse_arguments(c, &usage, argc, argv, r.files);
    make(c, &r);
}
