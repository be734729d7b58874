/* The likelihood from a factor in f32 is right within the error that it reports, or refused. */
#include "gp_device.h"

#include <cotangent/ops.h>

#include "gp/likelihood/mixed.h"

typedef struct answer {
    double value, *bar[4];
    ct_status status;
    ct_gp_mixed report;
    char message[512];
} answer;

/* -1.7 times the likelihood, and its cotangents of theta, X, r and noise. */
static answer evaluate(bool mixed, const ct_kernel *k, const gp_data *s, double noise, int64_t noises)
{
    answer a = { 0 };
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *v = ct_full(device, CT_F64, ct_shape1(noises), noise);
    ct_var in[] = { ct_kernel_theta(k, tape, CT_F64), ct_leaf(tape, s->X), ct_leaf(tape, s->y),
                    ct_leaf(tape, v) };
    ct_var y = mixed ? ct_gp_nlml_mixed(k, in[0], in[1], in[2], in[3], &a.report)
                     : ct_gp_nlml(k, in[0], in[1], in[2], in[3]);
    y = ct_scale(y, -1.7);
    a.value = ct_item(y) / -1.7;
    a.status = ct_backward(y);
    snprintf(a.message, sizeof a.message, "%s", ct_tape_message(tape));
    for (int j = 0; j < 4 && !a.status; j++) a.bar[j] = gp_host(ct_cotangent(in[j]));
    ct_release(v);
    ct_tape_free(tape);
    return a;
}

static void drop(answer *a)
{
    for (int j = 0; j < 4; j++) free(a->bar[j]);
}

/* |a - b| / |b| */
static double distance(const double *a, const double *b, int64_t n)
{
    double difference = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    return sqrt(difference / fmax(size, 1e-300));
}

/* With ρ = |E|_F the error of the gradient in the log of a parameter is at most ½ρ√n, and the inversion may
 * add as much. */
static void assert_gradients(const answer *a, const answer *b, const ct_kernel *k, int64_t n, double noise)
{
    double room = 2 * 1.7 * (a->report.deviation * sqrt((double)n) + 1e-6 * (double)n);
    for (int64_t p = 0; p < ct_kernel_params(k); p++)
        assert_close(a->bar[0][p] * ct_kernel_param(k, p)->value, b->bar[0][p] * ct_kernel_param(k, p)->value,
                     0, room);
    assert_close(a->bar[3][0] * noise, b->bar[3][0] * noise, 0, room);
    assert_true(distance(a->bar[2], b->bar[2], n) < 1e-9);
}

/* Whether there was a value, and no refusal. */
static bool compare(const char *kernel, int64_t n, int64_t d, double noise, bool each)
{
    gp_data s = gp_data_new(device, CT_F64, n, d);
    ct_kernel *k = ct_kernel_parse(kernel);
    assert_ok(ct_kernel_bind(k, d), ct_kernel_message(k));
    int64_t noises = each ? n : 1;
    answer a = evaluate(true, k, &s, noise, noises), b = evaluate(false, k, &s, noise, noises);
    assert_ok(b.status, b.message);
    if (!a.status) {
        assert_close(a.value, b.value, 1e-12, a.report.error + 1e-7);
        assert_true(a.report.error <= 0.5 && a.report.deviation <= 0.5 && a.report.steps <= 12);
        assert_true(a.report.residual < 1e-10);
        assert_gradients(&a, &b, k, n, noise);
        assert_true(distance(a.bar[1], b.bar[1], n * d) < 1e-3);
    } else {
        assert_int_equal(a.status, CT_ENUMERIC);
        assert_non_null(strstr(a.message, "compute in f64"));
        assert_true(isnan(a.value));
    }
    drop(&a);
    drop(&b);
    ct_kernel_free(k);
    gp_data_free(&s);
    return !a.status;
}

static void right_or_refused(void **state)
{
    (void)state;
    static const double noises[] = { 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6 };
    const int step = check_quick() ? 2 : 1;
    int taken = 0;
    for (int i = 0; i < 6; i += step) {
        bool line = compare("scale(1.3) * rbf(ard, lengthscale=0.7)", 300, 1, noises[i], false);
        bool cube = compare("scale(1.3) * rbf(ard, lengthscale=0.7)", 700, 3, noises[i], false);
        bool wide = compare("scale(1.3) * rbf(ard, lengthscale=0.7)", 701, 8, noises[i], true);
        taken += compare("scale(1.5) * matern52(ard) + scale(0.3) * linear", 400, 3, noises[i], i % 2);
        /* The most correlated rows are refused first, from the third or the fourth case on, depending on
         * f32's rounding, */
        if (i != 3) assert_int_equal(line, i < 4);
        assert_int_equal(cube, i < 3);
        assert_true(wide); /* and points far apart never are */
    }
    assert_true(taken >= 4 - step);
}

static void every_size(void **state)
{
    (void)state;
    const int64_t sizes[] = { 1, 2, 3, 4, 5, 17, 33, 64, 65, 130, 201, 530, 1025 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes - (check_quick() > 1); i++)
        for (int each = 0; each < 2; each++)
            assert_true(compare("scale(1.5) * rbf(ard) * matern32 + white(0.1)", sizes[i], 3, 0.1, each));
}

/* Every row occurs twice: with negligible noise the matrix is singular in any precision. */
static void rows_alike(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 60, 2);
    ct_tensor *top = ct_tensor_slice(s.X, 0, 0, 30, 1), *rest = ct_tensor_slice(s.X, 0, 30, 60, 1);
    assert_ok(ct_copy(top, rest), ct_message(device));
    ct_kernel *k = ct_kernel_parse("scale(1.3) * rbf(lengthscale=0.4)");
    assert_ok(ct_kernel_bind(k, 2), ct_kernel_message(k));
    for (int i = 0; i < 2; i++) {
        answer a = evaluate(true, k, &s, i ? 1e-9 : 0.1, 1), b = evaluate(false, k, &s, 0.1, 1);
        assert_int_equal(a.status, i ? CT_ENUMERIC : CT_OK);
        if (!i) assert_close(a.value, b.value, 0, a.report.error);
        drop(&a);
        drop(&b);
    }
    ct_release(top);
    ct_release(rest);
    ct_kernel_free(k);
    gp_data_free(&s);
}

static void same_bits_again(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 333, 3);
    ct_kernel *k = ct_kernel_parse("scale(1.3) * rbf(ard, lengthscale=0.7)");
    assert_ok(ct_kernel_bind(k, 3), ct_kernel_message(k));
    answer a = evaluate(true, k, &s, 0.1, 1), b = evaluate(true, k, &s, 0.1, 1);
    assert_true(a.value == b.value && a.report.error == b.report.error);
    assert_memory_equal(a.bar[0], b.bar[0], (size_t)ct_kernel_params(k) * sizeof(double));
    drop(&a);
    drop(&b);
    ct_kernel_free(k);
    gp_data_free(&s);
}

/* The value and the report do not depend on which inputs want a gradient, and gradients differ by rounding
 * alone. A recorded sweep gives the gradients of the likelihood in full precision. */
static void whatever_is_wanted(void **state)
{
    (void)state;
    enum { n = 90, d = 2 };
    gp_data s = gp_data_new(device, CT_F64, n, d);
    ct_kernel *k = ct_kernel_parse("scale(1.3) * rbf(ard, lengthscale=0.7)");
    assert_ok(ct_kernel_bind(k, d), ct_kernel_message(k));
    answer all = evaluate(true, k, &s, 0.1, n), full = evaluate(false, k, &s, 0.1, n);
    ct_tensor *noise = ct_full(device, CT_F64, ct_shape1(n), 0.1), *given[] = { NULL, s.X, s.y, noise };
    const int64_t size[] = { ct_kernel_params(k), n * d, n, n };
    for (int wanted = 0; wanted < 16; wanted++) {
        ct_tape *tape = ct_tape_new(device);
        ct_var in[4] = { ct_kernel_theta(k, tape, CT_F64) }, recorded;
        if (!(wanted & 1)) in[0] = ct_stop_gradient(in[0]);
        for (int j = 1; j < 4; j++) in[j] = (wanted >> j & 1 ? ct_leaf : ct_constant)(tape, given[j]);
        ct_gp_mixed report;
        ct_var y = ct_scale(ct_gp_nlml_mixed(k, in[0], in[1], in[2], in[3], &report), -1.7);
        assert_true(ct_item(y) / -1.7 == all.value && report.steps == all.report.steps);
        assert_true(report.error == all.report.error && report.deviation == all.report.deviation);
        for (int j = 0; j < 4; j++) {
            if (!(wanted >> j & 1)) continue;
            assert_ok(ct_grad(y, (ct_var){ NULL, 0, 0 }, &in[j], &recorded, 1, CT_GRAD_RECORD),
                      ct_tape_message(tape));
            double *r = gp_host(ct_value(recorded));
            assert_true(distance(r, full.bar[j], size[j]) < 1e-8);
            free(r);
        }
        if (wanted) assert_ok(ct_backward(y), ct_tape_message(tape));
        for (int j = 0; j < 4; j++) {
            if (!(wanted >> j & 1)) continue;
            double *bar = gp_host(ct_cotangent(in[j]));
            assert_true(distance(bar, all.bar[j], size[j]) < 1e-12);
            free(bar);
        }
        ct_tape_free(tape);
    }
    drop(&all);
    drop(&full);
    ct_release(noise);
    ct_kernel_free(k);
    gp_data_free(&s);
}

/* Bytes of the likelihood in full precision and of the mixed one, from `from` on. */
static void peaks(int64_t n, int from, uint64_t peak[2])
{
    gp_data s = gp_data_new(device, CT_F64, n, 2);
    ct_kernel *k = ct_kernel_parse("scale(1.3) * rbf(ard, lengthscale=0.7)");
    assert_ok(ct_kernel_bind(k, 2), ct_kernel_message(k));
    for (int mixed = from; mixed < 2; mixed++) {
        ct_memory_mark(device);
        uint64_t before = ct_memory(device).bytes_now;
        answer a = evaluate(mixed, k, &s, 0.1, 1);
        assert_ok(a.status, a.message);
        peak[mixed] = ct_memory(device).bytes_peak - before;
        drop(&a);
    }
    assert_true(peak[1] <= ct__gp_mixed_bytes(device, n, 2));
    ct_kernel_free(k);
    gp_data_free(&s);
}

static void memory_is_half(void **state)
{
    (void)state;
    const int64_t n = check_quick() > 1 ? 2000 : 3000;
    uint64_t peak[2];
    peaks(1000, 1, peak);
    peaks(n, n < 3000, peak);
    /* at 3000 a GPU's other buffers are as large */
    if (n == 3000) assert_true((double)peak[1] < (check_at_once() ? 0.75 : 1) * (double)peak[0]);
    assert_true(ct__gp_mixed_bytes(device, 40000, 8) <
                ct_gp_bytes_needed(device, 40000, 8, CT_F64, true) * 0.6);
}

/* Checks that the tape refuses the call, with this in the message. */
static void refuses(const gp_data *s, ct_dtype dtype, int64_t rows, ct_status status, const char *text)
{
    ct_tape *tape = ct_tape_new(device);
    ct_kernel *k = ct_kernel_parse("rbf(ard)");
    assert_ok(ct_kernel_bind(k, s->d), ct_kernel_message(k));
    ct_tensor *X = ct_tensor_cast(s->X, dtype), *y = ct_zeros(device, dtype, ct_shape1(rows));
    ct_gp_mixed report;
    ct_var v = ct_gp_nlml_mixed(k, ct_kernel_theta(k, tape, dtype), ct_constant(tape, X),
                                ct_constant(tape, y), ct_scalar(tape, dtype, 0.1), &report);
    assert_true(isnan(ct_item(v)) && isinf(report.error));
    assert_int_equal(ct_tape_status(tape), status);
    assert_non_null(strstr(ct_tape_message(tape), text));
    ct_release(X);
    ct_release(y);
    ct_kernel_free(k);
    ct_tape_free(tape);
}

static void inputs_are_checked(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 8, 2);
    refuses(&s, CT_F32, 8, CT_EDTYPE, "takes f64");
    refuses(&s, CT_F64, 7, CT_ESHAPE, "residual must have 8 elements");
    gp_data_free(&s);
}

/* y = 0 has the solution 0, and nothing to refine. */
static void nothing_to_explain(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 40, 2);
    ct_tensor *zero = ct_zeros(device, CT_F64, ct_shape1(40));
    assert_ok(ct_copy(zero, s.y), ct_message(device));
    ct_kernel *k = ct_kernel_parse("scale(1.3) * rbf(ard, lengthscale=0.7)");
    assert_ok(ct_kernel_bind(k, 2), ct_kernel_message(k));
    answer a = evaluate(true, k, &s, 0.1, 1), b = evaluate(false, k, &s, 0.1, 1);
    assert_ok(a.status, a.message);
    assert_close(a.value, b.value, 0, a.report.error + 1e-7);
    assert_true(a.report.residual == 0 && a.report.steps == 0);
    drop(&a);
    drop(&b);
    ct_release(zero);
    ct_kernel_free(k);
    gp_data_free(&s);
}

/* -- fits ------------------------------------------------------------------------------------------------ */

static ct_gp *fitted(const gp_data *s, ct_precision precision, int restarts)
{
    ct_gp *gp = gp_of(s, "scale * rbf(ard)", NULL);
    assert_ok(ct_gp_fit(gp, &(ct_fit_options){ .precision = precision, .restarts = restarts }),
              ct_message(device));
    return gp;
}

static void fits_as_in_full_precision(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, check_quick() ? 130 : 250, 3);
    for (int restarts = 0; restarts < 3; restarts += 2) {
        ct_gp *mixed = fitted(&s, CT_PRECISION_MIXED, restarts),
              *full = fitted(&s, CT_PRECISION_FULL, restarts);
        ct_fit_report r = ct_gp_report(mixed);
        assert_int_equal(r.precision, CT_PRECISION_MIXED);
        assert_true(r.objective_error > 0 && r.objective_error < 0.5 && r.jitter == 0);
        /* three standard deviations of an estimate: a value just beyond happens, one at six does not */
        assert_close(ct_gp_nlml_value(mixed), r.objective, 0, 2 * r.objective_error);
        assert_close(ct_gp_nlml_value(mixed), ct_gp_nlml_value(full), 0, 2 * r.objective_error);
        for (int k = 0; k <= restarts; k++)
            assert_true(ct_fit_converged(r.start[k].end)); /* despite noise in the value */
        assert_int_equal(ct_gp_report(full).precision, CT_PRECISION_FULL);
        assert_true(ct_gp_report(full).objective_error == 0);
        ct_gp_free(mixed);
        ct_gp_free(full);
    }
    gp_data_free(&s);
}

static void a_fit_beyond_f32_says_so(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 200, 1);
    ct_gp *gp = gp_of(&s, "scale * rbf", &(ct_gp_options){ .noise = CT_NOISE_NONE });
    assert_failed(ct_gp_fit(gp, &(ct_fit_options){ .precision = CT_PRECISION_MIXED }), device, CT_ENUMERIC,
                  "compute in f64");
    ct_gp_free(gp);
    gp = ct_gp_new(s.X, s.y, ct_kernel_parse("scale * rbf"), NULL);
    assert_failed(
        ct_gp_fit(gp, &(ct_fit_options){ .precision = CT_PRECISION_MIXED, .objective = CT_OBJECTIVE_LOO }),
        device, CT_EUNSUPPORTED, "mixed precision");
    assert_failed(ct_gp_fit(gp, &(ct_fit_options){ .precision = (ct_precision)7 }), device, CT_EINVAL,
                  "option");
    ct_gp_free(gp);
    gp_data_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_or_refused),
        cmocka_unit_test(every_size),
        cmocka_unit_test(rows_alike),
        cmocka_unit_test(same_bits_again),
        cmocka_unit_test(whatever_is_wanted),
        cmocka_unit_test(memory_is_half),
        cmocka_unit_test(inputs_are_checked),
        cmocka_unit_test(nothing_to_explain),
        cmocka_unit_test(fits_as_in_full_precision),
        cmocka_unit_test(a_fit_beyond_f32_says_so),
    };
    return cmocka_run_group_tests(tests, open_check_device, close_device);
}
