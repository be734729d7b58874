#include "npy_header.h"

#include "tensor/internal.h"

#include <stdio.h>

enum { MAGIC = 6, LONGEST_DICT = 1 << 16 };

static const char magic[] = "\x93NUMPY\1"; /* and the version that is written: 1.0 */

/* -- the dict -------------------------------------------------------------------------------------------- */

typedef ct__npy_header header;

static ct_status wrong(header *h, const char *expected)
{
    return ct__fail(h->device, CT_EFORMAT, "%s: header, byte %zu: %s expected", h->label,
                    (size_t)h->start + (size_t)(h->at - h->text), expected);
}

static void skip_space(header *h)
{
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\t' || *h->at == '\n' || *h->at == '\r')) h->at++;
}

static bool accept(header *h, const char *word)
{
    const size_t n = strlen(word);
    skip_space(h);
    if ((size_t)(h->end - h->at) < n || memcmp(h->at, word, n)) return false;
    h->at += n;
    return true;
}

/* Reads a Python string without escapes. Returns false if there is none. */
static bool string(header *h, const char **text, size_t *size)
{
    skip_space(h);
    if (h->at == h->end || (*h->at != '\'' && *h->at != '"')) return false;
    const char *close = memchr(h->at + 1, *h->at, (size_t)(h->end - h->at - 1));
    if (!close) return false;
    *text = h->at + 1;
    *size = (size_t)(close - *text);
    h->at = close + 1;
    return true;
}

static ct_status read_descr(header *h)
{
    static const struct {
        char name[3];
        ct_dtype dtype;
    } known[] = { { "f8", CT_F64 }, { "f4", CT_F32 }, { "f2", CT_F16 }, { "i8", CT_I64 },
                  { "i4", CT_I64 }, { "i2", CT_I64 }, { "i1", CT_I64 }, { "u4", CT_I64 },
                  { "u2", CT_I64 }, { "u1", CT_I64 }, { "b1", CT_I64 } };
    const char *text;
    char shown[CT_SHOWN_TEXT];
    size_t size;
    if (!string(h, &text, &size)) return wrong(h, "a plain dtype such as '<f8' (no record)");
    for (size_t i = 0; size == 3 && i < sizeof known / sizeof *known; i++) {
        const char order = text[0];
        if (memcmp(text + 1, known[i].name, 2)) continue;
        if (order != '<' && order != '>' && order != '=' && !(order == '|' && text[2] == '1')) break;
        h->kind = text[1];
        h->width = text[2] - '0';
        h->big_endian = order == '>' || (order != '<' && !ct__little_endian());
        h->dtype = known[i].dtype;
        return CT_OK;
    }
    return ct__fail(
        h->device, CT_EFORMAT,
        "%s: elements of type '%s' cannot be read: f8, f4, f2, i1 to i8, u1 to u4 and b1 can; save it as "
        "float64",
        h->label, ct_show_text(text, size, shown));
}

static ct_status read_order(header *h)
{
    h->fortran = accept(h, "True");
    return h->fortran || accept(h, "False") ? CT_OK : wrong(h, "True or False");
}

/* Reads "()", "(3,)" or "(3, 4)", also with the L of Python 2. */
static ct_status read_shape(header *h)
{
    if (!accept(h, "(")) return wrong(h, "a shape such as (3, 4)");
    bool comma = true;
    while (!accept(h, ")")) {
        if (!comma || h->at == h->end || *h->at < '0' || *h->at > '9')
            return wrong(h, "a shape such as (3, 4)");
        if (h->shape.ndim == CT_MAX_DIMS)
            return ct__fail(h->device, CT_EFORMAT, "%s: more than %d dimensions", h->label, CT_MAX_DIMS);
        int64_t n = 0;
        for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++) {
            if (n > (INT64_MAX - 9) / 10) return wrong(h, "an extent of less than 2^63");
            n = 10 * n + (*h->at - '0');
        }
        accept(h, "L");
        h->shape.dim[h->shape.ndim++] = n;
        comma = accept(h, ",");
    }
    if (h->shape.ndim == 1 && !comma) return wrong(h, "the comma of a tuple (n,)");
    return CT_OK;
}

static ct_status read_dict(header *h)
{
    enum { DESCR = 1, ORDER = 2, SHAPE = 4, ALL = 7 };
    int seen = 0;
    if (!accept(h, "{")) return wrong(h, "a dict");
    bool comma = true;
    while (!accept(h, "}")) {
        const char *key;
        size_t size;
        if (!comma || !string(h, &key, &size)) return wrong(h, "'descr', 'fortran_order' and 'shape'");
        if (!accept(h, ":")) return wrong(h, "a colon");
        int bit = size == 5 && !memcmp(key, "descr", size)            ? DESCR
                  : size == 13 && !memcmp(key, "fortran_order", size) ? ORDER
                  : size == 5 && !memcmp(key, "shape", size)          ? SHAPE
                                                                      : 0;
        if (!bit || seen & bit) return wrong(h, "'descr', 'fortran_order' and 'shape', once each,");
        ct_status s = bit == DESCR ? read_descr(h) : bit == ORDER ? read_order(h) : read_shape(h);
        if (s) return s;
        seen |= bit;
        comma = accept(h, ",");
    }
    if (seen != ALL) return wrong(h, "'descr', 'fortran_order' and 'shape'");
    skip_space(h);
    if (h->at != h->end) return wrong(h, "the end of the header");
    return CT_OK;
}

/* -- reading --------------------------------------------------------------------------------------------- */

/* Reads the magic, the version and the length of the dict. */
static ct_status read_lead(header *h, int64_t size, size_t *length)
{
    unsigned char lead[12] = { 0 };
    ct_status s = size < 10 ? CT_OK : ct_file_reader_read(h->file, lead, 10);
    if (s) return s;
    if (memcmp(lead, magic, MAGIC)) return ct__fail(h->device, CT_EFORMAT, "%s: not a .npy file", h->label);
    if (lead[6] < 1 || lead[6] > 3)
        return ct__fail(h->device, CT_EFORMAT, "%s: .npy version %d.%d: only 1 to 3 are known", h->label,
                        lead[6], lead[7]);
    h->start = lead[6] > 1 ? 12 : 10;
    if (h->start <= size) s = ct_file_reader_read(h->file, lead + 10, (size_t)h->start - 10);
    *length = lead[8] | (size_t)lead[9] << 8 | (size_t)lead[10] << 16 | (size_t)lead[11] << 24;
    if (!s && (*length > LONGEST_DICT || h->start + (int64_t)*length > size))
        s = ct__fail(h->device, CT_EFORMAT, "%s: a header of %zu bytes in a file of %lld", h->label, *length,
                     (long long)size);
    return s;
}

/* Whether the `rest` bytes that follow in the file are exactly the elements. */
static ct_status check_rest(const header *h, int64_t rest)
{
    char shape[96];
    const int64_t count = ct_shape_count(h->shape);
    if (count < 0 || count > rest / h->width)
        return ct__fail(h->device, CT_EFORMAT,
                        "%s: truncated: %s elements of %d bytes do not fit into the %lld that follow",
                        h->label, ct__shape_text(h->shape, shape, sizeof shape), h->width, (long long)rest);
    if (count * h->width != rest)
        return ct__fail(h->device, CT_EFORMAT, "%s: %lld bytes follow the %s elements of %d bytes", h->label,
                        (long long)(rest - count * h->width), ct__shape_text(h->shape, shape, sizeof shape),
                        h->width);
    return CT_OK;
}

ct_status ct__npy_read_header(header *h)
{
    const int64_t size = (int64_t)ct_file_reader_size(h->file);
    size_t length = 0;
    ct_status s = read_lead(h, size, &length);
    char *text = s ? NULL : ct__host_alloc(h->device, LONGEST_DICT);
    if (!s) s = text ? ct_file_reader_read(h->file, text, length) : CT_ENOMEM;
    h->text = h->at = text;
    h->end = text ? text + length : NULL;
    if (!s) s = read_dict(h);
    if (!s) s = check_rest(h, size - h->start - (int64_t)length);
    ct__host_free(h->device, text, LONGEST_DICT);
    return s;
}

/* -- writing --------------------------------------------------------------------------------------------- */

size_t ct__npy_write_header(const ct_view *v, char *text, size_t size)
{
    static const char *const descr[] = { [CT_F64] = "f8", [CT_F32] = "f4", [CT_I64] = "i8", [CT_F16] = "f2" };
    memcpy(text, magic, sizeof magic);
    size_t n = 10;
    n += (size_t)snprintf(text + n, size - n, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                          ct__little_endian() ? '<' : '>', descr[v->dtype]);
    for (int i = 0; i < v->ndim; i++)
        n += (size_t)snprintf(text + n, size - n, i ? ", %lld" : "%lld", (long long)v->dim[i]);
    n += (size_t)snprintf(text + n, size - n, v->ndim == 1 ? ",), }" : "), }");
    size_t whole = (n + 1 + 63) / 64 * 64;
    memset(text + n, ' ', whole - n);
    text[whole - 1] = '\n';
    text[8] = (char)((whole - 10) & 255);
    text[9] = (char)((whole - 10) >> 8);
    return whole;
}
