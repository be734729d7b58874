/* ctgp plot: an axis and its tics. */
#include "plot.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

void cover(axis *a, double value)
{
    if (isfinite(value)) a->lo = fmin(a->lo, value), a->hi = fmax(a->hi, value);
}

/* A single value is given an axis of twice its own size. */
void widen(axis *a, double below, double above)
{
    double length = a->hi - a->lo;
    if (length < DBL_MIN) {
        length = a->lo != 0 ? 2 * fmax(fabs(a->lo), DBL_MIN) : 2;
        below = above = 0.5;
    }
    a->lo -= below * length, a->hi += above * length;
}

double share(const axis *a, double value) { return (value - a->lo) / (a->hi - a->lo); }

/* Prints the number in the fewest digits that read back as it. */
static void print_number(char *text, size_t size, double value)
{
    int digits = 1;
    do snprintf(text, size, "%.*g", digits, value);
    while (strtod(text, NULL) != value && digits++ < 17);
    if (digits > 3) snprintf(text, size, "%.*g", digits > 15 ? digits : 15, value);
}

/* The roundest number on the axis or before it: a multiple of the largest power of ten possible. */
static double round_number(const axis *a)
{
    double least = a->lo - (a->hi - a->lo);
    for (int zeros = 308; zeros > -308; zeros--) {
        double power = pow(10, abs(zeros)), whole = floor(zeros < 0 ? a->hi * power : a->hi / power);
        double multiple = zeros < 0 ? whole / power : whole * power;
        if (multiple >= least) return multiple;
    }
    return a->lo;
}

/* At most eight tics, at multiples of 1, 2 or 5 times a power of ten. Where labels would need more than six
 * digits they count from a round number, which the axis's name subtracts: "x - 1e+09". */
int write_axis(FILE *script, char which, const axis *a, const char *name, const char *suffix)
{
    double length = a->hi - a->lo, power = pow(10, floor(log10(length / 7))), steps = length / 7 / power;
    if (!isfinite(length))
        return fail(CODE_DATA, "no picture: the numbers of '%s' are too large for an axis", name);
    double step = power * (steps <= 1 ? 1 : steps <= 2 ? 2 : steps <= 5 ? 5 : 10);
    double base = fmax(fabs(a->lo), fabs(a->hi)) >= 1e6 * power ? round_number(a) : 0;
    double from = a->lo - base, to = a->hi - base;
    const char *comma = "";
    fprintf(script, "set %crange [0:1]\nset %ctics (", which, which);
    for (double i = ceil(from / step); i * step <= to; i++, comma = ", ")
        fprintf(script, "%s'%.6g' %.17g", comma, i * step + 0.0, (i * step - from) / length); /* no "-0" */
    char number[32] = "", label[512];
    if (base != 0) print_number(number, sizeof number, fabs(base));
    snprintf(label, sizeof label, "%.256s%s%s%s", name,
             base == 0  ? ""
             : base > 0 ? " - "
                        : " + ",
             number, suffix);
    fprintf(script, ")\nset %clabel ", which);
    quote(script, label);
    fputs("\n", script);
    return GO_ON;
}
