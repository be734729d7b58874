/* inverse_spd:  P = A⁻¹ by Cholesky         A: (..., n, n) symmetric positive definite, its lower triangle is read
 * adjoint:      Ā = -P S P,  S = ½ (P̄ + P̄ᵀ)                            [Giles 2008, §2.2.3]
 * As inverse.c, with P = Pᵀ; dA is symmetric, so the symmetric part of P̄ alone counts, and Ā is symmetric: half of its
 * second product need not be computed. */
#include "support.h"

static ct_shape shape(ct_call *c)
{
    ct__need_floating(c, 0);
    ct__need_square(c, 0);
    return ct_arg_shape(c, 0);
}

static void forward(ct_call *c) { ct_prim_potri(c, ct_arg(c, 0), ct_result(c)); }

static void bar_forward(ct_call *c)
{
    ct_prim_inverse_bar(c, true, ct_arg(c, 0), ct_arg(c, 1), ct_result(c));
}

/* inverse_spd_bar(P, P̄) = Ā, member by member with two matrices of scratch. Not differentiable. */
static const ct_op inverse_spd_bar = {
    .name = "inverse_spd_bar", .n_in = 2, .shape = shape, .forward = bar_forward
};

static ct_var bar_in_ops(ct_var P, ct_var P_bar)
{
    ct_var S = ct_scale(ct_add(P_bar, ct_t(P_bar)), -0.5);
    return ct_matmul(P, ct_matmul(S, P));
}

static void vjp(ct_vjp *g)
{
    ct_var P = ct_out(g), P_bar = ct_out_bar(g);
    ct_in_bar(g, 0,
              ct_recording(g) ? bar_in_ops(P, P_bar)
                              : ct_apply(&inverse_spd_bar, (ct_var[]){ P, P_bar }, 2, NULL, 0));
}

static void sample(ct_sample *s) { ct_sample_spd(s, 0, ct_sample_size(s)); }

const ct_op ct_op_inverse_spd = {
    .name = "inverse_spd", .n_in = 1, .shape = shape, .forward = forward, .vjp = vjp, .sample = sample
};

ct_var ct_inverse_spd(ct_var A) { return ct_apply(&ct_op_inverse_spd, &A, 1, NULL, 0); }
