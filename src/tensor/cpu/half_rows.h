/* The vector code of half.c, for f32 alone. */
#ifndef CT_TENSOR_CPU_HALF_ROWS_H
#define CT_TENSOR_CPU_HALF_ROWS_H

#include "kernel/isa.h"

typedef struct ct__half_rows {
    void (*widen_bf16)(int64_t n, const uint16_t *x, float *y),
        (*widen_f16)(int64_t n, const uint16_t *x, float *y);
    void (*narrow_bf16)(int64_t n, const float *x, uint16_t *y),
        (*narrow_f16)(int64_t n, const float *x, uint16_t *y);
} ct__half_rows;
CT__VARIANTS_OF(ct__half_rows, f32)

#endif
