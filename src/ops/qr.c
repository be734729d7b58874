/* qr:       A = Q R, QᵀQ = I, R upper triangular, R_ii > 0                   A: (..., m, n), r = min(m, n)
 *                                                                -> Q: (..., m, r), R: (..., r, n)
 * adjoint:  Ā = (Q̄ + Q sym(M)) R⁻ᵀ,  M = R R̄ᵀ - Q̄ᵀ Q,  sym: the lower triangle, mirrored
 * tangent:  with Z = Ȧ R⁻¹, C = Qᵀ Z and Ω = tril(C, -1) - tril(C, -1)ᵀ:  Q̇ = Z - Q (C - Ω),  Ṙ = (C - Ω) R
 * From Qᵀ dA R⁻¹ = Qᵀ dQ + dR R⁻¹, of which one is skew and the other upper triangular.
 * More columns than rows: A = [X Y] = Q [U V], where X = Q U is square and V = Qᵀ Y, so that
 *           Ȳ = Q V̄,  and Q̄ + Y V̄ᵀ takes the place of Q̄ for X;   V̇ = Qᵀ (Ẏ - Q̇ V)
 *                                                          [Walter & Lehmann 2018, §3; Seeger et al. 2017]
 * The first r columns must be linearly independent. */
#include "support.h"

#include <float.h>

static ct_shape shape(ct_call *c)
{
    if (!ct__need_matrices(c, 0)) return ct_shape0();
    const ct_shape A = ct_arg_shape(c, 0);
    const int64_t m = ct_arg_dim(c, 0, -2), n = ct_arg_dim(c, 0, -1), r = m < n ? m : n;
    ct_more_out(c, 1, ct_arg(c, 0).dtype, ct__matrix_shape(A, r, n));
    return ct__matrix_shape(A, m, r);
}

static void forward(ct_call *c)
{
    ct_view A = ct_arg(c, 0), Q = ct_result(c), R = ct_result_at(c, 1);
    const ct_shape shape = ct_view_shape(A);
    const int64_t m = ct_view_dim(A, -2), n = ct_view_dim(A, -1), r = m < n ? m : n;
    if (!ct_is_view(R) || !ct_view_count(A)) return;
    ct_view QR = ct_view_transpose(ct_scratch(c, A.dtype, ct__matrix_shape(shape, n, m))), /* by columns */
        tau = ct_scratch(c, A.dtype, ct__matrix_shape(shape, 1, r)),
            signs = ct_scratch(c, A.dtype, ct__matrix_shape(shape, 1, r));
    ct_prim_copy(c, A, QR);
    ct_prim_qr(c, (double)m * (A.dtype == CT_F32 ? FLT_EPSILON : DBL_EPSILON), QR, tau);
    ct_prim_map1(c, CT_MAP_sign, NULL, ct_view_unsqueeze(ct_view_diagonal(QR), -2), signs);
    ct_prim_triangle(c, ct_view_block(QR, 0, r, 0, n), true, 0, R);
    ct_prim_map2(c, CT_MAP_mul, R, ct_view_transpose(signs), R);
    ct_prim_fill(c, Q, 0);
    ct_prim_copy(c, signs, ct_view_unsqueeze(ct_view_diagonal(Q), -2));
    ct_prim_qr_mul(c, false, QR, tau, Q);
}

/* Columns [from, to) */
static ct_var columns(ct_var x, int64_t from, int64_t to) { return ct_slice(x, -1, from, to, 1); }

typedef struct sizes {
    int64_t m, n, r;
} sizes;

static sizes sizes_of(const ct_rule *g)
{
    const ct_tensor *Q = ct_value(ct_out(g)), *R = ct_value(ct_out_at(g, 1));
    return (sizes){ ct_tensor_dim(Q, -2), ct_tensor_dim(R, -1), ct_tensor_dim(R, -2) };
}

static void vjp(ct_rule *g)
{
    const sizes k = sizes_of(g);
    ct_var Q = ct_out(g), Q_bar = ct_out_bar(g), R_bar = ct_out_bar_at(g, 1), V_bar = ct_none();
    ct_var U = columns(ct_out_at(g, 1), 0, k.r), U_bar = columns(R_bar, 0, k.r);
    if (k.n > k.r) {
        V_bar = columns(R_bar, k.r, k.n);
        Q_bar = ct_add(Q_bar, ct_matmul(columns(ct_in(g, 0), k.r, k.n), ct_t(V_bar))); /* Q̄ + Y V̄ᵀ */
    }
    ct_var M = ct_sub(ct_matmul(U, ct_t(U_bar)), ct_matmul(ct_t(Q_bar), Q));
    M = ct_add(ct_tril(M, 0), ct_t(ct_tril(M, -1)));
    ct_var A_bar = ct_tri_solve(U, ct_add(Q_bar, ct_matmul(Q, M)), CT_UPPER | CT_TRANS | CT_RIGHT);
    if (k.n > k.r) A_bar = ct_concat((ct_var[]){ A_bar, ct_matmul(Q, V_bar) }, 2, -1);
    ct_in_bar(g, 0, A_bar);
}

static void jvp(ct_rule *g)
{
    const sizes k = sizes_of(g);
    ct_var Q = ct_out(g), R = ct_out_at(g, 1), A_dot = ct_in_dot(g, 0), U = columns(R, 0, k.r);
    ct_var Z = ct_tri_solve(U, columns(A_dot, 0, k.r), CT_UPPER | CT_RIGHT), C = ct_matmul(ct_t(Q), Z);
    ct_var below = ct_tril(C, -1), W = ct_sub(C, ct_sub(below, ct_t(below))); /* C - Ω */
    ct_var Q_dot = ct_sub(Z, ct_matmul(Q, W)), R_dot = ct_matmul(W, U);
    if (k.n > k.r) {
        ct_var Y_dot = ct_sub(columns(A_dot, k.r, k.n), ct_matmul(Q_dot, columns(R, k.r, k.n)));
        R_dot = ct_concat((ct_var[]){ R_dot, ct_matmul(ct_t(Q), Y_dot) }, 2, -1);
    }
    ct_give_out_dot(g, 0, Q_dot);
    ct_give_out_dot(g, 1, R_dot);
}

/* Square, tall and wide. */
static void sample(ct_sample *s)
{
    const int variant = ct_sample_variant(s, 3);
    const int64_t size = ct_sample_size(s), n = variant == 2 && size > 5 ? 5 : size;
    if (variant == 0)
        ct_sample_invertible(s, 0, n);
    else
        ct_sample_normal(s, 0, variant == 1 ? ct_shape2(2 * n + 1, n) : ct_shape2(n, size + 2));
}

const ct_op ct_op_qr = { .name = "qr",
                         .n_in = 1,
                         .shape = shape,
                         .forward = forward,
                         .vjp = vjp,
                         .jvp = jvp,
                         .sample = sample,
                         .jvp_stacked = true,
                         .finite = true };

ct_var ct_qr(ct_var A, ct_var *R)
{
    ct_var Q = ct_apply(&ct_op_qr, &A, 1, NULL, 0);
    if (R) *R = ct_output(Q, 1);
    return Q;
}
