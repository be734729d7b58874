/* Basis functions from text: recursive descent over the grammar of basis.h. */
#include "basis.h"

#include <stdlib.h>
#include <string.h>

#include "gp/kernel/scan.h"
#include "gp/kernel/text.h"

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

/* k < d of "x<k>", or -1 */
static int64_t number_of(const char *text, const char *end, int64_t d)
{
    const char *digits = text + 1;
    const bool number = *text == 'x' && end > digits && digits + strspn(digits, "0123456789") == end;
    if (!number || (*digits == '0' && end > digits + 1)) return -1;
    const long long k = strtoll(digits, NULL, 10); /* the largest one if it is larger */
    return k < d ? (int64_t)k : -1;
}

/* The column named here; -1 after a failure. */
static int column(ct__scan *p)
{
    const char *place = ct__scan_space(p), *end = behind_name(place);
    if (end == place) {
        ct__scan_fail(p, CT_EFORMAT, place,
                      !*place         ? "the text ends where a column or 1 is expected"
                      : *place == '"' ? "a name begins here whose second quote is missing"
                                      : "expected a column or 1; a name with blanks or signs is in quotes");
        return -1;
    }
    int64_t found = ct__scan_find_column(p, place, end);
    if (found < 0) found = number_of(place, end, p->n_columns);
    if (found < 0)
        ct__scan_no_column(p, place);
    else if (p->columns && p->columns[found].kind == CT_COLUMN_CATEGORY)
        ct__scan_fail(p, CT_EFORMAT, place, "this column is a category, and a function takes numbers");
    p->at = end;
    return (int)found;
}

/* -- terms ----------------------------------------------------------------------------------------------- */

/* Multiplies t by x_column. */
static void multiply(ct__term *t, int column)
{
    int k = t->degree++;
    for (; k > 0 && t->column[k - 1] > column; k--) t->column[k] = t->column[k - 1];
    t->column[k] = column;
}

static void factor(ct__scan *p, ct__term *t)
{
    const char *place = ct__scan_space(p);
    if (ct__is_digit(*place)) {
        p->at = behind_name(place);
        if (*place != '1' || p->at > place + 1)
            ct__scan_fail(p, CT_EFORMAT, place,
                          "the only number is 1: coefficients are found from the data; a name that begins "
                          "with a digit is in quotes");
        return;
    }
    int power = 1;
    const int at = column(p);
    if (!p->status && ct__scan_accept(p, '^')) {
        const char *behind = ct__scan_space(p);
        power = ct__scan_integer(p, CT__BASIS_DEGREE, "a power");
        if (power < 1) ct__scan_fail(p, CT_EFORMAT, behind, "a power is at least 1");
    }
    if (!p->status && t->degree + power > CT__BASIS_DEGREE)
        ct__scan_fail(p, CT_EFORMAT, place, "the powers of a function add up to more than %d",
                      CT__BASIS_DEGREE);
    for (int k = 0; k < power && !p->status; k++) multiply(t, at);
}

bool ct__term_equal(const ct__term *a, const ct__term *b)
{
    return a->degree == b->degree && !memcmp(a->column, b->column, (size_t)a->degree * sizeof *a->column);
}

static void term(ct__scan *p, ct__basis *b)
{
    const char *place = ct__scan_space(p);
    ct__term t = { 0 };
    do factor(p, &t);
    while (!p->status && ct__scan_accept(p, '*'));
    for (int k = 0; k < b->count; k++)
        if (ct__term_equal(&t, &b->term[k]))
            ct__scan_fail(p, CT_EFORMAT, place, "this function is there twice");
    if (b->count == CT__BASIS_TERMS)
        ct__scan_fail(p, CT_EFORMAT, place, "more than %d functions", CT__BASIS_TERMS);
    if (!p->status) b->term[b->count++] = t;
}

ct_status ct__basis_parse(ct_device *device, const char *text, const ct_column *columns, int64_t d,
                          ct__basis *b)
{
    char message[512];
    ct__scan p = { .columns = columns, .n_columns = d, .text = text, .at = text };
    *b = (ct__basis){ 0 };
    do term(&p, b);
    while (!p.status && ct__scan_accept(&p, '+'));
    if (*ct__scan_space(&p))
        ct__scan_fail(&p, CT_EFORMAT, p.at,
                      "expected \"+\", \"*\", \"^\" or the end; a name with blanks or signs is in quotes");
    if (!p.status) return CT_OK;
    ct__scan_message(&p, "mean", message, sizeof message);
    return ct_device_fail(device, p.status, "%s", message);
}

/* -- printing -------------------------------------------------------------------------------------------- */

static void add_name(ct__text *t, const char *name)
{
    const char *end = name;
    while (is_plain(*end)) end++;
    const bool quoted = *end || end == name || ct__is_digit(*name);
    if (quoted) ct__text_add(t, "\"");
    for (; *name; name++) ct__text_add(t, *name == '"' ? "\"%c" : "%c", *name);
    if (quoted) ct__text_add(t, "\"");
}

static void add_term(ct__text *t, const ct__term *of, const ct_column *columns)
{
    if (!of->degree) ct__text_add(t, "1");
    for (int k = 0, end; k < of->degree; k = end) {
        end = k + 1;
        while (end < of->degree && of->column[end] == of->column[k]) end++;
        if (k) ct__text_add(t, "*");
        if (columns)
            add_name(t, columns[of->column[k]].name);
        else
            ct__text_add(t, "x%d", of->column[k]);
        if (end > k + 1) ct__text_add(t, "^%d", end - k);
    }
}

size_t ct__term_print(const ct__term *t, const ct_column *columns, char *text, size_t size)
{
    ct__text to = { text, size, 0 };
    add_term(&to, t, columns);
    return to.length;
}

size_t ct__basis_print(const ct__basis *b, char *text, size_t size)
{
    ct__text to = { text, size, 0 };
    for (int k = 0; k < b->count; k++) {
        if (k) ct__text_add(&to, " + ");
        add_term(&to, &b->term[k], NULL);
    }
    return to.length;
}
