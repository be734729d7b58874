/* A floating-point number of 16 bits that is computed with as a float, given the two conversions. Wider
 * numbers are rounded to odd before, so that they are rounded once. */
#ifndef CUDASIM_HALF_H
#define CUDASIM_HALF_H

#include <stdint.h>
#include <string.h>

/* x, or of the floats around it the one whose last bit is 1 */
template <class T> inline float cudasim_odd(T x)
{
    const long double exact = x;
    float y = (float)x;
    uint32_t u;
    memcpy(&u, &y, 4);
    if ((long double)y == exact || x != x || u & 1) return y;
    u += (exact < 0 ? -exact : exact) > (long double)(y < 0 ? -y : y) ? 1 : -1;
    memcpy(&y, &u, 4);
    return y;
}

template <uint16_t (*bits_of)(float), float (*value_of)(uint16_t)> struct cudasim_half {
    uint16_t bits;
    cudasim_half() = default;
    cudasim_half(float x) : bits(bits_of(x)) {}
    cudasim_half(double x) : bits(bits_of(cudasim_odd(x))) {}
    cudasim_half(long long x) : bits(bits_of(cudasim_odd(x))) {}
    operator float() const { return value_of(bits); }
};

#endif
