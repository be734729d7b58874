/* Quadruple precision and what of libm the references need: for tests where double itself loses digits. It is long double
 * on arm64, a type of its own on x86; QUAD(1.5), a constant, is defined where there is one. */
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

/* e^x = (e^(x / 2^k))^(2^k), the inner one by its series */
static inline quad quad_exp(quad x)
{
    int k = 0;
    while (x > 0.03125 || x < -0.03125) x /= 2, k++;
    quad term = 1, sum = 0; /* e^x - 1, so that squaring loses nothing */
    for (int i = 1; i < 25; i++) sum += term *= x / i;
    while (k--) sum = sum * (2 + sum);
    return 1 + sum;
}

/* Newton on e^y = x from the logarithm in double */
static inline quad quad_log(quad x)
{
    int k = 0;
    while (x > 2) x /= 2, k++;
    while (x < 0.5) x *= 2, k--;
    const quad two = QUAD(0.693147180559945309417232121458176568);
    quad y = log((double)x);
    for (int i = 0; i < 3; i++) y -= 1 - x / quad_exp(y);
    return y + k * two;
}

static inline quad quad_sqrt(quad x)
{
    quad y = sqrt((double)x);
    for (int i = 0; i < 3 && y > 0; i++) y = (y + x / y) / 2;
    return y;
}

#endif
#endif
