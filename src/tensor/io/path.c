/* Resolves and opens paths, and says what failed. */
#define _XOPEN_SOURCE 700
#include "path.h"

#include <cotangent/io.h>

#include "tensor/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINKS = 40 }; /* the most links that Linux follows */

ct_status ct__path_usable(ct_device *device, const char *path)
{
    if (!device) return CT_EINVAL;
    if (device->status) return device->status;
    if (!path || !*path) return ct__fail(device, CT_EINVAL, "the path is empty");
    return CT_OK;
}

int ct__path_open(const char *path, int flags)
{
    int descriptor;
    do descriptor = open(path, flags | O_CLOEXEC, 0666);
    while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

int ct__path_resolve(const char *path, char target[PATH_MAX])
{
    char link[PATH_MAX];
    if (realpath(path, target)) return 0;
    if (errno != ENOENT) return errno;
    if (strlen(path) >= PATH_MAX) return ENAMETOOLONG;
    strcpy(target, path);
    for (int i = 0; i < LINKS; i++) {
        ssize_t length = readlink(target, link, sizeof link);
        if (length < 0) return errno == EINVAL || errno == ENOENT ? 0 : errno; /* the last one led here */
        const char *slash = strrchr(target, '/');
        size_t folder = slash && link[0] != '/' ? (size_t)(slash - target) + 1 : 0;
        if (folder + (size_t)length >= PATH_MAX) return ENAMETOOLONG;
        memcpy(target + folder, link, (size_t)length);
        target[folder + (size_t)length] = 0;
    }
    return ELOOP;
}

const char *ct__path_split(const char *path, char *folder)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + 1 : 1;
    memcpy(folder, slash ? path : ".", length);
    folder[length] = 0;
    return slash ? slash + 1 : path;
}

/* -- messages -- */

static char shown(char c) { return (unsigned char)c < ' ' || c == 127 ? '?' : c; }

const char *ct_show_path(const char *path, char buffer[CT_SHOWN_PATH])
{
    const size_t length = strlen(path);
    const bool whole = length < CT_SHOWN_PATH;
    snprintf(buffer, CT_SHOWN_PATH, "%s%s", whole ? "" : "...",
             whole ? path : path + length - (CT_SHOWN_PATH - 4));
    for (char *c = buffer; *c; c++) *c = shown(*c);
    return buffer;
}

const char *ct_show_text(const char *text, size_t size, char buffer[CT_SHOWN_TEXT])
{
    const size_t n = size < CT_SHOWN_TEXT ? size : CT_SHOWN_TEXT - 4;
    for (size_t i = 0; i < n; i++) buffer[i] = shown(text[i]);
    strcpy(buffer + n, n < size ? "..." : "");
    return buffer;
}

const char *ct__reason(int error)
{
    static const struct {
        int error;
        const char *text;
    } reasons[] = {
        { ENOENT, "no such file or directory" },
        { ENOTDIR, "a part of the path is not a directory" },
        { EISDIR, "is a directory" },
        { EACCES, "permission denied" },
        { EPERM, "permission denied" },
        { EROFS, "the file system is read-only" },
        { ENOSPC, "no space left on the disk" },
        { EDQUOT, "the disk quota is used up" },
        { EFBIG, "larger than the file system or the process may write" },
        { EMFILE, "too many open files" },
        { ENFILE, "too many open files" },
        { ENAMETOOLONG, "the name is too long" },
        { ELOOP, "too many symbolic links" },
        { ENOMEM, "out of memory" },
        { EPIPE, "nobody reads the pipe" },
        { EIO, "input/output error" },
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].error == error) return reasons[i].text;
    return "the system refused";
}

ct_status ct__path_no_memory(ct_device *device, const char *path, uint64_t bytes)
{
    char label[CT_SHOWN_PATH];
    return ct__fail(device, CT_ENOMEM, "%s: no memory for %llu bytes", ct_show_path(path, label),
                    (unsigned long long)bytes);
}

ct_status ct__path_refused(ct_device *device, const char *path, const char *what, int error)
{
    char label[CT_SHOWN_PATH];
    return ct__fail(device, error == ENOMEM ? CT_ENOMEM : CT_EIO, "%s: %s%s (errno %d)",
                    ct_show_path(path, label), what, ct__reason(error), error);
}
