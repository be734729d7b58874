/* Fields are slices of the text; nothing is allocated for one unless it holds doubled quotes. */
#include "csv.h"
#include "path.h"
#include "tensor/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef ct__csv reader;

typedef struct field {
    const char *text;
    size_t size;
    int64_t line;
    bool last; /* of its row */
} field;

/* -- fields ---------------------------------------------------------------------------------------------- */

static bool is_blank(const reader *r, char c) { return (c == ' ' || c == '\t') && c != r->delimiter; }
static bool is_newline(char c) { return c == '\n' || c == '\r'; }

static bool reserve(reader *r, size_t bytes)
{
    if (bytes <= r->scratch_bytes) return true;
    size_t wanted = bytes < 256 ? 256 : bytes + bytes / 2;
    char *fresh = ct__host_grow(r->device, r->scratch, &r->scratch_bytes, 0, wanted, 1);
    if (!fresh) return false;
    r->scratch = fresh;
    return true;
}

/* Passes CRLF, LF or CR. */
static void pass_newline(reader *r)
{
    if (*r->at++ == '\r' && r->at < r->end && *r->at == '\n') r->at++;
    r->line++;
}

/* Passes the delimiter or the newline after a field; false where something else stands there. */
static bool finish(reader *r, field *f)
{
    f->last = r->at == r->end || *r->at != r->delimiter;
    if (r->at == r->end) return true;
    if (!f->last)
        r->at++;
    else if (is_newline(*r->at))
        pass_newline(r);
    else
        return false;
    return true;
}

/* r->at stands behind the opening quote. The text is a slice of the input, or unescaped in the scratch, where
 * it lives until the next field. */
static ct_status quoted(reader *r, field *f)
{
    size_t doubled = 0;
    f->text = r->at;
    for (;; r->at++) {
        if (r->at == r->end)
            return ct__fail(r->device, CT_EFORMAT, "%s:%lld: a quote is opened here and never closed",
                            r->label, (long long)f->line);
        if (*r->at == '"') {
            if (r->at + 1 == r->end || r->at[1] != '"') break;
            doubled++;
            r->at++;
        } else if (*r->at == '\n' || (*r->at == '\r' && (r->at + 1 == r->end || r->at[1] != '\n'))) {
            r->line++;
        }
    }
    f->size = (size_t)(r->at - f->text);
    if (doubled) {
        if (!reserve(r, f->size)) return CT_ENOMEM;
        size_t n = 0;
        for (size_t i = 0; i < f->size; i++) {
            r->scratch[n++] = f->text[i];
            if (f->text[i] == '"') i++;
        }
        f->text = r->scratch;
        f->size = n;
    }
    r->at++;
    while (r->at < r->end && is_blank(r, *r->at)) r->at++;
    if (!finish(r, f))
        return ct__fail(r->device, CT_EFORMAT, "%s:%lld: text after a closing quote", r->label,
                        (long long)r->line);
    return CT_OK;
}

static ct_status next_field(reader *r, field *f)
{
    f->line = r->line;
    while (r->at < r->end && is_blank(r, *r->at)) r->at++;
    if (r->at < r->end && *r->at == '"') {
        r->at++;
        return quoted(r, f);
    }
    const char *p = r->at, *end = r->end;
    const char delimiter = r->delimiter;
    while (p < end && *p != delimiter && !is_newline(*p)) p++;
    f->text = r->at;
    r->at = p;
    while (p > f->text && is_blank(r, p[-1])) p--;
    f->size = (size_t)(p - f->text);
    finish(r, f);
    return CT_OK;
}

/* Passes lines with nothing in them; returns how many. At the end of the text r->at == r->end. */
static int64_t pass_empty_lines(reader *r)
{
    for (int64_t n = 0;; n++) {
        const char *p = r->at;
        while (p < r->end && is_blank(r, *p)) p++;
        if (p < r->end && !is_newline(*p)) return n;
        r->at = p;
        if (p == r->end) return n;
        pass_newline(r);
    }
}

/* Also with blanks around it inside quotes. */
static ct_number read_number(const reader *r, const field *f, double *value)
{
    const char *text = f->text;
    size_t n = f->size;
    while (n && is_blank(r, *text)) text++, n--;
    while (n && is_blank(r, text[n - 1])) n--;
    return ct_number_read(text, n, value);
}

/* -- errors ---------------------------------------------------------------------------------------------- */

static ct_status bad_number(reader *r, const ct_table *t, int64_t col, const field *f, ct_number k)
{
    char text[CT__SHOWN], name[CT__SHOWN], hint[40] = "";
    const char other = memchr(f->text, ';', f->size) ? ';' : memchr(f->text, '\t', f->size) ? '\t' : 0;
    if (other && t->cols == 1)
        snprintf(hint, sizeof hint, ": is the delimiter %s?", other == ';' ? "a semicolon" : "a tab");
    return ct__fail(r->device, CT_EFORMAT, "%s:%lld: column %lld (\"%s\"): \"%s\" is %s%s", r->label,
                    (long long)f->line, (long long)col + 1,
                    ct__show(t->names[col], strlen(t->names[col]), name), ct__show(f->text, f->size, text),
                    k == CT_NUMBER_NONE ? "not a number" : "too large for a double", hint);
}

static ct_status ragged(reader *r, const ct_table *t, int64_t fields, int64_t line, int64_t first_line)
{
    return ct__fail(r->device, CT_EFORMAT, "%s:%lld: %lld fields where line %lld has %lld", r->label,
                    (long long)line, (long long)fields, (long long)first_line, (long long)t->cols);
}

/* -- the table ------------------------------------------------------------------------------------------- */

/* Looks at the first row: the number of columns, the room their names take, and whether one is no number. */
static ct_status survey(reader r, ct_table *t, bool *text, char **scratch, size_t *scratch_bytes)
{
    ct_status s;
    field f;
    double value;
    *text = false;
    do {
        s = next_field(&r, &f);
        if (s) break;
        if (read_number(&r, &f, &value) == CT_NUMBER_NONE) *text = true;
        t->cols++;
        t->names_bytes += f.size + 24 + sizeof(char *);
    } while (!s && !f.last);
    *scratch = r.scratch;
    *scratch_bytes = r.scratch_bytes;
    return s;
}

/* Names from the header, which is passed, or "c0", "c1", ... */
static ct_status name_columns(reader *r, ct_table *t, bool header)
{
    t->names = ct__host_alloc(t->device, t->names_bytes);
    if (!t->names) return CT_ENOMEM;
    char *to = (char *)(t->names + t->cols);
    for (int64_t i = 0; i < t->cols; i++) {
        field f = { .size = 0 };
        if (header) {
            ct_status s = next_field(r, &f);
            if (s) return s;
        }
        t->names[i] = to;
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

/* Room for all rows at once: there are no more than lines, and a value takes at least one byte of text. */
static ct_status reserve_rows(reader *r, ct_table *t)
{
    int64_t lines = 1, bytes = (int64_t)(r->end - r->at);
    for (const char *p = r->at; p < r->end; p++)
        lines += *p == '\n' || (*p == '\r' && (p + 1 == r->end || p[1] != '\n'));
    t->capacity = bytes / t->cols + 1;
    if (lines < t->capacity) t->capacity = lines;
    t->values = ct__host_alloc(t->device, (size_t)(t->capacity * t->cols) * sizeof(double));
    t->lines = ct__host_alloc(t->device, (size_t)t->capacity * sizeof(int64_t));
    return t->values && t->lines ? CT_OK : CT_ENOMEM;
}

static bool must_be_number(const reader *r, const char *name)
{
    for (int64_t i = 0; r->only && i < r->n_only; i++)
        if (!strcmp(r->only[i], name)) return true;
    return !r->only;
}

static ct_status read_row(reader *r, ct_table *t, int64_t first_line)
{
    double *row = t->values + t->rows * t->cols;
    field f;
    int64_t col = 0, line = r->line;
    t->lines[t->rows] = line;
    do {
        ct_status s = next_field(r, &f);
        if (s) return s;
        if (col < t->cols) {
            ct_number k = read_number(r, &f, row + col);
            if (k > CT_NUMBER_MISSING) {
                if (must_be_number(r, t->names[col])) return bad_number(r, t, col, &f, k);
                row[col] = NAN;
            }
        }
        col++;
    } while (!f.last);
    if (col != t->cols) return ragged(r, t, col, line, first_line);
    t->rows++;
    return CT_OK;
}

static ct_status read_rows(reader *r, ct_table *t, int64_t first_line)
{
    ct_status s = reserve_rows(r, t);
    while (!s) {
        int64_t line = r->line, empty = pass_empty_lines(r);
        if (r->at == r->end) break;
        /* in a single column an empty line is a missing value, unless nothing follows */
        for (int64_t i = 0; t->cols == 1 && i < empty; i++) {
            t->lines[t->rows] = line + i;
            t->values[t->rows++] = NAN;
        }
        s = read_row(r, t, first_line);
    }
    return s;
}

ct_status ct__csv_rows(reader *r, ct_table *t, int header)
{
    if (r->end - r->at >= 3 && !memcmp(r->at, "\xef\xbb\xbf", 3)) r->at += 3;
    pass_empty_lines(r);
    if (r->at == r->end) return ct__fail(r->device, CT_EFORMAT, "%s: no rows and no header", r->label);
    int64_t first_line = r->line;
    bool text;
    ct_status s = survey(*r, t, &text, &r->scratch, &r->scratch_bytes);
    if (!s) s = name_columns(r, t, header ? header > 0 : text);
    return s ? s : read_rows(r, t, first_line);
}
