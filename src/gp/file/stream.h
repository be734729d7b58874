/* The bytes of a file: the same calls read and write them. Numbers are little-endian. */
#ifndef CT_GP_STREAM_H
#define CT_GP_STREAM_H

#include <cotangent/io.h>

enum { CT__STREAM_TEXT = 1 << 20 }; /* bytes of the longest text */

enum { CT__STREAM_BUFFER = 1 << 18, CT__STREAM_SEAL = 8 };

/* `data` is a buffer of `size` bytes. When writing, a full buffer is written to `to`, if that is not NULL.
 * When reading, a used buffer is refilled from the `left` bytes of `from`. `bad` is set by the first fault;
 * what is read after it is undefined. */
typedef struct ct__stream {
    ct_device *device;
    unsigned char *data;
    size_t at, size;
    bool reading, bad, no_memory;
    ct_file_writer *to;
    ct_file_reader *from;
    uint64_t left;
    bool broken;  /* the file cannot be read; the device has the message */
    uint64_t crc; /* of the bytes that have left `data` */
} ct__stream;

/* Zeroed memory for malloc's free; NULL if the stream is bad or memory ran out. */
void *ct__stream_alloc(ct__stream *s, uint64_t count, size_t size);
/* Whether the stream is good and may still hold `count` items of that many bytes. */
bool ct__stream_holds(ct__stream *s, uint64_t count, size_t size);
/* Makes the stream bad for a status other than CT_OK. */
void ct__stream_check(ct__stream *s, ct_status status);
void ct__stream_bytes(ct__stream *s, void *value, size_t bytes);
/* `count` numbers of 4 or 8 bytes. */
void ct__stream_numbers(ct__stream *s, void *value, size_t count, size_t size);
/* An int, an enum or a bool as u32 in [0, limit]. Returns what was read, 0 if it is bad, or what was written.
 * */
int ct__stream_small(ct__stream *s, int value, int limit);
/* A length and bytes. *value is replaced by a new string when reading. One that is too long to be written is
 * a failure of the device, too. */
void ct__stream_text(ct__stream *s, char **value);
/* Writes a text. */
void ct__stream_name(ct__stream *s, const char *text);
/* `count` reals, of which none is infinite or NaN, and with `positive` all are positive. */
void ct__stream_reals(ct__stream *s, double *value, int64_t count, bool positive);
/* The CRC-64 of all bytes so far. */
uint64_t ct__stream_crc(const ct__stream *s);
/* Writes it as u64; or reads it, `bad` if it differs. */
void ct__stream_seal(ct__stream *s);
/* Writes the seal at the end of a file; or skips what is left and reads it: `bad` only tells then whether it
 * differs, or the file cannot be read. */
void ct__stream_end(ct__stream *s);
/* The number of bytes still to be read before the seal. */
uint64_t ct__stream_left(const ct__stream *s);

#endif
