#include "reference.h"

#include <math.h>

typedef struct axis {
    int dim, keep;
} axis;

enum { SUM, MEAN, MAX, LOGSUMEXP };

/* Collects the elements that are reduced into each output, in order. */
static void reduce(ref_call *c, int kind)
{
    const axis *a = c->attr;
    const ref_array *x = &c->in[0];
    int dim = a->dim < 0 && a->dim != CT_ALL ? a->dim + x->shape.ndim : a->dim;
    ct_shape kept = x->shape, shape = { 0 };
    for (int d = 0; d < kept.ndim; d++) {
        bool gone = dim == CT_ALL || d == dim;
        if (gone) kept.dim[d] = 1;
        if (!gone || a->keep) shape.dim[shape.ndim++] = kept.dim[d];
    }
    long double *y = ref_out(c, shape);
    for (int64_t o = 0; o < c->out.n; o++) {
        long double sum = 0, largest = -INFINITY, exps = 0, nan = 0;
        int64_t n = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t i = 0; i < x->n; i++) {
                int64_t at[CT_MAX_DIMS];
                ref_unravel(x->shape, i, at);
                for (int d = 0; d < kept.ndim; d++)
                    if (kept.dim[d] == 1) at[d] = 0;
                if (ref_ravel(kept, at) != o) continue;
                if (pass == 1) {
                    exps += expl(x->x[i] - largest);
                    continue;
                }
                sum += x->x[i];
                if (isnan(x->x[i])) nan = x->x[i];
                if (x->x[i] > largest) largest = x->x[i];
                n++;
            }
        y[o] = kind == SUM ? sum : kind == MEAN ? sum / n : kind == MAX ? largest : largest + logl(exps);
        if (isnan(nan)) y[o] = nan;
    }
}

/* e^(x_k - m) / Σ_j e^(x_j - m), or its logarithm, with m the largest of the elements that are summed */
static void softmax(ref_call *c, bool logarithm)
{
    const ref_array *x = &c->in[0];
    const int n = x->shape.ndim, dim = *(const int *)c->attr;
    long double *y = ref_out(c, x->shape);
    for (int64_t k = 0; k < x->n; k++) {
        int64_t at[CT_MAX_DIMS], other[CT_MAX_DIMS];
        long double largest = -INFINITY, sum = 0, nan = 0;
        ref_unravel(x->shape, k, at);
        for (int pass = 0; pass < 2; pass++)
            for (int64_t j = 0; j < x->n; j++) {
                bool with_k = true;
                ref_unravel(x->shape, j, other);
                for (int d = 0; d < n; d++)
                    with_k &= dim == CT_ALL || d == dim || d == dim + n || at[d] == other[d];
                if (!with_k) continue;
                if (isnan(x->x[j])) nan = x->x[j];
                if (pass == 0 && x->x[j] > largest) largest = x->x[j];
                if (pass == 1) sum += expl(x->x[j] - largest);
            }
        y[k] = logarithm ? x->x[k] - largest - logl(sum) : expl(x->x[k] - largest) / sum;
        if (isnan(nan)) y[k] = nan;
    }
}

static void softmax_(ref_call *c) { softmax(c, false); }
static void log_softmax_(ref_call *c) { softmax(c, true); }

static void sum_(ref_call *c) { reduce(c, SUM); }
static void mean_(ref_call *c) { reduce(c, MEAN); }
static void max_(ref_call *c) { reduce(c, MAX); }
static void logsumexp_(ref_call *c) { reduce(c, LOGSUMEXP); }

static void sum_to_(ref_call *c)
{
    const ct_shape *target = c->attr;
    const ref_array *x = &c->in[0];
    long double *y = ref_out(c, *target);
    for (int64_t o = 0; o < c->out.n; o++) y[o] = 0;
    for (int64_t i = 0; i < x->n; i++) {
        int64_t at[CT_MAX_DIMS], to[CT_MAX_DIMS];
        ref_unravel(x->shape, i, at);
        for (int d = 0; d < target->ndim; d++)
            to[d] = target->dim[d] == 1 ? 0 : at[d + x->shape.ndim - target->ndim];
        y[ref_ravel(*target, to)] += x->x[i];
    }
}

const reference reference_reductions[] = {
    { .name = "sum", .compute = sum_ },         { .name = "mean", .compute = mean_ },
    { .name = "max", .compute = max_ },         { .name = "logsumexp", .compute = logsumexp_ },
    { .name = "softmax", .compute = softmax_ }, { .name = "log_softmax", .compute = log_softmax_ },
    { .name = "sum_to", .compute = sum_to_ },   { 0 },
};
