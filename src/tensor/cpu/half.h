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

/* C (rows x cols) = or += A B of bf16 tiles, at most 256 deep, by the CPU's dot products of bf16. panels: depth * cols words.
 * False, and nothing is done, where the CPU has none, the tile is too small, or a subnormal could matter. */
bool ct__bf16_multiply(int64_t rows, int64_t cols, int64_t depth, const uint16_t *a, int64_t a_rs,
                       int64_t a_cs, const uint16_t *b, int64_t b_rs, int64_t b_cs, uint32_t *panels,
                       bool add, float *c);

#endif
