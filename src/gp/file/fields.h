/* The members of a struct in a stream: a row of a table each, by which they are written, read and checked. */
#ifndef CT_GP_FIELDS_H
#define CT_GP_FIELDS_H

#include <float.h>
#include <stddef.h>

#include "stream.h"

/* The types of a member and, where it differs, of its number in the file. */
typedef enum ct__field_type {
    CT__FIELD_ENUM, /* an enum or an int, as u32 */
    CT__FIELD_BOOL, /* as u32 */
    CT__FIELD_INT,  /* an int, as i64 */
    CT__FIELD_I64,
    CT__FIELD_F64,
    CT__FIELD_ANY, /* f64, perhaps infinite or NaN */
} ct__field_type;

typedef struct ct__field {
    ct__field_type type;
    size_t at;          /* offsetof(the struct, the member) */
    double least, most; /* what a reader accepts; for an enum or a bool least is 0 */
} ct__field;

/* clang-format off */
#define CT__FIELD(type, of, member, ...) { CT__FIELD_##type, offsetof(of, member), __VA_ARGS__ }
/* clang-format on */
/* The limits of finite and of positive f64, and of an i64 from `least` on. */
#define CT__FINITE      -DBL_MAX, DBL_MAX
#define CT__POSITIVE    DBL_TRUE_MIN, DBL_MAX
#define CT__FROM(least) least, (double)INT64_MAX

/* Passes the members f[0..count) of *of through the stream, which is bad if one is out of its range. */
void ct__stream_fields(ct__stream *s, void *of, const ct__field *f, size_t count);
#define CT__STREAM_FIELDS(s, of, fields) ct__stream_fields(s, of, fields, sizeof fields / sizeof *fields)

#endif
