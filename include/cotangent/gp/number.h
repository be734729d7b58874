/* Numbers and times as text, with a decimal point in every locale. */
#ifndef COTANGENT_GP_NUMBER_H
#define COTANGENT_GP_NUMBER_H

#include <cotangent/status.h>

CT_BEGIN_DECLS

/* -- numbers --------------------------------------------------------------------------------------------- */
/* Decimal numbers, converted exactly. */

typedef enum ct_number {
    CT_NUMBER = 0,
    CT_NUMBER_MISSING,   /* empty, NA, N/A, NaN, null, None, ?, - or ., or one of Excel's errors, as #N/A */
    CT_NUMBER_NONE,      /* anything else */
    CT_NUMBER_TOO_LARGE, /* more than the largest double */
} ct_number;

/* Reads all of text[0..size):
 *     [sign] (digits [. digits*] | . digits) [(e|E) [sign] digits]
 * rounded to the nearest double, or inf or infinity with an optional sign. Words may be in any case. *value
 * is infinite for CT_NUMBER_TOO_LARGE, and NaN for CT_NUMBER_MISSING and CT_NUMBER_NONE. */
CT_API ct_number ct_number_read(const char *text, size_t size, double *value);

enum { CT_NUMBER_TEXT = 32 };
/* Writes value with `digits` significant digits and a NUL, or "nan", "inf" or "-inf". 17 digits suffice for a
 * double, 9 for a float; 0: the fewest digits, but at least 15, that read back as the same double. Returns
 * the length. */
CT_API size_t ct_number_write(double value, int digits, char text[CT_NUMBER_TEXT]);

/* -- times ----------------------------------------------------------------------------------------------- */
/* In days since 1970-01-01T00:00:00Z, by the proleptic Gregorian calendar without leap seconds [ISO 8601]. */

typedef enum ct_time {
    CT_TIME = 0,
    CT_TIME_NONE,       /* not a time                                          */
    CT_TIME_IMPOSSIBLE, /* written like one, as 2023-02-29 or 2024-01-01T25:00 */
} ct_time;

/* Reads all of text[0..size):
 *     YYYY-MM [ -DD [ (T| ) HH:MM [ :SS [ (.|,) digits ] ] [ Z | (+|-)HH[[:]MM] ] ] ]
 * Without a day, it is the first of the month; without a zone, UTC. A year with a sign has six digits. *days
 * is NaN unless the result is CT_TIME. */
CT_API ct_time ct_time_read(const char *text, size_t size, double *days);

/* How a column's times are written. */
typedef enum ct_time_form {
    CT_TIME_ISO = 0,    /* as ct_time_read reads them */
    CT_TIME_YEAR_FIRST, /* 2024/1/31, 2024.01.31, 2024-1-31; 2024-W05-3, 2024-W05; 2024 Q1, 2024-Q1, 2024Q1 */
    CT_TIME_DAY_FIRST,  /* 31.1.2024, 31/01/24, 31-01-2024; 31-Jan-2024, Jan 31, 2024, Jan 2024 */
    CT_TIME_MONTH_FIRST, /* 1/31/2024, 01/31/24, 01-31-2024; the same with a name */
    CT_TIME_CLOCK,       /* 9:30, 09:30:15, 2:30 PM, as parts of a day */
    CT_TIME_DIGITS,      /* the number 20240131 */
    CT_TIME_EXCEL,       /* the number of days since 1899-12-30 */
} ct_time_form;

/* Reads all of text[0..size), in ISO 8601's form or in `form`; CT_TIME_DIGITS and CT_TIME_EXCEL are of
 * numbers, and add nothing. Weeks and quarters are their first day. A date may be followed by T or a blank
 * and a time of day. A year of two digits is 1969 to 2068; names of months are English. *days is NaN unless
 * the result is CT_TIME. */
CT_API ct_time ct_time_read_as(const char *text, size_t size, ct_time_form form, double *days);

/* Whether the number is a date, year 10000 + month 100 + day. *days is NaN if it is not. */
CT_API bool ct_time_from_digits(double value, double *days);

enum { CT_TIME_TEXT = 48 };
/* Writes 2024-01-31, 2024-01-31T12:30:00Z or 2024-01-31T12:30:00.250Z, rounded to milliseconds, and a NUL.
 * All times with the same milliseconds are read back as the same double. A time that is not finite, or a
 * million years away, is written as a number. Returns the length. */
CT_API size_t ct_time_write(double days, char text[CT_TIME_TEXT]);

CT_END_DECLS
#endif
