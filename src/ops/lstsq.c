/* lstsq:    X = argmin |A X - B|, by A = Q R
 *           A: (..., m, n) of full column rank  B: (..., m, k) -> X: (..., n, k)
 * adjoint:  with Z = (AᵀA)⁻¹ X̄ = R⁻¹ R⁻ᵀ X̄:   B̄ = A Z,   Ā = (B - A X) Zᵀ - B̄ Xᵀ
 *                                                      [Golub & Pereyra 1973, for the derivative of A⁺]
 * From AᵀA X = AᵀB: AᵀA dX = dAᵀ (B - A X) + Aᵀ (dB - dA X), so
 * ⟨X̄, dX⟩ = ⟨Z, dAᵀ (B - A X)⟩ + ⟨A Z, dB - dA X⟩. */
#include "support.h"

#include <float.h>

/* -- factor(A): reflectors and R, and tau. Constants: the rule differentiates through AᵀA ---------------- */

static ct_shape factor_shape(ct_call *c)
{
    ct_shape A = ct_arg_shape(c, 0);
    ct_more_out(c, 1, ct_arg(c, 0).dtype, ct__matrix_shape(A, 1, A.dim[A.ndim - 1]));
    return A;
}

static void factor(ct_call *c)
{
    ct_view A = ct_arg(c, 0), tau = ct_result_at(c, 1);
    int64_t m = ct_view_dim(A, -2), n = ct_view_dim(A, -1);
    ct_view QR = ct_view_transpose(ct_scratch(c, A.dtype, ct__matrix_shape(ct_view_shape(A), n, m)));
    double tolerance = (double)m * (A.dtype == CT_F32 ? FLT_EPSILON : DBL_EPSILON);
    ct_prim_copy(c, A, QR);
    ct_prim_qr(c, tolerance, QR, tau);
    ct_set_result(c, 0, QR);
}

static const ct_op lstsq_factor = { .name = "lstsq", .n_in = 1, .shape = factor_shape, .forward = factor };

/* -- apply(A, B, QR, tau): X ----------------------------------------------------------------------------- */

static ct_shape apply_shape(ct_call *c)
{
    return ct__need_batch(c, 0, 1, ct_arg_dim(c, 0, -1), ct_arg_dim(c, 1, -1));
}

/* X = X + 0 max B, column by column. This keeps a NaN of B that LAPACK skips, in a row where the reflectors
 * are zero. */
static void keep_nan(ct_call *c, ct_view B, ct_view X)
{
    ct_view most = ct_scratch(c, B.dtype, ct__matrix_shape(ct_view_shape(B), 1, ct_view_dim(B, -1)));
    if (ct_view_count(X) == 0) return;
    ct_prim_reduce(c, CT_REDUCE_MAX, B, most);
    ct_prim_map1(c, CT_MAP_scale, NULL, most, most); /* times 0 */
    ct_prim_map2(c, CT_MAP_add, X, most, X);
}

static void apply(ct_call *c)
{
    ct_view B = ct_arg(c, 1), QR = ct_arg(c, 2), tau = ct_arg(c, 3), X = ct_result(c);
    int64_t m = ct_view_dim(B, -2), n = ct_view_dim(QR, -1), k = ct_view_dim(B, -1);
    if (!ct_is_view(X)) return;
    ct_view C = ct_view_transpose(ct_scratch(c, B.dtype, ct__matrix_shape(ct_view_shape(X), k, m)));
    ct_view top = ct_view_block(C, 0, n, 0, k);
    ct_prim_copy(c, B, C);
    ct_prim_qr_mul(c, true, QR, tau, C);
    ct_prim_trsm(c, CT_UPPER, 1, ct_view_block(QR, 0, n, 0, n), top);
    ct_prim_copy(c, top, X);
    keep_nan(c, B, X);
}

static void vjp(ct_vjp *g)
{
    ct_var A = ct_in(g, 0), B = ct_in(g, 1), X = ct_out(g);
    int64_t n = ct_var_shape(X).dim[ct_var_shape(X).ndim - 2];
    ct_var R =
        ct_recording(g) ? ct_t(ct_cholesky(ct_matmul(ct_t(A), A))) : ct_slice(ct_in(g, 2), -2, 0, n, 1);
    ct_var Z = ct_tri_solve(R, ct_tri_solve(R, ct_out_bar(g), CT_UPPER | CT_TRANS), CT_UPPER);
    ct_var B_bar = ct_matmul(A, Z);
    ct_in_bar(g, 1, B_bar);
    if (!ct_wants(g, 0)) return;
    ct_var residual = ct_sub(B, ct_matmul(A, X));
    ct_in_bar(g, 0, ct_sub(ct_matmul(residual, ct_t(Z)), ct_matmul(B_bar, ct_t(X))));
}

static const ct_op lstsq_apply = {
    .name = "lstsq", .n_in = 4, .shape = apply_shape, .forward = apply, .vjp = vjp
};

/* -- the op ---------------------------------------------------------------------------------------------- */

static bool refuse(ct_tape *tape, ct_status status, const char *reason)
{
    ct_tape_fail(tape, status, "%s", reason);
    return false;
}

static bool inputs_fit(ct_tape *tape, const ct_var *in)
{
    const ct_tensor *A = ct_value(in[0]), *B = ct_value(in[1]);
    if (!A || !B) return false;
    if (ct_tensor_dtype(A) == CT_I64 || ct_tensor_dtype(B) == CT_I64)
        return refuse(tape, CT_EDTYPE, "an input is i64, wanted f64 or f32: ct_cast it");
    if (ct_tensor_ndim(A) < 2 || ct_tensor_ndim(B) < 2)
        return refuse(tape, CT_ESHAPE, "A and B must be matrices or batches of them: ct_unsqueeze a vector");
    if (ct_tensor_dim(A, -2) != ct_tensor_dim(B, -2))
        return refuse(tape, CT_ESHAPE, "A and B must have the same number of rows");
    if (ct_tensor_dim(A, -2) < ct_tensor_dim(A, -1))
        return refuse(tape, CT_ESHAPE,
                      "A has fewer rows than columns, so the solution is not unique: use ct_ridge_solve");
    return true;
}

static ct_var compose(ct_tape *tape, const ct_var *in, int n_in, const void *attr)
{
    (void)n_in, (void)attr;
    if (!inputs_fit(tape, in)) return ct_none();
    ct_var QR = ct_apply(&lstsq_factor, in, 1, NULL, 0);
    return ct_apply(&lstsq_apply, (ct_var[]){ in[0], in[1], QR, ct_output(QR, 1) }, 4, NULL, 0);
}

/* A and B in batches; one A for a batch of B; one B for a batch of A. */
static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s), m = 2 * n + 1;
    int v = ct_sample_variant(s, 3);
    if (v == 1) ct_sample_normal(s, 1, ct_shape2(m, 2)), ct_sample_unbatched(s);
    ct_sample_normal(s, 0, ct_shape2(m, n));
    if (v == 2) ct_sample_unbatched(s);
    if (v != 1) ct_sample_normal(s, 1, ct_shape2(m, 2));
}

const ct_op ct_op_lstsq = { .name = "lstsq", .n_in = 2, .compose = compose, .sample = sample };

ct_var ct_lstsq(ct_var A, ct_var B) { return ct_apply(&ct_op_lstsq, (ct_var[]){ A, B }, 2, NULL, 0); }
