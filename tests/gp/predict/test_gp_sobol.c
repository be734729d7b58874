/* Sobol indices of posterior means whose indices are known. */
#include "gp_device.h"

enum { N = 60, SAMPLES = 20000 };

/* x_j on [0, 1], its mean and variance over the rows. */
typedef struct column {
    double mean, variance;
} column;

/* A model that passes through f at drawn points, so that its mean is f. */
static ct_gp *through(double (*f)(const double *x), int64_t d, const char *kernel, ct_dtype dtype, column *c)
{
    double x[N * 4], y[N];
    ct_tensor *U = ct_rand_uniform(device, CT_F64, ct_shape2(N, d), 5, 0);
    assert_ok(ct_read(U, x, (size_t)(N * d) * sizeof *x), ct_message(device));
    for (int64_t i = 0; i < N; i++) y[i] = f(x + i * d);
    for (int64_t j = 0; j < d; j++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < N; i++) sum += x[i * d + j], squares += x[i * d + j] * x[i * d + j];
        c[j] = (column){ sum / N, squares / N - sum / N * (sum / N) };
    }
    ct_tensor *X = ct_tensor_cast(U, dtype), *t = ct_from(device, CT_F64, ct_shape1(N), y),
              *Y = ct_tensor_cast(t, dtype);
    ct_gp *gp = ct_gp_new(X, Y, ct_kernel_parse(kernel), NULL);
    assert_gp(gp, device);
    gp_set(gp, "noise.variance", 1e-8, false);
    ct_tensor *all[] = { U, X, t, Y };
    for (int k = 0; k < 4; k++) ct_release(all[k]);
    return gp;
}

static double linear(const double *x) { return 3 + x[0] - 2 * x[1] + 4 * x[2]; }
static double product(const double *x) { return (x[0] + 0.5) * (x[1] - 0.1); }
static double constant(const double *x) { return x ? 7 : 0; }

/* f = Σ b_j x_j: S_j = T_j = b_j² v_j / Σ b_k² v_k */
static void of_a_sum(void **state)
{
    (void)state;
    const double b[] = { 1, -2, 4, 0 };
    double first[4], total[4], again[4], sum = 0;
    column c[4];
    for (int narrow = 0; narrow < 2; narrow++) {
        ct_gp *gp = through(linear, 4, "scale(100) * linear", narrow ? CT_F32 : CT_F64, c);
        if (narrow) gp_set(gp, "noise.variance", 1e-4, false);
        sum = 0;
        for (int j = 0; j < 4; j++) sum += b[j] * b[j] * c[j].variance;
        assert_ok(ct_gp_sobol(gp, SAMPLES, 1, first, total), ct_message(device));
        for (int j = 0; j < 4; j++) {
            assert_close(first[j], b[j] * b[j] * c[j].variance / sum, 0, 0.02);
            assert_close(total[j], b[j] * b[j] * c[j].variance / sum, 0, 0.02);
        }
        assert_true(total[3] < 1e-6);
        assert_ok(ct_gp_sobol(gp, SAMPLES, 1, again, total), ct_message(device));
        for (int j = 0; j < 4; j++) assert_true(first[j] == again[j]);
        assert_ok(ct_gp_sobol(gp, SAMPLES, 2, again, total), ct_message(device));
        assert_true(first[0] != again[0]);
        ct_gp_free(gp);
    }
}

/* f = u v of independent u and v: V = v_u v_v + μ_v² v_u + μ_u² v_v, S_u = μ_v² v_u / V,
 * T_u = (v_u v_v + μ_v² v_u) / V */
static void of_a_product(void **state)
{
    (void)state;
    double first[2], total[2];
    column c[2];
    ct_gp *gp = through(product, 2, "scale(10) * poly(degree=2)", CT_F64, c);
    const double mean[] = { c[0].mean + 0.5, c[1].mean - 0.1 }, both = c[0].variance * c[1].variance;
    const double part[] = { mean[1] * mean[1] * c[0].variance, mean[0] * mean[0] * c[1].variance };
    assert_ok(ct_gp_sobol(gp, SAMPLES, 0, first, total), ct_message(device));
    for (int j = 0; j < 2; j++) {
        assert_close(first[j], part[j] / (both + part[0] + part[1]), 0, 0.02);
        assert_close(total[j], (both + part[j]) / (both + part[0] + part[1]), 0, 0.02);
        assert_true(total[j] > first[j] + 0.05); /* they act together */
    }
    ct_gp_free(gp);
}

static void what_has_none_is_refused(void **state)
{
    (void)state;
    double first[2] = { 0 }, total[2] = { 0 };
    column c[2];
    ct_gp *gp = through(constant, 2, "rbf", CT_F64, c);
    assert_failed(ct_gp_sobol(gp, 100, 0, first, total), device, CT_ENUMERIC, "no input matters");
    assert_true(isnan(first[0]) && isnan(total[1]));
    assert_failed(ct_gp_sobol(gp, 1, 0, first, total), device, CT_EINVAL, "2 samples");
    assert_failed(ct_gp_sobol(gp, 100, 0, NULL, total), device, CT_EINVAL, "NULL");
    assert_failed(ct_gp_sobol(gp, INT64_MAX / 8, 0, first, total), device, CT_ENOMEM, "memory");
    assert_status(ct_gp_sobol(NULL, 100, 0, first, total), CT_EINVAL, "");
    ct_gp_free(gp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_sum),
        cmocka_unit_test(of_a_product),
        cmocka_unit_test(what_has_none_is_refused),
    };
    return cmocka_run_group_tests(tests, open_check_device, close_device);
}
