/* The primitives of the CUDA backend: the one header that its C and its CUDA files share. */
#ifndef CT_TENSOR_CUDA_PRIMITIVES_H
#define CT_TENSOR_CUDA_PRIMITIVES_H

#ifdef __cplusplus
extern "C" {
#endif

#include "../internal.h"

ct_status ct__cuda_open(ct_device *dev, int ordinal);
void ct__cuda_close(ct_device *dev);
void *ct__cuda_allocate(ct_device *dev, size_t bytes);
void ct__cuda_release(ct_device *dev, void *data, size_t bytes);
ct_status ct__cuda_upload(ct_device *dev, void *dst, const void *src, size_t bytes);
ct_status ct__cuda_download(ct_device *dev, void *dst, const void *src, size_t bytes);
ct_status ct__cuda_synchronize(ct_device *dev);
ct_status ct__cuda_fill(ct_device *dev, double value, ct_tensor *out);
ct_status ct__cuda_copy(ct_device *dev, const ct_tensor *x, ct_tensor *out);
ct_status ct__cuda_map1(ct_device *dev, ct_map1 f, const double p[2], const ct_tensor *x, ct_tensor *out);
ct_status ct__cuda_map1_bar(ct_device *dev, ct_map1 f, const double p[2], const ct_tensor *x,
                            const ct_tensor *y, const ct_tensor *g, ct_tensor *out);
ct_status ct__cuda_map2(ct_device *dev, ct_map2 f, const ct_tensor *a, const ct_tensor *b, ct_tensor *out);
ct_status ct__cuda_map2_bar(ct_device *dev, ct_map2 f, int side, const ct_tensor *a, const ct_tensor *b,
                            const ct_tensor *g, ct_tensor *out);
ct_status ct__cuda_where(ct_device *dev, const ct_tensor *cond, const ct_tensor *a, const ct_tensor *b,
                         ct_tensor *out);
ct_status ct__cuda_random(ct_device *dev, bool normal, uint64_t seed, uint64_t stream, ct_tensor *out);
ct_status ct__cuda_reduce(ct_device *dev, ct_reduction f, const ct_tensor *x, ct_tensor *out);
ct_status ct__cuda_gather(ct_device *dev, const ct_tensor *x, const ct_tensor *index, ct_tensor *out);
ct_status ct__cuda_scatter_add(ct_device *dev, const ct_tensor *x, const ct_tensor *index, ct_tensor *out);
ct_status ct__cuda_group_by(ct_device *dev, const ct_tensor *index, ct_tensor *groups);
ct_status ct__cuda_grouped_gemm(ct_device *dev, const ct_tensor *A, const ct_tensor *C,
                                const ct_tensor *groups, ct_tensor *out);
ct_status ct__cuda_grouped_gemm_bar(ct_device *dev, const ct_tensor *A, const ct_tensor *C,
                                    const ct_tensor *G, const ct_tensor *groups, ct_tensor *A_bar,
                                    ct_tensor *C_bar);
ct_status ct__cuda_sqdist(ct_device *dev, const ct_tensor *x, const ct_tensor *y, ct_tensor *out);
ct_status ct__cuda_covariance(ct_device *dev, const ct_cov_program *program, const ct_tensor *theta,
                              const ct_tensor *x, const ct_tensor *z, bool lower, ct_tensor *out);
ct_status ct__cuda_covariance_bar(ct_device *dev, const ct_cov_program *program, const ct_tensor *theta,
                                  const ct_tensor *x, const ct_tensor *z, const ct_cov_bar *K_bar, bool add,
                                  ct_tensor *theta_bar, ct_tensor *x_bar);
ct_status ct__cuda_gemm(ct_device *dev, double alpha, const ct_tensor *a, const ct_tensor *b, double beta,
                        ct_tensor *c);
ct_status ct__cuda_syrk(ct_device *dev, double alpha, const ct_tensor *a, double beta, ct_tensor *c);
ct_status ct__cuda_potrf(ct_device *dev, ct_tensor *a, ct_failure *failure);
ct_status ct__cuda_potrf_lower(ct_device *dev, int64_t first, ct_tensor *a, ct_failure *failure);
ct_status ct__cuda_trtri(ct_device *dev, ct_tensor *a);
ct_status ct__cuda_lauum(ct_device *dev, ct_tensor *a);
ct_status ct__cuda_potri(ct_device *dev, const ct_tensor *a, ct_tensor *out, ct_failure *failure);
ct_status ct__cuda_getrf(ct_device *dev, const ct_tensor *a, ct_tensor *lu, ct_tensor *order,
                         ct_failure *failure);
ct_status ct__cuda_getri(ct_device *dev, const ct_tensor *a, ct_tensor *out, ct_failure *failure);
ct_status ct__cuda_inverse_bar(ct_device *dev, bool symmetric, const ct_tensor *p, const ct_tensor *g,
                               ct_tensor *out);
ct_status ct__cuda_lu_det(ct_device *dev, const ct_tensor *a, ct_tensor *log_abs, ct_tensor *sign,
                          ct_failure *failure);
ct_status ct__cuda_permute_rows(ct_device *dev, const ct_tensor *x, const ct_tensor *order, bool back,
                                ct_tensor *out);
ct_status ct__cuda_trsm(ct_device *dev, unsigned flags, double alpha, const ct_tensor *t, ct_tensor *b);
ct_status ct__cuda_trmm(ct_device *dev, unsigned flags, double alpha, const ct_tensor *t, ct_tensor *b);
ct_status ct__cuda_triangle(ct_device *dev, const ct_tensor *x, bool upper, int64_t k, ct_tensor *out);
ct_status ct__cuda_qr(ct_device *dev, double rank_tolerance, ct_tensor *a, ct_tensor *tau,
                      ct_failure *failure);
ct_status ct__cuda_qr_mul(ct_device *dev, bool trans, const ct_tensor *a, const ct_tensor *tau, ct_tensor *c);
ct_status ct__cuda_tri_rcond(ct_device *dev, const ct_tensor *r, ct_tensor *out);

#ifdef __cplusplus
}
#endif

#endif
