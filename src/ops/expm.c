/* expm:     Y = e^A = r(2⁻ˢ A)^(2ˢ),  r = (V - U)⁻¹ (V + U), Padé's approximant of order 13   A: (..., n, n)
 *           U = A (A⁶ (c₁₃A⁶ + c₁₁A⁴ + c₉A²) + c₇A⁶ + c₅A⁴ + c₃A² + c₁I)
 *           V =    A⁶ (c₁₂A⁶ + c₁₀A⁴ + c₈A²) + c₆A⁶ + c₄A⁴ + c₂A² + c₀I
 *           s the least with |2⁻ˢ A|₁ <= θ                  [Higham 2005, SIAM J. Matrix Anal. 26, 1179]
 * adjoint:  that of this composition, whose error is the approximant's; docs/ops/expm.md compares it with
 *           Ā = the upper right block of exp [Aᵀ Ȳ; 0 Aᵀ] */
#include "support.h"

#include <float.h>
#include <math.h>

enum { SQUARINGS = 20 }; /* at most: |A|₁ <= 5.6e6 */
static const double theta = 5.371920351148152;
static const double c_[14] = { 64764752532480000,
                               32382376266240000,
                               7771770303897600,
                               1187353796428800,
                               129060195264000,
                               10559470521600,
                               670442572800,
                               33522128640,
                               1323241920,
                               40840800,
                               960960,
                               16380,
                               182,
                               1 };

/* a A⁶ + b A⁴ + c A², divided by c₀ */
static ct_var combined(const ct_var *power, double a, double b, double c)
{
    return ct_lincomb((double[]){ a / c_[0], b / c_[0], c / c_[0] }, power, 3);
}

static ct_var approximant(ct_var A)
{
    ct_var A2 = ct_matmul(A, A), A4 = ct_matmul(A2, A2), A6 = ct_matmul(A4, A2), powers[3] = { A6, A4, A2 };
    ct_var one = ct_scalar(A.tape, ct_var_dtype(A), 1), half = ct_scalar(A.tape, ct_var_dtype(A), 0.5);
    ct_var U =
        ct_add(ct_matmul(A6, combined(powers, c_[13], c_[11], c_[9])), combined(powers, c_[7], c_[5], c_[3]));
    ct_var V =
        ct_add(ct_matmul(A6, combined(powers, c_[12], c_[10], c_[8])), combined(powers, c_[6], c_[4], c_[2]));
    U = ct_matmul(A, ct_add_diag(U, half));
    V = ct_add_diag(V, one);
    return ct_solve(ct_sub(V, U), ct_add(V, U));
}

/* 1 for members where x (..., 1, 1) is more than the limit, else 0; NaN of NaN. */
static ct_var above(ct_var x, double limit) { return ct_less(ct_scalar(x.tape, ct_var_dtype(x), limit), x); }

/* How often a member may have to be squared. On an asynchronous device, which would have to wait for the
 * norms, as often as any. */
static int squarings(ct_call *c, ct_var norm)
{
    if (!ct_tensor_count(ct_value(norm))) return 0;
    if (ct_device_is_asynchronous(ct_call_device(c))) return SQUARINGS;
    const ct_tensor *largest = ct_value(ct_max(norm, CT_ALL, false));
    const double most = largest ? ct_call_item(c, ct_view_of(largest)) : 0;
    return most > theta ? (int)fmin(ceil(log2(most / theta)), SQUARINGS) : 0;
}

static ct_var compose(ct_call *c)
{
    ct_var A = ct_arg_var(c, 0), norm, above_k[SQUARINGS];
    if (!ct__need_square(c, 0)) return ct_none();
    if (!ct_arg_dim(c, 0, -1)) return ct_scale(A, 1);
    norm = ct_max(ct_sum(ct_abs(ct_stop_gradient(A)), -2, true), -1, true);
    ct_var too_large = above(norm, ldexp(theta, SQUARINGS)), zero = ct_scalar(A.tape, ct_var_dtype(A), 0);
    norm = ct_where(too_large, zero, norm); /* and where it is NaN */
    ct_var scaled = ct_where(too_large, zero, A);
    const int n = squarings(c, norm);
    for (int k = 0; k < n; k++) {
        above_k[k] = above(norm, ldexp(theta, k));
        scaled = ct_mul(scaled, ct_shift(ct_scale(above_k[k], -0.5), 1));
    }
    ct_var Y = approximant(scaled);
    for (int k = 0; k < n; k++) Y = ct_where(above_k[k], ct_matmul(Y, Y), Y);
    ct_var size = ct_max(ct_max(ct_abs(Y), -1, true), -2, true);
    ct_var bad = ct_add(too_large, above(size, ct_var_dtype(A) == CT_F32 ? FLT_MAX : DBL_MAX));
    return ct__where_positive(Y, ct_shift(ct_neg(bad), 1), "the exponential", /* its place is always 1 */
                              "is beyond the dtype's range, or its matrix has NaN or a norm above 5.6e6");
}

static void sample(ct_sample *s)
{
    const int64_t n = ct_sample_size(s);
    const double size = ct_sample_variant(s, 2) ? 12 : 1;
    ct_sample_uniform(s, 0, ct_shape2(n, n), -size / (double)(n + 1), size / (double)(n + 1));
}

const ct_op ct_op_expm = { .name = "expm", .n_in = 1, .compose = compose, .sample = sample };

ct_var ct_expm(ct_var A) { return ct_apply(&ct_op_expm, &A, 1, NULL, 0); }
