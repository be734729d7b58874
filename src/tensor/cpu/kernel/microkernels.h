/* The building blocks of blocked algorithms: products, and operations on one tile, on one thread, compiled
 * for each type and instruction set. Matrices are row-major and triangles lower, unless stated. Leading
 * dimensions count elements. */
#ifndef CT_TENSOR_CPU_MICROKERNELS_H
#define CT_TENSOR_CPU_MICROKERNELS_H

#include "../cpu.h"
#include "config.h"
#include "isa.h"

enum {
    CT__LEFT_LOWER = 1,  /* A's elements (i, p) are used only for p <= i, */
    CT__LEFT_UPPER = 2,  /* or for p >= i                                 */
    CT__RIGHT_LOWER = 4, /* B's elements (p, j) are used only for p >= j, */
    CT__RIGHT_UPPER = 8, /* or for p <= j                                 */
    CT__OUT_LOWER = 16,  /* C's elements (i, j) are computed for j <= i,  */
    CT__OUT_UPPER = 32,  /* or for j >= i                                 */
};

typedef struct ct__product {
    unsigned parts;
    bool minus, add; /* C = A B; -A B; C + A B; C - A B */
    int64_t m, n, k; /* A: m x k, B: k x n, C: m x n    */
    const void *a;
    int64_t a_rs, a_cs;
    const void *b;
    int64_t b_rs, b_cs;
    void *c;
    int64_t ldc;
} ct__product;

typedef struct ct__microkernels {
    ct_dtype dtype;

    /* C = ± A B, or added to C. If A is a triangle, its tiles (CT__TILE) on the diagonal must hold zeros in
     * the other half. If B is one, its other half is not read. Of C, tiles that meet the wanted triangle are
     * written whole. A and B each have a stride of 1. C may be B if k <= CT__TILE, and A if n <= CT__TILE.
     * work: ct__product_work(dtype, the largest extent) bytes, aligned to 64. */
    void (*product)(const ct__product *q, void *work);

    /* X = C⁻¹ X in place, for n <= CT__TILE rows of X, ldx apart. C is lower, with strides rs and cs; with
     * `unit` its diagonal counts as ones. For an upper C start at its last row and column, with negative
     * strides and ldx. */
    void (*substitute)(const void *c, int64_t rs, int64_t cs, int64_t n, bool unit, void *x, int64_t ldx,
                       int64_t cols);

    /* Replaces the upper triangle of a (n x n, n <= CT__TILE) by R of A = RᵀR, and the rest by zeros. Returns
     * 0, or the failing minor (from 1). */
    int64_t (*cholesky)(void *a, int64_t lda, int64_t n);

    /* LU with partial pivoting, in place, of n <= CT__TILE columns of m >= n rows, stored ld >= m + 2
     * CT__STRIP apart. Row j has been swapped with row pivots[j] >= j. A column of zeros leaves a zero pivot.
     * Rows from m to the next multiple of CT__STRIP, and one strip more, must be zero. */
    void (*lu)(void *c, int64_t ld, int64_t m, int64_t n, int64_t *pivots);

    /* y_ji = x_ij: rows x cols into cols x rows */
    void (*transpose)(int64_t rows, int64_t cols, const void *x, int64_t ldx, void *y, int64_t ldy);

    /* s = ½(g + gᵀ), n x n. With `lower` only the tiles on and below the diagonal. */
    void (*symmetric_part)(bool lower, int64_t n, const void *g, int64_t ldg, void *s, int64_t lds);
} ct__microkernels;
CT__VARIANTS(ct__microkernels)

/* The workspace of a product: the packed panels of B, whose rows have up to CT__PANEL_ROW bytes and of which
 * the last is padded, and CT__STRIPS strips of HIGH rows of A. A multiple of 64. */
static inline size_t ct__product_work(ct_dtype dtype, int64_t extent)
{
    const int64_t size = (int64_t)ct_dtype_size(dtype), width = CT__PANEL_ROW / size;
    const int64_t panels = ct__min(extent, CT__DEPTH) * ct__min(extent + width, CT__PANELS * width);
    return ct__aligned((size_t)((panels + 8 * CT__STRIPS * CT__DEPTH) * size));
}

/* C = alpha op(A) op(B) + beta C for row-major matrices, m x k times k x n. op is 'N' or 'T', alpha 1 or -1,
 * beta 0 or 1. */
static inline void ct__multiply(const ct__microkernels *kernels, unsigned parts, char ta, char tb, int64_t m,
                                int64_t n, int64_t k, int alpha, const void *a, int64_t lda, const void *b,
                                int64_t ldb, int beta, void *c, int64_t ldc, void *work)
{
    kernels->product(&(ct__product){ .parts = parts,
                                     .minus = alpha < 0,
                                     .add = beta,
                                     .m = m,
                                     .n = n,
                                     .k = k,
                                     .a = a,
                                     .a_rs = ta == 'T' ? 1 : lda,
                                     .a_cs = ta == 'T' ? lda : 1,
                                     .b = b,
                                     .b_rs = tb == 'T' ? 1 : ldb,
                                     .b_cs = tb == 'T' ? ldb : 1,
                                     .c = c,
                                     .ldc = ldc },
                     work);
}

#endif
