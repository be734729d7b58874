/* How far names are apart. */
#include "check.h"

#include <cotangent/gp/column.h>

#include <limits.h>

static void distances(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        int distance;
    } of[] = { { "", "", 0 },          { "", "abc", 3 },        { "rooms", "Rooms", 0 },
               { "room", "rooms", 1 }, { "romos", "rooms", 1 }, { "rbf", "rfb", 1 },
               { "ab", "ba", 1 },      { "abc", "cba", 2 },     { "kitten", "sitting", 3 },
               { "x", "y", 1 } };
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        assert_int_equal(ct_name_distance(of[k].a, of[k].b), of[k].distance);
        assert_int_equal(ct_name_distance(of[k].b, of[k].a), of[k].distance);
    }
    static const char longest[] = "123456789 123456789 123456789 123456789 12345678",
                      longer[] = "123456789 123456789 123456789 123456789 123456789";
    assert_int_equal(ct_name_distance(longest, longest), 0);
    assert_int_equal(ct_name_distance(longest, longer), INT_MAX);
    assert_int_equal(ct_name_distance(NULL, "a"), INT_MAX);
    assert_int_equal(ct_name_distance("a", NULL), INT_MAX);
    assert_true(ct_name_is_near("ab", 1) && !ct_name_is_near("a", 1) && ct_name_is_near("a", 0));
    assert_true(ct_name_is_near("12345", 2) && !ct_name_is_near("1234", 2) && !ct_name_is_near(NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(distances) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
