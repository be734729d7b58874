/* inv_quad_logdet:  q = yᵀ K⁻¹ y and l = log det K, by one Cholesky factorisation
 *                   K: (..., n, n) symmetric positive definite, its lower triangle is read
 *                   y: (..., n, 1) -> q: (...), l: (...)
 * adjoint:          K̄ = l̄ K⁻¹ - q̄ α αᵀ,  ȳ = 2 q̄ α,  α = K⁻¹ y              [Giles 2008, §2.2.3, §2.2.4]
 * tangent:          q̇ = αᵀ (2 ẏ - K̇ α),  l̇ = tr(K⁻¹ K̇),  α̇ = K⁻¹ (ẏ - K̇ α)
 * From dq = 2 αᵀ dy - αᵀ dK α and dl = tr(K⁻¹ dK). The backward pass forms one inverse. α is a third output,
 * whose adjoint is that of a solve: w = K⁻¹ ᾱ, ȳ = w, K̄ = -½ (w αᵀ + α wᵀ). */
#include "support.h"

static ct_shape shape(ct_call *c)
{
    if (!ct__need_matrices(c, 0) || !ct__need_square(c, 0)) return ct_shape0();
    int64_t n = ct_arg_dim(c, 0, -1), rows = ct_arg_dim(c, 1, -2), cols = ct_arg_dim(c, 1, -1);
    ct_require(c, rows == n && cols == 1, CT_ESHAPE, "y must be one column of %lld, it is %lldx%lld",
               (long long)n, (long long)rows, (long long)cols);
    ct_shape column = ct__need_batch(c, 0, 1, n, 1), batch = column;
    batch.ndim -= 2;
    ct_more_out(c, 1, ct_arg(c, 0).dtype, batch);
    ct_more_out(c, 2, ct_arg(c, 0).dtype, column);
    return batch;
}

static void forward(ct_call *c)
{
    ct_view K = ct_arg(c, 0), q = ct_result(c), l = ct_result_at(c, 1), alpha = ct_result_at(c, 2);
    ct_shape K_column = ct__matrix_shape(ct_view_shape(K), ct_view_dim(K, -1), 1), K_batch = K_column;
    K_batch.ndim -= 2;
    ct_view L = ct_scratch(c, K.dtype, ct_view_shape(K)), v = ct_scratch(c, K.dtype, ct_view_shape(alpha));
    ct_view logs = ct_scratch(c, K.dtype, K_column), half = ct_scratch(c, K.dtype, K_batch);
    ct_view two = ct_scratch(c, K.dtype, ct_shape0());
    ct_prim_fill(c, two, 2);
    ct_prim_triangle(c, K, false, 0, L);
    ct_prim_potrf(c, L);
    ct_prim_copy(c, ct_arg(c, 1), v);
    ct_prim_trsm(c, CT_LOWER, 1, L, v); /* v = L⁻¹ y */
    ct_prim_copy(c, v, alpha);
    ct_prim_map2(c, CT_MAP_mul, v, v, v);
    ct_prim_reduce(c, CT_REDUCE_SUM, v, ct__with_ones(q, 2)); /* q = |v|² */
    ct_prim_trsm(c, CT_LOWER | CT_TRANS, 1, L, alpha);        /* α = L⁻ᵀ v */
    ct_prim_map1(c, CT_MAP_log, NULL, ct_view_diagonal(L), ct_view_squeeze(logs, -1));
    ct_prim_reduce(c, CT_REDUCE_SUM, logs, ct__with_ones(half, 2));
    ct_prim_map2(c, CT_MAP_mul, half, two, l); /* l = 2 Σ log L_ii, repeated for each y with the same K */
}

static void vjp(ct_rule *g)
{
    ct_var K = ct_in(g, 0), y = ct_in(g, 1), alpha = ct_out_at(g, 2), inverse = ct_none();
    bool has_q = ct_has_out_bar(g, 0), has_l = ct_has_out_bar(g, 1), has_alpha = ct_has_out_bar(g, 2);
    if (ct_recording(g) || has_alpha || (has_l && ct_wants(g, 0))) inverse = ct_inverse_spd(K);
    if (ct_recording(g)) alpha = ct_matmul(inverse, y);
    if (has_q) {
        ct_var q_alpha = ct_mul(ct__one_by_one(ct_out_bar(g)), alpha);
        ct_in_bar(g, 1, ct_scale(q_alpha, 2));
        ct_in_bar(g, 0, ct_matmul(ct_neg(q_alpha), ct_t(alpha)));
    }
    if (has_l) ct_in_bar(g, 0, ct_mul(ct__one_by_one(ct_out_bar_at(g, 1)), inverse));
    if (!has_alpha) return;
    ct_var w = ct_matmul(inverse, ct_out_bar_at(g, 2));
    ct_in_bar(g, 1, w);
    if (!ct_wants(g, 0)) return;
    ct_var outer = ct_matmul(ct_scale(w, -0.5), ct_t(alpha));
    ct_in_bar(g, 0, ct_add(outer, ct_t(outer)));
}

static void jvp(ct_rule *g)
{
    ct_var K_dot = ct__symmetric_part(ct_in_dot(g, 0)), y_dot = ct_in_dot(g, 1),
           inverse = ct_inverse_spd(ct_in(g, 0));
    ct_var alpha = ct_recording(g) ? ct_matmul(inverse, ct_in(g, 1)) : ct_out_at(g, 2);
    ct_var r_dot = ct_sub(y_dot, ct_matmul(K_dot, alpha));
    ct_var q_dot = ct_squeeze(ct_sum(ct_mul(alpha, ct_add(y_dot, r_dot)), -2, false), -1);
    ct_give_out_dot(g, 0, q_dot);
    ct_give_out_dot(g, 1, ct__inner(inverse, K_dot));
    ct_give_out_dot(g, 2, ct_matmul(inverse, r_dot));
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    ct_sample_spd(s, 0, n);
    ct_sample_normal(s, 1, ct_shape2(n, 1));
}

const ct_op ct_op_inv_quad_logdet = { .name = "inv_quad_logdet",
                                      .n_in = 2,
                                      .shape = shape,
                                      .forward = forward,
                                      .vjp = vjp,
                                      .jvp = jvp,
                                      .jvp_stacked = true,
                                      .sample = sample,
                                      .finite = true };

ct_var ct_inv_quad_logdet(ct_var K, ct_var y, ct_var *logdet)
{
    ct_var q = ct_apply(&ct_op_inv_quad_logdet, (ct_var[]){ K, y }, 2, NULL, 0);
    if (logdet) *logdet = ct_output(q, 1);
    return q;
}
