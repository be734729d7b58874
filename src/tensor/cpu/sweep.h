/* The sweep of a square matrix. */
#ifndef CT_TENSOR_CPU_SWEEP_H
#define CT_TENSOR_CPU_SWEEP_H

#include "tensor/internal.h"

/* Replaces the lower triangle of a (n x n, row-major) by its Cholesky factor, with all threads. Returns the
 * failing minor, or 0. memory: ct__sweep_memory bytes. */
int64_t ct__sweep_factor(const ct_device *dev, ct_dtype dtype, int64_t n, void *a, int64_t ld, void *memory);
size_t ct__sweep_memory(const ct_device *dev, ct_dtype dtype, int64_t n, int64_t ld);

#endif
