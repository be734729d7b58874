/* ctgp plot: an axis and its tics. */
#include "plot_axis.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "failure.h"
#include "plot_gnuplot.h"

void cover(axis *a, double value)
{
    if (isfinite(value)) a->lo = fmin(a->lo, value), a->hi = fmax(a->hi, value);
}

/* The axis of a single value is twice as long as that is large. */
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

const char *shortened(ctgp *c, const char *text, size_t most)
{
    size_t n = strlen(text);
    if (n <= most) return text;
    n = most - strlen("…");
    while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80) n--;
    return text_of(c, "%.*s…", (int)n, text);
}

/* A panel has room for fewer tics, and for fewer letters of a name. */
static bool is_panel(int most) { return most < 7; }

static void write_label(ctgp *c, FILE *script, char which, int most, const char *name, const char *more)
{
    const size_t room = !is_panel(most) ? 64 : which == 'x' ? 42 : 36;
    fprintf(script, ")\nset %clabel ", which);
    quote(script, text_of(c, "%s%s", shortened(c, name, room - strlen(more)), more));
    fputs("\n", script);
}

/* -- numbers -- */

/* "1e+09" if three digits read back as the number, else all digits that it takes. */
static const char *base_text(ctgp *c, double value)
{
    const char *text = text_of(c, "%.3g", value);
    return strtod(text, NULL) == value ? text : number_text(c, value);
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

/* The tics are multiples of 1, 2 or 5 times a power of ten. If labels would need more than six digits, they
 * count from a round number, which the axis's name subtracts: "x - 1e+09". */
void write_axis(ctgp *c, FILE *script, char which, const axis *a, int most, const char *name,
                const char *suffix)
{
    double length = a->hi - a->lo, power = pow(10, floor(log10(length / most))),
           steps = length / most / power;
    if (!isfinite(length))
        fail(c, CODE_DATA, "no picture: the numbers of '%s' are too large for an axis", name);
    double step = power * (steps <= 1 ? 1 : steps <= 2 ? 2 : steps <= 5 ? 5 : 10);
    double base = fmax(fabs(a->lo), fabs(a->hi)) >= 1e6 * power ? round_number(a) : 0;
    double from = a->lo - base, to = a->hi - base;
    const char *comma = "";
    fprintf(script, "set %crange [0:1]\nset %ctics %s(", which, which, which == 'x' ? "norotate " : "");
    for (double i = ceil(from / step); i * step <= to; i++, comma = ", ")
        fprintf(script, "%s'%.6g' %.17g", comma, i * step + 0.0, (i * step - from) / length); /* no "-0" */
    write_label(c, script, which, most, name,
                text_of(c, "%s%s%s",
                        base == 0  ? ""
                        : base > 0 ? " - "
                                   : " + ",
                        base == 0 ? "" : base_text(c, fabs(base)), suffix));
}

/* -- times, in days since 1970 -- */

/* Days of 0001-01-01 and 9999-12-31, between which ISO 8601 writes years with four digits. */
static const double first_day = -719162, last_day = 2932896;

/* The first day of a month, counted from January of the year 0. */
static double month_start(long month)
{
    char text[16];
    double days;
    const size_t n = (size_t)snprintf(text, sizeof text, "%04ld-%02ld", month / 12, month % 12 + 1);
    ct_time_read(text, n, &days);
    return days;
}

static void write_time(FILE *script, const axis *a, double days, size_t digits, const char **comma)
{
    char text[CT_TIME_TEXT];
    if (!(days >= a->lo && days <= a->hi)) return;
    ct_time_write(days, text);
    if (strlen(text) > digits) text[digits] = 0;
    if (strlen(text) > 10 && fabs(share(a, days) - 0.5) > 0.45) *text = 0; /* would leave the picture */
    fprintf(script, "%s'%s' %.17g", *comma, text, share(a, days));
    *comma = ", ";
}

/* Tics at whole seconds, minutes, hours, days, Mondays, months or years. Long labels have fewer tics. */
static void write_times(FILE *script, const axis *a, int most)
{
    static const double second = 1.0 / 86400;
    static const int seconds[] = { 1,    2,    5,    10,    15,    30,    60,    120,    300,    600,    900,
                                   1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600 };
    static const int months[] = { 1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000, 24000 };
    enum { SECONDS = sizeof seconds / sizeof *seconds, MONTHS = sizeof months / sizeof *months };
    const double length = a->hi - a->lo;
    const char *comma = "";
    int i = 0, j = 0;
    while (i < SECONDS && seconds[i] * second * (seconds[i] < 86400 ? most / 2 + 1 : most - 1) < length) i++;
    if (i < SECONDS) {
        const double step = seconds[i] * second, monday = seconds[i] >= 604800 ? 4 : 0;
        const size_t digits = seconds[i] < 60 ? 19 : seconds[i] < 86400 ? 16 : 10;
        for (double k = ceil((a->lo - monday) / step); k * step + monday <= a->hi; k++)
            write_time(script, a, k * step + monday, digits, &comma);
        return;
    }
    while (j < MONTHS - 1 && months[j] * 30.436875 * most < length) j++;
    const long step = months[j], lowest = (long)floor((a->lo - first_day) / 31) + 12;
    for (long k = lowest / step * step; k < 12 * 10000L && !(month_start(k) > a->hi); k += step)
        write_time(script, a, month_start(k), step % 12 ? 7 : 4, &comma);
}

/* -- an input -- */

axis column_axis(const ct_column *column, double lo, double hi)
{
    axis a = { lo, hi };
    if (column->kind == CT_COLUMN_CATEGORY) return (axis){ -0.5, (double)column->n_levels - 0.5 };
    widen(&a, 0.05, 0.05);
    return a;
}

/* Labels every level, or every second, third, ... one: at most 4 `most`. */
static void write_levels(ctgp *c, FILE *script, const axis *a, int most, const ct_column *of)
{
    size_t characters = 0;
    const int64_t step = 1 + (of->n_levels - 1) / (4 * most);
    for (int64_t i = 0; i < of->n_levels; i += step) characters += strlen(of->levels[i]) + 2;
    fprintf(script, "set xrange [0:1]\nset xtics %s (", characters > 40 ? "rotate by 60 right" : "norotate");
    for (int64_t i = 0; i < of->n_levels; i += step) {
        if (i) fputs(", ", script);
        quote_tic(script, shortened(c, of->levels[i], is_panel(most) ? 14 : 18));
        fprintf(script, " %.17g", share(a, (double)i));
    }
}

void write_column_axis(ctgp *c, FILE *script, const axis *a, int most, const ct_column *column)
{
    const bool time = column->kind == CT_COLUMN_TIME && a->lo >= first_day && a->hi <= last_day &&
                      a->hi - a->lo > 4.0 / 86400;
    if (column->kind == CT_COLUMN_CATEGORY) {
        write_levels(c, script, a, most, column);
    } else if (time) {
        fputs("set xrange [0:1]\nset xtics norotate (", script);
        write_times(script, a, most);
    } else {
        const char *suffix = column->kind == CT_COLUMN_TIME ? ", days since 1970" : "";
        write_axis(c, script, 'x', a, most, column->name, suffix);
        return;
    }
    write_label(c, script, 'x', most, column->name, "");
}
