/* IEEE binary16. Conversions to it round to nearest, ties to even. */
#ifndef CUDASIM_CUDA_FP16_H
#define CUDASIM_CUDA_FP16_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define __float2half cudasim_to_half
#define __half2float cudasim_from_half

struct __half;
static inline __half cudasim_to_half(float x);
static inline float cudasim_from_half(__half h);

struct __half {
    uint16_t bits;
    __half() = default;
    __half(float x) { *this = cudasim_to_half(x); }
    __half(double x) { *this = cudasim_to_half((float)x); }
    operator float() const { return cudasim_from_half(*this); }
};
typedef __half half;

/* 2^-24 is the smallest subnormal, 65520 the first value that rounds to infinity. */
static inline __half cudasim_to_half(float x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    float a = fabsf(x);
    __half h;
    if (x != x) {
        h.bits = 0x7fff;
    } else if (a >= 65520) {
        h.bits = (uint16_t)(sign | 0x7c00);
    } else if (a < 0x1p-14f) {
        h.bits = (uint16_t)(sign | (unsigned)rintf(a * 0x1p24f));
    } else {
        int e;
        unsigned m = (unsigned)rintf(frexpf(a, &e) * 2048); /* 1024..2048 */
        h.bits = (uint16_t)(sign | (((unsigned)(e + 14) << 10) + (m - 1024)));
    }
    return h;
}

static inline float cudasim_from_half(__half h)
{
    int e = h.bits >> 10 & 31, m = h.bits & 1023;
    float a = e == 31  ? (m ? NAN : INFINITY)
              : e == 0 ? ldexpf((float)m, -24)
                       : ldexpf((float)(m + 1024), e - 25);
    return h.bits & 0x8000 ? -a : a;
}

#endif
