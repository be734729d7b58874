/* Products of row-major matrices on one thread, of which triangles may be known to be zero or not wanted:
 * what inverses and factors of a batch are made of. Operands are packed once for each product, whatever the
 * part of it that is wanted. */
#ifndef CT_TENSOR_CPU_PRODUCT_H
#define CT_TENSOR_CPU_PRODUCT_H

#include "cpu.h"
#include "tile.h"

enum {
    CT__LEFT_LOWER = 1,  /* A's elements (i, p) count for p <= i alone, */
    CT__LEFT_UPPER = 2,  /* or for p >= i                               */
    CT__RIGHT_LOWER = 4, /* B's elements (p, j) count for p >= j alone, */
    CT__RIGHT_UPPER = 8, /* or for p <= j                               */
    CT__OUT_LOWER = 16,  /* C's elements (i, j) are wanted for j <= i,  */
    CT__OUT_UPPER = 32,  /* or for j >= i                               */
};

typedef struct ct__product {
    ct_dtype dtype;
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

/* Of a left triangle the other half must hold zeros in the tiles of CT__TILE that meet the diagonal; of a
 * right one it is not read; of C the tiles that meet the triangle are written whole. One stride of A and of B
 * is 1. C may be B for k up to CT__TILE and A for n up to CT__TILE. work: ct__product_work(dtype, the largest
 * extent) bytes, aligned to 64. */
void ct__product_run(const ct__product *q, void *work);
size_t ct__product_work(ct_dtype dtype, int64_t extent);

/* X = C⁻¹ X in place, X of n <= CT__TILE rows ldx apart; C lower with strides rs and cs, ones on its diagonal
 * where `unit`. An upper C is a lower one from its last row and column, with strides and ldx below zero. */
void ct__tile_substitute(ct_dtype dtype, const void *c, int64_t rs, int64_t cs, int64_t n, bool unit, void *x,
                         int64_t ldx, int64_t cols);

/* y_ji = x_ij: rows x cols into cols x rows, both row-major. */
void ct__transpose(ct_dtype dtype, int64_t rows, int64_t cols, const void *x, int64_t ldx, void *y,
                   int64_t ldy);
/* s = ½(g + gᵀ), n x n, or with `lower` those of its elements that are not above the diagonal (of tiles on
 * it, all) */
void ct__symmetric_part(ct_dtype dtype, bool lower, int64_t n, const void *g, int64_t ldg, void *s,
                        int64_t lds);

/* C = ± op(A) op(B), or + C, of row-major matrices: m x k times k x n; op is 'N' or 'T', alpha 1 or -1, beta
 * 0 or 1. */
static inline void ct__multiply(ct_dtype dtype, unsigned parts, char ta, char tb, int64_t m, int64_t n,
                                int64_t k, int alpha, const void *a, int64_t lda, const void *b, int64_t ldb,
                                int beta, void *c, int64_t ldc, void *work)
{
    ct__product_run(&(ct__product){ .dtype = dtype,
                                    .parts = parts,
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
