/* A model is a list of records, each a name and its contents; those that a model does not need are left out.
 * All numbers are little-endian; text is a length and bytes.
 *
 *     model         u32 dtype; i64 n, d; u32 mean, noise, standardize, transform
 *     target        f64 shift, scale, spread; f64 least, of the transform
 *     inputs        f64 shift[d], scale[d], spread[d]
 *     columns       [d + 1]: text name, u32 kind, for a category i64 n_levels, text levels[n_levels]
 *     table         i64 rows_of_table
 *     noise column  a column
 *     noise levels  i64 n_levels; f64 levels[n_levels], ascending
 *     basis         text
 *     kernel        text
 *     parameters    i64 count, each: f64 value, lower, upper, u32 fixed, start_given, prior kind, f64 a, b
 *     report        u32 optimizer, objective_of, precision, end; f64 objective, gradient_norm, jitter,
 *                   seconds, objective_error; i64 jittered, failed, iterations, evaluations, best, starts
 *     X, y          in dtype: (n, d), (n)
 *     noise         (n), in dtype or for levels their i64 indices
 *     outputs       i64 p; (n, p), in dtype: those that share their covariance
 *     factor        f64 jitter, nlml; in dtype: alpha (n), lower triangle of L by rows
 *     end */
#include "records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "columns_record.h"
#include "fields.h"
#include "gp/data/numbers.h"
#include "gp/data/trend.h"
#include "gp/likelihood/restricted.h"
#include "gp/likelihood/table.h"
#include "gp/model/memory.h"
#include "gp/model/param_values.h"
#include "tensors.h"

/* -- records of numbers ---------------------------------------------------------------------------------- */

#define FIELD(type, member, ...) CT__FIELD(type, ct_gp, member, __VA_ARGS__)
#define COUNT(member)            FIELD(INT, report.member, 0, INT32_MAX)
#define ANY(member)              FIELD(ANY, report.member, 0, 0)
static const ct__field of_model[] = { FIELD(ENUM, rows.dtype, 0, CT_F32),
                                      FIELD(I64, rows.n, CT__FROM(1)),
                                      FIELD(I64, rows.d, CT__FROM(1)),
                                      FIELD(ENUM, options.mean, 0, CT_MEAN_BASIS),
                                      FIELD(ENUM, options.noise, 0, CT_NOISE_LOG_LINEAR),
                                      FIELD(ENUM, options.standardize, 0, CT_STANDARDIZE_OUTPUTS),
                                      FIELD(ENUM, options.transform, 0, CT_TRANSFORM_SQRT) };
static const ct__field of_target[] = { FIELD(F64, target.shift, CT__FINITE),
                                       FIELD(F64, target.scale, CT__POSITIVE),
                                       FIELD(F64, target.spread, CT__POSITIVE),
                                       FIELD(F64, target.transform.least, 0, DBL_MAX) };
static const ct__field of_table[] = { FIELD(I64, options.rows_of_table, CT__FROM(0)) };
static const ct__field of_report[] = { FIELD(ENUM, report.optimizer, 0, CT_OPTIMIZER_ADAM),
                                       FIELD(ENUM, report.objective_of, 0, CT_OBJECTIVE_LOO),
                                       FIELD(ENUM, report.precision, 0, CT_PRECISION_MIXED),
                                       FIELD(ENUM, report.end, 0, CT_FIT_FAILED),
                                       ANY(objective),
                                       ANY(gradient_norm),
                                       ANY(jitter),
                                       ANY(seconds),
                                       ANY(objective_error),
                                       COUNT(jittered),
                                       COUNT(failed),
                                       COUNT(iterations),
                                       COUNT(evaluations),
                                       COUNT(best),
                                       COUNT(starts) };
static const ct__field of_factor[] = { FIELD(F64, factor.jitter, CT__FINITE),
                                       FIELD(F64, factor.nlml, CT__FINITE) };
#undef FIELD
#undef COUNT
#undef ANY

/* Of one parameter. */
#define FIELD(type, member, most) CT__FIELD(type, ct_param, member, 0, most)
static const ct__field of_param[] = {
    FIELD(ANY, value, 0),   FIELD(ANY, lower, 0),        FIELD(ANY, upper, 0),
    FIELD(BOOL, fixed, 1),  FIELD(BOOL, start_given, 1), FIELD(ENUM, prior.kind, CT_PRIOR_CAUCHY_LOWER),
    FIELD(ANY, prior.a, 0), FIELD(ANY, prior.b, 0),
};
#undef FIELD

/* -- records of a form of their own ---------------------------------------------------------------------- */

static void inputs(ct__stream *s, ct_gp *gp)
{
    ct__stream_reals(s, gp->rows.shift, gp->rows.d, false);
    ct__stream_reals(s, gp->rows.scale, 2 * gp->rows.d, true);
}

static void columns(ct__stream *s, ct_gp *gp)
{
    for (int64_t j = 0; j <= gp->rows.d && !s->bad; j++) ct__stream_column(s, &gp->rows.column[j]);
}

static void noise_column(ct__stream *s, ct_gp *gp)
{
    if (s->reading) gp->noise.column = ct__stream_alloc(s, 1, sizeof *gp->noise.column);
    if (gp->noise.column) ct__stream_column(s, gp->noise.column);
}

static void noise_levels(ct__stream *s, ct_gp *gp)
{
    ct__noise *n = &gp->noise;
    ct__stream_numbers(s, &n->n_levels, 1, 8);
    s->bad |= n->n_levels < 1;
    if (!ct__stream_holds(s, (uint64_t)n->n_levels, sizeof *n->level)) return;
    if (s->reading) n->level = ct__stream_alloc(s, (uint64_t)n->n_levels, sizeof *n->level);
    if (n->level) ct__stream_reals(s, n->level, n->n_levels, false);
    for (int64_t k = 1; k < n->n_levels && !s->bad; k++) s->bad = !(n->level[k - 1] < n->level[k]);
}

static void basis(ct__stream *s, ct_gp *gp) { ct__stream_text(s, &gp->mean.basis); }

static void kernel(ct__stream *s, ct_gp *gp)
{
    const size_t size = ct_kernel_print(gp->kernel, false, NULL, 0) + 1;
    char *text = ct__stream_alloc(s, size, 1);
    ct_kernel_print(gp->kernel, false, text, size);
    ct__stream_text(s, &text);
    if (s->reading && !s->bad) {
        gp->kernel = ct_kernel_parse(text);
        ct__stream_check(s, gp->kernel ? ct_kernel_bind(gp->kernel, gp->rows.d) : CT_ENOMEM);
    }
    free(text);
}

static void parameters(ct__stream *s, ct_gp *gp)
{
    if (s->reading) ct__stream_check(s, ct__gp_list_params(gp));
    int64_t count = gp->params.count;
    ct__stream_numbers(s, &count, 1, 8);
    s->bad |= count != gp->params.count;
    for (int64_t i = 0; i < gp->params.count && !s->bad; i++) {
        ct_param *p = &gp->params.param[i];
        CT__STREAM_FIELDS(s, p, of_param);
        if (s->reading && !s->bad) s->bad = ct__gp_check_param(gp, i, p) || ct__gp_pass_on(gp, i);
    }
}

static void X(ct__stream *s, ct_gp *gp)
{
    ct__stream_tensor(s, &gp->rows.X, gp->rows.dtype, ct_shape2(gp->rows.n, gp->rows.d));
}

static void y(ct__stream *s, ct_gp *gp)
{
    ct__stream_tensor(s, &gp->target.y, gp->rows.dtype, ct_shape2(gp->rows.n, 1));
    if (s->reading && !s->bad) ct__stream_check(s, ct__target_sum_slopes(&gp->target));
}

/* The indices of levels must lie in the list. */
static void noise(ct__stream *s, ct_gp *gp)
{
    const bool levels = gp->noise.kind == CT_NOISE_BY_LEVEL;
    ct__stream_tensor(s, &gp->noise.given, levels ? CT_I64 : gp->rows.dtype, ct_shape1(gp->rows.n));
    if (!s->reading || s->bad || !levels) return;
    double *index = ct__gp_doubles(gp->noise.given);
    if (!index) ct__stream_check(s, CT_ENOMEM);
    for (int64_t i = 0; i < gp->rows.n && index && !s->bad; i++)
        s->bad = !(index[i] >= 0 && index[i] < (double)gp->noise.n_levels);
    free(index);
}

static void outputs(ct__stream *s, ct_gp *gp)
{
    int64_t p = s->reading ? 0 : ct_tensor_dim(gp->likelihood.outputs, 1);
    ct__stream_numbers(s, &p, 1, 8);
    s->bad |= p < 1 || p > INT32_MAX;
    if (!s->bad) ct__stream_tensor(s, &gp->likelihood.outputs, gp->rows.dtype, ct_shape2(gp->rows.n, p));
}

static void factor(ct__stream *s, ct_gp *gp)
{
    CT__STREAM_FIELDS(s, gp, of_factor);
    ct__stream_tensor(s, &gp->factor.alpha, gp->rows.dtype, ct_shape2(gp->rows.n, 1));
    ct__stream_factor(s, gp);
}

/* -- the table ------------------------------------------------------------------------------------------- */

static bool has_rows_of_table(const ct_gp *gp) { return gp->options.rows_of_table; }
static bool has_noise_column(const ct_gp *gp) { return gp->noise.column; }
static bool has_levels(const ct_gp *gp) { return gp->noise.kind == CT_NOISE_BY_LEVEL; }
static bool has_noise(const ct_gp *gp) { return has_levels(gp) || ct__noise_has_variances(&gp->noise); }
static bool has_basis(const ct_gp *gp) { return gp->mean.kind == CT_MEAN_BASIS; }
static bool has_outputs(const ct_gp *gp) { return gp->likelihood.outputs; }
static bool has_factor(const ct_gp *gp) { return gp->factor.ready; }

/* In the order of the file. */
#define FIELDS(of) NULL, of, sizeof of / sizeof *of
#define PASS(pass) pass, NULL, 0
static const struct record {
    const char *name;
    void (*pass)(ct__stream *s, ct_gp *gp); /* reads or writes the contents; NULL: they are fields */
    const ct__field *field;
    size_t fields;
    ct__records in;
    bool (*has)(const ct_gp *gp); /* whether a model has it; NULL: always */
    bool optional;                /* to a reader, `has` does not tell */
} table[] = {
    { "target", FIELDS(of_target), CT__RECORDS_OF_FIT, NULL, false },
    { "inputs", PASS(inputs), CT__RECORDS_OF_FIT, NULL, false },
    { "columns", PASS(columns), CT__RECORDS_OF_FIT, NULL, false },
    { "table", FIELDS(of_table), CT__RECORDS_BARE, has_rows_of_table, true },
    { "noise column", PASS(noise_column), CT__RECORDS_BARE, has_noise_column, true },
    { "noise levels", PASS(noise_levels), CT__RECORDS_OF_FIT, has_levels, false },
    { "basis", PASS(basis), CT__RECORDS_OF_FIT, has_basis, false },
    { "kernel", PASS(kernel), CT__RECORDS_OF_FIT, NULL, false },
    { "parameters", PASS(parameters), CT__RECORDS_OF_FIT, NULL, false },
    { "report", FIELDS(of_report), CT__RECORDS_BARE, NULL, false },
    { "X", PASS(X), CT__RECORDS_OF_FIT, NULL, false },
    { "y", PASS(y), CT__RECORDS_OF_FIT, NULL, false },
    { "noise", PASS(noise), CT__RECORDS_OF_FIT, has_noise, false },
    { "outputs", PASS(outputs), CT__RECORDS_OF_FIT, has_outputs, true },
    { "factor", PASS(factor), CT__RECORDS_ALL, has_factor, true },
};
#undef FIELDS
#undef PASS
enum { RECORDS = sizeof table / sizeof *table };

static bool has(const struct record *r, const ct_gp *gp) { return !r->has || r->has(gp); }

/* -- the whole ------------------------------------------------------------------------------------------- */

static void pass(ct__stream *s, const struct record *r, ct_gp *gp)
{
    if (r->pass)
        r->pass(s, gp);
    else
        ct__stream_fields(s, gp, r->field, r->fields);
}

ct_status ct__records_write(ct__stream *s, ct_gp *gp, ct__records which, const char *what)
{
    ct__stream_name(s, "model");
    CT__STREAM_FIELDS(s, gp, of_model);
    for (const struct record *r = table; r < table + RECORDS; r++) {
        if (r->in > which || !has(r, gp)) continue;
        ct__stream_name(s, r->name);
        pass(s, r, gp);
    }
    ct__stream_name(s, "end");
    if (s->no_memory)
        return ct_device_fail(gp->device, CT_ENOMEM, "%.200s: no memory for rows of the factor", what);
    return s->bad ? ct_last_status(gp->device) : CT_OK;
}

/* Whether a model must have the record. */
static bool needed(const struct record *r, const ct_gp *gp) { return !r->optional && has(r, gp); }

/* Reads records to the end. Each comes at most once, and in the order of the table. */
static void read_all(ct__stream *s, ct_gp *gp)
{
    const struct record *r = table, *end = table + RECORDS;
    char *word = NULL;
    for (ct__stream_text(s, &word); !s->bad && strcmp(word, "end") != 0; ct__stream_text(s, &word)) {
        while (r < end && strcmp(word, r->name) != 0) s->bad |= needed(r++, gp);
        s->bad |= r == end || (!r->optional && !has(r, gp));
        if (s->bad || (r->pass == factor && !ct__comm_is_one(gp->options.comm))) break;
        pass(s, r++, gp);
    }
    for (; r < end && !s->bad; r++) s->bad = needed(r, gp);
    free(word);
}

ct_gp *ct__records_read(ct__stream *s, const char *path, ct_comm *comm)
{
    ct_gp head = { .options.comm = comm };
    CT__STREAM_FIELDS(s, &head, of_model);
    const uint64_t n = (uint64_t)head.rows.n, d = (uint64_t)head.rows.d, left = ct__stream_left(s);
    const ct_dtype dtype = head.rows.dtype;
    if (!s->bad && !ct__likelihood_for(s->device, ct__features_of(&head.options, dtype), NULL, path))
        return NULL;
    s->bad |= n > left / 4 || d > left / 24;
    if (s->bad ||
        ct__gp_reserve(s->device, ct__gp_bytes(s->device, comm, head.rows.n, head.rows.d, dtype, false),
                       false, "ct_gp_load: the model", "load it on a device that may hold more"))
        return NULL;
    ct_gp *gp = ct__gp_blank(s->device, NULL, head.rows.n, head.rows.d, dtype, &head.options);
    if (!gp) return NULL;
    read_all(s, gp);
    if (!s->bad && gp->mean.basis)
        ct__stream_check(s, ct__trend_make(&gp->mean, &gp->rows, gp->target.y, false));
    if (!s->bad && gp->mean.basis && gp->factor.L) ct__stream_check(s, ct__gp_restrict(gp, false));
    ct__likelihood_take(gp, 0);
    gp->factor.ready = !s->bad && gp->factor.L;
    if (!s->bad) return gp;
    ct_gp_free(gp);
    if (s->no_memory) ct_device_fail(s->device, CT_ENOMEM, "%.200s: no memory for the model", path);
    return NULL;
}
