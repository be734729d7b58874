/* ctgp loo: every row of the training data as predicted from the others, or from those of other folds. */
#include "ctgp.h"

#include <limits.h>
#include <math.h>

/* Row i from part: mean and variance s² of z, and the log density -½ log 2πs² - ½ sigmas² + log g'(y), which
 * gives sigmas, as y less the mean would lose digits. */
static void take_row(left_out *l, int64_t i, ct_transform t, const double part[3], double y)
{
    const double slope = ct_transform_log_slope(t, y);
    double *row = l->rows + 3 * i, variance;
    l->sigmas[i] = sqrt(fmax(0, 2 * (slope - part[2]) - log(2 * acos(-1) * part[1])));
    ct_transform_moments(t, part[0], part[1], &row[0], &variance);
    row[1] = sqrt(variance), row[2] = part[2];
    l->square[i] = t.kind ? (y - row[0]) * (y - row[0]) : l->sigmas[i] * l->sigmas[i] * part[1];
}

ct_status left_out_read(ctgp *c, left_out *l, ct_gp *gp, const int64_t *fold)
{
    enum { MEAN, VARIANCE, DENSITY, Y, PARTS };
    const int64_t n = ct_gp_points(gp);
    ct_tensor *part[PARTS] = { NULL };
    double *x = take(c, n, PARTS * sizeof *x, "predictions");
    *l = (left_out){ .n = n, .rows = take(c, n, 5 * sizeof *l->rows, "predictions") };
    for (int k = 0; k < PARTS && going(c); k++)
        part[k] = own_tensor(c, ct_gp_device(gp), ct_empty(ct_gp_device(gp), CT_F64, ct_shape1(n)));
    if (!going(c)) return CT_ENOMEM;
    l->square = l->rows + 3 * n, l->sigmas = l->square + n;
    ct_status s = fold ? ct_gp_cross_validate(gp, fold, part[MEAN], part[VARIANCE], part[DENSITY])
                       : ct_gp_loo(gp, part[MEAN], part[VARIANCE], part[DENSITY]);
    if (!s) s = ct_gp_data(gp, NULL, part[Y]);
    for (int k = 0; k < PARTS && !s; k++) s = ct_read(part[k], x + k * n, (size_t)n * sizeof *x);
    for (int64_t i = 0; i < n && !s; i++)
        take_row(l, i, ct_gp_transform(gp), (double[]){ x[i], x[n + i], x[2 * n + i] }, x[3 * n + i]);
    return s;
}

void left_out_make(ctgp *c, left_out *l, ct_gp *gp, const int64_t *fold)
{
    if (!going(c)) return;
    if (left_out_read(c, l, gp, fold)) fail_device(c, ct_gp_device(gp), NULL);
    for (int64_t i = 0; i < l->n && going(c); i++)
        if (!isfinite(l->square[i]) || !isfinite(l->rows[3 * i + 1]))
            fail(c, CODE_NUMERIC,
                 "row %lld of the model: without it the mean of '%s' is beyond the range of numbers, "
                 "as its %s is so uncertain: leave the row out, or fit without --transform",
                 (long long)i + 1, ct_gp_output(gp)->name, ct_transform_name(ct_gp_transform(gp).kind));
}

typedef struct task {
    const char *path, *table, *out, *by, *json;
    long folds, seed;
    ct_csv_options how;
    frame data; /* the table's rows of the model, if it is given */
    int64_t *fold, n_folds;
} task;

static void choose_folds(ctgp *c, task *t, ct_gp *gp)
{
    const int64_t n = ct_gp_points(gp);
    if (!going(c) || (!t->folds && !t->by)) return;
    if (t->folds > n) fail(c, CODE_USAGE, "--folds %ld: the model has %lld rows", t->folds, (long long)n);
    t->n_folds = t->folds;
    t->fold = take(c, n, sizeof *t->fold, "rows");
    if (t->by)
        folds_by(c, &t->data, t->by, t->fold, &t->n_folds);
    else
        folds_drawn(c, ct_gp_device(gp), n, t->folds, (uint64_t)t->seed, t->fold);
}

/* With the table, its line stands before each row. */
static void write_rows(ctgp *c, const task *t, ct_device *device, const left_out *l)
{
    static const char *const columns[] = { "line", "mean", "std", "log_density" };
    const int first = t->table ? 0 : 1, cols = 4 - first;
    double *rows = take(c, l->n, 4 * sizeof *rows, "rows");
    for (int64_t i = 0; i < l->n && rows; i++) {
        double *row = rows + i * cols;
        if (t->table) row[0] = (double)ct_table_line(t->data.table, t->data.rows[i]);
        for (int k = 0; k < 3; k++) row[1 - first + k] = l->rows[3 * i + k];
    }
    table_write(c, device, NULL, rows, l->n, cols, columns + first, t->out);
}

typedef struct loo_score {
    double n, rmse, nlpd, coverage95;
} loo_score;

static loo_score score_of(const left_out *l)
{
    loo_score s = { .n = (double)l->n };
    for (int64_t i = 0; i < l->n; i++) {
        s.rmse += l->square[i];
        s.nlpd -= l->rows[3 * i + 2];
        s.coverage95 += l->sigmas[i] <= Z95;
    }
    return (loo_score){ s.n, sqrt(s.rmse / s.n), s.nlpd / s.n, s.coverage95 / s.n };
}

/* A `target` of NULL is the only one. */
static void write_loo(const task *t, loo_score s, const char *target, bool optimised, json *j)
{
    const field fields[] = { { "n", s.n, "%.0f", "%.0f" },
                             { t->fold ? "folds" : NULL, (double)t->n_folds, "%.0f", "%.0f" },
                             { "rmse", s.rmse, "%.6g", "%.9g" },
                             { "nlpd", s.nlpd, "%.6g", "%.9g" },
                             { "coverage95", s.coverage95, "%.4g", "%.6g" } };
    if (t->json) {
        json_open(j, NULL, '{');
        if (target) json_string(j, "target", target);
        write_fields(fields, 5, j, NULL);
        json_flag(j, "optimised_on", optimised);
        json_close(j, '}');
    } else {
        if (target) say(j->to, "%s: ", target);
        write_fields(fields, 5, NULL, j->to);
        fputs(optimised ? " (optimised on: new rows do worse)\n" : "\n", j->to);
    }
}

/* Leaves out the rows of output k. */
static void leave_out(ctgp *c, task *t, const model_file *m, int64_t k, source *text, json *j)
{
    if (!going(c)) return;
    const owned *before = c->owned;
    ct_gp *gp = m->gp[k];
    left_out l = { 0 };
    if (t->table) frame_learned(c, &t->data, gp, text, &t->how);
    choose_folds(c, t, gp);
    left_out_make(c, &l, gp, t->fold);
    if (t->out) write_rows(c, t, ct_gp_device(gp), &l);
    if (!going(c)) return;
    const char *target = m->n > 1 ? ct_gp_output(gp)->name : NULL;
    const bool optimised = ct_gp_report(gp).objective_of == CT_OBJECTIVE_LOO;
    if (t->json && target && !k) json_outputs(j, NULL);
    write_loo(t, score_of(&l), target, optimised, j);
    t->fold = NULL;
    give_back(c, before);
}

static void leave_out_all(ctgp *c, task *t, const model_file *m)
{
    if (!going(c)) return;
    source text = { 0 };
    json j = { .to = t->out && is_standard(t->out) ? stderr : stdout };
    if (m->joint && (t->folds || t->by))
        fail(c, CODE_USAGE, "%s: values of joint outputs are left out one by one: leave %s out", t->path,
             t->by ? "--by" : "--folds");
    if (t->table) source_open(c, &text, m->device, t->table);
    for (int64_t k = 0; k < m->n && going(c); k++) leave_out(c, t, m, k, &text, &j);
    if (going(c) && t->json) json_end(&j, m->n > 1);
    source_close(&text);
    if (going(c)) tell_joint(m);
}

void run_loo(ctgp *c, int argc, char **argv)
{
    const char *device_name = NULL, *folds = NULL, *seed = NULL, *output = NULL, *paths[2];
    task t = { 0 };
    dialect d = { 0 };
    const option options[] = {
        { "--folds", "K", "leave out K parts in turn, drawn with --seed, instead of single rows", &folds },
        { "--by", "GROUP", "leave out all rows of a group together: those alike in this column of TRAIN.csv",
          &t.by },
        { "--seed", "S", "seed of the folds; 0 unless given", &seed },
        { "--out", "FILE.csv",
          "where to write columns mean, std, log_density, a row for each row; - is standard output", &t.out },
        OUTPUT_OPTION(output),
        DIALECT_OPTIONS(d),
        DEVICE_OPTION(device_name),
        { "--json", NULL, "the score as JSON", &t.json },
    };
    const command usage = {
        .name = "loo",
        .arguments = "MODEL [TRAIN.csv]",
        .summary = "Leave-one-out: predicts every row of the model from all others, and scores that.",
        .details =
            "With --folds or --by each row is predicted from the rows of all other folds.\n"
            "The parameters are those of the fit to all rows. A line n=... rmse=... nlpd=... coverage95=...\n"
            "is printed, on standard error with --out -. Rows of the training file that had a missing value\n"
            "are not in the model. With TRAIN.csv, the table that the model learned, --out has the column\n"
            "line, the line of each row there.\n"
            "After fit --objective loo the line ends in \"optimised on\": this score chose the parameters, "
            "and\n"
            "new rows do worse.",
        .n_positional = 1,
        .n_optional = 1,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    parse_arguments(c, &usage, argc, argv, paths);
    t.path = paths[0], t.table = paths[1];
    parse_dialect(c, &d, &t.how);
    t.how.texts = t.by != NULL;
    parse_whole(c, "--folds", folds, 2, LONG_MAX, &t.folds);
    parse_whole(c, "--seed", seed, 0, LONG_MAX, &t.seed);
    keep_apart(c, "--out", t.out, "MODEL", t.path);
    if (going(c) && t.table) keep_apart(c, "--out", t.out, "TRAIN.csv", t.table);
    if (going(c) && t.by && folds)
        fail(c, CODE_USAGE, "--by says what the folds are: leave --folds out, or --by");
    if (going(c) && t.by && !t.table)
        fail(c, CODE_USAGE, "--by needs the table that the model learned: ctgp loo MODEL TRAIN.csv --by %s",
             t.by);
    model_file m;
    model_open(c, &m, device_name, t.path, output, t.out != NULL);
    leave_out_all(c, &t, &m);
}
