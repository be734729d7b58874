/* Products, solves and contractions with C in f64 and its factor in f32, one strip of rows at a time.
 *
 * A strip is `rows` rows of the packed rectangle (packed.h). In the upper part these are columns of L from
 * the diagonal on; in the lower part they are rows of L22 up to the diagonal. A strip has a block on the
 * diagonal and one beside it, whose rows are contiguous. C is symmetric, so each block beside the diagonal
 * stands for two. */
#include "mixed_strips.h"

#include <math.h>

enum { STRIP_BYTES = 8 << 20, LEAST_ROWS = 32, MOST_ROWS = 512 };

static int64_t height_of(int64_t n)
{
    return ct__rows_within(STRIP_BYTES, n, CT_F64, LEAST_ROWS, MOST_ROWS) / LEAST_ROWS * LEAST_ROWS;
}

uint64_t ct__mixed_bytes(int64_t n) { return (uint64_t)height_of(n) * (uint64_t)n * sizeof(double); }

ct__mixed ct__mixed_of(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X, ct_view noise,
                       int64_t m)
{
    int64_t n = ct_view_dim(X, 0);
    ct_view triangle = ct_scratch(c, CT_F32, ct__packed_shape(n));
    return (ct__mixed){ .c = c,
                        .C = { program, theta, X, noise },
                        .n = n,
                        .triangle = triangle,
                        .L = ct__factor_of(&(ct__grid){ .n = n }, triangle, n),
                        .strip = ct_scratch(c, CT_F64, ct_shape2(height_of(n), n)),
                        .narrow = ct_scratch(c, CT_F32, ct_shape2(m, n)) };
}

/* -- blocks ---------------------------------------------------------------------------------------------- */

typedef struct block {
    int64_t row, rows, col, cols; /* C[row.., col..] */
    bool upper;   /* `part` is Lᵀ[row.., col..], with its upper triangle on the diagonal; else it is L */
    bool beside;  /* beside the diagonal, not on it */
    ct_view part; /* of the triangle */
} block;

/* Moves b to the next block; the first is that of row 0. Each strip has the block beside the diagonal, then
 * the one on it. False at the end, or if the call has failed. */
static bool next_block(const ct__mixed *m, block *b)
{
    const int64_t n = m->n, n1 = m->L.blocks.n1, odd = n % 2, height = height_of(n);
    const bool beside = !b->beside;
    const int64_t row = beside ? b->row + b->rows : b->row;
    if (row >= n || !ct_call_ok(m->c)) return false;
    const bool upper = row < n1;
    const int64_t end = upper ? n1 : n, rows = row + height < end ? height : end - row;
    int64_t col = row, cols = rows;
    if (beside) {
        col = upper ? row + rows : n1;
        cols = upper ? n - col : row - n1;
    }
    /* its position in the rectangle */
    const int64_t at = upper ? row : row - n1 + odd, left = col + (upper ? 1 - odd : -n1);
    ct_view part = ct_view_block(m->triangle, at, at + rows, left, left + cols);
    *b = (block){ row, rows, col, cols, upper, beside, part };
    return true;
}

/* Rows first, first + 1, ... of a matrix or vector. */
static ct_view rows_from(ct_view v, int64_t first, int64_t rows) { return ct__rows(v, first, first + rows); }

static ct_view transposed_if(ct_view v, bool transpose) { return transpose ? ct_view_transpose(v) : v; }

static ct_view strip_of(const ct__mixed *m, const block *b)
{
    return ct_view_block(m->strip, 0, b->rows, 0, b->cols);
}

/* The block of C. */
static ct_view covariance(const ct__mixed *m, const block *b)
{
    ct_view K = strip_of(m, b);
    ct__kernel_block(m->c, &m->C, b->row, b->col, false, K);
    return K;
}

/* Converts the used part of a block. */
static void convert(const ct__mixed *m, const block *b, ct_view from, ct_view to)
{
    if (b->beside)
        ct_prim_copy(m->c, from, to);
    else
        ct__copy_lower(m->c, transposed_if(from, b->upper), transposed_if(to, b->upper));
}

/* The block of the factor in f64; a diagonal block has zeros in its other triangle. */
static ct_view factor(const ct__mixed *m, const block *b)
{
    ct_view L = strip_of(m, b);
    if (!b->beside) ct_prim_fill(m->c, L, 0);
    convert(m, b, b->part, L);
    return L;
}

/* out[row..] += A V[col..] */
static void add_product(const ct__mixed *m, ct_view A, ct_view V, int64_t col, ct_view out, int64_t row)
{
    ct_view part = rows_from(out, row, ct_view_dim(A, 0));
    ct_prim_gemm(m->c, 1, A, rows_from(V, col, ct_view_dim(A, 1)), 1, part);
}

/* -- the factor ------------------------------------------------------------------------------------------ */

void ct__mixed_factor(const ct__mixed *m, ct_view diagonal)
{
    ct_call *c = m->c;
    const ct__packed *L = &m->L.blocks;
    ct_view z = ct_scratch(c, CT_F32, ct_shape2(m->n, 1)), line = ct_scratch(c, CT_F32, ct_shape1(m->n));
    for (block b = { 0 }; next_block(m, &b);) convert(m, &b, covariance(m, &b), b.part);
    ct_prim_fill(c, z, 0);
    const bool known = ct_failure_known(c);
    ct_prim_sweep_blocks(c, false, 0, L->A11, L->A21, L->A22, z, line);
    if (!known && ct_failure_known(c))
        ct_prim_fill(c, diagonal, NAN);
    else
        ct_prim_copy(c, line, diagonal);
}

/* -- products and solves --------------------------------------------------------------------------------- */

void ct__mixed_product(const ct__mixed *m, ct_view V, ct_view out)
{
    ct_prim_fill(m->c, out, 0);
    for (block b = { 0 }; next_block(m, &b);) {
        ct_view K = covariance(m, &b);
        add_product(m, K, V, b.col, out, b.row);
        if (b.beside) add_product(m, ct_view_transpose(K), V, b.row, out, b.col);
    }
}

/* out = Lᵀ V, or with `plain` L V */
static void multiply_factor(const ct__mixed *m, bool plain, ct_view V, ct_view out)
{
    ct_prim_fill(m->c, out, 0);
    for (block b = { 0 }; next_block(m, &b);) {
        const bool transpose = b.upper == plain; /* the block is the transpose of the requested factor */
        add_product(m, transposed_if(factor(m, &b), transpose), V, transpose ? b.row : b.col, out,
                    transpose ? b.col : b.row);
    }
}

void ct__mixed_gram(const ct__mixed *m, ct_view V, ct_view half, ct_view out)
{
    multiply_factor(m, false, V, half);
    multiply_factor(m, true, half, out);
}

void ct__mixed_solve_in_place(const ct__mixed *m, ct__mixed_solve kind, ct_view V)
{
    ct_view B = rows_from(m->narrow, 0, ct_view_dim(V, 1)), columns = ct_view_transpose(B);
    ct_prim_copy(m->c, V, columns);
    if (kind != CT__SOLVE_FACTOR_TRANS) ct__factor_solve(m->c, &m->L, 0, B);
    if (kind != CT__SOLVE_FACTOR) ct__factor_solve_trans(m->c, &m->L, 0, B);
    ct_prim_copy(m->c, columns, V);
}

void ct__mixed_slopes(const ct__mixed *m, ct_view alpha, ct_view diagonal, ct_view theta_bar, ct_view X_bar)
{
    const ct__slopes s = { .of = &m->C, .u = alpha, .weight = 0.5, .theta_bar = theta_bar, .X_bar = X_bar };
    ct_prim_invert_blocks(m->c, m->L.blocks.A11, m->L.blocks.A21, m->L.blocks.A22);
    ct__factor_diagonal(m->c, &m->L, diagonal);
    ct__slopes_clear(m->c, &s);
    for (block b = { 0 }; next_block(m, &b);)
        ct__slopes_add(m->c, &s, transposed_if(factor(m, &b), b.upper && !b.beside), b.row, b.col);
}
