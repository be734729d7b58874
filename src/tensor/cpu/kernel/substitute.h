/* Blocked algorithms on triangles, on one thread. Matrices are row-major, and leading dimensions count
 * elements. `work` is a product's workspace (microkernels.h). */
#ifndef CT_TENSOR_CPU_SUBSTITUTE_H
#define CT_TENSOR_CPU_SUBSTITUTE_H

#include "microkernels.h"

/* Where a triangle is split in two, at a tile's border. */
static inline int64_t ct__half(int64_t n) { return (n / 2 + CT__TILE - 1) / CT__TILE * CT__TILE; }

/* X = M⁻¹ X in place, X n x cols. M is a triangle with strides rs and cs, one of which is 1. With `unit` its
 * diagonal counts as ones. Nothing else of M is read. */
void ct__substitute(const ct__microkernels *kernels, bool lower, bool unit, int64_t n, const void *m,
                    int64_t rs, int64_t cs, void *x, int64_t ldx, int64_t cols, void *work);

/* m = T⁻¹, n x n, for the triangle T of a, with strides and `unit` as above. In m's diagonal tiles the other
 * triangle becomes zero. */
void ct__invert_triangle(const ct__microkernels *kernels, bool lower, bool unit, const void *a, int64_t rs,
                         int64_t cs, void *m, int64_t ld, int64_t n, void *work);

/* x = the last `cols` columns of the n x n identity */
void ct__set_identity(ct_dtype dtype, int64_t n, int64_t cols, void *x, int64_t ld);

#endif
