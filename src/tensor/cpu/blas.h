/* The BLAS and LAPACK routines in use, by their Fortran symbols with 32-bit integers, and one inline wrapper
 * each that chooses by dtype. Everything is column-major here. */
#ifndef CT_TENSOR_CPU_BLAS_H
#define CT_TENSOR_CPU_BLAS_H

#include <cotangent/tensor.h>

/* Numbers, matrices and vectors are void: d- and s-routines are of one type. */
#define CT__BLAS(p)                                                                                         \
    void p##gemm_(const char *, const char *, const int *, const int *, const int *, const void *,          \
                  const void *, const int *, const void *, const int *, const void *, void *, const int *); \
    void p##gemv_(const char *, const int *, const int *, const void *, const void *, const int *,          \
                  const void *, const int *, const void *, void *, const int *);                            \
    void p##syrk_(const char *, const char *, const int *, const int *, const void *, const void *,         \
                  const int *, const void *, void *, const int *);                                          \
    void p##potrf_(const char *, const int *, void *, const int *, int *);                                  \
    void p##trtri_(const char *, const char *, const int *, void *, const int *, int *);                    \
    void p##lauum_(const char *, const int *, void *, const int *, int *);                                  \
    void p##trsv_(const char *, const char *, const char *, const int *, const void *, const int *, void *, \
                  const int *);                                                                             \
    void p##getri_(const int *, void *, const int *, const int *, void *, const int *, int *);              \
    void p##getrf_(const int *, const int *, void *, const int *, int *, int *);                            \
    void p##trsm_(const char *, const char *, const char *, const char *, const int *, const int *,         \
                  const void *, const void *, const int *, void *, const int *);                            \
    void p##trmm_(const char *, const char *, const char *, const char *, const int *, const int *,         \
                  const void *, const void *, const int *, void *, const int *);
CT__BLAS(d)
CT__BLAS(s)
#undef CT__BLAS

const char *openblas_get_config(void);
const char *openblas_get_corename(void);
int openblas_get_parallel(void); /* 0 serial, 1 pthreads, 2 OpenMP */

/* alpha or beta in the type that a routine takes. */
typedef union blas_number {
    double d;
    float s;
} blas_number;

static inline blas_number blas_number_of(ct_dtype t, double x)
{
    return t == CT_F64 ? (blas_number){ .d = x } : (blas_number){ .s = (float)x };
}

#define BLAS(t, name) (t == CT_F64 ? d##name##_ : s##name##_)

static inline void blas_gemm(ct_dtype t, char ta, char tb, int m, int n, int k, double alpha, const void *a,
                             int lda, const void *b, int ldb, double beta, void *c, int ldc)
{
    const blas_number scale = blas_number_of(t, alpha), keep = blas_number_of(t, beta);
    BLAS(t, gemm)(&ta, &tb, &m, &n, &k, &scale, a, &lda, b, &ldb, &keep, c, &ldc);
}

static inline void blas_gemv(ct_dtype t, char ta, int m, int n, double alpha, const void *a, int lda,
                             const void *x, int incx, double beta, void *y, int incy)
{
    const blas_number scale = blas_number_of(t, alpha), keep = blas_number_of(t, beta);
    BLAS(t, gemv)(&ta, &m, &n, &scale, a, &lda, x, &incx, &keep, y, &incy);
}

static inline void blas_syrk(ct_dtype t, char uplo, char trans, int n, int k, double alpha, const void *a,
                             int lda, double beta, void *c, int ldc)
{
    const blas_number scale = blas_number_of(t, alpha), keep = blas_number_of(t, beta);
    BLAS(t, syrk)(&uplo, &trans, &n, &k, &scale, a, &lda, &keep, c, &ldc);
}

static inline int blas_potrf(ct_dtype t, char uplo, int n, void *a, int lda)
{
    int info = 0;
    BLAS(t, potrf)(&uplo, &n, a, &lda, &info);
    return info;
}

/* a = a⁻¹, triangular; a = op(a) a of LAPACK's lauum. The diagonal has no zeros. */
static inline void blas_trtri(ct_dtype t, char uplo, int n, void *a, int lda)
{
    int info = 0;
    BLAS(t, trtri)(&uplo, "N", &n, a, &lda, &info);
}

static inline void blas_lauum(ct_dtype t, char uplo, int n, void *a, int lda)
{
    int info = 0;
    BLAS(t, lauum)(&uplo, &n, a, &lda, &info);
}

static inline void blas_trsv(ct_dtype t, char uplo, char trans, char diag, int n, const void *a, int lda,
                             void *x, int step)
{
    BLAS(t, trsv)(&uplo, &trans, &diag, &n, a, &lda, x, &step);
}

static inline int blas_getrf(ct_dtype t, int n, void *a, int lda, int *pivots)
{
    int info = 0;
    BLAS(t, getrf)(&n, &n, a, &lda, pivots, &info);
    return info;
}

/* work: at least n elements, better 64 n */
static inline int blas_getri(ct_dtype t, int n, void *a, int lda, const int *pivots, void *work, int lwork)
{
    int info = 0;
    BLAS(t, getri)(&n, a, &lda, pivots, work, &lwork, &info);
    return info;
}

static inline void blas_trsm(ct_dtype t, char side, char uplo, char trans, char diag, int m, int n,
                             double alpha, const void *a, int lda, void *b, int ldb)
{
    const blas_number scale = blas_number_of(t, alpha);
    BLAS(t, trsm)(&side, &uplo, &trans, &diag, &m, &n, &scale, a, &lda, b, &ldb);
}

static inline void blas_trmm(ct_dtype t, char side, char uplo, char trans, char diag, int m, int n,
                             double alpha, const void *a, int lda, void *b, int ldb)
{
    const blas_number scale = blas_number_of(t, alpha);
    BLAS(t, trmm)(&side, &uplo, &trans, &diag, &m, &n, &scale, a, &lda, b, &ldb);
}

#undef BLAS

#endif
