#include "stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

void ct__stream_lacks_memory(ct__stream *s) { s->bad = s->no_memory = true; }

void ct__stream_bytes(ct__stream *s, void *value, size_t bytes)
{
    if (s->bad || bytes > SIZE_MAX / 2 - s->at || (s->reading && bytes > s->size - s->at)) {
        s->bad = true;
        return;
    }
    if (s->reading)
        memcpy(value, s->data + s->at, bytes);
    else if (s->data)
        memcpy(s->data + s->at, value, bytes);
    s->at += bytes;
}

void ct__stream_numbers(ct__stream *s, void *value, size_t count, size_t size)
{
    static const union {
        uint16_t word;
        unsigned char byte[2];
    } probe = { 1 };
    if (probe.byte[0] || (!s->reading && !s->data)) {
        ct__stream_bytes(s, value, count * size);
        return;
    }
    unsigned char *v = value;
    for (size_t i = 0; i < count && !s->bad; i++) {
        unsigned char swapped[8];
        for (size_t b = 0; b < size; b++) swapped[b] = v[i * size + size - 1 - b];
        ct__stream_bytes(s, swapped, size);
        for (size_t b = 0; s->reading && b < size; b++) v[i * size + size - 1 - b] = swapped[b];
    }
}

void ct__stream_reals(ct__stream *s, double *const *v, int count)
{
    for (int i = 0; i < count; i++) ct__stream_numbers(s, v[i], 1, 8);
}

void ct__stream_whole(ct__stream *s, int64_t *v) { ct__stream_numbers(s, v, 1, 8); }

int ct__stream_small(ct__stream *s, int value, int limit)
{
    uint32_t v = (uint32_t)value;
    ct__stream_numbers(s, &v, 1, 4);
    if (v > (uint32_t)limit) s->bad = true;
    return s->bad ? 0 : (int)v;
}

int ct__stream_count(ct__stream *s, int value)
{
    int64_t v = value;
    ct__stream_whole(s, &v);
    if (v < 0 || v > INT32_MAX) s->bad = true;
    return s->bad ? 0 : (int)v;
}

void ct__stream_text(ct__stream *s, char **value)
{
    int length = ct__stream_small(s, *value ? (int)strlen(*value) : 0, CT__STREAM_TEXT);
    if (s->bad) return;
    if (s->reading) {
        s->bad = (size_t)length > s->size - s->at;
        if (s->bad) return;
        char *fresh = ct__gp_alloc(s->device, (uint64_t)length + 1, 1);
        if (!fresh) {
            ct__stream_lacks_memory(s);
            return;
        }
        free(*value);
        *value = fresh;
    }
    ct__stream_bytes(s, *value, (size_t)length);
    if (s->reading && memchr(*value, 0, (size_t)length)) s->bad = true;
}

void ct__stream_align(ct__stream *s)
{
    unsigned char zero[8] = { 0 };
    ct__stream_bytes(s, zero, (8 - s->at % 8) % 8);
}

/* -- tensors --------------------------------------------------------------------------------------------- */

void ct__stream_write(ct__stream *s, const ct_tensor *t)
{
    size_t count = (size_t)ct_tensor_count(t), size = ct_dtype_size(ct_tensor_dtype(t));
    if (s->data && !s->bad) {
        void *host = s->data + s->at;
        if (ct_read(t, host, count * size)) s->bad = true;
        ct__stream in_place = { .data = s->data, .at = s->at };
        ct__stream_numbers(&in_place, host, count, size);
    }
    s->at += count * size;
}

void ct__stream_need_finite(ct__stream *s, const void *host, size_t count, size_t size)
{
    for (size_t i = 0; i < count && !s->bad; i++)
        s->bad = !(size == 8 ? isfinite(((const double *)host)[i]) : isfinite(((const float *)host)[i]));
}

void ct__stream_tensor(ct__stream *s, ct_tensor **t, ct_dtype dtype, ct_shape shape)
{
    if (!s->reading) {
        ct__stream_write(s, *t);
        return;
    }
    uint64_t count = (uint64_t)ct_shape_count(shape), size = ct_dtype_size(dtype);
    s->bad = s->bad || count > (s->size - s->at) / size;
    if (s->bad) return;
    void *host = ct__gp_alloc(s->device, count, (size_t)size);
    if (host) ct__stream_numbers(s, host, (size_t)count, (size_t)size);
    if (host) ct__stream_need_finite(s, host, (size_t)count, (size_t)size);
    if (host && !s->bad) *t = ct_from(s->device, dtype, shape, host);
    free(host);
    if (!*t && !s->bad) ct__stream_lacks_memory(s);
}
