/* The parts of which times as text are made. */
#ifndef CT_GP_TIME_SCAN_H
#define CT_GP_TIME_SCAN_H

#include <cotangent/gp/number.h>

#include "letters.h"

typedef struct ct__time_scan {
    const char *at, *end;
    bool possible; /* what was read is in the calendar and on the clock */
} ct__time_scan;

static inline ct__time_scan ct__time_begin(const char *text, size_t size)
{
    return (ct__time_scan){ text, text ? text + size : text, true };
}

static inline bool ct__time_accept(ct__time_scan *s, char c)
{
    return s->at < s->end && *s->at == c ? (s->at++, true) : false;
}

/* Reads `least` to `most` digits; with fewer it reads nothing. */
static inline bool ct__time_digits(ct__time_scan *s, int least, int most, int *value)
{
    int n = 0;
    for (*value = 0; n < most && n < s->end - s->at && ct__is_digit(s->at[n]); n++)
        *value = 10 * *value + (s->at[n] - '0');
    if (n < least) return false;
    s->at += n;
    return true;
}

/* The day, counted from 1970-01-01; 0 if there is no such day. */
int64_t ct__time_date(ct__time_scan *s, int year, int month, int day);
/* Reads the time of day up to the end, as a part of a day:
 *     HH:MM [ :SS [ (.|,) digits ] ] [ Z | (+|-)HH[[:]MM] ]
 * Unless `iso`, an hour may have one digit, and AM or PM may follow. */
bool ct__time_clock(ct__time_scan *s, bool iso, double *days);

#endif
