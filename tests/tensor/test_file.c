/* Whole files in; files out that are the old one or the new one. */
#include "alloc.h"
#include "files.h"

#include <cotangent/io.h>

#include "tensor/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void assert_content(const char *path, const char *wanted)
{
    size_t bytes;
    char *got = files_read(path, &bytes);
    assert_non_null(got);
    assert_string_equal(got, wanted);
    free(got);
}

static void reads(void **state)
{
    (void)state;
    ct__bytes b;
    const char *path = files_write("a", "ab\0c", 4);
    assert_ok(ct__file_read(dev, path, 0, &b), ct_message(dev));
    assert_int_equal(b.size, 4);
    assert_memory_equal(b.data, "ab\0c", 5);
    ct__bytes_free(dev, &b);
    ct__bytes_free(dev, &b);

    size_t big = 300000;
    char *data = malloc(big);
    memset(data, 'x', big);
    path = files_write("big", data, big);
    assert_ok(ct__file_read(dev, path, big, &b), ct_message(dev));
    assert_int_equal(b.size, big);
    assert_memory_equal(b.data, data, big);
    ct__bytes_free(dev, &b);
    assert_status(ct__file_read(dev, path, big - 1, &b), CT_ENOMEM, ct_message(dev));
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
    assert_ok(ct__file_read(dev, name, 0, &b), ct_message(dev));
    assert_int_equal(b.size, big);
    ct__bytes_free(dev, &b);
    close(ends[0]);
    waitpid(child, NULL, 0);
    assert_status(ct__file_read(dev, "/dev/zero", 1000000, &b), CT_ENOMEM, ct_message(dev));
    assert_ok(ct__file_read(dev, "/proc/self/status", 0, &b), ct_message(dev));
    assert_true(b.size > 0);
    ct__bytes_free(dev, &b);
    free(data);
}

static void refuses_to_read(void **state)
{
    (void)state;
    ct__bytes b;
    assert_status(ct__file_read(NULL, "x", 0, &b), CT_EINVAL, "");
    assert_status(ct__file_read(dev, NULL, 0, &b), CT_EINVAL, "");
    assert_status(ct__file_read(dev, "", 0, &b), CT_EINVAL, "");
    assert_status(ct__file_read(dev, files_path("absent"), 0, &b), CT_EIO, "");
    assert_says(CT_EIO, "absent: no such file or directory");
    assert_status(ct__file_read(dev, files_folder, 0, &b), CT_EIO, "");
    assert_says(CT_EIO, "is a directory");
    assert_status(ct__file_read(dev, files_write("empty", "", 0), 0, &b), CT_EFORMAT, "");
    assert_says(CT_EFORMAT, "empty: the file is empty");
    assert_null(b.data);
    const char *path = files_write("secret", "x", 1);
    chmod(path, 0);
    if (geteuid() != 0) {
        assert_status(ct__file_read(dev, path, 0, &b), CT_EIO, "");
        assert_says(CT_EIO, "permission denied");
    }
    char longest[6000]; /* a path longer than any message */
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = 0;
    memcpy(longest + sizeof longest - 6, "\nend", 4);
    assert_status(ct__file_read(dev, longest, 0, &b), CT_EIO, "");
    assert_says(CT_EIO, "the name is too long");
    assert_null(strchr(ct_message(dev), '\n'));
}

static ct_status save(const char *path, const char *text)
{
    ct__output out;
    ct_status s = ct__file_begin(&out, dev, path);
    if (!s) s = ct__file_write(&out, text, strlen(text));
    return s ? s : ct__file_commit(&out);
}

static void replaces(void **state)
{
    (void)state;
    const char *path = files_path("model");
    int before = files_count();
    assert_ok(save(path, "old"), ct_message(dev));
    assert_content(path, "old");
    chmod(path, 0640);

    ct__output out; /* while the new one is written, and after abort, the old one stands */
    assert_ok(ct__file_begin(&out, dev, path), ct_message(dev));
    for (int i = 0; i < 100000; i++) assert_ok(ct__file_write(&out, "0123456789", 10), ct_message(dev));
    assert_content(path, "old");
    ct__file_abort(&out);
    ct__file_abort(&out);
    assert_true(ct__file_write(&out, "x", 1) != CT_OK);
    assert_true(ct__file_commit(&out) != CT_OK);
    assert_content(path, "old");
    assert_int_equal(files_count(), before + 1);

    assert_ok(save(path, "new"), ct_message(dev));
    assert_content(path, "new");
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(files_count(), before + 1);

    const char *link = files_path("link");
    assert_int_equal(symlink("model", link), 0);
    assert_ok(save(link, "through"), ct_message(dev));
    assert_content(path, "through");
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
}

static void large_blocks(void **state)
{
    (void)state;
    size_t n = 0, bytes;
    static char block[200000];
    ct__output out;
    const char *path = files_path("blocks");
    assert_ok(ct__file_begin(&out, dev, path), ct_message(dev));
    for (size_t i = 0; i < sizeof block; i++) block[i] = (char)('a' + i % 23);
    static const size_t sizes[] = { 0, 1, 65535, 1, 65536, 7, 65537, 200000, 3 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_ok(ct__file_write(&out, block, sizes[i]), ct_message(dev));
        n += sizes[i];
    }
    assert_ok(ct__file_commit(&out), ct_message(dev));
    char *got = files_read(path, &bytes), *at = got;
    assert_int_equal(bytes, n);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; at += sizes[i++])
        assert_memory_equal(at, block, sizes[i]);
    free(got);
}

static void refuses_to_write(void **state)
{
    (void)state;
    ct__output out;
    int before = files_count();
    assert_status(ct__file_begin(&out, NULL, "x"), CT_EINVAL, "");
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
    ct__output untouched = { 0 };
    assert_status(ct__file_write(&untouched, "x", 1), CT_EINVAL, "");
    ct__file_abort(&untouched);
    ct__file_abort(NULL);
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
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    static char block[300000];
    ct__output out;
    ct_status begun = ct__file_begin(&out, dev, path), written = ct__file_write(&out, block, sizeof block),
              again = ct__file_write(&out, block, 1), committed = ct__file_commit(&out);
    setrlimit(RLIMIT_FSIZE, &keep);
    signal(SIGXFSZ, handler);
    assert_ok(begun, ct_message(dev));
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
    close(ends[1]);
    assert_ok(save("/dev/null", "hello"), ct_message(dev));
    struct stat info;
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

/* Killed in the middle of saving, again and again: what is there is whole. */
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
                ct__output out;
                if (ct__file_begin(&out, dev, path)) _exit(1);
                for (int j = 0; j < 4; j++)
                    if (ct__file_write(&out, block, sizeof block)) _exit(1);
                if (ct__file_commit(&out)) _exit(1);
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
}

static void no_memory(void **state)
{
    (void)state;
    const char *path = files_write("memory", "old", 3);
    int before = files_count();
    bool refused = true;
    for (int64_t k = 1; refused; k++) {
        assert_true(k < 100);
        ct__bytes b;
        alloc_fail_at(k);
        ct_status read = ct__file_read(dev, path, 0, &b), written = save(path, "old");
        ct_bytes bytes;
        if (!read) read = ct_bytes_load(dev, path, &bytes);
        if (!read) ct_bytes_free(dev, &bytes);
        if (!written) written = ct_bytes_save(dev, path, "old", 3);
        refused = alloc_refused();
        ct__bytes_free(dev, &b);
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
        cmocka_unit_test(reads),        cmocka_unit_test(refuses_to_read),  cmocka_unit_test(replaces),
        cmocka_unit_test(large_blocks), cmocka_unit_test(refuses_to_write), cmocka_unit_test(full_disk),
        cmocka_unit_test(to_a_pipe),    cmocka_unit_test(killed),           cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
