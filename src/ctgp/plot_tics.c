/* ctgp plot: the tics of an axis, and its label. */
#include "plot_tics.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "failure.h"
#include "plot_gnuplot.h"
#include "text.h"

/* -- texts ----------------------------------------------------------------------------------------------- */

/* The width of the next character in letters. East Asian scripts have wide ones. */
static size_t take_width(const char **text)
{
    const uint32_t character = take_character(text);
    return character >= 0x1100 && character != 0x2026 ? 2 : character != 0;
}

static size_t width_of(const char *text)
{
    size_t width = 0;
    for (size_t w; (w = take_width(&text));) width += w;
    return width;
}

const char *shortened(ctgp *c, const char *text, size_t most)
{
    const char *end = text, *next = text;
    if (width_of(text) <= most) return text;
    for (size_t width = take_width(&next); width < most; width += take_width(&next)) end = next;
    return text_of(c, "%.*s…", (int)(end - text), text);
}

/* -- tics: which values, at a level of coarseness -------------------------------------------------------- */

typedef struct tic {
    double at; /* the share */
    const char *text;
} tic;

enum { MOST_TICS = 50 };

/* The tics of an axis. Labels of numbers are (value - base) unit. */
typedef struct ruler {
    ctgp *c;
    const axis *a;
    double base, unit;
    size_t widest; /* names are shortened to it */
    bool daytime;  /* labels are times of one day */
    tic tics[MOST_TICS];
    int n;
} ruler;

/* Adds a tic, and says whether there is room for one more. */
static bool add_tic(ruler *r, double at, const char *text)
{
    if (at >= -1e-9 && at <= 1 + 1e-9) r->tics[r->n++] = (tic){ at, text };
    return r->n < MOST_TICS;
}

/* ..., 0.5, 1, 2, 5, 10, 20, ...: 1 is number 0. */
static double round_value(int i)
{
    static const double digit[] = { 1, 2, 5 };
    return digit[(i % 3 + 3) % 3] * pow(10, floor(i / 3.0));
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

/* Multiples of 1, 2 or 5 times a power of ten. */
static bool lay_numbers(ruler *r, int level)
{
    const double lo = r->a->log ? exp(r->a->lo) : r->a->lo, hi = r->a->log ? exp(r->a->hi) : r->a->hi,
                 from = (lo - r->base) * r->unit, to = (hi - r->base) * r->unit,
                 step = pow(10, floor(log10((to - from) / MOST_TICS))) * round_value(level);
    bool room = true;
    for (double i = ceil(from / step); i * step <= to && room; i++)
        room = add_tic(r, r->a->log ? share(r->a, i * step) : (i * step - from) / (to - from),
                       text_of(r->c, "%.6g", i * step + 0.0)); /* no "-0" */
    return room;
}

/* 1, 2, 5 and 10, powers of ten, or every second, fourth, ... one. */
static bool lay_powers(ruler *r, int level)
{
    const int stride = level ? 3 << (level - 1) : 1, last = (int)ceil(3 * r->a->hi / log(10));
    bool room = true;
    for (int i = (int)floor(3 * r->a->lo / log(10) / stride) * stride; i <= last && room; i += stride)
        room = add_tic(r, share(r->a, round_value(i)), text_of(r->c, "%.6g", round_value(i)));
    return room;
}

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

static bool add_time(ruler *r, double days, size_t from, size_t size)
{
    char text[CT_TIME_TEXT];
    if (days < r->a->lo || days > r->a->hi) return true;
    ct_time_write(days, text);
    const bool date = strlen(text) == 10;
    r->daytime &= !date;
    if (date && from) from = 0, size = 10;
    return add_tic(r, share(r->a, days), text_of(r->c, "%.*s", (int)size, text + from));
}

/* Whole seconds, minutes, hours, days, Mondays, months or years. */
static bool lay_times(ruler *r, int level)
{
    static const int seconds[] = { 1,    2,    5,    10,    15,    30,    60,    120,    300,    600,    900,
                                   1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600 };
    static const int months[] = { 1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000, 24000 };
    enum { SECONDS = sizeof seconds / sizeof *seconds, MONTHS = sizeof months / sizeof *months };
    bool room = true;
    r->daytime = true;
    if (level < SECONDS) {
        const double step = seconds[level] / 86400.0, monday = seconds[level] >= 604800 ? 4 : 0;
        const size_t from = seconds[level] < 86400 ? 11 : 0, size = !from ? 10 : seconds[level] < 60 ? 8 : 5;
        for (double k = ceil((r->a->lo - monday) / step); k * step + monday <= r->a->hi && room; k++)
            room = add_time(r, k * step + monday, from, size);
        return room;
    }
    const long step = months[level - SECONDS < MONTHS ? level - SECONDS : MONTHS - 1],
               lowest = (long)floor((r->a->lo - first_day) / 31) + 12;
    for (long k = lowest / step * step; k < 12 * 10000L && !(month_start(k) > r->a->hi) && room; k += step)
        room = add_time(r, month_start(k), 0, step % 12 ? 7 : 4);
    return room;
}

/* Every level, or every second, third, ... one. */
static bool lay_levels(ruler *r, int level)
{
    bool room = true;
    for (int64_t i = 0; i < r->a->of->levels && room; i += level + 1)
        room =
            add_tic(r, share(r->a, span_level(r->a->of, i)), shortened(r->c, r->a->of->names[i], r->widest));
    return room;
}

/* -- the finest level whose labels do not meet ----------------------------------------------------------- */

static bool is_apart(const ruler *r, double pixels, bool beside)
{
    const bool names = r->a->of && r->a->of->levels;
    for (int i = 1; i < r->n; i++) {
        const double letters = 0.5 * (double)(width_of(r->tics[i - 1].text) + width_of(r->tics[i].text));
        const double least = beside ? fmax(LETTER * letters + 16, names ? 0 : 56) : names ? 16 : 32;
        if ((r->tics[i].at - r->tics[i - 1].at) * pixels < least) return false;
    }
    return true;
}

/* Returns the level. `last`: the coarsest one to try. */
static int lay(ruler *r, bool (*tics)(ruler *r, int level), double pixels, bool beside, int last)
{
    for (int level = 0;; level++) {
        r->n = 0;
        if ((tics(r, level) && is_apart(r, pixels, beside)) || level == last) return level;
    }
}

/* "1e+09" if three digits read back as the number, else all digits that it takes. */
static const char *base_text(ctgp *c, double value)
{
    const char *text = text_of(c, "%.3g", value);
    return strtod(text, NULL) == value ? text : number_text(c, value);
}

/* If labels would need more than six digits, they count from a round number, which the axis's name subtracts:
 * "x - 1e+09". Returns what the name adds. */
static const char *lay_scale(ruler *r, const char *name, double pixels, bool beside)
{
    const axis *a = r->a;
    const double length = a->hi - a->lo;
    if (!isfinite(length))
        fail(r->c, CODE_DATA, "no picture: the numbers of '%s' are too large for an axis", name);
    if (a->log && length > log(5)) return lay(r, lay_powers, pixels, beside, 12), "";
    if (!a->log && r->unit == 1 && fmax(fabs(a->lo), fabs(a->hi)) >= 2e4 * length) r->base = round_number(a);
    lay(r, lay_numbers, pixels, beside, 9);
    return r->base == 0 || r->unit != 1
               ? ""
               : text_of(r->c, "%s%s", r->base > 0 ? " - " : " + ", base_text(r->c, fabs(r->base)));
}

/* Dates; seconds, if there are few; or days where dates have no years of four digits. */
static const char *lay_span(ruler *r, const char *name, double pixels, bool beside)
{
    const axis *a = r->a;
    char text[CT_TIME_TEXT];
    if (a->lo < first_day || a->hi > last_day)
        return text_of(r->c, "%s, days since 1970", lay_scale(r, name, pixels, beside));
    if (a->hi - a->lo > 4.0 / 86400) {
        lay(r, lay_times, pixels, beside, 40);
        ct_time_write(a->lo, text);
        return r->daytime ? text_of(r->c, ", %.10s", text) : "";
    }
    r->unit = 86400, r->base = floor(a->lo * r->unit) / r->unit;
    lay_scale(r, name, pixels, beside);
    ct_time_write(r->base, text);
    return text_of(r->c, ", seconds after %s", text);
}

/* Names beside each other; upright if they do not fit, and then every second, third, ... one. Returns what
 * the axis's name adds, and sets *upright to the letters that they take, 0 beside each other. */
static const char *lay_names(ruler *r, double pixels, size_t *upright)
{
    r->widest = 18;
    const bool room = lay_levels(r, 0) && is_apart(r, pixels, true);
    r->widest = *upright, *upright = 0;
    if (room) return "";
    const int level = lay(r, lay_levels, pixels, false, INT_MAX);
    for (int i = 0; i < r->n; i++)
        if (width_of(r->tics[i].text) > *upright) *upright = width_of(r->tics[i].text);
    return level ? text_of(r->c, ", one in %d named", level + 1) : "";
}

size_t write_axis(ctgp *c, FILE *script, const char *which, const axis *a, double pixels, size_t upright,
                  const char *name, const char *suffix)
{
    ruler r = { .c = c, .a = a, .unit = 1 };
    const bool beside = *which == 'x', names = a->of && a->of->levels,
               time = a->of && a->of->input->kind == CT_COLUMN_TIME;
    const char *more = text_of(c, "%s%s",
                               names  ? lay_names(&r, pixels, &upright)
                               : time ? lay_span(&r, name, pixels, beside)
                                      : lay_scale(&r, name, pixels, beside),
                               suffix);
    if (!names) upright = 0;
    fprintf(script, "set %srange [0:1]\nset %stics %s(", which, which,
            upright  ? "rotate by 60 right "
            : beside ? "norotate "
                     : "");
    for (int i = 0; i < r.n; i++) {
        fputs(i ? ", " : "", script);
        quote_tic(script, r.tics[i].text);
        fprintf(script, " %.17g", r.tics[i].at);
    }
    const size_t room = (size_t)(pixels + 40) / LETTER, taken = width_of(more);
    fprintf(script, ")\nset %slabel ", which);
    quote(script, text_of(c, "%s%s", shortened(c, name, room > taken + 8 ? room - taken : 8), more));
    fputs("\n", script);
    return upright;
}
