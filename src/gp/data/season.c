/* Seasons: the significant peaks of a periodogram. For white noise the power at one frequency exceeds p with
 * probability (1 - p)^(dof/2), so the score z = -dof/2 log(1 - p) is exponential, with median log 2. If noise
 * is stronger at low frequencies, z is multiplied by log 2 over its median within an octave. The largest of M
 * independent scores exceeds z with probability 1 - (1 - exp(-z))^M.
 * [Scargle 1982; Mann & Lees 1996; Zechmeister & Kürster 2009] */
#include "season.h"

#include <math.h>
#include <stdlib.h>

#include <cotangent/profiles.h>

#include "numbers.h"
#include "periodogram.h"
#include "rows.h"
#include "vectors.h"

enum {
    MOST_ROWS = 2000,
    MOST_CYCLES = 4000, /* per span */
    FEWEST_TIMES = 16,
    DEGREE = 3,     /* of the trend */
    HARMONICS = 3,  /* waves that belong to a season, with its own */
    RESOLUTION = 4, /* frequencies per cycle per span */
    AROUND = 48,    /* frequencies that determine a background */
    COLUMNS = DEGREE + 1 + 2 * HARMONICS * CT_SEASONS
};
#define SIGNIFICANT 1e-4
#define WIDTH       0.75 /* half the width of a peak, in cycles per span */

/* Frequencies are in cycles per span: first + k / RESOLUTION, k < m. */
typedef struct search {
    ct__series series;
    double *power, *scores; /* [m] */
    double first, highest, span;
    double floor; /* median score of all frequencies: that of noise alone */
    int64_t m;
    ct_season *season; /* [count], found so far */
    int count;
} search;

/* Pairs of a time and a value. */
static int earlier(const void *a, const void *b)
{
    const int order = ct__rising(a, b);
    return order ? order : ct__rising((const double *)a + 1, (const double *)b + 1);
}

static double median(double *x, int64_t n)
{
    qsort(x, (size_t)n, sizeof *x, ct__rising);
    return n % 2 ? x[n / 2] : x[n / 2 - 1] / 2 + x[n / 2] / 2;
}

/* -- the series ------------------------------------------------------------------------------------------ */

/* Rows (2) in the order of time; times from 0 to 1, values at most 1. *span: of the times. False: all times
 * are equal. */
static bool order_rows(int64_t n, const double *x, const double *y, double *row, double *span)
{
    double low = x[0], high = x[0], largest = 0;
    for (int64_t i = 0; i < n; i++) low = fmin(low, x[i]), high = fmax(high, x[i]);
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(y[i]));
    *span = high - low;
    if (!(*span > 0 && isfinite(*span) && largest > 0)) return false;
    for (int64_t i = 0; i < n; i++) row[2 * i] = (x[i] - low) / *span, row[2 * i + 1] = y[i] / largest;
    qsort(row, (size_t)n, 2 * sizeof *row, earlier);
    return true;
}

int64_t ct__shortest_period(int64_t n, double *x, double *period)
{
    int64_t count = 0;
    qsort(x, (size_t)n, sizeof *x, ct__rising);
    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[i - 1]) x[count++] = x[i] - x[i - 1]; /* count < i: x[i] is still there */
    const double middle = count ? median(x, count) : 0;    /* it sorts */
    *period = 2 * (count + 1 < FEWEST_TIMES && count ? x[0] : middle);
    return count + 1;
}

/* The highest frequency that the rows' times can resolve, in cycles per span; 0 if few times differ. */
static double highest_frequency(int64_t n, const double *row, double *time)
{
    for (int64_t i = 0; i < n; i++) time[i] = row[2 * i];
    double period;
    return ct__shortest_period(n, time, &period) < FEWEST_TIMES ? 0 : fmin(1 / period, MOST_CYCLES);
}

/* Takes the drawn rows and removes the trend. Returns the remaining sum of squares. */
static double take_rows(search *s, const double *row, const int64_t *drawn, double *t)
{
    ct__series *e = &s->series;
    double mean = 0, all = 0;
    for (int64_t i = 0; i < e->n; i++) {
        t[i] = row[2 * drawn[i]], e->r[i] = row[2 * drawn[i] + 1];
        mean += e->r[i] / (double)e->n;
    }
    for (int64_t i = 0; i < e->n; i++) all += (e->r[i] - mean) * (e->r[i] - mean);
    for (int degree = 0; degree <= DEGREE; degree++) {
        double *v = e->q + e->columns * e->n;
        for (int64_t i = 0; i < e->n; i++) v[i] = pow(t[i] - 0.5, degree);
        ct__series_join(e);
    }
    const double left = ct__gp_dot(e->r, e->r, e->n);
    return left > 1e-20 * (all + mean * mean) ? left : 0;
}

/* -- peaks ----------------------------------------------------------------------------------------------- */

static double frequency(const search *s, int64_t k) { return s->first + (double)k / RESOLUTION; }

static double score(const search *s, int64_t k)
{
    return -0.5 * (double)(s->series.n - s->series.columns - 2) * log1p(-fmin(s->power[k], 1 - 1e-15));
}

/* The median score at frequencies evenly spaced in their logarithm within an octave, without the peak
 * itself. */
static double background(const search *s, double f)
{
    const double reach = log(fmin(2, f / s->first));
    double around[AROUND];
    int count = 0;
    for (int j = 0; j < AROUND; j++) {
        const double g = f * exp(reach * (2 * (double)j / (AROUND - 1) - 1));
        const int64_t at = llround((g - s->first) * RESOLUTION);
        if (at >= 0 && at < s->m && fabs(g - f) > WIDTH) around[count++] = score(s, at);
    }
    return fmax(count ? median(around, count) : INFINITY, s->floor);
}

static double false_alarm(const search *s, int64_t k)
{
    const double z = score(s, k) / background(s, frequency(s, k)) * log(2);
    return -expm1((s->highest - s->first) * log1p(-exp(-z)));
}

/* Whether f differs from the seasons found and their harmonics. */
static bool is_new(const search *s, double f)
{
    for (int i = 0; i < s->count; i++) {
        const double g = s->span / s->season[i].period, j = round(f / g);
        if (fmax(f / g, g / f) < CT__SEASONS_APART) return false;
        if (j >= 2 && j <= 2 * HARMONICS && fabs(f - j * g) < 1) return false;
    }
    return true;
}

/* The highest significant peak; -1 if there is none, or if it is at the end, where neighbours alternate. */
static int64_t find_peak(search *s, double *alarm)
{
    int64_t best = -1;
    for (int64_t k = 0; k < s->m; k++) s->scores[k] = score(s, k);
    s->floor = fmax(median(s->scores, s->m), 1e-9);
    for (int64_t k = 1; k + 1 < s->m; k++) {
        const bool peak = s->power[k] > s->power[k - 1] && s->power[k] >= s->power[k + 1];
        if (!peak || (best >= 0 && s->power[k] <= s->power[best])) continue;
        const double f = frequency(s, k), chance = f < 2 || !is_new(s, f) ? 1 : false_alarm(s, k);
        if (chance >= SIGNIFICANT) continue;
        best = k;
        *alarm = chance;
    }
    return best < 0 || s->power[best] > s->power[s->m - 1] ? best : -1;
}

/* The frequency and power of peak k: the vertex of the parabola through it and its neighbours. */
static double top_of(const search *s, int64_t k, double *power)
{
    const double *p = s->power + k, bend = p[-1] - 2 * p[0] + p[1];
    const double off = bend < 0 ? 0.5 * (p[-1] - p[1]) / bend : 0;
    *power = fmin(p[0] - 0.25 * (p[-1] - p[1]) * off, 1);
    return frequency(s, k) + off / RESOLUTION;
}

/* Adds a season of frequency f. Seasons that are its second or third harmonic become part of it. */
static void add(search *s, double f, ct_season new)
{
    int slot = -1, kept = 0;
    for (int i = 0; i < s->count; i++) {
        const double g = s->span / s->season[i].period, j = round(g / f);
        const bool part = j >= 2 && j <= HARMONICS && fabs(g - j * f) < 0.5;
        if (part) new.power = 1 - (1 - new.power) * (1 - s->season[i].power);
        if (part) new.false_alarm = fmin(new.false_alarm, s->season[i].false_alarm);
        if (part && slot < 0) slot = kept++;
        if (!part) s->season[kept++] = s->season[i];
    }
    s->count = slot < 0 ? kept + 1 : kept;
    s->season[slot < 0 ? kept : slot] = new;
}

/* -- the search ------------------------------------------------------------------------------------------ */

/* Adds a wave of frequency f and its harmonics to the trend. Returns the remaining sum of squares. */
static double remove_wave(search *s, double f)
{
    ct__series *e = &s->series;
    const double turn = 2 * CT__PI;
    for (int h = 1; h <= HARMONICS && h * f < s->highest; h++)
        for (int part = 0; part < 2; part++) {
            double *v = e->q + e->columns * e->n;
            for (int64_t i = 0; i < e->n; i++)
                v[i] = part ? sin(turn * h * f * e->t[i]) : cos(turn * h * f * e->t[i]);
            ct__series_join(e);
        }
    return ct__gp_dot(e->r, e->r, e->n);
}

/* left: the sum of squares that the trend leaves. */
static void find_all(search *s, double left)
{
    const double enough = 1e-16 * left;
    for (int round = 0; round < CT_SEASONS && left > enough && s->series.n > s->series.columns + 8; round++) {
        ct_season new = { 0 };
        ct__periodogram(&s->series, s->first, 1.0 / RESOLUTION, s->m, s->power);
        const int64_t k = find_peak(s, &new.false_alarm);
        if (k < 0) return;
        const double f = top_of(s, k, &new.power);
        new.period = s->span / f;
        left = remove_wave(s, f);
        add(s, f, new);
    }
}

ct_status ct__find_seasons(ct_device *device, int64_t n, const double *x, const double *y,
                           ct_season season[CT_SEASONS], int *count)
{
    enum { MOST_FREQUENCIES = RESOLUTION * MOST_CYCLES };
    const int64_t used = n < MOST_ROWS ? n : MOST_ROWS;
    search s = { .first = 1, .season = season, .series.n = used };
    *count = 0;
    if (n < FEWEST_TIMES) return CT_OK;
    int64_t *drawn = ct__gp_draw_rows(device, n, used, 0);
    const uint64_t numbers = 3 * (uint64_t)n + (COLUMNS + 6) * (uint64_t)used + 2 * MOST_FREQUENCIES;
    double *row = drawn ? ct__gp_alloc(device, numbers, sizeof *row) : NULL;
    const ct_status status = row ? CT_OK : ct_last_status(device);
    if (row && order_rows(n, x, y, row, &s.span)) s.highest = highest_frequency(n, row, row + 2 * n);
    s.m = (int64_t)(RESOLUTION * (s.highest - s.first));
    if (s.m > 2 * RESOLUTION) {
        double *t = row + 3 * n;
        s.series.t = t, s.series.r = t + used, s.series.wave = t + 2 * used, s.series.q = t + 6 * used;
        s.power = s.series.q + COLUMNS * used, s.scores = s.power + s.m;
        find_all(&s, take_rows(&s, row, drawn, t));
    }
    *count = s.count;
    free(row);
    free(drawn);
    return status;
}
