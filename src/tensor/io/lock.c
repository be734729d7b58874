/* Locks with which programs take turns to write a file. Removes the temporary files of dead writers.
 *
 * The lock is on the whole file (flock) and ends with the process that holds it. Saving replaces a file by
 * another, so a lock is valid only while its file is the one at the path. A save under a lock moves the lock
 * to the new file. */
#define _XOPEN_SOURCE 700
#include "lock.h"

#include "path.h"
#include "tensor/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct ct_file_lock {
    ct_device *device;
    ct_file_lock *next; /* of the device */
    int descriptor;
    struct stat seen; /* the file as it was when locked, or last saved */
    size_t bytes;     /* of this block */
    char target[];    /* the path without symbolic links */
};

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool unchanged(const struct stat *a, const struct stat *b)
{
    return same_file(a, b) && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Returns errno; 0 also if the file system has no locks. */
static int lock_descriptor(int descriptor, int operation)
{
    while (flock(descriptor, operation))
        if (errno != EINTR)
            return errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL ? 0 : errno;
    return 0;
}

/* -- one writer after the other ------------------------------------------------------------------------- */

/* Waits for its turn and locks the file that is then at the target, which may have been replaced meanwhile.
 * Opens it for writing, as NFS requires for a lock. Returns errno. */
static int acquire(ct_file_lock *lock)
{
    for (;;) {
        const int fd = ct__path_open(lock->target, O_RDWR | O_NONBLOCK | O_NOCTTY);
        struct stat now;
        if (fd < 0) return errno;
        int error = fstat(fd, &lock->seen) ? errno : S_ISREG(lock->seen.st_mode) ? 0 : EINVAL;
        if (!error) error = lock_descriptor(fd, LOCK_EX);
        if (!error && fstat(fd, &lock->seen)) error = errno;
        lock->descriptor = fd;
        if (!error && !stat(lock->target, &now) && same_file(&now, &lock->seen)) return 0;
        close(fd);
        if (error) return error;
    }
}

ct_file_lock *ct_file_lock_take(ct_device *device, const char *path)
{
    char target[PATH_MAX], label[CT_SHOWN_PATH];
    ct_status s = ct__path_usable(device, path);
    if (!s && !realpath(path, target)) s = ct__path_refused(device, path, "", errno);
    if (!s && ct__lock_of(device, target))
        s = ct__fail(device, CT_EINVAL, "%s: this device holds this file already", ct_show_path(path, label));
    const size_t length = s ? 0 : strlen(target) + 1, bytes = sizeof(ct_file_lock) + length;
    ct_file_lock *lock = s ? NULL : ct__host_alloc(device, bytes);
    if (!lock) return NULL;
    *lock = (ct_file_lock){ .device = device, .next = device->locks, .bytes = bytes };
    memcpy(lock->target, target, length);
    const int error = acquire(lock);
    if (error) {
        ct__host_free(device, lock, bytes);
        ct__path_refused(device, path, "it cannot be locked: ", error);
        return NULL;
    }
    ct_device_retain(device);
    return device->locks = lock;
}

void ct_file_lock_give(ct_file_lock *lock)
{
    if (!lock) return;
    ct_device *device = lock->device;
    ct_file_lock **at = &device->locks;
    while (*at != lock) at = &(*at)->next;
    *at = lock->next;
    close(lock->descriptor);
    ct__host_free(device, lock, lock->bytes);
    ct_device_close(device);
}

ct_file_lock *ct__lock_of(const ct_device *device, const char *target)
{
    ct_file_lock *lock = device->locks;
    while (lock && strcmp(lock->target, target)) lock = lock->next;
    return lock;
}

bool ct__lock_holds(const ct_file_lock *lock)
{
    struct stat now;
    return !stat(lock->target, &now) && unchanged(&now, &lock->seen);
}

void ct__lock_move(ct_file_lock *lock, int descriptor)
{
    close(lock->descriptor);
    lock->descriptor = descriptor;
    fstat(descriptor, &lock->seen);
}

/* -- temporary files ------------------------------------------------------------------------------------ */

int ct__temporary_claim(int descriptor)
{
    struct stat info;
    const int error = lock_descriptor(descriptor, LOCK_EX | LOCK_NB);
    if (error) return error == EWOULDBLOCK ? EEXIST : error;
    if (fstat(descriptor, &info)) return errno;
    return info.st_nlink > 0 ? 0 : EEXIST;
}

/* Whether a name is `base` followed by the suffix of CT__TEMPORARY and nothing else. */
static bool is_temporary(const char *name, const char *base)
{
    static const char digits[] = "0123456789", hex[] = "0123456789abcdef";
    size_t length = strlen(base), n;
    if (strncmp(name, base, length) || strncmp(name + length, ".tmp-", 5)) return false;
    const char *s = name + length + 5, *part[] = { digits, hex, digits };
    for (int i = 0; i < 3; i++, s += n + (s[n] == '-')) {
        n = strspn(s, part[i]);
        if (!n || s[n] != (i < 2 ? '-' : 0)) return false;
    }
    return true;
}

/* Without locks a writer cannot be known to be dead, so flock itself must succeed. */
void ct__temporary_reclaim(const char *folder, const char *base)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!is_temporary(e->d_name, base)) continue;
        int fd = openat(dirfd(d), e->d_name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        struct stat info;
        if (fd < 0) continue;
        if (!flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &info) && S_ISREG(info.st_mode) && info.st_nlink > 0)
            unlinkat(dirfd(d), e->d_name, 0);
        close(fd);
    }
    if (d) closedir(d);
}
