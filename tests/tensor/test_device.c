/* Devices and the pool: opening, limits, the counts of memory, allocators of the application. */
#include "alloc.h"
#include "check.h"

#include <unistd.h>

#include "tensor/internal.h"

static void opens_the_cpu(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open("cpu");
    assert_ok(ct_device_status(dev), ct_message(dev));
    assert_string_equal(ct_device_name(dev), "cpu");
    assert_non_null(strstr(ct_device_description(dev), "thread"));
    assert_string_equal(ct_message(dev), "");
    assert_true(ct_memory(dev).limit > 1000000);
    ct_device_close(dev);
}

/* One process for each core, or more than there are cores. */
static void tells_of_too_many_processes(void **state)
{
    (void)state;
    static const char *const names[] = { "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS" };
    const ct_device_options one = { .threads = 1 };
    char cores[32];
    snprintf(cores, sizeof cores, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    for (int i = 0; i < 4; i++) {
        setenv(names[i / 2], i % 2 ? "100000" : cores, true);
        ct_device *dev = ct_device_open_with("cpu", &one);
        const char *remark = strstr(ct_device_description(dev), "slow: 100000 processes");
        assert_true(i % 2 ? remark && strstr(remark, "OMP_NUM_THREADS") : !remark);
        ct_device_close(dev);
        unsetenv(names[i / 2]);
    }
}

static void refuses_what_is_no_device(void **state)
{
    (void)state;
    static const char *const bad[] = { "", "gpu", "cuda:-1", "cuda:0x", "CPU", "cuda:99999999999", "cuda:0" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ct_device *dev = ct_device_open(bad[i]);
        assert_int_not_equal(ct_device_status(dev), CT_OK);
        assert_true(strlen(ct_message(dev)) > 10);
        assert_null(ct_zeros(dev, CT_F64, ct_shape1(3)));
        ct_memory_trim(dev);
        ct_device_close(dev);
    }
    assert_null(ct_zeros(NULL, CT_F64, ct_shape1(3)));
    assert_string_equal(ct_message(NULL), "the device is NULL");
    ct_device_close(NULL);
    ct_memory_trim(NULL);
    ct_memory_mark(NULL);
}

static void refuses_threads_without_end(void **state)
{
    (void)state;
    static const int bad[] = { -1, 1 << 30, 100000 };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .threads = bad[i] });
        assert_status(ct_device_status(dev), CT_EINVAL, ct_message(dev));
        assert_non_null(strstr(ct_message(dev), "threads must be"));
        assert_int_equal(ct_device_threads(dev), 1);
        ct_device_close(dev);
    }
    ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .threads = 3 });
    assert_ok(ct_device_status(dev), ct_message(dev));
    assert_in_range(ct_device_threads(dev), 1, 3);
    ct_device_close(dev);
}

static void falls_back_to_the_cpu(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open(NULL);
    assert_ok(ct_device_status(dev), ct_message(dev));
    assert_string_equal(ct_message(dev), "");
    if (!strcmp(ct_device_name(dev), "cpu")) {
        assert_non_null(strstr(ct_device_description(dev), "; not a GPU: cuda:0: "));
        ct_device *gpu = ct_device_open("cuda:0");
        assert_int_not_equal(ct_device_status(gpu), CT_OK);
        assert_non_null(strstr(ct_device_description(dev), ct_message(gpu)));
        ct_device_close(gpu);
    }
    ct_device_close(dev);
}

static void the_pool_serves_what_came_back(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open("cpu");
    for (int64_t n = 1; n < 3000000; n = n * 3 + 1) {
        ct_release(ct_empty(dev, CT_F64, ct_shape1(n)));
        uint64_t before = ct_memory(dev).from_pool;
        ct_tensor *t = ct_empty(dev, CT_F64, ct_shape1(n));
        assert_int_equal(ct_memory(dev).from_pool, before + 1);
        assert_true(ct_memory(dev).bytes_now >= (uint64_t)n * 8);
        assert_int_equal((uintptr_t)ct_tensor_data(t) % 64, 0);
        memset(ct_tensor_data(t), 1, (size_t)n * 8);
        ct_release(t);
    }
    assert_int_equal(ct_memory(dev).bytes_now, 0);
    assert_true(ct_memory(dev).bytes_pooled > 0);
    ct_memory_trim(dev);
    assert_int_equal(ct_memory(dev).bytes_pooled, 0);
    ct_device_close(dev);
}

static void the_peak_is_kept(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open("cpu");
    ct_tensor *a = ct_zeros(dev, CT_F64, ct_shape1(100000)), *b = ct_zeros(dev, CT_F64, ct_shape1(100000));
    ct_release(a);
    ct_memory_info m = ct_memory(dev);
    assert_true(m.bytes_peak >= 1600000 && m.bytes_now < 1000000);
    ct_memory_mark(dev);
    assert_int_equal(ct_memory(dev).bytes_peak, m.bytes_now);
    ct_release(b);
    ct_device_close(dev);
}

static void a_limit_refuses_and_names_the_bytes(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .memory_limit = 1 << 20 });
    assert_null(ct_empty(dev, CT_F64, ct_shape1(1 << 18)));
    assert_non_null(strstr(ct_message(dev), "use less data, or a larger memory_limit"));
    assert_null(ct_empty(dev, CT_F64, ct_shape1((int64_t)1 << 50)));
    assert_non_null(strstr(ct_message(dev), "use less data"));
    assert_null(strstr(ct_message(dev), "memory_limit"));
    assert_null(ct_empty(dev, CT_F64, ct_shape1(1 << 20)));
    assert_int_equal(ct_last_status(dev), CT_ENOMEM);
    assert_non_null(strstr(ct_message(dev), "8388608 bytes"));
    ct_tensor *t = ct_empty(dev, CT_F64, ct_shape1(1000)); /* and goes on working */
    assert_tensor(t, dev);
    ct_release(t);
    ct_device_close(dev);
}

typedef struct ledger {
    int64_t live, calls;
} ledger;

static void *ledger_alloc(void *context, size_t bytes, size_t alignment)
{
    ledger *l = context;
    l->live += (int64_t)bytes;
    l->calls++;
    return aligned_alloc(alignment, bytes);
}

static void ledger_release(void *context, void *pointer, size_t bytes)
{
    ((ledger *)context)->live -= (int64_t)bytes;
    free(pointer);
}

static void uses_the_applications_allocator(void **state)
{
    (void)state;
    ledger l = { 0 };
    ct_allocator allocator = { ledger_alloc, ledger_release, &l };
    ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .allocator = &allocator });
    ct_tensor *t = ct_zeros(dev, CT_F32, ct_shape2(30, 40));
    assert_true(l.calls > 1 && l.live >= 4800);
    ct_device_close(dev); /* the tensor keeps it alive */
    assert_int_equal(ct_tensor_count(t), 1200);
    ct_release(t);
    assert_int_equal(l.live, 0);
}

static void functions_that_are_not_there(void **state)
{
    (void)state;
    const ct_allocator bad[] = { { NULL, ledger_release, NULL }, { ledger_alloc, NULL, NULL } };
    for (int i = 0; i < 2; i++) {
        ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .allocator = &bad[i] });
        assert_int_equal(ct_device_status(dev), CT_EINVAL);
        assert_string_equal(ct_message(dev), i ? "the allocator has no release function"
                                               : "the allocator has no alloc function");
        assert_null(ct_zeros(dev, CT_F64, ct_shape0()));
        ct_device_close(dev);
    }
    ct_device *dev = ct_device_open("cpu");
    ct_device_parallel_for(dev, 3, NULL, NULL);
    ct_device_close(dev);
}

static void visit(void *context, int64_t k) { ((int *)context)[k]++; }

/* Calls every function on tensors, each time with the k-th allocation refused, for every k. Calls that return
 * NULL or a status report CT_ENOMEM, and nothing leaks. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    enum { MADE = 17, SPREAD = 5 };
    const double data[6] = { 1, 2, 3, 4, 5, 6 };
    bool refused = true;
    for (int64_t k = 1; refused; k++) {
        alloc_fail_at(k);
        ct_device *dev = ct_device_open("cpu"), *other = ct_device_open_worker(dev);
        int visits[SPREAD] = { 0 };
        ct_device_parallel_for(dev, SPREAD, visit, visits);
        for (int i = 0; i < SPREAD; i++) assert_int_equal(visits[i], 1);
        double wrapped[6] = { 1, 2, 3, 4, 5, 6 };
        ct_tensor *t[MADE] = { ct_zeros(dev, CT_F64, ct_shape2(100, 100)),
                               ct_from(dev, CT_F64, ct_shape2(2, 3), data),
                               ct_rand_normal(dev, CT_F32, ct_shape1(10), 1, 2),
                               ct_rand_uniform(dev, CT_F64, ct_shape1(9), 1, 2) };
        int n = 4;
        t[n++] = ct_tensor_transpose(t[0]);
        t[n++] = ct_tensor_clone(t[4]);
        t[n++] = ct_tensor_cast(t[0], CT_F32);
        t[n++] = ct_tensor_reshape(t[1], ct_shape1(6));
        t[n++] = ct_tensor_permute(t[1], (int[]){ 1, 0 });
        t[n++] = ct_tensor_slice(t[1], 1, 0, 3, 2);
        t[n++] = ct_tensor_unsqueeze(t[1], 0);
        t[n++] = ct_tensor_broadcast(t[1], ct_shape3(4, 2, 3));
        t[n++] = ct_tensor_diagonal(t[1]);
        t[n++] = ct_tensor_to(t[4], other);
        t[n++] = ct_wrap_strided(dev, CT_F64, ct_shape2(3, 2), (int64_t[]){ 1, 3 }, wrapped, NULL, NULL);
        t[n++] = ct_full(dev, CT_F32, ct_shape0(), 2);
        t[n++] = ct_wrap(dev, CT_F64, ct_shape2(3, 2), wrapped, NULL, NULL);
        double back[6];
        bool made = !ct_device_status(dev) && !ct_device_status(other);
        for (int i = 0; i < MADE; i++) made &= t[i] != NULL;
        if (made)
            made = !ct_read(t[8], back, sizeof back) && !ct_write(t[8], data, sizeof data) &&
                   !ct_copy(t[4], t[5]) && ct_tensor_item(t[15]) == 2;
        refused = alloc_refused();
        if (!made) { /* a pool that cannot keep a block frees it, which is no failure */
            assert_true(refused);
            assert_true(ct_last_status(dev) == CT_ENOMEM || ct_last_status(other) == CT_ENOMEM);
        }
        for (int i = 0; i < MADE; i++) ct_release(t[i]);
        ct_device_close(dev);
        ct_device_close(other);
        assert_int_equal(alloc_live(), 0);
        alloc_unwatch();
    }
}

static void modules(void **state)
{
    (void)state;
    char path[4200];
    const char *reason = "";
    assert_null(ct_module_load("libcotangent-none.so", false, path, sizeof path, &reason));
    assert_null(reason); /* there is no such file */
    assert_null(ct_module_load(NULL, false, path, sizeof path, &reason));
    assert_null(ct_module_load("libcotangent-none.so", false, NULL, 0, &reason));
    assert_null(ct_module_load("libcotangent-none.so", false, path, sizeof path, NULL));
}

/* A message may hold names from files; none of their characters acts on a terminal. */
static void messages_are_clean(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open("cpu");
    ct_device_fail(dev, CT_EINVAL, "%s", "a\033[2J\177\r\tb \xc2\x9b \xc2\xa0 \xc3\xa4 \xe4\nc");
    assert_string_equal(ct_message(dev), "a?[2J???b ?? \xc2\xa0 \xc3\xa4 \xe4\nc");
    ct_device_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_the_cpu),
        cmocka_unit_test(tells_of_too_many_processes),
        cmocka_unit_test(refuses_what_is_no_device),
        cmocka_unit_test(refuses_threads_without_end),
        cmocka_unit_test(falls_back_to_the_cpu),
        cmocka_unit_test(the_pool_serves_what_came_back),
        cmocka_unit_test(the_peak_is_kept),
        cmocka_unit_test(a_limit_refuses_and_names_the_bytes),
        cmocka_unit_test(uses_the_applications_allocator),
        cmocka_unit_test(functions_that_are_not_there),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(modules),
        cmocka_unit_test(messages_are_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
