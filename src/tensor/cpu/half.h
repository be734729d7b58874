/* Converts rows and tiles between bf16 or f16 and f32. */
#ifndef CT_TENSOR_CPU_HALF_H
#define CT_TENSOR_CPU_HALF_H

#include "tensor/half.h"

/* y = x for n contiguous elements, with the vectors of an instruction set (kernel/isa.h). The result equals
 * that of tensor/half.h to the bit. */
void ct__widen(int isa, ct_dtype from, int64_t n, const uint16_t *x, float *y);
void ct__narrow(int isa, ct_dtype to, int64_t n, const float *x, uint16_t *y);

/* Widens x (rows x cols, strides rs and cs) to y (row-major, leading dimension ld), or narrows the other
 * way. */
void ct__widen_tile(int isa, ct_dtype from, int64_t rows, int64_t cols, const uint16_t *x, int64_t rs,
                    int64_t cs, float *y, int64_t ld);
void ct__narrow_tile(int isa, ct_dtype to, int64_t rows, int64_t cols, const float *x, int64_t ld,
                     uint16_t *y, int64_t rs, int64_t cs);

#endif
