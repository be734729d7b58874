/* The storage pool: how much it keeps of released memory, and that it serves repeated requests. */
#include "check.h"

enum { LIVE = 4, SLACK = 16 << 20 };

static void release_all(ct_tensor **live)
{
    for (int i = 0; i < LIVE; i++) {
        ct_release(live[i]);
        live[i] = NULL;
    }
}

/* Idle memory is at most twice the most that was held at once, and 16 MB. */
static void assert_bounded(const ct_device *dev)
{
    const ct_memory_info m = ct_memory(dev);
    if (m.bytes_pooled <= 2 * m.bytes_peak + SLACK) return;
    print_error("%llu bytes are idle, the peak was %llu\n", (unsigned long long)m.bytes_pooled,
                (unsigned long long)m.bytes_peak);
    fail();
}

/* Storages of so many bytes one after the other; the last LIVE stay. */
static void run(ct_device *dev, int steps, int64_t (*bytes)(int step))
{
    ct_tensor *live[LIVE] = { NULL };
    for (int k = 0; k < steps; k++) {
        ct_release(live[k % LIVE]);
        assert_bounded(dev);
        live[k % LIVE] = assert_tensor(ct_empty(dev, CT_F64, ct_shape1(bytes(k) / 8)), dev);
    }
    release_all(live);
    assert_bounded(dev);
}

enum { STEPS = 3000 };
static int64_t growing(int k) { return 1000 + 300 * (int64_t)k; }
static int64_t shrinking(int k) { return growing(STEPS - 1 - k); }
static int64_t squares(int k) { return 8 * (int64_t)(k / 8) * (k / 8); }
/* Sizes of all orders of magnitude up to some megabytes, the same at each run. */
static int64_t scattered(int k)
{
    uint32_t hash = ((uint32_t)k + 1) * 2654435761u;
    return 8 + (int64_t)((hash >> 12) * 4) / (1 + ((hash >> 8) & 15) * ((hash >> 8) & 15));
}

static void idle_memory_is_bounded(void **state)
{
    (void)state;
    static int64_t (*const kinds[])(int) = { growing, shrinking, squares, scattered };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        ct_device *dev = ct_device_open(check_device());
        run(dev, STEPS, kinds[i]);
        ct_device_close(dev);
    }
}

/* All size classes, including small ones, fill up as the first does. */
static void every_class_counts(void **state)
{
    (void)state;
    enum { BYTES = 4 << 20 };
    ct_device *dev = ct_device_open(check_device());
    static ct_tensor *live[BYTES / 512];
    for (int64_t size = 512; size < 100000; size += size / 4) {
        int n = (int)(BYTES / size);
        for (int i = 0; i < n; i++) live[i] = assert_tensor(ct_empty(dev, CT_F64, ct_shape1(size / 8)), dev);
        for (int i = 0; i < n; i++) ct_release(live[i]);
        assert_bounded(dev);
    }
    ct_device_close(dev);
}

/* The bytes that a device has obtained from the application's allocator. */
static void *counted_alloc(void *context, size_t bytes, size_t alignment)
{
    *(uint64_t *)context += bytes;
    return aligned_alloc(alignment, bytes);
}

static void counted_release(void *context, void *pointer, size_t bytes)
{
    *(uint64_t *)context -= bytes;
    free(pointer);
}

static void the_rest_goes_back_to_the_application(void **state)
{
    (void)state;
    uint64_t had = 0;
    const ct_allocator allocator = { counted_alloc, counted_release, &had };
    ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .allocator = &allocator });
    run(dev, STEPS, growing);
    assert_in_range(had, 1, 2 * ct_memory(dev).bytes_peak + SLACK + (1 << 20)); /* some for structs */
    ct_device_close(dev);
    assert_int_equal(had, 0);
}

/* One round of a loop that holds ten storages at once, between marks. */
static void round_of_ten(ct_device *dev)
{
    ct_tensor *t[10];
    ct_memory_mark(dev);
    for (int i = 0; i < 10; i++) t[i] = assert_tensor(ct_empty(dev, CT_F64, ct_shape1((i + 1) << 18)), dev);
    for (int i = 0; i < 10; i++) ct_release(t[i]);
    ct_memory_mark(dev);
}

static void a_steady_loop_allocates_nothing(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open(check_device());
    round_of_ten(dev);
    const ct_memory_info before = ct_memory(dev);
    for (int i = 0; i < 20; i++) round_of_ten(dev);
    const ct_memory_info after = ct_memory(dev);
    assert_int_equal(after.from_pool - before.from_pool, after.requests - before.requests);
    assert_int_equal(after.bytes_pooled, before.bytes_pooled);
    ct_device_close(dev);
}

/* One large piece of work, then many small ones: the limit follows the small ones' peak. */
static void a_peak_is_forgotten(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open("cpu");
    ct_release(assert_tensor(ct_empty(dev, CT_F64, ct_shape1(8 << 20)), dev));
    assert_true(ct_memory(dev).bytes_pooled >= 64 << 20);
    for (int i = 0; i < 4000000 && ct_memory(dev).bytes_pooled > SLACK; i++)
        ct_release(assert_tensor(ct_empty(dev, CT_F64, ct_shape1(100)), dev));
    assert_true(ct_memory(dev).bytes_pooled <= SLACK);
    ct_device_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_memory_is_bounded),
        cmocka_unit_test(every_class_counts),
        cmocka_unit_test(the_rest_goes_back_to_the_application),
        cmocka_unit_test(a_steady_loop_allocates_nothing),
        cmocka_unit_test(a_peak_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
