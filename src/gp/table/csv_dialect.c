/* Detects the signs that separate the fields of a table and the decimals of its numbers.
 *
 * To find the separator, the first rows are read with each candidate. The first of these rules that applies
 * decides:
 *   1. The comma, if it gives at least two fields in each row, as many in each, and no text below the first
 *      row.
 *   2. The first of semicolon, tab and runs of blanks that gives only numbers in that way.
 *   3. With columns of text: the one that gives rows of equal length with numbers in them. If several do:
 *      the comma, if no other gives more numbers; else none is certain.
 *   4. A semicolon or tab that is in the first row, which has no comma, and in most other rows; else the
 *      comma.
 *
 * The decimal sign is the point in a table separated by commas. In others all numbers are examined: 0.5 and
 * 1,234.5 prove a point, 0,5 and 1.234,5 a comma. 1,234 proves nothing. 1.234 is taken for a number with a
 * point unless a comma is proven. */
#include "csv_dialect.h"

#include <cotangent/io.h>

#include <string.h>

#include "csv_error.h"
#include "csv_number.h"

enum { FIRST_ROWS = 100 };

/* -- the separator --------------------------------------------------------------------------------------- */

typedef struct look {
    char separator;
    int64_t rows, parted;   /* rows of two fields or more */
    int64_t first;          /* fields of the first row */
    int64_t numbers, texts; /* below the first row, or in it where it is the only one */
    bool even;              /* all rows are as long as the first, with two fields or more */
} look;

static ct_status look_at_row(ct__csv *r, look *l)
{
    ct__field f;
    int64_t fields = 0;
    if (l->rows == 1) l->numbers = l->texts = 0;
    do {
        ct_status s = ct__csv_field(r, &f);
        if (s) return s;
        ct__numeral n;
        ct_number k = ct__csv_number(&f, '.', &n);
        if (k == CT_NUMBER_NONE) k = ct__csv_number(&f, ',', &n);
        l->numbers += k == CT_NUMBER;
        l->texts += k > CT_NUMBER_MISSING;
        fields++;
    } while (!f.last);
    if (!l->rows++) l->first = fields;
    l->parted += fields > 1;
    l->even &= fields > 1 && fields == l->first;
    return CT_OK;
}

/* Reads the first rows with `separator`. */
static ct_status look_with(ct__csv *r, char separator, look *l)
{
    const ct__place start = ct__csv_place(r);
    ct_status s = CT_OK;
    *l = (look){ .separator = separator, .even = true };
    r->dialect.separator = separator;
    while (l->rows < FIRST_ROWS && !s && ct__csv_find_row(r)) s = look_at_row(r, l);
    ct__csv_go_to(r, start);
    l->even = l->even && l->rows && !s;
    return s == CT_EFORMAT ? CT_OK : s;
}

static const char *sign_name(char sign)
{
    return sign == ' ' ? "blanks" : sign == '\t' ? "a tab" : sign == ';' ? "a semicolon" : "a comma";
}

static ct_status find_separator(ct__csv *r)
{
    static const char signs[] = { ',', ';', '\t', ' ' };
    enum { COMMA, SEMICOLON, TAB, BLANKS, SIGNS };
    look l[SIGNS];
    for (int k = 0; k < SIGNS; k++) {
        ct_status s = look_with(r, signs[k], &l[k]);
        if (s) return s;
        if (l[k].even && !l[k].texts && (k == COMMA || l[k].numbers)) return CT_OK;
    }
    const look *best = l[COMMA].even ? &l[COMMA] : NULL, *rival = NULL;
    for (int k = SEMICOLON; k <= (best ? TAB : BLANKS); k++) {
        if (!l[k].even || !l[k].numbers) continue;
        if (!best || !best->numbers)
            best = &l[k];
        else if (best != &l[COMMA] || l[k].numbers > best->numbers)
            rival = &l[k];
    }
    if (rival)
        return ct_device_fail(r->device, CT_EFORMAT,
                              "%s:%lld: %s or %s may separate the fields: state the separator", r->label,
                              (long long)r->line, sign_name(best->separator), sign_name(rival->separator));
    for (int k = SEMICOLON; k <= TAB && !best && l[COMMA].first <= 1; k++)
        if (l[k].first > 1 && 2 * l[k].parted > l[k].rows) best = &l[k];
    r->dialect.separator = best ? best->separator : ',';
    return CT_OK;
}

/* -- the decimal sign ------------------------------------------------------------------------------------ */

enum { POINT, COMMA, EITHER, PROOFS };

typedef struct proof {
    int64_t line; /* 0: there is none */
    char text[CT_SHOWN_TEXT];
} proof;

/* The decimal sign that a field proves; PROOFS if it is no number, or the same number with both. */
static int proven_by(const ct__field *f)
{
    ct__numeral with_point, with_comma;
    const bool point = ct__csv_number(f, '.', &with_point) == CT_NUMBER;
    const bool comma = ct__csv_number(f, ',', &with_comma) == CT_NUMBER;
    if (point != comma) return point ? POINT : COMMA;
    if (!point || with_point.value == with_comma.value || !memchr(f->text, ',', f->size)) return PROOFS;
    return EITHER;
}

static ct_status find_decimal(ct__csv *r)
{
    const ct__place start = ct__csv_place(r);
    proof p[PROOFS] = { 0 };
    r->dialect.decimal = '.';
    if (r->dialect.separator == ',' || !memchr(r->at, ',', (size_t)(r->end - r->at))) return CT_OK;
    while (ct__csv_find_row(r)) {
        ct__field f;
        do {
            ct_status s = ct__csv_field(r, &f);
            if (s == CT_ENOMEM) return s;
            if (s) f.last = true, r->at = r->end; /* reading the rows reports it */
            const int k = s ? PROOFS : proven_by(&f);
            if (k == PROOFS || p[k].line) continue;
            p[k].line = f.line;
            ct_show_text(f.text, f.size, p[k].text);
        } while (!f.last);
    }
    ct__csv_go_to(r, start);
    if (p[POINT].line && p[COMMA].line)
        return ct_device_fail(
            r->device, CT_EFORMAT,
            "%s:%lld: \"%s\" has a decimal comma, and \"%s\" in line %lld a point: state the "
            "decimal sign",
            r->label, (long long)p[COMMA].line, p[COMMA].text, p[POINT].text, (long long)p[POINT].line);
    if (p[EITHER].line && !p[POINT].line && !p[COMMA].line)
        return ct_device_fail(
            r->device, CT_EFORMAT,
            "%s:%lld: \"%s\" may have a decimal comma, or one for thousands: state the decimal "
            "sign",
            r->label, (long long)p[EITHER].line, p[EITHER].text);
    r->dialect.decimal = p[COMMA].line ? ',' : '.';
    return CT_OK;
}

ct_status ct__csv_find_dialect(ct__csv *r)
{
    ct_status s = CT_OK;
    r->looking = true;
    if (!r->dialect.separator) s = find_separator(r);
    if (!s && !r->dialect.decimal) s = find_decimal(r);
    r->looking = false;
    return s;
}
