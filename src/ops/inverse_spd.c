/* inverse_spd:  P = A⁻¹ by Cholesky    A: (..., n, n) symmetric positive definite, its lower triangle is read
 * adjoint:      Ā = -P S P,  S = ½ (P̄ + P̄ᵀ)                                          [Giles 2008, §2.2.3]
 * A member with A_ii P_ii >= 1/(16 ε) for some i is singular to working precision and fails.
 * As inverse.c, with P = Pᵀ. Since dA is symmetric, only the symmetric part of P̄ counts, and Ā is symmetric.
 * With M = L⁻¹ and A = L Lᵀ we have P = MᵀM and Ā = -Mᵀ(M S Mᵀ)M, which takes two thirds of the work. So if a
 * gradient may be wanted and the device supports it, M's triangle is a second output of n (n + 1) / 2 numbers
 * for each member. */
#include "support.h"

static ct_shape shape(ct_call *c)
{
    if (!ct__need_square(c, 0)) return ct_shape0();
    ct_shape shape = ct_arg_shape(c, 0);
    const int64_t n = ct_arg_dim(c, 0, -1), members = n ? ct_shape_count(shape) / (n * n) : 0;
    if (ct_call_recorded(c) && ct__keeps_root(c, members, n))
        ct_save_for_vjp(c, 1, ct_arg(c, 0).dtype, ct__matrix_shape(shape, 1, n * (n + 1) / 2));
    return shape;
}

static void forward(ct_call *c)
{
    const bool keeps = ct_outs(c) == 2;
    ct_view A = ct_arg(c, 0), P = ct_result(c), root = keeps ? ct_result_at(c, 1) : ct_no_view();
    if (keeps)
        ct__potri_root(c, A, root, P);
    else
        ct_prim_potri(c, A, P);
    if (keeps) ct__flag_singular(c, A, ct_view_diagonal(P), root);
    ct__flag_singular(c, A, ct_view_diagonal(P), P);
}

static ct_var bar_in_ops(ct_var P, ct_var P_bar)
{
    ct_var S = ct_scale(ct_add(P_bar, ct_t(P_bar)), -0.5);
    return ct_matmul(P, ct_matmul(S, P));
}

static void vjp(ct_rule *g)
{
    ct_var P = ct_out(g), P_bar = ct_out_bar(g);
    if (ct_recording(g))
        ct_in_bar(g, 0, bar_in_ops(P, P_bar));
    else if (ct_rule_outs(g) == 2)
        ct_in_bar(g, 0, ct__inverse_bar(CT__KEPT_ROOT, ct_out_at(g, 1), P_bar));
    else
        ct_in_bar(g, 0, ct__inverse_bar(CT__KEPT_SYMMETRIC, P, P_bar));
}

static void jvp(ct_rule *g) { ct_give_out_dot(g, 0, bar_in_ops(ct_out(g), ct_in_dot(g, 0))); }

static void sample(ct_sample *s) { ct_sample_spd(s, 0, ct_sample_size(s)); }

const ct_op ct_op_inverse_spd = { .name = "inverse_spd",
                                  .n_in = 1,
                                  .shape = shape,
                                  .forward = forward,
                                  .vjp = vjp,
                                  .jvp = jvp,
                                  .jvp_stacked = true,
                                  .sample = sample,
                                  .finite = true };

ct_var ct_inverse_spd(ct_var A) { return ct_apply(&ct_op_inverse_spd, &A, 1, NULL, 0); }
