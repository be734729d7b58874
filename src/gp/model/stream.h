/* The bytes of a model's file: one layout for both directions. Numbers are little-endian. */
#ifndef CT_GP_STREAM_H
#define CT_GP_STREAM_H

#include <cotangent/gp.h>

enum { CT__STREAM_TEXT = 1 << 20 }; /* bytes of the longest text */

/* Writing: counts the bytes where data is NULL. Reading: `bad` from the first thing that does not fit; what
 * is read after that is undefined. */
typedef struct ct__stream {
    ct_device *device;
    unsigned char *data;
    size_t at, size;
    int version;
    bool reading, bad, no_memory;
} ct__stream;

void ct__stream_lacks_memory(ct__stream *s);
void ct__stream_bytes(ct__stream *s, void *value, size_t bytes);
/* `count` numbers of 4 or 8 bytes. */
void ct__stream_numbers(ct__stream *s, void *value, size_t count, size_t size);
void ct__stream_reals(ct__stream *s, double *const *v, int count);
void ct__stream_whole(ct__stream *s, int64_t *v);
/* An int, an enum or a bool as u32 in [0, limit]; a count of things as i64. */
int ct__stream_small(ct__stream *s, int value, int limit);
int ct__stream_count(ct__stream *s, int value);
/* A length and bytes. *value is replaced by a new string when reading. */
void ct__stream_text(ct__stream *s, char **value);
/* Zero bytes up to a multiple of 8, so that what follows lies aligned in memory. */
void ct__stream_align(ct__stream *s);
/* A model computes nothing from what is not finite: `bad` where one of count numbers is not. */
void ct__stream_need_finite(ct__stream *s, const void *host, size_t count, size_t size);
void ct__stream_write(ct__stream *s, const ct_tensor *t);
/* Writes *t, or makes it when reading. */
void ct__stream_tensor(ct__stream *s, ct_tensor **t, ct_dtype dtype, ct_shape shape);
/* -- stream_factor.c: L of a model -- */
void ct__stream_factor(ct__stream *s, ct_gp *gp);

#endif
