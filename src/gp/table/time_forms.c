/* Times in the forms of tables, where ISO 8601's is not used. */
#include "time_scan.h"

#include <math.h>
#include <string.h>

/* -- the parts of a date --------------------------------------------------------------------------------- */

/* Skips one of these signs and returns it; 0 if none is there. */
static char sign(ct__time_scan *s, const char *signs)
{
    return s->at < s->end && *s->at && strchr(signs, *s->at) ? *s->at++ : 0;
}

/* Four digits, or two: 69 to 99 are of the last century [POSIX, strptime]. */
static bool year(ct__time_scan *s, bool two, int *value)
{
    if (ct__time_digits(s, 4, 4, value)) return true;
    if (!two || !ct__time_digits(s, 2, 2, value)) return false;
    *value += *value < 69 ? 2000 : 1900;
    return s->at == s->end || !ct__is_digit(*s->at);
}

/* The English name of a month, or its first letters, at least three. */
static bool month_name(ct__time_scan *s, int *month)
{
    static const char *const names[] = {
        "january", "february", "march",     "april",   "may",      "june",
        "july",    "august",   "september", "october", "november", "december"
    };
    char word[12];
    size_t n = 0;
    while (n + 1 < sizeof word && (int)n < s->end - s->at &&
           ((s->at[n] | 32) >= 'a' && (s->at[n] | 32) <= 'z'))
        word[n] = s->at[n] | 32, n++;
    for (*month = 1; n >= 3 && *month <= 12; ++*month)
        if (!strncmp(word, names[*month - 1], n)) return s->at += n, true;
    return false;
}

/* -- dates ----------------------------------------------------------------------------------------------- */

/* Week 1 holds 4 January, and weeks begin on Mondays [ISO 8601]. 1970-01-01 was a Thursday. */
static int64_t week_date(ct__time_scan *s, int of_year, int week, int day)
{
    const int64_t fourth = ct__time_date(s, of_year, 1, 4), monday = fourth - ((fourth + 3) % 7 + 7) % 7,
                  next = ct__time_date(s, of_year + 1, 1, 4), last = next - ((next + 3) % 7 + 7) % 7;
    const int64_t date = monday + 7 * (week - 1) + day - 1;
    s->possible &= week >= 1 && day >= 1 && day <= 7 && date < last;
    return date;
}

/* YYYY/MM/DD, YYYY.MM.DD, YYYY-M-D, YYYY-Www[-D], YYYY[-| ]Qn */
static bool year_first(ct__time_scan *s, int64_t *date)
{
    int y, m, d = 1;
    if (!ct__time_digits(s, 4, 4, &y)) return false;
    const char between = sign(s, "-/. ");
    if (between != '/' && between != '.' && sign(s, "Qq")) {
        if (!ct__time_digits(s, 1, 1, &m)) return false;
        *date = ct__time_date(s, y, 3 * m - 2, 1);
    } else if (between == '-' && sign(s, "Ww")) {
        if (!ct__time_digits(s, 2, 2, &m) || (sign(s, "-") && !ct__time_digits(s, 1, 1, &d))) return false;
        *date = week_date(s, y, m, d);
    } else {
        if (!between || between == ' ' || !ct__time_digits(s, 1, 2, &m)) return false;
        if (sign(s, "/.-") != between || !ct__time_digits(s, 1, 2, &d)) return false;
        *date = ct__time_date(s, y, m, d);
    }
    return true;
}

/* 31.1.2024, 31/01/24, 31-01-2024; with the month first, 1/31/2024 and 01-31-2024 */
static bool numbers(ct__time_scan *s, bool month_first, int64_t *date)
{
    int a, b, y;
    if (!ct__time_digits(s, 1, 2, &a)) return false;
    const char between = sign(s, "./-");
    if (!between || (month_first && between == '.') || !ct__time_digits(s, 1, 2, &b)) return false;
    if (sign(s, "./-") != between || !year(s, between != '-', &y)) return false;
    *date = month_first ? ct__time_date(s, y, a, b) : ct__time_date(s, y, b, a);
    return true;
}

/* 1-Jan-2020, 1 January 2020, 01Jan20, Jan 1, 2020, Jan-2020 */
static bool with_name(ct__time_scan *s, int64_t *date)
{
    int y, m, d = 1;
    const bool day_first = ct__time_digits(s, 1, 2, &d);
    if (day_first)
        sign(s, "- ./");
    else
        d = 1;
    if (!month_name(s, &m)) return false;
    if (sign(s, "."))
        sign(s, " ");
    else
        sign(s, "- /");
    if (!year(s, day_first, &y)) {
        if (day_first || !ct__time_digits(s, 1, 2, &d)) return false;
        sign(s, ",");
        if (!sign(s, " ") || !year(s, false, &y)) return false;
    }
    *date = ct__time_date(s, y, m, d);
    return true;
}

/* -- all forms ------------------------------------------------------------------------------------------- */

static bool date_in_form(ct__time_scan *s, ct_time_form form, int64_t *date)
{
    const ct__time_scan start = *s;
    if (form == CT_TIME_YEAR_FIRST) return year_first(s, date);
    if (with_name(s, date)) return true;
    *s = start;
    return numbers(s, form == CT_TIME_MONTH_FIRST, date);
}

ct_time ct_time_read_as(const char *text, size_t size, ct_time_form form, double *days)
{
    const ct_time iso = ct_time_read(text, size, days);
    if (iso != CT_TIME_NONE || !text || !days || form <= CT_TIME_ISO || form > CT_TIME_CLOCK) return iso;
    ct__time_scan s = ct__time_begin(text, size);
    int64_t date = 0;
    double clock = 0;
    if (form == CT_TIME_CLOCK) {
        if (!ct__time_clock(&s, false, &clock)) return CT_TIME_NONE;
    } else {
        if (!date_in_form(&s, form, &date)) return CT_TIME_NONE;
        if (s.at < s.end && (!sign(&s, "Tt ") || !ct__time_clock(&s, false, &clock))) return CT_TIME_NONE;
    }
    if (s.at < s.end) return CT_TIME_NONE;
    if (!s.possible) return CT_TIME_IMPOSSIBLE;
    *days = (double)date + clock;
    return CT_TIME;
}

bool ct_time_from_digits(double value, double *days)
{
    const bool whole = value >= 10000101 && value <= 99991231 && value == floor(value);
    const int n = whole ? (int)value : 0;
    ct__time_scan s = { .possible = whole };
    const int64_t date = ct__time_date(&s, n / 10000, n / 100 % 100, n % 100);
    *days = s.possible ? (double)date : (double)NAN;
    return s.possible;
}
