/* Ops on matrices: products, triangles, factorisations, solves, inverses, determinants and spectra. ops.h,
 * which includes this, says what all ops have in common. */
#ifndef COTANGENT_MATRICES_H
#define COTANGENT_MATRICES_H

#include <cotangent/tape.h>

CT_BEGIN_DECLS

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

CT_END_DECLS
#endif
