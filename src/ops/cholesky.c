/* cholesky:  L lower triangular, A = L Lᵀ            A: (..., n, n) symmetric, its lower triangle is read
 * adjoint:   Ā = ½ (S + Sᵀ),  S = L⁻ᵀ Φ(Lᵀ L̄) L⁻¹,  Φ = lower triangle with the diagonal halved
 *                                     [Murray 2016, arXiv:1602.07527, eq. 10; Giles 2008, §2.3.3]
 * tangent:   L̇ = L Φ(L⁻¹ Ȧ L⁻ᵀ)
 * From dA = dL Lᵀ + L dLᵀ: L⁻¹ dA L⁻ᵀ = F + Fᵀ with F = L⁻¹ dL lower triangular, so F = Φ(L⁻¹ dA L⁻ᵀ), and
 * ⟨L̄, L F⟩ = ⟨Φ(LᵀL̄), L⁻¹ dA L⁻ᵀ⟩. The part of L̄ above the diagonal is ignored, since L is zero there. */
#include "support.h"

static void forward(ct_call *c)
{
    ct_view L = ct_result(c);
    ct_prim_triangle(c, ct_arg(c, 0), false, 0, L);
    ct_prim_potrf(c, L);
    /* A row that is not finite makes its pivot so: L_ii² = A_ii - Σ_j L_ij². */
    ct_prim_flag(c, CT_FINITE, ct_view_unsqueeze(ct_view_diagonal(L), -1), "pivot %lld", CT__NOT_FINITE, L);
}

/* cholesky_bar(L, L̄) = Ā, one matrix after the other, in place: trmm, two trsm, and a panel of workspace.
 * Not differentiable. */
static void bar_forward(ct_call *c)
{
    ct_view L = ct_arg(c, 0);
    ct_view S = ct_result(c), half = ct_scratch(c, L.dtype, ct_shape0());
    ct_view diagonal = ct_view_diagonal(S);
    ct_prim_fill(c, half, 0.5);
    ct_prim_triangle(c, ct_arg(c, 1), false, 0, S);        /* S = tril(L̄)             */
    ct_prim_trmm(c, CT_LOWER | CT_TRANS, 1, L, S);         /* S = Lᵀ L̄                */
    ct_prim_triangle(c, S, false, 0, S);                   /* S = Φ(Lᵀ L̄)             */
    ct_prim_map2(c, CT_MAP_mul, diagonal, half, diagonal); /*   with half the diagonal */
    ct_prim_trsm(c, CT_LOWER | CT_TRANS, 0.5, L, S);       /* S = ½ L⁻ᵀ S              */
    ct_prim_trsm(c, CT_LOWER | CT_RIGHT, 1, L, S);         /* S = S L⁻¹                */
    ct__add_transpose(c, S);                               /* Ā = S + Sᵀ               */
}

static const ct_op cholesky_bar = {
    .name = "cholesky_bar", .n_in = 2, .shape = ct__square_shape, .forward = bar_forward
};

/* Φ(S) */
static ct_var phi(ct_var S) { return ct_sub(ct_tril(S, 0), ct_scale(ct_diag_embed(ct_diag(S)), 0.5)); }

static ct_var bar_in_ops(ct_var L, ct_var L_bar)
{
    ct_var S = phi(ct_matmul(ct_t(L), ct_tril(L_bar, 0)));
    S = ct_tri_solve(L, S, CT_LOWER | CT_TRANS);
    S = ct_tri_solve(L, S, CT_LOWER | CT_RIGHT);
    return ct__symmetric_part(S);
}

static void vjp(ct_rule *g)
{
    ct_var L = ct_out(g), L_bar = ct_out_bar(g);
    ct_in_bar(g, 0,
              ct_recording(g) ? bar_in_ops(L, L_bar)
                              : ct_apply(&cholesky_bar, (ct_var[]){ L, L_bar }, 2, NULL, 0));
}

static void jvp(ct_rule *g)
{
    ct_var L = ct_out(g), S = ct_tri_solve(L, ct__symmetric_part(ct_in_dot(g, 0)), CT_LOWER);
    S = ct_tri_solve(L, S, CT_LOWER | CT_TRANS | CT_RIGHT);
    ct_give_out_dot(g, 0, ct_matmul(L, phi(S)));
}

static void sample(ct_sample *s) { ct_sample_spd(s, 0, ct_sample_size(s)); }

const ct_op ct_op_cholesky = { .name = "cholesky",
                               .n_in = 1,
                               .shape = ct__square_shape,
                               .forward = forward,
                               .vjp = vjp,
                               .jvp = jvp,
                               .jvp_stacked = true,
                               .sample = sample,
                               .finite = true };

ct_var ct_cholesky(ct_var A) { return ct_apply(&ct_op_cholesky, &A, 1, NULL, 0); }
