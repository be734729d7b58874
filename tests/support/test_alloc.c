/* The counting allocator itself: what it refuses, counts and forgets. */
#include "alloc.h"
#include "check.h"

static void counts(void **state)
{
    (void)state;
    void *before = malloc(10);
    alloc_watch();
    void *a = malloc(100), *b = calloc(3, 5), *c = aligned_alloc(64, 128);
    assert_int_equal(alloc_calls(), 3);
    assert_int_equal(alloc_live(), 3);
    assert_int_equal(alloc_live_bytes(), 100 + 15 + 128);
    a = realloc(a, 50);
    assert_int_equal(alloc_live(), 3);
    assert_int_equal(alloc_live_bytes(), 50 + 15 + 128);
    free(a);
    free(b);
    free(c);
    free(before); /* from before the watch: unknown */
    free(NULL);
    assert_int_equal(alloc_live(), 0);
    assert_int_equal(alloc_live_bytes(), 0);
    assert_int_equal(alloc_calls(), 4);
    alloc_unwatch();
}

static void fails_once(void **state)
{
    (void)state;
    alloc_fail_at(2);
    void *a = malloc(8);
    assert_false(alloc_refused());
    void *b = malloc(16);
    assert_true(alloc_refused());
    void *c = calloc(1, 8);
    alloc_unwatch();
    assert_non_null(a);
    assert_null(b);
    assert_non_null(c);
    assert_int_equal(alloc_calls(), 3);
    assert_int_equal(alloc_live(), 2);
    free(a);
    free(c);
}

static void fails_from(void **state)
{
    (void)state;
    alloc_fail_from(2);
    void *a = malloc(8), *b = malloc(8), *c = aligned_alloc(64, 64);
    char *d = strdup("x");
    alloc_unwatch();
    assert_non_null(a);
    assert_null(b);
    assert_null(c);
    assert_null(d);
    free(a);
}

/* Enough blocks that the table is full of collisions. */
static void many(void **state)
{
    (void)state;
    enum { N = 20000 };
    static void *block[N];
    alloc_watch();
    for (int i = 0; i < N; i++) block[i] = malloc(24);
    assert_int_equal(alloc_live(), N);
    for (int i = 0; i < N; i++) free(block[i]);
    assert_int_equal(alloc_live(), 0);
    alloc_unwatch();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(fails_once),
        cmocka_unit_test(fails_from),
        cmocka_unit_test(many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
