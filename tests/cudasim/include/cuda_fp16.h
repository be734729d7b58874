/* IEEE binary16. Conversions to it round to nearest, ties to even. */
#ifndef CUDASIM_CUDA_FP16_H
#define CUDASIM_CUDA_FP16_H

#include <math.h>

#include "cudasim_half.h"

/* 2^-24 is the smallest subnormal, 65520 the first value that rounds to infinity. */
inline uint16_t cudasim_f16_bits(float x)
{
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    const float a = fabsf(x);
    if (x != x) return 0x7fff;
    if (a >= 65520) return (uint16_t)(sign | 0x7c00);
    if (a < 0x1p-14f) return (uint16_t)(sign | (unsigned)rintf(a * 0x1p24f));
    int e;
    const unsigned m = (unsigned)rintf(frexpf(a, &e) * 2048); /* 1024..2048 */
    return (uint16_t)(sign | (((unsigned)(e + 14) << 10) + (m - 1024)));
}

inline float cudasim_f16_value(uint16_t bits)
{
    const int e = bits >> 10 & 31, m = bits & 1023;
    const float a = e == 31  ? (m ? NAN : INFINITY)
                    : e == 0 ? ldexpf((float)m, -24)
                             : ldexpf((float)(m + 1024), e - 25);
    return bits & 0x8000 ? -a : a;
}

typedef cudasim_half<cudasim_f16_bits, cudasim_f16_value> __half;
typedef __half half;

static inline __half __float2half(float x) { return x; }
static inline float __half2float(__half h) { return h; }

#endif
