/* svd:      A = U diag(s) Vᵀ, UᵀU = VᵀV = I, s_0 >= s_1 >= ... >= 0         A: (..., m, n), r = min(m, n)
 *                                                    -> s: (..., r), U: (..., m, r), Vᵀ: (..., r, n)
 * adjoint:  Ā = U (diag(s̄) + G∘P + H∘N) Vᵀ + (I - UUᵀ) Ū S⁻¹ Vᵀ + U S⁻¹ V̄ᵀ (I - VVᵀ),
 *           P, N = ½ (UᵀŪ - ŪᵀU) ± ½ (VᵀV̄ - V̄ᵀV),   G_ij = 1 / (s_j - s_i),  H_ij = 1 / (s_i + s_j)
 * tangent:  ṡ = diag(K),  K = Uᵀ Ȧ V,   p = G∘(K + Kᵀ),  q = H∘(K - Kᵀ)
 *           U̇ = ½ U (p + q) + (I - UUᵀ) Ȧ V S⁻¹,   V̇ = ½ V (p - q) + (I - VVᵀ) Ȧᵀ U S⁻¹
 *                                            [Townsend 2016, "Differentiating the SVD"; docs/ops/svd.md]
 * One of I - UUᵀ and I - VVᵀ is 0. The rules are written for m >= n, and applied to Aᵀ otherwise.
 *
 * Where values repeat, their vectors may be turned together, and G is 0. A loss that depends on the turn,
 * so that P_ij is not 0, is flagged. One of U Vᵀ alone has P = 0, and its gradient is right. Of values that
 * are 0, U and V may be turned apart. As in eigh.c, a loss that reads values and vectors is flagged, too. */
#include "gaps.h"

#define VALUE "singular value %lld"

static ct_shape shape(ct_call *c)
{
    if (!ct__need_matrices(c, 0)) return ct_shape0();
    const ct_shape A = ct_arg_shape(c, 0);
    const int64_t m = ct_arg_dim(c, 0, -2), n = ct_arg_dim(c, 0, -1), r = m < n ? m : n;
    ct_shape s = ct__matrix_shape(A, r, r);
    s.ndim--;
    ct_more_out(c, 1, ct_arg(c, 0).dtype, ct__matrix_shape(A, m, r));
    ct_more_out(c, 2, ct_arg(c, 0).dtype, ct__matrix_shape(A, r, n));
    return s;
}

/* In each column of U the element of largest magnitude is positive. */
static void forward(ct_call *c)
{
    ct_view A = ct_arg(c, 0), U = ct_result_at(c, 1), Vt = ct_result_at(c, 2),
            work = ct_scratch(c, A.dtype, ct_view_shape(A));
    ct_prim_copy(c, A, work);
    ct_prim_svd(c, work, ct_view_unsqueeze(ct_result(c), -2), U, Vt);
    if (!ct_view_count(work)) return;
    ct_view signs = ct__signs(c, ct_view_transpose(U));
    ct_prim_map2(c, CT_MAP_mul, Vt, signs, Vt);
    ct_prim_map2(c, CT_MAP_mul, U, ct_view_transpose(signs), U);
}

/* The outputs as of a tall matrix, and what the rules share. */
typedef struct parts {
    bool wide; /* then these are of Aᵀ: U and V are exchanged */
    bool square;
    ct_var s, U, V, G, near, H, zeros, inverse,
        zero; /* inverse = 1 / s_k (..., 1, r), 0 where s_k is rounding */
} parts;

static void exchange(ct_var *a, ct_var *b)
{
    const ct_var held = *a;
    *a = *b;
    *b = held;
}

static parts parts_of(const ct_rule *g)
{
    parts q = { .s = ct_out(g), .U = ct_out_at(g, 1), .V = ct_t(ct_out_at(g, 2)) };
    const ct_tensor *A = ct_value(ct_in(g, 0));
    const int64_t m = ct_tensor_dim(A, -2), n = ct_tensor_dim(A, -1);
    q.wide = m < n, q.square = m == n;
    if (q.wide) exchange(&q.U, &q.V);
    ct_var row = ct_unsqueeze(q.s, -2), column = ct_unsqueeze(q.s, -1), limit = ct__gap_rounding(q.s);
    q.G = ct__inverse_beyond(ct_sub(row, column), limit, &q.near);
    q.H = ct__inverse_beyond(ct_add(row, column), limit, &q.zeros);
    q.inverse = ct__inverse_beyond(row, limit, &q.zero);
    return q;
}

/* The number of elements in each row of X that are not rounding where the mask is 1, (..., r, 1). */
static ct_var count(ct_var mask, ct_var X, ct_var T)
{
    return ct_sum(ct_mul(mask, ct__not_rounding(X, T)), -1, true);
}

/* Where s_k, u_k or v_k is read: the number of other values near s_k, and 1 more if it is 0 and A is not
 * square. */
static ct_var unknown(const parts *q, ct_var s_bar, ct_var U_bar, ct_var V_bar)
{
    ct_var others = ct_shift(ct_sum(q->near, -1, true), -1);
    if (!q->square) others = ct_add(others, ct_t(q->zero));
    return ct_mul(others, ct_add(ct__is_read(s_bar, U_bar), ct__is_read(s_bar, V_bar)));
}

static ct_var skew(ct_var T) { return ct_scale(ct_sub(T, ct_t(T)), 0.5); }

static bool is_empty(const ct_rule *g) { return !ct_tensor_count(ct_value(ct_in(g, 0))); }

static void vjp(ct_rule *g)
{
    ct_var s_bar = ct_out_bar(g), A_bar;
    if (is_empty(g)) {
        ct_in_bar(g, 0, ct_in(g, 0));
        return;
    }
    if (!ct_has_out_bar(g, 1) && !ct_has_out_bar(g, 2)) {
        ct_in_bar(g, 0, ct_matmul(ct_mul(ct_out_at(g, 1), ct_unsqueeze(s_bar, -2)), ct_out_at(g, 2)));
        return;
    }
    const parts q = parts_of(g);
    ct_var U_bar = ct_out_bar_at(g, 1), V_bar = ct_t(ct_out_bar_at(g, 2));
    if (q.wide) exchange(&U_bar, &V_bar);
    ct_var T = ct_matmul(ct_t(q.U), U_bar), Tv = ct_matmul(ct_t(q.V), V_bar),
           size = ct_add(ct_abs(T), ct_abs(Tv));
    ct_var P = ct_add(skew(T), skew(Tv)), N = ct_sub(skew(T), skew(Tv));
    ct_var bad = ct_add(count(q.near, P, size), count(q.zeros, N, size)), rest = ct_none();
    if (ct_has_out_bar(g, 0)) bad = ct_add(bad, unknown(&q, s_bar, U_bar, V_bar));
    if (!q.square) {
        rest = ct_sub(U_bar, ct_matmul(q.U, T)); /* (I - UUᵀ) Ū */
        bad = ct_add(bad, count(ct_t(q.zero), ct_t(rest), U_bar));
    }
    ct_var M = ct__unless(bad, ct_add(ct_mul(q.G, P), ct_mul(q.H, N)), VALUE);
    A_bar = ct_matmul(q.U, ct_add_diag(M, s_bar));
    if (!q.square) A_bar = ct_add(A_bar, ct_mul(rest, q.inverse));
    A_bar = ct_matmul(A_bar, ct_t(q.V));
    ct_in_bar(g, 0, q.wide ? ct_t(A_bar) : A_bar);
}

static void jvp(ct_rule *g)
{
    if (is_empty(g)) return;
    const parts q = parts_of(g);
    ct_var A_dot = q.wide ? ct_t(ct_in_dot(g, 0)) : ct_in_dot(g, 0), AV = ct_matmul(A_dot, q.V), rest;
    ct_var K = ct_matmul(ct_t(q.U), AV), s_dot = ct_diag(K);
    ct_give_out_dot(g, 0, s_dot);
    if (!ct_wants_out_dot(g, 1) && !ct_wants_out_dot(g, 2)) return;
    ct_var L = ct_sub(K, ct_diag_embed(s_dot)), p = ct_add(L, ct_t(L)), n = ct_sub(L, ct_t(L));
    ct_var bad = ct_add(count(q.near, p, K), count(q.zeros, n, K));
    if (!q.square) {
        rest = ct_sub(AV, ct_matmul(q.U, K)); /* (I - UUᵀ) Ȧ V */
        bad = ct_add(bad, count(ct_t(q.zero), ct_t(rest), AV));
    }
    p = ct_scale(ct__unless(bad, ct_mul(q.G, p), VALUE), 0.5);
    n = ct_scale(ct_mul(q.H, n), 0.5);
    ct_var U_dot = ct_matmul(q.U, ct_add(p, n)), V_dot = ct_matmul(q.V, ct_sub(p, n));
    if (!q.square) U_dot = ct_add(U_dot, ct_mul(rest, q.inverse));
    if (q.wide) exchange(&U_dot, &V_dot);
    ct_give_out_dot(g, 1, U_dot);
    ct_give_out_dot(g, 2, ct_t(V_dot));
}

/* Square, tall and wide, with values apart from each other and from 0. */
static void sample(ct_sample *s)
{
    const int variant = ct_sample_variant(s, 3);
    const int64_t size = ct_sample_size(s), n = size < 10 ? size : 10; /* gaps shrink with n² */
    if (variant == 0)
        ct_sample_invertible(s, 0, n);
    else
        ct_sample_normal(s, 0, variant == 1 ? ct_shape2(2 * n + 1, n) : ct_shape2(n, n + 2));
}

const ct_op ct_op_svd = { .name = "svd",
                          .n_in = 1,
                          .shape = shape,
                          .forward = forward,
                          .vjp = vjp,
                          .jvp = jvp,
                          .sample = sample,
                          .jvp_stacked = true,
                          .finite = true };

ct_var ct_svd(ct_var A, ct_var *U, ct_var *Vt)
{
    ct_var s = ct_apply(&ct_op_svd, &A, 1, NULL, 0);
    if (U) *U = ct_output(s, 1);
    if (Vt) *Vt = ct_output(s, 2);
    return s;
}
