/* Cross-validation by folds against models trained without the fold, with the same parameters. */
#include "gp_device.h"

enum { MOST = 64 };

static ct_gp *with(const ct_tensor *X, const ct_tensor *y, const char *kernel, const ct_gp_options *options)
{
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse(kernel), options);
    assert_gp(gp, device);
    return gp;
}

/* The rows of t (n, d) or (n) whose fold is `fold`, or all others. */
static ct_tensor *some(const ct_tensor *t, const int64_t *folds, int64_t fold, bool others)
{
    int64_t n = ct_tensor_dim(t, 0), d = ct_tensor_ndim(t) == 2 ? ct_tensor_dim(t, 1) : 1, m = 0;
    double *x = gp_host(t);
    for (int64_t i = 0; i < n; i++)
        if ((folds[i] != fold) == others) memmove(x + m++ * d, x + i * d, (size_t)d * sizeof *x);
    ct_tensor *rest = ct_from(device, CT_F64, ct_tensor_ndim(t) == 2 ? ct_shape2(m, d) : ct_shape1(m), x);
    free(x);
    return assert_tensor(rest, device);
}

/* Predictions of a fold's rows by a model of the others, beside those of the closed form. */
static void check_fold(ct_gp *gp, const gp_data *s, const ct_tensor *noises, const int64_t *folds,
                       int64_t fold, const char *kernel, ct_gp_options options, double *const seen[3])
{
    ct_tensor *X = some(s->X, folds, fold, true), *y = some(s->y, folds, fold, true),
              *w = some(noises, folds, fold, true), *Xs = some(s->X, folds, fold, false);
    double *v = gp_host(noises);
    const int64_t m = ct_tensor_dim(Xs, 0);
    if (options.noise_variances) options.noise_variances = w;
    ct_gp *rest = with(X, y, kernel, &options);
    for (int64_t p = 0; p < ct_gp_params(gp); p++)
        assert_ok(ct_gp_set_param(rest, p, ct_gp_param(gp, p)), ct_message(device));
    ct_tensor *mean = ct_empty(device, CT_F64, ct_shape1(m)), *var = ct_empty(device, CT_F64, ct_shape1(m));
    assert_ok(ct_gp_predict(rest, Xs, mean, var), ct_message(device));
    double *a = gp_host(mean), *b = gp_host(var);
    for (int64_t i = 0, k = 0; i < s->n; i++) {
        if (folds[i] != fold) continue;
        const double mu = a[k], u = b[k++] + 0.05 + (options.noise_variances ? v[i] : 0),
                     e = s->y_host[i] - mu;
        assert_close(seen[0][i], mu, 1e-9, 1e-10);
        assert_close(seen[1][i], u, 1e-9, 0);
        assert_close(seen[2][i], -0.5 * (log(2 * acos(-1) * u) + e * e / u), 1e-8, 1e-8);
    }
    ct_gp_free(rest);
    free(v);
    free(a);
    free(b);
    ct_tensor *all[] = { X, y, w, Xs, mean, var };
    for (int j = 0; j < 6; j++) ct_release(all[j]);
}

static void equals_models_without_the_fold(void **state)
{
    (void)state;
    const char *const kernels[] = { "scale(2) * rbf(ard)", "matern32 + white(0.3)", "scale * linear + rq" };
    const int64_t sizes[] = { 2, 3, 9, 16, 33 };
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int kind = 0; kind < (sizes[k] < 9 ? 3 : 4); kind++) {
            const int64_t n = sizes[k];
            gp_data s = gp_data_new(device, CT_F64, n, 2);
            int64_t folds[MOST];
            double v[MOST];
            /* scattered, of one row and all others, in a row of unequal sizes, with a trend */
            for (int64_t i = 0; i < n; i++) {
                folds[i] = kind % 3 == 0 ? (i * 7 + 3) % (n < 5 ? 2 : 4) - 1
                           : kind == 1   ? i == n / 2
                                         : -i / 5;
                v[i] = 0.01 + 0.02 * (double)(i % 5);
            }
            if (n < 6 && kind == 2) folds[n - 1] = INT64_MIN;
            ct_tensor *noises = ct_from(device, CT_F64, ct_shape1(n), v), *out[3];
            ct_gp_options options = { .mean = CT_MEAN_CONSTANT, .standardize = CT_STANDARDIZE_NONE };
            if (kind == 3) options.mean = CT_MEAN_BASIS, options.basis = "1 + x0 + x1^2";
            if (kind == 1) options.noise = CT_NOISE_GIVEN_PLUS, options.noise_variances = noises;
            ct_gp *gp = with(s.X, s.y, kernels[k % 3], &options);
            if (kind < 3) gp_set(gp, "mean.constant", 0.4, false);
            gp_set(gp, "noise.variance", 0.05, false);
            double *seen[3];
            for (int j = 0; j < 3; j++) out[j] = ct_empty(device, CT_F64, ct_shape1(n));
            assert_ok(ct_gp_cross_validate(gp, folds, out[0], out[1], out[2]), ct_message(device));
            for (int j = 0; j < 3; j++) seen[j] = gp_host(out[j]), ct_release(out[j]);
            for (int64_t i = 0; i < n; i++)
                check_fold(gp, &s, noises, folds, folds[i], kernels[k % 3], options, seen);
            for (int j = 0; j < 3; j++) free(seen[j]);
            ct_release(noises);
            ct_gp_free(gp);
            gp_data_free(&s);
        }
}

/* A fold for each row is leave-one-out, in f64 and f32, with several panels of rows. One fold of all is the
 * prior. */
static void of_one_row_each(void **state)
{
    (void)state;
    for (int narrow = 0; narrow < 2; narrow++) {
        const int64_t n = 1301;
        const ct_dtype dtype = narrow ? CT_F32 : CT_F64;
        gp_data s = gp_data_new(device, dtype, n, 2);
        int64_t *folds = calloc((size_t)n, sizeof *folds);
        ct_gp *gp = with(s.X, s.y, "scale * rbf(ard)", NULL);
        gp_set(gp, "noise.variance", 0.05, false);
        ct_tensor *out[2][3];
        for (int j = 0; j < 6; j++) out[j / 3][j % 3] = ct_empty(device, CT_F64, ct_shape2(n, 1));
        if (!narrow) {
            assert_ok(ct_gp_cross_validate(gp, folds, out[0][0], NULL, NULL), ct_message(device));
            double *mean = gp_host(out[0][0]);
            for (int64_t i = 0; i < n; i++) assert_close(mean[i], gp_get(gp, "mean.constant"), 1e-7, 1e-7);
            free(mean);
        }
        for (int64_t i = 0; i < n; i++) folds[i] = (i * 911) % n;
        assert_ok(ct_gp_cross_validate(gp, folds, out[0][0], out[0][1], out[0][2]), ct_message(device));
        assert_ok(ct_gp_loo(gp, out[1][0], out[1][1], out[1][2]), ct_message(device));
        for (int j = 0; j < 3; j++) {
            double *a = gp_host(out[0][j]), *b = gp_host(out[1][j]);
            for (int64_t i = 0; i < n; i++)
                assert_close(a[i], b[i], narrow ? 2e-3 : 1e-9, narrow ? 2e-3 : 1e-9);
            free(a);
            free(b);
        }
        for (int j = 0; j < 6; j++) ct_release(out[j / 3][j % 3]);
        free(folds);
        ct_gp_free(gp);
        gp_data_free(&s);
    }
}

/* Folds of pairs: as much memory as leave-one-out and the panel on the host. */
static void memory_is_that_of_a_panel(void **state)
{
    (void)state;
    const int64_t n = 1301;
    gp_data s = gp_data_new(device, CT_F64, n, 2);
    int64_t *folds = calloc((size_t)n, sizeof *folds);
    for (int64_t i = 0; i < n; i++) folds[i] = i / 2;
    ct_gp *gp = with(s.X, s.y, "scale * rbf(ard)", NULL);
    ct_tensor *mean = ct_empty(device, CT_F64, ct_shape1(n));
    assert_ok(ct_gp_predict(gp, s.X, NULL, NULL), ct_message(device));
    ct_memory_trim(device);
    ct_memory_mark(device);
    uint64_t before = ct_memory(device).bytes_now;
    assert_ok(ct_gp_cross_validate(gp, folds, mean, NULL, NULL), ct_message(device));
    assert_true(ct_memory(device).bytes_peak - before < 8 * (uint64_t)n * (650 + 64));
    ct_release(mean);
    free(folds);
    ct_gp_free(gp);
    gp_data_free(&s);
}

/* Rows come back in the units of the data. */
static void data_of_a_model(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 20, 3);
    ct_gp *gp = with(s.X, s.y, "rbf", NULL);
    ct_tensor *X = ct_empty(device, CT_F64, ct_shape2(20, 3)), *y = ct_empty(device, CT_F64, ct_shape1(20)),
              *wrong = ct_empty(device, CT_F64, ct_shape2(19, 3));
    assert_ok(ct_gp_data(gp, X, y), ct_message(device));
    double *x = gp_host(X), *given = gp_host(s.X), *targets = gp_host(y);
    for (int i = 0; i < 60; i++) assert_close(x[i], given[i], 1e-14, 1e-14);
    for (int i = 0; i < 20; i++) assert_close(targets[i], s.y_host[i], 1e-14, 1e-14);
    assert_ok(ct_gp_data(gp, NULL, NULL), ct_message(device));
    assert_status(ct_gp_data(NULL, X, y), CT_EINVAL, "");
    assert_failed(ct_gp_data(gp, wrong, y), device, CT_ESHAPE, "X: 19 rows, the model has 20");
    assert_failed(ct_gp_data(gp, X, wrong), device, CT_ESHAPE, "y: 57 elements");
    free(x);
    free(given);
    free(targets);
    ct_release(X);
    ct_release(y);
    ct_release(wrong);
    ct_gp_free(gp);
    gp_data_free(&s);
}

/* x1 is not 0 in the rows of one fold alone. */
static void a_fold_that_determines_a_coefficient(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 20, 2);
    double *x = gp_host(s.X), v[20];
    int64_t folds[20];
    for (int i = 0; i < 20; i++) {
        folds[i] = i % 4;
        x[2 * i + 1] = folds[i] == 2 ? 1 + i : 0;
    }
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(20, 2), x),
              *out = ct_empty(device, CT_F64, ct_shape1(20));
    ct_gp *gp = with(X, s.y, "rbf(dims=0)", &(ct_gp_options){ .mean = CT_MEAN_BASIS, .basis = "1 + x1" });
    assert_failed(ct_gp_cross_validate(gp, folds, out, NULL, NULL), device, CT_ENUMERIC,
                  "row 2 cannot be left out with its fold, which alone determines a coefficient of the mean");
    folds[2] = 0;
    assert_ok(ct_gp_cross_validate(gp, folds, NULL, out, NULL), ct_message(device));
    assert_ok(ct_read(out, v, sizeof v), ct_message(device));
    for (int i = 0; i < 20; i++) assert_true(v[i] > 0 && isfinite(v[i]));
    free(x);
    ct_release(X);
    ct_release(out);
    ct_gp_free(gp);
    gp_data_free(&s);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 10, 2);
    ct_gp *gp = with(s.X, s.y, "rbf", NULL);
    const int64_t folds[10] = { 0, 1, 0, 1 };
    ct_tensor *bad = ct_empty(device, CT_F64, ct_shape1(9)), *good = ct_empty(device, CT_F32, ct_shape1(10));
    assert_status(ct_gp_cross_validate(NULL, folds, good, NULL, NULL), CT_EINVAL, "");
    assert_failed(ct_gp_cross_validate(gp, NULL, good, NULL, NULL), device, CT_EINVAL, "fold is NULL");
    assert_failed(ct_gp_cross_validate(gp, folds, bad, NULL, NULL), device, CT_ESHAPE, "mean: 9");
    assert_failed(ct_gp_cross_validate(gp, folds, NULL, NULL, bad), device, CT_ESHAPE, "log_density: 9");
    assert_ok(ct_gp_cross_validate(gp, folds, good, NULL, NULL), ct_message(device));
    ct_release(bad);
    ct_release(good);
    ct_gp_free(gp);
    gp_data_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_models_without_the_fold),
        cmocka_unit_test(of_one_row_each),
        cmocka_unit_test(memory_is_that_of_a_panel),
        cmocka_unit_test(data_of_a_model),
        cmocka_unit_test(a_fold_that_determines_a_coefficient),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, open_check_device, close_device);
}
