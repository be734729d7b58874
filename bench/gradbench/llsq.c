/* ½ Σ_i (s_i - Σ_j x_j t_i^j)² for n points t_i in [-1, 1], s_i = sign t_i, and m coefficients. */
#include "gradbench.h"

#include <stdlib.h>

static void setup(problem *p)
{
    double *t = calloc((size_t)p->n, sizeof *t), *s = calloc((size_t)p->n, sizeof *s);
    for (int64_t i = 0; t && s && i < p->n; i++) {
        t[i] = -1 + 2.0 * (double)i / (double)(p->n - 1);
        s[i] = (t[i] > 0) - (t[i] < 0);
    }
    p->x = sines(p->device, ct_shape2(p->m, 1), 1, 1);
    p->constant[0] = ct_from(p->device, CT_F64, ct_shape2(p->n, 1), t);
    p->constant[1] = ct_from(p->device, CT_F64, ct_shape2(p->n, 1), s);
    free(t);
    free(s);
}

static void run(problem *p)
{
    ct_var x = ct_leaf(p->tape, p->x), t = constant(p, 0), one = ct_scalar(p->tape, CT_F64, 1);
    ct_var first = ct_broadcast_to(one, ct_shape2(p->n, 1)),
           rest = ct_broadcast_to(t, ct_shape2(p->n, p->m - 1));
    ct_var powers = ct_cumprod(ct_concat((ct_var[]){ first, rest }, 2, 1), 1);
    ct_var r = ct_sub(constant(p, 1), ct_matmul(powers, x));
    finish(p, x, ct_scale(ct_sum(ct_square(r), CT_ALL, false), 0.5));
}

const problem llsq = { .name = "llsq", .setup = setup, .run = run };
