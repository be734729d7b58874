#include "csv_number.h"

#include <math.h>
#include <string.h>

#include "letters.h"
#include "number.h"

enum { LONGEST = 80 }; /* bytes of a number in an unusual form */

typedef struct span {
    const char *at, *end;
} span;

static bool begins(span s, const char *with)
{
    const size_t n = strlen(with);
    return (size_t)(s.end - s.at) >= n && !memcmp(s.at, with, n);
}

/* -- what stands around a number ------------------------------------------------------------------------- */

/* Excel keeps ="1" as a text. */
static span unwrap(span s)
{
    if (s.end - s.at > 3 && s.at[0] == '=' && s.at[1] == '"' && s.end[-1] == '"') s.at += 2, s.end--;
    return s;
}

static bool is_percent(span *s)
{
    if (s->end - s->at < 2 || s->end[-1] != '%') return false;
    for (s->end--; s->end > s->at && ct__is_space(s->end[-1]);) s->end--;
    return true;
}

/* A blank, or one of Unicode's that does not break: its bytes; 0: none. */
static size_t blank(span s)
{
    return begins(s, " ") ? 1 : begins(s, "\u00a0") ? 2 : begins(s, "\u202f") || begins(s, "\u2009") ? 3 : 0;
}

/* Takes '-' or '+' from the front; 0: there is none. */
static char take_sign(span *s)
{
    const bool minus = begins(*s, "\u2212"), plain = begins(*s, "-") || begins(*s, "+");
    const char sign = minus ? '-' : plain ? *s->at : 0;
    s->at += minus ? strlen("\u2212") : plain;
    return sign;
}

/* Takes a currency's sign from the front. */
static span take_currency(span *s)
{
    static const char *const signs[] = { "$", "€", "£", "¥", "₹" };
    span unit = { s->at, s->at };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (begins(*s, signs[i])) unit.end = s->at + strlen(signs[i]);
    s->at = unit.end;
    if (unit.end > unit.at) s->at += blank(*s);
    return unit;
}

/* Takes a unit from the end: letters, signs of currencies and the like, without a digit. */
static span take_unit(span *s)
{
    const char *p = s->end, *first;
    while (p > s->at && !ct__is_digit(p[-1]) && p[-1] != '.' && p[-1] != ',') p--;
    first = p + blank((span){ p, s->end });
    const bool letter = first < s->end && (((*first | 32) >= 'a' && (*first | 32) <= 'z') || *first == '$' ||
                                           (unsigned char)*first >= 0x80);
    const span unit = { first, s->end };
    if (!letter || p == s->at || unit.end - unit.at >= CT__UNIT_TEXT) return (span){ s->end, s->end };
    s->end = p;
    return unit;
}

/* -- its digits ------------------------------------------------------------------------------------------ */

/* The sign at s that groups digits: its bytes; 0: none. */
static size_t group_sign(span s, char decimal)
{
    if (begins(s, "'") || begins(s, "_") || begins(s, decimal == '.' ? "," : ".")) return 1;
    return begins(s, "\u2019") ? 3 : blank(s);
}

/* Copies the digits before the decimal sign, without the sign between groups of three, or of two before the
 * last. Returns where they end; NULL if the groups are none. */
static const char *copy_groups(span s, char decimal, char **to, char *group)
{
    const char *sign = NULL;
    size_t bytes = 0;
    int run = 0, groups = 0, pairs = 0;
    for (const bool zero = begins(s, "0"); s.at < s.end; s.at++) {
        if (ct__is_digit(*s.at)) {
            *(*to)++ = *s.at;
            run++;
            continue;
        }
        const size_t n = group_sign(s, decimal);
        if (!n || (sign && (n != bytes || memcmp(sign, s.at, n)))) break;
        if (groups ? run != 3 && run != 2 : zero || run < 1 || run > 3) return NULL;
        pairs += groups && run == 2;
        groups++;
        sign = s.at;
        bytes = n;
        run = 0;
        s.at += n - 1;
    }
    if (groups && (run != 3 || (pairs && (pairs != groups - 1 || *sign != ',')))) return NULL;
    *group = sign ? *sign : 0;
    return s.at;
}

/* Copies the number as ct__number_read takes it; false if it has no such form. */
static bool copy_number(span s, char sign, char decimal, char text[LONGEST], size_t *size, char *group)
{
    char *to = text;
    if (s.end - s.at >= LONGEST - 1) return false;
    if (sign) *to++ = sign;
    s.at = copy_groups(s, decimal, &to, group);
    if (!s.at) return false;
    for (const char *p = s.at; p < s.end; p++) *to++ = *p == 'D' || *p == 'd' ? 'e' : *p; /* Fortran's 1D3 */
    *size = (size_t)(to - text);
    return true;
}

/* A number that is not written as ct_number_read takes it. */
static ct_number read_unusual(span s, char decimal, ct__numeral *n)
{
    char text[LONGEST], group = 0;
    size_t size;
    s = unwrap(s);
    const bool percent = is_percent(&s);
    char sign = take_sign(&s);
    span unit = take_currency(&s);
    if (!sign) sign = take_sign(&s);
    if (unit.at == unit.end && !percent) unit = take_unit(&s);
    if (!copy_number(s, sign, decimal, text, &size, &group)) return CT_NUMBER_NONE;
    const ct_number k = ct__number_read(text, size, decimal, &n->value);
    if (k == CT_NUMBER_MISSING) return n->value = NAN, CT_NUMBER_NONE; /* NA% */
    if (k != CT_NUMBER) return k;
    n->form = percent ? CT__PERCENT : unit.at < unit.end ? CT__UNIT : CT__BARE;
    if (group == ',' || group == '.') n->form |= CT__GROUPED;
    n->unit = unit.at;
    n->unit_size = (size_t)(unit.end - unit.at);
    return k;
}

ct_number ct__csv_number(const ct__field *f, char decimal, ct__numeral *n)
{
    const char *text = f->text;
    size_t size = f->size;
    *n = (ct__numeral){ .form = 0 };
    ct__trim(&text, &size);
    const ct_number k = ct__number_read(text, size, decimal, &n->value);
    if (k == CT_NUMBER) n->form = CT__BARE;
    return k == CT_NUMBER_NONE ? read_unusual((span){ text, text + size }, decimal, n) : k;
}
