/* A number of few digits is one exact multiplication or division: digits below 2^53, power of ten up to 10^22
 * [Clinger 1990]. Others use strtod, without a decimal point, since locales differ in it. */
#include "number.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "letters.h"

/* Reads a word for "missing" or infinity, which begins with neither sign nor digit. */
static ct_number read_word(const char *s, size_t n, double *value)
{
    static const char *const missing[] = { "",     "?",    "-",       ".",       "na",    "n/a",   "#n/a",
                                           "null", "none", "#div/0!", "#value!", "#ref!", "#num!", "#name?" };
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        if (ct__is_word(s, n, missing[i])) return CT_NUMBER_MISSING;
    bool negative = *s == '-';
    if (*s == '-' || *s == '+') s++, n--;
    if (ct__is_word(s, n, "nan")) return CT_NUMBER_MISSING;
    if (!ct__is_word(s, n, "inf") && !ct__is_word(s, n, "infinity")) return CT_NUMBER_NONE;
    *value = negative ? -(double)INFINITY : (double)INFINITY;
    return CT_NUMBER;
}

/* mantissa[0..n) * 10^scale, ignoring the point in the mantissa. Digits beyond the 768th (the longest tie
 * between two doubles) matter only if one is not zero, so a single 1 stands for them. */
static double by_strtod(const char *mantissa, size_t n, int64_t scale)
{
    enum { DIGITS = 780 };
    char text[DIGITS + 32];
    size_t kept = 0;
    bool rest = false;
    for (size_t i = 0; i < n; i++) {
        if (!ct__is_digit(mantissa[i]) || (kept == 0 && mantissa[i] == '0')) continue;
        if (kept < DIGITS) {
            text[kept++] = mantissa[i];
        } else {
            rest |= mantissa[i] != '0';
            scale++;
        }
    }
    if (rest) {
        text[kept++] = '1';
        scale--;
    }
    snprintf(text + kept, sizeof text - kept, "e%" PRId64, scale);
    return strtod(text, NULL);
}

static inline ct_number read_number(const char *text, size_t size, char decimal, double *value)
{
    static const double power[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    const char *p = text, *end = text + size;
    *value = NAN;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;

    const char *mantissa = p;
    uint64_t digits = 0; /* the first 18 significant digits */
    int64_t taken = 0, exponent = 0, scale = 0;
    bool seen = false, point = false;
    for (; p < end; p++) {
        if (*p == decimal && !point) {
            point = true;
            continue;
        }
        if (!ct__is_digit(*p)) break;
        seen = true;
        scale -= point;
        if (taken < 18) digits = 10 * digits + (uint64_t)(*p - '0');
        taken += digits != 0;
    }
    if (!seen) return read_word(text, size, value);
    size_t length = (size_t)(p - mantissa);

    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        bool down = p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+')) p++;
        if (p == end) return CT_NUMBER_NONE;
        for (; p < end && ct__is_digit(*p); p++)
            if (exponent < INT64_MAX / 1000) exponent = 10 * exponent + (*p - '0');
        scale += down ? -exponent : exponent;
    }
    if (p != end) return CT_NUMBER_NONE;

    double d = (double)digits;
    if (taken > 18 || digits > (uint64_t)1 << 53 || scale < -22 || scale > 22 || FLT_EVAL_METHOD != 0)
        d = digits ? by_strtod(mantissa, length, scale) : 0;
    else
        d = scale < 0 ? d / power[-scale] : d * power[scale];
    *value = negative ? -d : d;
    return isinf(d) ? CT_NUMBER_TOO_LARGE : CT_NUMBER;
}

ct_number ct_number_read(const char *text, size_t size, double *value)
{
    return text && value ? read_number(text, size, '.', value) : CT_NUMBER_NONE;
}

ct_number ct__number_read(const char *text, size_t size, char decimal, double *value)
{
    return decimal == '.' ? read_number(text, size, '.', value) : read_number(text, size, decimal, value);
}

/* Copies a number, with a point for the decimal sign of the locale, which may have several bytes. Returns the
 * length. */
static size_t with_point(const char *local, char *text)
{
    size_t n = 0;
    for (const char *p = local; *p; p++) {
        const bool sign = !ct__is_digit(*p) && !strchr("+-e", *p);
        if (!sign) text[n++] = *p;
        if (sign && text[n - 1] != '.') text[n++] = '.';
    }
    text[n] = 0;
    return n;
}

size_t ct_number_write(double value, int digits, char text[CT_NUMBER_TEXT])
{
    if (!text) return 0;
    if (!isfinite(value))
        return (size_t)snprintf(text, CT_NUMBER_TEXT, "%s",
                                isnan(value) ? "nan"
                                : value > 0  ? "inf"
                                             : "-inf");
    if (digits <= 0) {
        double back = NAN;
        for (digits = 15; digits <= 17 && back != value; digits++)
            ct_number_read(text, ct_number_write(value, digits, text), &back);
        return strlen(text);
    }
    char local[2 * CT_NUMBER_TEXT];
    snprintf(local, sizeof local, "%.*g", digits > 17 ? 17 : digits, value);
    return with_point(local, text);
}
