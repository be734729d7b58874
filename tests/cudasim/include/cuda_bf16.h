/* bfloat16: the upper half of a float. Conversions to it round to nearest, ties to even. */
#ifndef CUDASIM_CUDA_BF16_H
#define CUDASIM_CUDA_BF16_H

#include <stdint.h>
#include <string.h>

#define __float2bfloat16 cudasim_to_bf16
#define __bfloat162float cudasim_from_bf16

struct __nv_bfloat16;
static inline __nv_bfloat16 cudasim_to_bf16(float x);
static inline float cudasim_from_bf16(__nv_bfloat16 h);

struct __nv_bfloat16 {
    uint16_t bits;
    __nv_bfloat16() = default;
    __nv_bfloat16(float x) { *this = cudasim_to_bf16(x); }
    __nv_bfloat16(double x) { *this = cudasim_to_bf16((float)x); }
    operator float() const { return cudasim_from_bf16(*this); }
};

static inline __nv_bfloat16 cudasim_to_bf16(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    __nv_bfloat16 h;
    if (x != x)
        h.bits = 0x7fff;
    else
        h.bits = (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
    return h;
}

static inline float cudasim_from_bf16(__nv_bfloat16 h)
{
    uint32_t u = (uint32_t)h.bits << 16;
    float x;
    memcpy(&x, &u, 4);
    return x;
}

#endif
