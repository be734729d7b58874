/* The ops. Every function takes handles on one tape and returns a handle on it. Shapes broadcast by NumPy's
 * rule; "..." are batch dimensions. Floating inputs have one dtype: f64 or f32; products, elementwise ops,
 * sums and shape ops also take bf16 and f16. Indices are i64. Inputs that do not fit poison the result and
 * set the tape's error. The descriptor of ct_foo is ct_op_foo (see op.h). Those on matrices are in
 * matrices.h. */
#ifndef COTANGENT_OPS_H
#define COTANGENT_OPS_H

#include <cotangent/matrices.h>
#include <cotangent/tape.h>

CT_BEGIN_DECLS

/* Every op of the library: the elementwise ones of maps.h, then the others by name. Sets *n to their
 * number. */
CT_API const struct ct_op *const *ct_op_list(int *n);
/* The op of that name; NULL if there is none. */
CT_API const struct ct_op *ct_op_find(const char *name);

/* -- elementwise: y_i = f(x_i) --------------------------------------------------------------------------- */
/* Values and derivatives follow IEEE 754, and no failure is reported: outside its domain a function gives NaN
 * (ct_log(-1)), at a pole an infinity (ct_log(0), ct_reciprocal(0)) with the sign of the zero
 * (ct_reciprocal(-0.0)). At a point where f has no derivative, every device uses the derivative stated here,
 * in recorded and unrecorded sweeps. */

CT_API ct_var ct_neg(ct_var x);
CT_API ct_var ct_abs(ct_var x);  /* derivative sign(x), 0 at 0 */
CT_API ct_var ct_sign(ct_var x); /* -1, 0 or 1; derivative 0   */
CT_API ct_var ct_exp(ct_var x);
CT_API ct_var ct_expm1(ct_var x); /* e^x - 1 */
CT_API ct_var ct_log(ct_var x);
CT_API ct_var ct_log1p(ct_var x); /* log(1 + x)                      */
CT_API ct_var ct_sqrt(ct_var x);  /* derivative inf at 0, -inf at -0 */
CT_API ct_var ct_square(ct_var x);
CT_API ct_var ct_reciprocal(ct_var x);
CT_API ct_var ct_sin(ct_var x);
CT_API ct_var ct_cos(ct_var x);
CT_API ct_var ct_tanh(ct_var x);
CT_API ct_var ct_sech2(ct_var x);    /* 1 / cosh² x                    */
CT_API ct_var ct_sigmoid(ct_var x);  /* 1 / (1 + e^-x)                 */
CT_API ct_var ct_softplus(ct_var x); /* log(1 + e^x), without overflow */
CT_API ct_var ct_relu(ct_var x);     /* max(x, 0); derivative 0 at 0   */
CT_API ct_var ct_erf(ct_var x);
CT_API ct_var ct_gaussian(ct_var x);                    /* e^(-x²)                              */
CT_API ct_var ct_lgamma(ct_var x);                      /* log |Γ(x)|                           */
CT_API ct_var ct_polygamma(ct_var x, int order);        /* ψ⁽ᵏ⁾(x), x > 0, k <= 10⁴; 0: digamma */
CT_API ct_var ct_pow(ct_var x, double p);               /* x^p, as C's pow; p is a constant     */
CT_API ct_var ct_scale(ct_var x, double a);             /* a x                                  */
CT_API ct_var ct_shift(ct_var x, double b);             /* x + b                                */
CT_API ct_var ct_clamp(ct_var x, double lo, double hi); /* derivative 1 inside [lo, hi], else 0 */
CT_API ct_var ct_cast(ct_var x, ct_dtype dtype);        /* to f64, f32, bf16 or f16             */

/* -- elementwise, two inputs, broadcasting --------------------------------------------------------------- */

CT_API ct_var ct_add(ct_var a, ct_var b);
CT_API ct_var ct_sub(ct_var a, ct_var b);
CT_API ct_var ct_mul(ct_var a, ct_var b);
CT_API ct_var ct_div(ct_var a, ct_var b);
CT_API ct_var ct_maximum(ct_var a, ct_var b); /* NaN wins; in a tie each side gets half */
CT_API ct_var ct_minimum(ct_var a, ct_var b);
CT_API ct_var ct_less(ct_var a, ct_var b);  /* 1 where a < b, else 0; no gradient */
CT_API ct_var ct_equal(ct_var a, ct_var b); /* 1 where a = b, else 0; no gradient */
/* Σ_i a[i] x[i] for n <= 64 inputs, which broadcast, in one node: { 1, h } and { y, k } give y + h k. The
 * terms are added in order. f64 or f32; a is copied. */
CT_API ct_var ct_lincomb(const double *a, const ct_var *x, int n);
/* a where cond is not 0, else b. cond is i64, or of their dtype; it gets no gradient. */
CT_API ct_var ct_where(ct_var cond, ct_var a, ct_var b);

/* -- reductions: over dimension `dim` (negative from the end), or over all with CT_ALL ------------------- */
/* `keep` leaves the reduced dimension with extent 1. An empty sum or norm is 0; the others refuse an empty
 * input (CT_ESHAPE). */

#define CT_ALL INT32_MIN

CT_API ct_var ct_sum(ct_var x, int dim, bool keep);
CT_API ct_var ct_mean(ct_var x, int dim, bool keep);
CT_API ct_var ct_max(ct_var x, int dim, bool keep); /* NaN wins; ties share the cotangent equally */
CT_API ct_var ct_min(ct_var x, int dim, bool keep); /* likewise */
/* The position of the largest (smallest) element along dim, i64; with CT_ALL in row-major order. The first
 * one of equal elements; the first NaN if there is one. Constants: no gradient. */
CT_API ct_var ct_argmax(ct_var x, int dim, bool keep);
CT_API ct_var ct_argmin(ct_var x, int dim, bool keep);
CT_API ct_var ct_logsumexp(ct_var x, int dim, bool keep); /* -inf if all are; its gradient is then 0 */
/* √Σ x², which overflows only if the norm itself does. Its derivative is 0 at x = 0, where there is none. */
CT_API ct_var ct_norm(ct_var x, int dim, bool keep);
CT_API ct_var ct_sum_to(ct_var x, ct_shape shape); /* adjoint of ct_broadcast_to */

/* e^x_k / Σ_j e^x_j and its logarithm, over dimension `dim`, or over all with CT_ALL; the shape is x's. A
 * shift of all x changes neither. If all x are -inf, so is the logarithm, and the softmax is 0. */
CT_API ct_var ct_softmax(ct_var x, int dim);
CT_API ct_var ct_log_softmax(ct_var x, int dim);

/* -- along a dimension ----------------------------------------------------------------------------------- */

/* y_k = Σ x_j and y_k = Π x_j over j <= k along dim (negative from the end): of x's shape. The gradient of
 * the product does not divide, so zeros are right, in every order. */
CT_API ct_var ct_cumsum(ct_var x, int dim);
CT_API ct_var ct_cumprod(ct_var x, int dim);
/* y_0 = b_0, y_k = a_{k-1} y_{k-1} + b_k along dim of b; with `reverse` from the end, y_k = a_k y_{k+1} +
 * b_k. a broadcasts to b's shape with one less along dim (CT_ESHAPE otherwise); y has b's shape. */
CT_API ct_var ct_recurrence(ct_var a, ct_var b, int dim, bool reverse);

/* -- shapes: views wherever the layout allows ------------------------------------------------------------ */

CT_API ct_var ct_reshape(ct_var x, ct_shape shape); /* one extent may be -1       */
CT_API ct_var ct_t(ct_var x);                       /* (..., m, n) -> (..., n, m) */
CT_API ct_var ct_permute(ct_var x, const int *order);
/* Elements start, start + step, ... < stop along dim. As in NumPy a negative start or stop counts from the
 * end; the stop CT_END is the end. What lies outside is refused (CT_EINDEX), where NumPy would clip. */
CT_API ct_var ct_slice(ct_var x, int dim, int64_t start, int64_t stop, int64_t step);
/* Row i of x (n, ...), without its first dimension; negative i from the end. */
CT_API ct_var ct_row(ct_var x, int64_t i);
/* Adjoint of ct_slice: zeros of extent `extent` along dim, with x at start, start + step, ... */
CT_API ct_var ct_unslice(ct_var x, int dim, int64_t extent, int64_t start, int64_t step);
CT_API ct_var ct_concat(const ct_var *x, int n, int dim);
/* n values of one shape along a new dimension before `dim` (-1: a new last one). */
CT_API ct_var ct_stack(const ct_var *x, int n, int dim);
CT_API ct_var ct_broadcast_to(ct_var x, ct_shape shape);
CT_API ct_var ct_squeeze(ct_var x, int dim);
CT_API ct_var ct_unsqueeze(ct_var x, int dim);

/* -- indexing -------------------------------------------------------------------------------------------- */

/* Rows x[index[i], ...]: x (n, ...), index (k) -> (k, ...). An index out of range is CT_EINDEX. */
CT_API ct_var ct_gather(ct_var x, ct_var index);
/* Adjoint of ct_gather: x (k, ...), index (k) -> out (n, ...), zeros with out[index[i]] += x[i]. Rows with
 * equal indices are added in order of i; a GPU adds 256 at a time. */
CT_API ct_var ct_scatter_add(ct_var x, ct_var index, int64_t n);

/* out_i = A_i C_{q_i}: A (N, I, J), C (M, J, K), q i64 (N) -> (N, I, K). q may have any order and name a
 * matrix of C often or never. An index outside [0, M) is CT_EINDEX. Neither forward nor backward makes an
 * N × J × K array. */
CT_API ct_var ct_gather_matmul(ct_var A, ct_var C, ct_var q);
/* The groups of equal indices: q i64 (N), each in [0, M) -> i64 (M + 1 + N). First come the offsets at which
 * the M groups begin, and N; then the positions 0..N-1, stably sorted by q. A q that stays the same needs
 * sorting only once: ct_retain the value and pass it as a constant in later steps. */
CT_API ct_var ct_group_by(ct_var q, int64_t M);
/* ct_gather_matmul with the groups that ct_group_by made of q. A position out of range is CT_EINDEX. A
 * position that is missing leaves its row of the result undefined. */
CT_API ct_var ct_grouped_matmul(ct_var A, ct_var C, ct_var groups);

/* -- losses: scalars, means over all elements ------------------------------------------------------------ */

/* mean (prediction - target)² */
CT_API ct_var ct_mse(ct_var prediction, ct_var target);
/* mean of r²/2 where |r| <= delta, else of delta (|r| - delta/2), with r = prediction - target. The second
 * derivative is 1 where |r| <= delta, else 0. [Huber 1964] */
CT_API ct_var ct_huber(ct_var prediction, ct_var target, double delta);
/* mean of ½ (log 2π variance + (target - mean)² / variance). A variance that is not positive and finite gives
 * NaN and is flagged with its place. */
CT_API ct_var ct_gaussian_nll(ct_var mean, ct_var variance, ct_var target);
/* mean over rows of -log_softmax(logits)[label]; logits (..., classes), label i64 (...) */
CT_API ct_var ct_softmax_cross_entropy(ct_var logits, ct_var label);
/* log N(y; mean, L Lᵀ) = -½ |L⁻¹(y - mean)|² - Σ log L_ii - n/2 log 2π; y, mean (..., n, 1), L (..., n, n) ->
 * (...). An L_ii that is not positive and finite fails as in ct_cholesky_logdet. */
CT_API ct_var ct_mvn_logpdf(ct_var y, ct_var mean, ct_var L);

CT_END_DECLS
#endif
