#include "csv_header.h"

#include <math.h>
#include <stdlib.h>

#include "csv_number.h"

/* -- remarks above the table ----------------------------------------------------------------------------- */

/* The contents of a row at r->at, as far as it is a row. */
typedef struct content {
    int64_t fields, numbers;
} content;

static ct_status find_content(ct__csv *r, content *c)
{
    ct__field f;
    *c = (content){ 0 };
    do {
        ct__numeral n;
        ct_status s = ct__csv_field(r, &f);
        if (s) return s;
        c->fields++;
        c->numbers += ct__csv_number(&f, r->dialect.decimal, &n) == CT_NUMBER;
    } while (!f.last);
    return CT_OK;
}

/* Skips empty lines and remarks. A line that begins with # is the header if it has as many fields as the
 * first row without # and that row has numbers. If all lines begin with #, none is a remark. */
static ct_status pass_remarks(ct__csv *r)
{
    ct__csv_pass_empty(r);
    const ct__place start = ct__csv_place(r);
    while (ct__csv_is_remark(r)) {
        ct__csv_pass_line(r);
        ct__csv_pass_empty(r);
    }
    if (r->at == start.at) return CT_OK;
    const char *row = r->at == r->end ? start.at : r->at;
    content c = { 0 };
    ct_status s = row == start.at ? CT_OK : find_content(r, &c);
    if (s == CT_ENOMEM) return s;
    ct__csv_go_to(r, start);
    while (r->at < row && !(c.numbers && ct__csv_count(r) == c.fields)) {
        ct__csv_pass_line(r);
        ct__csv_pass_empty(r);
    }
    return CT_OK;
}

/* -- the header ------------------------------------------------------------------------------------------ */

/* A comparison of the first row with the second. */
typedef struct pair {
    int64_t fields;
    bool second;       /* there is one                                              */
    bool text;         /* a field of the first is no number                         */
    bool quoted, bare; /* all fields of the first are quoted; none of the second is */
    bool progression;  /* the first is n, n + step, n + 2 step, ...                 */
    bool fractions;    /* the second has a number that is not whole                 */
    double last, step;
} pair;

/* A number in groups, with a percent sign or a unit, counts as a number only above another such number. */
static bool is_text(const ct__csv *r, const ct__field *first, const ct__field *second, double *value)
{
    ct__numeral n, below;
    const ct_number k = ct__csv_number(first, r->dialect.decimal, &n);
    *value = n.value;
    if (k == CT_NUMBER && n.form != CT__BARE)
        return !second || ct__csv_number(second, r->dialect.decimal, &below) != CT_NUMBER ||
               !(n.form & below.form & (CT__PERCENT | CT__GROUPED | CT__UNIT));
    return k == CT_NUMBER_NONE;
}

static void look_at_pair(const ct__csv *r, pair *p, const ct__field *first, const ct__field *second)
{
    double value;
    ct__numeral below = { .value = 0 };
    p->text |= is_text(r, first, second, &value);
    if (second && ct__csv_number(second, r->dialect.decimal, &below) != CT_NUMBER) below.value = 0;
    p->quoted &= first->quoted;
    p->bare &= !second || !second->quoted;
    p->progression &= value == floor(value);
    if (p->fields == 1) p->step = value - p->last;
    if (p->fields >= 1) p->progression &= p->step > 0 && value - p->last == p->step;
    p->fractions |= below.value != floor(below.value);
    p->last = value;
    p->fields++;
}

/* Compares both rows field by field. Counts the first one's fields and the space for their names. */
static ct_status look_at_rows(ct__csv *first, ct__csv *second, ct_table *t, pair *p)
{
    ct__field a, b = { .last = false };
    bool below = p->second;
    do {
        ct_status s = ct__csv_field(first, &a);
        if (!s && below) s = ct__csv_field(second, &b);
        if (s == CT_EFORMAT && below) s = CT_OK, below = false; /* reading that row reports it */
        if (s) return s;
        look_at_pair(first, p, &a, below ? &b : NULL);
        below = below && !b.last;
        t->cols++;
        t->columns_bytes += a.size + 24 + sizeof(ct_column) + CT__UNIT_TEXT + 1;
    } while (!a.last);
    return CT_OK;
}

/* Whether a first row of numbers looks like names: "1990","1991" above numbers without quotes, or 0,1,2 above
 * 0.5,1.5. */
static bool may_be_names(const pair *p)
{
    const bool counts = p->progression && p->fields > 1 && (p->fields > 2 || p->step == 1);
    return p->second && ((p->quoted && p->bare) || (counts && p->fractions));
}

ct_status ct__csv_find_header(ct__csv *r, ct_table *t, int asked)
{
    ct_status s = pass_remarks(r);
    if (s) return s;
    const ct__place start = ct__csv_place(r);
    pair p = { .quoted = true, .bare = true, .progression = true };
    ct__csv below = *r;
    ct__field f;
    below.scratch = NULL;
    below.scratch_bytes = 0;
    below.looking = true;
    do {
        s = ct__csv_field(&below, &f);
    } while (!s && !f.last);
    if (s == CT_EFORMAT) s = CT_OK, below.at = below.end;
    if (!s) p.second = ct__csv_find_row(&below);
    if (!s) s = look_at_rows(r, &below, t, &p);
    free(below.scratch);
    ct__csv_go_to(r, start);
    t->header = asked ? asked > 0 : p.text;
    if (!s && !asked && !p.text && may_be_names(&p))
        ct__csv_note(
            t, "line %lld may be a header of numbers, and is read as a row: state the header, yes or no",
            (long long)start.line);
    return s;
}
