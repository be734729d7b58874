/* bf16 and f16 on the CPU: rows of them to and from f32, and what is computed in f32 on tiles of them. */
#ifndef CT_TENSOR_CPU_HALF_H
#define CT_TENSOR_CPU_HALF_H

#include "../half.h"
#include "batch.h"

/* y = x for n elements side by side, in the widest vectors that the CPU has; the bits are those of tensor/half.h. */
void ct__widen(ct_dtype from, int64_t n, const uint16_t *x, float *y);
void ct__narrow(ct_dtype to, int64_t n, const float *x, uint16_t *y);

/* y (row-major, ld) = x (rows x cols, strides rs and cs), or the other way round. */
void ct__widen_tile(ct_dtype from, int64_t rows, int64_t cols, const uint16_t *x, int64_t rs, int64_t cs,
                    float *y, int64_t ld);
void ct__narrow_tile(ct_dtype to, int64_t rows, int64_t cols, const float *x, int64_t ld, uint16_t *y,
                     int64_t rs, int64_t cs);

/* gemm for a job of bf16 or f16: sums in f32, each rounded once. */
ct_status ct__half_gemm(const ct__job *job);

#endif
