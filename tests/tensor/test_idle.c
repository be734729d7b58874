/* The idle blocks of a pool: each request gets the block that a search of all of them would give, the oldest
 * is known, and no search takes more steps than a size has bits. */
#include "check.h"
#include "tensor/idle.h"

enum { BLOCKS = 2000 };

static uint64_t state = 88172645463325252u;

/* Marsaglia's xorshift */
static uint64_t random_below(uint64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % n;
}

/* A size as idle.c rounds it, in a few dozen pages beyond a power of two, or below 64 KiB. */
static size_t some_size(void)
{
    static const size_t base[] = { 64, 1024, 65536, 1 << 18, 1 << 20, (size_t)1 << 33 };
    const size_t from = base[random_below(6)], bytes = from + random_below(60) * (from < 65536 ? 16 : 4096);
    ct__idle none;
    ct__idle_init(&none);
    size_t rounded = bytes;
    assert_null(ct__idle_take(&none, &rounded));
    assert_true(rounded >= bytes && rounded - bytes < (bytes <= 65536 ? 64 + bytes / 4 : 4096));
    return rounded;
}

/* The size that a search of all blocks finds; 0 if none fits. A small request wastes nothing. */
static size_t best_of(const ct__block *blocks, const bool *idle, size_t bytes)
{
    size_t best = 0;
    for (int i = 0; i < BLOCKS; i++)
        if (idle[i] && blocks[i].bytes >= bytes && blocks[i].bytes - bytes <= bytes / 8 &&
            (bytes > 65536 || blocks[i].bytes == bytes) && (!best || blocks[i].bytes < best))
            best = blocks[i].bytes;
    return best;
}

/* Blocks come and go in any order: by size, by age, or one of them. */
static void the_best_block_is_found(void **unused)
{
    (void)unused;
    static ct__block blocks[BLOCKS];
    static bool idle[BLOCKS];
    static int64_t returned[BLOCKS]; /* when */
    int64_t now = 0;
    ct__idle all;
    ct__idle_init(&all);
    for (int step = 0; step < 40000; step++) {
        const int i = (int)random_below(BLOCKS);
        if (!idle[i]) {
            blocks[i].bytes = some_size();
            ct__idle_add(&all, &blocks[i]);
            idle[i] = true, returned[i] = now++;
        } else if (step % 3 == 0) {
            size_t bytes = some_size();
            const size_t wanted = best_of(blocks, idle, bytes);
            ct__block *b = ct__idle_take(&all, &bytes);
            assert_int_equal(b ? b->bytes : 0, wanted);
            if (b) idle[b - blocks] = false;
        } else if (step % 3 == 1) {
            ct__block *b = ct__idle_oldest(&all);
            for (int k = 0; k < BLOCKS; k++) assert_true(!idle[k] || returned[k] >= returned[b - blocks]);
            idle[ct__idle_remove(b) - blocks] = false;
        } else {
            assert_ptr_equal(ct__idle_remove(&blocks[i]), &blocks[i]);
            idle[i] = false;
        }
    }
    while (ct__idle_oldest(&all)) ct__idle_remove(ct__idle_oldest(&all));
    for (int c = 0; c < CT__IDLE_CLASSES; c++) assert_null(all.of_class[c]);
}

static int depth(const ct__block *t)
{
    if (!t) return 0;
    const int a = depth(t->child[0]), b = depth(t->child[1]);
    return 1 + (a > b ? a : b);
}

/* As many sizes as a class has, the worst orders among them. A class of 4 GiB to 5 GiB has 2^18 sizes. */
static void no_way_is_long(void **unused)
{
    (void)unused;
    enum { SIZES = 1 << 18 };
    const size_t first = ((size_t)1 << 32) + 4096;
    ct__block *blocks = calloc(SIZES, sizeof *blocks);
    assert_non_null(blocks);
    for (int order = 0; order < 3; order++) {
        ct__idle all;
        ct__idle_init(&all);
        for (int k = 0; k < SIZES; k++) {
            const int place = order == 0 ? k : order == 1 ? SIZES - 1 - k : (int)(k * 40503LL % SIZES);
            blocks[k].bytes = first + 4096 * (size_t)place;
            ct__idle_add(&all, &blocks[k]);
        }
        int classes = 0;
        for (int c = 0; c < CT__IDLE_CLASSES; c++) {
            classes += all.of_class[c] != NULL;
            assert_in_range(depth(all.of_class[c]), 0, 19);
        }
        assert_int_equal(classes, 1);
        for (int k = 0; k < SIZES; k++) {
            size_t bytes = first + 4096 * (size_t)k;
            assert_int_equal(ct__idle_take(&all, &bytes)->bytes, first + 4096 * (size_t)k);
        }
        assert_null(ct__idle_oldest(&all));
    }
    free(blocks);
}

/* Any number of blocks of one size are one list, whose ends are at hand. */
static void equal_sizes_are_a_list(void **unused)
{
    (void)unused;
    static ct__block blocks[3];
    ct__idle all;
    ct__idle_init(&all);
    size_t bytes = 1 << 20;
    for (int k = 0; k < 3; k++) {
        blocks[k].bytes = bytes;
        ct__idle_add(&all, &blocks[k]);
    }
    assert_ptr_equal(ct__idle_oldest(&all), &blocks[0]);
    assert_ptr_equal(ct__idle_take(&all, &bytes), &blocks[2]);
    assert_ptr_equal(ct__idle_take(&all, &bytes), &blocks[1]);
    assert_ptr_equal(ct__idle_take(&all, &bytes), &blocks[0]);
    assert_null(ct__idle_take(&all, &bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_block_is_found),
        cmocka_unit_test(no_way_is_long),
        cmocka_unit_test(equal_sizes_are_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
