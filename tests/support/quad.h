/* Quadruple precision and the functions of libm that the references need, for tests where double loses digits
 * or overflows. The type is long double on arm64 and one of its own on x86. QUAD(1.5), a constant, is defined
 * where such a type exists. */
#ifndef TESTS_QUAD_H
#define TESTS_QUAD_H

#include <float.h>
#include <math.h>

#if LDBL_MANT_DIG == 113
typedef long double quad;
#    define QUAD(x) x##L
#elif defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 quad;
#    define QUAD(x) x##Q
#endif

#ifdef QUAD

static inline quad quad_abs(quad x) { return x < 0 ? -x : x; }

/* e^x = (e^(x / 2^k))^(2^k), the inner one by its series */
static inline quad quad_exp(quad x)
{
    if (x < -11400 || x > 11300 || x != x) return x < 0 ? 0 : x > 0 ? INFINITY : x;
    if (x < 0) return 1 / quad_exp(-x);
    int k = 0;
    while (x > 0.03125 || x < -0.03125) x /= 2, k++;
    quad term = 1, sum = 0; /* e^x - 1, so that squaring loses nothing */
    for (int i = 1; i < 25; i++) sum += term *= x / i;
    while (k--) sum = sum * (2 + sum);
    return 1 + sum;
}

/* x = m 2^k with ½ <= m < 2, for 0 < x < infinity */
static inline quad quad_split(quad x, int *k)
{
    for (*k = 0; x >= QUAD(0x1p64); *k += 64) x *= QUAD(0x1p-64);
    for (; x < QUAD(0x1p-64); *k -= 64) x *= QUAD(0x1p64);
    for (; x >= 2; ++*k) x /= 2;
    for (; x < 0.5; --*k) x *= 2;
    return x;
}

/* Newton on e^y = x from the logarithm in double */
static inline quad quad_log(quad x)
{
    if (!(x > 0) || x - x != 0) return x == 0 ? -INFINITY : x > 0 ? x : NAN;
    int k;
    x = quad_split(x, &k);
    const quad two = QUAD(0.693147180559945309417232121458176568);
    quad y = log((double)x);
    for (int i = 0; i < 3; i++) y -= 1 - x / quad_exp(y);
    return y + k * two;
}

static inline quad quad_power_of_two(int k)
{
    quad y = 1;
    for (; k > 0; k--) y *= 2;
    for (; k < 0; k++) y /= 2;
    return y;
}

static inline quad quad_sqrt(quad x)
{
    if (!(x > 0) || x - x != 0) return x;
    int k;
    x = quad_split(x, &k);
    if (k % 2) x *= 2, k--;
    quad y = sqrt((double)x);
    for (int i = 0; i < 3; i++) y = (y + x / y) / 2;
    return y * quad_power_of_two(k / 2);
}

/* cos 2πt and sin 2πt for |t| < 2^62, by their series */
static inline void quad_turn(quad t, quad *cosine, quad *sine)
{
    quad x = QUAD(6.28318530717958647692528676655900577) * (t - (quad)(long long)t), even = 1, odd = x;
    *cosine = 1, *sine = x;
    for (int i = 2; i < 60; i += 2) {
        *cosine += even *= -x * x / (i * (i - 1));
        *sine += odd *= -x * x / (i * (i + 1));
    }
}

#endif
#endif
