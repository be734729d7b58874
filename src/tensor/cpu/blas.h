/* The BLAS and LAPACK routines in use, by their Fortran symbols with 32-bit integers. Everything is
 * column-major here. */
#ifndef CT_TENSOR_CPU_BLAS_H
#define CT_TENSOR_CPU_BLAS_H

#include <cotangent/tensor.h>

/* Pointers to numbers are void *, so that the f64 and f32 routines have one function type. */
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

double ddot_(const int *, const double *, const int *, const double *, const int *);
float sdot_(const int *, const float *, const int *, const float *, const int *);
const char *openblas_get_config(void);
const char *openblas_get_corename(void);
int openblas_get_parallel(void); /* 0 serial, 1 pthreads, 2 OpenMP */

/* The routine of a dtype: CT__ROUTINE(CT_F64, gemm) is dgemm_. */
#define CT__ROUTINE(dtype, name) ((dtype) == CT_F64 ? d##name##_ : s##name##_)

/* A number of a dtype; routines take its address. */
typedef union ct__number {
    double f64;
    float f32;
} ct__number;

static inline ct__number ct__number_of(ct_dtype t, double x)
{
    return t == CT_F64 ? (ct__number){ .f64 = x } : (ct__number){ .f32 = (float)x };
}

static inline void blas_gemm(ct_dtype t, char ta, char tb, int m, int n, int k, double alpha, const void *a,
                             int lda, const void *b, int ldb, double beta, void *c, int ldc)
{
    const ct__number x = ct__number_of(t, alpha), y = ct__number_of(t, beta);
    CT__ROUTINE(t, gemm)(&ta, &tb, &m, &n, &k, &x, a, &lda, b, &ldb, &y, c, &ldc);
}

static inline void blas_gemv(ct_dtype t, char ta, int m, int n, double alpha, const void *a, int lda,
                             const void *x, int incx, double beta, void *y, int incy)
{
    const ct__number p = ct__number_of(t, alpha), q = ct__number_of(t, beta);
    CT__ROUTINE(t, gemv)(&ta, &m, &n, &p, a, &lda, x, &incx, &q, y, &incy);
}

static inline void blas_syrk(ct_dtype t, char uplo, char trans, int n, int k, double alpha, const void *a,
                             int lda, double beta, void *c, int ldc)
{
    const ct__number x = ct__number_of(t, alpha), y = ct__number_of(t, beta);
    CT__ROUTINE(t, syrk)(&uplo, &trans, &n, &k, &x, a, &lda, &y, c, &ldc);
}

#endif
