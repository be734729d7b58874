/* Elementary functions without branches, tables or calls, so that a loop over them vectorises. `fused` is a
 * compile-time constant: whether the instruction set at hand has a fused multiply-add. Polynomials:
 * interpolation at Chebyshev's nodes. Errors, over the whole range (tests/tensor/test_vmath.c): below 1 ulp
 * for exp, 2 ulp for the others. */
#ifndef CT_TENSOR_VMATH_H
#define CT_TENSOR_VMATH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tensor/half.h"

#if defined(__GNUC__)
#    define CT__INLINE static inline __attribute__((always_inline, unused))
#else
#    define CT__INLINE static inline
#endif

/* a b + c */
CT__INLINE double ct__mad(double a, double b, double c, bool fused)
{
    return fused ? __builtin_fma(a, b, c) : a * b + c;
}

CT__INLINE float ct__madf(float a, float b, float c, bool fused)
{
    return fused ? __builtin_fmaf(a, b, c) : a * b + c;
}

CT__INLINE uint64_t ct__bits(double x)
{
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

CT__INLINE double ct__from_bits(uint64_t b)
{
    double x;
    memcpy(&x, &b, sizeof x);
    return x;
}

/* Adding this leaves the nearest integer in the low bits of a number below 2^51 (2^22) in size. */
#define CT__ROUND  0x1.8p52
#define CT__ROUNDF 0x1.8p23f

/* e^x = 2^n e^r with n = [x / log 2], r = high - low, |r| <= log(2)/2, high exact; e^r = 1 + r + r² p(r). 2^n
 * is applied in two steps, the second of which rounds where the result is subnormal, and overflows. */
CT__INLINE double ct__exp(double x, bool fused)
{
    double c = x < -746 ? -746 : x > 710 ? 710 : x;
    double shifted = ct__mad(c, 0x1.71547652b82fep+0, CT__ROUND, fused), n = shifted - CT__ROUND;
    double high = ct__mad(n, -0x1.62e42fee00000p-1, c, fused), low = n * 0x1.a39ef35793c76p-33,
           r = high - low;
    double p = 0x1.1f6717774d5e0p-29;
    p = ct__mad(p, r, 0x1.af390ba7e6f47p-26, fused);
    p = ct__mad(p, r, 0x1.27e4e1dcf773bp-22, fused);
    p = ct__mad(p, r, 0x1.71de0d85293b8p-19, fused);
    p = ct__mad(p, r, 0x1.a01a01a48116fp-16, fused);
    p = ct__mad(p, r, 0x1.a01a01a7cebcdp-13, fused);
    p = ct__mad(p, r, 0x1.6c16c16c167dap-10, fused);
    p = ct__mad(p, r, 0x1.11111111109a6p-7, fused);
    p = ct__mad(p, r, 0x1.5555555555555p-5, fused);
    p = ct__mad(p, r, 0x1.5555555555556p-3, fused);
    p = ct__mad(p, r, 0.5, fused);
    double y = 1 + (high + ct__mad(p, r * r, -low, fused));
    uint64_t whole = ct__bits(shifted), half = ct__bits(ct__mad(n, 0.5, CT__ROUND, fused));
    return y * ct__from_bits((half + 1023) << 52) * ct__from_bits((whole - half + 1023) << 52);
}

CT__INLINE float ct__expf(float x, bool fused)
{
    float c = x < -104 ? -104 : x > 89 ? 89 : x;
    float shifted = ct__madf(c, 0x1.715476p+0f, CT__ROUNDF, fused), n = shifted - CT__ROUNDF;
    float high = ct__madf(n, -0x1.62e4p-1f, c, fused), low = n * 0x1.7f7d1cp-20f, r = high - low;
    float p = 0x1.a0f8d4p-13f;
    p = ct__madf(p, r, 0x1.6d117cp-10f, fused);
    p = ct__madf(p, r, 0x1.1110f6p-7f, fused);
    p = ct__madf(p, r, 0x1.555518p-5f, fused);
    p = ct__madf(p, r, 0x1.555556p-3f, fused);
    p = ct__madf(p, r, 0.5f, fused);
    float y = 1 + (high + ct__madf(p, r * r, -low, fused));
    uint32_t whole = ct__bits32(shifted), half = ct__bits32(ct__madf(n, 0.5f, CT__ROUNDF, fused));
    return y * ct__of_bits32((half + 127) << 23) * ct__of_bits32((whole - half + 127) << 23);
}

/* log(1 + x) for x >= 0. With u = 1 + x = 2^k (1 + f), 1 + f in [√½, √2), and the rounding error c of u:
 * k log 2 + c/u + log(1 + f), log(1 + f) = f - f²/2 + t (f²/2 + R(t²)), t = f / (2 + f). */
CT__INLINE double ct__log1p(double x, bool fused)
{
    double u = 1 + x, c = x < 1 ? x - (u - 1) : 1 - (u - x);
    uint64_t shifted = ct__bits(u) + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
    double k = ct__from_bits((shifted >> 52) | 0x4330000000000000) - (0x1p52 + 1023);
    double f = ct__from_bits((shifted & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd) - 1;
    double t = f / (2 + f), z = t * t, h = 0.5 * f * f;
    double p = 0x1.2b6688a387e03p-3;
    p = ct__mad(p, z, 0x1.39fd392179a95p-3, fused);
    p = ct__mad(p, z, 0x1.7462bd8f7796ep-3, fused);
    p = ct__mad(p, z, 0x1.c71c62c639fdep-3, fused);
    p = ct__mad(p, z, 0x1.2492492e09d4dp-2, fused);
    p = ct__mad(p, z, 0x1.9999999995204p-2, fused);
    p = ct__mad(p, z, 0x1.5555555555558p-1, fused);
    double low = ct__mad(k, 0x1.a39ef35793c76p-33, c / u, fused);
    double y = k * 0x1.62e42fee00000p-1 + (f - (h - (t * (h + z * p) + low)));
    return u <= 0x1.fffffffffffffp1023 ? y : u;
}

CT__INLINE float ct__log1pf(float x, bool fused)
{
    float u = 1 + x, c = x < 1 ? x - (u - 1) : 1 - (u - x);
    uint32_t shifted = ct__bits32(u) + (0x3f800000 - 0x3f3504f3);
    float k = ct__of_bits32((shifted >> 23) | 0x4b000000) - (0x1p23f + 127);
    float f = ct__of_bits32((shifted & 0x007fffff) + 0x3f3504f3) - 1;
    float t = f / (2 + f), z = t * t, h = 0.5f * f * f;
    float p = 0x1.2eeb8p-2f;
    p = ct__madf(p, z, 0x1.997c12p-2f, fused);
    p = ct__madf(p, z, 0x1.55555cp-1f, fused);
    float low = ct__madf(k, 0x1.7f7d1cp-20f, c / u, fused);
    float y = k * 0x1.62e4p-1f + (f - (h - (t * (h + z * p) + low)));
    return u <= 0x1.fffffep127f ? y : u;
}

/* sin πt and cos πt for 0 <= t <= ½ */
CT__INLINE void ct__sincospi(double t, double *sine, double *cosine, bool fused)
{
    double q = t > 0.25 ? 0.5 - t : t, z = q * q;
    double s = -0x1.6cc4ba0e17542p-16, c = 0x1.1e73c6f085f29p-18;
    s = ct__mad(s, z, 0x1.e8f034b297b67p-12, fused);
    s = ct__mad(s, z, -0x1.e3074d23fe4ddp-8, fused);
    s = ct__mad(s, z, 0x1.50783486f9d12p-4, fused);
    s = ct__mad(s, z, -0x1.32d2cce62b86cp-1, fused);
    s = ct__mad(s, z, 0x1.466bc6775aae1p+1, fused);
    s = ct__mad(s, z, -0x1.4abbce625be53p+2, fused);
    s = ct__mad(q, 0x1.921fb54442d18p+1, q * ct__mad(s, z, 0x1.1a62633145c07p-53, fused), fused);
    c = ct__mad(c, z, -0x1.b6de89a234c47p-14, fused);
    c = ct__mad(c, z, 0x1.f9d38705ffcacp-10, fused);
    c = ct__mad(c, z, -0x1.a6d1f2a085420p-6, fused);
    c = ct__mad(c, z, 0x1.e1f506891ae86p-3, fused);
    c = ct__mad(c, z, -0x1.55d3c7e3cbff7p+0, fused);
    c = ct__mad(c, z, 0x1.03c1f081b5ac4p+2, fused);
    c = ct__mad(c, z, -0x1.3bd3cc9be45dep+2, fused);
    c = ct__mad(c, z, 1, fused);
    *sine = t > 0.25 ? c : s;
    *cosine = t > 0.25 ? s : c;
}

CT__INLINE void ct__sincospif(float t, float *sine, float *cosine, bool fused)
{
    float q = t > 0.25f ? 0.5f - t : t, z = q * q;
    float s = -0x1.2ee6bcp-1f, c = 0x1.db62e6p-3f;
    s = ct__madf(s, z, 0x1.4665e6p+1f, fused);
    s = ct__madf(s, z, -0x1.4abbccp+2f, fused);
    s = ct__madf(q, 0x1.921fb6p+1f, q * ct__madf(s, z, -0x1.777a5cp-24f, fused), fused);
    c = ct__madf(c, z, -0x1.55cb94p+0f, fused);
    c = ct__madf(c, z, 0x1.03c1eap+2f, fused);
    c = ct__madf(c, z, -0x1.3bd3ccp+2f, fused);
    c = ct__madf(c, z, 1, fused);
    *sine = t > 0.25f ? c : s;
    *cosine = t > 0.25f ? s : c;
}

/* t less the nearest integer; t beyond 2^51 (2^22) turns is taken for an integer. Infinite and NaN give
 * NaN. */
CT__INLINE double ct__turn(double t)
{
    double n = t < 0x1p51 && t > -0x1p51 ? (t + CT__ROUND) - CT__ROUND : t;
    return t - n;
}

CT__INLINE float ct__turnf(float t)
{
    float n = t < 0x1p22f && t > -0x1p22f ? (t + CT__ROUNDF) - CT__ROUNDF : t;
    return t - n;
}

/* sin 2πt, cos 2πt; and sin²πt and sin 2πt at once */
CT__INLINE double ct__cos2pi(double t, bool fused)
{
    double f = ct__turn(t), g = f < 0 ? -2 * f : 2 * f, s, c;
    ct__sincospi(g > 0.5 ? 1 - g : g, &s, &c, fused);
    return g > 0.5 ? -c : c;
}

CT__INLINE double ct__sin2pi(double t, bool fused)
{
    double f = ct__turn(t), g = f < 0 ? -2 * f : 2 * f, s, c;
    ct__sincospi(g > 0.5 ? 1 - g : g, &s, &c, fused);
    return f < 0 ? -s : s;
}

CT__INLINE float ct__cos2pif(float t, bool fused)
{
    float f = ct__turnf(t), g = f < 0 ? -2 * f : 2 * f, s, c;
    ct__sincospif(g > 0.5f ? 1 - g : g, &s, &c, fused);
    return g > 0.5f ? -c : c;
}

CT__INLINE float ct__sin2pif(float t, bool fused)
{
    float f = ct__turnf(t), g = f < 0 ? -2 * f : 2 * f, s, c;
    ct__sincospif(g > 0.5f ? 1 - g : g, &s, &c, fused);
    return f < 0 ? -s : s;
}

CT__INLINE void ct__sine_square(double t, double *square, double *slope, bool fused)
{
    double f = ct__turn(t), g = f < 0 ? -f : f, s, c;
    ct__sincospi(g, &s, &c, fused);
    *square = s * s;
    *slope = f < 0 ? -2 * s * c : 2 * s * c;
}

CT__INLINE void ct__sine_squaref(float t, float *square, float *slope, bool fused)
{
    float f = ct__turnf(t), g = f < 0 ? -f : f, s, c;
    ct__sincospif(g, &s, &c, fused);
    *square = s * s;
    *slope = f < 0 ? -2 * s * c : 2 * s * c;
}

#endif
