/* NumPy's .npy: reads arrays of any order and byte order, and writes them. */
#include <cotangent/io.h>

#include "npy_header.h"
#include "tensor/internal.h"

enum { CHUNK = 1 << 15 };

/* -- reading --------------------------------------------------------------------------------------------- */

/* Converts `count` elements of `width` bytes in the file and `size` in the tensor; inlined for each pair of
 * sizes. */
static inline void widen(const ct__npy_header *h, const unsigned char *raw, char *to, size_t count,
                         size_t width, size_t size)
{
    const uint64_t sign = h->kind == 'i' ? (uint64_t)1 << (8 * width - 1) : 0;
    const bool little = ct__little_endian(), big = h->big_endian;
    for (; count > 0; count--, raw += width, to += size) {
        uint64_t bits = 0;
        for (size_t i = 0; i < width; i++) bits |= (uint64_t)raw[i] << 8 * (big ? width - 1 - i : i);
        bits = h->kind == 'b' ? bits != 0 : (bits ^ sign) - sign;
        memcpy(to, (const char *)&bits + (little ? 0 : sizeof bits - size), size);
    }
}

/* Converts `count` elements of the file, at raw, to the tensor's, at `to`. */
static void convert(const ct__npy_header *h, const unsigned char *raw, char *to, size_t count)
{
    const bool whole = (size_t)h->width == ct__size(h->dtype);
    if (whole && h->big_endian != ct__little_endian())
        memcpy(to, raw, count * (size_t)h->width);
    else
        switch (h->width) {
        case 1: widen(h, raw, to, count, 1, 8); break;
        case 2: whole ? widen(h, raw, to, count, 2, 2) : widen(h, raw, to, count, 2, 8); break;
        case 4: whole ? widen(h, raw, to, count, 4, 4) : widen(h, raw, to, count, 4, 8); break;
        default: widen(h, raw, to, count, 8, 8);
        }
}

/* Reads the rest of the file into the contiguous tensor t. scratch: room for CHUNK elements of each side. */
static ct_status read_elements(const ct__npy_header *h, const ct_tensor *t, char *scratch)
{
    const size_t size = ct__size(h->dtype), width = (size_t)h->width, count = (size_t)ct_tensor_count(t);
    unsigned char *raw = (unsigned char *)scratch + CHUNK * size;
    ct_status s = CT_OK;
    for (size_t at = 0, n; at < count && !s; at += n) {
        n = count - at < CHUNK ? count - at : CHUNK;
        s = ct_file_reader_read(h->file, raw, n * width);
        if (s) break;
        convert(h, raw, scratch, n);
        s = h->device->backend->upload(h->device, (char *)t->view.data + at * size, scratch, n * size);
    }
    return s;
}

/* A row-major copy of t, whose dimensions are in reverse order. Releases t. */
static ct_tensor *from_fortran(ct_tensor *t)
{
    int order[CT_MAX_DIMS];
    for (int i = 0; i < t->view.ndim; i++) order[i] = t->view.ndim - 1 - i;
    ct_tensor *view = ct_tensor_permute(t, order), *copy = ct_tensor_clone(view);
    ct_release(view);
    ct_release(t);
    return copy;
}

static ct_tensor *load_elements(const ct__npy_header *h)
{
    const bool reversed = h->fortran && h->shape.ndim > 1;
    ct_device *device = h->device;
    ct_shape shape = h->shape;
    for (int i = 0; reversed && i < shape.ndim; i++) shape.dim[i] = h->shape.dim[shape.ndim - 1 - i];
    ct_tensor *t = ct_empty(device, h->dtype, shape);
    if (!t) return NULL;
    const size_t bytes = 2 * CHUNK * sizeof(int64_t);
    char *scratch = ct__host_alloc(device, bytes);
    t = ct__tensor_if(scratch ? read_elements(h, t, scratch) : CT_ENOMEM, t);
    ct__host_free(device, scratch, bytes);
    return t && reversed ? from_fortran(t) : t;
}

ct_tensor *ct_npy_load(ct_device *device, const char *path)
{
    ct__npy_header h = { .device = device, .file = ct_file_reader_open(device, path) };
    if (!h.file) return NULL;
    ct_show_path(path, h.label);
    ct_tensor *t = ct__npy_read_header(&h) ? NULL : load_elements(&h);
    ct_file_reader_close(h.file);
    return t;
}

/* -- writing --------------------------------------------------------------------------------------------- */

/* Writes the elements of the contiguous t. chunk: room for CHUNK of them. */
static ct_status write_elements(ct_file_writer *file, const ct_tensor *t, char *chunk)
{
    ct_device *device = ct_tensor_device(t);
    const size_t size = ct__size(t->view.dtype), count = (size_t)ct_tensor_count(t);
    ct_status s = CT_OK;
    for (size_t at = 0, n; at < count && !s; at += n) {
        n = count - at < CHUNK ? count - at : CHUNK;
        s = device->backend->download(device, chunk, (const char *)t->view.data + at * size, n * size);
        if (!s) s = ct_file_writer_write(file, chunk, n * size);
    }
    return s;
}

static ct_status save(const ct_tensor *t, const char *path)
{
    ct_device *device = ct_tensor_device(t);
    ct_file_writer *file = ct_file_writer_open(device, path);
    if (!file) return device->last_status;
    char text[512], *chunk = ct__host_alloc(device, CHUNK * sizeof(int64_t));
    ct_status s = chunk ? CT_OK : CT_ENOMEM;
    if (!s) s = ct_file_writer_write(file, text, ct__npy_write_header(&t->view, text, sizeof text));
    if (!s) s = write_elements(file, t, chunk);
    ct__host_free(device, chunk, CHUNK * sizeof(int64_t));
    return ct_file_writer_end(file, s);
}

ct_status ct_npy_save(const ct_tensor *t, const char *path)
{
    if (!t) return CT_EINVAL;
    ct_device *device = ct_tensor_device(t);
    if (!ct__may_wait(device, "ct_npy_save")) return device->last_status;
    if (t->view.dtype == CT_BF16)
        return ct__fail(device, CT_EDTYPE,
                        "NumPy has no bf16: save a copy in f32, which is exact: ct_tensor_cast");
    ct_tensor *dense = ct__dense_of(t);
    const ct_status s = dense ? save(dense, path) : device->last_status;
    ct_release(dense);
    return s;
}
