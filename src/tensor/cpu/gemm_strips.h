/* Products of few rows by the kernels of grouped products. */
#ifndef CT_TENSOR_CPU_GEMM_STRIPS_H
#define CT_TENSOR_CPU_GEMM_STRIPS_H

#include "batch.h"

/* C = A B or C += A B for all members. Requires f64 or f32, alpha = 1, beta 0 or 1, contiguous rows in A and
 * C, and a unit stride in B. */
ct_status ct__strips_run(const ct__job *job);

#endif
