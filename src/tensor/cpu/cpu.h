/* What the files of the CPU backend share: one loop driver for everything elementwise, and the primitives. */
#ifndef CT_TENSOR_CPU_H
#define CT_TENSOR_CPU_H

#include "../internal.h"

enum {
    CT__OPERANDS = 4,
    CT__GRAIN = 32768, /* elements a thread should have before a second one is woken */
};

/* Works on n1 x n0 elements: operand k's element (j, i) is data[k][j * s1[k] + i * s0[k]], k = 0 the output. */
typedef void (*ct__kernel)(int64_t n1, int64_t n0, void *const *data, const int64_t *s1, const int64_t *s0,
                           const void *context);

/* Runs kernel over all elements of t[0]; t[1..n) have its shape. The order of elements is free. Dimensions are
 * coalesced and sorted by the output's strides; operands that disagree about the inner dimension are walked in
 * tiles. `grain`: see CT__GRAIN. */
void ct__loop(ct_device *dev, int n, const ct_tensor *const *t, ct__kernel kernel, const void *context,
              int64_t grain);

/* y = x between strided matrices of one dtype. */
void ct__copy_matrix(ct_device *dev, ct_dtype dtype, int64_t rows, int64_t cols, const void *x, int64_t x_rs,
                     int64_t x_cs, void *y, int64_t y_rs, int64_t y_cs);

static inline int64_t ct__count(const ct_tensor *t)
{
    int64_t count = 1;
    for (int d = 0; d < t->ndim; d++) count *= t->dim[d];
    return count;
}

/* Element `offset` of an array of that dtype. */
static inline void *ct__at(const void *data, ct_dtype dtype, int64_t offset)
{
    return (char *)data + offset * (int64_t)ct__size(dtype);
}

/* special.c: log|gamma(x)|, and the k-th derivative of digamma (k = 0: digamma). Thread-safe. */
double ct__lgamma(double x);
float ct__lgammaf(float x);
double ct__polygamma(int k, double x);
float ct__polygammaf(int k, float x);

ct_status ct__cpu_fill(ct_device *dev, double value, ct_tensor *out);
ct_status ct__cpu_copy(ct_device *dev, const ct_tensor *x, ct_tensor *out);
ct_status ct__cpu_map1(ct_device *dev, ct_map1 f, const double p[2], const ct_tensor *x, ct_tensor *out);
ct_status ct__cpu_map1_bar(ct_device *dev, ct_map1 f, const double p[2], const ct_tensor *x,
                           const ct_tensor *y, const ct_tensor *g, ct_tensor *out);
ct_status ct__cpu_map2(ct_device *dev, ct_map2 f, const ct_tensor *a, const ct_tensor *b, ct_tensor *out);
ct_status ct__cpu_map2_bar(ct_device *dev, ct_map2 f, int side, const ct_tensor *a, const ct_tensor *b,
                           const ct_tensor *g, ct_tensor *out);
ct_status ct__cpu_where(ct_device *dev, const ct_tensor *cond, const ct_tensor *a, const ct_tensor *b,
                        ct_tensor *out);
ct_status ct__cpu_random(ct_device *dev, bool normal, uint64_t seed, uint64_t stream, ct_tensor *out);
ct_status ct__cpu_reduce(ct_device *dev, ct_reduction f, const ct_tensor *x, ct_tensor *out);
ct_status ct__cpu_gather(ct_device *dev, const ct_tensor *x, const ct_tensor *index, ct_tensor *out);
ct_status ct__cpu_scatter_add(ct_device *dev, const ct_tensor *x, const ct_tensor *index, ct_tensor *out);
ct_status ct__cpu_group_by(ct_device *dev, const ct_tensor *index, ct_tensor *groups);
ct_status ct__cpu_grouped_gemm(ct_device *dev, const ct_tensor *A, const ct_tensor *C,
                               const ct_tensor *groups, ct_tensor *out);
ct_status ct__cpu_grouped_gemm_bar(ct_device *dev, const ct_tensor *A, const ct_tensor *C, const ct_tensor *G,
                                   const ct_tensor *groups, ct_tensor *A_bar, ct_tensor *C_bar);
ct_status ct__cpu_sqdist(ct_device *dev, const ct_tensor *x, const ct_tensor *y, ct_tensor *out);
ct_status ct__cpu_covariance(ct_device *dev, const ct_cov_program *program, const ct_tensor *theta,
                             const ct_tensor *x, const ct_tensor *z, bool lower, ct_tensor *out);
ct_status ct__cpu_covariance_bar(ct_device *dev, const ct_cov_program *program, const ct_tensor *theta,
                                 const ct_tensor *x, const ct_tensor *z, const ct_cov_bar *K_bar, bool add,
                                 ct_tensor *theta_bar, ct_tensor *x_bar);
ct_status ct__cpu_gemm(ct_device *dev, double alpha, const ct_tensor *a, const ct_tensor *b, double beta,
                       ct_tensor *c);
ct_status ct__cpu_syrk(ct_device *dev, double alpha, const ct_tensor *a, double beta, ct_tensor *c);
ct_status ct__cpu_potrf(ct_device *dev, ct_tensor *a, ct_failure *failure);
ct_status ct__cpu_potrf_lower(ct_device *dev, int64_t first, ct_tensor *a, ct_failure *failure);
ct_status ct__cpu_trtri(ct_device *dev, ct_tensor *a);
ct_status ct__cpu_lauum(ct_device *dev, ct_tensor *a);
ct_status ct__cpu_packed_sweep(ct_device *dev, int64_t n, bool inverse, ct_tensor *A, ct_tensor *z,
                               ct_tensor *diagonal, ct_failure *failure);
ct_status ct__cpu_potri(ct_device *dev, const ct_tensor *a, ct_tensor *out, ct_failure *failure);
ct_status ct__cpu_getrf(ct_device *dev, const ct_tensor *a, ct_tensor *lu, ct_tensor *order,
                        ct_failure *failure);
ct_status ct__cpu_getri(ct_device *dev, const ct_tensor *a, ct_tensor *out, ct_failure *failure);
ct_status ct__cpu_inverse_bar(ct_device *dev, bool symmetric, const ct_tensor *p, const ct_tensor *g,
                              ct_tensor *out);
ct_status ct__cpu_lu_det(ct_device *dev, const ct_tensor *a, ct_tensor *log_abs, ct_tensor *sign,
                         ct_failure *failure);
ct_status ct__cpu_permute_rows(ct_device *dev, const ct_tensor *x, const ct_tensor *order, bool back,
                               ct_tensor *out);
ct_status ct__cpu_trsm(ct_device *dev, unsigned flags, double alpha, const ct_tensor *t, ct_tensor *b);
ct_status ct__cpu_trmm(ct_device *dev, unsigned flags, double alpha, const ct_tensor *t, ct_tensor *b);
ct_status ct__cpu_triangle(ct_device *dev, const ct_tensor *x, bool upper, int64_t k, ct_tensor *out);
ct_status ct__cpu_qr(ct_device *dev, double rank_tolerance, ct_tensor *a, ct_tensor *tau,
                     ct_failure *failure);
ct_status ct__cpu_qr_mul(ct_device *dev, bool trans, const ct_tensor *a, const ct_tensor *tau, ct_tensor *c);
ct_status ct__cpu_tri_rcond(ct_device *dev, const ct_tensor *r, ct_tensor *out);

#endif
