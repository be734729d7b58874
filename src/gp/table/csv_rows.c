/* Reads the rows as numbers, and the names of the columns. */
#include "csv_rows.h"

#include <cotangent/io.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "csv_dialect.h"
#include "csv_error.h"
#include "csv_header.h"
#include "csv_kinds.h"
#include "csv_missing.h"
#include "csv_number.h"
#include "gp/data/numbers.h"

typedef ct__csv reader;
typedef ct__field field;

/* -- errors ---------------------------------------------------------------------------------------------- */

/* A field that is no number, or one that is written otherwise than those above (CT_NUMBER). */
static ct_status bad_number(reader *r, const ct_table *t, int64_t col, const field *f, ct_number k)
{
    return ct__csv_refuse(r, t, col, f,
                          k == CT_NUMBER_TOO_LARGE ? " is too large for a double"
                          : k == CT_NUMBER         ? " is not written as those above: a column must not mix "
                                                     "percentages, plain numbers and different units"
                                                   : ct__csv_no_number(r, t, f));
}

/* `last` is the last field of the row. */
static ct_status ragged(reader *r, const ct_table *t, int64_t fields, const field *last, int64_t line,
                        int64_t first_line)
{
    const bool trailing = fields == t->cols + 1 && last->size == 0 && !last->quoted;
    return ct_device_fail(r->device, CT_EFORMAT, "%s:%lld: %lld fields where line %lld has %lld%s", r->label,
                          (long long)line, (long long)fields, (long long)first_line, (long long)t->cols,
                          trailing ? ": remove the separator at the end of the line" : "");
}

/* -- the table ------------------------------------------------------------------------------------------- */

/* Takes the columns' names from the header, which it skips, or names them "c0", "c1", ... */
static ct_status name_columns(reader *r, ct_table *t)
{
    t->columns = ct__gp_alloc(t->device, t->columns_bytes, 1);
    if (!t->columns) return CT_ENOMEM;
    t->forms = (unsigned char *)(t->columns + t->cols);
    t->units = (char(*)[CT__UNIT_TEXT])(t->forms + t->cols);
    char *to = (char *)(t->units + t->cols);
    for (int64_t i = 0; i < t->cols; i++) {
        field f = { .size = 0 };
        if (t->header) {
            ct_status s = ct__csv_field(r, &f);
            if (s) return s;
        }
        t->columns[i].name = to;
        t->forms[i] = f.size ? 0 : CT__UNNAMED;
        if (f.size) {
            memcpy(to, f.text, f.size);
            to[f.size] = 0;
            to += f.size + 1;
        } else {
            to += snprintf(to, 24, "c%lld", (long long)i) + 1;
        }
    }
    return CT_OK;
}

/* Allocates all rows at once. There are no more rows than lines, and a value takes at least one byte of
 * text. */
static ct_status reserve_rows(reader *r, ct_table *t)
{
    int64_t lines = 1, bytes = (int64_t)(r->end - r->at);
    for (const char *p = r->at; p < r->end; p++)
        lines += *p == '\n' || (*p == '\r' && (p + 1 == r->end || p[1] != '\n'));
    const int64_t most = bytes / t->cols + 1, rows = lines < most ? lines : most;
    const uint64_t fields = (uint64_t)(rows * t->cols);
    t->values = ct__gp_alloc(t->device, fields, sizeof *t->values);
    t->lines = ct__gp_alloc(t->device, (uint64_t)rows, sizeof *t->lines);
    if (!t->values || !t->lines) return CT_ENOMEM;
    if (!r->options->texts) return CT_OK;
    t->text = ct__gp_alloc(t->device, (uint64_t)bytes + fields, 1); /* a NUL for each field */
    t->texts = ct__gp_alloc(t->device, fields, sizeof *t->texts);
    return t->text && t->texts ? CT_OK : CT_ENOMEM;
}

/* Keeps the field's text, if the caller wants it. */
static void keep_text(ct_table *t, int64_t col, const field *f)
{
    if (!t->texts) return;
    char *to = t->text + t->text_used;
    memcpy(to, f->text, f->size);
    to[f->size] = 0;
    t->text_used += f->size + 1;
    t->texts[t->rows * t->cols + col] = to;
}

static bool of_text(ct_column_kind kind) { return kind == CT_COLUMN_CATEGORY || kind == CT_COLUMN_TIME; }

/* Marks the columns that the caller wants as something other than numbers. */
static void mark_text(const reader *r, ct_table *t)
{
    for (int64_t j = 0; r->options->n_columns && j < t->cols; j++) {
        const ct_column *asked = ct__csv_asked(r, t->columns[j].name);
        if (asked && of_text(asked->kind) && ct__csv_wanted(r, t->columns[j].name)) t->forms[j] |= CT__TEXT;
    }
}

/* Handles a field of column `col` that is no number: its value is missing for now, or the field is
 * refused. */
static ct_status take_text(reader *r, ct_table *t, int64_t col, const field *f, ct_number k, double *value)
{
    const char *name = t->columns[col].name;
    *value = NAN;
    if ((t->forms[col] & CT__TEXT) || !ct__csv_wanted(r, name)) return CT_OK;
    const bool text = k == CT_NUMBER_NONE || (k == CT_NUMBER && *t->units[col]);
    if (!text || !r->options->kinds || ct__csv_asked(r, name)) return bad_number(r, t, col, f, k);
    t->forms[col] |= CT__TEXT;
    return CT_OK;
}

/* Reads a field as a number; a number with a point, the usual case, takes a fast path. */
static ct_number read_number(const reader *r, const field *f, ct__numeral *n)
{
    *n = (ct__numeral){ .form = CT__BARE };
    if (r->dialect.decimal == '.' && ct_number_read(f->text, f->size, &n->value) == CT_NUMBER)
        return CT_NUMBER;
    return ct__csv_number(f, r->dialect.decimal, n);
}

/* Whether a column mixes percentages, units and plain numbers. */
static bool is_mixed(ct_table *t, int64_t col, const ct__numeral *n)
{
    const int all = CT__BARE | CT__PERCENT | CT__UNIT, above = t->forms[col] & all, now = n->form & all;
    if (n->unit_size && !*t->units[col]) memcpy(t->units[col], n->unit, n->unit_size);
    if (above && now && (above != now || (n->unit_size && !ct__csv_in_unit(t, col, n)))) return true;
    double day;
    t->forms[col] |= (unsigned char)n->form;
    if (now && !(t->forms[col] & CT__NO_DIGITS) && !ct_time_from_digits(n->value, &day))
        t->forms[col] |= CT__NO_DIGITS;
    return false;
}

static ct_status read_row(reader *r, ct_table *t, int64_t first_line)
{
    double *row = t->values + t->rows * t->cols;
    field f;
    int64_t col = 0, line = r->line;
    t->lines[t->rows] = line;
    do {
        ct_status s = ct__csv_field(r, &f);
        if (s) return s;
        if (col < t->cols) {
            ct__numeral n;
            keep_text(t, col, &f);
            ct_number k = read_number(r, &f, &n);
            row[col] = n.value;
            if (k > CT_NUMBER_MISSING || is_mixed(t, col, &n)) s = take_text(r, t, col, &f, k, row + col);
            if (s) return s;
        }
        col++;
    } while (!f.last);
    if (col != t->cols) return ragged(r, t, col, &f, line, first_line);
    t->rows++;
    return CT_OK;
}

/* Skips a remark. A line that begins with # is a row if it has as many fields as a row, and there are several
 * columns. */
static bool pass_remark(reader *r, const ct_table *t)
{
    if (!ct__csv_is_remark(r) || (t->cols > 1 && ct__csv_count(r) == t->cols)) return false;
    ct__csv_pass_line(r);
    return true;
}

static ct_status read_rows(reader *r, ct_table *t, int64_t first_line)
{
    ct_status s = reserve_rows(r, t);
    int64_t rows = 0; /* not counting empty lines at the end */
    while (!s) {
        int64_t line = r->line, empty = ct__csv_pass_empty(r);
        if (r->at == r->end) break;
        /* in a single column an empty line is a missing value, unless nothing follows */
        for (int64_t i = 0; t->cols == 1 && i < empty; i++) {
            t->lines[t->rows] = line + i;
            keep_text(t, 0, &(field){ .text = "" });
            t->values[t->rows++] = NAN;
        }
        if (pass_remark(r, t)) continue;
        s = read_row(r, t, first_line);
        rows = t->rows;
    }
    t->rows = rows;
    return s;
}

/* -- notes ----------------------------------------------------------------------------------------------- */

/* "column 'y' is in percent" or "3 columns, 'y' the first, are in percent" */
static void note_columns(const reader *r, ct_table *t, int form, const char *what)
{
    int64_t n = 0, first = 0;
    char name[CT_SHOWN_TEXT];
    for (int64_t j = t->cols; j-- > 0;)
        if ((t->forms[j] & form) && ct__csv_wanted(r, t->columns[j].name)) n++, first = j;
    if (!n) return;
    ct_show_text(t->columns[first].name, strlen(t->columns[first].name), name);
    if (n == 1)
        ct__csv_note(t, "column '%s' %s", name, what);
    else
        ct__csv_note(t, "column '%s' and %lld more: each %s", name, (long long)n - 1, what);
}

static void note_units(const reader *r, ct_table *t)
{
    char name[CT_SHOWN_TEXT], unit[CT_SHOWN_TEXT];
    for (int64_t j = 0; j < t->cols; j++) {
        const ct_column *c = &t->columns[j];
        if (!*t->units[j] || c->kind != CT_COLUMN_NUMBER || !ct__csv_wanted(r, c->name)) continue;
        ct_show_text(c->name, strlen(c->name), name);
        ct__csv_note(t, "column '%s' is in %s", name, ct_show_text(t->units[j], strlen(t->units[j]), unit));
    }
}

/* Notes the detected signs if they are not those of RFC 4180. */
static void note_dialect(const reader *r, ct_table *t, ct__dialect given)
{
    const char sign = r->dialect.separator;
    const bool found = !given.separator && sign != ',', comma = !given.decimal && r->dialect.decimal == ',';
    if (found)
        ct__csv_note(t, "fields are separated by %s%s",
                     sign == ' '    ? "blanks"
                     : sign == '\t' ? "tabs"
                                    : "semicolons",
                     comma ? ", and decimals by a comma" : "");
    else if (comma)
        ct__csv_note(t, "decimals are separated by a comma");
}

/* Skips a byte-order mark, and takes the separator from a line "sep=;", which is for Excel. */
static void pass_preamble(reader *r)
{
    if (r->end - r->at >= 3 && !memcmp(r->at, "\xef\xbb\xbf", 3)) r->at += 3;
    const bool sep =
        r->end - r->at > 5 && !memcmp(r->at, "sep=", 4) && (r->at[5] == '\r' || r->at[5] == '\n');
    if (!sep) return;
    if (!r->dialect.separator && strchr(",;\t|", r->at[4])) r->dialect.separator = r->at[4];
    ct__csv_pass_line(r);
}

ct_status ct__csv_rows(reader *r, ct_table *t)
{
    pass_preamble(r);
    ct__csv_pass_empty(r);
    if (r->at == r->end) return ct_device_fail(r->device, CT_EFORMAT, "%s: no rows and no header", r->label);
    const ct__dialect given = r->dialect;
    ct_status s = ct__csv_find_dialect(r);
    if (!s) s = ct__csv_find_header(r, t, r->options->header);
    const int64_t first_line = r->line;
    if (!s) s = name_columns(r, t);
    if (!s) mark_text(r, t);
    const ct__place rows = ct__csv_place(r);
    if (!s) s = read_rows(r, t, first_line);
    ct__csv_go_to(r, rows);
    if (!s) s = ct__csv_kinds(r, t);
    if (s) return s;
    note_dialect(r, t, given);
    note_units(r, t);
    note_columns(r, t, CT__PERCENT, "is in percent: 50% is read as 50");
    note_columns(r, t, CT__GROUPED,
                 r->dialect.decimal == '.' ? "has commas for thousands: 1,000 is read as 1000"
                                           : "has points for thousands: 1.000 is read as 1000");
    return ct__csv_missing(r, t);
}
