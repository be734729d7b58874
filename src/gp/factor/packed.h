/* A symmetric or lower triangular matrix of n rows in half its square: rectangular full packed, three blocks
 *
 *     A = [ A11       ]   n1 = n - n2        A11 is stored transposed, above A22:  row j of the rectangle holds
 *         [ A21  A22  ]   n2 = n/2           row j of A22 (of row j-1 where n is odd), column j of A11, column j of A21
 *
 * in one rectangle of n1 rows and n + 1 columns (n where n is odd), its rows padded to whole cache lines.
 * [Gustavson et al. 2010, "Rectangular full packed format for Cholesky's algorithm"] */
#ifndef CT_GP_PACKED_H
#define CT_GP_PACKED_H

#include <cotangent/op.h>

/* Of the rectangle: (rows, leading dimension). */
ct_shape ct__packed_shape(int64_t n);

/* The blocks as views of the rectangle; of A11 and A22 the lower triangle alone may be read or written. */
typedef struct ct__packed {
    int64_t n1, n2;
    ct_tensor *A11, *A22;  /* (n1, n1), (n2, n2) */
    ct_tensor *A21, *A21t; /* (n2, n1), and its transpose, whose rows are contiguous */
} ct__packed;

/* False, and nothing to close, where memory for the views is exhausted. */
bool ct__packed_open(const ct_tensor *rectangle, int64_t n, ct__packed *p);
/* The same views where the lower triangle of an (n, n) matrix is all of A11, and n2 = 0. */
bool ct__packed_open_square(const ct_tensor *square, int64_t n, ct__packed *p);
void ct__packed_close(ct__packed *p);
/* Row i of the lower triangle up to the diagonal, in its two parts (..., NULL where i < n1): views that the
 * caller releases. False where memory is exhausted. */
bool ct__packed_row(const ct__packed *p, int64_t i, ct_tensor *part[2]);

/* A view of some rows and columns of a matrix, released by the caller; NULL where memory is exhausted. */
ct_tensor *ct__submatrix(const ct_tensor *A, int64_t row, int64_t rows, int64_t col, int64_t cols);

/* Rows r0..r1 and columns c0..c1, all within one block and not above it: c1 <= r0, or the same as the rows,
 * of which the lower triangle counts. A view, released by the caller; NULL where memory is exhausted. */
ct_tensor *ct__packed_view(const ct__packed *p, int64_t r0, int64_t r1, int64_t c0, int64_t c1);
/* The lower triangle; the strict upper one of `to` is left alone. */
void ct__copy_lower(ct_call *c, const ct_tensor *from, ct_tensor *to);
/* Rows row, ... and columns col, ... of one triangle to another, piece by piece where neither's blocks end.
 * The part is a rectangle below the diagonal, or a triangle on it: row == col, rows == cols, to_row ==
 * to_col. */
void ct__packed_copy(ct_call *c, const ct__packed *from, int64_t row, int64_t rows, int64_t col, int64_t cols,
                     const ct__packed *to, int64_t to_row, int64_t to_col);

/* Rows first, first + 1, ... of the symmetric matrix whose lower triangle P is, into out (rows, n). */
void ct__packed_rows(ct_call *c, const ct__packed *P, int64_t first, ct_tensor *out);
/* out (m, w) += Y P[:, first..first + w] for Y (m, n); the columns lie on one side of n1. room: (w, w) at
 * least. */
void ct__packed_product(ct_call *c, const ct_tensor *Y, const ct__packed *P, int64_t first, ct_tensor *room,
                        ct_tensor *out);

/* -- packed_factor.c: in place --------------------------------------------------------------------------- */

/* C = L Lᵀ: L takes its place. n³/3 multiplications and additions. Failures as of ct_prim_potrf. */
void ct__packed_factor(ct_call *c, const ct__packed *C);
/* L becomes (L Lᵀ)⁻¹; 2n³/3. */
void ct__packed_invert(ct_call *c, const ct__packed *L);
/* vector (n) = the diagonal, or, with add_with (1, 1), the diagonal += vector times that. */
void ct__packed_diagonal(ct_call *c, const ct__packed *C, const ct_tensor *vector, const ct_tensor *add_with);

/* -- packed_solve.c: right-hand sides are rows ----------------------------------------------------------- */

/* B (m, n - first) = B L⁻ᵀ with the rows and columns of L from `first` on: for B that is zero before. */
void ct__packed_solve(ct_call *c, const ct__packed *L, int64_t first, ct_tensor *B);
/* B (m, n) = B L⁻¹ */
void ct__packed_solve_trans(ct_call *c, const ct__packed *L, ct_tensor *B);

/* L (n, n) packed, B (m, n) -> B L⁻ᵀ; without a gradient. */
extern const ct_op ct__op_packed_solve;
/* L (n, n) packed, B (m, n) -> B (L Lᵀ)⁻¹; with a gradient in B, of any order. */
extern const ct_op ct__op_packed_solve_both;
/* L (n, n) packed, like (n, ...) -> the diagonal of (L Lᵀ)⁻¹, (n); without a gradient. */
extern const ct_op ct__op_packed_inverse_diag;

/* L (n, n) packed, like (n, ...) -> its diagonal, (n); without a gradient. */
extern const ct_op ct__op_packed_diag;
/* See packed_append.c. */
extern const ct_op ct__op_packed_append;

/* Rows of n to be taken out, ascending: the attribute of packed_remove.c's op. */
typedef struct ct__packed_gone {
    int64_t n, count;
    int64_t row[];
} ct__packed_gone;
/* L (n, n) packed -> the factor of L Lᵀ without those rows and columns, packed; without a gradient. Waits for
 * the device. */
extern const ct_op ct__op_packed_remove;

/* out_i = |row i of V|², for V (m, n) and out (m) */
void ct__row_squares(ct_call *c, const ct_tensor *V, ct_tensor *out);
/* How many right-hand sides of n numbers make a panel of 32 MB; at least 16, at most n/2 or 512. */
int64_t ct__packed_panel(int64_t n, ct_dtype dtype);

#endif
