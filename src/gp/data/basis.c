/* Basis functions from text: recursive descent over the grammar of basis.h. */
#include "basis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gp/kernel/scan.h"

typedef struct reader {
    ct__scan scan;
    const ct_column *columns;
    int64_t d;
} reader;

/* -- columns --------------------------------------------------------------------------------------------- */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || ct__is_digit(c) || c == '_' || c == '.' ||
           (unsigned char)c >= 128;
}

/* The end of the name at `text`; `text` if there is none. */
static const char *behind_name(const char *text)
{
    const char *end = text;
    while (is_plain(*end)) end++;
    return *text == '"' ? ct__scan_behind_quotes(text) : end;
}

/* k of "x<k>", or -1 */
static int64_t number_of(const char *text, const char *end, int64_t d)
{
    int64_t k = 0;
    if (*text++ != 'x' || text == end || (*text == '0' && text + 1 < end)) return -1;
    for (; text < end && k < d; text++) {
        if (!ct__is_digit(*text)) return -1;
        k = 10 * k + (*text - '0');
    }
    return text == end && k < d ? k : -1;
}

static void no_column(reader *r, const char *place, const char *end)
{
    char list[160];
    ct__scan_list(list, sizeof list, r->columns, r->d);
    ct__scan_fail(&r->scan, CT_EFORMAT, place, "no column %.*s; there are %s",
                  (int)(end - place < 60 ? end - place : 60), place, list);
    for (char *c = r->scan.what; *c; c++)
        if ((unsigned char)*c < ' ') *c = ' ';
}

/* The column named here; -1 after a failure. */
static int column(reader *r)
{
    ct__scan *p = &r->scan;
    const char *place = ct__scan_space(p), *end = behind_name(place);
    int64_t found = -1;
    if (end == place) {
        ct__scan_fail(p, CT_EFORMAT, place,
                      !*place         ? "the text ends where a column or 1 is expected"
                      : *place == '"' ? "a name begins here whose second quote is missing"
                                      : "expected a column or 1; a name with blanks or signs is in quotes");
        return -1;
    }
    for (int64_t j = 0; r->columns && j < r->d && found < 0; j++)
        if (ct__scan_is_name(place, end, r->columns[j].name)) found = j;
    if (found < 0) found = number_of(place, end, r->d);
    if (found < 0)
        no_column(r, place, end);
    else if (r->columns && r->columns[found].kind == CT_COLUMN_CATEGORY)
        ct__scan_fail(p, CT_EFORMAT, place, "this column is a category, and a function takes numbers");
    p->at = end;
    return (int)found;
}

/* -- terms ----------------------------------------------------------------------------------------------- */

/* Multiplies t by x_column^power. */
static void multiply(ct__term *t, int column, int power)
{
    int k = 0;
    while (k < t->factors && t->column[k] < column) k++;
    if (k < t->factors && t->column[k] == column) {
        t->power[k] += power;
        return;
    }
    memmove(t->column + k + 1, t->column + k, (size_t)(t->factors - k) * sizeof *t->column);
    memmove(t->power + k + 1, t->power + k, (size_t)(t->factors - k) * sizeof *t->power);
    t->factors++;
    t->column[k] = column;
    t->power[k] = power;
}

/* Returns the degree that the factor adds to t. */
static int factor(reader *r, ct__term *t, int left)
{
    ct__scan *p = &r->scan;
    const char *place = ct__scan_space(p);
    if (ct__is_digit(*place)) {
        p->at = behind_name(place);
        if (*place != '1' || p->at > place + 1)
            ct__scan_fail(p, CT_EFORMAT, place,
                          "the only number is 1: coefficients are found from the data; a name that begins "
                          "with a digit is in quotes");
        return 0;
    }
    int power = 1, at = column(r);
    if (!p->status && ct__scan_accept(p, '^')) {
        const char *behind = ct__scan_space(p);
        power = ct__scan_integer(p, CT__BASIS_DEGREE, "a power");
        if (power < 1) ct__scan_fail(p, CT_EFORMAT, behind, "a power is at least 1");
    }
    if (!p->status && power > left)
        ct__scan_fail(p, CT_EFORMAT, place, "the powers of a function add up to more than %d",
                      CT__BASIS_DEGREE);
    if (!p->status) multiply(t, at, power);
    return power;
}

bool ct__term_equal(const ct__term *a, const ct__term *b)
{
    const size_t bytes = (size_t)a->factors * sizeof *a->column;
    return a->factors == b->factors && !memcmp(a->column, b->column, bytes) &&
           !memcmp(a->power, b->power, bytes);
}

static void term(reader *r, ct__basis *b)
{
    ct__scan *p = &r->scan;
    const char *place = ct__scan_space(p);
    ct__term t = { 0 };
    int left = CT__BASIS_DEGREE;
    do left -= factor(r, &t, left);
    while (!p->status && ct__scan_accept(p, '*'));
    for (int k = 0; k < b->count; k++)
        if (ct__term_equal(&t, &b->term[k]))
            ct__scan_fail(p, CT_EFORMAT, place, "this function is there twice");
    if (b->count == CT__BASIS_TERMS)
        ct__scan_fail(p, CT_EFORMAT, place, "more than %d functions", CT__BASIS_TERMS);
    if (!p->status) b->term[b->count++] = t;
}

ct_status ct__basis_parse(const char *text, const ct_column *columns, int64_t d, ct__basis *b,
                          char message[CT__BASIS_MESSAGE])
{
    reader r = { .scan = { .text = text, .at = text }, .columns = columns, .d = d };
    ct__scan *p = &r.scan;
    *b = (ct__basis){ 0 };
    do term(&r, b);
    while (!p->status && ct__scan_accept(p, '+'));
    if (*ct__scan_space(p))
        ct__scan_fail(p, CT_EFORMAT, p->at,
                      "expected \"+\", \"*\", \"^\" or the end; a name with blanks or signs is in quotes");
    if (p->status) ct__scan_message(p, "mean", message, CT__BASIS_MESSAGE);
    return p->status;
}

bool ct__basis_constant(const ct__basis *b)
{
    for (int k = 0; k < b->count; k++)
        if (!b->term[k].factors) return true;
    return false;
}

/* -- printing -------------------------------------------------------------------------------------------- */

typedef struct writer {
    char *text;
    size_t size, length;
} writer;

static void put(writer *w, const char *bytes)
{
    for (; *bytes; bytes++, w->length++)
        if (w->length + 1 < w->size) w->text[w->length] = *bytes;
    if (w->size) w->text[w->length < w->size ? w->length : w->size - 1] = 0;
}

static void put_name(writer *w, const char *name)
{
    const char *end = name;
    while (is_plain(*end)) end++;
    const bool quoted = *end || end == name || ct__is_digit(*name);
    if (quoted) put(w, "\"");
    for (; *name; name++) put(w, *name == '"' ? "\"\"" : (char[]){ *name, 0 });
    if (quoted) put(w, "\"");
}

static void put_term(writer *w, const ct__term *t, const ct_column *columns)
{
    char number[32];
    if (!t->factors) put(w, "1");
    for (int k = 0; k < t->factors; k++) {
        if (k) put(w, "*");
        snprintf(number, sizeof number, "x%d", t->column[k]);
        if (columns)
            put_name(w, columns[t->column[k]].name);
        else
            put(w, number);
        snprintf(number, sizeof number, "^%d", t->power[k]);
        if (t->power[k] > 1) put(w, number);
    }
}

size_t ct__term_print(const ct__term *t, const ct_column *columns, char *text, size_t size)
{
    writer w = { text, size, 0 };
    put_term(&w, t, columns);
    return w.length;
}

size_t ct__basis_print(const ct__basis *b, char *text, size_t size)
{
    writer w = { text, size, 0 };
    for (int k = 0; k < b->count; k++) {
        if (k) put(&w, " + ");
        put_term(&w, &b->term[k], NULL);
    }
    return w.length;
}
