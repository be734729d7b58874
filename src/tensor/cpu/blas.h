/* The BLAS and LAPACK routines in use, by their Fortran symbols with 32-bit integers, and one inline wrapper
 * each that chooses by dtype. Everything is column-major here. */
#ifndef CT_TENSOR_CPU_BLAS_H
#define CT_TENSOR_CPU_BLAS_H

#include <cotangent/tensor.h>

#define CT__BLAS(p, T)                                                                                     \
    void p##gemm_(const char *, const char *, const int *, const int *, const int *, const T *, const T *, \
                  const int *, const T *, const int *, const T *, T *, const int *);                       \
    void p##gemv_(const char *, const int *, const int *, const T *, const T *, const int *, const T *,    \
                  const int *, const T *, T *, const int *);                                               \
    void p##syrk_(const char *, const char *, const int *, const int *, const T *, const T *, const int *, \
                  const T *, T *, const int *);                                                            \
    void p##potrf_(const char *, const int *, T *, const int *, int *);                                    \
    void p##trtri_(const char *, const char *, const int *, T *, const int *, int *);                      \
    void p##lauum_(const char *, const int *, T *, const int *, int *);                                    \
    void p##trsv_(const char *, const char *, const char *, const int *, const T *, const int *, T *,      \
                  const int *);                                                                            \
    void p##getri_(const int *, T *, const int *, const int *, T *, const int *, int *);                   \
    void p##getrf_(const int *, const int *, T *, const int *, int *, int *);                              \
    void p##trsm_(const char *, const char *, const char *, const char *, const int *, const int *,        \
                  const T *, const T *, const int *, T *, const int *);                                    \
    void p##trmm_(const char *, const char *, const char *, const char *, const int *, const int *,        \
                  const T *, const T *, const int *, T *, const int *);
CT__BLAS(d, double)
CT__BLAS(s, float)
#undef CT__BLAS

const char *openblas_get_config(void);
const char *openblas_get_corename(void);
int openblas_get_parallel(void); /* 0 serial, 1 pthreads, 2 OpenMP */

static inline void blas_gemm(ct_dtype t, char ta, char tb, int m, int n, int k, double alpha, const void *a,
                             int lda, const void *b, int ldb, double beta, void *c, int ldc)
{
    const float alpha_f = (float)alpha, beta_f = (float)beta;
    if (t == CT_F64)
        dgemm_(&ta, &tb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
    else
        sgemm_(&ta, &tb, &m, &n, &k, &alpha_f, a, &lda, b, &ldb, &beta_f, c, &ldc);
}

static inline void blas_gemv(ct_dtype t, char ta, int m, int n, double alpha, const void *a, int lda,
                             const void *x, int incx, double beta, void *y, int incy)
{
    const float alpha_f = (float)alpha, beta_f = (float)beta;
    if (t == CT_F64)
        dgemv_(&ta, &m, &n, &alpha, a, &lda, x, &incx, &beta, y, &incy);
    else
        sgemv_(&ta, &m, &n, &alpha_f, a, &lda, x, &incx, &beta_f, y, &incy);
}

static inline void blas_syrk(ct_dtype t, char uplo, char trans, int n, int k, double alpha, const void *a,
                             int lda, double beta, void *c, int ldc)
{
    const float alpha_f = (float)alpha, beta_f = (float)beta;
    if (t == CT_F64)
        dsyrk_(&uplo, &trans, &n, &k, &alpha, a, &lda, &beta, c, &ldc);
    else
        ssyrk_(&uplo, &trans, &n, &k, &alpha_f, a, &lda, &beta_f, c, &ldc);
}

static inline int blas_potrf(ct_dtype t, char uplo, int n, void *a, int lda)
{
    int info = 0;
    if (t == CT_F64)
        dpotrf_(&uplo, &n, a, &lda, &info);
    else
        spotrf_(&uplo, &n, a, &lda, &info);
    return info;
}

/* a = a⁻¹, triangular; a = op(a) a of LAPACK's lauum. The diagonal has no zeros. */
static inline void blas_trtri(ct_dtype t, char uplo, int n, void *a, int lda)
{
    int info = 0;
    if (t == CT_F64)
        dtrtri_(&uplo, "N", &n, a, &lda, &info);
    else
        strtri_(&uplo, "N", &n, a, &lda, &info);
}

static inline void blas_lauum(ct_dtype t, char uplo, int n, void *a, int lda)
{
    int info = 0;
    if (t == CT_F64)
        dlauum_(&uplo, &n, a, &lda, &info);
    else
        slauum_(&uplo, &n, a, &lda, &info);
}

static inline void blas_trsv(ct_dtype t, char uplo, char trans, char diag, int n, const void *a, int lda,
                             void *x, int step)
{
    if (t == CT_F64)
        dtrsv_(&uplo, &trans, &diag, &n, a, &lda, x, &step);
    else
        strsv_(&uplo, &trans, &diag, &n, a, &lda, x, &step);
}

static inline int blas_getrf(ct_dtype t, int n, void *a, int lda, int *pivots)
{
    int info = 0;
    if (t == CT_F64)
        dgetrf_(&n, &n, a, &lda, pivots, &info);
    else
        sgetrf_(&n, &n, a, &lda, pivots, &info);
    return info;
}

/* work: at least n elements, better 64 n */
static inline int blas_getri(ct_dtype t, int n, void *a, int lda, const int *pivots, void *work, int lwork)
{
    int info = 0;
    if (t == CT_F64)
        dgetri_(&n, a, &lda, pivots, work, &lwork, &info);
    else
        sgetri_(&n, a, &lda, pivots, work, &lwork, &info);
    return info;
}

static inline void blas_trsm(ct_dtype t, char side, char uplo, char trans, char diag, int m, int n,
                             double alpha, const void *a, int lda, void *b, int ldb)
{
    const float alpha_f = (float)alpha;
    if (t == CT_F64)
        dtrsm_(&side, &uplo, &trans, &diag, &m, &n, &alpha, a, &lda, b, &ldb);
    else
        strsm_(&side, &uplo, &trans, &diag, &m, &n, &alpha_f, a, &lda, b, &ldb);
}

static inline void blas_trmm(ct_dtype t, char side, char uplo, char trans, char diag, int m, int n,
                             double alpha, const void *a, int lda, void *b, int ldb)
{
    const float alpha_f = (float)alpha;
    if (t == CT_F64)
        dtrmm_(&side, &uplo, &trans, &diag, &m, &n, &alpha, a, &lda, b, &ldb);
    else
        strmm_(&side, &uplo, &trans, &diag, &m, &n, &alpha_f, a, &lda, b, &ldb);
}

#endif
