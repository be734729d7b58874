/* nlml_kronecker:  v = ½ tr(RᵀA) + ½ log det C + np/2 log 2π,   C = B ⊗ K + diag(d) ⊗ I,  vec A = C⁻¹ vec R
 *                  K (n, n), B (p, p), R (n, p), d (p): output by output, cov(R_ij, R_lq) = B_jq K_il + noise
 *
 * With S = diag(d)^-½, the eigen-decompositions S B S = U diag(λ) Uᵀ and K = V diag(μ) Vᵀ, and
 * E_ij = 1 + μ_i λ_j, everything takes O(n³ + p³):
 *     Y = (Vᵀ R S U) / E,   A = V Y Uᵀ S,   log det C = Σ log E_ij + n Σ log d_j
 * adjoint:  K̄ = ½ v̄ [V diag(Σ_j λ_j/E_ij) Vᵀ - A B Aᵀ],           A B Aᵀ = Z diag(λ) Zᵀ,  Z = V Y
 *           B̄ = ½ v̄ [S U diag(Σ_i μ_i/E_ij) Uᵀ S - Aᵀ K A],       Aᵀ K A = Z diag(μ) Zᵀ,  Z = S U Yᵀ
 *           R̄ = v̄ A,   d̄_j = ½ v̄ [Σ_k U_jk² Σ_i 1/E_ik / d_j - Σ_i A_ij²]
 * So the lower triangles of K and B alone are read.
 * [Saatçi 2011, §5; Rakitsch, Lippert, Borgwardt & Stegle 2013] */
#include <float.h>
#include <math.h>

#include <cotangent/gp/outputs.h>

#include "dense.h"

enum { OF_K, OF_B, OF_R, OF_D, INPUTS };

static ct_shape shape(ct_call *c)
{
    const int64_t n = ct_arg_dim(c, OF_R, 0), p = ct_arg_dim(c, OF_R, 1);
    ct_require(c,
               ct_arg_ndim(c, OF_K) == 2 && ct_arg_ndim(c, OF_B) == 2 && ct_arg_ndim(c, OF_R) == 2 &&
                   ct_arg_ndim(c, OF_D) == 1 && ct_arg_dim(c, OF_K, 0) == n && ct_arg_dim(c, OF_K, 1) == n &&
                   ct_arg_dim(c, OF_B, 0) == p && ct_arg_dim(c, OF_B, 1) == p && ct_arg_dim(c, OF_D, 0) == p,
               CT_ESHAPE, "K must be (n, n), B (p, p), R (n, p) and the noise (p)");
    for (int i = 0; i < INPUTS && ct_call_recorded(c) && ct_call_ok(c); i++)
        ct_save_for_vjp(c, ct__bar(i), ct_arg(c, i).dtype, ct_arg_shape(c, i));
    return ct_shape0();
}

/* Rows of V and U are eigenvectors. */
typedef struct parts {
    ct_view V, mu, U, lambda, s; /* (n, n), (1, n), (p, p), (1, p), (1, p): d^-½ */
    ct_view E, Y, Z, A;          /* (n, p); Z = V Y */
} parts;

/* out (r, c) = x y element by element, broadcast; returns out. */
static ct_view times(ct_call *c, ct_view x, ct_view y, ct_view out)
{
    ct_prim_map2(c, CT_MAP_mul, x, y, out);
    return out;
}

static ct_view row(ct_call *c, ct_dtype dtype, int64_t n) { return ct_scratch(c, dtype, ct_shape2(1, n)); }

/* Eigenvalues that are negative by rounding become 0; of an indefinite A (m, m) all become NaN. `what` as in
 * ct_prim_flag. */
static void eigen(ct_call *c, ct_view A, ct_view w, const char *what)
{
    const int64_t m = ct_view_dim(A, 0);
    ct_view excess = row(c, w.dtype, m), margin = row(c, w.dtype, 1);
    ct_prim_eigen(c, A, w);
    if (!m) return;
    const ct_view largest = ct_view_slice(w, 1, m - 1, m, 1);
    ct_prim_map1(c, CT_MAP_scale, (double[]){ (double)m * ct__gp_rounding(w.dtype), 0 }, largest, margin);
    ct_prim_map1(c, CT_MAP_shift, (double[]){ FLT_MIN, 0 }, margin, margin); /* all may be 0 */
    ct_prim_map2(c, CT_MAP_add, w, margin, excess);
    ct_prim_flag(c, CT_POSITIVE, ct_view_transpose(excess), what,
                 "is negative: the matrix must be a covariance", w);
    ct_prim_map1(c, CT_MAP_clamp, (double[]){ 0, INFINITY }, w, w);
}

static parts decompose(ct_call *c, ct_view K, ct_view B, ct_view d)
{
    const ct_dtype t = K.dtype;
    const int64_t n = ct_view_dim(K, 0), p = ct_view_dim(B, 0);
    const parts q = { .V = ct_scratch(c, t, ct_shape2(n, n)),
                      .mu = row(c, t, n),
                      .U = ct_scratch(c, t, ct_shape2(p, p)),
                      .lambda = row(c, t, p),
                      .s = row(c, t, p),
                      .E = ct_scratch(c, t, ct_shape2(n, p)),
                      .Y = ct_scratch(c, t, ct_shape2(n, p)),
                      .Z = ct_scratch(c, t, ct_shape2(n, p)),
                      .A = ct_scratch(c, t, ct_shape2(n, p)) };
    ct_prim_map1(c, CT_MAP_pow, (double[]){ -0.5, 0 }, ct_view_unsqueeze(d, 0), q.s);
    ct_prim_copy(c, K, q.V);
    eigen(c, q.V, q.mu, "eigenvalue %lld of K");
    times(c, B, q.s, q.U);
    times(c, q.U, ct_view_transpose(q.s), q.U);
    eigen(c, q.U, q.lambda, "eigenvalue %lld of B");
    ct_prim_gemm(c, 1, ct_view_transpose(q.mu), q.lambda, 0, q.E);
    ct_prim_map1(c, CT_MAP_shift, (double[]){ 1, 0 }, q.E, q.E);
    return q;
}

/* Y, Z and A from R, and v. */
static void solve(ct_call *c, const parts *q, ct_view R, ct_view d, ct_view v)
{
    const int64_t n = ct_view_dim(R, 0), p = ct_view_dim(R, 1);
    ct_view T = ct_scratch(c, R.dtype, ct_shape2(n, p)), U = ct_scratch(c, R.dtype, ct_shape2(n, p)),
            logs = row(c, R.dtype, p);
    ct_prim_gemm(c, 1, q->V, times(c, R, q->s, q->Y), 0, T);
    ct_prim_gemm(c, 1, T, ct_view_transpose(q->U), 0, q->Y);
    ct_prim_map2(c, CT_MAP_div, q->Y, q->E, q->Y);
    ct_prim_gemm(c, 1, ct_view_transpose(q->V), q->Y, 0, q->Z);
    ct_prim_gemm(c, 1, q->Z, q->U, 0, T);
    times(c, T, q->s, q->A);
    ct_prim_map1(c, CT_MAP_log, NULL, q->E, T);
    ct_prim_map1(c, CT_MAP_log, NULL, ct_view_unsqueeze(d, 0), logs);
    ct_prim_map2(c, CT_MAP_add, T, logs, T);
    ct_prim_map2(c, CT_MAP_add, T, times(c, R, q->A, U), T); /* R A + log (E d) */
    ct__density_value(c, ct_view_reshape(T, ct_shape1(n * p)), ct_no_view(), v);
}

/* out = ½ (Wᵀ diag(g) W - Z diag(w) Zᵀ), for rows W of eigenvectors, and rows g and w. */
static void bar(ct_call *c, ct_view W, ct_view g, ct_view Z, ct_view w, ct_view out)
{
    ct_view rows = ct_scratch(c, W.dtype, ct_view_shape(W)),
            columns = ct_scratch(c, Z.dtype, ct_view_shape(Z));
    ct_prim_gemm(c, 0.5, ct_view_transpose(W), times(c, W, ct_view_transpose(g), rows), 0, out);
    ct_prim_gemm(c, -0.5, times(c, Z, w, columns), ct_view_transpose(Z), 1, out);
}

/* The derivatives at v̄ = 1. */
static void slopes(ct_call *c, const parts *q)
{
    const ct_dtype t = q->A.dtype;
    const int64_t n = ct_view_dim(q->A, 0), p = ct_view_dim(q->A, 1);
    ct_view share = ct_scratch(c, t, ct_shape2(n, p)), g = row(c, t, n), h = row(c, t, p),
            count = row(c, t, p), US = ct_scratch(c, t, ct_shape2(p, p)),
            YUS = ct_scratch(c, t, ct_shape2(n, p)), squares = ct_scratch(c, t, ct_shape2(p, p)),
            sums = row(c, t, p), d_bar = ct_view_unsqueeze(ct_result_at(c, ct__bar(OF_D)), 0);
    ct_prim_map2(c, CT_MAP_div, q->lambda, q->E, share);
    ct_prim_reduce(c, CT_REDUCE_SUM, share, ct_view_transpose(g));
    ct_prim_map2(c, CT_MAP_div, ct_view_transpose(q->mu), q->E, share);
    ct_prim_reduce(c, CT_REDUCE_SUM, share, h);
    ct_prim_map1(c, CT_MAP_reciprocal, NULL, q->E, share);
    ct_prim_reduce(c, CT_REDUCE_SUM, share, count);
    times(c, q->U, q->s, US);
    ct_prim_gemm(c, 1, q->Y, US, 0, YUS);
    bar(c, q->V, g, q->Z, q->lambda, ct_result_at(c, ct__bar(OF_K)));
    bar(c, US, h, ct_view_transpose(YUS), q->mu, ct_result_at(c, ct__bar(OF_B)));
    times(c, times(c, US, US, squares), ct_view_transpose(count), squares); /* S² U_jk² Σ_i 1/E_ik */
    ct_prim_reduce(c, CT_REDUCE_SUM, squares, d_bar);
    ct_prim_reduce(c, CT_REDUCE_SUM, times(c, q->A, q->A, share), sums);
    ct_prim_map2(c, CT_MAP_sub, d_bar, sums, d_bar);
    ct_prim_map1(c, CT_MAP_scale, (double[]){ 0.5, 0 }, d_bar, d_bar);
}

static void forward(ct_call *c)
{
    ct_view K = ct_arg(c, OF_K), B = ct_arg(c, OF_B), R = ct_arg(c, OF_R), d = ct_arg(c, OF_D);
    const parts q = decompose(c, K, B, d);
    solve(c, &q, R, d, ct_result(c));
    ct__density_flag(c);
    if (!ct_call_recorded(c)) return;
    ct_prim_copy(c, q.A, ct_result_at(c, ct__bar(OF_R)));
    slopes(c, &q);
}

/* symmetric:  S = tril(A) + tril(A, -1)ᵀ,  adjoint:  Ā = ½ (S̄ + S̄ᵀ), the cotangent of a symmetric input. */
static ct_shape square(ct_call *c) { return ct_arg_shape(c, 0); }

static void symmetric_forward(ct_call *c)
{
    ct_view A = ct_arg(c, 0), S = ct_result(c), below = ct_scratch(c, A.dtype, ct_view_shape(A));
    ct_prim_triangle(c, A, false, 0, S);
    ct_prim_triangle(c, A, false, -1, below);
    ct_prim_map2(c, CT_MAP_add, S, ct_view_transpose(below), S);
}

static void symmetric_vjp(ct_rule *g)
{
    ct_in_bar(g, 0, ct_scale(ct_add(ct_out_bar(g), ct_t(ct_out_bar(g))), 0.5));
}

static const ct_op symmetric = {
    .name = "symmetric", .n_in = 1, .shape = square, .forward = symmetric_forward, .vjp = symmetric_vjp
};

static ct_var mirrored(ct_var A) { return ct_apply(&symmetric, &A, 1, NULL, 0); }

/* From C as a matrix. */
static ct_var composed(const ct_cov_program *none, const ct_var *in)
{
    (void)none;
    const int64_t n = ct_var_shape(in[OF_R]).dim[0], p = ct_var_shape(in[OF_R]).dim[1];
    ct_var C = ct_mul(ct_reshape(mirrored(in[OF_B]), ct_shape_of(4, (int64_t[]){ p, 1, p, 1 })),
                      ct_reshape(mirrored(in[OF_K]), ct_shape_of(4, (int64_t[]){ 1, n, 1, n })));
    ct_var d = ct_broadcast_to(ct_reshape(in[OF_D], ct_shape2(p, 1)), ct_shape2(p, n));
    ct_var L =
        ct_cholesky(ct_add_diag(ct_reshape(C, ct_shape2(p * n, p * n)), ct_reshape(d, ct_shape1(p * n))));
    ct_var r = ct_reshape(ct_t(in[OF_R]), ct_shape2(p * n, 1));
    return ct__nlml_of(r, L);
}

static const char *const gradient_in[] = { "element %lld of the gradient in K",
                                           "element %lld of the gradient in B",
                                           "element %lld of the gradient in the residual",
                                           "element %lld of the gradient in the noise" };

static void vjp(ct_rule *g)
{
    ct_var bar[INPUTS];
    const bool recording = ct_recording(g);
    if (recording && !ct__recorded_bars(g, composed, bar)) return;
    ct__density_give(g, gradient_in, recording ? bar : NULL);
}

static void sample(ct_sample *s)
{
    enum { OUTPUTS = 3 };
    const int64_t n = ct_sample_size(s);
    ct_sample_unbatched(s);
    ct_sample_spd(s, OF_K, n);
    ct_sample_spd(s, OF_B, OUTPUTS);
    ct_sample_uniform(s, OF_R, ct_shape2(n, OUTPUTS), -2, 2);
    ct_sample_uniform(s, OF_D, ct_shape1(OUTPUTS), 0.3, 1);
}

const ct_op ct__op_nlml_kronecker = {
    .name = "nlml_kronecker", .n_in = INPUTS, .shape = shape, .forward = forward, .vjp = vjp, .sample = sample
};

ct_var ct_outputs_nlml_kronecker(ct_var K, ct_var B, ct_var R, ct_var noise)
{
    return ct_apply(&ct__op_nlml_kronecker, (ct_var[]){ K, B, R, noise }, INPUTS, NULL, 0);
}
