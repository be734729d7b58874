/* Reads whole files; writes files so that the path always has the old one or the new one. */
#include "alloc.h"
#include "files.h"

#include <cotangent/io.h>

#include "tensor/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The library's system calls, replaced by these functions. */
static int idle_writes;      /* so many take nothing                                 */
static int interrupted_sync; /* so many are interrupted                              */
static int lock_error;       /* errno of every lock: ENOLCK on systems without locks */
static int folder_error;     /* errno of every sync of a folder                      */

ssize_t write(int descriptor, const void *data, size_t bytes)
{
    if (idle_writes && idle_writes--) return 0;
    return syscall(SYS_write, descriptor, data, bytes);
}

int fsync(int descriptor)
{
    struct stat info;
    if (folder_error && !fstat(descriptor, &info) && S_ISDIR(info.st_mode)) {
        errno = folder_error;
        return -1;
    }
    if (!interrupted_sync || !interrupted_sync--) return (int)syscall(SYS_fsync, descriptor);
    errno = EINTR;
    return -1;
}

int flock(int descriptor, int operation)
{
    if (!lock_error) return (int)syscall(SYS_flock, descriptor, operation);
    errno = lock_error;
    return -1;
}

static void assert_content(const char *path, const char *wanted)
{
    size_t bytes;
    char *got = files_read(path, &bytes);
    assert_non_null(got);
    assert_string_equal(got, wanted);
    free(got);
}

/* ct_bytes_load on a device that may hold that many bytes. */
static ct_status load_within(const char *path, uint64_t limit, ct_bytes *b)
{
    const uint64_t before = dev->memory.limit;
    dev->memory.limit = limit;
    const ct_status s = ct_bytes_load(dev, path, b);
    dev->memory.limit = before;
    return s;
}

static void reads(void **state)
{
    (void)state;
    ct_bytes b;
    const char *path = files_write("a", "ab\0c", 4);
    assert_ok(ct_bytes_load(dev, path, &b), ct_message(dev));
    assert_int_equal(b.size, 4);
    assert_memory_equal(b.data, "ab\0c", 5);
    ct_bytes_free(dev, &b);
    ct_bytes_free(dev, &b);

    size_t big = 300000;
    char *data = malloc(big);
    memset(data, 'x', big);
    path = files_write("big", data, big);
    assert_ok(load_within(path, big, &b), ct_message(dev));
    assert_int_equal(b.size, big);
    assert_memory_equal(b.data, data, big);
    ct_bytes_free(dev, &b);
    assert_status(load_within(path, big - 1, &b), CT_ENOMEM, ct_message(dev));
    assert_says(CT_ENOMEM, "300000 bytes are more than the limit of 299999");
    assert_null(b.data);

    int ends[2]; /* a pipe has no size */
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        for (size_t i = 0; i < big; i += 1000)
            if (write(ends[1], data + i, 1000) != 1000) _exit(1);
        _exit(0);
    }
    close(ends[1]);
    char name[64];
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    assert_ok(ct_bytes_load(dev, name, &b), ct_message(dev));
    assert_int_equal(b.size, big);
    ct_bytes_free(dev, &b);
    close(ends[0]);
    waitpid(child, NULL, 0);
    assert_status(load_within("/dev/zero", 1000000, &b), CT_ENOMEM, ct_message(dev));
    assert_ok(ct_bytes_load(dev, "/proc/self/status", &b), ct_message(dev));
    assert_true(b.size > 0);
    ct_bytes_free(dev, &b);
    free(data);
}

static void shown_in_messages(void **state)
{
    (void)state;
    char path[CT_SHOWN_PATH], text[CT_SHOWN_TEXT], a[201];
    memset(a, 'a', 200), strcpy(a + 197, "\n.b");
    assert_string_equal(ct_show_path("x\t\177.npy", path), "x??.npy");
    assert_string_equal(ct_show_path(a + 200 - (CT_SHOWN_PATH - 1), path) + CT_SHOWN_PATH - 4, "?.b");
    assert_ptr_equal(ct_show_path(a, path), path);
    assert_int_equal(strlen(path), CT_SHOWN_PATH - 1);
    assert_memory_equal(path, "...aaa", 6);
    assert_string_equal(path + CT_SHOWN_PATH - 5, "a?.b");
    assert_string_equal(ct_show_text("\r\xc3\xa9, not shown", 3, text), "?\xc3\xa9");
    assert_string_equal(ct_show_text("", 0, text), "");
    assert_int_equal(strlen(ct_show_text(a, CT_SHOWN_TEXT - 1, text)), CT_SHOWN_TEXT - 1);
    assert_string_equal(text + CT_SHOWN_TEXT - 4, "aaa");
    assert_ptr_equal(ct_show_text(a, CT_SHOWN_TEXT, text), text);
    assert_string_equal(text + CT_SHOWN_TEXT - 5, "a...");
}

static void refuses_to_read(void **state)
{
    (void)state;
    ct_bytes b;
    assert_status(ct_bytes_load(NULL, "x", &b), CT_EINVAL, "");
    assert_status(ct_bytes_load(dev, NULL, &b), CT_EINVAL, "");
    assert_status(ct_bytes_load(dev, "", &b), CT_EINVAL, "");
    assert_status(ct_bytes_load(dev, files_path("absent"), &b), CT_EIO, "");
    assert_says(CT_EIO, "absent: no such file or directory");
    assert_status(ct_bytes_load(dev, files_folder, &b), CT_EIO, "");
    assert_says(CT_EIO, "is a directory");
    assert_status(ct_bytes_load(dev, files_write("empty", "", 0), &b), CT_EFORMAT, "");
    assert_says(CT_EFORMAT, "empty: the file is empty");
    assert_null(b.data);
    const char *path = files_write("secret", "x", 1);
    chmod(path, 0);
    if (geteuid() != 0) {
        assert_status(ct_bytes_load(dev, path, &b), CT_EIO, "");
        assert_says(CT_EIO, "permission denied");
    }
    char longest[6000]; /* a path longer than any message */
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = 0;
    memcpy(longest + sizeof longest - 6, "\nend", 4);
    assert_status(ct_bytes_load(dev, longest, &b), CT_EIO, "");
    assert_says(CT_EIO, "the name is too long");
    assert_null(strchr(ct_message(dev), '\n'));
}

static ct_status save(const char *path, const char *text)
{
    ct_file_writer *out = ct_file_writer_open(dev, path);
    return out ? ct_file_writer_end(out, ct_file_writer_write(out, text, strlen(text))) : ct_last_status(dev);
}

static void replaces(void **state)
{
    (void)state;
    const char *path = files_path("model");
    int before = files_count();
    assert_ok(save(path, "old"), ct_message(dev));
    assert_content(path, "old");
    chmod(path, 06640); /* setuid and setgid were for the old contents */

    ct_file_writer *out =
        ct_file_writer_open(dev, path); /* until it ends, and after an abort, the old one stays */
    assert_non_null(out);
    for (int i = 0; i < 100000; i++) assert_ok(ct_file_writer_write(out, "0123456789", 10), ct_message(dev));
    assert_content(path, "old");
    assert_status(ct_file_writer_end(out, CT_ESTOPPED), CT_ESTOPPED, "");
    assert_content(path, "old");
    assert_int_equal(files_count(), before + 1);

    assert_ok(save(path, "new"), ct_message(dev));
    assert_content(path, "new");
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    assert_int_equal(files_count(), before + 1);

    const char *link = files_path("link");
    assert_int_equal(symlink("model", link), 0);
    assert_ok(save(link, "through"), ct_message(dev));
    assert_content(path, "through");
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
}

/* A link whose target does not exist yet stays a link: absolute, relative to its own folder, or one of a
 * chain. */
static void dangling_links(void **state)
{
    (void)state;
    struct stat info;
    const char *links[] = { files_path("far"), files_path("near"), files_path("first") };
    const char *targets[] = { files_path("far.new"), files_path("near.new"), files_path("second.new") };
    assert_int_equal(symlink(targets[0], links[0]), 0);
    assert_int_equal(symlink("near.new", links[1]), 0);
    assert_int_equal(symlink("second", links[2]), 0);
    assert_int_equal(symlink("second.new", files_path("second")), 0);
    for (int i = 0; i < 3; i++) {
        assert_ok(save(links[i], "through"), ct_message(dev));
        assert_content(targets[i], "through");
        assert_int_equal(lstat(links[i], &info), 0);
        assert_true(S_ISLNK(info.st_mode));
    }
    assert_int_equal(symlink("round", files_path("round")), 0);
    assert_status(save(files_path("round"), "x"), CT_EIO, ct_message(dev));
    assert_says(CT_EIO, "too many symbolic links");
    assert_int_equal(symlink("no/such/place", files_path("lost")), 0);
    assert_status(save(files_path("lost"), "x"), CT_EIO, ct_message(dev));
}

static void odd_calls(void **state)
{
    (void)state;
    const char *path = files_path("odd");
    interrupted_sync = 2;
    assert_ok(save(path, "old"), ct_message(dev));
    assert_int_equal(interrupted_sync, 0);
    int before = files_count();
    idle_writes = 1;
    assert_status(save(path, "new"), CT_EIO, ct_message(dev));
    assert_says(CT_EIO, "writing failed after 0 bytes");
    assert_content(path, "old");
    assert_int_equal(files_count(), before);
    assert_status(ct_bytes_load(dev, path, NULL), CT_EINVAL, "");
    assert_status(ct_bytes_save(dev, path, NULL, 1), CT_EINVAL, "");
    assert_ok(ct_bytes_save(dev, path, NULL, 0), ct_message(dev));
}

/* A rename that may not be on the disk yet is told, although the new file is there. */
static void the_folder_does_not_sync(void **state)
{
    (void)state;
    const char *path = files_path("folder");
    const int before = files_count();
    folder_error = EIO;
    const ct_status failed = save(path, "new");
    folder_error = EINVAL; /* as where folders cannot be synced */
    const ct_status fine = save(files_path("folder2"), "new");
    folder_error = 0;
    assert_ok(fine, ct_message(dev));
    assert_status(failed, CT_EIO, "");
    folder_error = EIO;
    assert_status(ct_bytes_save(dev, path, "newer", 5), CT_EIO, "");
    folder_error = 0;
    assert_says(CT_EIO, "folder: it is written, but a power failure may undo that: input/output error");
    assert_content(path, "newer");
    assert_int_equal(files_count(), before + 2);
}

/* A lock that fails is told as such, and leaves nothing behind. */
static void a_lock_fails(void **state)
{
    (void)state;
    const char *path = files_write("unlocked", "old", 3);
    const int before = files_count();
    lock_error = EIO;
    const ct_status failed = save(path, "new");
    assert_says(CT_EIO, "unlocked: cannot write here: input/output error");
    assert_null(ct_file_lock_take(dev, path));
    lock_error = 0;
    assert_says(CT_EIO, "unlocked: it cannot be locked: input/output error");
    assert_status(failed, CT_EIO, "");
    assert_content(path, "old");
    assert_int_equal(files_count(), before);
}

static void large_blocks(void **state)
{
    (void)state;
    size_t n = 0, bytes;
    static char block[200000];
    const char *path = files_path("blocks");
    ct_file_writer *out = ct_file_writer_open(dev, path);
    assert_non_null(out);
    for (size_t i = 0; i < sizeof block; i++) block[i] = (char)('a' + i % 23);
    static const size_t sizes[] = { 0, 1, 65535, 1, 65536, 7, 65537, 200000, 3 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_ok(ct_file_writer_write(out, block, sizes[i]), ct_message(dev));
        n += sizes[i];
    }
    assert_ok(ct_file_writer_end(out, CT_OK), ct_message(dev));
    char *got = files_read(path, &bytes), *at = got;
    assert_int_equal(bytes, n);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; at += sizes[i++])
        assert_memory_equal(at, block, sizes[i]);
    free(got);
}

static void refuses_to_write(void **state)
{
    (void)state;
    int before = files_count();
    assert_null(ct_file_writer_open(NULL, "x"));
    assert_status(save("", "x"), CT_EINVAL, "");
    assert_status(save(files_folder, "x"), CT_EIO, "");
    assert_says(CT_EIO, "is a directory");
    assert_status(save(files_path("no/such/place"), "x"), CT_EIO, "");
    assert_says(CT_EIO, "no such file or directory");
    assert_status(save(files_write("plain", "x", 1), "x"), CT_OK, "");
    assert_status(save(files_path("plain/below"), "x"), CT_EIO, "");
    const char *path = files_write("locked", "x", 1);
    chmod(path, 0444);
    if (geteuid() != 0) assert_status(save(path, "y"), CT_EIO, "");
    assert_int_equal(files_count(), before + 2);
    assert_status(ct_file_writer_write(NULL, "x", 1), CT_EINVAL, "");
    assert_status(ct_file_writer_end(NULL, CT_ESTOPPED), CT_ESTOPPED, "");
    assert_true(fcntl(0, F_GETFD) != -1 || files_count() > 0);
}

static void full_disk(void **state)
{
    (void)state;
    if (!access("/dev/full", W_OK)) {
        assert_status(save("/dev/full", "x"), CT_EIO, "");
        assert_says(CT_EIO, "/dev/full: writing failed after 0 bytes: no space left");
    }
    const char *path = files_path("limited");
    assert_ok(save(path, "old"), ct_message(dev));
    int before = files_count();
    struct rlimit keep, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &keep), 0);
    small = keep;
    small.rlim_cur = 100000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    static char block[300000];
    ct_file_writer *out = ct_file_writer_open(dev, path);
    ct_status written = ct_file_writer_write(out, block, sizeof block),
              again = ct_file_writer_write(out, block, 1), committed = ct_file_writer_end(out, CT_OK);
    setrlimit(RLIMIT_FSIZE, &keep);
    assert_non_null(out);
    assert_status(written, CT_EIO, ct_message(dev));
    assert_status(again, CT_EIO, ct_message(dev));
    assert_status(committed, CT_EIO, ct_message(dev));
    assert_says(CT_EIO, "after 100000 bytes");
    assert_content(path, "old");
    assert_int_equal(files_count(), before);
}

static void to_a_pipe(void **state)
{
    (void)state;
    int ends[2];
    char name[64], got[8] = "";
    assert_int_equal(pipe(ends), 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
    assert_ok(save(name, "hello"), ct_message(dev));
    assert_int_equal(read(ends[0], got, sizeof got), 5);
    assert_string_equal(got, "hello");
    close(ends[0]);
    assert_status(save(name, "hello"), CT_EIO, ct_message(dev));
    assert_says(CT_EIO, "nobody reads the pipe");
    close(ends[1]);
    sigset_t blocked; /* the signals raised by it are gone, and the thread's mask is unchanged */
    assert_int_equal(sigpending(&blocked), 0);
    assert_false(sigismember(&blocked, SIGPIPE));
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &blocked), 0);
    assert_false(sigismember(&blocked, SIGPIPE));
    assert_ok(save("/dev/null", "hello"), ct_message(dev));
    struct stat info;
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

/* How many files are named "NAME.tmp-...". */
static int temporaries(const char *name)
{
    int n = 0;
    size_t length = strlen(name);
    DIR *d = opendir(files_folder);
    for (struct dirent *e; d && (e = readdir(d));)
        n += !strncmp(e->d_name, name, length) && !strncmp(e->d_name + length, ".tmp-", 5);
    if (d) closedir(d);
    return n;
}

/* The process is killed while saving, many times: the file is always whole. */
static void killed(void **state)
{
    (void)state;
    const char *path = files_path("killed");
    assert_ok(save(path, "old"), ct_message(dev));
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            static char block[1 << 20];
            memset(block, 'n', sizeof block);
            for (;;) {
                ct_file_writer *out = ct_file_writer_open(dev, path);
                if (!out) _exit(1);
                for (int j = 0; j < 4; j++)
                    if (ct_file_writer_write(out, block, sizeof block)) _exit(1);
                if (ct_file_writer_end(out, CT_OK)) _exit(1);
            }
        }
        usleep((useconds_t)(1000 * i));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        size_t bytes = 0;
        char *got = files_read(path, &bytes);
        assert_non_null(got);
        if (bytes == 3)
            assert_string_equal(got, "old");
        else
            assert_int_equal(bytes, 4 << 20);
        assert_int_equal(got[bytes - 1], bytes == 3 ? 'd' : 'n');
        free(got);
    }
    assert_ok(save(path, "new"), ct_message(dev));
    assert_false(temporaries("killed"));
}

static void read_piece_by_piece(void **state)
{
    (void)state;
    char text[16] = "";
    assert_null(ct_file_reader_open(dev, files_path("absent")));
    assert_says(CT_EIO, "absent");
    assert_null(ct_file_reader_open(dev, NULL));
    assert_null(ct_file_reader_open(dev, "/dev/null"));
    assert_says(CT_EFORMAT, "empty");
    const char *path = files_write("in", "one two", 7);
    ct_file_reader *f = ct_file_reader_open(dev, path);
    assert_non_null(f);
    assert_int_equal(ct_file_reader_size(f), 7);
    assert_ok(ct_file_reader_read(f, text, 4), ct_message(dev));
    assert_ok(ct_file_reader_read(f, NULL, 0), ct_message(dev));
    assert_status(ct_file_reader_read(f, NULL, 1), CT_EINVAL, "");
    assert_string_equal(text, "one ");
    assert_status(ct_file_reader_read(f, text, 4), CT_EIO, "");
    assert_says(CT_EIO, "in: it ends where 1 more bytes were expected");
    ct_file_reader_close(f);

    f = ct_file_reader_open(dev, "/proc/self/status"); /* its size is said to be 0 */
    assert_non_null(f);
    const uint64_t size = ct_file_reader_size(f);
    assert_true(size > 5);
    assert_ok(ct_file_reader_read(f, text, 5), ct_message(dev));
    assert_memory_equal(text, "Name:", 5);
    char *rest = malloc(size);
    assert_status(ct_file_reader_read(f, rest, size), CT_EIO, "");
    assert_ok(ct_file_reader_read(f, rest, size - 5), ct_message(dev));
    free(rest);
    ct_file_reader_close(f);
    ct_file_reader_close(NULL);
    assert_int_equal(ct_file_reader_size(NULL), 0);
    assert_status(ct_file_reader_read(NULL, text, 1), CT_EINVAL, "");
    alloc_fail_at(1);
    assert_null(ct_file_reader_open(dev, path));
    alloc_unwatch();
    assert_status(ct_last_status(dev), CT_ENOMEM, ct_message(dev));
}

static void written_piece_by_piece(void **state)
{
    (void)state;
    const char *path = files_write("pieces", "old", 3);
    assert_null(ct_file_writer_open(dev, files_path("absent/pieces")));
    assert_says(CT_EIO, "absent");
    assert_null(ct_file_writer_open(dev, NULL));
    for (int complete = 0; complete < 2; complete++) {
        ct_file_writer *f = ct_file_writer_open(dev, path);
        assert_non_null(f);
        assert_ok(ct_file_writer_write(f, "one ", 4), ct_message(dev));
        assert_ok(ct_file_writer_write(f, NULL, 0), ct_message(dev));
        assert_status(ct_file_writer_write(f, NULL, 1), CT_EINVAL, "");
        assert_ok(ct_file_writer_write(f, "two", 3), ct_message(dev));
        assert_content(path, "old");
        const ct_status s = complete ? CT_OK : CT_ENUMERIC;
        assert_int_equal(ct_file_writer_end(f, s), s);
        assert_content(path, complete ? "one two" : "old");
        assert_false(temporaries("pieces"));
    }
    static char block[200000];
    ct_file_writer *f = ct_file_writer_open(dev, path);
    idle_writes = 1;
    assert_status(ct_file_writer_write(f, block, sizeof block), CT_EIO, "");
    assert_status(ct_file_writer_end(f, CT_OK), CT_EIO, "");
    assert_content(path, "one two");
    assert_false(temporaries("pieces"));
    assert_status(ct_file_writer_write(NULL, "x", 1), CT_EINVAL, "");
    assert_int_equal(ct_file_writer_end(NULL, CT_ENUMERIC), CT_ENUMERIC);
    alloc_fail_at(1);
    assert_null(ct_file_writer_open(dev, path));
    alloc_unwatch();
    assert_status(ct_last_status(dev), CT_ENOMEM, ct_message(dev));
    assert_false(temporaries("pieces"));
}

static void appends(void **state)
{
    (void)state;
    const char *path = files_write("log", "head, cut off", 13);
    assert_null(ct_append_open(dev, files_path("absent"), 0));
    assert_says(CT_EIO, "absent");
    assert_null(ct_append_open(dev, NULL, 0));
    ct_append_file *f = ct_append_open(dev, path, 5);
    assert_non_null(f);
    assert_content(path, "head,");
    interrupted_sync = 2;
    assert_ok(ct_append_bytes(f, " one", 4), ct_message(dev));
    assert_int_equal(interrupted_sync, 0);
    assert_content(path, "head, one");
    assert_ok(ct_append_bytes(f, " two", 4), ct_message(dev));
    assert_ok(ct_append_bytes(f, NULL, 0), ct_message(dev));
    assert_status(ct_append_bytes(f, NULL, 1), CT_EINVAL, "");
    assert_content(path, "head, one two");
    idle_writes = 1;
    assert_status(ct_append_bytes(f, "lost", 4), CT_EIO, "");
    assert_says(CT_EIO, "log: writing failed after 8 bytes");
    assert_status(ct_append_bytes(f, "x", 1), CT_EIO, "");
    ct_append_close(f);
    ct_append_close(NULL);
    assert_content(path, "head, one two");

    alloc_fail_at(1);
    assert_null(ct_append_open(dev, path, 0));
    alloc_unwatch();
    assert_status(ct_last_status(dev), CT_ENOMEM, ct_message(dev));
    assert_content(path, "head, one two");
}

/* The temporary file of a dead writer is removed; that of a living one, and files with similar names, stay.
 */
static void reclaims(void **state)
{
    (void)state;
    const char *path = files_path("kept");
    ct_file_writer *one = ct_file_writer_open(dev, path);
    assert_ok(ct_file_writer_write(one, "one", 3), ct_message(dev));
    files_write("kept.tmp-1-7fff0123abcd-0", "dead", 4);
    files_write("kept.tmp-notes", "mine", 4);
    assert_int_equal(temporaries("kept"), 3);
    ct_file_writer *other = ct_file_writer_open(dev, path);
    assert_non_null(other);
    assert_int_equal(temporaries("kept"), 3); /* one, other, notes */
    assert_ok(ct_file_writer_end(one, CT_OK), ct_message(dev));
    assert_content(path, "one");
    assert_ok(ct_file_writer_end(other, CT_OK), ct_message(dev));
    assert_content(path, "");
    assert_int_equal(temporaries("kept"), 1);
    unlink(files_path("kept.tmp-notes"));

    lock_error = ENOLCK; /* there nothing is known about writers, so none counts as dead */
    files_write("kept.tmp-1-7fff0123abcd-0", "dead?", 5);
    ct_status written = save(path, "new");
    lock_error = 0;
    assert_ok(written, ct_message(dev));
    assert_int_equal(temporaries("kept"), 1);
    assert_ok(save(path, "new"), ct_message(dev));
    assert_int_equal(temporaries("kept"), 0);
}

/* Reads the text at path, adds a letter and saves it. */
static ct_status lengthen(ct_device *device, const char *path)
{
    ct_bytes text;
    char longer[64] = "";
    ct_status s = ct_bytes_load(device, path, &text);
    if (s) return s;
    memcpy(longer, text.data, text.size);
    longer[text.size] = 'x';
    ct_bytes_free(device, &text);
    return ct_bytes_save(device, path, longer, strlen(longer));
}

/* Many processes read, change and write the same file, one after the other. */
static void takes_turns(void **state)
{
    (void)state;
    enum { WRITERS = 12 };
    const char *path = files_write("turns", ".", 1), *link = files_path("turns.link");
    assert_int_equal(symlink("turns", link), 0);
    for (int i = 0; i < WRITERS; i++)
        if (fork() == 0) {
            ct_device *own = ct_device_open("cpu");
            ct_file_lock *lock = ct_file_lock_take(own, i % 2 ? path : link);
            bool good = lock && !lengthen(own, link) && !lengthen(own, path);
            ct_file_lock_give(lock);
            ct_device_close(own);
            _exit(!good);
        }
    for (int i = 0, status; i < WRITERS; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_content(path, ".xxxxxxxxxxxxxxxxxxxxxxxx");
    assert_false(temporaries("turns"));
}

static void tells_of_changes(void **state)
{
    (void)state;
    const char *path = files_write("told", "old", 3);
    for (int pass = 0; pass < 2; pass++) {
        lock_error = pass ? ENOLCK : 0;
        ct_file_lock *lock = ct_file_lock_take(dev, path);
        assert_non_null(lock);
        assert_null(ct_file_lock_take(dev, path));
        assert_says(CT_EINVAL, "holds this file already");
        assert_ok(save(path, "mine"), ct_message(dev));
        assert_ok(save(path, "mine again"), ct_message(dev));
        files_write("theirs", "theirs", 6);
        assert_int_equal(rename(files_path("theirs"), path), 0);
        assert_status(save(path, "lost"), CT_EIO, ct_message(dev));
        assert_says(CT_EIO, "another program has changed it");
        assert_content(path, "theirs");
        ct_file_lock_give(lock);
        assert_ok(save(path, "free"), ct_message(dev));
        lock = ct_file_lock_take(dev, path);
        files_write("told", "in place", 8);
        assert_status(save(path, "lost"), CT_EIO, ct_message(dev));
        assert_false(temporaries("told"));
        ct_file_lock_give(lock);
    }
    lock_error = 0;
    ct_file_lock_give(NULL);
    assert_null(ct_file_lock_take(dev, files_path("nowhere")));
    assert_says(CT_EIO, "nowhere: no such file");
    assert_null(ct_file_lock_take(dev, files_folder));
    assert_null(ct_file_lock_take(dev, "/dev/null"));
    assert_null(ct_file_lock_take(dev, NULL));
    assert_null(ct_file_lock_take(NULL, path));
}

static void no_memory(void **state)
{
    (void)state;
    const char *path = files_write("memory", "old", 3);
    int before = files_count();
    bool refused = true;
    for (int64_t k = 1; refused; k++) {
        assert_true(k < 100);
        ct_bytes b;
        alloc_fail_at(k);
        ct_status read = ct_bytes_load(dev, path, &b), written = save(path, "old");
        ct_bytes bytes;
        ct_file_lock *lock = ct_file_lock_take(dev, path);
        if (!lock) read = ct_last_status(dev);
        ct_file_lock_give(lock);
        if (!read) read = ct_bytes_load(dev, path, &bytes);
        if (!read) ct_bytes_free(dev, &bytes);
        if (!written) written = ct_bytes_save(dev, path, "old", 3);
        refused = alloc_refused();
        ct_bytes_free(dev, &b);
        alloc_unwatch();
        assert_int_equal(alloc_live(), 0);
        assert_int_equal(refused, read == CT_ENOMEM || written == CT_ENOMEM);
        assert_content(path, "old");
        assert_int_equal(files_count(), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),
        cmocka_unit_test(shown_in_messages),
        cmocka_unit_test(refuses_to_read),
        cmocka_unit_test(replaces),
        cmocka_unit_test(dangling_links),
        cmocka_unit_test(odd_calls),
        cmocka_unit_test(the_folder_does_not_sync),
        cmocka_unit_test(a_lock_fails),
        cmocka_unit_test(large_blocks),
        cmocka_unit_test(refuses_to_write),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(to_a_pipe),
        cmocka_unit_test(killed),
        cmocka_unit_test(read_piece_by_piece),
        cmocka_unit_test(written_piece_by_piece),
        cmocka_unit_test(appends),
        cmocka_unit_test(reclaims),
        cmocka_unit_test(takes_turns),
        cmocka_unit_test(tells_of_changes),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
