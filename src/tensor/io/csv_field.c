/* Fields are slices of the text; nothing is allocated for one unless it holds doubled quotes. */
#include "csv.h"
#include "tensor/internal.h"

static bool is_blank(const ct__csv *r, char c) { return (c == ' ' || c == '\t') && c != r->delimiter; }
static bool is_newline(char c) { return c == '\n' || c == '\r'; }

static bool reserve(ct__csv *r, size_t bytes)
{
    if (bytes <= r->scratch_bytes) return true;
    size_t wanted = bytes < 256 ? 256 : bytes + bytes / 2;
    char *fresh = ct__host_grow(r->device, r->scratch, &r->scratch_bytes, 0, wanted, 1);
    if (!fresh) return false;
    r->scratch = fresh;
    return true;
}

/* Passes CRLF, LF or CR. */
static void pass_newline(ct__csv *r)
{
    if (*r->at++ == '\r' && r->at < r->end && *r->at == '\n') r->at++;
    r->line++;
}

/* Passes the delimiter or the newline after a field; false where something else stands there. */
static bool finish(ct__csv *r, ct__csv_field *f)
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
static ct_status quoted(ct__csv *r, ct__csv_field *f)
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

ct_status ct__csv_next(ct__csv *r, ct__csv_field *f)
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

int64_t ct__csv_pass_empty(ct__csv *r)
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

ct_number ct__csv_number(const ct__csv *r, const ct__csv_field *f, double *value)
{
    const char *text = f->text;
    size_t n = f->size;
    while (n && is_blank(r, *text)) text++, n--;
    while (n && is_blank(r, text[n - 1])) n--;
    return ct_number_read(text, n, value);
}
