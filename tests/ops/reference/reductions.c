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
    { .name = "sum", .compute = sum_ },       { .name = "mean", .compute = mean_ },
    { .name = "max", .compute = max_ },       { .name = "logsumexp", .compute = logsumexp_ },
    { .name = "sum_to", .compute = sum_to_ }, { 0 },
};
