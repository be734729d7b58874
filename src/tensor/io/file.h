/* Files: whole ones in, and ones out that are never half written. Messages are "path: what is wrong". */
#ifndef CT_TENSOR_FILE_H
#define CT_TENSOR_FILE_H

#include <cotangent/io.h>

#include "path.h"

/* Bytes that one read or write is asked for. */
enum { CT__MOST_AT_ONCE = 1 << 30 };

/* -- reading --------------------------------------------------------------------------------------------- */

typedef struct ct__input {
    ct_device *device;
    const char *path; /* the caller's; must outlive this */
    char label[CT__LABEL];
    int descriptor;
    int64_t size; /* -1: not a regular file, so not known */
} ct__input;

/* CT_EIO: absent, a directory, no permission. Where it fails there is nothing to close. */
ct_status ct__input_open(ct__input *in, ct_device *device, const char *path);
/* Reads up to `bytes`, fewer at the end of the file only; *got says how many. */
ct_status ct__input_read(ct__input *in, void *data, size_t bytes, size_t *got);
void ct__input_close(ct__input *in);

/* A whole file in host memory (ct_bytes_free); a NUL byte that is not counted in `size` follows. CT_EIO as
 * above, CT_EFORMAT for an empty file, CT_ENOMEM for one of more than `limit` bytes (0: no limit). */
ct_status ct__file_read(ct_device *device, const char *path, uint64_t limit, ct_bytes *out);

/* -- writing --------------------------------------------------------------------------------------------- */

/* begin, write*, then end, which commits or aborts. The bytes go to a temporary file beside `path`; to commit
 * is to sync it to the disk and rename it, so that the file at `path` is the old one or the new one, never a
 * part. A symbolic link stays one: what it leads to is replaced, or made. What dead writers left beside
 * `path` is removed. What cannot be replaced (a pipe, a terminal) and everything in /dev is written to
 * directly. Errors stick: after a failed write further ones do nothing, and the end is to abort. */
typedef struct ct__output {
    ct_device *device;
    ct_status status;
    int descriptor;
    bool direct;                                     /* no temporary file */
    char target[PATH_MAX], temporary[PATH_MAX + 64]; /* 64: for CT__TEMPORARY */
    char *buffer;                                    /* NULL: not open */
    size_t fill;
    uint64_t written;
} ct__output;

/* Where it fails there is nothing to end; calling ct__file_end is harmless. */
ct_status ct__file_begin(ct__output *out, ct_device *device, const char *path);
ct_status ct__file_write(ct__output *out, const void *data, size_t bytes);
/* Commits after CT_OK, else aborts. Returns the file's first failure, else s. */
ct_status ct__file_end(ct__output *out, ct_status s);

/* Opens an existing file to append to it, after its first `keep` bytes; the others are lost. No temporary
 * file: what has been flushed stays there in any case. Where it fails there is nothing to end. */
ct_status ct__file_append(ct__output *out, ct_device *device, const char *path, uint64_t keep);
/* Hands what was written to the system, in one piece if it is short, and with `sync` to the disk. */
ct_status ct__file_flush(ct__output *out, bool sync);

/* -- tensors --------------------------------------------------------------------------------------------- */

/* What ct__file_save writes in front of the elements, and for n of them in host memory, the first of which
 * is element `at`. elements = NULL: their bytes. */
typedef struct ct__format {
    ct_status (*head)(ct__output *out, const ct_tensor *t, const void *context);
    ct_status (*elements)(ct__output *out, const ct_tensor *t, const char *data, int64_t at, int64_t n);
    const void *context; /* of head */
} ct__format;

/* A file of t's elements as `dtype`, in row-major order, some at a time. Errors as of the two functions, of
 * ct_tensor_cast and of commit. */
ct_status ct__file_save(const ct_tensor *t, ct_dtype dtype, const char *path, const ct__format *format);

#endif
