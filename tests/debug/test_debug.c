/* A build with -Dasserts=true: a defect ends the program with its place, and CT_TRACE=1 prints each op. */
#include "check.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cotangent/op.h>
#include <cotangent/ops.h>

#include "tensor/debug.h"
#include "tensor/internal.h"

/* Runs f in a child; its stderr is in `text`. Returns its status as of waitpid. */
static int run_apart(void (*f)(void), char *text, size_t size)
{
    int pipes[2], status = 0;
    assert_int_equal(pipe(pipes), 0);
    fflush(NULL);
    const pid_t child = fork();
    if (!child) {
        dup2(pipes[1], STDERR_FILENO);
        close(pipes[0]);
        f();
        _exit(0);
    }
    close(pipes[1]);
    size_t length = 0;
    for (ssize_t n; length < size - 1 && (n = read(pipes[0], text + length, size - 1 - length)) > 0;)
        length += (size_t)n;
    text[length] = 0;
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void assert_aborts(void (*f)(void), const char *place)
{
    char text[4096];
    const int status = run_apart(f, text, sizeof text);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, place));
    assert_non_null(strstr(text, "does not hold"));
}

static void release_twice(void)
{
    ct_device *device = ct_device_open("cpu");
    ct_tensor *t = ct_zeros(device, CT_F64, ct_shape1(1000));
    ct_release(t);
    ct_release(t);
}

static void view_beyond_the_end(void)
{
    ct_device *device = ct_device_open("cpu");
    ct_tensor *t = ct_zeros(device, CT_F64, ct_shape1(1000));
    ct_view v = ct_view_of(t);
    v.dim[0] = 2000;
    ct__share(v);
}

/* C = A C for the primitive `of` that needs C apart. */
static void multiply_in_place(void)
{
    ct_device *device = ct_device_open("cpu");
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *a = ct_zeros(device, CT_F64, ct_shape2(4, 4));
    ct_call *c = ct_scope_open(tape, "test");
    ct_prim_gemm(c, 1, ct_view_of(a), ct_view_of(a), 0, ct_view_of(a));
}

/* Rows 1 to 4 from rows 0 to 3. */
static void shift_in_place(void)
{
    ct_device *device = ct_device_open("cpu");
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *a = ct_zeros(device, CT_F64, ct_shape2(5, 4));
    ct_call *c = ct_scope_open(tape, "test");
    ct_prim_map1(c, CT_MAP_exp, NULL, ct_view_block(ct_view_of(a), 0, 4, 0, 4),
                 ct_view_block(ct_view_of(a), 1, 5, 0, 4));
}

static void test_defects_abort(void **state)
{
    (void)state;
    assert_aborts(release_twice, "tensor/tensor.c");
    assert_aborts(view_beyond_the_end, "tensor/tensor.c");
    assert_aborts(multiply_in_place, "primitive/matrix.c");
    assert_aborts(shift_in_place, "primitive/element.c");
}

/* Views of one array, with every pair of blocks of a 4x5 matrix judged by a table of its elements. */
static void test_blocks_are_apart(void **state)
{
    (void)state;
    enum { R = 4, C = 5, ALL = R * (R + 1) / 2 * (C * (C + 1) / 2) };
    ct_device *device = ct_device_open("cpu");
    ct_tensor *t = ct_zeros(device, CT_F64, ct_shape2(R, C));
    struct block {
        int r0, r1, c0, c1;
        ct_view view;
    } block[ALL];
    int n = 0;
    for (int r0 = 0; r0 < R; r0++)
        for (int r1 = r0 + 1; r1 <= R; r1++)
            for (int c0 = 0; c0 < C; c0++)
                for (int c1 = c0 + 1; c1 <= C; c1++)
                    block[n++] =
                        (struct block){ r0, r1, c0, c1, ct_view_block(ct_view_of(t), r0, r1, c0, c1) };
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const struct block *a = &block[i], *b = &block[j];
            const bool apart = a->r1 <= b->r0 || b->r1 <= a->r0 || a->c1 <= b->c0 || b->c1 <= a->c0;
            assert_int_equal(ct__are_apart(&a->view, &b->view), apart);
            assert_int_equal(ct__are_apart_or_one(&a->view, &b->view), apart || i == j);
        }
    ct_release(t);
    ct_device_close(device);
}

static void differentiate(void)
{
    setenv("CT_TRACE", "1", 1);
    ct_device *device = ct_device_open("cpu");
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *a = ct_zeros(device, CT_F64, ct_shape2(3, 4));
    ct_backward(ct_sum(ct_exp(ct_leaf(tape, a)), CT_ALL, false));
}

static void test_trace(void **state)
{
    (void)state;
    char text[4096];
    assert_int_equal(run_apart(differentiate, text, sizeof text), 0);
    assert_non_null(strstr(text, "#1 exp(3x4) -> 3x4: "));
    assert_non_null(strstr(text, "backward of #1 exp: "));
    assert_non_null(strstr(text, " ms\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defects_abort),
        cmocka_unit_test(test_blocks_are_apart),
        cmocka_unit_test(test_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
