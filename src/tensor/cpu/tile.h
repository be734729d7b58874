/* Factors and inverses of one tile: what blocked algorithms do on their diagonal. Everything is row-major,
 * and lower where nothing else is said; leading dimensions count elements. */
#ifndef CT_TENSOR_CPU_TILE_H
#define CT_TENSOR_CPU_TILE_H

#include "cpu.h"

enum { CT__TILE = 32, CT__STRIP = 64 };

/* The upper triangle of a (n x n, n <= CT__TILE) becomes R of A = RᵀR, the rest zero. Returns 0, or the minor
 * that is not positive (from 1). */
int64_t ct__tile_cholesky(ct_dtype dtype, void *a, int64_t lda, int64_t n);
/* m = T⁻¹ for the lower triangle T of a, with ones on the diagonal where `unit`. m may be a. */
void ct__tile_triangle(ct_dtype dtype, const void *a, int64_t lda, int64_t n, bool unit, void *m,
                       int64_t ldm);
/* c holds n <= CT__TILE columns of m >= n rows, ld >= m + 2 CT__STRIP apart: they become L and U with partial
 * pivoting, row j having been swapped with row pivots[j] >= j. Where all of a column is zero, its pivot stays
 * so. */
void ct__tile_lu(ct_dtype dtype, void *c, int64_t ld, int64_t m, int64_t n, int64_t *pivots);

#endif
