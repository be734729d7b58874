/* y_0' = x_0, y_i' = x_i y_{i-1} for n equations by m steps of Runge and Kutta's fourth order to t = 2; the
 * gradient of Σ y_i. */
#include "gradbench.h"

static void setup(problem *p)
{
    p->x = sines(p->device, ct_shape1(p->n), 1, 1);
    p->constant[0] = ct_zeros(p->device, CT_F64, ct_shape1(p->n));
    p->constant[1] = ct_full(p->device, CT_F64, ct_shape1(1), 1);
}

static ct_var slope(const problem *p, ct_var x, ct_var y)
{
    return ct_mul(x, ct_concat((ct_var[]){ constant(p, 1), ct_slice(y, 0, 0, p->n - 1, 1) }, 2, 0));
}

static void run(problem *p)
{
    const double h = 2.0 / (double)p->m;
    ct_var x = ct_leaf(p->tape, p->x), y = constant(p, 0);
    for (int64_t i = 0; i < p->m; i++) {
        ct_var k1 = slope(p, x, y);
        ct_var k2 = slope(p, x, ct_lincomb((double[]){ 1, h / 2 }, (ct_var[]){ y, k1 }, 2));
        ct_var k3 = slope(p, x, ct_lincomb((double[]){ 1, h / 2 }, (ct_var[]){ y, k2 }, 2));
        ct_var k4 = slope(p, x, ct_lincomb((double[]){ 1, h }, (ct_var[]){ y, k3 }, 2));
        y = ct_lincomb((double[]){ 1, h / 6, h / 3, h / 3, h / 6 }, (ct_var[]){ y, k1, k2, k3, k4 }, 5);
    }
    finish(p, x, ct_sum(y, CT_ALL, false));
}

const problem ode = { .name = "ode", .setup = setup, .run = run };
