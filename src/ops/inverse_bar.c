/* The adjoint of P = A⁻¹, for ops that keep the inverse as an output or in scratch. By what is kept:
 *     P                      Ā = -Pᵀ P̄ Pᵀ                                          [Giles 2008, §2.2.3]
 *     a symmetric P          Ā = -P S P,  S = ½ (P̄ + P̄ᵀ)
 *     its root (backend.h)   the same
 * P̄ may be a column, which stands for a diagonal matrix. */
#include "support.h"

static ct_shape shape(ct_call *c)
{
    const int64_t n = ct_arg_dim(c, 1, -2);
    return ct__matrix_shape(ct_arg_shape(c, 1), n, n);
}

static void forward(ct_call *c)
{
    const ct__kept kept = *(const ct__kept *)ct_attr(c);
    if (kept == CT__KEPT_ROOT)
        ct__inverse_root_bar(c, ct_arg(c, 0), ct_arg(c, 1), ct_result(c));
    else
        ct_prim_inverse_bar(c, kept == CT__KEPT_SYMMETRIC, ct_arg(c, 0), ct_arg(c, 1), ct_result(c));
}

/* Computes one member after the other, with workspace for one. Not differentiable. */
static const ct_op inverse_bar = { .name = "inverse_bar", .n_in = 2, .shape = shape, .forward = forward };

ct_var ct__inverse_bar(ct__kept kind, ct_var kept, ct_var P_bar)
{
    return ct_apply(&inverse_bar, (ct_var[]){ kept, P_bar }, 2, &kind, sizeof kind);
}
