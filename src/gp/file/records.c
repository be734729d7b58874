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
 *     noise mean    f64, of the given variances
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
#include "gp/data/columns.h"
#include "gp/data/numbers.h"
#include "gp/data/trend.h"
#include "gp/likelihood/restricted.h"
#include "gp/likelihood/table.h"
#include "gp/model/memory.h"
#include "gp/model/param_values.h"
#include "tensors.h"

/* -- the records ----------------------------------------------------------------------------------------- */

static void target(ct__stream *s, ct_gp *gp)
{
    ct__target *t = &gp->target;
    ct__stream_reals(s, &t->shift, 1, false);
    ct__stream_reals(s, &t->scale, 1, true);
    ct__stream_reals(s, &t->spread, 1, true);
    ct__stream_reals(s, &t->transform.least, 1, false);
    s->bad |= t->transform.least < 0;
}

static void inputs(ct__stream *s, ct_gp *gp)
{
    ct__stream_reals(s, gp->rows.shift, gp->rows.d, false);
    ct__stream_reals(s, gp->rows.scale, 2 * gp->rows.d, true);
}

/* Each text is read into its own memory; then all are copied into the model's block. */
static void columns(ct__stream *s, ct_gp *gp)
{
    const int64_t d = gp->rows.d;
    ct_column *c = gp->rows.column;
    if (s->reading && !(c = ct__gp_alloc(s->device, (uint64_t)d + 1, sizeof *c))) ct__stream_lacks_memory(s);
    for (int64_t j = 0; j <= d && !s->bad; j++) ct__stream_column(s, &c[j]);
    if (!s->reading) return;
    const ct_gp_options o = { .inputs = c, .output = c ? c + d : NULL };
    ct_column *copy = s->bad ? NULL : ct__columns_copy(s->device, &o, d);
    if (!s->bad && !copy) ct__stream_lacks_memory(s);
    if (copy) ct__gp_take_columns(gp, copy);
    ct__stream_columns_free(c, d + 1);
}

static void rows_of_table(ct__stream *s, ct_gp *gp)
{
    ct__stream_numbers(s, &gp->options.rows_of_table, 1, 8);
    s->bad |= gp->options.rows_of_table < 0;
}

static void noise_column(ct__stream *s, ct_gp *gp)
{
    ct_column *c = gp->noise.column;
    if (s->reading && !(c = ct__gp_alloc(s->device, 1, sizeof *c))) ct__stream_lacks_memory(s);
    if (!s->bad) ct__stream_column(s, c);
    if (!s->reading) return;
    if (!s->bad && ct__noise_set_column(&gp->noise, s->device, c)) ct__stream_lacks_memory(s);
    ct__stream_columns_free(c, 1);
}

static void noise_levels(ct__stream *s, ct_gp *gp)
{
    ct__noise *n = &gp->noise;
    ct__stream_numbers(s, &n->n_levels, 1, 8);
    s->bad |=
        n->n_levels < 1 || (s->reading && (uint64_t)n->n_levels > ct__stream_left(s) / sizeof *n->level);
    if (s->bad) return;
    if (s->reading) n->level = ct__gp_alloc(s->device, (uint64_t)n->n_levels, sizeof *n->level);
    if (!n->level) ct__stream_lacks_memory(s);
    if (n->level) ct__stream_reals(s, n->level, n->n_levels, false);
    for (int64_t k = 1; k < n->n_levels && !s->bad; k++) s->bad = !(n->level[k - 1] < n->level[k]);
}

static void noise_mean(ct__stream *s, ct_gp *gp)
{
    ct__stream_reals(s, &gp->noise.mean, 1, false);
    s->bad |= gp->noise.mean < 0;
}

static void basis(ct__stream *s, ct_gp *gp) { ct__stream_text(s, &gp->mean.basis); }

static void kernel(ct__stream *s, ct_gp *gp)
{
    const size_t length = s->reading ? 0 : ct_kernel_print(gp->kernel, false, NULL, 0);
    char *text = ct__gp_alloc(s->device, length + 1, 1);
    if (!text) ct__stream_lacks_memory(s);
    if (text && !s->reading) ct_kernel_print(gp->kernel, false, text, length + 1);
    if (text) ct__stream_text(s, &text);
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
        double *const bound[] = { &p->value, &p->lower, &p->upper };
        for (int k = 0; k < 3; k++) ct__stream_numbers(s, bound[k], 1, 8);
        p->fixed = ct__stream_small(s, p->fixed, 1);
        p->start_given = ct__stream_small(s, p->start_given, 1);
        p->prior.kind = (ct_prior_kind)ct__stream_small(s, (int)p->prior.kind, CT_PRIOR_SOFT_LOWER);
        ct__stream_numbers(s, &p->prior.a, 1, 8);
        ct__stream_numbers(s, &p->prior.b, 1, 8);
        if (s->reading && !s->bad) s->bad = ct__gp_check_param(gp, i, p) || ct__gp_pass_on(gp, i);
    }
}

static void report(ct__stream *s, ct_gp *gp)
{
    ct_fit_report *r = &gp->report;
    r->optimizer = (ct_optimizer)ct__stream_small(s, (int)r->optimizer, CT_OPTIMIZER_ADAM);
    r->objective_of = (ct_fit_objective)ct__stream_small(s, (int)r->objective_of, CT_OBJECTIVE_LOO);
    r->precision = (ct_precision)ct__stream_small(s, (int)r->precision, CT_PRECISION_MIXED);
    r->end = (ct_fit_end)ct__stream_small(s, (int)r->end, CT_FIT_FAILED);
    double *const real[] = { &r->objective, &r->gradient_norm, &r->jitter, &r->seconds, &r->objective_error };
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) ct__stream_numbers(s, real[i], 1, 8);
    int *const count[] = { &r->jittered, &r->failed, &r->iterations, &r->evaluations, &r->best, &r->starts };
    for (size_t i = 0; i < sizeof count / sizeof *count; i++) {
        int64_t v = *count[i];
        ct__stream_numbers(s, &v, 1, 8);
        s->bad |= v < 0 || v > INT32_MAX;
        *count[i] = s->bad ? 0 : (int)v;
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
    double *index = s->reading && !s->bad && levels ? ct__gp_doubles(gp->noise.given) : NULL;
    if (!index && s->reading && !s->bad && levels) ct__stream_lacks_memory(s);
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
    ct__kept *f = &gp->factor;
    ct__stream_reals(s, &f->jitter, 1, false);
    ct__stream_reals(s, &f->nlml, 1, false);
    ct__stream_tensor(s, &f->alpha, gp->rows.dtype, ct_shape2(gp->rows.n, 1));
    ct__stream_factor(s, gp);
}

/* -- the table ------------------------------------------------------------------------------------------- */

static bool has_rows_of_table(const ct_gp *gp) { return gp->options.rows_of_table; }
static bool has_noise_column(const ct_gp *gp) { return gp->noise.column; }
static bool has_levels(const ct_gp *gp) { return gp->noise.kind == CT_NOISE_BY_LEVEL; }
static bool has_variances(const ct_gp *gp) { return ct__noise_has_variances(&gp->noise); }
static bool has_noise(const ct_gp *gp) { return has_levels(gp) || has_variances(gp); }
static bool has_basis(const ct_gp *gp) { return gp->mean.kind == CT_MEAN_BASIS; }
static bool has_outputs(const ct_gp *gp) { return gp->likelihood.outputs; }
static bool has_factor(const ct_gp *gp) { return gp->factor.ready; }

/* In the order of the file. */
static const struct record {
    const char *name;
    void (*pass)(ct__stream *s, ct_gp *gp); /* reads or writes the contents */
    ct__records in;
    bool (*has)(const ct_gp *gp); /* whether a model has it; NULL: always */
    bool optional;                /* to a reader, `has` does not tell */
} table[] = {
    { "target", target, CT__RECORDS_OF_FIT, NULL, false },
    { "inputs", inputs, CT__RECORDS_OF_FIT, NULL, false },
    { "columns", columns, CT__RECORDS_OF_FIT, NULL, false },
    { "table", rows_of_table, CT__RECORDS_BARE, has_rows_of_table, true },
    { "noise column", noise_column, CT__RECORDS_BARE, has_noise_column, true },
    { "noise levels", noise_levels, CT__RECORDS_OF_FIT, has_levels, false },
    { "noise mean", noise_mean, CT__RECORDS_OF_FIT, has_variances, false },
    { "basis", basis, CT__RECORDS_OF_FIT, has_basis, false },
    { "kernel", kernel, CT__RECORDS_OF_FIT, NULL, false },
    { "parameters", parameters, CT__RECORDS_OF_FIT, NULL, false },
    { "report", report, CT__RECORDS_BARE, NULL, false },
    { "X", X, CT__RECORDS_OF_FIT, NULL, false },
    { "y", y, CT__RECORDS_OF_FIT, NULL, false },
    { "noise", noise, CT__RECORDS_OF_FIT, has_noise, false },
    { "outputs", outputs, CT__RECORDS_OF_FIT, has_outputs, true },
    { "factor", factor, CT__RECORDS_ALL, has_factor, true },
};
enum { RECORDS = sizeof table / sizeof *table };

static bool has(const struct record *r, const ct_gp *gp) { return !r->has || r->has(gp); }

/* -- the whole ------------------------------------------------------------------------------------------- */

static void head(ct__stream *s, ct_dtype *dtype, int64_t *n, int64_t *d, ct_gp_options *o)
{
    *dtype = (ct_dtype)ct__stream_small(s, (int)*dtype, CT_F32);
    ct__stream_numbers(s, n, 1, 8);
    ct__stream_numbers(s, d, 1, 8);
    o->mean = (ct_gp_mean)ct__stream_small(s, (int)o->mean, CT_MEAN_BASIS);
    o->noise = (ct_gp_noise)ct__stream_small(s, (int)o->noise, CT_NOISE_LOG_LINEAR);
    o->standardize = (ct_gp_standardize)ct__stream_small(s, (int)o->standardize, CT_STANDARDIZE_OUTPUTS);
    o->transform = (ct_transform_kind)ct__stream_small(s, (int)o->transform, CT_TRANSFORM_SQRT);
}

ct_status ct__records_write(ct__stream *s, ct_gp *gp, ct__records which, const char *what)
{
    const size_t of_noise = gp->noise.column ? ct__columns_longest(gp->noise.column, 1) : 0;
    if (of_noise > CT__STREAM_TEXT || ct__columns_longest(gp->rows.column, gp->rows.d + 1) > CT__STREAM_TEXT)
        return ct_device_fail(gp->device, CT_EINVAL, "%.200s: a name or a level is longer than %d bytes",
                              what, CT__STREAM_TEXT);
    ct__stream_name(s, "model");
    head(s, &gp->rows.dtype, &gp->rows.n, &gp->rows.d, &gp->options);
    for (const struct record *r = table; r < table + RECORDS; r++) {
        if (r->in > which || !has(r, gp)) continue;
        ct__stream_name(s, r->name);
        r->pass(s, gp);
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
        r++->pass(s, gp);
    }
    for (; r < end && !s->bad; r++) s->bad = needed(r, gp);
    free(word);
}

ct_gp *ct__records_read(ct__stream *s, const char *path, ct_comm *comm)
{
    ct_dtype dtype = CT_F64;
    int64_t n = 0, d = 0;
    ct_gp_options options = { .comm = comm };
    head(s, &dtype, &n, &d, &options);
    if (!s->bad && !ct__likelihood_for(s->device, ct__features_of(&options, dtype), NULL, path)) return NULL;
    const uint64_t left = ct__stream_left(s);
    s->bad |= n < 1 || d < 1 || (uint64_t)n > left / 4 || (uint64_t)d > left / 24;
    if (s->bad || ct__gp_reserve(s->device, ct__gp_bytes(s->device, comm, n, d, dtype, false), false,
                                 "ct_gp_load: the model", "load it on a device that may hold more"))
        return NULL;
    ct_gp *gp = ct__gp_blank(s->device, NULL, n, d, dtype, &options);
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
