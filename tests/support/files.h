/* Files for tests: a folder of their own, made by files_setup and emptied by files_teardown. */
#ifndef TESTS_FILES_H
#define TESTS_FILES_H

#include "check.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static char files_folder[256];
static ct_device *dev; /* "cpu", of the running test group */

static inline int files_setup(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(files_folder, sizeof files_folder, "%s/cotangent-test-XXXXXX", base && *base ? base : "/tmp");
    dev = ct_device_open("cpu");
    return !mkdtemp(files_folder) || ct_device_status(dev);
}

/* "folder/name"; a few may be in use at once. */
static inline const char *files_path(const char *name)
{
    static char ring[8][512];
    static int next;
    char *path = ring[next++ % 8];
    snprintf(path, sizeof ring[0], "%s/%s", files_folder, name);
    return path;
}

/* How many entries the folder has. */
static inline int files_count(void)
{
    int n = 0;
    DIR *d = opendir(files_folder);
    for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

static inline int files_teardown(void **state)
{
    (void)state;
    DIR *d = opendir(files_folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        const char *path = files_path(e->d_name);
        if (unlink(path)) rmdir(path);
    }
    if (d) closedir(d);
    rmdir(files_folder);
    ct_device_close(dev);
    return 0;
}

static inline const char *files_write(const char *name, const void *data, size_t bytes)
{
    const char *path = files_path(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
    return path;
}

/* The whole file, NUL-terminated, to be freed; NULL where it is absent. */
static inline char *files_read(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    *bytes = 0;
    if (!f) return NULL;
    struct stat info;
    assert_int_equal(fstat(fileno(f), &info), 0);
    char *data = malloc((size_t)info.st_size + 1);
    *bytes = fread(data, 1, (size_t)info.st_size, f);
    data[*bytes] = 0;
    fclose(f);
    return data;
}

/* The device's last message contains `part`. */
static inline void files_says(ct_status status, const char *part, const char *file, int line)
{
    if (ct_last_status(dev) == status && strstr(ct_message(dev), part)) return;
    print_error("%s, \"%s\" is not %s, \"...%s...\"\n", ct_status_name(ct_last_status(dev)), ct_message(dev),
                ct_status_name(status), part);
    _fail(file, line);
}
#define assert_says(status, part) files_says((status), (part), __FILE__, __LINE__)

#endif
