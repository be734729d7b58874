/* Kernels from text and back. */
#include "check.h"

#include <cotangent/gp/kernel.h>

#include "comma.h"

static void check_print(const char *text, bool values, const char *wanted)
{
    ct_kernel *k = ct_kernel_parse(text);
    assert_ok(ct_kernel_status(k), ct_kernel_message(k));
    char printed[500], again[500];
    size_t n = ct_kernel_print(k, values, printed, sizeof printed);
    assert_int_equal(n, strlen(printed));
    assert_string_equal(printed, wanted);
    ct_kernel *back = ct_kernel_parse(printed);
    ct_kernel_print(back, values, again, sizeof again);
    assert_string_equal(again, wanted);
    ct_kernel_free(back);
    ct_kernel_free(k);
}

static void round_trips(void **state)
{
    (void)state;
    check_print("rbf", false, "rbf");
    check_print("  scale*rbf( ard )+scale * periodic*RBF\n+ white ", false,
                "scale * rbf(ard) + scale * periodic * rbf + white");
    check_print("rbf + (rbf + rbf)", false, "rbf + (rbf + rbf)");
    check_print("(rbf + rbf) + rbf", false, "rbf + rbf + rbf");
    check_print("rbf * (rbf * rq)", false, "rbf * (rbf * rq)");
    check_print("rbf * scale * rq", false, "scale * rbf * rq");
    check_print("(scale * rbf) * rq", false, "(scale * rbf) * rq");
    check_print("scale * scale * (matern12 + matern32 * matern52)", false,
                "scale * scale * (matern12 + matern32 * matern52)");
    check_print("poly(dims=4:1)", false, "poly(dims=4:1, degree=2)");
    check_print("cosine(period = 0.1) + linear + constant(.5)", true,
                "cosine(period=0.1) + linear(lengthscale=1) + constant(0.5)");
    check_print("scale(4!) * rq(ard, lengthscale=0.5:2e-7!, alpha=3)", true,
                "scale(4!) * rq(ard, lengthscale=0.5:2e-07!, alpha=3)");
    check_print("white(variance=0.30000000000000004)", true, "white(0.30000000000000004)");
    check_print("scale(1.7976931348623157e308) * white(5e-324)", true,
                "scale(1.7976931348623157e+308) * white(4.94065645841247e-324)");
}

static void check_error(const char *text, const char *what, int caret)
{
    ct_kernel *k = ct_kernel_parse(text);
    assert_status(ct_kernel_status(k), CT_EFORMAT, text);
    const char *message = ct_kernel_message(k);
    if (!strstr(message, what)) fail_msg("%s\nis not about: %s", message, what);
    const char *second = strchr(message, '\n'), *third = second ? strchr(second + 1, '\n') : NULL;
    assert_non_null(third);
    assert_null(strchr(third + 1, '\n'));
    if ((int)strcspn(third + 1, "^") - 2 != caret) fail_msg("%s\nthe caret is not at %d", message, caret);
    assert_int_equal(strlen(third + 1), strcspn(third + 1, "^") + 1);
    ct_kernel_free(k);
}

static void errors_have_a_caret(void **state)
{
    (void)state;
    check_error("", "ends", 0);
    check_error("rbf + foo", "no kernel \"foo\"", 6);
    check_error("rbf + martern52", "scale: did you mean matern52?", 6);
    check_error("rbf +", "ends", 5);
    check_error("rbf rbf", "expected \"+\"", 4);
    check_error("(rbf", "expected \")\"", 4);
    check_error("rbf)", "expected \"+\"", 3);
    check_error("scale", "scale multiplies", 0);
    check_error("rbf + scale * scale", "scale multiplies", 6);
    check_error("rbf(", "expected an option", 4);
    check_error("rbf()", "expected an option", 4);
    check_error("rbf(x=3)", "no option \"x\"", 4);
    check_error("rbf(alpha=3)", "no option \"alpha\"", 4);
    check_error("cosine(ard)", "no option \"ard\"", 7);
    check_error("white(dims=0)", "no option \"dims\"", 6);
    check_error("rbf(ard=1)", "expected \")\"", 7);
    check_error("rbf(lengthscale=0)", "positive", 16);
    check_error("rbf(lengthscale=-1)", "positive number", 16);
    check_error("rbf(lengthscale=1e999)", "finite", 16);
    check_error("rbf(lengthscale=1e-999)", "positive", 16);
    check_error("rbf(lengthscale=nan)", "positive number", 16);
    check_error("rbf(lengthscale=1:2)", "2 lengthscales need ard", 4);
    check_error("rbf(ard, dims=0:1, lengthscale=1:2:3)", "3 lengthscales for 2 columns", 4);
    check_error("rbf(dims=0:0)", "column 0 twice", 11);
    check_error("rbf(dims=)", "whole number", 9);
    check_error("rbf(dims=99999999999999999999)", "at most", 9);
    check_error("poly(degree=0)", "at least 1", 12);
    check_error("poly(degree=65)", "at most 64", 12);
    check_error("rbf \xc3\xa4", "expected \"+\"", 4);
}

static void hostile_texts(void **state)
{
    (void)state;
    enum { N = 100000 };
    char *text = malloc(N + 1);
    const char *const fill[] = { "(", "rbf+", "rbf*", "scale*", "1", "rbf(dims=", "a", "\xff", "((rbf)+" };
    for (size_t f = 0; f < sizeof fill / sizeof *fill; f++) {
        size_t n = strlen(fill[f]);
        for (size_t i = 0; i < N; i++) text[i] = fill[f][i % n];
        text[N] = 0;
        ct_kernel *k = ct_kernel_parse(text);
        assert_status(ct_kernel_status(k), CT_EFORMAT, fill[f]);
        assert_true(strlen(ct_kernel_message(k)) < 500);
        ct_kernel_free(k);
    }
    strcpy(text, "rbf(dims=0");
    for (int i = 1; i < 6000; i++) sprintf(text + strlen(text), ":%d", i);
    strcat(text, ")");
    ct_kernel *k = ct_kernel_parse(text);
    assert_status(ct_kernel_status(k), CT_EFORMAT, "too many columns");
    ct_kernel_free(k);
    memset(text, '0', 300);
    memcpy(text, "white(", 6);
    strcpy(text + 300, "1)");
    k = ct_kernel_parse(text);
    assert_status(ct_kernel_status(k), CT_EFORMAT, "a number of 300 digits");
    ct_kernel_free(k);
    free(text);
    k = ct_kernel_parse(NULL);
    assert_status(ct_kernel_status(k), CT_EINVAL, "");
    ct_kernel_free(k);
}

static void print_truncates(void **state)
{
    (void)state;
    ct_kernel *k = ct_kernel_parse("scale * rbf + white");
    char small[8];
    assert_int_equal(ct_kernel_print(k, false, small, sizeof small), 19);
    assert_string_equal(small, "scale *");
    assert_int_equal(ct_kernel_print(k, false, small, 1), 19);
    assert_string_equal(small, "");
    assert_int_equal(ct_kernel_print(k, false, NULL, 0), 19);
    ct_kernel_free(k);
}

static void decimal_comma(void **state)
{
    (void)state;
    if (!comma_begin()) return;
    check_print("white(0.25) + rbf(lengthscale=1.5e-3)", true, "white(0.25) + rbf(lengthscale=0.0015)");
    comma_end();
}

static void values_reach_parameters(void **state)
{
    (void)state;
    ct_kernel *k = ct_kernel_parse(
        "scale(4!) * rbf(ard, dims=1:2, lengthscale=0.5) + periodic(period=3, lengthscale=2)");
    assert_ok(ct_kernel_bind(k, 3), ct_kernel_message(k));
    const double values[] = { 4, 0.5, 0.5, 2, 3 };
    assert_int_equal(ct_kernel_params(k), 5);
    for (int i = 0; i < 5; i++) {
        assert_close(ct_kernel_param(k, i)->value, values[i], 0, 0);
        assert_true(ct_kernel_param(k, i)->start_given);
        assert_int_equal(ct_kernel_param(k, i)->fixed, i == 0);
    }
    assert_string_equal(ct_kernel_param(k, 2)->name, "rbf.lengthscale[2]");
    ct_kernel_free(k);
}

static void check_named(const char *text, const char *printed)
{
    static const ct_column columns[] = { { .name = "temp" },
                                         { .name = "wind speed" },
                                         { .name = "a \"b\", c" } };
    ct_kernel *k = ct_kernel_parse_named(text, columns, 3);
    char out[200];
    assert_ok(ct_kernel_status(k), ct_kernel_message(k));
    ct_kernel_print(k, false, out, sizeof out);
    assert_string_equal(out, printed);
    ct_kernel_free(k);
}

static void refuse_named(const char *text, const ct_column *columns, const char *message)
{
    ct_kernel *k = ct_kernel_parse_named(text, columns, 2);
    assert_int_equal(ct_kernel_status(k), CT_EFORMAT);
    if (strncmp(ct_kernel_message(k), message, strlen(message)))
        fail_msg("\"%s\" is not \"%s\"", ct_kernel_message(k), message);
    ct_kernel_free(k);
}

static void columns_have_names(void **state)
{
    (void)state;
    check_named("rbf(dims=temp:\"wind speed\")", "rbf(dims=0:1)");
    check_named("rbf(dims= wind speed : 0, ard)", "rbf(ard, dims=1:0)");
    check_named("rbf(dims=\"a \"\"b\"\", c\") + linear(dims=\"temp\")", "rbf(dims=2) + linear(dims=0)");
    static const ct_column columns[] = { { .name = "temp" }, { .name = "wind speed" } };
    refuse_named("rbf(dims=Temp)", columns,
                 "kernel: no such column; there are temp, wind speed\n  rbf(dims=Temp)\n           ^");
    refuse_named("rbf(dims=0:2)", columns,
                 "kernel: no such column; there are temp, wind speed\n  rbf(dims=0:2)\n             ^");
    refuse_named("rbf(dims=\"temp)", columns, "kernel: a quote is opened here and never closed");
    refuse_named("rbf(dims=temp:0)", columns, "kernel: column 0 twice");
    refuse_named("rbf(dims=)", columns, "kernel: no such column");
    refuse_named("rbf(dims=temp)", NULL, "kernel: expected a column, a whole number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips),
        cmocka_unit_test(errors_have_a_caret),
        cmocka_unit_test(hostile_texts),
        cmocka_unit_test(print_truncates),
        cmocka_unit_test(values_reach_parameters),
        cmocka_unit_test(columns_have_names),
        cmocka_unit_test(decimal_comma),
    };
    return cmocka_run_group_tests_name("kernel_parse", tests, NULL, NULL);
}
