/* Reads whole files, and writes files atomically. Messages have the form "path: what
 * is wrong". */
#ifndef CT_TENSOR_FILE_H
#define CT_TENSOR_FILE_H

#include <cotangent/io.h>

#include "path.h"

/* The most bytes of one read or write. */
enum { CT__MOST_AT_ONCE = 1 << 30 };

/* -- reading --------------------------------------------------------------------------------------------- */

typedef struct ct__input {
    ct_device *device;
    const char *path; /* the caller's; must outlive this */
    char label[CT_SHOWN_PATH];
    int descriptor;
    int64_t size; /* -1: not a regular file, so not known */
} ct__input;

/* CT_EIO: absent, a directory, no permission. After a failure there is nothing to close. */
ct_status ct__input_open(ct__input *in, ct_device *device, const char *path);
/* Reads up to `bytes` bytes, fewer only at the end of the file. Sets *got to their number. */
ct_status ct__input_read(ct__input *in, void *data, size_t bytes, size_t *got);
void ct__input_close(ct__input *in);

/* Reads a whole file into host memory (ct_bytes_free), followed by a NUL byte that `size` does not count.
 * CT_EIO as above, CT_EFORMAT for an empty file, CT_ENOMEM for one of more than `limit` bytes (0: no
 * limit). */
ct_status ct__file_read(ct_device *device, const char *path, uint64_t limit, ct_bytes *out);

/* -- writing --------------------------------------------------------------------------------------------- */

/* Call begin, write any number of times, then end, which commits or aborts. The bytes go to a temporary file
 * beside `path`. Commit syncs it to the disk and renames it, so that the file at `path` is the old one or the
 * new one, never a part. A symbolic link stays a link: its target is replaced or created. Temporary files of
 * dead writers beside `path` are removed. A target that cannot be replaced (a pipe, a terminal), and
 * everything in /dev, is written directly. Errors are sticky: after a failed write, further writes do nothing
 * and end aborts. */
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

/* After a failure there is nothing to end; calling ct__file_end is harmless. */
ct_status ct__file_begin(ct__output *out, ct_device *device, const char *path);
ct_status ct__file_write(ct__output *out, const void *data, size_t bytes);
/* Commits after CT_OK, else aborts. Returns the file's first failure, else s. CT_EIO also if the new file is
 * in place and its folder cannot be synced; the message then says that it is written. */
ct_status ct__file_end(ct__output *out, ct_status s);

/* -- tensors --------------------------------------------------------------------------------------------- */

/* The callbacks of ct__file_save: `head` writes what precedes the elements; `elements` writes n of them from
 * host memory, beginning with element `at`. elements = NULL: writes their bytes. */
typedef struct ct__format {
    ct_status (*head)(ct__output *out, const ct_tensor *t, const void *context);
    ct_status (*elements)(ct__output *out, const ct_tensor *t, const char *data, int64_t at, int64_t n);
    const void *context; /* of head */
} ct__format;

/* Writes t's elements as `dtype` to a file, in row-major order, some at a time. Errors are those of the
 * callbacks, of ct_tensor_cast and of the commit. */
ct_status ct__file_save(const ct_tensor *t, ct_dtype dtype, const char *path, const ct__format *format);

#endif
