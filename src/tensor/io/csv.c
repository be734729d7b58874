/* Tables of numbers from CSV text [RFC 4180]. Fields are slices of the text; nothing is
 * allocated for one unless it holds doubled quotes. */
#include <cotangent/io.h>

#include "file.h"
#include "tensor/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct ct_table {
    ct_device *device;
    int64_t rows, cols, capacity; /* rows there is room for */
    double *values;               /* (rows, cols) */
    int64_t *lines;               /* (rows) */
    char **names;                 /* (cols), and in the same block their text */
    size_t names_bytes;
};

typedef struct field {
    const char *text;
    size_t size;
    int64_t line;
    bool last; /* of its row */
} field;

typedef struct reader {
    ct_device *device;
    const char *label;
    const char *at, *end;
    char delimiter;
    const char *const *only; /* see ct_csv_options */
    int64_t n_only;
    int64_t line; /* of `at`, from 1 */
    char *scratch;
    size_t scratch_bytes;
} reader;

/* -- fields ---------------------------------------------------------------------------------------------- */

static bool is_blank(const reader *r, char c) { return (c == ' ' || c == '\t') && c != r->delimiter; }
static bool is_newline(char c) { return c == '\n' || c == '\r'; }

static bool reserve(reader *r, size_t bytes)
{
    if (bytes <= r->scratch_bytes) return true;
    size_t wanted = bytes < 256 ? 256 : bytes + bytes / 2;
    char *fresh = ct__host_alloc(r->device, wanted);
    if (!fresh) return false;
    ct__host_free(r->device, r->scratch, r->scratch_bytes);
    r->scratch = fresh;
    r->scratch_bytes = wanted;
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

#define SHOWN 40
/* A field as it can stand in a message: control characters as ?, the rest of a long one as "...". */
static const char *show(const char *text, size_t size, char buffer[SHOWN])
{
    size_t n = size < SHOWN ? size : SHOWN - 4;
    for (size_t i = 0; i < n; i++) buffer[i] = (unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i];
    strcpy(buffer + n, n < size ? "..." : "");
    return buffer;
}

static ct_status bad_number(reader *r, const ct_table *t, int64_t col, const field *f, ct_number k)
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

static ct_status check_text(const reader *r)
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

static ct_status parse(reader *r, ct_table *t, int header)
{
    ct_status s = check_text(r);
    if (s) return s;
    if (r->end - r->at >= 3 && !memcmp(r->at, "\xef\xbb\xbf", 3)) r->at += 3;
    pass_empty_lines(r);
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
    reader r = {
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

void ct_table_free(ct_table *t)
{
    if (!t) return;
    ct_device *device = t->device;
    ct__host_free(device, t->values, (size_t)(t->capacity * t->cols) * sizeof(double));
    ct__host_free(device, t->lines, (size_t)t->capacity * sizeof(int64_t));
    ct__host_free(device, t->names, t->names_bytes);
    ct__host_free(device, t, sizeof *t);
    ct__device_release(device);
}

int64_t ct_table_rows(const ct_table *t) { return t ? t->rows : 0; }
int64_t ct_table_cols(const ct_table *t) { return t ? t->cols : 0; }

const char *ct_table_name(const ct_table *t, int64_t col)
{
    return t && col >= 0 && col < t->cols ? t->names[col] : NULL;
}

int64_t ct_table_find(const ct_table *t, const char *name)
{
    for (int64_t i = 0; t && name && i < t->cols; i++)
        if (!strcmp(t->names[i], name)) return i;
    return -1;
}

double ct_table_at(const ct_table *t, int64_t row, int64_t col)
{
    bool inside = t && row >= 0 && row < t->rows && col >= 0 && col < t->cols;
    return inside ? t->values[row * t->cols + col] : (double)NAN;
}

int64_t ct_table_line(const ct_table *t, int64_t row)
{
    return t && row >= 0 && row < t->rows ? t->lines[row] : 0;
}

ct_tensor *ct_table_tensor(const ct_table *t, ct_dtype dtype, const int64_t *cols, int64_t n)
{
    if (!t) return NULL;
    ct_device *device = t->device;
    if (!cols) n = t->cols;
    ct_status s = CT_OK;
    if (dtype != CT_F64 && dtype != CT_F32)
        s = ct__fail(device, CT_EDTYPE, "table: only f64 and f32 tensors can be made");
    else if (n < 0)
        s = ct__fail(device, CT_EINVAL, "table: %lld columns", (long long)n);
    for (int64_t j = 0; cols && j < n && !s; j++)
        if (cols[j] < 0 || cols[j] >= t->cols)
            s = ct__fail(device, CT_EINDEX, "table: column %lld of %lld", (long long)cols[j],
                         (long long)t->cols);
    ct_shape shape = ct_shape2(t->rows, n);
    if (!s && ct_shape_count(shape) < 0) s = ct__fail(device, CT_ESHAPE, "table: too many columns");
    if (s) return NULL;

    size_t bytes = (size_t)ct_shape_count(shape) * ct_dtype_size(dtype);
    void *data = ct__host_alloc(device, bytes);
    if (!data) return NULL;
    for (int64_t i = 0; i < t->rows; i++)
        for (int64_t j = 0; j < n; j++) {
            double value = t->values[i * t->cols + (cols ? cols[j] : j)];
            if (dtype == CT_F64)
                ((double *)data)[i * n + j] = value;
            else
                ((float *)data)[i * n + j] = (float)value;
        }
    ct_tensor *result = ct_from(device, dtype, shape, data);
    ct__host_free(device, data, bytes);
    return result;
}

ct_tensor *ct_csv_load(ct_device *device, const char *path)
{
    ct_table *t = ct_csv_read(device, path, NULL);
    ct_tensor *result = ct_table_tensor(t, CT_F64, NULL, 0);
    ct_table_free(t);
    return result;
}
