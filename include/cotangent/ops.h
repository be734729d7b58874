/* The ops. Every function takes handles on one tape and returns a handle on it. Shapes broadcast by NumPy's
 * rule; "..." are batch dimensions. Floating inputs have one dtype: f64 or f32; products, elementwise ops,
 * sums and shape ops also take bf16 and f16. Indices are i64. Inputs that do not fit poison the result and
 * set the tape's error. The descriptor of ct_foo is ct_op_foo (see op.h). */
#ifndef COTANGENT_OPS_H
#define COTANGENT_OPS_H

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

/* -- matrices -------------------------------------------------------------------------------------------- */

CT_API ct_var ct_matmul(ct_var a, ct_var b); /* (..., m, k) (..., k, n) -> (..., m, n) */
/* A linear layer with a block-diagonal weight, y_m = x_m W_mᵀ + b_m: x (B, M F), W (M, G, F), bias (M G), or
 * ct_none() -> (B, M G). The blocks are read and written in place. */
CT_API ct_var ct_blockdiag_linear(ct_var x, ct_var W, ct_var bias);
CT_API ct_var ct_diag(ct_var A);               /* (..., m, n) -> (..., min(m, n)), the diagonal    */
CT_API ct_var ct_diag_embed(ct_var d);         /* (..., n) -> (..., n, n), d on the diagonal       */
CT_API ct_var ct_add_diag(ct_var A, ct_var d); /* A + diag(d); d (..., n), or one element: A + d I */
CT_API ct_var ct_tril(ct_var A, int64_t k);    /* zero where col - row > k                         */
CT_API ct_var ct_triu(ct_var A, int64_t k);    /* zero where col - row < k                         */
CT_API ct_var ct_trace(ct_var A);              /* (..., n, n) -> (...)                             */
/* L (..., n, n) with the vector v (..., n (n + 1) / 2) as its lower triangle, row by row, and zeros above it.
 * With `exp_diagonal` the diagonal is e^v: a Cholesky factor from any v. Another length is CT_ESHAPE. */
CT_API ct_var ct_tril_from(ct_var v, bool exp_diagonal);
/* The lower triangle of A (..., n, n) as such a vector; the rest of A is not read. */
CT_API ct_var ct_tril_pack(ct_var A);

/* L, lower triangular with A = L Lᵀ, for a symmetric A. Only A's lower triangle is read, and A's cotangent is
 * symmetric. A batch member that is not positive definite becomes NaN and is flagged with the failing minor
 * (tape.h). [Murray 2016, arXiv:1602.07527; Giles 2008 §2.3] */
CT_API ct_var ct_cholesky(ct_var A);

/* X with op(T) X = B, or X op(T) = B with CT_RIGHT. T (..., n, n) is triangular. flags, as in tensor.h:
 * CT_LOWER, or any of CT_UPPER | CT_TRANS | CT_UNIT | CT_RIGHT. The other triangle is not read and gets no
 * cotangent. A batch member with a zero on the diagonal becomes NaN and is flagged with its place. Batches
 * broadcast. [Giles 2008 §2.3] */
CT_API ct_var ct_tri_solve(ct_var T, ct_var B, unsigned flags);

/* A⁻¹ B for A = L Lᵀ, given L: (..., n, n) (..., n, m) -> (..., n, m). */
CT_API ct_var ct_cholesky_solve(ct_var L, ct_var B);

/* log det A = 2 Σ log L_ii for A = L Lᵀ, given L: (..., n, n) -> (...). A batch member with an L_ii that is
 * not positive becomes NaN and is flagged with its place. */
CT_API ct_var ct_cholesky_logdet(ct_var L);

/* The least-squares solution X of A X = B by QR: A (..., m, n) with m >= n and linearly independent columns,
 * B (..., m, k) -> (..., n, k). A batch member with dependent columns becomes NaN and is flagged. Batches
 * broadcast. */
CT_API ct_var ct_lstsq(ct_var A, ct_var B);

/* A = Q R by Householder's reflectors: Q (..., m, r) with orthonormal columns, and in *R (may be NULL) an
 * upper triangle (..., r, n) with a positive diagonal, for A (..., m, n) and r = min(m, n). A member whose
 * first r columns are linearly dependent to working precision becomes NaN and is flagged. [Walter & Lehmann
 * 2018] */
CT_API ct_var ct_qr(ct_var A, ct_var *R);

/* P = (BᵀB + λ DᵀD)⁻¹ Bᵀ, the first r columns of the pseudo-inverse of [B; √λ D]: B (..., r, n), D (m, n) or
 * (..., m, n), lambda (...) positive, one for all samples or one for each -> (..., n, r), a transposed view.
 * All three get gradients. A sample whose matrix is singular to working precision, or whose lambda is not
 * positive, becomes NaN and is flagged. Batches broadcast. There are two forms. The primal form uses an n×n
 * Cholesky factor for each sample. The push-through form uses one QR of D and r×r factors; it needs one D of
 * full column rank for all samples, and r < n. It is faster and loses fewer digits, unless D is nearly
 * singular, or small in directions that B covers; then the form that loses fewer is taken. A GPU does not
 * compare the forms, because that would have to wait. It computes f32 in f64, and a sample that has lost half
 * of f64's digits becomes NaN and is flagged. */
CT_API ct_var ct_ridge_solve(ct_var B, ct_var D, ct_var lambda);

typedef enum ct_ridge_form { CT_RIDGE_AUTO, CT_RIDGE_PRIMAL, CT_RIDGE_PUSH_THROUGH } ct_ridge_form;
/* The form that a result of ct_ridge_solve was computed in; CT_RIDGE_AUTO for any other handle. */
CT_API ct_ridge_form ct_ridge_form_of(ct_var P);

/* A⁻¹ by LU with partial pivoting: (..., n, n). Here and below, a member that is singular or not finite
 * becomes NaN and is flagged with the failing pivot. [Giles 2008 §2.2.3] */
CT_API ct_var ct_inverse(ct_var A);

/* A⁻¹ for a symmetric positive definite A by Cholesky, in half the work of ct_inverse. Only A's lower
 * triangle is read; the result and the cotangent are symmetric. A member that is not positive definite fails
 * as in ct_cholesky; so does, unlike there, one that is singular to working precision: for some i
 * A_ii (A⁻¹)_ii >= 1/(16 eps). */
CT_API ct_var ct_inverse_spd(ct_var A);

/* The columns (..., n, r) or rows (..., r, n) of A⁻¹ that index, i64 (r), names, in its order. All members of
 * a batch share the index. Neither forward nor backward forms the n×n inverse. An index out of range is
 * CT_EINDEX. */
CT_API ct_var ct_inverse_cols(ct_var A, ct_var index);
CT_API ct_var ct_inverse_rows(ct_var A, ct_var index);

/* The block (..., r, q) of A⁻¹ at the rows `rows`, i64 (r), and the columns `cols`, i64 (q), under the same
 * rules. It takes one solve with min(r, q) right-hand sides. */
CT_API ct_var ct_inverse_block(ct_var A, ct_var rows, ct_var cols);

/* The diagonal of A⁻¹: (..., n, n) -> (..., n). ct_inverse_diag_spd takes a symmetric positive definite A;
 * what it reads and how it fails is as in ct_inverse_spd, and the cotangent is symmetric. If a gradient may
 * be wanted, the tape keeps n² numbers for each member; ct_inverse_diag_spd on a CPU keeps n (n + 1) / 2.
 * Otherwise it keeps nothing. */
CT_API ct_var ct_inverse_diag(ct_var A);
CT_API ct_var ct_inverse_diag_spd(ct_var A);

/* X = A⁻¹ B by LU: (..., n, n) (..., n, m) -> (..., n, m). */
CT_API ct_var ct_solve(ct_var A, ct_var B);

/* A[order] = L U with partial pivoting: row i of L U is row order[i] of A. The result holds the unit lower L
 * and the upper U in one matrix; order (may be NULL) is i64 (..., n). Both are constants: what ct_lu_solve
 * computes from them gives its gradient to A. */
CT_API ct_var ct_lu(ct_var A, ct_var *order);
/* X with A X = B, or Aᵀ X = B with flags CT_TRANS, from A's factors LU and order, which can be used any
 * number of times. A and B get gradients, computed with the same factors. An order that is not a permutation
 * is CT_EINDEX. */
CT_API ct_var ct_lu_solve(ct_var A, ct_var LU, ct_var order, ct_var B, unsigned flags);

/* log |det A| by LU, and in *sign (may be NULL) the constant det A / |det A|: (..., n, n) -> (...). A
 * singular member gives -inf and sign 0; the cotangent of A does not exist there, so it is NaN and flagged. A
 * member that is not finite gives NaN and is flagged. */
CT_API ct_var ct_slogdet(ct_var A, ct_var *sign);
/* log det A: -inf if det A is 0, NaN and flagged if it is negative; otherwise as ct_slogdet. */
CT_API ct_var ct_logdet(ct_var A);

/* det A by LU: (..., n, n) -> (...). Its gradient, the matrix of cofactors, and second derivatives are right
 * for a singular A, too. Third ones need an A that is not singular to working precision, else they are NaN
 * and flagged. So is a determinant or a cofactor beyond the dtype's range. [Stewart 1998] */
CT_API ct_var ct_det(ct_var A);

/* The eigenvalues w (..., n) of a symmetric A (..., n, n), ascending, and in *V (may be NULL) orthonormal
 * eigenvectors as columns (..., n, n): A V = V diag(w). Only A's lower triangle is read; the cotangent is
 * symmetric. In each vector the element of largest magnitude is positive. Eigenvalues count as equal where
 * they differ by at most 16 eps max |w|. A loss that depends on how their vectors are turned, or on both w
 * and V there, makes that member's cotangent NaN and flagged; so does a tangent of V. A loss of w alone has a
 * subgradient there. A member that is not finite becomes NaN and is flagged. [Giles 2008 §3.1] */
CT_API ct_var ct_eigh(ct_var A, ct_var *V);

/* The matrix exponential: (..., n, n), by scaling, a Padé approximant of order 13 and squaring. A member
 * whose largest column sum Σ_i |A_ij| is above 5.6e6, or whose result is beyond the dtype's range, becomes
 * NaN and is flagged. [Higham 2005] */
CT_API ct_var ct_expm(ct_var A);

/* The singular values s (..., r) of A (..., m, n), r = min(m, n), descending, and in *U and *Vt (may be NULL)
 * the vectors, U (..., m, r) and Vᵀ (..., r, n): A = U diag(s) Vᵀ. In each column of U the element of largest
 * magnitude is positive. Where values repeat or are 0 it is as with ct_eigh; a loss that turning u_i, u_j and
 * v_i, v_j together does not change, such as one of U Vᵀ, has its gradient there. [Townsend 2016] */
CT_API ct_var ct_svd(ct_var A, ct_var *U, ct_var *Vt);

/* yᵀ K⁻¹ y, and in *logdet (may be NULL) log det K, by one Cholesky factorisation: (..., n, n) (..., n, 1) ->
 * (...). K is symmetric positive definite. Only its lower triangle is read; its cotangent is symmetric. */
CT_API ct_var ct_inv_quad_logdet(ct_var K, ct_var y, ct_var *logdet);

/* The factors of a matrix, or a batch of them, that stays the same from step to step: by LU, or by Cholesky
 * if `symmetric` says that A is symmetric positive definite. ct_factor_new returns NULL on any failure, with
 * a message on A's device; free the factor with ct_factor_free. Do not write to A while the factor is in
 * use. */
typedef struct ct_factor ct_factor;
CT_API ct_factor *ct_factor_new(ct_tensor *A, bool symmetric);
CT_API void ct_factor_free(ct_factor *factor);
/* A⁻¹ B on B's tape. The gradient flows to B. The factor may be freed before the tape is reset. */
CT_API ct_var ct_factor_solve(const ct_factor *factor, ct_var B);

/* D_ij = |x_i - y_j|²: (..., n, d) (..., m, d) -> (..., n, m), by direct differences: equal points give an
 * exact zero, and nothing cancels. */
CT_API ct_var ct_sqdist(ct_var x, ct_var y);

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
