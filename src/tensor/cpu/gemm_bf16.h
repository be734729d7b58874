/* Products of bf16 and f16 tiles by the CPU's bf16 dot products. */
#ifndef CT_TENSOR_CPU_GEMM_BF16_H
#define CT_TENSOR_CPU_GEMM_BF16_H

#include "kernel/microkernels.h"

/* A product C = or += A B for the CPU's bf16 dot products: bf16 or f16 A and B, f32 C, and k at most 256. */
typedef struct ct__dots {
    int isa;
    bool amx; /* AMX is granted; it is used if 32 divides k, and f16 is computed only with it */
    ct_dtype dtype;
    ct__product f32; /* with A and B of the dtype */
    int64_t more;    /* rows of B below these, for the next call; they are prefetched */
    uint16_t *C;     /* if not NULL, A B, rounded, goes here, and f32.c is not used */
    int64_t ldC;
    const uint16_t *D; /* if not NULL, C is A B + D */
    int64_t ldD;
    uint32_t *strips; /* workspace of m (k + 1) / 2 words, twice as many for f16, with m rounded up to 16 */
} ct__dots;

/* Returns the number of leading columns that it has computed; it leaves the others unchanged. It computes
 * none if the CPU lacks the instructions, the product is too small, or A has a subnormal (for f16: an
 * infinity or NaN). It stops at the first panel of B in which a subnormal could matter. */
int64_t ct__bf16_multiply(const ct__dots *dots);

#endif
