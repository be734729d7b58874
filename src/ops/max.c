/* max:      y = max_k x_k           over one dimension, or all; NaN wins
 * adjoint:  x̄_k = ȳ [x_k = y] / #{j : x_j = y}
 *
 * Without a tie this is the gradient of the selected entry. At a tie max is not differentiable; equal shares
 * are the one element of the subdifferential conv{e_k} that does not depend on the order of the entries. */
#include "support.h"

static ct_shape shape(ct_call *c) { return ct__axis_shape(c, false); }

static void forward(ct_call *c) { ct__axis_forward(c, CT_REDUCE_MAX); }

static void vjp(ct_vjp *g)
{
    const ct__axis *axis = ct_vjp_attr(g);
    ct_var x = ct_in(g, 0), y_bar = ct__axis_restore(ct_out_bar(g), axis, x);
    ct_var chosen = ct_equal(x, ct__axis_restore(ct_out(g), axis, x));
    ct_in_bar(g, 0, ct_mul(ct_div(y_bar, ct_sum(chosen, axis->dim, true)), chosen));
}

static void sample(ct_sample *s)
{
    if (ct__axis_sample(s, 1)) ct_sample_kinks(s);
}

const ct_op ct_op_max = {
    .name = "max", .n_in = 1, .shape = shape, .forward = forward, .vjp = vjp, .sample = sample
};

ct_var ct_max(ct_var x, int dim, bool keep) { return ct__apply_axis(&ct_op_max, x, dim, keep); }
