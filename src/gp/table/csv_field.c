/* Nothing is allocated for a field unless it holds doubled quotes. */
#include "csv_field.h"

#include <cotangent/gp/number.h>

#include <stdlib.h>

#include "gp/data/numbers.h"
#include "letters.h"

typedef ct__csv reader;
typedef ct__field field;

static bool by_blanks(const reader *r) { return r->dialect.separator == ' '; }
static bool is_blank(const reader *r, char c)
{
    return ct__is_space(c) && (c != '\t' || r->dialect.separator != c);
}
static bool is_newline(char c) { return c == '\n' || c == '\r'; }

static void pass_blanks(reader *r)
{
    while (r->at < r->end && is_blank(r, *r->at)) r->at++;
}

static bool reserve(reader *r, size_t bytes)
{
    if (bytes <= r->scratch_bytes) return true;
    free(r->scratch);
    r->scratch_bytes = bytes < 256 ? 256 : bytes + bytes / 2;
    r->scratch = ct__gp_alloc(r->device, r->scratch_bytes, 1);
    return r->scratch;
}

static ct_status no_csv(const reader *r, int64_t line, const char *what)
{
    if (r->looking) return CT_EFORMAT;
    return ct_device_fail(r->device, CT_EFORMAT, "%s:%lld: %s", r->label, (long long)line, what);
}

/* Skips CRLF, LF or CR. */
static void pass_newline(reader *r)
{
    if (*r->at++ == '\r' && r->at < r->end && *r->at == '\n') r->at++;
    r->line++;
}

/* Skips the separator or the newline after a field. Returns false if neither is there. */
static bool finish(reader *r, field *f)
{
    const char *behind = r->at;
    if (by_blanks(r)) pass_blanks(r);
    f->last = r->at == r->end || (by_blanks(r) ? is_newline(*r->at) : *r->at != r->dialect.separator);
    if (r->at == r->end) return true;
    if (!f->last) return by_blanks(r) ? r->at > behind : (r->at++, true);
    if (!is_newline(*r->at)) return false;
    pass_newline(r);
    return true;
}

/* Reads a quoted field; r->at is after the opening quote. */
static ct_status quoted(reader *r, field *f)
{
    size_t doubled = 0;
    f->text = r->at;
    for (;; r->at++) {
        if (r->at == r->end) return no_csv(r, f->line, "a quote is opened here and never closed");
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
    if (!by_blanks(r)) pass_blanks(r);
    return finish(r, f) ? CT_OK : no_csv(r, r->line, "text after a closing quote");
}

ct_status ct__csv_field(reader *r, field *f)
{
    f->line = r->line;
    pass_blanks(r);
    f->quoted = r->at < r->end && *r->at == '"';
    if (f->quoted) {
        r->at++;
        return quoted(r, f);
    }
    const char *p = r->at, *end = r->end;
    const char separator = r->dialect.separator, other = by_blanks(r) ? '\t' : separator;
    while (p < end && (ct__is_digit(*p) || (*p != separator && *p != other && !is_newline(*p)))) p++;
    f->text = r->at;
    r->at = p;
    while (p > f->text && is_blank(r, p[-1])) p--;
    f->size = (size_t)(p - f->text);
    finish(r, f);
    return CT_OK;
}

int64_t ct__csv_pass_empty(reader *r)
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

bool ct__csv_is_remark(reader *r)
{
    const char *p = r->at;
    while (p < r->end && is_blank(r, *p)) p++;
    if (p == r->end || *p != '#') return false;
    reader look = *r;
    field f;
    double value;
    ct__csv_field(&look, &f); /* not quoted: cannot fail */
    return ct_number_read(f.text, f.size, &value) != CT_NUMBER_MISSING;
}

void ct__csv_pass_line(reader *r)
{
    while (r->at < r->end && !is_newline(*r->at)) r->at++;
    if (r->at < r->end) pass_newline(r);
}

bool ct__csv_find_row(ct__csv *r)
{
    for (;; ct__csv_pass_line(r)) {
        ct__csv_pass_empty(r);
        if (r->at == r->end) return false;
        if (!ct__csv_is_remark(r)) return true;
    }
}

int64_t ct__csv_count(reader *r)
{
    const reader before = *r;
    ct_status s;
    field f;
    int64_t n = 0;
    r->looking = true;
    while (r->end > r->at && !is_newline(*r->at)) r->at++;
    r->end = r->at;
    r->at = before.at;
    do {
        s = ct__csv_field(r, &f);
        n++;
    } while (!s && !f.last);
    r->at = before.at;
    r->end = before.end;
    r->line = before.line;
    r->looking = before.looking;
    return s ? -1 : n;
}
