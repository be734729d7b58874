/* Tables of numbers from CSV text [RFC 4180]. */
#include "csv.h"

#include "file.h"
#include "tensor/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- errors ---------------------------------------------------------------------------------------------- */

#define SHOWN 40
/* A field as it can stand in a message: control characters as ?, the rest of a long one as "...". */
static const char *show(const char *text, size_t size, char buffer[SHOWN])
{
    size_t n = size < SHOWN ? size : SHOWN - 4;
    for (size_t i = 0; i < n; i++) buffer[i] = (unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i];
    strcpy(buffer + n, n < size ? "..." : "");
    return buffer;
}

static ct_status bad_number(ct__csv *r, const ct_table *t, int64_t col, const ct__csv_field *f, ct_number k)
{
    char text[SHOWN], name[SHOWN], hint[40] = "";
    const char other = memchr(f->text, ';', f->size) ? ';' : memchr(f->text, '\t', f->size) ? '\t' : 0;
    if (other && t->cols == 1)
        snprintf(hint, sizeof hint, ": is the delimiter %s?", other == ';' ? "a semicolon" : "a tab");
    return ct__fail(r->device, CT_EFORMAT, "%s:%lld: column %lld (\"%s\"): \"%s\" is %s%s", r->label,
                    (long long)f->line, (long long)col + 1, show(t->names[col], strlen(t->names[col]), name),
                    show(f->text, f->size, text),
                    k == CT_NUMBER_NONE ? "not a number" : "too large for a double", hint);
}

static ct_status ragged(ct__csv *r, const ct_table *t, int64_t fields, int64_t line, int64_t first_line)
{
    return ct__fail(r->device, CT_EFORMAT, "%s:%lld: %lld fields where line %lld has %lld", r->label,
                    (long long)line, (long long)fields, (long long)first_line, (long long)t->cols);
}

/* -- the table ------------------------------------------------------------------------------------------- */

/* Looks at the first row: the number of columns, the room their names take, and whether one is no number. */
static ct_status survey(ct__csv r, ct_table *t, bool *text, char **scratch, size_t *scratch_bytes)
{
    ct_status s;
    ct__csv_field f;
    double value;
    *text = false;
    do {
        s = ct__csv_next(&r, &f);
        if (s) break;
        if (ct__csv_number(&r, &f, &value) == CT_NUMBER_NONE) *text = true;
        t->cols++;
        t->names_bytes += f.size + 24 + sizeof(char *);
    } while (!s && !f.last);
    *scratch = r.scratch;
    *scratch_bytes = r.scratch_bytes;
    return s;
}

/* Names from the header, which is passed, or "c0", "c1", ... */
static ct_status name_columns(ct__csv *r, ct_table *t, bool header)
{
    t->names = ct__host_alloc(t->device, t->names_bytes);
    if (!t->names) return CT_ENOMEM;
    char *to = (char *)(t->names + t->cols);
    for (int64_t i = 0; i < t->cols; i++) {
        ct__csv_field f = { .size = 0 };
        if (header) {
            ct_status s = ct__csv_next(r, &f);
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
static ct_status reserve_rows(ct__csv *r, ct_table *t)
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

static bool must_be_number(const ct__csv *r, const char *name)
{
    for (int64_t i = 0; r->only && i < r->n_only; i++)
        if (!strcmp(r->only[i], name)) return true;
    return !r->only;
}

static ct_status read_row(ct__csv *r, ct_table *t, int64_t first_line)
{
    double *row = t->values + t->rows * t->cols;
    ct__csv_field f;
    int64_t col = 0, line = r->line;
    t->lines[t->rows] = line;
    do {
        ct_status s = ct__csv_next(r, &f);
        if (s) return s;
        if (col < t->cols) {
            ct_number k = ct__csv_number(r, &f, row + col);
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

static ct_status read_rows(ct__csv *r, ct_table *t, int64_t first_line)
{
    ct_status s = reserve_rows(r, t);
    while (!s) {
        int64_t line = r->line, empty = ct__csv_pass_empty(r);
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

static ct_status check_text(const ct__csv *r)
{
    size_t bytes = (size_t)(r->end - r->at);
    const unsigned char *lead = (const unsigned char *)r->at;
    if (bytes >= 2 && ((lead[0] == 0xff && lead[1] == 0xfe) || (lead[0] == 0xfe && lead[1] == 0xff)))
        return ct__fail(r->device, CT_EFORMAT, "%s: UTF-16 text: save it as UTF-8", r->label);
    const char *nul = memchr(r->at, 0, bytes);
    int64_t line = 1;
    if (!nul) return CT_OK;
    for (const char *p = r->at; p < nul; p++) line += *p == '\n';
    return ct__fail(r->device, CT_EFORMAT, "%s:%lld: a NUL byte: this is no CSV text", r->label,
                    (long long)line);
}

static ct_status parse(ct__csv *r, ct_table *t, int header)
{
    ct_status s = check_text(r);
    if (s) return s;
    if (r->end - r->at >= 3 && !memcmp(r->at, "\xef\xbb\xbf", 3)) r->at += 3;
    ct__csv_pass_empty(r);
    if (r->at == r->end) return ct__fail(r->device, CT_EFORMAT, "%s: no rows and no header", r->label);
    int64_t first_line = r->line;
    bool text;
    s = survey(*r, t, &text, &r->scratch, &r->scratch_bytes);
    if (!s) s = name_columns(r, t, header ? header > 0 : text);
    return s ? s : read_rows(r, t, first_line);
}

static ct_table *parse_text(ct_device *device, const char *label, const char *text, size_t bytes,
                            const ct_csv_options *options)
{
    char delimiter = options && options->delimiter ? options->delimiter : ',';
    if (strchr("+-.\"?\r\n", delimiter) || (delimiter >= '0' && delimiter <= '9') ||
        (delimiter >= 'a' && delimiter <= 'z') || (delimiter >= 'A' && delimiter <= 'Z')) {
        ct__fail(device, CT_EINVAL, "CSV: character %d cannot be a delimiter", delimiter);
        return NULL;
    }
    ct_table *t = ct__host_alloc(device, sizeof *t);
    if (!t) return NULL;
    *t = (ct_table){ .device = ct__device_retain(device) };
    ct__csv r = {
        .device = device, .label = label, .at = text, .end = text + bytes, .delimiter = delimiter, .line = 1
    };
    if (options) r.only = options->only, r.n_only = options->n_only;
    ct_status s = parse(&r, t, options ? options->header : 0);
    ct__host_free(device, r.scratch, r.scratch_bytes);
    if (!s) return t;
    ct_table_free(t);
    return NULL;
}

ct_table *ct_csv_parse(ct_device *device, const char *text, size_t bytes, const ct_csv_options *options)
{
    if (!device || device->status) return NULL;
    if (!text && bytes) {
        ct__fail(device, CT_EINVAL, "CSV: the text is NULL");
        return NULL;
    }
    char label[CT__LABEL];
    const char *name = options && options->label ? options->label : "csv";
    return parse_text(device, ct__label(name, label), text ? text : "", bytes, options);
}

ct_table *ct_csv_read(ct_device *device, const char *path, const ct_csv_options *options)
{
    ct_bytes b;
    char label[CT__LABEL];
    if (!device || ct__file_read(device, path, device->memory.limit, &b)) return NULL;
    ct_table *t = parse_text(device, ct__label(path, label), b.data, b.size, options);
    ct_bytes_free(device, &b);
    return t;
}

ct_tensor *ct_csv_load(ct_device *device, const char *path)
{
    ct_table *t = ct_csv_read(device, path, NULL);
    ct_tensor *result = ct_table_tensor(t, CT_F64, NULL, 0);
    ct_table_free(t);
    return result;
}
