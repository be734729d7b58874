/* Products of bf16 or f16 matrices. */
#ifndef CT_TENSOR_CPU_GEMM_HALF_H
#define CT_TENSOR_CPU_GEMM_HALF_H

#include "batch.h"

/* gemm, or affine with D as the fourth matrix, for a job of bf16 or f16. Sums are in f32, and each is rounded
 * once. */
ct_status ct__half_gemm(const ct__job *job);

#endif
