/* Times as text: against Python's calendar, and that what is written reads as the same. */
#include "check.h"
#include "reference/times.h"

#include <cotangent/gp/number.h>

static ct_time read(const char *text, double *days) { return ct_time_read(text, strlen(text), days); }

static void against_python(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        double days;
        if (read(times[i].text, &days) != CT_TIME) fail_msg("%s", times[i].text);
        assert_close(days, times[i].days, 0, 1e-9);
    }
}

static void same_back(void **state)
{
    (void)state;
    char text[CT_TIME_TEXT];
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        double days, back;
        read(times[i].text, &days);
        const size_t length = ct_time_write(days, text);
        assert_int_equal(length, strlen(text));
        assert_int_equal(read(text, &back), CT_TIME);
        if (back != days) fail_msg("%s, written as %s", times[i].text, text);
    }
    /* every day from the year -400 to the year 400 */
    for (int64_t d = -865625; d < -573428; d++) {
        double back;
        ct_time_write((double)d, text);
        assert_int_equal(read(text, &back), CT_TIME);
        assert_true(back == (double)d);
    }
}

static void forms(void **state)
{
    (void)state;
    static const struct {
        const char *text, *written;
    } of[] = {
        { "2024-01", "2024-01-01" },
        { "2024-01-31 12:30", "2024-01-31T12:30:00Z" },
        { "2024-01-31t12:30:05.25z", "2024-01-31T12:30:05.250Z" },
        { "2024-01-31T12:30:05,5+02", "2024-01-31T10:30:05.500Z" },
        { "2024-01-31T00:30+0200", "2024-01-30T22:30:00Z" },
        { "2024-02-29T23:59:59.9999", "2024-03-01" },
        { "2016-12-31T23:59:60Z", "2017-01-01" },
        { "0000-03-01", "0000-03-01" },
        { "-000001-02-28", "-000001-02-28" },
        { "+012345-06-07", "+012345-06-07" },
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        double days;
        char text[CT_TIME_TEXT];
        assert_int_equal(read(of[i].text, &days), CT_TIME);
        ct_time_write(days, text);
        assert_string_equal(text, of[i].written);
    }
}

static void refusals(void **state)
{
    (void)state;
    static const char *const none[] = { "",
                                        "2024",
                                        "2024-1-1",
                                        "20240131",
                                        "31.1.2024",
                                        "2024-01-",
                                        "2024-01-31T",
                                        "2024-01-31T12",
                                        "2024/01/31",
                                        "2024-01-31 12:30 ",
                                        "2024-01-31T12:30:",
                                        "2024-01-31T12:30:05.",
                                        "+2024-01-31",
                                        "2024-01-31T12:30+2",
                                        "2024-W05",
                                        "2024-01-31x" };
    static const char *const impossible[] = {
        "2024-13",    "2024-00-01",       "2023-02-29",       "1900-02-29",          "2024-04-31",
        "2024-01-00", "2024-01-01T24:00", "2024-01-01T12:60", "2024-01-01T12:00:61", "2024-01-01T12:00+24:00"
    };
    double days;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        if (read(none[i], &days) != CT_TIME_NONE) fail_msg("%s", none[i]);
        assert_true(isnan(days));
    }
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
        if (read(impossible[i], &days) != CT_TIME_IMPOSSIBLE) fail_msg("%s", impossible[i]);
        assert_true(isnan(days));
    }
}

static void far_away(void **state)
{
    (void)state;
    char text[CT_TIME_TEXT];
    ct_time_write(NAN, text);
    assert_string_equal(text, "nan");
    ct_time_write(-(double)INFINITY, text);
    assert_string_equal(text, "-inf");
    ct_time_write(1e12, text);
    assert_string_equal(text, "1000000000000");
    double days = 1;
    assert_int_equal(ct_time_write(1, NULL), 0);
    assert_int_equal(ct_time_read(NULL, 7, &days), CT_TIME_NONE);
    assert_true(isnan(days));
    assert_int_equal(ct_time_read("2024-01", 7, NULL), CT_TIME_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_python), cmocka_unit_test(same_back), cmocka_unit_test(forms),
        cmocka_unit_test(refusals),       cmocka_unit_test(far_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
