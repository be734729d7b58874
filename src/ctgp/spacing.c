/* The spacing of a series, and its next rows. */
#include "spacing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "numbers.h"

/* -- the calendar ---------------------------------------------------------------------------------------- */

/* Months since the year 0, and the day of the month from 0, with the time of day as its fraction. */
typedef struct date {
    int64_t month;
    double day;
} date;

static double first_of(int64_t month)
{
    char text[CT_TIME_TEXT];
    double days;
    snprintf(text, sizeof text, "%04lld-%02lld-01", (long long)(month / 12), (long long)(month % 12 + 1));
    ct_time_read(text, strlen(text), &days);
    return days;
}

static date date_of(double days)
{
    char text[CT_TIME_TEXT];
    int year = 0, month = 1;
    ct_time_write(days, text);
    if (sscanf(text, "%d-%d", &year, &month) != 2 || year < 0) return (date){ -1, 0 };
    const int64_t all = 12 * (int64_t)year + month - 1;
    return (date){ all, days - first_of(all) };
}

/* -- the spacing ----------------------------------------------------------------------------------------- */

/* The median of the differences that are not 0. Overwrites `gap` [n]. */
static double median_gap(double *gap, int64_t n)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (gap[i] > 0) gap[kept++] = gap[i];
    qsort(gap, (size_t)kept, sizeof *gap, ascending);
    return kept ? gap[kept / 2] : 0;
}

/* If every gap is a multiple of the step, to 2 %, takes their mean as the step, which has more digits. */
static bool find_step(const double *x, int64_t n, double *step)
{
    double all = 0;
    for (int64_t i = 1; i < n; i++) {
        const double steps = (x[i] - x[i - 1]) / *step;
        if (fabs(steps - round(steps)) > 0.02) return false;
        all += round(steps);
    }
    *step = (x[n - 1] - x[0]) / all;
    return true;
}

/* Days of the month that are all alike, or all the last ones, in steps of whole months. */
static void find_months(const double *x, int64_t n, double *month, spacing *s)
{
    for (int end = 0; end < 2; end++) {
        const double first = date_of(x[0] + end).day;
        bool alike = end == 0 || first < 1;
        for (int64_t i = 0; i < n && alike; i++) {
            const date d = date_of(x[i] + end);
            month[i] = (double)d.month;
            alike = d.month >= 0 && fabs(d.day - first) < 1e-6;
        }
        if (!alike) continue;
        s->even = true;
        for (int64_t i = n - 1; i > 0; i--) month[i] -= month[i - 1];
        s->months = (int)median_gap(month + 1, n - 1);
        s->at_end = end;
        return;
    }
}

spacing spacing_of(ctgp *c, const double *x, int64_t n, bool time)
{
    spacing s = { 0 };
    double *gap = take(c, n, sizeof *gap, "rows");
    for (int64_t i = 1; i < n; i++) gap[i] = x[i] - x[i - 1];
    s.step = median_gap(gap + 1, n - 1);
    s.even = find_step(x, n, &s.step);
    if (time && s.step > 27) find_months(x, n, gap, &s);
    return s;
}

double spacing_next(const spacing *s, double x, int64_t count)
{
    if (!s->months) return x + (double)count * s->step;
    const date d = date_of(x + s->at_end);
    return first_of(d.month + count * s->months) + d.day - s->at_end;
}
