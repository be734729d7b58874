/* Decimal text to double and back: exact, strict, independent of the locale. */
#include "check.h"

#include <cotangent/gp/number.h>

#include "comma.h"

static ct_number read(const char *text, double *value) { return ct_number_read(text, strlen(text), value); }

static void values(void **state)
{
    (void)state;
    static const char *const text[] = {
        "0",
        "-0",
        "1",
        "+1",
        "-1.5",
        ".5",
        "5.",
        "1e3",
        "1E+3",
        "1e-3",
        "123456789012345678",
        "9007199254740993",
        "9007199254740992",
        "0.1",
        "0.30000000000000004",
        "1e22",
        "1e23",
        "1e-22",
        "1e-23",
        "1.7976931348623157e308",
        "4.9406564584124654e-324",
        "2.2250738585072011e-308",
        "1e-400",
        "000001.50",
        "0e999999999999999999999",
        "179769313486231570000000000000000000000e270",
        "3.141592653589793238462643383",
        "8.5e-320",
        "123456789012345678901234567890",
        "0.000000000000000000000000000000000000000000000123",
    };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        double got, wanted = strtod(text[i], NULL);
        assert_int_equal(read(text[i], &got), CT_NUMBER);
        if (memcmp(&got, &wanted, sizeof got)) fail_msg("%s: %.17g is not %.17g", text[i], got, wanted);
    }
}

static void words(void **state)
{
    (void)state;
    double d;
    static const char *const missing[] = { "",     "?",    "NA",   "na",   "N/A", "n/a", "NaN",    "nan",
                                           "-nan", "null", "NULL", "None", "-",   ".",   "#DIV/0!" };
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        d = 1;
        assert_int_equal(read(missing[i], &d), CT_NUMBER_MISSING);
        assert_true(isnan(d));
    }
    static const char *const wrong[] = { "abc", "1x",   "x1",   "1e",   "1e+",  "e5",    "..",   "+",
                                         "--",  "+-1",  "1 2",  "0x10", "1,5",  "1..",   "1.2.", "--1",
                                         "in",  "infi", "nana", "1_0",  "1e5.", "NAN()", "+.e1" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (read(wrong[i], &d) != CT_NUMBER_NONE || !isnan(d))
            fail_msg("\"%s\" was taken for a number", wrong[i]);
    assert_int_equal(read("inf", &d), CT_NUMBER);
    assert_true(d == INFINITY);
    assert_int_equal(read("-Infinity", &d), CT_NUMBER);
    assert_true(d == -INFINITY);
    assert_int_equal(read("1e309", &d), CT_NUMBER_TOO_LARGE);
    assert_int_equal(read("-1e99999999999999999999999", &d), CT_NUMBER_TOO_LARGE);
    assert_int_equal(ct_number_read("12345", 2, &d), CT_NUMBER);
    assert_true(d == 12);
}

/* 1e-195 and its kin, written with more digits or zeros than any buffer expects. */
static void long_ones(void **state)
{
    (void)state;
    enum { N = 4000 };
    static char text[N + 64];
    double d;
    memset(text, '0', N);
    text[1] = '.';
    snprintf(text + N, 64, "1e%d", N - 1); /* 0.000..1 of N-1 decimals, times 10^(N-1) */
    assert_int_equal(read(text, &d), CT_NUMBER);
    assert_true(d == 1);
    snprintf(text + N, 64, "1e1005");
    assert_int_equal(read(text, &d), CT_NUMBER);
    assert_true(d == 0);
    /* halfway between 1 and the next double, and slightly above */
    memset(text, '0', N);
    const char *half = "1.00000000000000011102230246251565404236316680908203125";
    memcpy(text, half, strlen(half));
    text[N] = 0;
    assert_int_equal(read(text, &d), CT_NUMBER);
    assert_true(d == 1);
    text[N - 1] = '1';
    assert_int_equal(read(text, &d), CT_NUMBER);
    assert_true(d == 1 + 0x1p-52);
    memset(text, '9', N);
    assert_int_equal(read(text, &d), CT_NUMBER_TOO_LARGE);
    memcpy(text + N, "e-3995", 7);
    assert_int_equal(read(text, &d), CT_NUMBER);
    assert_true(d == 100000);
}

static uint64_t next(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    return *x ^= *x << 17;
}

static void round_trip(void **state)
{
    (void)state;
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = next(&x);
        double d, back, wanted;
        memcpy(&d, &bits, sizeof d);
        if (!isfinite(d)) continue;
        char text[CT_NUMBER_TEXT];
        size_t n = ct_number_write(d, 17, text);
        assert_int_equal(n, strlen(text));
        assert_int_equal(ct_number_read(text, n, &back), CT_NUMBER);
        if (memcmp(&d, &back, sizeof d)) fail_msg("%s: %.17g came back", text, back);
        ct_number_write(d, 1 + i % 17, text);
        assert_int_equal(read(text, &back) == CT_NUMBER_TOO_LARGE, isinf(wanted = strtod(text, NULL)) != 0);
        if (isfinite(wanted)) assert_true(back == wanted);
        float f = (float)(d * 1e-270), g;
        if (!isfinite(f)) continue;
        ct_number_write(f, 9, text);
        assert_int_equal(read(text, &back), CT_NUMBER);
        g = (float)back;
        assert_memory_equal(&f, &g, sizeof f);
    }
}

static void written(void **state)
{
    (void)state;
    char text[CT_NUMBER_TEXT];
    ct_number_write(-0.0, 17, text);
    assert_string_equal(text, "-0");
    ct_number_write(0.1, 9, text);
    assert_string_equal(text, "0.1");
    ct_number_write(-1.2345678901234568e-300, 17, text);
    assert_string_equal(text, "-1.2345678901234568e-300");
    assert_int_equal(ct_number_write(0.1, 0, text), 3); /* the fewest digits that do */
    assert_string_equal(text, "0.1");
    ct_number_write(1.0 / 3, 0, text);
    assert_string_equal(text, "0.3333333333333333");
    ct_number_write(0.1 + 0.2, 0, text);
    assert_string_equal(text, "0.30000000000000004");
    assert_int_equal(ct_number_write(INFINITY, 0, text), 3);
    ct_number_write(-NAN, 17, text);
    assert_string_equal(text, "nan");
    ct_number_write(-INFINITY, 17, text);
    assert_string_equal(text, "-inf");
    double d;
    assert_int_equal(ct_number_write(1, 17, NULL), 0);
    assert_int_equal(ct_number_read(NULL, 3, &d), CT_NUMBER_NONE);
    assert_int_equal(ct_number_read("1.5", 3, NULL), CT_NUMBER_NONE);
}

static void comma_locale(void **state)
{
    (void)state;
    if (!comma_begin()) return;
    char text[CT_NUMBER_TEXT];
    double d;
    assert_int_equal(ct_number_write(-1.2345678901234568e-300, 17, text), 24);
    assert_string_equal(text, "-1.2345678901234568e-300");
    assert_int_equal(read("0.30000000000000004", &d), CT_NUMBER);
    assert_true(d == 0.1 + 0.2);
    assert_int_equal(read("0,3", &d), CT_NUMBER_NONE);
    comma_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),     cmocka_unit_test(words),   cmocka_unit_test(long_ones),
        cmocka_unit_test(round_trip), cmocka_unit_test(written), cmocka_unit_test(comma_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
