/* Resolves and opens paths, and says what failed. */
#ifndef CT_TENSOR_PATH_H
#define CT_TENSOR_PATH_H

#include <cotangent/device.h>

#include <limits.h>

/* The most bytes of one read or write. */
enum { CT__MOST_AT_ONCE = 1 << 30 };

/* Resolves the symbolic links of `path`, even if nothing exists there yet. Returns errno. */
int ct__path_resolve(const char *path, char target[PATH_MAX]);
/* Copies the folder of a path, with "/" at its end, or ".", to `folder`, which must hold one byte more than
 * the path. Returns the rest of the path. */
const char *ct__path_split(const char *path, char *folder);

/* Opens a descriptor that exec closes; -1 with errno. A new file may be read and written by everyone, within
 * the umask. */
int ct__path_open(const char *path, int flags);

/* CT_OK if the device works and the path is not empty. */
ct_status ct__path_usable(ct_device *device, const char *path);

/* An errno in words. strerror is not thread-safe and depends on the locale. */
const char *ct__reason(int error);
/* "path: no memory for N bytes"; CT_ENOMEM. */
ct_status ct__path_no_memory(ct_device *device, const char *path, uint64_t bytes);
/* "path: what: reason"; CT_EIO, or CT_ENOMEM. */
ct_status ct__path_refused(ct_device *device, const char *path, const char *what, int error);

#endif
