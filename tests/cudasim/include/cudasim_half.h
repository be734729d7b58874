/* A floating-point number of 16 bits that is computed with as a float, given the two conversions. */
#ifndef CUDASIM_HALF_H
#define CUDASIM_HALF_H

#include <stdint.h>
#include <string.h>

template <uint16_t (*bits_of)(float), float (*value_of)(uint16_t)> struct cudasim_half {
    uint16_t bits;
    cudasim_half() = default;
    cudasim_half(float x) : bits(bits_of(x)) {}
    cudasim_half(double x) : bits(bits_of((float)x)) {}
    operator float() const { return value_of(bits); }
};

#endif
