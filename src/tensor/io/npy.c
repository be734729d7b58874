/* NumPy's .npy: "\x93NUMPY", version, length of the header, the header (a Python dict of descr, fortran_order
 * and shape, padded with spaces to a multiple of 64 bytes), then the elements. */
#include <cotangent/io.h>

#include "file.h"
#include "tensor/internal.h"

#include <stdio.h>
#include <string.h>

enum { MAGIC = 6, LONGEST_HEADER = 1 << 16, CHUNK = 1 << 15 };

static const char magic[MAGIC] = { '\x93', 'N', 'U', 'M', 'P', 'Y' };

static bool little_endian(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 1;
}

typedef struct element {
    char kind; /* f, i, u, b as in descr */
    int width; /* bytes in the file      */
    bool swap;
    ct_dtype dtype; /* of the tensor */
} element;

/* -- the header ------------------------------------------------------------------------------------------ */

typedef struct header {
    ct_device *device;
    const char *label;
    const char *text, *at, *end;
    size_t start; /* of text in the file, for messages */
    element element;
    bool fortran;
    ct_shape shape;
} header;

static ct_status wrong(header *h, const char *expected)
{
    return ct__fail(h->device, CT_EFORMAT, "%s: header, byte %zu: %s expected", h->label,
                    h->start + (size_t)(h->at - h->text), expected);
}

static void skip_space(header *h)
{
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\t' || *h->at == '\n' || *h->at == '\r')) h->at++;
}

static bool accept(header *h, char c)
{
    skip_space(h);
    if (h->at == h->end || *h->at != c) return false;
    h->at++;
    return true;
}

static bool accept_word(header *h, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(h->end - h->at) < n || memcmp(h->at, word, n)) return false;
    h->at += n;
    return true;
}

/* A Python string without escapes; false where there is none. */
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
        char kind;
        int width;
        ct_dtype dtype;
    } known[] = { { 'f', 8, CT_F64 }, { 'f', 4, CT_F32 }, { 'f', 2, CT_F16 }, { 'i', 8, CT_I64 },
                  { 'i', 4, CT_I64 }, { 'i', 2, CT_I64 }, { 'i', 1, CT_I64 }, { 'u', 4, CT_I64 },
                  { 'u', 2, CT_I64 }, { 'u', 1, CT_I64 }, { 'b', 1, CT_I64 } };
    const char *text;
    size_t size;
    if (!string(h, &text, &size)) return wrong(h, "a plain dtype such as '<f8' (no record)");
    char order = size == 3 ? text[0] : 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (size != 3 || text[1] != known[i].kind || text[2] != '0' + known[i].width) continue;
        if (order != '<' && order != '>' && order != '=' && !(order == '|' && known[i].width == 1)) break;
        bool foreign = little_endian() ? order == '>' : order == '<';
        h->element =
            (element){ known[i].kind, known[i].width, foreign && known[i].width > 1, known[i].dtype };
        return CT_OK;
    }
    char shown[16];
    for (size_t i = 0; i < sizeof shown; i++)
        shown[i] = i >= size ? 0 : text[i] < ' ' || text[i] == 127 ? '?' : text[i];
    shown[sizeof shown - 1] = 0;
    return ct__fail(
        h->device, CT_EFORMAT,
        "%s: elements of type '%s' cannot be read: f8, f4, f2, i1 to i8, u1 to u4 and b1 can; save it as "
        "float64",
        h->label, shown);
}

static ct_status read_order(header *h)
{
    skip_space(h);
    if (accept_word(h, "True"))
        h->fortran = true;
    else if (!accept_word(h, "False"))
        return wrong(h, "True or False");
    return CT_OK;
}

/* "()", "(3,)", "(3, 4)", also with the L of Python 2. */
static ct_status read_shape(header *h)
{
    if (!accept(h, '(')) return wrong(h, "a shape such as (3, 4)");
    h->shape = ct_shape0();
    bool comma = true;
    while (!accept(h, ')')) {
        if (!comma || h->at == h->end || *h->at < '0' || *h->at > '9')
            return wrong(h, "a shape such as (3, 4)");
        if (h->shape.ndim == CT_MAX_DIMS)
            return ct__fail(h->device, CT_EFORMAT, "%s: more than %d dimensions", h->label, CT_MAX_DIMS);
        int64_t n = 0;
        for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++) {
            if (n > (INT64_MAX - 9) / 10) return wrong(h, "an extent of less than 2^63");
            n = 10 * n + (*h->at - '0');
        }
        accept_word(h, "L");
        h->shape.dim[h->shape.ndim++] = n;
        comma = accept(h, ',');
    }
    if (h->shape.ndim == 1 && !comma) return wrong(h, "the comma of a tuple (n,)");
    return CT_OK;
}

static ct_status read_header(header *h)
{
    enum { DESCR = 1, ORDER = 2, SHAPE = 4, ALL = 7 };
    int seen = 0;
    if (!accept(h, '{')) return wrong(h, "a dict");
    bool comma = true;
    while (!accept(h, '}')) {
        const char *key;
        size_t size;
        if (!comma || !string(h, &key, &size)) return wrong(h, "'descr', 'fortran_order' and 'shape'");
        if (!accept(h, ':')) return wrong(h, "a colon");
        int bit = size == 5 && !memcmp(key, "descr", size)            ? DESCR
                  : size == 13 && !memcmp(key, "fortran_order", size) ? ORDER
                  : size == 5 && !memcmp(key, "shape", size)          ? SHAPE
                                                                      : 0;
        if (!bit || seen & bit) return wrong(h, "'descr', 'fortran_order' and 'shape', once each,");
        ct_status s = bit == DESCR ? read_descr(h) : bit == ORDER ? read_order(h) : read_shape(h);
        if (s) return s;
        seen |= bit;
        comma = accept(h, ',');
    }
    if (seen != ALL) return wrong(h, "'descr', 'fortran_order' and 'shape'");
    skip_space(h);
    if (h->at != h->end) return wrong(h, "the end of the header");
    return CT_OK;
}

/* -- the elements ---------------------------------------------------------------------------------------- */

/* count elements of `raw` (the file's) into `wide` (the tensor's); raw is swapped in place. */
static void convert(const element *e, unsigned char *raw, int64_t *wide, size_t count)
{
    size_t width = (size_t)e->width;
    if (e->swap)
        for (unsigned char *p = raw; p < raw + count * width; p += width)
            for (size_t i = 0, j = width - 1; i < j; i++, j--) {
                unsigned char byte = p[i];
                p[i] = p[j];
                p[j] = byte;
            }
    if (width == ct_dtype_size(e->dtype)) {
        memcpy(wide, raw, count * width);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const unsigned char *p = raw + i * width;
        uint8_t u1 = *p;
        uint16_t u2 = 0;
        uint32_t u4 = 0;
        memcpy(&u2, p, width == 2 ? 2 : 0);
        memcpy(&u4, p, width == 4 ? 4 : 0);
        if (e->kind == 'b')
            wide[i] = u1 != 0;
        else if (e->kind == 'u')
            wide[i] = width == 1 ? u1 : width == 2 ? u2 : u4;
        else
            wide[i] = width == 1 ? (int8_t)u1 : width == 2 ? (int16_t)u2 : (int32_t)u4;
    }
}

/* The rest of the file into the contiguous tensor t, through `scratch`: room for CHUNK elements twice. */
static ct_status read_elements(ct__input *in, const element *e, const ct_tensor *t, int64_t *scratch)
{
    size_t size = ct_dtype_size(t->view.dtype), width = (size_t)e->width;
    unsigned char *raw = (unsigned char *)(scratch + CHUNK);
    char *to = t->view.data;
    for (int64_t left = ct_tensor_count(t); left > 0;) {
        size_t n = left < CHUNK ? (size_t)left : CHUNK, got;
        ct_status s = ct__input_read(in, raw, n * width, &got);
        if (s) return s;
        if (got < n * width) {
            char label[CT__LABEL];
            return ct__fail(in->device, CT_EIO, "%s: the file became shorter while it was read",
                            ct__label(in->path, label));
        }
        convert(e, raw, scratch, n);
        s = in->device->backend->upload(in->device, to, scratch, n * size);
        if (s) return s;
        to += n * size;
        left -= (int64_t)n;
    }
    return CT_OK;
}

/* A row-major copy of t, whose dimensions are in reverse order. */
static ct_tensor *from_fortran(const ct_tensor *t)
{
    int order[CT_MAX_DIMS];
    for (int i = 0; i < t->view.ndim; i++) order[i] = t->view.ndim - 1 - i;
    ct_tensor *view = ct_tensor_permute(t, order);
    ct_tensor *copy = view ? ct_tensor_clone(view) : NULL;
    ct_release(view);
    return copy;
}

static ct_tensor *load_elements(ct__input *in, const header *h)
{
    bool reversed = h->fortran && h->shape.ndim > 1;
    ct_shape shape = h->shape;
    for (int i = 0; reversed && i < shape.ndim; i++) shape.dim[i] = h->shape.dim[shape.ndim - 1 - i];
    ct_tensor *t = ct_empty(in->device, h->element.dtype, shape);
    if (!t) return NULL;
    size_t bytes = 2 * CHUNK * sizeof(int64_t);
    int64_t *scratch = ct__host_alloc(in->device, bytes);
    ct_status s = scratch ? read_elements(in, &h->element, t, scratch) : CT_ENOMEM;
    ct__host_free(in->device, scratch, bytes);
    ct_tensor *result = s ? NULL : reversed ? from_fortran(t) : ct_retain(t);
    ct_release(t);
    return result;
}

/* The header text into `text`, of room LONGEST_HEADER; then the elements. */
static ct_tensor *load(ct__input *in, const char *label, char *text)
{
    unsigned char lead[12];
    size_t got, lead_size = 10, length;
    ct_device *device = in->device;
    if (in->size < 0) {
        ct__fail(device, CT_EIO, "%s: not a regular file", label);
        return NULL;
    }
    if (ct__input_read(in, lead, lead_size, &got)) return NULL;
    if (got < lead_size || memcmp(lead, magic, MAGIC)) {
        ct__fail(device, CT_EFORMAT, got ? "%s: not a .npy file" : "%s: the file is empty", label);
        return NULL;
    }
    if (lead[6] < 1 || lead[6] > 3) {
        ct__fail(device, CT_EFORMAT, "%s: .npy version %d.%d: only 1 to 3 are known", label, lead[6],
                 lead[7]);
        return NULL;
    }
    length = lead[8] | (size_t)lead[9] << 8;
    if (lead[6] > 1) {
        if (ct__input_read(in, lead + 10, 2, &got)) return NULL;
        length |= got == 2 ? (size_t)lead[10] << 16 | (size_t)lead[11] << 24 : 0;
        lead_size = 12;
    }
    if (length > LONGEST_HEADER || (int64_t)(lead_size + length) > in->size) {
        ct__fail(device, CT_EFORMAT, "%s: a header of %zu bytes in a file of %lld", label, length,
                 (long long)in->size);
        return NULL;
    }
    if (ct__input_read(in, text, length, &got)) return NULL;
    header h = {
        .device = device, .label = label, .text = text, .at = text, .end = text + got, .start = lead_size
    };
    if (read_header(&h)) return NULL;

    int64_t count = ct_shape_count(h.shape), rest = in->size - (int64_t)(lead_size + length);
    char shape[96];
    ct__shape_text(h.shape, shape, sizeof shape);
    if (count < 0 || count > rest / h.element.width) {
        ct__fail(device, CT_EFORMAT,
                 "%s: truncated: %s elements of %d bytes do not fit into the %lld that follow", label, shape,
                 h.element.width, (long long)rest);
        return NULL;
    }
    if (count * h.element.width != rest) {
        ct__fail(device, CT_EFORMAT, "%s: %lld bytes follow the %s elements of %d bytes", label,
                 (long long)(rest - count * h.element.width), shape, h.element.width);
        return NULL;
    }
    return load_elements(in, &h);
}

ct_tensor *ct_npy_load(ct_device *device, const char *path)
{
    ct__input in;
    char label[CT__LABEL];
    if (ct__input_open(&in, device, path)) return NULL;
    char *text = ct__host_alloc(device, LONGEST_HEADER);
    ct_tensor *t = text ? load(&in, ct__label(path, label), text) : NULL;
    ct__host_free(device, text, LONGEST_HEADER);
    ct__input_close(&in);
    return t;
}

/* -- saving ---------------------------------------------------------------------------------------------- */

/* Magic, version 1.0, length and dict, padded with spaces and a newline to a multiple of 64. Returns its
 * size. */
static size_t write_header(const ct_tensor *t, char *text, size_t size)
{
    static const char *const descr[] = { [CT_F64] = "f8", [CT_F32] = "f4", [CT_I64] = "i8", [CT_F16] = "f2" };
    memcpy(text, magic, MAGIC);
    size_t n = 10;
    n += (size_t)snprintf(text + n, size - n, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                          little_endian() ? '<' : '>', descr[t->view.dtype]);
    for (int i = 0; i < t->view.ndim; i++)
        n += (size_t)snprintf(text + n, size - n, i ? ", %lld" : "%lld", (long long)t->view.dim[i]);
    n += (size_t)snprintf(text + n, size - n, t->view.ndim == 1 ? ",), }" : "), }");
    size_t whole = (n + 1 + 63) / 64 * 64;
    memset(text + n, ' ', whole - n);
    text[whole - 1] = '\n';
    text[6] = 1;
    text[7] = 0;
    text[8] = (char)((whole - 10) & 255);
    text[9] = (char)((whole - 10) >> 8);
    return whole;
}

/* The elements of the contiguous tensor t. */
static ct_status write_elements(ct__output *out, const ct_tensor *t)
{
    size_t size = ct_dtype_size(t->view.dtype), bytes = CHUNK * size;
    ct_device *device = out->device;
    char *chunk = ct__host_alloc(device, bytes);
    if (!chunk) return CT_ENOMEM;
    const char *from = t->view.data;
    ct_status s = CT_OK;
    for (size_t left = (size_t)ct_tensor_count(t) * size; left > 0 && !s;) {
        size_t n = left < bytes ? left : bytes;
        s = device->backend->download(device, chunk, from, n);
        if (!s) s = ct__file_write(out, chunk, n);
        from += n;
        left -= n;
    }
    ct__host_free(device, chunk, bytes);
    return s;
}

ct_status ct_npy_save(const ct_tensor *t, const char *path)
{
    if (!t) return CT_EINVAL;
    ct_device *device = ct_tensor_device(t);
    if (!ct__may_wait(device, "ct_npy_save")) return device->last_status;
    if (t->view.dtype == CT_BF16)
        return ct__fail(device, CT_EDTYPE,
                        "NumPy has no bf16: save a copy in f32, which is exact: ct_tensor_cast");
    ct_tensor *copy = NULL;
    if (!ct_tensor_is_contiguous(t) && !(copy = ct_tensor_clone(t))) return ct_last_status(device);
    ct__output out;
    ct_status s = ct__file_begin(&out, device, path);
    if (!s) {
        char text[512];
        s = ct__file_write(&out, text, write_header(t, text, sizeof text));
        if (!s) s = write_elements(&out, copy ? copy : t);
        if (s)
            ct__file_abort(&out);
        else
            s = ct__file_commit(&out);
    }
    ct_release(copy);
    return s;
}
