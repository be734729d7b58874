/* Times as text [ISO 8601-1:2019], in days since 1970-01-01T00:00:00Z. */
#include <cotangent/gp/number.h>

#include <math.h>
#include <stdio.h>

/* -- the calendar ---------------------------------------------------------------------------------------- */

enum { DAYS_OF_400_YEARS = 146097, EPOCH = 719468 }; /* EPOCH: days from 0000-03-01 to 1970-01-01 */

static int days_of_month(int64_t year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

/* Years begin in March, so that a leap day is the last day of its year. Month m, 0 for March to 11, begins on
 * day (153 m + 2) / 5 of the year. */
static int64_t days_from_date(int64_t year, int month, int day)
{
    year -= month <= 2;
    const int64_t cycle = (year >= 0 ? year : year - 399) / 400, y = year - 400 * cycle;
    const int64_t of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    return cycle * DAYS_OF_400_YEARS + 365 * y + y / 4 - y / 100 + of_year - EPOCH;
}

static int64_t date_from_days(int64_t days, int *month, int *day)
{
    days += EPOCH;
    const int64_t cycle = (days >= 0 ? days : days - (DAYS_OF_400_YEARS - 1)) / DAYS_OF_400_YEARS;
    const int64_t d = days - cycle * DAYS_OF_400_YEARS; /* of the cycle */
    const int64_t y = (d - d / 1460 + d / 36524 - d / 146096) / 365;
    const int of_year = (int)(d - (365 * y + y / 4 - y / 100)), m = (5 * of_year + 2) / 153;
    *day = of_year - (153 * m + 2) / 5 + 1;
    *month = m < 10 ? m + 3 : m - 9;
    return 400 * cycle + y + (*month <= 2);
}

/* -- reading --------------------------------------------------------------------------------------------- */

typedef struct scan {
    const char *at, *end;
} scan;

static bool accept(scan *s, char c) { return s->at < s->end && *s->at == c ? (s->at++, true) : false; }

/* Exactly n digits. */
static bool digits(scan *s, int n, int *value)
{
    if (s->end - s->at < n) return false;
    for (*value = 0; n > 0; n--, s->at++) {
        if (*s->at < '0' || *s->at > '9') return false;
        *value = 10 * *value + (*s->at - '0');
    }
    return true;
}

/* (.|,) digits+ */
static bool fraction(scan *s, double *value)
{
    double unit = 1;
    int digit;
    *value = 0;
    if (!accept(s, '.') && !accept(s, ',')) return true;
    const char *first = s->at;
    while (digits(s, 1, &digit)) *value += digit * (unit /= 10);
    return s->at > first;
}

/* Reads Z, +HH:MM, +HHMM or +HH, or with a minus, as minutes ahead of UTC. */
static bool zone(scan *s, int *minutes, bool *possible)
{
    int hour = 0, minute = 0;
    *minutes = 0;
    if (s->at == s->end || accept(s, 'Z') || accept(s, 'z')) return true;
    const bool behind = accept(s, '-');
    if (!behind && !accept(s, '+')) return false;
    if (!digits(s, 2, &hour)) return false;
    if (s->at < s->end) {
        accept(s, ':');
        if (!digits(s, 2, &minute)) return false;
    }
    *possible &= hour < 24 && minute < 60;
    *minutes = behind ? -(60 * hour + minute) : 60 * hour + minute;
    return true;
}

ct_time ct_time_read(const char *text, size_t size, double *days)
{
    scan s = { text, text ? text + size : text };
    int year = 0, month = 0, day = 1, hour = 0, minute = 0, second = 0, ahead = 0;
    double part = 0;
    bool possible = true;
    if (days) *days = NAN;
    if (!text || !days) return CT_TIME_NONE;
    const bool before = accept(&s, '-'), longer = before || accept(&s, '+');
    if (!digits(&s, longer ? 6 : 4, &year) || !accept(&s, '-') || !digits(&s, 2, &month)) return CT_TIME_NONE;
    if (before) year = -year;
    if (accept(&s, '-')) {
        if (!digits(&s, 2, &day)) return CT_TIME_NONE;
        if (accept(&s, 'T') || accept(&s, 't') || accept(&s, ' ')) {
            if (!digits(&s, 2, &hour) || !accept(&s, ':') || !digits(&s, 2, &minute)) return CT_TIME_NONE;
            if (accept(&s, ':') && (!digits(&s, 2, &second) || !fraction(&s, &part))) return CT_TIME_NONE;
            if (!zone(&s, &ahead, &possible)) return CT_TIME_NONE;
        }
    }
    if (s.at < s.end) return CT_TIME_NONE;
    possible &= month >= 1 && month <= 12 && hour < 24 && minute < 60 && second <= 60;
    if (!possible || day < 1 || day > days_of_month(year, month)) return CT_TIME_IMPOSSIBLE;
    const double seconds = 60.0 * (60 * hour + minute - ahead) + second + part;
    *days = (double)days_from_date(year, month, day) + seconds / 86400;
    return CT_TIME;
}

/* -- writing --------------------------------------------------------------------------------------------- */

size_t ct_time_write(double days, char text[CT_TIME_TEXT])
{
    const double farthest = 365e6; /* years of six digits */
    if (!text) return 0;
    if (!(fabs(days) < farthest)) return ct_number_write(days, 17, text);
    int64_t day = (int64_t)floor(days), ms = llround((days - floor(days)) * 86400e3);
    day += ms / 86400000;
    ms %= 86400000;
    int month, of_month;
    const int64_t year = date_from_days(day, &month, &of_month);
    const bool longer = year < 0 || year > 9999;
    int n = snprintf(text, CT_TIME_TEXT, longer ? "%+07lld-%02d-%02d" : "%04lld-%02d-%02d", (long long)year,
                     month, of_month);
    if (ms == 0) return (size_t)n;
    const int s = (int)(ms / 1000);
    n += snprintf(text + n, CT_TIME_TEXT - (size_t)n, "T%02d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
    if (ms % 1000) n += snprintf(text + n, CT_TIME_TEXT - (size_t)n, ".%03d", (int)(ms % 1000));
    n += snprintf(text + n, CT_TIME_TEXT - (size_t)n, "Z");
    return (size_t)n;
}
