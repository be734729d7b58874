#include "reference.h"

#include <math.h>

/* Mean over the broadcast elements of term(a, b, c). */
static void mean_of(ref_call *c, long double (*term)(const long double *v, const double *p))
{
    ct_shape shape = c->in[0].shape;
    for (int i = 1; i < c->n_in; i++) shape = ct_shape_broadcast(shape, c->in[i].shape);
    int64_t n = ct_shape_count(shape);
    long double sum = 0;
    for (int64_t e = 0; e < n; e++) {
        int64_t at[CT_MAX_DIMS];
        long double v[3];
        ref_unravel(shape, e, at);
        for (int i = 0; i < c->n_in; i++) v[i] = ref_at(&c->in[i], shape.ndim, at);
        sum += term(v, c->attr);
    }
    *ref_out(c, ct_shape0()) = sum / n;
}

static long double square_term(const long double *v, const double *p)
{
    (void)p;
    return (v[0] - v[1]) * (v[0] - v[1]);
}

static long double huber_term(const long double *v, const double *p)
{
    long double r = fabsl(v[0] - v[1]), delta = p[0];
    return r <= delta ? r * r / 2 : delta * (r - delta / 2);
}

static long double nll_term(const long double *v, const double *p)
{
    (void)p;
    return (logl(2 * acosl(-1) * v[1]) + (v[2] - v[0]) * (v[2] - v[0]) / v[1]) / 2;
}

static void mse_(ref_call *c) { mean_of(c, square_term); }
static void huber_(ref_call *c) { mean_of(c, huber_term); }
static void gaussian_nll_(ref_call *c) { mean_of(c, nll_term); }

static void softmax_cross_entropy_(ref_call *c)
{
    const ref_array *x = &c->in[0], *label = &c->in[1];
    int64_t classes = ref_dim(x, -1);
    long double sum = 0;
    for (int64_t i = 0; i < label->n; i++) {
        long double exps = 0;
        for (int64_t k = 0; k < classes; k++) exps += expl(x->x[i * classes + k]);
        sum += logl(exps) - x->x[i * classes + (int64_t)label->x[i]];
    }
    *ref_out(c, ct_shape0()) = sum / label->n;
}

/* -½ |L⁻¹(y - mean)|² - Σ log L_ii - n/2 log 2π, by forward substitution */
static void mvn_logpdf_(ref_call *c)
{
    const ref_array *y = &c->in[0], *mean = &c->in[1], *L = &c->in[2];
    ct_shape batch =
        ct_shape_broadcast(ref_batch(L, 2), ct_shape_broadcast(ref_batch(y, 2), ref_batch(mean, 2)));
    int64_t n = ref_dim(L, -1);
    long double *out = ref_out(c, batch);
    for (int64_t b = 0; b < c->out.n; b++) {
        const long double *l = ref_member(L, 2, batch, b);
        long double z[128], total = -(long double)n / 2 * logl(2 * acosl(-1));
        for (int64_t i = 0; i < n; i++) {
            z[i] = ref_member(y, 2, batch, b)[i] - ref_member(mean, 2, batch, b)[i];
            for (int64_t j = 0; j < i; j++) z[i] -= l[i * n + j] * z[j];
            z[i] /= l[i * n + i];
            total -= z[i] * z[i] / 2 + logl(l[i * n + i]);
        }
        out[b] = total;
    }
}

static ref_part mvn_reads(const void *attr, int input)
{
    (void)attr;
    return input == 2 ? REF_LOWER : REF_ALL;
}

const reference reference_losses[] = {
    { .name = "mse", .compute = mse_ },
    { .name = "huber", .compute = huber_ },
    { .name = "gaussian_nll", .compute = gaussian_nll_ },
    { .name = "softmax_cross_entropy", .compute = softmax_cross_entropy_ },
    { .name = "mvn_logpdf", .compute = mvn_logpdf_, .reads = mvn_reads },
    { 0 },
};
