/* Times as text [ISO 8601-1:2019], in days since 1970-01-01T00:00:00Z. */
#include "time_scan.h"

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

int64_t ct__time_date(ct__time_scan *s, int year, int month, int day)
{
    s->possible &= month >= 1 && month <= 12 && day >= 1 && day <= days_of_month(year, month);
    return s->possible ? days_from_date(year, month, day) : 0;
}

/* -- reading --------------------------------------------------------------------------------------------- */

/* (.|,) digits+ */
static bool fraction(ct__time_scan *s, double *value)
{
    double unit = 1;
    int digit;
    *value = 0;
    if (!ct__time_accept(s, '.') && !ct__time_accept(s, ',')) return true;
    const char *first = s->at;
    while (ct__time_digits(s, 1, 1, &digit)) *value += digit * (unit /= 10);
    return s->at > first;
}

/* Reads Z, +HH:MM, +HHMM or +HH, or with a minus, as minutes ahead of UTC. */
static bool zone(ct__time_scan *s, int *minutes)
{
    int hour = 0, minute = 0;
    *minutes = 0;
    if (s->at == s->end || ct__time_accept(s, 'Z') || ct__time_accept(s, 'z')) return true;
    const bool behind = ct__time_accept(s, '-');
    if (!behind && !ct__time_accept(s, '+')) return false;
    if (!ct__time_digits(s, 2, 2, &hour)) return false;
    if (s->at < s->end) {
        ct__time_accept(s, ':');
        if (!ct__time_digits(s, 2, 2, &minute)) return false;
    }
    s->possible &= hour < 24 && minute < 60;
    *minutes = behind ? -(60 * hour + minute) : 60 * hour + minute;
    return true;
}

/* [ ] (AM|PM): noon and midnight are 12. */
static void half_day(ct__time_scan *s, int *hour)
{
    const char *p = s->at + (s->at < s->end && *s->at == ' ');
    const bool after = s->end - p == 2 && ct__is_word(p, 2, "pm");
    if (!after && !(s->end - p == 2 && ct__is_word(p, 2, "am"))) return;
    s->possible &= *hour >= 1 && *hour <= 12;
    *hour = *hour % 12 + 12 * after;
    s->at = s->end;
}

bool ct__time_clock(ct__time_scan *s, bool iso, double *days)
{
    int hour, minute, second = 0, ahead = 0;
    double part = 0;
    if (!ct__time_digits(s, iso ? 2 : 1, 2, &hour) || !ct__time_accept(s, ':')) return false;
    if (!ct__time_digits(s, 2, 2, &minute)) return false;
    if (ct__time_accept(s, ':') && (!ct__time_digits(s, 2, 2, &second) || !fraction(s, &part))) return false;
    if (!iso) half_day(s, &hour);
    if (!zone(s, &ahead)) return false;
    s->possible &= hour < 24 && minute < 60 && second <= 60;
    *days = (60.0 * (60 * hour + minute - ahead) + second + part) / 86400;
    return true;
}

ct_time ct_time_read(const char *text, size_t size, double *days)
{
    ct__time_scan s = ct__time_begin(text, size);
    int year = 0, month = 0, day = 1;
    double clock = 0;
    if (days) *days = NAN;
    if (!text || !days) return CT_TIME_NONE;
    const bool before = ct__time_accept(&s, '-'), longer = before || ct__time_accept(&s, '+');
    const int width = longer ? 6 : 4;
    if (!ct__time_digits(&s, width, width, &year) || !ct__time_accept(&s, '-')) return CT_TIME_NONE;
    if (!ct__time_digits(&s, 2, 2, &month)) return CT_TIME_NONE;
    if (ct__time_accept(&s, '-')) {
        if (!ct__time_digits(&s, 2, 2, &day)) return CT_TIME_NONE;
        const bool more = ct__time_accept(&s, 'T') || ct__time_accept(&s, 't') || ct__time_accept(&s, ' ');
        if (more && !ct__time_clock(&s, true, &clock)) return CT_TIME_NONE;
    }
    if (s.at < s.end) return CT_TIME_NONE;
    const int64_t date = ct__time_date(&s, before ? -year : year, month, day);
    if (!s.possible) return CT_TIME_IMPOSSIBLE;
    *days = (double)date + clock;
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
