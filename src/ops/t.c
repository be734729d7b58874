/* t:        Y = Xᵀ on the last two dimensions: a view
 * adjoint:  X̄ = Ȳᵀ                                                         [⟨Ȳ, dXᵀ⟩ = ⟨Ȳᵀ, dX⟩] */
#include "support.h"

static void forward(ct_call *c) { ct_set_result(c, 0, ct_view_transpose(ct_arg(c, 0))); }

static void vjp(ct_rule *g) { ct_in_bar(g, 0, ct_t(ct_out_bar(g))); }

static void sample(ct_sample *s) { ct_sample_normal(s, 0, ct_shape2(ct_sample_size(s), 3)); }

const ct_op ct_op_t = { .name = "t",
                        .n_in = 1,
                        .shape = ct__shape_of_view,
                        .forward = forward,
                        .vjp = vjp,
                        .jvp = ct_jvp_linear,
                        .jvp_stacked = true,
                        .sample = sample,
                        .half = true,
                        .integers = 1 };

ct_var ct_t(ct_var x) { return ct_apply(&ct_op_t, &x, 1, NULL, 0); }
