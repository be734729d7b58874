/* ctgp forecast: the next rows of a series. */
#include "commands.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bands.h"
#include "context.h"
#include "failure.h"
#include "open.h"
#include "options.h"
#include "origins.h"
#include "result.h"
#include "series.h"
#include "text.h"

/* What a command line asks for. */
typedef struct request {
    const char *files[MOST_FILES], *out, *until;
    long steps, origins;
    bands bands;
} request;

/* -- the rows -------------------------------------------------------------------------------------------- */

/* "2027-01", or a number, as the feature is. */
static double read_until(ctgp *c, const ct_column *input, const char *text)
{
    double value;
    const bool time = input->kind == CT_COLUMN_TIME;
    const size_t size = strlen(text);
    const bool right = time ? ct_time_read_as(text, size, input->form, &value) == CT_TIME
                            : ct_number_read(text, size, &value) == CT_NUMBER;
    if (!right)
        fail(c, CODE_USAGE, "--until: '%s' is no %s, as '%s' is", text, time ? "time" : "number",
             input->name);
    return value;
}

/* As many as are asked for, or up to a place; else a tenth of the model's rows. */
static int64_t count_steps(ctgp *c, const request *r, const series *of, const ct_column *input)
{
    const double last = of->x[of->n - 1];
    int64_t steps = 0;
    if (r->steps) return r->steps;
    if (!r->until) return of->n < 10 ? 1 : of->n / 10;
    const double until = read_until(c, input, r->until), slack = 1e-6 * of->space.step;
    if (until - last > 1e6 * of->space.step)
        fail(c, CODE_USAGE, "--until %s: more than a million rows of spacing %.6g", r->until, of->space.step);
    while (spacing_next(&of->space, last, steps + 1) <= until + slack) steps++;
    if (!steps) fail(c, CODE_USAGE, "--until %s: the next row of '%s' comes later", r->until, input->name);
    return steps;
}

static const char *place_text(ctgp *c, const ct_column *input, double x)
{
    char time[CT_TIME_TEXT];
    if (input->kind != CT_COLUMN_TIME) return text_of(c, "%.12g", x);
    ct_time_write(x, time);
    return text_of(c, "%s", time);
}

/* The mean and deviations of all outputs at x [n]. */
static prediction *predict_at(ctgp *c, const model_file *m, const double *x, int64_t n)
{
    prediction *p = take(c, m->n, sizeof *p, "outputs");
    for (int64_t j = 0; j < m->n; j++) p[j] = prediction_of(c, m->gp[j], x, NULL, n);
    return p;
}

static void forecast(ctgp *c, const request *r)
{
    const model_file m = model_open(c, r->files[0], r->origins > 0);
    const ct_column *input = ct_gp_input(m.gp[0], 0);
    const series of = series_of(c, m.gp[0]);
    const int64_t steps = count_steps(c, r, &of, input);
    double *x = take(c, steps, sizeof *x, "rows");
    sheet to = { .rows = steps };
    const char **place = sheet_texts(c, &to, input->name);
    for (int64_t i = 0; i < steps; i++) {
        x[i] = spacing_next(&of.space, of.x[of.n - 1], i + 1);
        if (!isfinite(x[i]))
            fail(c, CODE_USAGE, "row %lld of the forecast lies beyond the year 9999: ask for fewer",
                 (long long)i + 1);
        place[i] = place_text(c, input, x[i]);
    }
    if (!of.space.even)
        note("the rows of '%s' are not evenly spaced: the forecast has their median spacing, %.6g%s",
             input->name, of.space.step, input->kind == CT_COLUMN_TIME ? " days" : "");
    add_outputs(c, &to, &m, predict_at(c, &m, x, steps), &r->bands);
    sheet_write(c, &to, r->out);
    writer w = result_begin(c, is_standard(r->out) ? stderr : stdout);
    WRITE(&w, field_begin(NULL, '{', NULL));
    if (r->origins) write_origins(&w, m.gp[0], &of, r->origins, steps);
    WRITE(&w, field_number("steps", "steps=%.0f ", (double)steps), field_word("first", "first=%s ", place[0]),
          field_word("last", "last=%s ", place[steps - 1]), field_word("out", "out=%s\n", r->out),
          field_end('}', NULL));
    result_end(&w);
}

void run_forecast(ctgp *c, int argc, char **argv)
{
    request r = { .out = "-" };
    const char *levels = "0.95", *quantiles = NULL;
    const option options[] = {
        { "--steps", "N", "how many rows; a tenth of the model's unless given", .whole = &r.steps, .least = 1,
          .most = 1000000 },
        { "--until", "T", "or up to this time, as 2027-01, or number", .text = &r.until },
        { "--origins", "K", "score forecasts from K earlier rows, each as long, beside simple ones",
          .whole = &r.origins, .least = 2, .most = 1000 },
        { "--out", "FILE.csv", "where to write; standard output unless given, or for -", .text = &r.out,
          .output = true },
        { "--level", "P,...", "intervals to write: columns lower95, upper95 for 0.95, the default",
          .text = &levels },
        { "--quantiles", "P,...", "quantiles to write: column q0.1 for 0.1", .text = &quantiles },
    };
    const command usage = {
        .name = "forecast",
        .files = { "MODEL" },
        .needed = 1,
        .summary = "Predicts the rows that follow those of a model of one time or number, in their spacing.",
        .details = "Columns: that of the feature, then as those of predict. Rows that are a month, a quarter "
                   "or a year\n"
                   "apart go on in the calendar; others have the spacing of the model's rows, or their "
                   "median spacing\n"
                   "if it is uneven.\n"
                   "--origins tells how good forecasts of this length were: the means of K, with standard "
                   "errors, and\n"
                   "beside them those of the last season, of the last value, and of the line through the "
                   "first and the\n"
                   "last value.",
        .shared = OF_OUTPUTS | OF_DEVICE | OF_RESULT,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    parse_arguments(c, &usage, argc, argv, r.files);
    if (r.steps && r.until) fail(c, CODE_USAGE, "--until says how many rows: leave --steps out, or --until");
    r.bands = read_bands(c, levels, quantiles);
    forecast(c, &r);
}
