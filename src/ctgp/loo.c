/* ctgp loo: every row of the training data as predicted from the others, or from those of other folds. */
#include "loo.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "commands.h"
#include "failure.h"
#include "folds.h"
#include "learned.h"
#include "open.h"
#include "options.h"
#include "table.h"

/* Row i from mean m and variance s² of z, and the log density -½ log 2πs² - ½ sigmas² + log g'(y), which
 * gives sigmas, as y less the mean would lose digits. */
static void take_row(left_out *l, int64_t i, ct_transform t, double m, double s2, double density, double y)
{
    const double slope = ct_transform_log_slope(t, y);
    const double sigmas = sqrt(fmax(0, 2 * (slope - density) - log(2 * acos(-1) * s2)));
    ct_transform_moments(t, m, s2, &l->mean[i], &l->std[i]);
    l->std[i] = sqrt(l->std[i]);
    l->loss[i] = (row_loss){ y, t.kind ? (y - l->mean[i]) * (y - l->mean[i]) : sigmas * sigmas * s2, -density,
                             sigmas };
}

ct_status left_out_read(ctgp *c, left_out *l, ct_gp *gp, const int64_t *fold)
{
    const int64_t n = ct_gp_points(gp);
    ct_tensor *mean = new_tensor(c, ct_shape1(n)), *variance = new_tensor(c, ct_shape1(n)),
              *density = new_tensor(c, ct_shape1(n));
    const ct_status s = fold ? ct_gp_cross_validate(gp, fold, mean, variance, density)
                             : ct_gp_loo(gp, mean, variance, density);
    *l = (left_out){ .n = n };
    if (s) return s;
    *l = (left_out){ n, tensor_values(c, mean), tensor_values(c, variance),
                     take(c, n, sizeof *l->loss, "predictions") };
    const double *of = tensor_values(c, density), *y = model_targets(c, gp);
    for (int64_t i = 0; i < n; i++) take_row(l, i, ct_gp_transform(gp), l->mean[i], l->std[i], of[i], y[i]);
    return CT_OK;
}

left_out left_out_make(ctgp *c, ct_gp *gp, const int64_t *fold)
{
    left_out l;
    check(c, left_out_read(c, &l, gp, fold));
    for (int64_t i = 0; i < l.n; i++)
        if (!isfinite(l.loss[i].square) || !isfinite(l.std[i]))
            fail(c, CODE_NUMERIC,
                 "row %lld of the model: without it the mean of '%s' is beyond the range of numbers, "
                 "as its %s is so uncertain: leave the row out, or fit without --transform",
                 (long long)i + 1, ct_gp_output(gp)->name, ct_transform_name(ct_gp_transform(gp).kind));
    return l;
}

/* What a command line asks for. */
typedef struct request {
    const char *files[MOST_FILES]; /* the model, the table or NULL */
    const char *out, *by;
    long folds, seed;
} request;

/* The fold of each row, or NULL where rows are left out one by one. `f`: the rows in the table, for --by. */
static int64_t *choose_folds(ctgp *c, const request *r, const ct_gp *gp, const frame *f, int64_t *count)
{
    const int64_t n = ct_gp_points(gp);
    *count = r->folds;
    if (r->folds > n) fail(c, CODE_USAGE, "--folds %ld: the model has %lld rows", r->folds, (long long)n);
    if (r->by) return folds_by(c, f, r->by, count);
    return r->folds ? folds_drawn(c, n, r->folds, (uint64_t)r->seed) : NULL;
}

/* With the table, `f`, its line stands before each row. */
static void write_rows(ctgp *c, const char *out, const frame *f, const left_out *l)
{
    sheet to = { .rows = l->n };
    double *line = f ? sheet_values(c, &to, "line") : NULL, *mean = sheet_values(c, &to, "mean"),
           *std = sheet_values(c, &to, "std"), *density = sheet_values(c, &to, "log_density");
    for (int64_t i = 0; i < l->n; i++) {
        if (f) line[i] = (double)ct_table_line(f->table, f->rows[i]);
        mean[i] = l->mean[i], std[i] = l->std[i], density[i] = -l->loss[i].nlpd;
    }
    sheet_write(c, &to, out);
}

/* A `target` of NULL is the only one; no `folds` are single rows. */
static void write_loo(writer *w, const left_out *l, const char *target, int64_t folds, bool optimised)
{
    const score s = score_of(l->loss, l->n);
    WRITE(w, field_begin(NULL, '{', NULL), target ? field_word("target", "%s: ", target) : (field){ 0 },
          field_number("n", "n=%.0f", (double)s.n),
          folds ? field_number("folds", " folds=%.0f", (double)folds) : (field){ 0 },
          field_number("rmse", " rmse=%.6g", s.rmse),
          field_number("r2", isfinite(s.r2) ? " r2=%.4g" : NULL, s.r2),
          field_number("nlpd", " nlpd=%.6g", s.nlpd),
          field_number("coverage95", " coverage95=%.4g", s.coverage95),
          field_flag("optimised_on", " (optimised on: new rows do worse)", optimised), field_end('}', "\n"));
}

/* Leaves out the rows of an output. */
static void leave_out(ctgp *c, writer *w, const request *r, ct_gp *gp, bool only, source *table)
{
    const owned *before = c->owned;
    const frame data = table ? frame_learned(c, gp, table) : (frame){ 0 };
    int64_t folds;
    const int64_t *fold = choose_folds(c, r, gp, &data, &folds);
    const left_out l = left_out_make(c, gp, fold);
    if (r->out) write_rows(c, r->out, table ? &data : NULL, &l);
    write_loo(w, &l, only ? NULL : ct_gp_output(gp)->name, folds,
              ct_gp_report(gp).objective_of == CT_OBJECTIVE_LOO);
    give_back(c, before);
}

static void leave_out_all(ctgp *c, const request *r)
{
    const model_file m = model_open(c, r->files[0], r->out != NULL);
    writer w = result_begin(c, r->out && is_standard(r->out) ? stderr : stdout);
    if (m.joint && (r->folds || r->by))
        fail(c, CODE_USAGE, "%s: values of joint outputs are left out one by one: leave %s out", m.path,
             r->by ? "--by" : "--folds");
    source *table = r->files[1] ? source_open(c, r->files[1]) : NULL;
    if (m.n > 1) begin_outputs(&w, NULL);
    for (int64_t k = 0; k < m.n; k++) leave_out(c, &w, r, m.gp[k], m.n == 1, table);
    if (m.n > 1) end_outputs(&w);
    result_end(&w);
    note_joint(&m);
}

void run_loo(ctgp *c, int argc, char **argv)
{
    request r = { .out = NULL };
    const option options[] = {
        { "--folds", "K", "leave out K parts in turn, drawn with --seed, instead of single rows",
          .whole = &r.folds, .least = 2, .most = LONG_MAX },
        { "--by", "GROUP", "leave out all rows of a group together: those alike in this column of TRAIN.csv",
          .text = &r.by },
        { "--seed", "S", "seed of the folds; 0 unless given", .whole = &r.seed, .most = LONG_MAX },
        { "--out", "FILE.csv",
          "where to write columns mean, std, log_density, a row for each row; - is standard output",
          .text = &r.out, .output = true },
    };
    const command usage = {
        .name = "loo",
        .files = { "MODEL", "TRAIN.csv" },
        .needed = 1,
        .summary = "Leave-one-out: predicts every row of the model from all others, and scores that.",
        .details =
            "With --folds or --by each row is predicted from the rows of all other folds.\n"
            "The parameters are those of the fit to all rows. A line n=... rmse=... r2=... nlpd=...\n"
            "coverage95=... is printed, on standard error with --out -. Rows of the training file that had "
            "a\n"
            "missing value are not in the model. With TRAIN.csv, the table that the model learned, --out has "
            "the column\n"
            "line, the line of each row there.\n"
            "After fit --objective loo the line ends in \"optimised on\": this score chose the parameters, "
            "and\n"
            "new rows do worse.",
        .shared = OF_TABLES | OF_OUTPUTS | OF_DEVICE | OF_RESULT,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    parse_arguments(c, &usage, argc, argv, r.files);
    c->table.texts = r.by != NULL;
    if (r.by && r.folds) fail(c, CODE_USAGE, "--by says what the folds are: leave --folds out, or --by");
    if (r.by && !r.files[1])
        fail(c, CODE_USAGE, "--by needs the table that the model learned: ctgp loo MODEL TRAIN.csv --by %s",
             r.by);
    leave_out_all(c, &r);
}
