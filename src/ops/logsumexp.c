/* logsumexp:  y = log Σ_k e^{x_k}   over one dimension, or all; the maximum is subtracted first
 * adjoint:    x̄_k = ȳ e^{x_k - y}   the softmax of x                 [dy = Σ_k e^{x_k - y} dx_k] */
#include "support.h"

static ct_shape shape(ct_call *c) { return ct__axis_shape(c, false); }

static void forward(ct_call *c) { ct__axis_forward(c, CT_REDUCE_LOGSUMEXP); }

static void vjp(ct_vjp *g)
{
    const ct__axis *axis = ct_vjp_attr(g);
    ct_var x = ct_in(g, 0), y = ct__axis_restore(ct_out(g), axis, x),
           y_bar = ct__axis_restore(ct_out_bar(g), axis, x);
    ct_in_bar(g, 0, ct_mul(y_bar, ct_exp(ct_sub(x, y))));
}

static void sample(ct_sample *s) { ct__axis_sample(s, 1); }

const ct_op ct_op_logsumexp = {
    .name = "logsumexp", .n_in = 1, .shape = shape, .forward = forward, .vjp = vjp, .sample = sample
};

ct_var ct_logsumexp(ct_var x, int dim, bool keep) { return ct__apply_axis(&ct_op_logsumexp, x, dim, keep); }
