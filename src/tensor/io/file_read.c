/* Reads files, whole or in parts. */
#define _XOPEN_SOURCE 700
#include <cotangent/io.h>

#include "path.h"
#include "tensor/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_READ = 1 << 16 };

struct ct_file_reader {
    ct_device *device;
    int descriptor;
    int64_t size;   /* -1: not a regular file, so not known */
    ct_bytes whole; /* then, or if the size is 0, the contents */
    size_t at;      /* in `whole` */
    size_t bytes;   /* of this struct and the path behind it */
    char path[];
};

static ct_status refuse(const ct_file_reader *f, const char *what, int error)
{
    return ct__path_refused(f->device, f->path, what, error);
}

/* Reads up to `bytes` bytes, fewer only at the end of the file. Sets *got to their number. */
static ct_status read_some(const ct_file_reader *f, void *data, size_t bytes, size_t *got)
{
    *got = 0;
    while (*got < bytes) {
        size_t left = bytes - *got;
        ssize_t n =
            read(f->descriptor, (char *)data + *got, left < CT__MOST_AT_ONCE ? left : CT__MOST_AT_ONCE);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return refuse(f, "reading failed: ", errno);
        if (n == 0) break;
        *got += (size_t)n;
    }
    return CT_OK;
}

/* Reads a whole file, and a NUL byte behind it, which its size does not count. The size that a regular file
 * reports is only a hint (it is 0 in /proc). */
static ct_status read_all(const ct_file_reader *f, ct_bytes *b)
{
    ct_device *device = f->device;
    const uint64_t limit = device->memory.limit;
    const bool known = f->size > 0 && (uint64_t)f->size < SIZE_MAX - 2;
    char label[CT_SHOWN_PATH];
    ct_show_path(f->path, label);
    if (known && (uint64_t)f->size > limit)
        return ct__fail(device, CT_ENOMEM, "%s: %lld bytes are more than the limit of %llu", label,
                        (long long)f->size, (unsigned long long)limit);
    size_t wanted = known ? (size_t)f->size + 2 : FIRST_READ, space, got;
    char *data;
    do {
        data = ct__host_grow(device, b->data, &b->capacity, b->size, wanted, 1);
        if (!data) return ct__path_no_memory(device, f->path, wanted);
        b->data = data;
        space = wanted - 1 - b->size;
        ct_status s = read_some(f, data + b->size, space, &got);
        if (s) return s;
        b->size += got;
        if (b->size > limit)
            return ct__fail(device, CT_ENOMEM, "%s: more than the limit of %llu bytes", label,
                            (unsigned long long)limit);
        wanted = wanted > SIZE_MAX / 4 ? SIZE_MAX : 2 * wanted;
    } while (got == space);
    if (b->size == 0) return ct__fail(device, CT_EFORMAT, "%s: the file is empty", label);
    data[b->size] = 0;
    return CT_OK;
}

/* The file, of which nothing has been read; NULL with a message. */
static ct_file_reader *open_file(ct_device *device, const char *path)
{
    if (ct__path_usable(device, path)) return NULL;
    const size_t length = strlen(path) + 1, bytes = sizeof(ct_file_reader) + length;
    ct_file_reader *f = ct__host_alloc(device, bytes);
    struct stat info;
    if (!f) return NULL;
    *f = (ct_file_reader){ .device = device, .size = -1, .bytes = bytes };
    memcpy(f->path, path, length);
    f->descriptor = ct__path_open(path, O_RDONLY);
    const int error = f->descriptor < 0 || fstat(f->descriptor, &info) ? errno
                      : S_ISDIR(info.st_mode)                          ? EISDIR
                                                                       : 0;
    if (!error && S_ISREG(info.st_mode)) f->size = (int64_t)info.st_size;
    if (!error) return f;
    refuse(f, "", error);
    ct_file_reader_close(f);
    return NULL;
}

ct_status ct_bytes_load(ct_device *device, const char *path, ct_bytes *bytes)
{
    if (!bytes) return ct__fail(device, CT_EINVAL, "ct_bytes_load: the pointer to the bytes is NULL");
    *bytes = (ct_bytes){ 0 };
    ct_file_reader *f = open_file(device, path);
    ct_status s = f ? read_all(f, bytes) : ct_last_status(device);
    if (s) ct_bytes_free(device, bytes);
    ct_file_reader_close(f);
    return s;
}

void ct_bytes_free(ct_device *device, ct_bytes *bytes)
{
    if (!bytes || !bytes->data) return;
    ct__host_free(device, bytes->data, bytes->capacity);
    *bytes = (ct_bytes){ 0 };
}

/* -- piece by piece -------------------------------------------------------------------------------------- */

ct_file_reader *ct_file_reader_open(ct_device *device, const char *path)
{
    ct_file_reader *f = open_file(device, path);
    if (!f || f->size > 0 || !read_all(f, &f->whole)) return f;
    ct_file_reader_close(f);
    return NULL;
}

uint64_t ct_file_reader_size(const ct_file_reader *f)
{
    return !f ? 0 : f->whole.data ? f->whole.size : (uint64_t)f->size;
}

ct_status ct_file_reader_read(ct_file_reader *f, void *data, size_t bytes)
{
    if (!f || (bytes && !data)) return CT_EINVAL;
    size_t got = bytes;
    if (!f->whole.data) {
        const ct_status s = read_some(f, data, bytes, &got);
        if (s) return s;
    } else if (bytes <= f->whole.size - f->at) {
        memcpy(data, (char *)f->whole.data + f->at, bytes);
        f->at += bytes;
    } else {
        got = f->whole.size - f->at;
    }
    char label[CT_SHOWN_PATH];
    if (got == bytes) return CT_OK;
    return ct__fail(f->device, CT_EIO, "%s: it ends where %zu more bytes were expected",
                    ct_show_path(f->path, label), bytes - got);
}

void ct_file_reader_close(ct_file_reader *f)
{
    if (!f) return;
    if (f->descriptor >= 0) close(f->descriptor);
    ct_bytes_free(f->device, &f->whole);
    ct__host_free(f->device, f, f->bytes);
}
