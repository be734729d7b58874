/* The numerics report: condition number against the dense inverse, rows alike, pivots, bounds. */
#include "gp_device.h"

/* A model of points on a line, not standardised, with this noise, nothing fitted. */
static ct_gp *model(ct_dtype dtype, const char *kernel, const double *x, int64_t n, int64_t d, double noise)
{
    double *y = malloc((size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; i++) y[i] = sin(3 * x[i * d]);
    ct_tensor *X64 = assert_tensor(ct_from(device, CT_F64, ct_shape2(n, d), x), device);
    ct_tensor *y64 = assert_tensor(ct_from(device, CT_F64, ct_shape1(n), y), device);
    ct_tensor *X = assert_tensor(ct_tensor_cast(X64, dtype), device), *t = ct_tensor_cast(y64, dtype);
    ct_gp *gp = ct_gp_new(X, t, ct_kernel_parse(kernel),
                          &(ct_gp_options){ .mean = CT_MEAN_ZERO,
                                            .standardize = CT_STANDARDIZE_NONE,
                                            .noise = noise > 0 ? CT_NOISE_LEARNED : CT_NOISE_NONE });
    assert_gp(gp, device);
    if (noise > 0) gp_set(gp, "noise.variance", noise, false);
    ct_release(X64);
    ct_release(y64);
    ct_release(X);
    ct_release(t);
    free(y);
    return gp;
}

/* |C|₁ |C⁻¹|₁ of C_ij = 2 exp(-(x_i - x_j)²/2) + noise δ_ij by elimination without pivots. */
static double dense_condition(const double *x, int n, double noise)
{
    long double *A = malloc(2 * (size_t)(n * n) * sizeof *A), *B = A + n * n, norm = 0, inverse = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            long double t = (long double)x[i] - x[j];
            A[i * n + j] = 2 * expl(-t * t / 2) + (i == j ? noise : 0);
            B[i * n + j] = i == j;
        }
    for (int j = 0; j < n; j++) {
        long double sum = 0;
        for (int i = 0; i < n; i++) sum += fabsl(A[i * n + j]);
        norm = fmaxl(norm, sum);
    }
    for (int k = 0; k < n; k++) {
        long double pivot = A[k * n + k];
        for (int j = 0; j < n; j++) A[k * n + j] /= pivot, B[k * n + j] /= pivot;
        for (int i = 0; i < n; i++) {
            long double factor = i == k ? 0 : A[i * n + k];
            for (int j = 0; j < n; j++)
                A[i * n + j] -= factor * A[k * n + j], B[i * n + j] -= factor * B[k * n + j];
        }
    }
    for (int j = 0; j < n; j++) {
        long double sum = 0;
        for (int i = 0; i < n; i++) sum += fabsl(B[i * n + j]);
        inverse = fmaxl(inverse, sum);
    }
    free(A);
    return (double)(norm * inverse);
}

static void condition_is_near_the_true_one(void **state)
{
    (void)state;
    const int sizes[] = { 1, 2, 3, 4, 17, 40, 81 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (double noise = 1; noise > 1e-7; noise *= 1e-2) {
            int n = sizes[s];
            double x[81];
            for (int i = 0; i < n; i++) x[i] = fmod(0.7548776662 * (i + 1), 1) * 6;
            ct_gp *gp = model(CT_F64, "scale(2) * rbf(lengthscale=1)", x, n, 1, noise);
            ct_gp_numerics q;
            assert_ok(ct_gp_inspect(gp, &q), ct_message(device));
            double exact = dense_condition(x, n, noise);
            assert_true(q.condition <= exact * (1 + 1e-5));
            assert_true(q.condition >= exact / 3);
            assert_close(q.digits, -log10(2.220446049250313e-16 * q.condition), 1e-12, 1e-12);
            assert_true(q.jitter == 0);
            ct_gp_free(gp);
        }
}

static void rows_alike_are_named(void **state)
{
    (void)state;
    double x[60];
    for (int i = 0; i < 60; i++) x[i] = 0.1 * i;
    x[2 * 7] = x[2 * 3], x[2 * 7 + 1] = x[2 * 3 + 1];
    x[2 * 29] = x[2 * 11] + 1e-5, x[2 * 29 + 1] = x[2 * 11 + 1];
    const ct_dtype dtypes[] = { CT_F64, CT_F32 };
    for (int t = 0; t < 2; t++) {
        ct_gp *gp = model(dtypes[t], "scale(2) * rbf(ard, lengthscale=0.5) + white(0.3)", x, 30, 2, 0.01);
        ct_gp_numerics q;
        assert_ok(ct_gp_inspect(gp, &q), ct_message(device));
        assert_int_equal(q.near_rows, 2);
        assert_int_equal(q.near[0].row, 7);
        assert_int_equal(q.near[0].like, 3);
        assert_close(q.near[0].correlation, 1, 1e-15, 0);
        assert_int_equal(q.near[1].row, 29);
        assert_int_equal(q.near[1].like, 11);
        assert_close(q.near[1].correlation, 1, 1e-6, 0);
        assert_true(q.smallest_pivot > 0.1 && q.smallest_pivot <= 1); /* white counts as noise here */
        ct_gp_free(gp);
    }
}

/* Rows that differ only in columns that the kernel does not use are alike. */
static void alike_is_as_the_kernel_sees_it(void **state)
{
    (void)state;
    const double x[] = { 0, 0, 0.5, 1, 1, 2, 1.5, 3, 2, 4 };
    ct_gp_numerics q;
    ct_gp *gp = model(CT_F64, "periodic(dims=0, period=1)", x, 5, 2, 0.1);
    assert_ok(ct_gp_inspect(gp, &q), ct_message(device));
    assert_int_equal(q.near_rows, 3); /* 0, 1, 2 and 0.5, 1.5 */
    assert_int_equal(q.near[0].row, 2);
    assert_int_equal(q.near[0].like, 0);
    assert_int_equal(q.near[1].row, 3);
    assert_int_equal(q.near[1].like, 1);
    assert_int_equal(q.near[2].row, 4);
    assert_int_equal(q.near[2].like, 0);
    ct_gp_free(gp);
    gp = model(CT_F64, "white(0.5)", x, 5, 2, 0.1); /* no row is like another, and none has a correlation */
    assert_ok(ct_gp_inspect(gp, &q), ct_message(device));
    assert_int_equal(q.near_rows, 0);
    assert_close(q.condition, 1, 1e-12, 0);
    assert_close(q.smallest_pivot, 1, 1e-12, 0);
    ct_gp_free(gp);
}

static void more_than_are_shown_are_counted(void **state)
{
    (void)state;
    double x[200];
    for (int i = 0; i < 200; i++) x[i] = i % 4;
    ct_gp *gp = model(CT_F64, "rbf", x, 200, 1, 0.1);
    ct_gp_numerics q;
    assert_ok(ct_gp_inspect(gp, &q), ct_message(device));
    assert_int_equal(q.near_rows, 196);
    for (int k = 0; k < CT_GP_NEAR_SHOWN; k++) {
        assert_int_equal(q.near[k].row, k + 4);
        assert_int_equal(q.near[k].like, k % 4);
    }
    ct_gp_free(gp);
}

/* Without noise the second of two rows 1e-3 apart is determined by the first, up to 1 - ρ² = 1e-6. */
static void the_smallest_pivot_is_the_row_that_the_others_determine(void **state)
{
    (void)state;
    for (int n = 5; n < 7; n++) {
        double x[] = { 0, 10, 20, 10.001, 30, 40 };
        ct_gp *gp = model(CT_F64, "scale(3) * rbf(lengthscale=1)", x, n, 1, 0);
        ct_gp_numerics q;
        assert_ok(ct_gp_inspect(gp, &q), ct_message(device));
        assert_int_equal(q.pivot_row, 3);
        assert_close(q.smallest_pivot, 1e-6, 1e-3, 0);
        assert_int_equal(q.near_rows, 1);
        ct_gp_free(gp);
    }
}

static void bounds_are_told(void **state)
{
    (void)state;
    const double x[] = { 0, 1, 2, 3.5, 5 };
    ct_gp *gp = model(CT_F64, "scale(2) * rbf(lengthscale=1)", x, 5, 1, 0.1);
    ct_gp_numerics q;
    assert_ok(ct_gp_inspect(gp, &q), ct_message(device));
    assert_int_equal(q.at_bounds, 0);
    int64_t i = ct_gp_find(gp, "rbf.lengthscale"), k = ct_gp_find(gp, "scale.variance");
    ct_param p = *ct_gp_param(gp, i);
    p.lower = p.value;
    assert_ok(ct_gp_set_param(gp, i, &p), ct_message(device));
    p = *ct_gp_param(gp, k);
    p.upper = p.value * 1.0005;
    assert_ok(ct_gp_set_param(gp, k, &p), ct_message(device));
    assert_int_equal(ct_gp_at_bound(gp, i), -1);
    assert_int_equal(ct_gp_at_bound(gp, k), 1);
    assert_int_equal(ct_gp_at_bound(gp, ct_gp_find(gp, "noise.variance")), 0);
    assert_int_equal(ct_gp_at_bound(gp, -1), 0);
    assert_int_equal(ct_gp_at_bound(gp, 99), 0);
    assert_int_equal(ct_gp_at_bound(NULL, 0), 0);
    assert_ok(ct_gp_inspect(gp, &q), ct_message(device));
    assert_int_equal(q.at_bounds, 2);
    p.fixed = true;
    assert_ok(ct_gp_set_param(gp, k, &p), ct_message(device));
    assert_int_equal(ct_gp_at_bound(gp, k), 0);
    ct_gp_free(gp);
}

static void refusals(void **state)
{
    (void)state;
    const double x[] = { 0, 1, 1 };
    ct_gp_numerics q = { .condition = 7 };
    assert_status(ct_gp_inspect(NULL, &q), CT_EINVAL, "");
    assert_true(q.condition == 0);
    ct_gp *gp = model(CT_F64, "rbf", x, 3, 1, 0.1);
    assert_failed(ct_gp_inspect(gp, NULL), device, CT_EINVAL, "NULL");
    ct_gp_free(gp);
    /* equal rows without noise: the ladder's jitter is in the report, and in the pivot */
    gp = model(CT_F64, "rbf", x, 3, 1, 0);
    assert_ok(ct_gp_inspect(gp, &q), ct_message(device));
    assert_true(q.jitter > 0);
    assert_int_equal(q.pivot_row, 2);
    assert_close(q.smallest_pivot, 2 * q.jitter, 1e-3, 0);
    ct_gp_free(gp);
    /* a kernel that is 0 at all rows, whose zero diagonal makes every jitter zero */
    const double nothing[] = { 0, 0, 0 };
    gp = model(CT_F64, "linear", nothing, 3, 1, 0);
    assert_failed(ct_gp_inspect(gp, &q), device, CT_ENUMERIC, "is 0 at every row: learn a noise");
    assert_true(isnan(ct_gp_nlml_value(gp)));
    ct_gp_free(gp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(condition_is_near_the_true_one),
        cmocka_unit_test(rows_alike_are_named),
        cmocka_unit_test(alike_is_as_the_kernel_sees_it),
        cmocka_unit_test(more_than_are_shown_are_counted),
        cmocka_unit_test(the_smallest_pivot_is_the_row_that_the_others_determine),
        cmocka_unit_test(bounds_are_told),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, open_check_device, close_device);
}
