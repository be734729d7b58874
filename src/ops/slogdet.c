/* slogdet:  y = log |det A| = Σ_i log |U_ii|, and sign = det A / |det A|, from A[order] = L U
 *                                                       A: (..., n, n) -> (...), (...)
 * adjoint:  Ā = ȳ A⁻ᵀ                                                   [Jacobi; Giles 2008, §2.2.4]
 * tangent:  ẏ = tr(A⁻¹ Ȧ)
 * From d det A = det A tr(A⁻¹ dA). The sign is constant wherever it is differentiable. A singular A has y =
 * -inf and sign 0. Its cotangent does not exist: it is NaN and flagged, also where rounding hides
 * the singular pivot from the inverse. */
#include "support.h"

static ct_shape shape(ct_call *c)
{
    const ct_shape shape = ct__batch_of_squares(c);
    ct_more_out(c, 1, ct_arg(c, 0).dtype, shape);
    return shape;
}

static void forward(ct_call *c)
{
    ct_view log_abs = ct_result(c), sign = ct_result_at(c, 1);
    ct_prim_lu_det(c, ct_arg(c, 0), log_abs, sign);
    /* A member without a sign has failed; one with sign 0 has y = -inf, which is its value. */
    ct_prim_flag(c, CT_FINITE, ct__with_ones(sign, 2), "the sign of the determinant", CT__NOT_FINITE,
                 ct_no_view());
}

/* A⁻ᵀ, but NaN and flagged where the determinant is zero. */
static ct_var gradient(ct_rule *g)
{
    ct_var P = ct_inverse(ct_in(g, 0)), not_zero = ct__one_by_one(ct_abs(ct_out_at(g, 1)));
    return ct_t(ct__where_positive(P, not_zero, "the determinant", /* its place is always 1 */
                                   "is zero or NaN: its logarithm has no gradient"));
}

static void vjp(ct_rule *g)
{
    if (!ct_has_out_bar(g, 0)) return;
    ct_in_bar(g, 0, ct_mul(ct__one_by_one(ct_out_bar(g)), gradient(g)));
}

static void jvp(ct_rule *g) { ct_give_out_dot(g, 0, ct__inner(gradient(g), ct_in_dot(g, 0))); }

static void sample(ct_sample *s) { ct_sample_invertible(s, 0, ct_sample_size(s)); }

const ct_op ct_op_slogdet = { .name = "slogdet",
                              .n_in = 1,
                              .shape = shape,
                              .forward = forward,
                              .vjp = vjp,
                              .jvp = jvp,
                              .jvp_stacked = true,
                              .sample = sample,
                              .finite = true };

ct_var ct_slogdet(ct_var A, ct_var *sign)
{
    ct_var y = ct_apply(&ct_op_slogdet, &A, 1, NULL, 0);
    if (sign) *sign = ct_output(y, 1);
    return y;
}
