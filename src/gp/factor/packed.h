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

#include <cotangent/op.h>

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

/* The number of right-hand sides of n numbers in a panel of 32 MB: at least 16, at most n/2 or 512. */
int64_t ct__packed_panel(int64_t n, ct_dtype dtype);
/* No fewer numbers than in that panel; does not fall as n grows. */
uint64_t ct__packed_panel_most(int64_t n, ct_dtype dtype);

/* Of the rectangle: (rows, leading dimension). */
ct_shape ct__packed_shape(int64_t n);

/* The blocks as views of the rectangle. Only the lower triangles of A11 and A22 may be read or written. */
typedef struct ct__packed {
    int64_t n1, n2;
    ct_view A11, A22;  /* (n1, n1), (n2, n2) */
    ct_view A21, A21t; /* (n2, n1), and its transpose, whose rows are contiguous */
} ct__packed;

ct__packed ct__packed_of(ct_view rectangle, int64_t n);
/* The same views of a lower triangle in an (n, n) matrix: all of it is A11, and n2 = 0. */
ct__packed ct__packed_of_square(ct_view square, int64_t n);
/* Copies row i of the lower triangle, i + 1 numbers, to `row` (1, i + 1) or, with `back`, from it. */
void ct__packed_move_row(ct_call *c, const ct__packed *p, int64_t i, ct_view row, bool back);
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
/* C += weight GᵀG for G (p, n). */
void ct__packed_add_product(ct_call *c, const ct__packed *C, double weight, ct_view G);

/* out (rows, n) = rows first, first + 1, ... of the symmetric matrix whose lower triangle is P. */
void ct__packed_rows(ct_call *c, const ct__packed *P, int64_t first, ct_view out);

#endif
