/* sum:      y = Σ_k x_k             over one dimension, or all
 * adjoint:  x̄_k = ȳ                 a broadcast view, which takes no memory           [dy = Σ_k dx_k] */
#include "support.h"

static ct_shape shape(ct_call *c) { return ct__axis_shape(c, true); }

static void forward(ct_call *c) { ct__axis_forward(c, CT_REDUCE_SUM); }

static void vjp(ct_vjp *g)
{
    ct_var x = ct_in(g, 0), y_bar = ct_out_bar(g);
    ct_in_bar(g, 0, ct_broadcast_to(ct__axis_restore(y_bar, ct_vjp_attr(g), x), ct_var_shape(x)));
}

static void sample(ct_sample *s) { ct__axis_sample(s, 0); }

const ct_op ct_op_sum = {
    .name = "sum", .n_in = 1, .shape = shape, .forward = forward, .vjp = vjp, .sample = sample, .half = true
};

ct_var ct_sum(ct_var x, int dim, bool keep) { return ct__apply_axis(&ct_op_sum, x, dim, keep); }
