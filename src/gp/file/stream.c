#include "stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gp/data/crc64.h"
#include "gp/data/numbers.h"

void ct__stream_check(ct__stream *s, ct_status status)
{
    if (status) s->bad = true;
    if (status == CT_ENOMEM) s->no_memory = true;
}

void *ct__stream_alloc(ct__stream *s, uint64_t count, size_t size)
{
    void *p = s->bad ? NULL : ct__gp_alloc(s->device, count, size);
    if (!p && !s->bad) ct__stream_check(s, CT_ENOMEM);
    return p;
}

bool ct__stream_holds(ct__stream *s, uint64_t count, size_t size)
{
    s->bad |= s->reading && count > ct__stream_left(s) / size;
    return !s->bad;
}

uint64_t ct__stream_crc(const ct__stream *s) { return ct__crc64_more(s->crc, s->data, s->at); }

/* Empties `data`, all of which has been written or read. */
static void empty(ct__stream *s)
{
    s->crc = ct__stream_crc(s);
    s->at = 0;
}

/* -- bytes ----------------------------------------------------------------------------------------------- */

static void flush(ct__stream *s)
{
    if (s->to && !s->bad && ct_file_writer_write(s->to, s->data, s->at)) s->bad = true;
    empty(s);
}

static void write(ct__stream *s, const unsigned char *value, size_t bytes)
{
    while (bytes) {
        if (s->at == s->size) flush(s);
        const size_t room = s->size - s->at, some = bytes < room ? bytes : room;
        memcpy(s->data + s->at, value, some);
        s->at += some, value += some, bytes -= some;
    }
}

uint64_t ct__stream_left(const ct__stream *s) { return s->size - s->at + s->left; }

/* Reads the next bytes of the file. */
static void refill(ct__stream *s)
{
    empty(s);
    s->size = s->left < CT__STREAM_BUFFER ? (size_t)s->left : CT__STREAM_BUFFER;
    s->left -= s->size;
    if (ct_file_reader_read(s->from, s->data, s->size)) s->bad = s->broken = true;
}

static void read(ct__stream *s, unsigned char *value, size_t bytes)
{
    while (bytes && !s->bad) {
        if (s->at == s->size) refill(s);
        const size_t there = s->size - s->at, some = bytes < there ? bytes : there;
        memcpy(value, s->data + s->at, some);
        s->at += some, value += some, bytes -= some;
    }
}

void ct__stream_bytes(ct__stream *s, void *value, size_t bytes)
{
    if (s->bad || (s->reading && bytes > ct__stream_left(s)))
        s->bad = true;
    else if (s->reading)
        read(s, value, bytes);
    else
        write(s, value, bytes);
}

void ct__stream_numbers(ct__stream *s, void *value, size_t count, size_t size)
{
    static const union {
        uint16_t word;
        unsigned char byte[2];
    } probe = { 1 };
    if (probe.byte[0]) {
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

void ct__stream_reals(ct__stream *s, double *value, int64_t count, bool positive)
{
    ct__stream_numbers(s, value, (size_t)count, sizeof *value);
    for (int64_t i = 0; i < count && !s->bad; i++)
        s->bad = !isfinite(value[i]) || (positive && !(value[i] > 0));
}

int ct__stream_small(ct__stream *s, int value, int limit)
{
    uint32_t v = (uint32_t)value;
    ct__stream_numbers(s, &v, 1, 4);
    s->bad |= v > (uint32_t)limit;
    return !s->reading ? value : s->bad ? 0 : (int)v;
}

void ct__stream_text(ct__stream *s, char **value)
{
    const size_t written = *value ? strlen(*value) : 0;
    if (!s->reading && written > CT__STREAM_TEXT) {
        ct__stream_check(s,
                         ct_device_fail(s->device, CT_EINVAL,
                                        "a text of %zu bytes begins \"%.60s\": a file holds texts of at most "
                                        "%d bytes",
                                        written, *value, CT__STREAM_TEXT));
        return;
    }
    const uint64_t length = (uint64_t)ct__stream_small(s, (int)written, CT__STREAM_TEXT);
    if (!ct__stream_holds(s, length, 1)) return;
    char *text = s->reading ? ct__stream_alloc(s, length + 1, 1) : *value;
    ct__stream_bytes(s, text, (size_t)length);
    if (!s->reading || !text) return;
    s->bad |= memchr(text, 0, (size_t)length) != NULL;
    free(*value);
    *value = text;
}

void ct__stream_name(ct__stream *s, const char *text)
{
    ct__stream_text(s, &(char *){ (char *)(uintptr_t)text });
}

/* Skips the bytes before the seal. */
static void skip(ct__stream *s)
{
    s->bad = s->broken;
    s->at = s->size;
    while (s->left && !s->bad) {
        refill(s);
        s->at = s->size;
    }
    s->left += CT__STREAM_SEAL;
}

void ct__stream_seal(ct__stream *s)
{
    const uint64_t crc = s->bad ? 0 : ct__stream_crc(s);
    uint64_t seal = crc;
    ct__stream_numbers(s, &seal, 1, sizeof seal);
    s->bad |= seal != crc;
}

void ct__stream_end(ct__stream *s)
{
    if (s->reading) skip(s);
    ct__stream_seal(s);
    if (!s->reading) flush(s);
}
