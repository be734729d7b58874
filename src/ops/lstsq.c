/* lstsq:    X = argmin |A X - B|, by A = Q R
 *           A: (..., m, n) of full column rank  B: (..., m, k) -> X: (..., n, k)
 * adjoint:  with Z = (AᵀA)⁻¹ X̄ = R⁻¹ R⁻ᵀ X̄:   B̄ = A Z,   Ā = (B - A X) Zᵀ - B̄ Xᵀ
 *                                                      [Golub & Pereyra 1973, for the derivative of A⁺]
 * From AᵀA X = AᵀB: AᵀA dX = dAᵀ (B - A X) + Aᵀ (dB - dA X), so
 * ⟨X̄, dX⟩ = ⟨Z, dAᵀ (B - A X)⟩ + ⟨A Z, dB - dA X⟩. The forward rule is dX itself. */
#include "support.h"

#include <float.h>

/* R is kept for the rule. A recorded sweep differentiates through AᵀA, so there the rule computes its own
 * factor. */
static ct_shape shape(ct_call *c)
{
    if (!ct__need_matrices(c, 0)) return ct_shape0();
    const int64_t m = ct_arg_dim(c, 0, -2), n = ct_arg_dim(c, 0, -1);
    ct_require(c, m == ct_arg_dim(c, 1, -2), CT_ESHAPE, "A and B must have the same number of rows");
    ct_require(c, m >= n, CT_ESHAPE,
               "A has fewer rows than columns, so the solution is not unique: use ct_ridge_solve");
    if (ct_call_recorded(c))
        ct_save_for_vjp(c, 1, ct_arg(c, 0).dtype, ct__matrix_shape(ct_arg_shape(c, 0), n, n));
    return ct__need_batch(c, 0, 1, n, ct_arg_dim(c, 1, -1));
}

/* X = X + 0 max B, column by column. This keeps a NaN of B in a row where the reflectors are zero, which
 * LAPACK skips. */
static void keep_nan(ct_call *c, ct_view B, ct_view X)
{
    ct_view most = ct_scratch(c, B.dtype, ct__matrix_shape(ct_view_shape(B), 1, ct_view_dim(B, -1)));
    if (ct_view_count(X) == 0) return;
    ct_prim_reduce(c, CT_REDUCE_MAX, B, most);
    ct_prim_map1(c, CT_MAP_scale, NULL, most, most); /* times 0 */
    ct_prim_map2(c, CT_MAP_add, X, most, X);
}

static void forward(ct_call *c)
{
    ct_view A = ct_arg(c, 0), B = ct_arg(c, 1), X = ct_result(c);
    const int64_t m = ct_view_dim(A, -2), n = ct_view_dim(A, -1), k = ct_view_dim(B, -1);
    const double rounding = (double)m * (A.dtype == CT_F32 ? FLT_EPSILON : DBL_EPSILON);
    if (!ct_is_view(X)) return;
    ct_view QR = ct_view_transpose(ct_scratch(c, A.dtype, ct__matrix_shape(ct_view_shape(A), n, m))),
            C = ct_view_transpose(ct_scratch(c, A.dtype, ct__matrix_shape(ct_view_shape(X), k, m))),
            tau = ct_scratch(c, A.dtype, ct__matrix_shape(ct_view_shape(A), 1, n)),
            R = ct_view_block(QR, 0, n, 0, n), top = ct_view_block(C, 0, n, 0, k);
    ct_prim_copy(c, A, QR);
    ct_prim_qr(c, rounding, QR, tau);
    ct_prim_copy(c, B, C);
    ct_prim_qr_mul(c, true, QR, tau, C);
    ct_prim_trsm(c, CT_UPPER, 1, R, top);
    ct_prim_copy(c, top, X);
    keep_nan(c, B, X);
    if (ct_outs(c) == 2) ct_set_result(c, 1, R);
}

/* R and ρ of AᵀA = ρ² RᵀR, with ρ (..., 1, 1) of the size of A */
static ct_var triangle(const ct_rule *g, ct_var *rho)
{
    ct_var S = ct_recording(g) ? ct_in(g, 0) : ct_triu(ct_out_at(g, 1), 0);
    *rho = ct__size_of(S);
    S = ct_div(S, *rho);
    return ct_recording(g) ? ct_t(ct_cholesky(ct_matmul(ct_t(S), S))) : S;
}

/* ρ (AᵀA)⁻¹ V. Without ρ it is out of range long before what is computed from it. */
static ct_var normal_solve(ct_var R, ct_var rho, ct_var V)
{
    return ct_tri_solve(R, ct_div(ct_tri_solve(R, V, CT_UPPER | CT_TRANS), rho), CT_UPPER);
}

static void vjp(ct_rule *g)
{
    ct_var A = ct_in(g, 0), B = ct_in(g, 1), X = ct_out(g), rho, R = triangle(g, &rho);
    ct_var Z = normal_solve(R, rho, ct_out_bar(g)), B_bar = ct_div(ct_matmul(A, Z), rho);
    ct_in_bar(g, 1, B_bar);
    if (!ct_wants(g, 0)) return;
    ct_var residual = ct_div(ct_sub(B, ct_matmul(A, X)), rho);
    ct_in_bar(g, 0, ct_sub(ct_matmul(residual, ct_t(Z)), ct_matmul(B_bar, ct_t(X))));
}

static void jvp(ct_rule *g)
{
    ct_var A = ct_in(g, 0), B = ct_in(g, 1), X = ct_out(g), A_dot = ct_in_dot(g, 0), B_dot = ct_in_dot(g, 1);
    ct_var rho, R = triangle(g, &rho);
    ct_var residual = ct_div(ct_sub(B, ct_matmul(A, X)), rho),
           moved = ct_div(ct_sub(B_dot, ct_matmul(A_dot, X)), rho);
    ct_var right = ct_add(ct_matmul(ct_t(A_dot), residual), ct_matmul(ct_t(A), moved));
    ct_give_out_dot(g, 0, normal_solve(R, rho, right));
}

static void draw(ct_sample *s, int i)
{
    int64_t n = ct_sample_size(s);
    ct_sample_normal(s, i, ct_shape2(2 * n + 1, i == 0 ? n : 2));
}

static void sample(ct_sample *s) { ct__sample_pair(s, ct_sample_variant(s, 3), draw); }

const ct_op ct_op_lstsq = { .name = "lstsq",
                            .n_in = 2,
                            .shape = shape,
                            .forward = forward,
                            .vjp = vjp,
                            .jvp = jvp,
                            .jvp_stacked = true,
                            .sample = sample,
                            .finite = true };

ct_var ct_lstsq(ct_var A, ct_var B) { return ct_apply(&ct_op_lstsq, (ct_var[]){ A, B }, 2, NULL, 0); }
