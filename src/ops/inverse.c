/* inverse:  P = A⁻¹ by LU with partial pivoting       A: (..., n, n)
 * adjoint:  Ā = -A⁻ᵀ P̄ A⁻ᵀ                                             [Giles 2008, §2.2.3]
 * tangent:  Ṗ = -P Ȧ P
 * From 0 = d(A P) = dA P + A dP: dP = -P dA P, and ⟨P̄, -P dA P⟩ = ⟨-Pᵀ P̄ Pᵀ, dA⟩. */
#include "support.h"

static void forward(ct_call *c) { ct_prim_getri(c, ct_arg(c, 0), ct_result(c)); }

static void vjp(ct_rule *g)
{
    ct_var P = ct_out(g), P_bar = ct_out_bar(g);
    if (ct_recording(g))
        ct_in_bar(g, 0, ct_neg(ct_matmul(ct_t(P), ct_matmul(P_bar, ct_t(P)))));
    else
        ct_in_bar(g, 0, ct__inverse_bar(CT__KEPT_INVERSE, P, P_bar));
}

static void jvp(ct_rule *g)
{
    ct_var P = ct_out(g);
    ct_give_out_dot(g, 0, ct_neg(ct_matmul(P, ct_matmul(ct_in_dot(g, 0), P))));
}

static void sample(ct_sample *s) { ct_sample_invertible(s, 0, ct_sample_size(s)); }

const ct_op ct_op_inverse = { .name = "inverse",
                              .n_in = 1,
                              .shape = ct__square_shape,
                              .forward = forward,
                              .vjp = vjp,
                              .jvp = jvp,
                              .jvp_stacked = true,
                              .sample = sample,
                              .finite = true };

ct_var ct_inverse(ct_var A) { return ct_apply(&ct_op_inverse, &A, 1, NULL, 0); }
