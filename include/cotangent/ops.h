/* The ops. Every function takes handles on one tape and returns a handle on it; shapes broadcast as NumPy's;
 * "..." are batch dimensions. f64 or f32, and bf16 or f16 for products, elementwise ops, sums and shapes; all
 * floating inputs of one dtype; indices are i64. What does not fit poisons the result and sets the tape's
 * error. The descriptor of ct_foo is ct_op_foo (see op.h). */
#ifndef COTANGENT_OPS_H
#define COTANGENT_OPS_H

#include <cotangent/tape.h>

CT_BEGIN_DECLS

struct ct_op;

/* Every op of the library, in the order of src/ops/list.h; *n is set to their number. */
CT_API const struct ct_op *const *ct_op_list(int *n);
/* The one of that name, NULL where there is none. */
CT_API const struct ct_op *ct_op_find(const char *name);

/* -- elementwise: y_i = f(x_i) --------------------------------------------------------------------------- */
/* Values and derivatives are IEEE 754's, and no failure is told: outside the domain NaN (ct_log(-1)), at a
 * pole an infinity (ct_log(0), ct_reciprocal(0)), which has the sign of a zero (ct_reciprocal(-0.0)). Where f
 * has no derivative it is the number given here, on every device, plain or recorded. */

CT_API ct_var ct_neg(ct_var x);
CT_API ct_var ct_abs(ct_var x);  /* derivative sign(x), 0 at 0                         */
CT_API ct_var ct_sign(ct_var x); /* -1, 0 or 1; derivative 0                           */
CT_API ct_var ct_exp(ct_var x);
CT_API ct_var ct_expm1(ct_var x); /* e^x - 1                                            */
CT_API ct_var ct_log(ct_var x);
CT_API ct_var ct_log1p(ct_var x); /* log(1 + x)                                         */
CT_API ct_var ct_sqrt(ct_var x);  /* derivative inf at 0, -inf at -0 */
CT_API ct_var ct_square(ct_var x);
CT_API ct_var ct_reciprocal(ct_var x);
CT_API ct_var ct_sin(ct_var x);
CT_API ct_var ct_cos(ct_var x);
CT_API ct_var ct_tanh(ct_var x);
CT_API ct_var ct_sigmoid(ct_var x);  /* 1 / (1 + e^-x)                                  */
CT_API ct_var ct_softplus(ct_var x); /* log(1 + e^x), without overflow                  */
CT_API ct_var ct_relu(ct_var x);     /* max(x, 0); derivative 0 at 0                    */
CT_API ct_var ct_erf(ct_var x);
CT_API ct_var ct_lgamma(ct_var x);                      /* log |Γ(x)|                          */
CT_API ct_var ct_polygamma(ct_var x, int order);        /* ψ⁽ᵏ⁾(x), x > 0; order 0 is digamma   */
CT_API ct_var ct_pow(ct_var x, double p);               /* x^p, as C's pow                      */
CT_API ct_var ct_scale(ct_var x, double a);             /* a x                                  */
CT_API ct_var ct_shift(ct_var x, double b);             /* x + b                                */
CT_API ct_var ct_clamp(ct_var x, double lo, double hi); /* derivative 1 inside [lo, hi], else 0 */
CT_API ct_var ct_cast(ct_var x, ct_dtype dtype);        /* to f64, f32, bf16 or f16             */

/* -- elementwise, two inputs, broadcasting --------------------------------------------------------------- */

CT_API ct_var ct_add(ct_var a, ct_var b);
CT_API ct_var ct_sub(ct_var a, ct_var b);
CT_API ct_var ct_mul(ct_var a, ct_var b);
CT_API ct_var ct_div(ct_var a, ct_var b);
CT_API ct_var ct_maximum(ct_var a, ct_var b); /* NaN wins; at a tie each side gets half     */
CT_API ct_var ct_minimum(ct_var a, ct_var b);
CT_API ct_var ct_less(ct_var a, ct_var b);  /* 1 where a < b, else 0; no gradient           */
CT_API ct_var ct_equal(ct_var a, ct_var b); /* 1 where a = b, else 0; no gradient           */
/* a where cond is not 0, else b; cond of any dtype, without a gradient. */
CT_API ct_var ct_where(ct_var cond, ct_var a, ct_var b);

/* -- reductions: over dimension `dim` (negative from the end), or over all with CT_ALL ------------------- */
/* `keep` leaves a dimension of extent 1. The sum of nothing is 0; mean, max and logsumexp refuse an empty
 * one. */

#define CT_ALL INT32_MIN

CT_API ct_var ct_sum(ct_var x, int dim, bool keep);
CT_API ct_var ct_mean(ct_var x, int dim, bool keep);
CT_API ct_var ct_max(ct_var x, int dim, bool keep); /* NaN wins; ties share the cotangent equally */
CT_API ct_var ct_logsumexp(ct_var x, int dim, bool keep);
CT_API ct_var ct_sum_to(ct_var x, ct_shape shape); /* adjoint of ct_broadcast_to                  */

/* -- shapes: views wherever the layout allows ------------------------------------------------------------ */

CT_API ct_var ct_reshape(ct_var x, ct_shape shape); /* one extent may be -1                         */
CT_API ct_var ct_t(ct_var x);                       /* (..., m, n) -> (..., n, m)                    */
CT_API ct_var ct_permute(ct_var x, const int *order);
CT_API ct_var ct_slice(ct_var x, int dim, int64_t start, int64_t stop, int64_t step);
/* Adjoint of ct_slice: zeros of `extent` along dim, with x at start, start + step, ... */
CT_API ct_var ct_unslice(ct_var x, int dim, int64_t extent, int64_t start, int64_t step);
CT_API ct_var ct_concat(const ct_var *x, int n, int dim);
CT_API ct_var ct_broadcast_to(ct_var x, ct_shape shape);
CT_API ct_var ct_squeeze(ct_var x, int dim);
CT_API ct_var ct_unsqueeze(ct_var x, int dim);

/* -- indexing -------------------------------------------------------------------------------------------- */

/* Rows x[index[i], ...]: x (n, ...), index (k) -> (k, ...). Index out of range: CT_EINDEX. */
CT_API ct_var ct_gather(ct_var x, ct_var index);
/* Adjoint of ct_gather: out (n, ...) zero but out[index[i]] += x[i]; equal indices add up in order of i, on a
 * GPU 256 at a time. */
CT_API ct_var ct_scatter_add(ct_var x, ct_var index, int64_t n);

/* out_i = A_i C_{q_i}: A (N, I, J), C (M, J, K), q i64 (N) -> (N, I, K). q in any order, rows of C used often
 * or never; an index outside [0, M): CT_EINDEX. No N x J x K array is made, forward or backward. */
CT_API ct_var ct_gather_matmul(ct_var A, ct_var C, ct_var q);
/* The groups of equal indices: q i64 (N), each in [0, M) -> i64 (M + 1 + N), first where each of the M groups
 * begins (and N), then the positions 0..N-1 ordered by q, equal ones in their order. A q that stays the same
 * is sorted once: ct_retain the value and give it as a constant to later steps. */
CT_API ct_var ct_group_by(ct_var q, int64_t M);
/* ct_gather_matmul with the groups of q, as ct_group_by made them: positions out of range are CT_EINDEX, a
 * row whose position is missing is undefined. */
CT_API ct_var ct_grouped_matmul(ct_var A, ct_var C, ct_var groups);

/* -- matrices -------------------------------------------------------------------------------------------- */

CT_API ct_var ct_matmul(ct_var a, ct_var b); /* (..., m, k) (..., k, n) -> (..., m, n)       */
/* A linear layer with a block-diagonal weight, y_m = x_m W_mᵀ + b_m: x (B, M F), W (M, G, F), bias (M G) or
 * {NULL,0,0} for none -> (B, M G). Blocks are read and written in place. */
CT_API ct_var ct_blockdiag_linear(ct_var x, ct_var W, ct_var bias);
CT_API ct_var ct_diag(ct_var A);               /* (..., m, n) -> (..., min(m, n)), the diagonal */
CT_API ct_var ct_diag_embed(ct_var d);         /* (..., n) -> (..., n, n), d on the diagonal    */
CT_API ct_var ct_add_diag(ct_var A, ct_var d); /* A + diag(d); d (..., n), or one element: A + d I */
CT_API ct_var ct_tril(ct_var A, int64_t k);    /* zero where col - row > k                      */
CT_API ct_var ct_triu(ct_var A, int64_t k);    /* zero where col - row < k                      */
CT_API ct_var ct_trace(ct_var A);              /* (..., n, n) -> (...)                          */

/* L, lower triangular with A = L Lᵀ. A is symmetric: its lower triangle alone is read, its cotangent is
 * symmetric. Not positive definite: that batch member is NaN and flagged with the failing minor (tape.h).
 * [Murray 2016, arXiv:1602.07527; Giles 2008 §2.3] */
CT_API ct_var ct_cholesky(ct_var A);

/* X with op(T) X = B, or X op(T) = B with CT_RIGHT; T (..., n, n) triangular, flags as in tensor.h: CT_LOWER,
 * or any of CT_UPPER | CT_TRANS | CT_UNIT | CT_RIGHT. The other triangle is not read and gets no cotangent. A
 * zero on the diagonal: that batch member is NaN and flagged with its place. Batches broadcast. [Giles 2008
 * §2.3] */
CT_API ct_var ct_tri_solve(ct_var T, ct_var B, unsigned flags);

/* A⁻¹ B for A = L Lᵀ, given L. */
CT_API ct_var ct_cholesky_solve(ct_var L, ct_var B);

/* log det A = 2 Σ log L_ii for A = L Lᵀ, given L: (..., n, n) -> (...). An L_ii that is not positive: that
 * batch member is NaN and flagged with its place. */
CT_API ct_var ct_cholesky_logdet(ct_var L);

/* X with the least |A X - B|, by QR: A (..., m, n) with m >= n and linearly independent columns,
 * B (..., m, k) -> (..., n, k). Dependent columns: that batch member is NaN and flagged. Batches
 * broadcast. */
CT_API ct_var ct_lstsq(ct_var A, ct_var B);

/* P = (BᵀB + λ DᵀD)⁻¹ Bᵀ, the first r columns of the pseudo-inverse of [B; √λ D]: B (..., r, n), D (m, n) or
 * (..., m, n), lambda (...) positive, one for all or for each sample -> (..., n, r), a transposed view.
 * Gradients in all three. A sample whose matrix is singular, or whose lambda is not positive, is NaN and
 * flagged. Batches broadcast. Two forms: n×n Cholesky factors for every sample; or, where one D of full
 * column rank serves all and r < n, one QR of D and r×r factors, which is faster and loses fewer digits
 * unless D is nearly singular, or weak in directions that B covers: then the form that loses less is taken.
 * On a GPU, which would have to be waited for, no other form is looked for: f32 is computed in f64, and a
 * sample that has lost half the digits of that is NaN and flagged. */
CT_API ct_var ct_ridge_solve(ct_var B, ct_var D, ct_var lambda);

typedef enum ct_ridge_form { CT_RIDGE_AUTO, CT_RIDGE_PRIMAL, CT_RIDGE_PUSH_THROUGH } ct_ridge_form;
/* The form that a result of ct_ridge_solve was computed in; CT_RIDGE_AUTO for any other handle. */
CT_API ct_ridge_form ct_ridge_form_of(ct_var P);

/* A⁻¹ by LU with partial pivoting: (..., n, n). A singular member, or one that is not finite, is NaN and
 * flagged with the failing pivot, here and below. [Giles 2008 §2.2.3] */
CT_API ct_var ct_inverse(ct_var A);

/* A⁻¹ for a symmetric positive definite A by Cholesky, in half the work: A's lower triangle alone is read,
 * the result and the cotangent are symmetric. Not positive definite: as ct_cholesky. */
CT_API ct_var ct_inverse_spd(ct_var A);

/* Columns (..., n, r), rows (..., r, n) of A⁻¹: those that index, i64 (r), names, in its order, the same for
 * the whole batch. Neither forward nor backward forms the n×n inverse. Index out of range: CT_EINDEX. */
CT_API ct_var ct_inverse_cols(ct_var A, ct_var index);
CT_API ct_var ct_inverse_rows(ct_var A, ct_var index);

/* X = A⁻¹ B by LU: (..., n, n) (..., n, m) -> (..., n, m). */
CT_API ct_var ct_solve(ct_var A, ct_var B);

/* A[order] = L U with partial pivoting: row i of L U is row order[i] of A; L (unit lower) and U in one
 * matrix, order i64 (..., n). Constants: gradients of what ct_lu_solve computes from them go to A. `order`
 * may be NULL. */
CT_API ct_var ct_lu(ct_var A, ct_var *order);
/* X with A X = B, or Aᵀ X = B with flags CT_TRANS, from A's own factors; any number of times. The gradient
 * goes to A and B, and reuses the factors. An order that is no permutation: CT_EINDEX. */
CT_API ct_var ct_lu_solve(ct_var A, ct_var LU, ct_var order, ct_var B, unsigned flags);

/* log |det A|, and in *sign (may be NULL; a constant) det A / |det A|: (..., n, n) -> (...), by LU. Singular:
 * -inf and sign 0; A's cotangent does not exist there, it is NaN and flagged. Not finite: NaN and flagged. */
CT_API ct_var ct_slogdet(ct_var A, ct_var *sign);
/* log det A, -inf where that is 0; the rest as above. A member whose determinant is negative is NaN and
 * flagged. */
CT_API ct_var ct_logdet(ct_var A);

/* yᵀ K⁻¹ y, and in *logdet (may be NULL) log det K: (..., n, n) (..., n, 1) -> (...), by one Cholesky
 * factorisation. K is symmetric positive definite, its lower triangle is read, its cotangent is symmetric. */
CT_API ct_var ct_inv_quad_logdet(ct_var K, ct_var y, ct_var *logdet);

/* The factors of a matrix (or a batch) that stays the same from step to step: LU, or Cholesky's where A is
 * `symmetric` positive definite. NULL on any failure, with a message on A's device. A must not be written to
 * while they are used. */
typedef struct ct_factor ct_factor;
CT_API ct_factor *ct_factor_new(ct_tensor *A, bool symmetric);
CT_API void ct_factor_free(ct_factor *factor);
/* A⁻¹ B on B's tape; the gradient goes to B. The factor may be freed before the tape is reset. */
CT_API ct_var ct_factor_solve(const ct_factor *factor, ct_var B);

/* D_ij = |x_i - y_j|²: (..., n, d) (..., m, d) -> (..., n, m), by direct differences: exact zeros, no
 * cancellation. */
CT_API ct_var ct_sqdist(ct_var x, ct_var y);

/* -- losses: scalars, means over all elements ------------------------------------------------------------ */

/* mean (prediction - target)² */
CT_API ct_var ct_mse(ct_var prediction, ct_var target);
/* mean of r²/2 where |r| <= delta, delta (|r| - delta/2) elsewhere, r = prediction - target; the second
 * derivative is 1 where
 * |r| <= delta, else 0 [Huber 1964] */
CT_API ct_var ct_huber(ct_var prediction, ct_var target, double delta);
/* mean of ½ (log 2π variance + (target - mean)² / variance). A variance that is not positive: NaN, and
 * flagged with its place. */
CT_API ct_var ct_gaussian_nll(ct_var mean, ct_var variance, ct_var target);
/* mean over rows of logsumexp(logits) - logits[label]; logits (..., classes), label i64 (...) */
CT_API ct_var ct_softmax_cross_entropy(ct_var logits, ct_var label);
/* log N(y; mean, L Lᵀ) = -½ |L⁻¹(y - mean)|² - Σ log L_ii - n/2 log 2π; y, mean (..., n, 1), L (..., n, n)
 * -> (...). An L_ii that is not positive: as ct_cholesky_logdet. */
CT_API ct_var ct_mvn_logpdf(ct_var y, ct_var mean, ct_var L);

CT_END_DECLS
#endif
