/* diag:     d_i = A_ii                    (..., m, n) -> (..., min(m, n)): a view
 * adjoint:  Ā = zeros (..., m, n) with d̄ on the diagonal                  [a selection's transpose] */
#include "support.h"

static void forward(ct_call *c) { ct_set_result(c, 0, ct_view_diagonal(ct_arg(c, 0))); }

static void vjp(ct_rule *g)
{
    ct_shape A = ct_var_shape(ct_in(g, 0));
    ct_in_bar(g, 0, ct__diag_embed(ct_out_bar(g), A.dim[A.ndim - 2], A.dim[A.ndim - 1]));
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    ct_shape shapes[] = { ct_shape2(n, n), ct_shape2(n, n + 2), ct_shape2(n + 1, n) };
    ct_sample_normal(s, 0, shapes[ct_sample_variant(s, 3)]);
}

const ct_op ct_op_diag = { .name = "diag",
                           .n_in = 1,
                           .shape = ct__shape_of_view,
                           .forward = forward,
                           .vjp = vjp,
                           .jvp = ct_jvp_linear,
                           .jvp_stacked = true,
                           .sample = sample,
                           .integers = 1 };

ct_var ct_diag(ct_var A) { return ct_apply(&ct_op_diag, &A, 1, NULL, 0); }
