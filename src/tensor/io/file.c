#define _XOPEN_SOURCE 700
#include "file.h"

#include "lock.h"
#include "tensor/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef O_CLOEXEC
#    define O_CLOEXEC 0
#endif

enum {
    BUFFER = 1 << 16,
    FIRST_READ = 1 << 16,
    MOST_AT_ONCE = 1 << 30,
    TEMPORARY_SUFFIX = 64,
    TRIES = 100,
    LINKS = 40
};

static ct_status no_memory(ct_device *device, const char *path, uint64_t bytes)
{
    char label[CT__LABEL];
    return ct__fail(device, CT_ENOMEM, "%s: no memory for %llu bytes", ct__label(path, label),
                    (unsigned long long)bytes);
}

static int open_again(const char *path, int flags)
{
    int descriptor;
    do descriptor = open(path, flags | O_CLOEXEC, 0666);
    while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

/* -- reading --------------------------------------------------------------------------------------------- */

ct_status ct__input_open(ct__input *in, ct_device *device, const char *path)
{
    *in = (ct__input){ .device = device, .path = path, .descriptor = -1, .size = -1 };
    ct_status s = ct__path_usable(device, path);
    if (s) return s;
    in->descriptor = open_again(path, O_RDONLY);
    struct stat info;
    if (in->descriptor < 0) return ct__path_refused(device, path, "", errno);
    int error = 0;
    if (fstat(in->descriptor, &info))
        error = errno;
    else if (S_ISDIR(info.st_mode))
        error = EISDIR;
    if (error) {
        ct__input_close(in);
        return ct__path_refused(device, path, "", error);
    }
    if (S_ISREG(info.st_mode)) in->size = (int64_t)info.st_size;
    return CT_OK;
}

ct_status ct__input_read(ct__input *in, void *data, size_t bytes, size_t *got)
{
    *got = 0;
    while (*got < bytes) {
        size_t left = bytes - *got;
        ssize_t n = read(in->descriptor, (char *)data + *got, left < MOST_AT_ONCE ? left : MOST_AT_ONCE);
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
    in->descriptor = -1;
}

void ct__bytes_free(ct_device *device, ct__bytes *bytes)
{
    if (bytes->data) ct__host_free(device, bytes->data, bytes->capacity);
    *bytes = (ct__bytes){ 0 };
}

static ct_status grow(ct__input *in, ct__bytes *b, size_t capacity)
{
    char *data = ct__host_alloc(in->device, capacity);
    if (!data) return no_memory(in->device, in->path, capacity);
    if (b->size) memcpy(data, b->data, b->size);
    if (b->data) ct__host_free(in->device, b->data, b->capacity);
    b->data = data;
    b->capacity = capacity;
    return CT_OK;
}

/* One byte is kept for the NUL; the size a regular file reports is a hint (it is 0 for those of /proc). */
static ct_status read_all(ct__input *in, uint64_t limit, ct__bytes *b)
{
    char label[CT__LABEL];
    bool known = in->size > 0 && (uint64_t)in->size < SIZE_MAX - 2;
    if (known && (uint64_t)in->size > limit)
        return ct__fail(in->device, CT_ENOMEM, "%s: %lld bytes are more than the limit of %llu",
                        ct__label(in->path, label), (long long)in->size, (unsigned long long)limit);
    ct_status s = grow(in, b, known ? (size_t)in->size + 2 : FIRST_READ);
    while (!s) {
        size_t room = b->capacity - 1 - b->size, got = 0;
        s = ct__input_read(in, b->data + b->size, room, &got);
        b->size += got;
        if (s || got < room) break;
        if (b->size > limit)
            return ct__fail(in->device, CT_ENOMEM, "%s: more than the limit of %llu bytes",
                            ct__label(in->path, label), (unsigned long long)limit);
        if (b->capacity > SIZE_MAX / 4) return no_memory(in->device, in->path, SIZE_MAX);
        s = grow(in, b, b->capacity * 2);
    }
    if (s) return s;
    if (b->size == 0)
        return ct__fail(in->device, CT_EFORMAT, "%s: the file is empty", ct__label(in->path, label));
    if (b->size > limit)
        return ct__fail(in->device, CT_ENOMEM, "%s: more than the limit of %llu bytes",
                        ct__label(in->path, label), (unsigned long long)limit);
    b->data[b->size] = 0;
    return CT_OK;
}

ct_status ct__file_read(ct_device *device, const char *path, uint64_t limit, ct__bytes *out)
{
    *out = (ct__bytes){ 0 };
    ct__input in;
    ct_status s = ct__input_open(&in, device, path);
    if (s) return s;
    s = read_all(&in, limit ? limit : UINT64_MAX, out);
    if (s) ct__bytes_free(device, out);
    ct__input_close(&in);
    return s;
}

/* -- writing --------------------------------------------------------------------------------------------- */

static void discard(ct__output *out)
{
    if (out->names && out->descriptor >= 0) {
        close(out->descriptor);
        if (!out->direct) unlink(out->temporary);
    }
    if (out->buffer) ct__host_free(out->device, out->buffer, BUFFER);
    if (out->names) ct__host_free(out->device, out->names, out->names_size);
    out->descriptor = -1;
    out->buffer = out->names = NULL;
    out->target = out->temporary = NULL;
    out->fill = 0;
}

static ct_status give_up(ct__output *out, const char *path, const char *what, int error)
{
    out->status = ct__path_refused(out->device, path, what, error);
    discard(out);
    return out->status;
}

/* What is at `path` now: sets *mode of a file that will be replaced, and whether to write to it directly.
 * Returns errno. */
static int inspect(const char *path, mode_t *mode, bool *direct, bool *replaces)
{
    struct stat info;
    *replaces = *direct = false;
    if (stat(path, &info)) return errno == ENOENT ? 0 : errno;
    if (S_ISDIR(info.st_mode)) return EISDIR;
    if (access(path, W_OK)) return errno;
    *direct = !S_ISREG(info.st_mode) || !strncmp(path, "/dev/", 5);
    *replaces = !*direct;
    *mode = info.st_mode & 07777;
    return 0;
}

/* A new file beside the target, locked. Returns errno. */
static int open_temporary(ct__output *out)
{
    char *name = (char *)out->temporary;
    const char *base = ct__path_split(out->target, name);
    ct__temporary_reclaim(name, base);
    for (int i = 0; i < TRIES; i++) {
        snprintf(name, strlen(out->target) + TEMPORARY_SUFFIX, CT__TEMPORARY, out->target, (long)getpid(),
                 (unsigned long long)(uintptr_t)out, i);
        out->descriptor = open_again(name, O_WRONLY | O_CREAT | O_EXCL);
        if (out->descriptor < 0 && errno != EEXIST) return errno;
        if (out->descriptor < 0) continue;
        if (ct__temporary_claim(out->descriptor)) return 0;
        close(out->descriptor);
        out->descriptor = -1;
    }
    return EEXIST;
}

ct_status ct__file_begin(ct__output *out, ct_device *device, const char *path)
{
    *out = (ct__output){ .device = device, .descriptor = -1 };
    if ((out->status = ct__path_usable(device, path))) return out->status;

    mode_t mode = 0;
    bool replaces;
    char resolved[PATH_MAX];
    int error = inspect(path, &mode, &out->direct, &replaces);
    if (!error && !out->direct) error = ct__path_resolve(path, resolved);
    if (error) return give_up(out, path, "", error);

    const char *target = out->direct ? path : resolved;
    size_t length = strlen(target) + 1;
    out->names_size = 2 * length + TEMPORARY_SUFFIX;
    out->names = ct__host_alloc(device, out->names_size);
    out->buffer = out->names ? ct__host_alloc(device, BUFFER) : NULL;
    if (!out->buffer) {
        discard(out);
        return out->status = no_memory(device, path, out->names_size + BUFFER);
    }
    memcpy(out->names, target, length);
    out->target = out->names;
    out->temporary = out->names + length;

    if (out->direct)
        error = (out->descriptor = open_again(path, O_WRONLY | O_APPEND)) < 0 ? errno : 0;
    else
        error = open_temporary(out);
    if (error) return give_up(out, path, "cannot write here: ", error);
    if (replaces && fchmod(out->descriptor, mode)) return give_up(out, path, "cannot keep the mode: ", errno);
    return CT_OK;
}

/* write, where what has met its end (RLIMIT_FSIZE, a pipe without a reader) is an error alone. The signal
 * that comes with it, to this thread, would end the program. */
static ssize_t write_quietly(int descriptor, const void *data, size_t bytes)
{
    sigset_t ends, before, waiting;
    sigemptyset(&ends);
    sigaddset(&ends, SIGXFSZ);
    sigaddset(&ends, SIGPIPE);
    sigpending(&waiting);
    pthread_sigmask(SIG_BLOCK, &ends, &before);
    ssize_t n = write(descriptor, data, bytes);
    int error = errno, came = n >= 0 ? 0 : error == EFBIG ? SIGXFSZ : error == EPIPE ? SIGPIPE : 0;
    if (came && !sigismember(&waiting, came)) {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, came);
        sigpending(&waiting);
        if (sigismember(&waiting, came)) sigwait(&one, &came);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return n;
}

static ct_status put(ct__output *out, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write_quietly(out->descriptor, data, bytes < MOST_AT_ONCE ? bytes : MOST_AT_ONCE);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            int error = n < 0 ? errno : EIO;
            char label[CT__LABEL];
            out->status = ct__fail(out->device, CT_EIO, "%s: writing failed after %llu bytes: %s (errno %d)",
                                   ct__label(out->target, label), (unsigned long long)out->written,
                                   ct__reason(error), error);
            discard(out);
            return out->status;
        }
        out->written += (uint64_t)n;
        data += n;
        bytes -= (size_t)n;
    }
    return CT_OK;
}

static ct_status flush(ct__output *out)
{
    size_t fill = out->fill;
    out->fill = 0;
    return put(out, out->buffer, fill);
}

ct_status ct__file_write(ct__output *out, const void *data, size_t bytes)
{
    if (out->status) return out->status;
    if (!out->names) return out->status = ct__fail(out->device, CT_EINVAL, "the file is not open");
    if (bytes >= BUFFER - out->fill && flush(out)) return out->status;
    if (bytes >= BUFFER) return put(out, data, bytes);
    if (bytes) memcpy(out->buffer + out->fill, data, bytes);
    out->fill += bytes;
    return CT_OK;
}

/* The rename is only durable with its directory. */
static void sync_folder(const char *path, char *scratch)
{
    ct__path_split(path, scratch);
    int folder = open(scratch, O_RDONLY | O_CLOEXEC);
    if (folder < 0) return;
    (void)fsync(folder);
    close(folder);
}

/* errno; a file that cannot be synced is no error. */
static int sync_file(int descriptor)
{
    while (fsync(descriptor))
        if (errno != EINTR) return errno == EINVAL ? 0 : errno;
    return 0;
}

/* The temporary file becomes the target, and its lock that of the device where it holds one. */
static ct_status replace(ct__output *out)
{
    ct_file_lock *lock = ct__lock_of(out->device, out->target);
    char label[CT__LABEL];
    int error = sync_file(out->descriptor);
    if (error) return give_up(out, out->target, "syncing failed: ", error);
    if (lock && !ct__lock_holds(lock)) {
        out->status = ct__fail(out->device, CT_EIO,
                               "%s: another program has changed it since it was locked: load it again",
                               ct__label(out->target, label));
        discard(out);
        return out->status;
    }
    if (rename(out->temporary, out->target)) return give_up(out, out->target, "writing failed: ", errno);
    if (lock)
        ct__lock_move(lock, out->descriptor);
    else
        close(out->descriptor);
    out->descriptor = -1;
    sync_folder(out->target, (char *)out->temporary);
    discard(out);
    return CT_OK;
}

ct_status ct__file_commit(ct__output *out)
{
    if (out->status) return out->status;
    if (!out->names) return out->status = ct__fail(out->device, CT_EINVAL, "the file is not open");
    if (flush(out)) return out->status;
    if (!out->direct) return replace(out);
    int error = close(out->descriptor) && errno != EINTR ? errno : 0;
    out->descriptor = -1;
    if (error) return give_up(out, out->target, "writing failed: ", error);
    discard(out);
    return CT_OK;
}

void ct__file_abort(ct__output *out)
{
    if (!out) return;
    discard(out);
    if (!out->status) out->status = CT_ESTOPPED;
}
