/* log Σ exp x_i, from maximum, exponentials and sum. */
#include "gradbench.h"

static void setup(problem *p) { p->x = sines(p->device, ct_shape1(p->n), 1, 5); }

static void run(problem *p)
{
    ct_var x = ct_leaf(p->tape, p->x), top = ct_max(x, CT_ALL, false);
    finish(p, x, ct_add(top, ct_log(ct_sum(ct_exp(ct_sub(x, top)), CT_ALL, false))));
}

const problem lse = { .name = "lse", .setup = setup, .run = run };
