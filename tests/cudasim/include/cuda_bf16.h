/* bfloat16: the upper half of a float. Conversions to it round to nearest, ties to even. */
#ifndef CUDASIM_CUDA_BF16_H
#define CUDASIM_CUDA_BF16_H

#include "cudasim_half.h"

inline uint16_t cudasim_bf16_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    return x != x ? 0x7fff : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

inline float cudasim_bf16_value(uint16_t bits)
{
    uint32_t u = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &u, 4);
    return x;
}

typedef cudasim_half<cudasim_bf16_bits, cudasim_bf16_value> __nv_bfloat16;

static inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
static inline float __bfloat162float(__nv_bfloat16 h) { return h; }

#endif
