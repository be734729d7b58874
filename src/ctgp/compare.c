/* ctgp compare: says which of two models predicts better, by the paired differences of their losses. */
#include "commands.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "context.h"
#include "failure.h"
#include "frame.h"
#include "learned.h"
#include "loo.h"
#include "model.h"
#include "numbers.h"
#include "open.h"
#include "options.h"
#include "result.h"
#include "score.h"
#include "table.h"
#include "text.h"

/* A model, and its losses in n rows. */
typedef struct side {
    model_file m;
    int64_t n;
    row_loss *loss;
} side;

/* The differences B - A over the rows. */
typedef struct difference {
    double mean, error; /* the mean's standard error */
} difference;

typedef struct verdict {
    score of[2];
    difference square, density;
} verdict;

/* -- the losses ------------------------------------------------------------------------------------------ */

/* The losses in all rows of a table. */
static void losses_in_table(ctgp *c, side *s, const char *path)
{
    const prediction *p = prediction_make(c, s->m.gp, 1, path);
    frame_column(c, &p->data, ct_gp_output(s->m.gp[0])->name);
    const row_loss *chosen = prediction_losses(c, p);
    s->n = ct_table_rows(p->data.table);
    s->loss = take(c, s->n, sizeof *s->loss, "rows");
    for (int64_t i = 0; i < s->n; i++) s->loss[i] = no_loss;
    for (int64_t k = 0; k < p->data.n_rows; k++) s->loss[p->data.rows[k]] = chosen[k];
}

/* The losses in the rows that the model has learned, each predicted from all others. */
static void losses_left_out(ctgp *c, side *s)
{
    const left_out l = left_out_make(c, s->m.gp[0], NULL);
    s->n = l.n;
    s->loss = l.loss;
}

/* Whether both models have learned the same targets, in the same order. */
static bool have_same_targets(ctgp *c, ct_gp *a, ct_gp *b)
{
    const int64_t n = ct_gp_points(a);
    if (n != ct_gp_points(b)) return false;
    const double *x = model_targets(c, a), *y = model_targets(c, b);
    double largest = 0, apart = 0;
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(x[i]));
        apart = fmax(apart, fabs(x[i] - y[i]));
    }
    return apart <= 1e-5 * largest;
}

/* -- the comparison -------------------------------------------------------------------------------------- */

/* Of the values, NaN for rows that do not count. */
static difference difference_of(const double *d, int64_t n)
{
    const moments m = moments_of(d, n, 1);
    return (difference){ m.mean, sqrt(m.variance / (m.n - 1)) };
}

/* Only rows with losses of both count. */
static verdict judge(ctgp *c, side *a, side *b)
{
    double *square = take(c, a->n, sizeof *square, "rows"), *nlpd = take(c, a->n, sizeof *nlpd, "rows");
    for (int64_t i = 0; i < a->n; i++) {
        square[i] = b->loss[i].square - a->loss[i].square;
        nlpd[i] = b->loss[i].nlpd - a->loss[i].nlpd;
        if (isnan(square[i])) a->loss[i] = b->loss[i] = no_loss;
    }
    return (verdict){ .of = { score_of(a->loss, a->n), score_of(b->loss, b->n) },
                      .square = difference_of(square, a->n),
                      .density = difference_of(nlpd, a->n) };
}

/* -1: A is better by two standard errors; 1: B is; 0: neither. */
static int better(difference d) { return fabs(d.mean) > 2 * d.error ? (d.mean > 0 ? -1 : 1) : 0; }

/* `names` are those of A and B. */
static void print_winner(FILE *to, const verdict *v, const char *const names[2])
{
    const int means = better(v->square), densities = better(v->density);
    const char *best = names[means > 0], *surest = names[densities > 0];
    if (means && means == densities)
        say(to, "%s is better, in its means and in its densities\n", best);
    else if (means && densities)
        say(to, "%s has the better means, %s the better densities\n", best, surest);
    else if (means)
        say(to, "%s has the better means; these rows do not show whose densities are better\n", best);
    else if (densities)
        say(to, "%s has the better densities; these rows do not show whose means are better\n", surest);
    else
        say(to, "these rows do not show which is better: no difference exceeds two standard errors\n");
}

/* "squared error 0.1 +- 0.02" */
static void write_difference(writer *w, const char *name, const char *text, difference d)
{
    static const char *const winner[] = { "A", NULL, "B" };
    WRITE(w, field_begin(name, '{', text), field_number("mean", "%.4g ", d.mean),
          field_number("standard_error", "+- %.2g", d.error),
          field_word("better", NULL, winner[better(d) + 1]), field_end('}', NULL));
}

static void write_verdict(writer *w, const verdict *v, const char *const names[2], bool left_out_rows)
{
    WRITE(w, field_begin(NULL, '{', NULL), field_number("n", NULL, (double)v->of[0].n),
          field_flag("leave_one_out", NULL, left_out_rows),
          field_text("%-28s rmse         nlpd\n", left_out_rows ? "leave-one-out" : ""));
    for (int k = 0; k < 2; k++)
        WRITE(w, field_begin(k ? "B" : "A", '{', NULL), field_word("model", "%-28s ", names[k]),
              field_number("rmse", "%-12.6g ", v->of[k].rmse), field_number("nlpd", "%.6g\n", v->of[k].nlpd),
              field_end('}', NULL));
    write_difference(w, "squared_error", "B minus A per row: squared error ", v->square);
    write_difference(w, "nlpd", ", nlpd ", v->density);
    WRITE(w, field_count(" (standard errors of %.0f rows)\n", (double)v->of[0].n), field_end('}', NULL));
    if (!w->json) print_winner(w->to, v, names);
}

/* `table` NULL: by leave-one-out. */
static void compare(ctgp *c, side s[2], const char *table)
{
    const char *names[] = { s[0].m.path, s[1].m.path };
    ct_gp *a = s[0].m.gp[0], *b = s[1].m.gp[0];
    const char *x = ct_gp_output(a)->name, *y = ct_gp_output(b)->name;
    writer w = result_begin(c, stdout);
    if (strcmp(x, y) != 0)
        fail(c, CODE_DATA, "%s predicts '%s' and %s '%s': there is nothing to compare", names[0], x, names[1],
             y);
    if (!table && !have_same_targets(c, a, b))
        fail(c, CODE_DATA,
             "%s and %s have not learned the same targets, so that their leave-one-out scores say nothing: "
             "give a table to compare them on, ctgp compare A B DATA.csv",
             names[0], names[1]);
    for (int k = 0; k < 2; k++)
        if (table)
            losses_in_table(c, &s[k], table);
        else
            losses_left_out(c, &s[k]);
    const verdict v = judge(c, &s[0], &s[1]);
    if (v.of[0].n < 2)
        fail(c, CODE_DATA, "%s: %lld rows have a target and all inputs of both models; it takes at least 2",
             table ? table : names[0], (long long)v.of[0].n);
    write_verdict(&w, &v, names, !table);
    result_end(&w);
    for (int k = 0; k < 2 && !table; k++) note_joint(&s[k].m);
}

void run_compare(ctgp *c, int argc, char **argv)
{
    const char *files[MOST_FILES];
    const command usage = {
        .name = "compare",
        .files = { "A.ctgp", "B.ctgp", "DATA.csv" },
        .needed = 2,
        .summary = "Says which of two models predicts better: on DATA.csv, or by leave-one-out.",
        .details =
            "Both models are scored in the same rows. Without DATA.csv both must have learned the same\n"
            "targets, as two fits of one table have. The verdict is on the mean of the differences from row\n"
            "to row: a model is called better if that is beyond two standard errors.",
        .shared = OF_OUTPUTS | OF_TABLES | OF_ROWS | OF_DEVICE | OF_RESULT,
    };
    parse_arguments(c, &usage, argc, argv, files);
    if (files[2] && is_stream(files[2]))
        fail(c, CODE_USAGE, "%s can be read once, and each model reads DATA.csv: make it a file",
             is_standard(files[2]) ? "standard input" : files[2]);
    side s[2];
    for (int k = 0; k < 2; k++) s[k] = (side){ .m = model_open(c, files[k], true) };
    compare(c, s, files[2]);
}
