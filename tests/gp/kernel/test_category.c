/* Categories: what a model of codes may and may not depend on. */
#include "gp_support.h"

#include <math.h>
#include <string.h>

enum { N = 60, D = 2, M = 4 };

/* Rows of a number and a code; y has a level for each code. `codes`: what the three levels are called. */
static ct_gp *model(ct_device *device, const double codes[3], const char *kernel)
{
    static const double levels[] = { -1, 0.5, 2 };
    double x[N * D], y[N];
    for (int i = 0; i < N; i++) {
        x[i * D] = 0.1 * i;
        x[i * D + 1] = codes[(i + i / 7) % 3];
        y[i] = sin(0.3 * i) + levels[(i + i / 7) % 3] + 0.05 * cos(7.0 * i);
    }
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(N, D), x), *t = ct_from(device, CT_F64, ct_shape1(N), y);
    ct_gp *gp = ct_gp_new(X, t, ct_kernel_parse(kernel), NULL);
    ct_release(X);
    ct_release(t);
    assert_gp(gp, device);
    return gp;
}

/* Predictions at the middle of the numbers: of the three levels, then of one that the data do not have. */
static void predict(ct_gp *gp, ct_device *device, const double codes[3], double *mean, double *variance)
{
    const double x[M * D] = { 2.95, codes[0], 2.95, codes[1], 2.95, codes[2], 2.95, -1 };
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(M, D), x), *m = ct_empty(device, CT_F64, ct_shape1(M)),
              *v = ct_empty(device, CT_F64, ct_shape1(M));
    assert_ok(ct_gp_predict(gp, X, m, v), ct_message(device));
    assert_ok(ct_read(m, mean, M * sizeof *mean), ct_message(device));
    assert_ok(ct_read(v, variance, M * sizeof *variance), ct_message(device));
    ct_release(X);
    ct_release(m);
    ct_release(v);
}

static void codes_are_names(void **state)
{
    (void)state;
    static const double plain[] = { 0, 1, 2 }, others[] = { 7, -3, 1e6 };
    ct_device *device = ct_device_open("cpu");
    double mean[2][M], variance[2][M], nlml[2];
    for (int k = 0; k < 2; k++) {
        const double *codes = k ? others : plain;
        ct_gp *gp = model(device, codes, "scale * rbf(dims=0) * category(dims=1)");
        gp_set(gp, "category.lengthscale", 0.7, false);
        nlml[k] = ct_gp_nlml_value(gp);
        predict(gp, device, codes, mean[k], variance[k]);
        ct_gp_free(gp);
    }
    assert_true(nlml[0] == nlml[1]);
    for (int i = 0; i < M; i++) assert_true(mean[0][i] == mean[1][i] && variance[0][i] == variance[1][i]);
    /* a new level is less certain than those of the data */
    for (int i = 0; i < 3; i++) assert_true(variance[0][3] > 2 * variance[0][i]);
    ct_device_close(device);
}

/* With a level that is like no other each has the predictions of its own rows alone. */
static void a_short_lengthscale_separates_the_levels(void **state)
{
    (void)state;
    static const double codes[] = { 0, 1, 2 };
    ct_device *device = ct_device_open("cpu");
    double mean[M], variance[M], x[N], y[N], alone;
    int n = 0;
    ct_gp *gp =
        model(device, codes, "scale(1!) * rbf(dims=0, lengthscale=1!) * category(dims=1, lengthscale=0.01!)");
    gp_set(gp, "noise.variance", 0.01, true);
    gp_set(gp, "mean.constant", 0, true);
    predict(gp, device, codes, mean, variance);
    ct_gp_free(gp);
    for (int i = 0; i < N; i++)
        if ((i + i / 7) % 3 == 1) x[n] = 0.1 * i, y[n++] = sin(0.3 * i) + 0.5 + 0.05 * cos(7.0 * i);
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(n, 1), x), *t = ct_from(device, CT_F64, ct_shape1(n), y);
    gp = ct_gp_new(X, t, ct_kernel_parse("scale(1!) * rbf(lengthscale=1!)"), NULL);
    assert_gp(gp, device);
    gp_set(gp, "noise.variance", 0.01, true);
    gp_set(gp, "mean.constant", 0, true);
    ct_tensor *at = ct_from(device, CT_F64, ct_shape2(1, 1), &(double){ 2.95 }),
              *m = ct_empty(device, CT_F64, ct_shape1(1));
    assert_ok(ct_gp_predict(gp, at, m, NULL), ct_message(device));
    assert_ok(ct_read(m, &alone, sizeof alone), ct_message(device));
    assert_float_equal(mean[1], alone, 1e-12);
    assert_float_equal(mean[3], 0, 1e-12); /* nothing is known of a new level */
    assert_float_equal(variance[3], 1, 1e-12);
    ct_release(X);
    ct_release(t);
    ct_release(at);
    ct_release(m);
    ct_gp_free(gp);
    ct_device_close(device);
}

static const char *const two[] = { "a", "b" };

/* The text of the model's kernel on columns of these kinds; NULL where it is refused. */
static const char *seen(ct_device *device, const ct_column *inputs, int64_t d, const char *kernel,
                        char text[256])
{
    const double zeros[8] = { 0 }, y[] = { 1, 2 };
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(2, d), zeros),
              *t = ct_from(device, CT_F64, ct_shape1(2), y);
    ct_gp *gp = ct_gp_new(X, t, ct_kernel_parse(kernel), &(ct_gp_options){ .inputs = inputs });
    if (gp) ct_kernel_print(ct_gp_kernel(gp), false, text, 256);
    ct_release(X);
    ct_release(t);
    const bool there = gp;
    ct_gp_free(gp);
    return there ? text : NULL;
}

static void profiles_see_the_columns_of_their_kind(void **state)
{
    (void)state;
    char text[256];
    const ct_column mixed[] = { { .name = "x" },
                                { .name = "wood", .kind = CT_COLUMN_CATEGORY, .levels = two, .n_levels = 2 },
                                { .name = "t", .kind = CT_COLUMN_TIME } },
                    numbers[] = { { .name = "x" }, { .name = "z" } };
    ct_device *device = ct_device_open("cpu");
    assert_string_equal(seen(device, mixed, 3, "scale * rbf(ard) * category + linear(dims=1)", text),
                        "scale * rbf(ard, dims=0:2) * category(dims=1) + linear(dims=1)");
    assert_string_equal(seen(device, numbers, 2, "rbf * category", text), "rbf * category");
    assert_string_equal(seen(device, NULL, 2, "rbf * category", text), "rbf * category");
    assert_null(seen(device, mixed + 1, 1, "category + rbf", text));
    assert_non_null(strstr(ct_message(device), "rbf without dims="));
    ct_device_close(device);
}

/* Rows of a code with three levels, and with `columns` 2 of a number: levels with functions of one shape, or
 * where `mirrored` the last against the others. */
static ct_status choose(ct_device *device, int columns, bool mirrored, int rows, ct_fit_objective objective,
                        ct_gp_choice *choice)
{
    static const char *const levels[] = { "a", "b", "c" };
    const ct_column inputs[] = {
        { .name = "wood", .kind = CT_COLUMN_CATEGORY, .levels = levels, .n_levels = 3 }, { .name = "x" }
    };
    double x[N * D], y[N];
    for (int i = 0; i < N; i++) {
        const int code = (i + i / 7) % 3;
        x[i * columns] = code;
        if (columns > 1) x[i * columns + 1] = 0.1 * i;
        y[i] = (mirrored ? 0 : 3 * code) + (columns > 1 ? sin(0.3 * i) : 0) + 0.05 * cos(7.0 * i);
        if (mirrored && code == 2) y[i] *= -3;
    }
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(rows, columns), x),
              *t = ct_from(device, CT_F64, ct_shape1(rows), y);
    ct_gp *gp = NULL;
    ct_status s = ct_gp_choose(X, t, &(ct_gp_options){ .priors = CT_PRIORS_WEAK, .inputs = inputs },
                               &(ct_gp_choose_options){ .fit.objective = objective }, &gp, choice);
    ct_gp_free(gp);
    ct_release(X);
    ct_release(t);
    return s;
}

static void the_choice_knows_categories(void **state)
{
    (void)state;
    ct_gp_choice c;
    ct_device *device = ct_device_open("cpu");
    for (int rows = N - 1; rows <= N; rows++) { /* twenty for each level or not */
        assert_ok(choose(device, 2, false, rows, CT_OBJECTIVE_LIKELIHOOD, &c), ct_message(device));
        assert_int_equal(c.count, rows < N ? 5 : 6); /* with few rows a simple one, too */
        for (int k = 0; k < c.count; k++)
            assert_non_null(
                strstr(c.tried[k].kernel, rows == N && (k == 1 || k == 2) ? "index" : "category"));
        assert_non_null(strstr(c.tried[0].kernel, "linear"));
        /* The likelihood of an index has several optima, and rounding decides which one a search ends in. */
        for (int k = 0; k < c.count; k++) assert_true(c.tried[c.best].criterion <= c.tried[k].criterion);
        assert_ok(choose(device, 2, false, rows, CT_OBJECTIVE_LOO, &c), ct_message(device));
        assert_int_equal(c.count, rows < N ? 3 : 5);
        assert_null(strstr(c.tried[0].kernel, "linear"));
    }
    assert_ok(choose(device, 1, false, N, CT_OBJECTIVE_LIKELIHOOD, &c), ct_message(device));
    assert_int_equal(c.count, 2);
    /* a level that goes against the others, further than they */
    assert_ok(choose(device, 2, true, N, CT_OBJECTIVE_LIKELIHOOD, &c), ct_message(device));
    assert_non_null(strstr(c.tried[c.best].kernel, "index"));
    ct_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_names),
        cmocka_unit_test(a_short_lengthscale_separates_the_levels),
        cmocka_unit_test(profiles_see_the_columns_of_their_kind),
        cmocka_unit_test(the_choice_knows_categories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
