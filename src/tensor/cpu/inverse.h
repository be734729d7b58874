/* Blocked triangular routines made of gemm and tiles, which LU and Cholesky inverses share. Row-major and lower;
 * leading dimensions count elements; `work` has room for CT__PANEL rows of the matrix, or its quarter. */
#ifndef CT_TENSOR_CPU_INVERSE_H
#define CT_TENSOR_CPU_INVERSE_H

#include "blas.h"
#include "cpu.h"

/* Whether matrices of this extent go one by one to LAPACK and its threads: there are too few for a thread each, and
 * they are large enough (the extent is a guess until it is measured on idle cores). Otherwise the small products of
 * the routines here run on one thread. */
static inline bool ct__inverse_alone(const ct_device *dev, int64_t members, int64_t n)
{
    return dev->threads > 1 && members < dev->threads && n > 384;
}

/* C = alpha op(A) op(B) + beta C of row-major matrices: m x k times k x n. */
static inline void ct__rows_gemm(ct_dtype t, char ta, char tb, int64_t m, int64_t n, int64_t k, double alpha,
                                 const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c,
                                 int64_t ldc)
{
    if (m > 0 && n > 0)
        blas_gemm(t, tb, ta, (int)n, (int)m, (int)k, alpha, b, (int)ldb, a, (int)lda, beta, c, (int)ldc);
}

/* A leading dimension for n columns: rows start on cache lines, and not where they would meet in the cache. */
static inline int64_t ct__pitch(int64_t n) { return n <= 32 ? (n + 7) / 8 * 8 : (n + 15) / 16 * 16 + 16; }

/* m holds the inverses of t's diagonal tiles: the rest of m's lower triangle becomes that of T⁻¹. */
void ct__invert_lower(ct_dtype dtype, const void *t, int64_t ldt, int64_t n, void *m, int64_t ldm,
                      void *work);

/* y_ji = x_ij: rows x cols into cols x rows, both row-major, block by block. */
void ct__transpose(ct_dtype dtype, int64_t rows, int64_t cols, const void *x, int64_t ldx, void *y,
                   int64_t ldy);

#endif
