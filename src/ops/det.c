/* det:      y = det A by LU; 0 for a singular A                                   A: (..., n, n) -> (...)
 * adjoint:  Ā = ȳ C,  C = det(A) A⁻ᵀ, the cofactors                            [Jacobi; Giles 2008, §2.2.4]
 * tangent:  ẏ = ⟨C, Ȧ⟩
 * cofactor: C = det(U) det(V) U diag(c) Vᵀ,  c_k = Π_{j≠k} s_j,  from A = U diag(s) Vᵀ;
 *           from LU where A is regular                          [Stewart 1998, "On the adjugate matrix"]
 * both rules: the Hessian of det, which is symmetric: H[X] = det(U) det(V) U M Vᵀ, with K = Uᵀ X V and
 *           M_ii = Σ_{j≠i} D_ij K_jj,  M_ij = -D_ij K_ji,  D_ij = Π_{k≠i,j} s_k
 * These are polynomials in A, so they exist for a singular A, too: C has rank 1 if A has rank n - 1, and is 0
 * below. The rule differentiates det(UAV) = det(U) det(V) det(A) at the diagonal matrix UᵀAV. */
#include "support.h"

#include <float.h>

static double epsilon(ct_dtype dtype) { return dtype == CT_F32 ? FLT_EPSILON : DBL_EPSILON; }

/* -- by singular values ---------------------------------------------------------------------------------- */

typedef struct parts {
    ct_view U, s, Vt, sign; /* s (..., n, 1); sign (..., 1, 1): det(U) det(V) */
} parts;

static parts decompose(ct_call *c, ct_view A)
{
    const ct_shape shape = ct_view_shape(A);
    const ct_dtype t = A.dtype;
    ct_shape batch = shape;
    batch.ndim -= 2;
    ct_view work = ct_scratch(c, t, shape),
            s = ct_scratch(c, t, ct__matrix_shape(shape, 1, ct_view_dim(A, -1))),
            log_abs = ct_scratch(c, t, batch), sign = ct_scratch(c, t, batch);
    const parts q = { ct_scratch(c, t, shape), ct_view_transpose(s), ct_scratch(c, t, shape),
                      ct__with_ones(sign, 2) };
    ct_prim_copy(c, A, work);
    ct_prim_svd(c, work, s, q.U, q.Vt);
    ct_prim_gemm(c, 1, q.U, q.Vt, 0, work);
    ct_prim_lu_det(c, work, log_abs, sign);
    return q;
}

/* det(U) det(V) Π_{j≠k} s_j (..., n, 1): the product of those before k times that of those behind. */
static ct_view products_of_others(ct_call *c, const parts *q)
{
    const ct_view s = q->s;
    const int64_t n = ct_view_dim(s, -2);
    const ct_shape shape = ct_view_shape(s);
    ct_view before = ct_scratch(c, s.dtype, shape), behind = ct_scratch(c, s.dtype, shape),
            start = ct_scratch(c, s.dtype, shape);
    ct_prim_fill(c, start, 0);
    ct_prim_fill(c, ct_view_slice(start, -2, 0, 1, 1), 1);
    /* before_k = s_{k-1} before_{k-1} */
    ct_prim_recurrence(c, false, ct_view_slice(s, -2, 0, n - 1, 1), start, before);
    ct_prim_fill(c, start, 0);
    ct_prim_fill(c, ct_view_slice(start, -2, n - 1, n, 1), 1);
    /* behind_k = s_{k+1} behind_{k+1} */
    ct_prim_recurrence(c, true, ct_view_slice(s, -2, 1, n, 1), start, behind);
    ct_prim_map2(c, CT_MAP_mul, before, behind, before);
    ct_prim_map2(c, CT_MAP_mul, before, q->sign, before);
    return before;
}

/* -- C --------------------------------------------------------------------------------------------------- */

/* Whether no member is singular to working precision. On an asynchronous device that would have to wait, and
 * the answer is no. */
static bool all_regular(ct_call *c, ct_view A)
{
    const ct_shape shape = ct_view_shape(A);
    const int64_t n = ct_view_dim(A, -1);
    if (ct_device_is_asynchronous(ct_call_device(c))) return false;
    ct_view QR = ct_view_transpose(ct_scratch(c, A.dtype, shape)),
            tau = ct_scratch(c, A.dtype, ct__matrix_shape(shape, 1, n)),
            rcond = ct_scratch(c, A.dtype, ct__matrix_shape(shape, 1, 1)),
            least = ct_scratch(c, A.dtype, ct_shape1(1));
    ct_prim_copy(c, A, QR);
    ct_prim_qr(c, -1, QR, tau);
    ct_prim_tri_rcond(c, QR, rcond);
    ct_prim_reduce(c, CT_REDUCE_MIN, ct_view_reshape(rcond, ct_shape1(ct_view_count(rcond))), least);
    return ct_call_item(c, least) > (double)n * ct__rounding(A.dtype);
}

/* C = det(A) A⁻ᵀ = det(L U) Πᵀ L⁻ᵀ U⁻ᵀ. Where A is ill-conditioned the inverse is inaccurate, but C is not,
 * since the determinant is that of the same factors. Its root is multiplied twice: det A may be out of range
 * where C is not. */
static void by_factors(ct_call *c, ct_view A, ct_view C)
{
    const ct_shape shape = ct_view_shape(A);
    ct_shape batch = shape, order_shape = shape;
    batch.ndim -= 2, order_shape.ndim--;
    ct_view LU = ct_view_transpose(ct_scratch(c, A.dtype, shape)), order = ct_scratch(c, CT_I64, order_shape),
            root = ct_scratch(c, A.dtype, batch), sign = ct_scratch(c, A.dtype, batch),
            X = ct_scratch(c, A.dtype, shape), pivots = ct_scratch(c, A.dtype, order_shape);
    ct_prim_getrf(c, A, LU, order);
    ct_prim_lu_det(c, A, root, sign);
    ct_prim_map1(c, CT_MAP_abs, NULL, ct_view_diagonal(LU), pivots);
    ct_prim_map1(c, CT_MAP_log, NULL, pivots, pivots);
    ct_prim_reduce(c, CT_REDUCE_SUM, pivots, ct__with_ones(root, 1));
    ct_prim_map1(c, CT_MAP_scale, (double[]){ 0.5, 0 }, root, root);
    ct_prim_map1(c, CT_MAP_exp, NULL, root, root);
    ct_prim_map2(c, CT_MAP_mul, root, sign, sign);
    ct_prim_fill(c, X, 0);
    ct_prim_copy(c, ct__with_ones(sign, 1), ct_view_diagonal(X));
    ct_prim_trsm(c, CT_UPPER | CT_TRANS, 1, LU, X);
    ct_prim_trsm(c, CT_LOWER | CT_TRANS | CT_UNIT, 1, LU, X);
    ct_prim_map2(c, CT_MAP_mul, X, ct__with_ones(root, 2), X);
    ct_prim_permute_rows(c, X, order, true, C);
}

static void by_singular_values(ct_call *c, ct_view A, ct_view C)
{
    const parts q = decompose(c, A);
    ct_prim_map2(c, CT_MAP_mul, q.U, ct_view_transpose(products_of_others(c, &q)), q.U);
    ct_prim_gemm(c, 1, q.U, q.Vt, 0, C);
}

static void cofactor_forward(ct_call *c)
{
    ct_view A = ct_arg(c, 0), C = ct_result(c);
    const int64_t n = ct_view_dim(A, -1);
    if (!ct_is_view(C) || !ct_view_count(C)) return;
    (all_regular(c, A) ? by_factors : by_singular_values)(c, A, C);
    ct_prim_flag(c, CT_FINITE, ct_view_reshape(C, ct__matrix_shape(ct_view_shape(C), n * n, 1)),
                 "cofactor %lld", "is not finite: the logarithm of a determinant, ct_slogdet, has the range",
                 C);
}

/* -- H[X] ------------------------------------------------------------------------------------------------ */

/* D_ij = c_i / s_j (..., n, n) off the diagonal, with rounding in place of an s_j that is less. The root of
 * c_i is multiplied twice: c_i may be out of range where D_ij is not. */
static ct_view products_without_two(ct_call *c, const parts *q, ct_shape shape)
{
    const ct_dtype t = q->s.dtype;
    const double least_s = t == CT_F32 ? (double)FLT_MIN : DBL_MIN;
    ct_view least = ct_scratch(c, t, ct__matrix_shape(shape, 1, 1)), D = ct_scratch(c, t, shape);
    parts roots = *q;
    roots.s = ct_scratch(c, t, ct_view_shape(q->s));
    ct_prim_map1(c, CT_MAP_scale, (double[]){ epsilon(t), 0 }, ct_view_slice(q->s, -2, 0, 1, 1), least);
    ct_prim_map1(c, CT_MAP_shift, (double[]){ least_s, 0 }, least, least);
    ct_prim_map2(c, CT_MAP_maximum, q->s, least, q->s);
    ct_prim_map1(c, CT_MAP_sqrt, NULL, q->s, roots.s);
    ct_view root = products_of_others(c, &roots);
    ct_prim_map2(c, CT_MAP_div, root, ct_view_transpose(q->s), D);
    ct_prim_map1(c, CT_MAP_abs, NULL, root, root);
    ct_prim_map2(c, CT_MAP_mul, D, root, D);
    ct_prim_fill(c, ct_view_diagonal(D), 0);
    return D;
}

/* From A and X, which may be several for an A. */
static ct_shape hessian_shape(ct_call *c)
{
    return ct__need_batch(c, 0, 1, ct_arg_dim(c, 0, -1), ct_arg_dim(c, 0, -1));
}

static void hessian_forward(ct_call *c)
{
    ct_view A = ct_arg(c, 0), X = ct_arg(c, 1), H = ct_result(c);
    const ct_shape shape = ct_view_shape(H);
    const int64_t n = ct_view_dim(A, -1);
    if (!ct_is_view(H) || !ct_view_count(H)) return;
    const parts q = decompose(c, A);
    ct_view T = ct_scratch(c, A.dtype, shape), K = ct_scratch(c, A.dtype, shape),
            D = products_without_two(c, &q, ct_view_shape(A)),
            sums = ct_scratch(c, A.dtype, ct__matrix_shape(shape, n, 1));
    ct_prim_gemm(c, 1, ct_view_transpose(q.U), X, 0, T);
    ct_prim_gemm(c, 1, T, ct_view_transpose(q.Vt), 0, K);
    ct_prim_gemm(c, 1, D, ct_view_unsqueeze(ct_view_diagonal(K), -1), 0, sums);
    ct_prim_map2(c, CT_MAP_mul, D, ct_view_transpose(K), T);
    ct_prim_map1(c, CT_MAP_neg, NULL, T, K);
    ct_prim_copy(c, sums, ct_view_unsqueeze(ct_view_diagonal(K), -1));
    ct_prim_gemm(c, 1, q.U, K, 0, T);
    ct_prim_gemm(c, 1, T, q.Vt, 0, H);
}

static const ct_op hessian = {
    .name = "det_hessian", .n_in = 2, .shape = hessian_shape, .forward = hessian_forward, .finite = true
};

/* H[X] = (⟨C, X⟩ I - C Xᵀ) A⁻ᵀ, a difference of numbers that may be κ(A) times as large: flagged where A is
 * singular. */
static ct_var hessian_in_ops(ct_var A, ct_var C, ct_var X)
{
    ct_var P = ct_inverse(A), inner = ct_unsqueeze(ct__inner(C, X), -1);
    ct_var H = ct_matmul(ct_add_diag(ct_neg(ct_matmul(C, ct_t(X))), inner), ct_t(P));
    ct_var condition = ct_mul(ct__norm_of(A), ct__norm_of(P));
    return ct__where_positive(H, ct_shift(ct_scale(condition, -ct__rounding(ct_var_dtype(A))), 1),
                              "the matrix", /* its place is always 1 */
                              "is singular to working precision: third derivatives of det A have no digits");
}

static ct_var hessian_times(const ct_rule *g, ct_var X)
{
    ct_var A = ct_in(g, 0);
    return ct_recording(g) ? hessian_in_ops(A, ct_out(g), X)
                           : ct_apply(&hessian, (ct_var[]){ A, X }, 2, NULL, 0);
}

static void cofactor_vjp(ct_rule *g) { ct_in_bar(g, 0, hessian_times(g, ct_out_bar(g))); }
static void cofactor_jvp(ct_rule *g) { ct_give_out_dot(g, 0, hessian_times(g, ct_in_dot(g, 0))); }

static const ct_op cofactor = { .name = "cofactor",
                                .n_in = 1,
                                .shape = ct__square_shape,
                                .forward = cofactor_forward,
                                .vjp = cofactor_vjp,
                                .jvp = cofactor_jvp,
                                .jvp_stacked = true,
                                .finite = true };

static ct_var cofactors(ct_var A) { return ct_apply(&cofactor, &A, 1, NULL, 0); }

/* -- the determinant ------------------------------------------------------------------------------------- */

static void forward(ct_call *c)
{
    ct_view y = ct_result(c), sign = ct_scratch(c, y.dtype, ct_view_shape(y));
    ct_prim_lu_det(c, ct_arg(c, 0), y, sign);
    ct_prim_map1(c, CT_MAP_exp, NULL, y, y);
    ct_prim_map2(c, CT_MAP_mul, y, sign, y);
    ct_prim_flag(c, CT_FINITE, ct__with_ones(y, 2), "the determinant",
                 "is not finite: ct_slogdet has the range", ct__with_ones(y, 2));
}

static void vjp(ct_rule *g)
{
    ct_in_bar(g, 0, ct_mul(ct__one_by_one(ct_out_bar(g)), cofactors(ct_in(g, 0))));
}

static void jvp(ct_rule *g) { ct_give_out_dot(g, 0, ct__inner(cofactors(ct_in(g, 0)), ct_in_dot(g, 0))); }

static void sample(ct_sample *s) { ct_sample_invertible(s, 0, ct_sample_size(s)); }

const ct_op ct_op_det = { .name = "det",
                          .n_in = 1,
                          .shape = ct__batch_of_squares,
                          .forward = forward,
                          .vjp = vjp,
                          .jvp = jvp,
                          .sample = sample,
                          .jvp_stacked = true,
                          .finite = true };

ct_var ct_det(ct_var A) { return ct_apply(&ct_op_det, &A, 1, NULL, 0); }
