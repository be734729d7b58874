#include "scan.h"

#include <cotangent/gp/number.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prior.h"

/* -- tokens ---------------------------------------------------------------------------------------------- */

void ct__scan_fail(ct__scan *p, ct_status status, const char *place, const char *format, ...)
{
    if (p->status) return;
    va_list args;
    va_start(args, format);
    vsnprintf(p->what, sizeof p->what, format, args);
    va_end(args);
    p->status = status;
    p->place = place;
}

void ct__scan_no_memory(ct__scan *p) { ct__scan_fail(p, CT_ENOMEM, p->at, "out of memory"); }

const char *ct__scan_space(ct__scan *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r') p->at++;
    return p->at;
}

bool ct__scan_accept(ct__scan *p, char c)
{
    ct__scan_space(p);
    if (*p->at != c) return false;
    p->at++;
    return true;
}

void ct__scan_expect(ct__scan *p, char c)
{
    if (!ct__scan_accept(p, c))
        ct__scan_fail(p, CT_EFORMAT, p->at, *p->at ? "expected \"%c\"" : "the text ends, expected \"%c\"", c);
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

const char *ct__scan_name(ct__scan *p, char word[32])
{
    const char *start = ct__scan_space(p);
    int n = 0;
    while (is_letter(*p->at) || (p->at > start && ct__is_digit(*p->at))) {
        char c = *p->at++;
        if (n < 31) word[n++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    word[n] = 0;
    return start;
}

static const char *behind_digits(const char *text) { return text + strspn(text, "0123456789"); }

int ct__scan_integer(ct__scan *p, int limit, const char *what)
{
    const char *start = ct__scan_space(p);
    p->at = behind_digits(start);
    const long long value =
        p->at > start ? strtoll(start, NULL, 10) : -1; /* the largest one if it is larger */
    if (value < 0) ct__scan_fail(p, CT_EFORMAT, start, "expected %s, a whole number", what);
    if (value > limit) ct__scan_fail(p, CT_EFORMAT, start, "%s is at most %d", what, limit);
    return p->status ? 0 : (int)value;
}

/* Reads digits [. digits] [e [+-] digits]; returns the end, or `text` if there is no number. A number of more
 * than 200 characters gives NaN. */
static const char *decimal(const char *text, double *value)
{
    const char *point = behind_digits(text), *end = *point == '.' ? behind_digits(point + 1) : point;
    if (end == text + (*text == '.')) return text;
    if (*end == 'e' || *end == 'E') {
        const char *power = end + (end[1] == '+' || end[1] == '-' ? 2 : 1);
        if (ct__is_digit(*power)) end = behind_digits(power);
    }
    *value = NAN;
    if (end - text <= 200) ct_number_read(text, (size_t)(end - text), value);
    return end;
}

void ct__scan_value(ct__scan *p, ct_param *param)
{
    const char *start = ct__scan_space(p), *digits = start + (param->any_sign && *start == '-');
    p->at = decimal(digits, &param->value);
    if (digits > start) param->value = -param->value;
    if (p->at == digits)
        ct__scan_fail(p, CT_EFORMAT, start, "expected a %snumber", param->any_sign ? "" : "positive ");
    else if (!ct__param_valid(param, param->value))
        ct__scan_fail(p, CT_EFORMAT, start, param->any_sign ? CT__PARAM_FINITE : CT__PARAM_POSITIVE);
    param->fixed = ct__scan_accept(p, '!');
    param->start_given = true;
}

/* -- the message ----------------------------------------------------------------------------------------- */

void ct__scan_message(const ct__scan *p, const char *subject, char *text, size_t size)
{
    enum { BEFORE = 60, AFTER = 30 };
    size_t place = (size_t)(p->place - p->text);
    size_t from = place > BEFORE ? place - BEFORE : 0, n = 0;
    char excerpt[BEFORE + AFTER + 8];
    if (from) n = (size_t)snprintf(excerpt, sizeof excerpt, "...");
    size_t caret = n + place - from;
    const char *s = p->text + from;
    for (; *s && s < p->place + AFTER; s++)
        excerpt[n++] = *s > ' ' && *s < 127 ? *s : strchr(" \t\n\r", *s) ? ' ' : '?';
    excerpt[n] = 0;
    snprintf(text, size, "%s: %s\n  %s%s\n  %*s^", subject, p->what, excerpt, *s ? "..." : "", (int)caret,
             "");
}
