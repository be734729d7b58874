/* Decimal numbers to and from text, exactly, whatever the application's locale. */
#ifndef CT_TENSOR_NUMBER_H
#define CT_TENSOR_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

typedef enum ct__number {
    CT__NUMBER,
    CT__MISSING,   /* nothing, NA, NaN, null or ?: *value is NaN */
    CT__NO_NUMBER, /* anything else                              */
    CT__TOO_LARGE, /* more than the largest double               */
} ct__number;

/* Reads text[0..size), all of it:
 *     [sign] (digits [. digits*] | . digits) [(e|E) [sign] digits]
 * rounded to the nearest double, or inf or infinity with an optional sign; words in any case. */
ct__number ct__number_read(const char *text, size_t size, double *value);

#define CT__NUMBER_TEXT 32
/* Writes value with so many significant digits (17 are enough for a double, 9 for a float), "nan", "inf" or
 * "-inf", and a NUL. Returns the length. */
size_t ct__number_write(double value, int digits, char text[CT__NUMBER_TEXT]);

#endif
