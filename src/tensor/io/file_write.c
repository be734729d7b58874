/* Atomic file writes. */
#define _XOPEN_SOURCE 700
#include <cotangent/io.h>

#include "lock.h"
#include "path.h"
#include "tensor/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 1 << 16, TRIES = 100 };

/* Where bytes are written. Its first failure is kept. */
typedef struct output {
    ct_device *device;
    ct_status status;
    int descriptor;
    char target[PATH_MAX];
    uint64_t written;
} output;

static ct_status refuse(output *out, const char *what, int error)
{
    return out->status = ct__path_refused(out->device, out->target, what, error);
}

/* write, but a file-size limit (RLIMIT_FSIZE) or a pipe without a reader only gives an error. The signal that
 * this thread gets with it would end the program, so it is suppressed. */
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

static ct_status put(output *out, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write_quietly(out->descriptor, data, bytes < CT__MOST_AT_ONCE ? bytes : CT__MOST_AT_ONCE);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            int error = n < 0 ? errno : EIO;
            char label[CT_SHOWN_PATH];
            return out->status =
                       ct__fail(out->device, CT_EIO, "%s: writing failed after %llu bytes: %s (errno %d)",
                                ct_show_path(out->target, label), (unsigned long long)out->written,
                                ct__reason(error), error);
        }
        out->written += (uint64_t)n;
        data += n;
        bytes -= (size_t)n;
    }
    return CT_OK;
}

/* Returns errno; a file that does not support syncing is no error. */
static int sync_file(int descriptor)
{
    while (fsync(descriptor))
        if (errno != EINTR) return errno == EINVAL ? 0 : errno;
    return 0;
}

/* A rename is durable only once its directory is synced. Returns errno; a directory that may be written but
 * not read cannot be synced, which is no error. */
static int sync_folder(const char *path, char *scratch)
{
    ct__path_split(path, scratch);
    const int folder = ct__path_open(scratch, O_RDONLY);
    if (folder < 0) return errno == EACCES ? 0 : errno;
    const int error = sync_file(folder);
    close(folder);
    return error;
}

/* -- a file that replaces another ------------------------------------------------------------------------ */

/* The bytes go to a temporary file beside the target, which the end syncs to the disk and renames. A target
 * that cannot be replaced (a pipe, a terminal), and everything in /dev, is written directly. */
struct ct_file_writer {
    output out;
    bool direct;
    char temporary[PATH_MAX + 64]; /* 64: for CT__TEMPORARY */
    size_t fill;
    char buffer[BUFFER];
};

/* Inspects what is at `path`: whether to write to it directly, and the permissions *mode of a file that will
 * be replaced, else -1. The bits setuid and setgid were for the old contents. Returns errno. */
static int inspect(const char *path, int *mode, bool *direct)
{
    struct stat info;
    *mode = -1;
    if (stat(path, &info)) return errno == ENOENT ? 0 : errno;
    if (S_ISDIR(info.st_mode)) return EISDIR;
    if (access(path, W_OK)) return errno;
    *direct = !S_ISREG(info.st_mode) || !strncmp(path, "/dev/", 5);
    if (!*direct) *mode = info.st_mode & 0777;
    return 0;
}

/* Creates and locks a new file beside the target. Returns its descriptor, or -1 with errno. */
static int open_temporary(ct_file_writer *f)
{
    char *name = f->temporary;
    const char *base = ct__path_split(f->out.target, name);
    ct__temporary_reclaim(name, base);
    for (int i = 0; i < TRIES; i++) {
        snprintf(name, sizeof f->temporary, CT__TEMPORARY, f->out.target, (long)getpid(),
                 (unsigned long long)(uintptr_t)f, i);
        const int descriptor = ct__path_open(name, O_WRONLY | O_CREAT | O_EXCL);
        const int error = descriptor < 0 ? errno : ct__temporary_claim(descriptor);
        if (!error) return descriptor;
        if (descriptor >= 0) close(descriptor), unlink(name);
        errno = error;
        if (error != EEXIST) break;
    }
    return -1;
}

static ct_status begin(ct_file_writer *f, const char *path)
{
    output *out = &f->out;
    int mode, error = inspect(path, &mode, &f->direct);
    if (!error && !f->direct) error = ct__path_resolve(path, out->target);
    if (error) return ct__path_refused(out->device, path, "", error);
    if (f->direct) snprintf(out->target, sizeof out->target, "%s", path);
    out->descriptor = f->direct ? ct__path_open(path, O_WRONLY | O_APPEND) : open_temporary(f);
    if (out->descriptor < 0) return ct__path_refused(out->device, path, "cannot write here: ", errno);
    if (mode >= 0 && fchmod(out->descriptor, (mode_t)mode))
        return ct__path_refused(out->device, path, "cannot keep the mode: ", errno);
    return CT_OK;
}

ct_file_writer *ct_file_writer_open(ct_device *device, const char *path)
{
    if (ct__path_usable(device, path)) return NULL;
    ct_file_writer *f = ct__host_alloc(device, sizeof *f);
    if (!f) return NULL;
    f->out = (output){ .device = device, .descriptor = -1 };
    f->direct = false;
    f->fill = 0;
    const ct_status s = begin(f, path);
    if (!s) return f;
    ct_file_writer_end(f, s);
    return NULL;
}

static ct_status flush(ct_file_writer *f)
{
    size_t fill = f->fill;
    f->fill = 0;
    return put(&f->out, f->buffer, fill);
}

ct_status ct_file_writer_write(ct_file_writer *f, const void *data, size_t bytes)
{
    if (!f || (bytes && !data)) return CT_EINVAL;
    if (f->out.status) return f->out.status;
    if (bytes >= BUFFER - f->fill && flush(f)) return f->out.status;
    if (bytes >= BUFFER) return put(&f->out, data, bytes);
    if (bytes) memcpy(f->buffer + f->fill, data, bytes);
    f->fill += bytes;
    return CT_OK;
}

/* Renames the temporary file to the target. If the device holds a lock on the target, it moves to the new
 * file. */
static ct_status replace(ct_file_writer *f)
{
    output *out = &f->out;
    ct_file_lock *lock = ct__lock_of(out->device, out->target);
    char label[CT_SHOWN_PATH];
    int error = sync_file(out->descriptor);
    if (error) return refuse(out, "syncing failed: ", error);
    if (lock && !ct__lock_holds(lock))
        return out->status = ct__fail(out->device, CT_EIO,
                                      "%s: another program has changed it since it was locked: load it again",
                                      ct_show_path(out->target, label));
    if (rename(f->temporary, out->target)) return refuse(out, "writing failed: ", errno);
    if (lock)
        ct__lock_move(lock, out->descriptor);
    else
        close(out->descriptor);
    out->descriptor = -1;
    error = sync_folder(out->target, f->temporary);
    return error ? refuse(out, "it is written, but a power failure may undo that: ", error) : CT_OK;
}

static ct_status end_directly(output *out)
{
    const int error = close(out->descriptor) && errno != EINTR ? errno : 0;
    out->descriptor = -1;
    return error ? refuse(out, "writing failed: ", error) : CT_OK;
}

ct_status ct_file_writer_end(ct_file_writer *f, ct_status s)
{
    if (!f) return s;
    output *out = &f->out;
    if (out->status) s = out->status;
    if (!s) s = flush(f);
    if (!s) s = f->direct ? end_directly(out) : replace(f);
    if (out->descriptor >= 0) {
        close(out->descriptor);
        if (!f->direct) unlink(f->temporary);
    }
    ct__host_free(out->device, f, sizeof *f);
    return s;
}

ct_status ct_bytes_save(ct_device *device, const char *path, const void *data, size_t bytes)
{
    if (bytes && !data) return ct__fail(device, CT_EINVAL, "ct_bytes_save: the data are NULL");
    ct_file_writer *f = ct_file_writer_open(device, path);
    return f ? ct_file_writer_end(f, ct_file_writer_write(f, data, bytes)) : ct_last_status(device);
}

/* -- appending ------------------------------------------------------------------------------------------- */

struct ct_append_file {
    output out;
    time_t synced;
};

ct_append_file *ct_append_open(ct_device *device, const char *path, uint64_t keep)
{
    if (ct__path_usable(device, path)) return NULL;
    ct_append_file *f = ct__host_alloc(device, sizeof *f);
    if (!f) return NULL;
    *f = (ct_append_file){ .out = { .device = device,
                                    .descriptor = ct__path_open(path, O_WRONLY | O_APPEND) } };
    snprintf(f->out.target, sizeof f->out.target, "%s", path);
    if (f->out.descriptor >= 0 && !ftruncate(f->out.descriptor, (off_t)keep)) return f;
    ct__path_refused(device, path, "cannot write here: ", errno);
    ct_append_close(f);
    return NULL;
}

ct_status ct_append_bytes(ct_append_file *f, const void *data, size_t bytes)
{
    if (!f || (bytes && !data)) return CT_EINVAL;
    output *out = &f->out;
    if (out->status || put(out, data, bytes)) return out->status;
    const time_t now = time(NULL);
    int error = now == f->synced ? 0 : sync_file(out->descriptor);
    f->synced = now;
    return error ? refuse(out, "syncing failed: ", error) : CT_OK;
}

void ct_append_close(ct_append_file *f)
{
    if (!f) return;
    if (f->out.descriptor >= 0) close(f->out.descriptor);
    ct__host_free(f->out.device, f, sizeof *f);
}
