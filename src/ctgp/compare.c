/* ctgp compare: says which of two models predicts better, by the paired differences of their losses. */
#include "ctgp.h"

#include <math.h>
#include <string.h>

/* A model, and its losses in n rows: squared error and minus the log density. */
typedef struct side {
    const char *path;
    model_file m;
    ct_gp *gp;
    prediction p;
    int64_t n;
    double *square, *nlpd;
} side;

/* The differences B - A over the rows. */
typedef struct difference {
    double mean, error; /* the mean's standard error */
} difference;

typedef struct verdict {
    int64_t n;
    double rmse[2], nlpd[2];
    difference square, density;
} verdict;

/* -- the losses ------------------------------------------------------------------------------------------ */

static void make_room(ctgp *c, side *s, int64_t n)
{
    s->n = n;
    s->square = take(c, n, sizeof *s->square, "rows");
    s->nlpd = take(c, n, sizeof *s->nlpd, "rows");
}

/* The losses in all rows of a table; NaN where an input or the target is missing. */
static void losses_in_table(ctgp *c, side *s, const char *path, const ct_csv_options *how)
{
    if (!going(c)) return;
    source t;
    source_open(c, &t, s->m.device, path);
    prediction_make(c, &s->p, s->gp, &t, how);
    source_close(&t);
    frame_needs(c, &s->p.data, ct_gp_output(s->gp)->name);
    make_room(c, s, ct_table_rows(s->p.data.table));
    if (!going(c)) return;
    const int64_t m = s->p.data.n_rows;
    prediction_losses(&s->p, s->square, s->nlpd);
    /* From the last row on, since the chosen row k moves to rows[k] >= k. */
    for (int64_t i = s->n - 1, k = m - 1; i >= 0; i--) {
        const bool chosen = k >= 0 && s->p.data.rows[k] == i;
        const double a = chosen ? s->square[k] : NAN, b = chosen ? s->nlpd[k] : NAN;
        if (chosen) k--;
        s->square[i] = a, s->nlpd[i] = b;
    }
}

/* The losses in the rows that the model has learned, each predicted from all others. */
static void losses_left_out(ctgp *c, side *s)
{
    left_out l = { 0 };
    make_room(c, s, ct_gp_points(s->gp));
    left_out_make(c, &l, s->gp, NULL);
    for (int64_t i = 0; i < s->n && going(c); i++) {
        s->square[i] = l.square[i];
        s->nlpd[i] = -l.rows[3 * i + 2];
    }
}

/* Fails unless both models have learned the same targets, in the same order. */
static void check_targets(ctgp *c, const side *a, const side *b)
{
    if (!going(c)) return;
    const int64_t n = ct_gp_points(a->gp);
    double *x[2] = { NULL, NULL }, *y[2] = { NULL, NULL }, largest = 0;
    bool same = n == ct_gp_points(b->gp);
    if (same) model_rows(c, a->gp, &x[0], &y[0]);
    if (same) model_rows(c, b->gp, &x[1], &y[1]);
    for (int64_t i = 0; i < n && same && going(c); i++) largest = fmax(largest, fabs(y[0][i]));
    for (int64_t i = 0; i < n && same && going(c); i++) same = fabs(y[0][i] - y[1][i]) <= 1e-5 * largest;
    if (!same)
        fail(c, CODE_DATA,
             "%s and %s have not learned the same targets, so that their leave-one-out scores say nothing: "
             "give a table to compare them on, ctgp compare A B DATA.csv",
             a->path, b->path);
}

/* -- the comparison -------------------------------------------------------------------------------------- */

static difference difference_of(const double *a, const double *b, int64_t n)
{
    double count = 0, mean = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        if (isnan(a[i]) || isnan(b[i])) continue;
        const double d = b[i] - a[i], step = d - mean;
        mean += step / ++count;
        squares += step * (d - mean);
    }
    return (difference){ mean, count > 1 ? sqrt(squares / (count - 1) / count) : NAN };
}

static verdict judge(const side *a, const side *b)
{
    verdict v = { .square = difference_of(a->square, b->square, a->n),
                  .density = difference_of(a->nlpd, b->nlpd, a->n) };
    for (int64_t i = 0; i < a->n; i++) {
        if (isnan(a->square[i]) || isnan(b->square[i])) continue;
        v.n++;
        v.rmse[0] += a->square[i], v.rmse[1] += b->square[i];
        v.nlpd[0] += a->nlpd[i], v.nlpd[1] += b->nlpd[i];
    }
    for (int k = 0; k < 2; k++) {
        v.rmse[k] = sqrt(v.rmse[k] / (double)v.n);
        v.nlpd[k] /= (double)v.n;
    }
    return v;
}

/* -1: A is better by two standard errors; 1: B is; 0: neither. */
static int better(difference d) { return fabs(d.mean) > 2 * d.error ? (d.mean > 0 ? -1 : 1) : 0; }

static void print_verdict(const verdict *v, const side *a, const side *b, bool left_out_rows)
{
    const int by[2] = { better(v->square), better(v->density) };
    const char *name[] = { a->path, b->path };
    printf("%-28s %-12s %s\n", left_out_rows ? "leave-one-out" : "", "rmse", "nlpd");
    for (int k = 0; k < 2; k++) say_line("%-28s %-12.6g %.6g", name[k], v->rmse[k], v->nlpd[k]);
    printf("B minus A per row: squared error %.4g +- %.2g, nlpd %.4g +- %.2g "
           "(standard errors of %lld rows)\n",
           v->square.mean, v->square.error, v->density.mean, v->density.error, (long long)v->n);
    if (by[0] && by[0] == by[1])
        say_line("%s is better, in its means and in its densities", name[by[0] > 0]);
    else if (by[0] && by[1])
        say_line("%s has the better means, %s the better densities", name[by[0] > 0], name[by[1] > 0]);
    else if (by[0])
        say_line("%s has the better means; these rows do not show whose densities are better",
                 name[by[0] > 0]);
    else if (by[1])
        say_line("%s has the better densities; these rows do not show whose means are better",
                 name[by[1] > 0]);
    else
        printf("these rows do not show which is better: no difference exceeds two standard errors\n");
}

static void json_difference(json *j, const char *name, difference d)
{
    static const char *const winner[] = { "A", NULL, "B" };
    json_open(j, name, '{');
    json_number(j, "mean", d.mean);
    json_number(j, "standard_error", d.error);
    json_string(j, "better", winner[better(d) + 1]);
    json_close(j, '}');
}

static void json_verdict(const verdict *v, const side *a, const side *b, bool left_out_rows)
{
    json j = { .to = stdout };
    json_open(&j, NULL, '{');
    json_whole(&j, "n", v->n);
    json_flag(&j, "leave_one_out", left_out_rows);
    for (int k = 0; k < 2; k++) {
        json_open(&j, k ? "B" : "A", '{');
        json_string(&j, "model", k ? b->path : a->path);
        json_number(&j, "rmse", v->rmse[k]);
        json_number(&j, "nlpd", v->nlpd[k]);
        json_close(&j, '}');
    }
    json_difference(&j, "squared_error", v->square);
    json_difference(&j, "nlpd", v->density);
    json_close(&j, '}');
    putchar('\n');
}

static void compare(ctgp *c, side *a, side *b, const char *table, const ct_csv_options *how, bool as_json)
{
    if (!going(c)) return;
    if (strcmp(ct_gp_output(a->gp)->name, ct_gp_output(b->gp)->name) != 0)
        fail(c, CODE_DATA, "%s predicts '%s' and %s '%s': there is nothing to compare", a->path,
             ct_gp_output(a->gp)->name, b->path, ct_gp_output(b->gp)->name);
    if (!table) check_targets(c, a, b);
    for (int k = 0; k < 2; k++)
        if (table)
            losses_in_table(c, k ? b : a, table, how);
        else
            losses_left_out(c, k ? b : a);
    if (!going(c)) return;
    const verdict v = judge(a, b);
    if (v.n < 2)
        fail(c, CODE_DATA, "%s: %lld rows have a target and all inputs of both models; it takes at least 2",
             table ? table : a->path, (long long)v.n);
    if (!going(c)) return;
    (as_json ? json_verdict : print_verdict)(&v, a, b, !table);
    if (!table) tell_joint(&a->m);
    if (!table) tell_joint(&b->m);
}

static void open_side(ctgp *c, side *s, const char *device, const char *output)
{
    model_open(c, &s->m, device, s->path, output, true);
    if (going(c)) s->gp = s->m.gp[0];
}

void run_compare(ctgp *c, int argc, char **argv)
{
    const char *device = NULL, *as_json = NULL, *output = NULL, *paths[3];
    dialect d = { 0 };
    ct_csv_options how;
    const option options[] = {
        OUTPUT_OPTION(output),
        DIALECT_OPTIONS(d),
        UNSEEN_OPTION(d),
        DEVICE_OPTION(device),
        { "--json", NULL, "the result as one line of JSON", &as_json },
    };
    const command usage = {
        .name = "compare",
        .arguments = "A.ctgp B.ctgp [DATA.csv]",
        .summary = "Says which of two models predicts better: on DATA.csv, or by leave-one-out.",
        .details =
            "Both models are scored in the same rows. Without DATA.csv both must have learned the same\n"
            "targets, as two fits of one table have. The verdict is on the mean of the differences from row\n"
            "to row: a model is called better if that is beyond two standard errors.",
        .n_positional = 2,
        .n_optional = 1,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    parse_arguments(c, &usage, argc, argv, paths);
    parse_dialect(c, &d, &how);
    if (going(c) && paths[2] && is_stream(paths[2]))
        fail(c, CODE_USAGE, "%s can be read once, and each model reads DATA.csv: make it a file",
             is_standard(paths[2]) ? "standard input" : paths[2]);
    side a = { .path = paths[0], .p.target = -1 }, b = { .path = paths[1], .p.target = -1 };
    open_side(c, &a, device, output);
    open_side(c, &b, device, output);
    compare(c, &a, &b, paths[2], &how, as_json != NULL);
}
