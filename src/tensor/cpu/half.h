/* bf16 and f16 on the CPU: rows of them to and from f32, and what is computed in f32 on tiles of them. */
#ifndef CT_TENSOR_CPU_HALF_H
#define CT_TENSOR_CPU_HALF_H

#include "batch.h"
#include "kernel/kit.h"
#include "tensor/half.h"

/* y = x for n elements side by side, in the vectors of an instruction set (kernel/isa.h); the bits are those
 * of tensor/half.h. */
void ct__widen(int isa, ct_dtype from, int64_t n, const uint16_t *x, float *y);
void ct__narrow(int isa, ct_dtype to, int64_t n, const float *x, uint16_t *y);

/* y (row-major, ld) = x (rows x cols, strides rs and cs), or the other way round. */
void ct__widen_tile(int isa, ct_dtype from, int64_t rows, int64_t cols, const uint16_t *x, int64_t rs,
                    int64_t cs, float *y, int64_t ld);
void ct__narrow_tile(int isa, ct_dtype to, int64_t rows, int64_t cols, const float *x, int64_t ld,
                     uint16_t *y, int64_t rs, int64_t cs);

/* gemm for a job of bf16 or f16: sums in f32, each rounded once. */
ct_status ct__half_gemm(const ct__job *job);

/* Whether the CPU has AMX's products of bf16, and whether the kernel lets this process use them, for which it
 * must be asked. */
bool ct__has_amx(void);
bool ct__ask_for_amx(void);

/* C = or += A B of bf16 or f16, C in f32 and k at most 256, by the CPU's dot products of bf16: returns how
 * many of its columns are done. The others are left as they were: all of them where the CPU has none, the
 * product is too small or A has a subnormal (in f16 an infinity or a NaN), and those from where on one could
 * matter. amx: AMX is granted, and is used where 32 divides k; f16 is only computed where it is used. B goes
 * on below for `more` rows, the next call's, which are asked for in time. strips: room for m (k + 1) / 2
 * words, in f16 for twice as many, m rounded up to 16. */
int64_t ct__bf16_multiply(int isa, bool amx, ct_dtype dtype, const ct__product *q, int64_t more,
                          uint32_t *strips);

#endif
