/* A symmetric or lower triangular matrix of n rows in half its square, in rectangular full packed format. Its
 * three blocks
 *
 *     A = [ A11       ]   n1 = n - n2        A11 is stored transposed, above A22: row j of the rectangle
 *         [ A21  A22  ]   n2 = n/2           holds row j of A22 (row j-1 if n is odd), column j of A11,
 *                                            column j of A21
 *
 * are in one rectangle of n1 rows and n + 1 columns (n columns if n is odd), whose rows are padded to whole
 * cache lines. [Gustavson et al. 2010, "Rectangular full packed format for Cholesky's algorithm"] */
#ifndef CT_GP_PACKED_H
#define CT_GP_PACKED_H

#include <cotangent/cov_program.h>
#include <cotangent/op.h>

#include "gp/factor/grid.h"

/* Rows first..end of a matrix, or elements of a vector; columns first..end. */
static inline ct_view ct__rows(ct_view v, int64_t first, int64_t end)
{
    return !first && end == v.dim[0] ? v : ct_view_slice(v, 0, first, end, 1);
}
static inline ct_view ct__cols(ct_view v, int64_t first, int64_t end)
{
    return ct_view_slice(v, 1, first, end, 1);
}

/* The number of rows of n elements that `bytes` hold: at least `least`, at most `most`. */
int64_t ct__rows_within(int64_t bytes, int64_t n, ct_dtype dtype, int64_t least, int64_t most);

/* Of the rectangle: (rows, leading dimension). */
ct_shape ct__packed_shape(int64_t n);

/* The blocks as views of the rectangle. Only the lower triangles of A11 and A22 may be read or written. */
typedef struct ct__packed {
    int64_t n1, n2;
    ct_view A11, A22;  /* (n1, n1), (n2, n2) */
    ct_view A21, A21t; /* (n2, n1), and its transpose, whose rows are contiguous */
    ct__grid grid;     /* over many processes: instead of blocks, this one's tiles */
    ct_view tiles;
} ct__packed;

ct__packed ct__packed_of(ct_view rectangle, int64_t n);
/* The same views of a lower triangle in an (n, n) matrix: all of it is A11, and n2 = 0. */
ct__packed ct__packed_of_square(ct_view square, int64_t n);
/* A matrix over many processes. Of the functions below it has packed_add_diagonal and, then collective,
 * packed_diagonal, those that solve, and packed_inverse_diagonal. */
ct__packed ct__packed_on(const ct__grid *grid, ct_view tiles);
/* Row i of the lower triangle up to the diagonal, in two parts; the second is no view if i < n1. */
void ct__packed_row(const ct__packed *p, int64_t i, ct_view part[2]);
/* Rows [r0, r1) and columns [c0, c1), within one block and not above the diagonal: c1 <= r0, or the columns
 * are the same as the rows, and then only the lower triangle counts. */
ct_view ct__packed_block(const ct__packed *p, int64_t r0, int64_t r1, int64_t c0, int64_t c1);

/* Copies the lower triangle. The strict upper one of `to` is untouched. */
void ct__copy_lower(ct_call *c, ct_view from, ct_view to);
/* Copies `rows` rows from `row` on and `cols` columns from `col` on from one triangle to another, in pieces
 * that lie within one block of each. The part is a rectangle below the diagonal, or a triangle on it: row ==
 * col, rows == cols, to_row == to_col. */
void ct__packed_copy(ct_call *c, const ct__packed *from, int64_t row, int64_t rows, int64_t col, int64_t cols,
                     const ct__packed *to, int64_t to_row, int64_t to_col);
/* diagonal (n) = that of the matrix; the matrix's diagonal += line (n) or (1). */
void ct__packed_diagonal(ct_call *c, const ct__packed *C, ct_view diagonal);
void ct__packed_add_diagonal(ct_call *c, const ct__packed *C, ct_view line);
/* C += weight GᵀG for G (p, n). */
void ct__packed_add_product(ct_call *c, const ct__packed *C, double weight, ct_view G);

/* out (rows, n) = rows first, first + 1, ... of the symmetric matrix whose lower triangle is P. */
void ct__packed_rows(ct_call *c, const ct__packed *P, int64_t first, ct_view out);
/* out (m, w) += Y P[:, first..first + w] for Y (m, n). The columns lie on one side of n1. room: at least
 * (w, w). */
void ct__packed_product(ct_call *c, ct_view Y, const ct__packed *P, int64_t first, ct_view room, ct_view out);

/* -- packed_solve.c: right-hand sides are rows ----------------------------------------------------------- */

/* The number of right-hand sides of n numbers in a panel of 32 MB: at least 16, at most n/2 or 512. */
int64_t ct__packed_panel(int64_t n, ct_dtype dtype);
/* B (m, n - first) = B L⁻ᵀ with the rows and columns of L from `first` on, for a B that is zero before. */
void ct__packed_solve(ct_call *c, const ct__packed *L, int64_t first, ct_view B);
/* B (m, n) = B L⁻¹ */
void ct__packed_solve_trans(ct_call *c, const ct__packed *L, ct_view B);
/* out (n) = the diagonal of (L Lᵀ)⁻¹; n³/3 operations and a panel of scratch */
void ct__packed_inverse_diagonal(ct_call *c, const ct__packed *L, ct_view out);
/* out_i = |row i of V|², for V (m, n) and out (m) */
void ct__row_squares(ct_call *c, ct_view V, ct_view out);

/* -- packed_append.c, packed_remove.c: updates of a factor ----------------------------------------------- */

/* From L (n, n) packed and the kernel at X = [X1; X2] (n + k, d), sets `to` (n + k, n + k), packed, to
 *     [ L    ]   B = k(X2, X1) L⁻ᵀ,   S Sᵀ = k(X2, X2) + diag(noise) - B Bᵀ;   noise (k) or (1)
 *     [ B  S ] */
void ct__packed_append(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X, ct_view noise,
                       const ct__packed *L, const ct__packed *to);
/* Sets `to` to the factor of L Lᵀ without the `count` rows and columns row[0] < row[1] < .... Waits for the
 * device. */
void ct__packed_remove(ct_call *c, const ct__packed *L, const int64_t *row, int64_t count,
                       const ct__packed *to);

#endif
