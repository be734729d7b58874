/* Conversion of single numbers to and from bfloat16 and IEEE binary16. To f32 it is exact; from wider types
 * it rounds to the nearest, ties to even. A number that is too large becomes infinite. A NaN becomes a quiet
 * NaN. The loops of cpu/half.c give the same bits. */
#ifndef CT_TENSOR_HALF_H
#define CT_TENSOR_HALF_H

#include <stdint.h>
#include <string.h>

#include <cotangent/tensor.h>

static inline uint32_t ct__bits32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float ct__of_bits32(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* A bf16 is the upper half of an f32. */
static inline float ct__from_bf16(uint16_t h) { return ct__of_bits32((uint32_t)h << 16); }

static inline uint16_t ct__to_bf16(float x)
{
    const uint32_t u = ct__bits32(x), nan = u >> 16 | 0x40, rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

/* 1 sign bit, 5 exponent bits (bias 15, where f32 has 127), 10 fraction bits. */
static inline float ct__from_f16(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = (uint32_t)(h & 0x7fff) << 13;
    const uint32_t tiny = ct__bits32((float)(h & 0x3ff) * 0x1p-24f); /* a subnormal is a multiple of 2^-24 */
    const uint32_t quiet = rest > 0x0f800000 ? 0x400000 : 0;
    const uint32_t large = (rest & 0x7fffff) | 0x7f800000 | quiet;
    return ct__of_bits32(sign | (rest < 0x800000 ? tiny : rest >= 0x0f800000 ? large : rest + (112u << 23)));
}

static inline uint16_t ct__to_f16(float x)
{
    const uint32_t u = ct__bits32(x), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
    const uint32_t nan = 0x7e00 | (a >> 13 & 0x3ff);
    const uint32_t tiny =
        ct__bits32(ct__of_bits32(a) + 0.5f) - 0x3f000000; /* the last bit of 0.5 + x is 2^-24 */
    const uint32_t rounded = (a + 0xfff + (a >> 13 & 1) - (112u << 23)) >> 13;
    const uint32_t magnitude = a > 0x7f800000    ? nan
                               : a >= 0x477ff000 ? 0x7c00 /* 65520: halfway from the largest to infinity */
                               : a < 0x38800000  ? tiny
                                                 : rounded;
    return (uint16_t)(sign | magnitude);
}

/* Rounds to odd: x itself if it is a float, else the neighbouring float whose last bit is 1. Rounding the
 * result to fewer bits then gives the same as rounding x. */
static inline float ct__odd_f32(double x)
{
    const float y = (float)x;
    const uint32_t u = ct__bits32(y);
    if ((double)y == x || x != x || u & 1) return y;
    return ct__of_bits32((x < 0 ? -x : x) > (double)(y < 0 ? -y : y) ? u + 1 : u - 1);
}

static inline double ct__odd_f64(int64_t x)
{
    const int64_t low = 0x7ff, exact = (int64_t)1 << 53;
    if (-exact <= x && x <= exact) return (double)x;
    return (double)((x & ~low) | (x & low ? low + 1 : 0));
}

/* The number that an element of the dtype, bf16 or f16, holds. */
static inline float ct__from_half(ct_dtype dtype, uint16_t h)
{
    return dtype == CT_BF16 ? ct__from_bf16(h) : ct__from_f16(h);
}

static inline uint16_t ct__to_half(ct_dtype dtype, float x)
{
    return dtype == CT_BF16 ? ct__to_bf16(x) : ct__to_f16(x);
}

#endif
