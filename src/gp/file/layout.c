/* The model's file. All numbers are little-endian; text is a length and bytes.
 *
 *     magic "\211CTGP\r\n\032", u32 version, u32 dtype
 *     i64 n, d;  u32 mean, noise, standardize
 *     f64 y_shift, y_scale, y_spread, given_mean;  f64 shift[d], scale[d], spread[d]
 *     text names[d + 1];  from version 5 on, for each of these columns: u32 kind, for a category
 *             i64 n_levels, text levels[n_levels];  text kernel
 *     from version 5 on: text noise_column, from version 7 on with the u32 kind and the levels of a column,
 *             i64 n_levels, f64 levels[n_levels];  from version 7 on: i64 rows_of_table
 *     text basis, if mean is CT_MEAN_BASIS
 *     from version 9 on: u32 transform, f64 least
 *     i64 n_params, each: f64 value, lower, upper, u32 fixed, start_given, prior kind, f64 a, b
 *     f64 jitter, nlml
 *     report: u32 optimizer, f64 objective, gradient_norm, jitter, seconds, i64 jittered, failed, iterations,
 *             evaluations, best, starts, u32 precision, f64 objective_error;
 *             from version 3 on: u32 end, objective_of
 *     zero bytes up to a multiple of 8
 *     in dtype: X (n d), y (n), given noise (n, if options.noise needs it; for levels their i64 indices);
 *             alpha (n), lower triangle of L by rows; versions 4, 6, 8 and 10 have no factor
 *     u64 CRC-64 of all before */
#include "layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gp/data/columns.h"
#include "gp/data/numbers.h"

int ct__model_version(const ct_gp *gp, bool bare)
{
    const bool kind = gp->noise.column && gp->noise.column->kind != CT_COLUMN_NUMBER;
    const int version = gp->target.transform.kind           ? CT__TRANSFORM
                        : kind || gp->options.rows_of_table ? CT__EXTRAS
                                                            : CT__COLUMNS;
    return version + bare;
}

char ct__stream_magic(ct__stream *s, char kind)
{
    static const char magic[8] = { '\211', 'C', 'T', 'G', 0, '\r', '\n', '\032' };
    char first[sizeof magic];
    memcpy(first, magic, sizeof magic);
    first[4] = kind;
    ct__stream_bytes(s, first, sizeof first);
    kind = first[4];
    first[4] = 0;
    if ((kind != 'P' && kind != 'O') || memcmp(first, magic, sizeof magic) != 0) s->bad = true;
    return kind;
}

void ct__model_header(ct__stream *s, ct_dtype *dtype, int64_t *n, int64_t *d, ct_gp_options *o)
{
    *dtype = (ct_dtype)ct__stream_small(s, (int)*dtype, CT_F32);
    ct__stream_numbers(s, n, 1, 8);
    ct__stream_numbers(s, d, 1, 8);
    o->mean = (ct_gp_mean)ct__stream_small(s, (int)o->mean, CT_MEAN_BASIS);
    o->noise = (ct_gp_noise)ct__stream_small(s, (int)o->noise, CT_NOISE_INPUTS);
    o->standardize = (ct_gp_standardize)ct__stream_small(s, (int)o->standardize, CT_STANDARDIZE_OUTPUTS);
}

static void reals(ct__stream *s, double *const *v, int count)
{
    for (int i = 0; i < count; i++) ct__stream_numbers(s, v[i], 1, 8);
}

/* -- columns -- */

static void text(ct__stream *s, const char **value)
{
    char *t = (char *)(uintptr_t)*value;
    ct__stream_text(s, &t);
    *value = t;
}

static void levels(ct__stream *s, ct_column *c)
{
    int64_t n = c->n_levels;
    ct__stream_numbers(s, &n, 1, 8);
    s->bad |= n < 0 || (s->reading && (uint64_t)n > ct__stream_left(s) / 4);
    const char **level = (const char **)(uintptr_t)c->levels;
    if (s->reading && !s->bad && n) {
        level = ct__gp_alloc(s->device, (uint64_t)n, sizeof *level);
        if (!level) ct__stream_lacks_memory(s);
        c->levels = level;
        c->n_levels = level ? n : 0;
    }
    for (int64_t i = 0; i < n && !s->bad; i++) text(s, &level[i]);
}

/* The kind and levels of a column. */
static void kind(ct__stream *s, ct_column *c)
{
    c->kind = (ct_column_kind)ct__stream_small(s, (int)c->kind, CT_COLUMN_TIME);
    if (c->kind == CT_COLUMN_CATEGORY) levels(s, c);
}

void ct__model_column(ct__stream *s, ct_column *c)
{
    text(s, &c->name);
    if (!s->bad) kind(s, c);
}

static void columns(ct__stream *s, int64_t d, ct_column *c)
{
    for (int64_t j = 0; j <= d && !s->bad; j++) text(s, &c[j].name);
    for (int64_t j = 0; j <= d && !s->bad && s->version >= CT__COLUMNS; j++) kind(s, &c[j]);
}

void ct__model_column_drop(const ct_column *c)
{
    for (int64_t i = 0; i < c->n_levels; i++) free((void *)(uintptr_t)c->levels[i]);
    free((void *)(uintptr_t)c->levels);
    free((void *)(uintptr_t)c->name);
}

/* Reads each text into its own memory, then copies all into the model's block. */
static void read_columns(ct__stream *s, ct_gp *gp)
{
    ct_column *c = ct__gp_alloc(s->device, (uint64_t)gp->rows.d + 1, sizeof *c), *copy = NULL;
    if (!c) {
        ct__stream_lacks_memory(s);
        return;
    }
    columns(s, gp->rows.d, c);
    if (!s->bad)
        copy = ct__columns_copy(s->device, &(ct_gp_options){ .inputs = c, .output = c + gp->rows.d },
                                gp->rows.d);
    if (!s->bad && !copy) ct__stream_lacks_memory(s);
    if (copy) ct__gp_take_columns(gp, copy);
    for (int64_t j = 0; j <= gp->rows.d; j++) ct__model_column_drop(&c[j]);
    free(c);
}

/* An empty name means that there is no such column. */
static void noise_column(ct__stream *s, ct_gp *gp)
{
    ct_column c = { .name = s->reading ? NULL : "" };
    if (gp->noise.column) c = *gp->noise.column;
    text(s, &c.name);
    if (s->version >= CT__EXTRAS && !s->bad) kind(s, &c);
    if (!s->reading) return;
    if (!s->bad && (*c.name || c.kind) && ct__noise_set_column(&gp->noise, s->device, &c))
        ct__stream_lacks_memory(s);
    ct__model_column_drop(&c);
}

/* The levels are ascending. A fingerprint (version 0) needs none of this. */
static void noise(ct__stream *s, ct_gp *gp)
{
    if (s->version < CT__COLUMNS) return;
    noise_column(s, gp);
    ct__stream_numbers(s, &gp->noise.n_levels, 1, 8);
    const bool by_level = gp->options.noise == CT_NOISE_BY_LEVEL;
    if (by_level ? gp->noise.n_levels < 1 : gp->noise.n_levels != 0) s->bad = true;
    if (s->reading && (uint64_t)gp->noise.n_levels > ct__stream_left(s) / sizeof *gp->noise.level)
        s->bad = true;
    if (s->bad || !by_level) return;
    if (s->reading)
        gp->noise.level = ct__gp_alloc(s->device, (uint64_t)gp->noise.n_levels, sizeof *gp->noise.level);
    if (!gp->noise.level) {
        ct__stream_lacks_memory(s);
        return;
    }
    ct__stream_numbers(s, gp->noise.level, (size_t)gp->noise.n_levels, 8);
    for (int64_t k = 0; k < gp->noise.n_levels && !s->bad; k++)
        s->bad = !isfinite(gp->noise.level[k]) || (k && !(gp->noise.level[k - 1] < gp->noise.level[k]));
}

/* A fingerprint (version 0) includes the transform only if there is one. */
static void transform(ct__stream *s, ct_gp *gp)
{
    ct_transform *t = &gp->target.transform;
    if (s->version < CT__TRANSFORM && (s->version || !t->kind)) return;
    t->kind = (ct_transform_kind)ct__stream_small(s, (int)t->kind, CT_TRANSFORM_SQRT);
    ct__stream_numbers(s, &t->least, 1, 8);
    if (!(t->least >= 0 && isfinite(t->least))) s->bad = true;
    gp->options.transform = t->kind;
}

void ct__model_middle(ct__stream *s, ct_gp *gp, char **kernel)
{
    reals(s, (double *[]){ &gp->target.shift, &gp->target.scale, &gp->target.spread, &gp->noise.mean }, 4);
    ct__stream_numbers(s, gp->rows.shift, 3 * (size_t)gp->rows.d, 8);
    if (s->reading)
        read_columns(s, gp);
    else
        columns(s, gp->rows.d, gp->rows.column);
    ct__stream_text(s, kernel);
    noise(s, gp);
    if (s->version >= CT__EXTRAS) ct__stream_numbers(s, &gp->options.rows_of_table, 1, 8);
    if (gp->options.rows_of_table < 0) s->bad = true;
    if (gp->options.mean == CT_MEAN_BASIS) ct__stream_text(s, &gp->mean.basis);
    transform(s, gp);
}

void ct__model_parameters(ct__stream *s, ct_gp *gp)
{
    int64_t count = gp->params.count;
    ct__stream_numbers(s, &count, 1, 8);
    if (count != gp->params.count) s->bad = true;
    for (int64_t i = 0; i < gp->params.count && !s->bad; i++) {
        ct_param *p = &gp->params.param[i];
        reals(s, (double *[]){ &p->value, &p->lower, &p->upper }, 3);
        p->fixed = ct__stream_small(s, p->fixed, 1);
        p->start_given = ct__stream_small(s, p->start_given, 1);
        p->prior.kind = (ct_prior_kind)ct__stream_small(s, (int)p->prior.kind, CT_PRIOR_SOFT_LOWER);
        reals(s, (double *[]){ &p->prior.a, &p->prior.b }, 2);
    }
}

static void results(ct__stream *s, ct_gp *gp)
{
    ct_fit_report *r = &gp->report;
    reals(s, (double *[]){ &gp->factor.jitter, &gp->factor.nlml }, 2);
    r->optimizer = (ct_optimizer)ct__stream_small(s, (int)r->optimizer, CT_OPTIMIZER_ADAM);
    reals(s, (double *[]){ &r->objective, &r->gradient_norm, &r->jitter, &r->seconds }, 4);
    int *count[] = { &r->jittered, &r->failed, &r->iterations, &r->evaluations, &r->best, &r->starts };
    for (size_t i = 0; i < sizeof count / sizeof *count; i++) {
        int64_t v = *count[i];
        ct__stream_numbers(s, &v, 1, 8);
        if (v < 0 || v > INT32_MAX) s->bad = true;
        *count[i] = s->bad ? 0 : (int)v;
    }
    r->precision = (ct_precision)ct__stream_small(s, (int)r->precision, CT_PRECISION_MIXED);
    reals(s, (double *[]){ &r->objective_error }, 1);
    if (s->version == CT__OLDEST) return;
    r->end = (ct_fit_end)ct__stream_small(s, (int)r->end, CT_FIT_FAILED);
    r->objective_of = (ct_fit_objective)ct__stream_small(s, (int)r->objective_of, CT_OBJECTIVE_LOO);
}

void ct__model_data(ct__stream *s, ct_gp *gp)
{
    const ct_gp_noise kind = gp->options.noise;
    const bool given = kind == CT_NOISE_GIVEN || kind == CT_NOISE_GIVEN_PLUS;
    ct__stream_tensor(s, &gp->rows.X, gp->rows.dtype, ct_shape2(gp->rows.n, gp->rows.d));
    ct__stream_tensor(s, &gp->target.y, gp->rows.dtype, ct_shape2(gp->rows.n, 1));
    if (given) ct__stream_tensor(s, &gp->noise.given, gp->rows.dtype, ct_shape1(gp->rows.n));
    if (kind == CT_NOISE_BY_LEVEL) ct__stream_tensor(s, &gp->noise.given, CT_I64, ct_shape1(gp->rows.n));
}

void ct__model_body(ct__stream *s, ct_gp *gp)
{
    unsigned char zero[8] = { 0 };
    results(s, gp);
    ct__stream_bytes(s, zero, (8 - (s->before + s->at) % 8) % 8); /* aligns the arrays that follow */
    ct__model_data(s, gp);
    if (s->version >= CT__BARE && s->version % 2 == 0) return;
    if (s->reading && !ct__group_is_one(gp->options.group)) return;
    ct__stream_tensor(s, &gp->factor.alpha, gp->rows.dtype, ct_shape2(gp->rows.n, 1));
    ct__stream_factor(s, gp);
}
