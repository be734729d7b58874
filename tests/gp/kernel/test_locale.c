/* Texts of every layer are the same in a locale with a decimal comma. */
#include "gp_device.h"

#include "comma.h"

#include <cotangent/cotangent.h>
#include <cotangent/gp.h>

typedef struct texts {
    char text[1 << 16];
    size_t n;
} texts;

static void add(texts *t, const char *text)
{
    const size_t n = strlen(text);
    assert_true(n > 0 && t->n + n + 2 < sizeof t->text);
    memcpy(t->text + t->n, text, n);
    t->n += n;
    t->text[t->n++] = '\n';
}

/* -- each layer's ---------------------------------------------------------------------------------------- */

static void of_tensor(texts *t)
{
    char number[CT_NUMBER_TEXT], time[CT_TIME_TEXT];
    ct_device *cpu = ct_device_open("cpu");
    add(t, ct_device_description(cpu));
    ct_device_close(cpu);
    ct_device_fail(device, CT_EINVAL, "the bound is %.3g", 0.25);
    add(t, ct_message(device));
    for (int digits = 0; digits < 17; digits += 4) {
        ct_number_write(-12345.678901234, digits, number);
        add(t, number);
    }
    ct_time_write(19000.5234375, time);
    add(t, time);
    ct_tensor *x = tensor(CT_F64, ct_shape2(1, 3), (double[]){ 0.5, 1e-300, 1234567.5 });
    assert_ok(ct_csv_save(x, NULL, path), ct_message(device));
    FILE *f = fopen(path, "r");
    char line[256] = "";
    assert_non_null(f && fgets(line, sizeof line, f) ? f : NULL);
    fclose(f);
    add(t, line);
    ct_release(x);
}

static void of_ops(texts *t)
{
    static char report[4096];
    ct_tape *tape = ct_tape_new(device);
    ct_clamp(ct_scalar(tape, CT_F64, 1), 2.5, 1.5);
    add(t, ct_tape_message(tape));
    ct_tape_reset(tape);
    ct_huber(ct_scalar(tape, CT_F64, 1), ct_scalar(tape, CT_F64, 1), -0.5);
    add(t, ct_tape_message(tape));
    ct_tape_reset(tape);
    ct_tape_fail(tape, CT_EINVAL, "the weight is %.2f", 0.75);
    add(t, ct_tape_message(tape));
    ct_tape_free(tape);
    assert_ok(ct_gradcheck_op(device, ct_op_find("tanh"), NULL, report, sizeof report), report);
    add(t, report);
}

static void of_kernel(texts *t)
{
    ct_kernel *k = ct_kernel_parse("scale(0.25) * rbf(lengthscale=1.5)");
    char text[256];
    ct_kernel_print(k, true, text, sizeof text);
    add(t, text);
    ct_param p = *ct_kernel_param(k, 0);
    p.value = -0.5;
    assert_int_equal(ct_kernel_set(k, 0, &p), CT_EINVAL);
    add(t, ct_kernel_message(k));
    p.value = 0.5, p.lower = 1.5, p.upper = 2.5;
    assert_int_equal(ct_kernel_set(k, 0, &p), CT_EINVAL);
    add(t, ct_kernel_message(k));
    ct_kernel_free(k);
}

static void of_gp(texts *t)
{
    enum { N = 60 };
    double x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = i + 0.25, y[i] = sin(x[i] * 0.8) + 0.1 * cos(37.0 * i);
    ct_tensor *X = tensor(CT_F64, ct_shape2(N, 1), x), *Y = tensor(CT_F64, ct_shape1(N), y);
    ct_gp_choice choice;
    const ct_gp_choose_options how = { .season = CT_GP_SEASON_OF_COLUMN, .fit.max_iterations = 2 };
    ct_gp *gp = NULL;
    assert_ok(ct_gp_choose(X, Y, NULL, &how, &gp, &choice), ct_message(device));
    assert_true(choice.seasons > 0);
    for (int i = 0; i < choice.count; i++) add(t, choice.tried[i].kernel);
    ct_param p = *ct_gp_param(gp, 0);
    p.value = -0.5;
    assert_int_equal(ct_gp_set_param(gp, 0, &p), CT_EINVAL);
    add(t, ct_message(device));
    ct_gp_free(gp);
    assert_null(ct_gp_new(X, Y, ct_kernel_parse("rbf"), &(ct_gp_options){ .transform = CT_TRANSFORM_LOG }));
    add(t, ct_message(device));
    ct_release(X), ct_release(Y);
}

static void collect(texts *t)
{
    of_tensor(t);
    of_ops(t);
    of_kernel(t);
    of_gp(t);
}

static void texts_have_a_decimal_point(void **state)
{
    (void)state;
    static texts plain, comma;
    collect(&plain);
    if (!comma_begin()) return;
    collect(&comma);
    comma_end();
    for (const char *a = plain.text, *b = comma.text; *a; a = strchr(a, '\n') + 1, b = strchr(b, '\n') + 1)
        if (strcspn(a, "\n") != strcspn(b, "\n") || memcmp(a, b, strcspn(a, "\n")))
            fail_msg("%.*s: was %.*s", (int)strcspn(b, "\n"), b, (int)strcspn(a, "\n"), a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(texts_have_a_decimal_point, open_cpu_with_path, close_with_path),
    };
    return cmocka_run_group_tests_name("locale", tests, NULL, NULL);
}
