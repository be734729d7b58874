/* Small triangles: what one block does in its registers. */
#ifndef CT_TENSOR_CUDA_TILE_CUH
#define CT_TENSOR_CUDA_TILE_CUH

#include "batch.cuh"

/* On and below the diagonal, n <= CT__TILE: A = L with A = L Lᵀ, failed[member] `first` and the failing
 * minor; L⁻¹; LᵀL. */
ct_status ct__tile_cholesky(ct_device *dev, const ct__batch *b, const ct__matrix &A, int64_t first,
                            int64_t *failed);
ct_status ct__tile_invert(ct_device *dev, const ct__batch *b, const ct__matrix &L);
ct_status ct__tile_square(ct_device *dev, const ct__batch *b, const ct__matrix &L);
/* B = alpha M⁻¹ B, B = alpha M B for a triangle M of n <= CT__TILE rows and any number of columns of B */
ct_status ct__tile_apply(ct_device *dev, const ct__batch *b, bool solve, bool lower, bool unit, double alpha,
                         const ct__matrix &M, const ct__matrix &B);

/* Where a triangle is cut: whole tiles before the cut. */
static inline int64_t ct__half(int64_t n) { return ct__divide_up(n / 2, CT__TILE) * CT__TILE; }

#endif
