/* The elementary functions of vmath.h in f32. Errors over all 2^32 numbers are at most 1 ulp
 * (tests/tensor/test_floats.c). In P of tanh and E of erf the coefficients were rounded one after the other,
 * from the last on, and those before it were fitted again. */
#ifndef CT_TENSOR_VMATH_F32_H
#define CT_TENSOR_VMATH_F32_H

#include "vmath.h"

/* e^(x + tail) = 2^n (1 + high + p), with first * second = 2^n, as ct__exp_parts. Returns p. Operations that
 * are not fused round more often: then ½ r² is added by itself, and with it what r has lost in rounding,
 * times its slope r. */
CT__INLINE float ct__exp_partsf(float x, float tail, float *high, float *first, float *second, bool fused)
{
    static const float P[] = { 0x1.a0f8d4p-13f, 0x1.6d117cp-10f, 0x1.1110f6p-7f,
                               0x1.555518p-5f,  0x1.555556p-3f,  0.5f };
    float c = x < -106 ? -106 : x > 89 ? 89 : x;
    float shifted = ct__madf(c, 0x1.715476p+0f, CT__ROUNDF, fused), n = shifted - CT__ROUNDF;
    float low = n * 0x1.7f7d1cp-20f - tail, r;
    *high = ct__madf(n, -0x1.62e4p-1f, c, fused);
    r = *high - low;
    uint32_t whole = ct__bits32(shifted), half = ct__bits32(ct__madf(n, 0.5f, CT__ROUNDF, fused));
    *first = ct__of_bits32((half + 127) << 23);
    *second = ct__of_bits32((whole - half + 127) << 23);
    const float square = r * r, rest = 0.5f * square + (r * ((*high - r) - low) - low);
    return fused ? __builtin_fmaf(ct__hornerf(6, P, r, true), square, -low)
                 : square * r * ct__hornerf(5, P, r, false) + rest;
}

/* e^(x + tail) */
CT__INLINE float ct__exp_sumf(float x, float tail, bool fused)
{
    float high, first, second, p = ct__exp_partsf(x, tail, &high, &first, &second, fused);
    return (1 + (high + p)) * first * second;
}

/* scale e^x = y + low for a power of two: y rounded, low what it lost. Returns y. */
CT__INLINE float ct__exp_lowf(float x, float scale, float *low, bool fused)
{
    float high, first, second, p = ct__exp_partsf(x, 0, &high, &first, &second, fused);
    float less_one = high + p, sum = 1 + less_one;
    *low = ((less_one - (sum - 1)) + ((high - less_one) + p)) * (scale * first) * second;
    return sum * (scale * first) * second;
}

/* a b - p for a p near it, exactly [Dekker 1971] */
CT__INLINE float ct__product_restf(float a, float b, float p, bool fused)
{
    float up = a * 0x1001p0f, a_high = up - (up - a), a_low = a - a_high;
    float bp = b * 0x1001p0f, b_high = bp - (bp - b), b_low = b - b_high;
    return fused ? __builtin_fmaf(a, b, -p)
                 : ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

CT__INLINE float ct__expf(float x, bool fused) { return ct__exp_sumf(x, 0, fused); }

/* e^x - 1 = 2^n p + s, s = 2^n - 1 + 2^n high, and the rounding errors of s [Dekker 1971] */
CT__INLINE float ct__expm1f(float x, bool fused)
{
    float high, first, second, p = ct__exp_partsf(x, 0, &high, &first, &second, fused);
    float one = ct__of_bits32(0x7f000000 - ct__bits32(second)), a = first - one, b = first * high, s = a + b;
    float error = (b - (s - a)) + ((first - a) - one);
    return x == 0 ? x : (s + ct__madf(first, p, error, fused)) * second;
}

/* As ct__log_parts. */
CT__INLINE float ct__log_partsf(float u, float more, float low, bool fused)
{
    static const float R[] = { 0x1.2eeb8p-2f, 0x1.997c12p-2f, 0x1.55555cp-1f };
    uint32_t shifted = ct__bits32(u) + (0x3f800000 - 0x3f3504f3);
    float k = ct__of_bits32((shifted >> 23) | 0x4b000000) - (0x1p23f + 127) + more;
    float f = ct__of_bits32((shifted & 0x007fffff) + 0x3f3504f3) - 1;
    float t = f / (2 + f), z = t * t, h = 0.5f * f * f;
    float tail = ct__madf(k, 0x1.7f7d1cp-20f, low, fused);
    float y = k * 0x1.62e4p-1f + (f - (h - (t * (h + z * ct__hornerf(3, R, z, fused)) + tail)));
    return u > 0 ? (u <= 0x1.fffffep127f ? y : u) : u == 0 ? -__builtin_inff() : __builtin_nanf("");
}

CT__INLINE float ct__logf(float x, bool fused)
{
    bool subnormal = x < 0x1p-126f;
    return ct__log_partsf(subnormal ? x * 0x1p25f : x, subnormal ? -25 : 0, 0, fused);
}

CT__INLINE float ct__log1pf(float x, bool fused)
{
    float u = 1 + x, c = x < 1 ? x - (u - 1) : 1 - (u - x), y = ct__log_partsf(u, 0, c / u, fused);
    return x == 0 ? x : y;
}

/* a + a z P(z) with z = a², for a = |x| < 27/32; else 1 - 2 / (1 + e^2a), where e^2a = e + low before it is
 * rounded, and 2 / (d + low) = t - ½ t² low for t = 2 / d. From a = 10 on it is 1. The sign of x. */
CT__INLINE float ct__tanhf(float x, bool fused)
{
    static const float P[] = { 0x1.f5564p-14f, -0x1.b4d302p-11f, 0x1.91c5e2p-9f, -0x1.194358p-7f,
                               0x1.64d3f4p-6f, -0x1.b9f8acp-5f,  0x1.111044p-3f, -0x1.555552p-2f };
    float a = __builtin_fabsf(x), z = a * a;
    float small = ct__madf(a, z * ct__hornerf(8, P, z, fused), a, fused);
    float low, e = ct__exp_lowf(a > 10 ? 20 : 2 * a, 1, &low, fused);
    float t = 2 / (1 + e), y = 1 - t, large = y + (((1 - y) - t) + 0.5f * t * t * low);
    return __builtin_copysignf(a < 0.84375f ? small : large, x);
}

/* e^(-x²) = e^(-s - r), where s + r is x² exactly, as in ct__gaussian */
CT__INLINE float ct__gaussianf(float x, bool fused)
{
    float a = x > CT_GAUSSIAN_FAR || x < -CT_GAUSSIAN_FAR ? CT_GAUSSIAN_FAR : x, s = a * a;
    return ct__exp_sumf(-s, -ct__product_restf(a, a, s, fused), fused);
}

/* With e = e^-|x| and 1 + e = s + c: e / (s + c) for x < 0, else 1 / (s + c), and what the quotient's
 * rounding lost. */
CT__INLINE float ct__sigmoidf(float x, bool fused)
{
    float low, e = ct__exp_lowf(-__builtin_fabsf(x), 1, &low, fused), s = 1 + e, c = (e - (s - 1)) + low;
    float top = x < 0 ? e : 1, y = top / s;
    float rest = ((x < 0 ? low : 0) - y * c) - ct__product_restf(y, s, top, fused);
    return ct__madf(rest, x < 0 ? 1 - y : y, y, fused);
}

/* 4e / (1 + e)² with e = e^-2|x|: 1 + e = s + c, 1 / (s + c) = w + w_low, (w + w_low)² = v + v_low */
CT__INLINE float ct__sech2f(float x, bool fused)
{
    float low, four_e = ct__exp_lowf(-2 * __builtin_fabsf(x), 4, &low, fused), e = 0.25f * four_e;
    float s = 1 + e, c = (e - (s - 1)) + 0.25f * low;
    float w = 1 / s, w_low = -w * (ct__product_restf(w, s, 1, fused) + w * c);
    float v = w * w, v_low = ct__product_restf(w, w, v, fused) + 2 * w * w_low;
    float y = four_e * v;
    return y + (ct__product_restf(four_e, v, y, fused) + (four_e * v_low + low * v));
}

/* max(x, 0) + log(1 + e) with e = e^-|x|: 1 + e = u + c and u = 2^k (1 + f) as in ct__log1pf, where k log 2 +
 * f is exact; or e - e²/2 + e³/3, if e is small beside the rounding of u. From x = 20 on it is x. */
CT__INLINE float ct__softplusf(float x, bool fused)
{
    static const float R[] = { 0x1.2eeb8p-2f, 0x1.997c12p-2f, 0x1.55555cp-1f };
    float e_low, e = ct__exp_lowf(-__builtin_fabsf(x), 1, &e_low, fused), u = 1 + e,
                 c = (e - (u - 1)) + e_low;
    bool upper = u > 0x1.6a09e6p+0f, small = e < 0x1p-10f;
    float f = (upper ? 0.5f * u : u) - 1, t = f / (2 + f), z = t * t, h = 0.5f * f * f;
    float rest = (upper ? 0x1.7f7d1cp-20f : 0) + c / u;
    float tail = (t * (h + z * ct__hornerf(3, R, z, fused)) - h) + rest;
    float tiny = e * e * (e * 0x1.555556p-2f - 0.5f) + e_low;
    float a = small ? e : (upper ? 0x1.62e4p-1f : 0) + f, b = x > 0 ? x : 0, y = a + b, part = y - b;
    float low = (b - (y - part)) + (a - part);
    return x > 20 ? x : y + (low + (small ? tiny : tail));
}

/* a + a E(a²) for a = |x| < c = 27/32; else 1 - erfc(c) e^-(t Q(t)) with t = a - c. From a = 4 on it is 1.
 * The sign of x. */
CT__INLINE float ct__erff(float x, bool fused)
{
    static const float E[] = { 0x1.71944ap-14f, -0x1.afcf4p-11f, 0x1.5554fcp-8f, -0x1.b81b1p-6f,
                               0x1.ce2e8p-4f,   -0x1.812744p-2f, 0x1.06eba8p-3f };
    static const float Q[] = { -0x1.93266cp-20f, 0x1.16fdfap-15f, -0x1.6d1ae8p-12f, 0x1.3389ap-9f,
                               -0x1.818566p-7f,  0x1.8c39d4p-5f,  0x1.a4e6cep-1f,   0x1.30793cp+1f };
    float a = __builtin_fabsf(x), t = (a > 4 ? 4 : a) - 0.84375f;
    float small = ct__madf(a, ct__hornerf(7, E, a * a, fused), a, fused);
    float far = ct__expf(-t * ct__hornerf(8, Q, t, fused), fused);
    return __builtin_copysignf(a < 0.84375f ? small : ct__madf(far, -0x1.dcb8cap-3f, 1, fused), x);
}

/* sin(x + quarters π/2) for |x| <= CT__SINE_MOST, in f64, as ct__sine with shorter polynomials */
CT__INLINE float ct__sinef(float x, int quarters, bool fused)
{
    static const double S[] = { 0x1.6da8eb8e30cdfp-19, -0x1.a01365cb7d412p-13, 0x1.11110dbdfb290p-7,
                                -0x1.5555555449984p-3 };
    static const double C[] = { -0x1.2516355dc2b23p-22, 0x1.a01598916be10p-16, -0x1.6c16bf340de7ep-10,
                                0x1.55555554fbfbfp-5 };
    double shifted = ct__mad(x, 0x1.45f306dc9c883p-1, CT__ROUND, fused), n = shifted - CT__ROUND;
    uint64_t quadrant = ct__bits(shifted) + (uint64_t)quarters;
    double r = ct__mad(n, -0x1.0b4611a626331p-34, ct__mad(n, -0x1.921fb54400000p+0, x, fused), fused);
    double z = r * r, s = ct__mad(r * z, ct__horner(4, S, z, fused), r, fused);
    double c = ct__mad(z * z, ct__horner(4, C, z, fused), ct__mad(z, -0.5, 1, fused), fused);
    double y = ct__from_bits(ct__bits(quadrant & 1 ? c : s) ^ (quadrant & 2) << 62);
    return x == 0 && quarters == 0 ? x : (float)y;
}

#endif
