/* Elementary functions without branches, tables or calls, so that a loop over them vectorises; those of f32
 * are in vmath_f32.h. `fused` is a compile-time constant: whether the instruction set has a fused
 * multiply-add. The polynomials interpolate at Chebyshev nodes. Errors over the whole range are below 1 ulp
 * for exp, log and sine, and below 3 for the others (tests/tensor/test_vmath.c, test_cpu_isa.c). */
#ifndef CT_TENSOR_VMATH_H
#define CT_TENSOR_VMATH_H

#include <cotangent/maps.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tensor/half.h"

#if defined(CT__ONE_COPY) /* of each function, so that coverage counts its branches once */
#    define CT__INLINE static __attribute__((noinline, unused))
#elif defined(__GNUC__)
#    define CT__INLINE static inline __attribute__((always_inline, unused))
#else
#    define CT__INLINE static inline
#endif
/* A function of one operation. Coverage does not count it: the count would take most of the time. */
#if defined(CT__ONE_COPY)
#    define CT__OPERATION static inline __attribute__((always_inline, unused, no_profile_instrument_function))
#else
#    define CT__OPERATION CT__INLINE
#endif

/* For f64 and f32: a b + c; c_0 x^(n-1) + ... + c_(n-1) by Horner's rule, for a constant n. */
#define CT__BASICS(T, f)                                                                        \
    CT__OPERATION T ct__mad##f(T a, T b, T c, bool fused)                                       \
    {                                                                                           \
        return fused ? __builtin_fma##f(a, b, c) : a * b + c;                                   \
    }                                                                                           \
    CT__OPERATION T ct__horner##f(const int n, const T *c, T x, bool fused)                     \
    {                                                                                           \
        T p = c[0];                                                                             \
        _Pragma("GCC unroll 16") for (int i = 1; i < n; i++) p = ct__mad##f(p, x, c[i], fused); \
        return p;                                                                               \
    }
CT__BASICS(double, )
CT__BASICS(float, f)

CT__OPERATION uint64_t ct__bits(double x)
{
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

CT__OPERATION double ct__from_bits(uint64_t b)
{
    double x;
    memcpy(&x, &b, sizeof x);
    return x;
}

/* Adding this leaves the nearest integer in the low bits of a number below 2^51 (2^22) in size. */
#define CT__ROUND  0x1.8p52
#define CT__ROUNDF 0x1.8p23f

/* e^x = 2^n (1 + p) with n = [x / log 2], r = high - low, |r| <= log(2)/2, high exact, p = r + r² P(r).
 * Returns p. 2^n is first * second: only the second factor can overflow, or round to a subnormal. */
CT__INLINE double ct__exp_parts(double x, double *first, double *second, bool fused)
{
    static const double P[] = { 0x1.1f6717774d5e0p-29,
                                0x1.af390ba7e6f47p-26,
                                0x1.27e4e1dcf773bp-22,
                                0x1.71de0d85293b8p-19,
                                0x1.a01a01a48116fp-16,
                                0x1.a01a01a7cebcdp-13,
                                0x1.6c16c16c167dap-10,
                                0x1.11111111109a6p-7,
                                0x1.5555555555555p-5,
                                0x1.5555555555556p-3,
                                0.5 };
    double c = x < -746 ? -746 : x > 710 ? 710 : x;
    double shifted = ct__mad(c, 0x1.71547652b82fep+0, CT__ROUND, fused), n = shifted - CT__ROUND;
    double high = ct__mad(n, -0x1.62e42fee00000p-1, c, fused), low = n * 0x1.a39ef35793c76p-33,
           r = high - low;
    uint64_t whole = ct__bits(shifted), half = ct__bits(ct__mad(n, 0.5, CT__ROUND, fused));
    *first = ct__from_bits((half + 1023) << 52);
    *second = ct__from_bits((whole - half + 1023) << 52);
    return high + ct__mad(ct__horner(11, P, r, fused), r * r, -low, fused);
}

CT__INLINE double ct__exp(double x, bool fused)
{
    double first, second, p = ct__exp_parts(x, &first, &second, fused);
    return (1 + p) * first * second;
}

/* e^x - 1 = 2^n p + (2^n - 1) */
CT__INLINE double ct__expm1(double x, bool fused)
{
    double first, second, p = ct__exp_parts(x, &first, &second, fused);
    double inverse = ct__from_bits(0x7fe0000000000000 - ct__bits(second));
    return x == 0 ? x : (p * first + (first - inverse)) * second;
}

/* log u + low for u > 0: u = 2^k (1 + f) with 1 + f in [√½, √2), log u = k log 2 + log(1 + f),
 * log(1 + f) = f - f²/2 + t (f²/2 + t² R(t²)), t = f / (2 + f). log 0 is -∞; the log of u < 0 is NaN. `more`
 * is added to k. */
CT__INLINE double ct__log_parts(double u, double more, double low, bool fused)
{
    static const double R[] = { 0x1.2b6688a387e03p-3, 0x1.39fd392179a95p-3, 0x1.7462bd8f7796ep-3,
                                0x1.c71c62c639fdep-3, 0x1.2492492e09d4dp-2, 0x1.9999999995204p-2,
                                0x1.5555555555558p-1 };
    uint64_t shifted = ct__bits(u) + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
    double k = ct__from_bits((shifted >> 52) | 0x4330000000000000) - (0x1p52 + 1023) + more;
    double f = ct__from_bits((shifted & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd) - 1;
    double t = f / (2 + f), z = t * t, h = 0.5 * f * f;
    double tail = ct__mad(k, 0x1.a39ef35793c76p-33, low, fused);
    double y = k * 0x1.62e42fee00000p-1 + (f - (h - (t * (h + z * ct__horner(7, R, z, fused)) + tail)));
    return u > 0 ? (u <= 0x1.fffffffffffffp1023 ? y : u) : u == 0 ? -__builtin_inf() : __builtin_nan("");
}

CT__INLINE double ct__log(double x, bool fused)
{
    bool subnormal = x < 0x1p-1022;
    return ct__log_parts(subnormal ? x * 0x1p54 : x, subnormal ? -54 : 0, 0, fused);
}

/* log(1 + x) = log u + c/u with u = 1 + x and its rounding error c */
CT__INLINE double ct__log1p(double x, bool fused)
{
    double u = 1 + x, c = x < 1 ? x - (u - 1) : 1 - (u - x), y = ct__log_parts(u, 0, c / u, fused);
    return x == 0 ? x : y;
}

/* -m / (2 + m) with m = e^(-2|x|) - 1, and the sign of x */
CT__INLINE double ct__tanh(double x, bool fused)
{
    double m = ct__expm1(-2 * __builtin_fabs(x), fused);
    return __builtin_copysign(-m / (2 + m), x);
}

/* e^(-x²) = e^-s (1 - r), where s + r is x² exactly: without r the error would be x²/2 units. By halves of x
 * [Dekker 1971] if there is no fused multiply-add. */
CT__INLINE double ct__gaussian(double x, bool fused)
{
    double a = x > CT_GAUSSIAN_FAR || x < -CT_GAUSSIAN_FAR ? CT_GAUSSIAN_FAR : x, s = a * a;
    double up = a * 0x8000001p0, high = up - (up - a), low = a - high;
    double r = fused ? __builtin_fma(a, a, -s) : low * low - ((s - high * high) - 2 * high * low);
    double y = ct__exp(-s, fused);
    return y - y * r;
}

CT__INLINE double ct__sigmoid(double x, bool fused)
{
    double e = ct__exp(-__builtin_fabs(x), fused);
    return (x < 0 ? e : 1) / (1 + e);
}

/* 1 / cosh² x = 4e / (1 + e)² with e = e^-2|x| */
CT__INLINE double ct__sech2(double x, bool fused)
{
    double e = ct__exp(-2 * __builtin_fabs(x), fused);
    return 4 * e / ((1 + e) * (1 + e));
}

CT__INLINE double ct__softplus(double x, bool fused)
{
    return (x > 0 ? x : 0) + ct__log1p(ct__exp(-__builtin_fabs(x), fused), fused);
}

/* x + x E(x²) for |x| < 1; else 1 - e^(-x²) G(t), t = (|x| - 5/2) / (|x| + 5/2), and the sign of x. From
 * |x| = 6 on it is 1. */
CT__INLINE double ct__erf(double x, bool fused)
{
    static const double E[] = { 0x1.05ffd737fb32ep-34,  -0x1.389d4f2641625p-30, 0x1.f7b4bf3b13964p-27,
                                -0x1.5f1ecb6f0764cp-23, 0x1.b9df224ca4b97p-20,  -0x1.f4d1e3183f7aep-17,
                                0x1.f9a321d5b8e1ep-14,  -0x1.c02db3dac435fp-11, 0x1.565bcd0dbaa38p-8,
                                -0x1.b82ce31284e00p-6,  0x1.ce2f21a042b30p-4,   -0x1.812746b0379e6p-2,
                                0x1.06eba8214db69p-3 };
    static const double G[] = { -0x1.aa2d5ed17d342p-20, -0x1.2bb032d568ee0p-19, 0x1.f74c7792ffaecp-18,
                                0x1.38006c5e8491ep-16,  -0x1.1eafcc284801bp-15, -0x1.0e4525f30bfc3p-13,
                                0x1.def28f2749997p-13,  0x1.cb3b5c1d1aec7p-11,  -0x1.5a5716b1b771fp-9,
                                -0x1.05bb2fdf6af31p-8,  0x1.470ba1f67a1a9p-5,   -0x1.0011543717910p-3,
                                0x1.01c11a735cd90p-2,   -0x1.7ca88dec2179fp-2,  0x1.afbb3f3b7343bp-3 };
    double a = __builtin_fabs(x), far = a > 6 ? 6 : a, t = (far - 2.5) / (far + 2.5);
    double small = ct__mad(x, ct__horner(13, E, x * x, fused), x, fused);
    double large = 1 - ct__exp(-far * far, fused) * ct__horner(15, G, t, fused);
    return a < 1 ? small : __builtin_copysign(large, x);
}

/* The largest |x| of ct__sine. */
#define CT__SINE_MOST 0x1p20

/* sin(x + quarters π/2): x = n π/2 + r + low, and sin or cos of r from polynomials in r². π/2 is a sum of
 * three parts; n times the first or the second is exact. [Cody & Waite 1980, "Software manual for the
 * elementary functions"] */
CT__INLINE double ct__sine(double x, int quarters, bool fused)
{
    static const double S[] = { -0x1.ab17bdcbd3414p-41, 0x1.61217ee5cca1bp-33,  -0x1.ae64541295cdfp-26,
                                0x1.71de3a54607a5p-19,  -0x1.a01a01a019937p-13, 0x1.1111111111110p-7,
                                -0x1.5555555555555p-3 };
    static const double C[] = { -0x1.907d8f29fe831p-37, 0x1.1eeb68cd22f56p-29,  -0x1.27e4fa17bf139p-22,
                                0x1.a01a019f4e9b4p-16,  -0x1.6c16c16c16967p-10, 0x1.5555555555555p-5 };
    double shifted = ct__mad(x, 0x1.45f306dc9c883p-1, CT__ROUND, fused), n = shifted - CT__ROUND;
    uint64_t quadrant = ct__bits(shifted) + (uint64_t)quarters;
    double first = x - n * 0x1.921fb54400000p+0, second = n * 0x1.0b4611a600000p-34, close = first - second;
    double rest = n * 0x1.3198a2e037073p-69 - ((first - close) - second);
    double r = close - rest, low = (close - r) - rest, z = r * r, h = 0.5 * z, w = 1 - h;
    double s = r + ct__mad(r * z, ct__horner(7, S, z, fused), low - h * low, fused);
    double c = w + (((1 - w) - h) + ct__mad(z * z, ct__horner(6, C, z, fused), -r * low, fused));
    double y = ct__from_bits(ct__bits(quadrant & 1 ? c : s) ^ (quadrant & 2) << 62);
    return x == 0 && quarters == 0 ? x : y;
}

/* sin πt and cos πt for 0 <= t <= ½, from polynomials in t² on [0, ¼] */
CT__INLINE void ct__sincospi(double t, double *sine, double *cosine, bool fused)
{
    static const double s[] = { -0x1.6cc4ba0e17542p-16, 0x1.e8f034b297b67p-12, -0x1.e3074d23fe4ddp-8,
                                0x1.50783486f9d12p-4,   -0x1.32d2cce62b86cp-1, 0x1.466bc6775aae1p+1,
                                -0x1.4abbce625be53p+2,  0x1.1a62633145c07p-53 };
    static const double c[] = { 0x1.1e73c6f085f29p-18, -0x1.b6de89a234c47p-14, 0x1.f9d38705ffcacp-10,
                                -0x1.a6d1f2a085420p-6, 0x1.e1f506891ae86p-3,   -0x1.55d3c7e3cbff7p+0,
                                0x1.03c1f081b5ac4p+2,  -0x1.3bd3cc9be45dep+2,  1 };
    double q = t > 0.25 ? 0.5 - t : t, z = q * q;
    double sq = ct__mad(q, 0x1.921fb54442d18p+1, q * ct__horner(8, s, z, fused), fused);
    double cq = ct__horner(9, c, z, fused);
    *sine = t > 0.25 ? cq : sq;
    *cosine = t > 0.25 ? sq : cq;
}

CT__INLINE void ct__sincospif(float t, float *sine, float *cosine, bool fused)
{
    static const float s[] = { -0x1.2ee6bcp-1f, 0x1.4665e6p+1f, -0x1.4abbccp+2f, -0x1.777a5cp-24f };
    static const float c[] = { 0x1.db62e6p-3f, -0x1.55cb94p+0f, 0x1.03c1eap+2f, -0x1.3bd3ccp+2f, 1 };
    float q = t > 0.25f ? 0.5f - t : t, z = q * q;
    float sq = ct__madf(q, 0x1.921fb6p+1f, q * ct__hornerf(4, s, z, fused), fused);
    float cq = ct__hornerf(5, c, z, fused);
    *sine = t > 0.25f ? cq : sq;
    *cosine = t > 0.25f ? sq : cq;
}

/* For f64 and f32: t minus the nearest integer (a |t| >= `whole` counts as an integer; infinity and NaN give
 * NaN); cos 2πt; sin 2πt; sin²πt and sin 2πt together. */
#define CT__PERIODIC(T, f, whole)                                               \
    CT__INLINE T ct__turn##f(T t)                                               \
    {                                                                           \
        return t - (t < whole && t > -whole ? (t + 3 * whole) - 3 * whole : t); \
    }                                                                           \
    CT__INLINE T ct__cos2pi##f(T t, bool fused)                                 \
    {                                                                           \
        T r = ct__turn##f(t), g = r < 0 ? -2 * r : 2 * r, s, c;                 \
        ct__sincospi##f(g > (T)0.5 ? 1 - g : g, &s, &c, fused);                 \
        return g > (T)0.5 ? -c : c;                                             \
    }                                                                           \
    CT__INLINE T ct__sin2pi##f(T t, bool fused)                                 \
    {                                                                           \
        T r = ct__turn##f(t), g = r < 0 ? -2 * r : 2 * r, s, c;                 \
        ct__sincospi##f(g > (T)0.5 ? 1 - g : g, &s, &c, fused);                 \
        return r < 0 ? -s : s;                                                  \
    }                                                                           \
    CT__INLINE void ct__sine_square##f(T t, T *square, T *slope, bool fused)    \
    {                                                                           \
        T r = ct__turn##f(t), s, c;                                             \
        ct__sincospi##f(r < 0 ? -r : r, &s, &c, fused);                         \
        *square = s * s;                                                        \
        *slope = r < 0 ? -2 * s * c : 2 * s * c;                                \
    }
CT__PERIODIC(double, , 0x1p51)
CT__PERIODIC(float, f, 0x1p22f)

#endif
