/* Reads files, whole or in parts. */
#define _XOPEN_SOURCE 700
#include <cotangent/io.h>

#include "file.h"
#include "tensor/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_READ = 1 << 16 };

ct_status ct__input_open(ct__input *in, ct_device *device, const char *path)
{
    *in = (ct__input){ .device = device, .path = path, .descriptor = -1, .size = -1 };
    ct_status s = ct__path_usable(device, path);
    if (s) return s;
    ct_show_path(path, in->label);
    in->descriptor = ct__path_open(path, O_RDONLY);
    struct stat info;
    const int error = in->descriptor < 0 || fstat(in->descriptor, &info) ? errno
                      : S_ISDIR(info.st_mode)                            ? EISDIR
                                                                         : 0;
    if (!error && S_ISREG(info.st_mode)) in->size = (int64_t)info.st_size;
    if (error) ct__input_close(in);
    return error ? ct__path_refused(device, path, "", error) : CT_OK;
}

ct_status ct__input_read(ct__input *in, void *data, size_t bytes, size_t *got)
{
    *got = 0;
    while (*got < bytes) {
        size_t left = bytes - *got;
        ssize_t n =
            read(in->descriptor, (char *)data + *got, left < CT__MOST_AT_ONCE ? left : CT__MOST_AT_ONCE);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return ct__path_refused(in->device, in->path, "reading failed: ", errno);
        if (n == 0) break;
        *got += (size_t)n;
    }
    return CT_OK;
}

void ct__input_close(ct__input *in)
{
    if (in->descriptor >= 0) close(in->descriptor);
}

/* One byte is reserved for the NUL. The size that a regular file reports is only a hint (it is 0 in
 * /proc). */
static ct_status read_all(ct__input *in, uint64_t limit, ct_bytes *b)
{
    const bool known = in->size > 0 && (uint64_t)in->size < SIZE_MAX - 2;
    if (known && (uint64_t)in->size > limit)
        return ct__fail(in->device, CT_ENOMEM, "%s: %lld bytes are more than the limit of %llu", in->label,
                        (long long)in->size, (unsigned long long)limit);
    size_t wanted = known ? (size_t)in->size + 2 : FIRST_READ, space, got;
    char *data;
    do {
        data = ct__host_grow(in->device, b->data, &b->capacity, b->size, wanted, 1);
        if (!data) return ct__path_no_memory(in->device, in->path, wanted);
        b->data = data;
        space = wanted - 1 - b->size;
        ct_status s = ct__input_read(in, data + b->size, space, &got);
        if (s) return s;
        b->size += got;
        if (b->size > limit)
            return ct__fail(in->device, CT_ENOMEM, "%s: more than the limit of %llu bytes", in->label,
                            (unsigned long long)limit);
        wanted = wanted > SIZE_MAX / 4 ? SIZE_MAX : 2 * wanted;
    } while (got == space);
    if (b->size == 0) return ct__fail(in->device, CT_EFORMAT, "%s: the file is empty", in->label);
    data[b->size] = 0;
    return CT_OK;
}

ct_status ct__file_read(ct_device *device, const char *path, uint64_t limit, ct_bytes *out)
{
    *out = (ct_bytes){ 0 };
    ct__input in;
    ct_status s = ct__input_open(&in, device, path);
    if (s) return s;
    s = read_all(&in, limit ? limit : UINT64_MAX, out);
    if (s) ct_bytes_free(device, out);
    ct__input_close(&in);
    return s;
}

ct_status ct_bytes_load(ct_device *device, const char *path, ct_bytes *bytes)
{
    if (!bytes) return ct__fail(device, CT_EINVAL, "ct_bytes_load: the pointer to the bytes is NULL");
    return ct__file_read(device, path, device ? device->memory.limit : 0, bytes);
}

void ct_bytes_free(ct_device *device, ct_bytes *bytes)
{
    if (!bytes || !bytes->data) return;
    ct__host_free(device, bytes->data, bytes->capacity);
    *bytes = (ct_bytes){ 0 };
}

/* -- piece by piece -------------------------------------------------------------------------------------- */

struct ct_file_reader {
    ct__input in;
    ct_bytes whole; /* the contents if it is not a regular file */
    size_t at;      /* in `whole` */
    size_t bytes;   /* of this struct and the path behind it */
    char path[];
};

ct_file_reader *ct_file_reader_open(ct_device *device, const char *path)
{
    if (ct__path_usable(device, path)) return NULL;
    const size_t length = strlen(path) + 1, bytes = sizeof(ct_file_reader) + length;
    ct_file_reader *f = ct__host_alloc(device, bytes);
    if (!f) return NULL;
    *f = (ct_file_reader){ .bytes = bytes };
    memcpy(f->path, path, length);
    ct_status s = ct__input_open(&f->in, device, f->path);
    if (!s && f->in.size <= 0) s = read_all(&f->in, UINT64_MAX, &f->whole);
    if (!s) return f;
    ct_file_reader_close(f);
    return NULL;
}

uint64_t ct_file_reader_size(const ct_file_reader *f)
{
    return !f ? 0 : f->whole.data ? f->whole.size : (uint64_t)f->in.size;
}

ct_status ct_file_reader_read(ct_file_reader *f, void *data, size_t bytes)
{
    if (!f || (bytes && !data)) return CT_EINVAL;
    size_t got = bytes;
    if (!f->whole.data) {
        const ct_status s = ct__input_read(&f->in, data, bytes, &got);
        if (s) return s;
    } else if (bytes <= f->whole.size - f->at) {
        memcpy(data, (char *)f->whole.data + f->at, bytes);
        f->at += bytes;
    } else {
        got = f->whole.size - f->at;
    }
    if (got == bytes) return CT_OK;
    return ct__fail(f->in.device, CT_EIO, "%s: it ends where %zu more bytes were expected", f->in.label,
                    bytes - got);
}

void ct_file_reader_close(ct_file_reader *f)
{
    if (!f) return;
    ct__input_close(&f->in);
    ct_bytes_free(f->in.device, &f->whole);
    ct__host_free(f->in.device, f, f->bytes);
}
