/* Newton's step of k-means: f(C) = Σ_i min_j |c_j - p_i|² over n points in 8 dimensions and m centroids; the
 * Hessian is diagonal, so that H 1 is its diagonal and the step g / H 1. */
#include "gradbench.h"

static void setup(problem *p)
{
    p->x = sines(p->device, ct_shape2(p->m, 8), 0.5, 1);
    p->constant[0] = sines(p->device, ct_shape2(p->n, 8), 1, 1);
    p->constant[1] = ct_full(p->device, CT_F64, ct_shape2(p->m, 8), 1);
}

static void run(problem *p)
{
    ct_var C = ct_leaf(p->tape, p->x), ones = constant(p, 1), g, h;
    ct_var f = ct_sum(ct_min(ct_sqdist(constant(p, 0), C), 1, false), CT_ALL, false);
    ct_grad(f, ct_none(), &C, &g, 1, CT_GRAD_RECORD);
    ct_grad(g, ones, &C, &h, 1, CT_GRAD_KEEP);
    p->value = ct_item(f);
    p->derivative = ct_value(ct_div(g, h));
}

const problem kmeans = { .name = "kmeans", .setup = setup, .run = run };
