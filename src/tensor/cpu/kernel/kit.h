/* What blocked algorithms are made of: products, and what is done to one tile, on one thread, compiled for
 * one type and instruction set. Everything is row-major and a triangle lower where nothing else is said;
 * leading dimensions count elements. */
#ifndef CT_TENSOR_CPU_KIT_H
#define CT_TENSOR_CPU_KIT_H

#include "../cpu.h"
#include "config.h"

enum {
    CT__LEFT_LOWER = 1,  /* A's elements (i, p) count for p <= i alone, */
    CT__LEFT_UPPER = 2,  /* or for p >= i                               */
    CT__RIGHT_LOWER = 4, /* B's elements (p, j) count for p >= j alone, */
    CT__RIGHT_UPPER = 8, /* or for p <= j                               */
    CT__OUT_LOWER = 16,  /* C's elements (i, j) are wanted for j <= i,  */
    CT__OUT_UPPER = 32,  /* or for j >= i                               */
};

typedef struct ct__product {
    unsigned parts;
    bool minus, add; /* C = A B; -A B; C + A B; C - A B */
    int64_t m, n, k; /* A: m x k, B: k x n, C: m x n     */
    const void *a;
    int64_t a_rs, a_cs;
    const void *b;
    int64_t b_rs, b_cs;
    void *c;
    int64_t ldc;
} ct__product;

typedef struct ct__kit {
    ct_dtype dtype;

    /* Of a left triangle the other half must hold zeros in the tiles of CT__TILE that meet the diagonal; of a
     * right one it is not read; of C the tiles that meet the triangle are written whole. Operands are packed
     * once for each product, whatever the part of it that is wanted. One stride of A and of B is 1. C may be
     * B for k up to CT__TILE and A for n up to CT__TILE. work: ct__product_work(dtype, the largest extent)
     * bytes, aligned to 64. */
    void (*product)(const ct__product *q, void *work);

    /* X = C⁻¹ X in place, X of n <= CT__TILE rows ldx apart; C lower with strides rs and cs, ones on its
     * diagonal where `unit`. An upper C is a lower one from its last row and column, with strides and ldx
     * below zero. */
    void (*substitute)(const void *c, int64_t rs, int64_t cs, int64_t n, bool unit, void *x, int64_t ldx,
                       int64_t cols);

    /* The upper triangle of a (n x n, n <= CT__TILE) becomes R of A = RᵀR, the rest zero. Returns 0, or the
     * minor that is not positive (from 1). */
    int64_t (*cholesky)(void *a, int64_t lda, int64_t n);

    /* c holds n <= CT__TILE columns of m >= n rows, ld >= m + 2 CT__STRIP apart: they become L and U with
     * partial pivoting, row j having been swapped with row pivots[j] >= j. Where all of a column is zero, its
     * pivot stays so. Rows from m to the next multiple of CT__STRIP and another strip are zero. */
    void (*lu)(void *c, int64_t ld, int64_t m, int64_t n, int64_t *pivots);

    /* y_ji = x_ij: rows x cols into cols x rows */
    void (*transpose)(int64_t rows, int64_t cols, const void *x, int64_t ldx, void *y, int64_t ldy);

    /* s = ½(g + gᵀ), n x n, or with `lower` those of its elements that are not above the diagonal (of tiles
     * on it, all) */
    void (*symmetric_part)(bool lower, int64_t n, const void *g, int64_t ldg, void *s, int64_t lds);
} ct__kit;

/* That of an instruction set (isa.h) and f64, or for any other dtype f32. */
const ct__kit *ct__kit_of(int isa, ct_dtype dtype);

size_t ct__product_work(ct_dtype dtype, int64_t extent);

/* C = ± op(A) op(B), or + C, of row-major matrices: m x k times k x n; op is 'N' or 'T', alpha 1 or -1, beta
 * 0 or 1. */
static inline void ct__multiply(const ct__kit *kit, unsigned parts, char ta, char tb, int64_t m, int64_t n,
                                int64_t k, int alpha, const void *a, int64_t lda, const void *b, int64_t ldb,
                                int beta, void *c, int64_t ldc, void *work)
{
    kit->product(&(ct__product){ .parts = parts,
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
