/* Leave-one-out against models trained without the row. */
#include "gp_device.h"

static ct_gp *with(const ct_tensor *X, const ct_tensor *y, const char *kernel, const ct_gp_options *options)
{
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse(kernel), options);
    assert_gp(gp, device);
    return gp;
}

/* All rows but one. */
static ct_tensor *without(const ct_tensor *t, int64_t row)
{
    int64_t n = ct_tensor_dim(t, 0), d = ct_tensor_ndim(t) == 2 ? ct_tensor_dim(t, 1) : 1;
    double *x = gp_host(t);
    memmove(x + row * d, x + (row + 1) * d, (size_t)((n - 1 - row) * d) * sizeof *x);
    ct_tensor *rest =
        ct_from(device, CT_F64, ct_tensor_ndim(t) == 2 ? ct_shape2(n - 1, d) : ct_shape1(n - 1), x);
    free(x);
    return assert_tensor(rest, device);
}

static void equals_leaving_rows_out(void **state)
{
    (void)state;
    const char *const kernels[] = { "scale(2) * rbf(ard)", "matern32 + white(0.3)", "scale * linear + rq" };
    const int64_t sizes[] = { 2, 3, 9, 16, 33 };
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int given = 0; given < 2; given++) {
            int64_t n = sizes[k];
            gp_data s = gp_data_new(device, CT_F64, n, 2);
            double v[64];
            for (int64_t i = 0; i < n; i++) v[i] = 0.01 + 0.02 * (double)(i % 5);
            ct_tensor *noises = ct_from(device, CT_F64, ct_shape1(n), v);
            ct_gp_options options = { .mean = CT_MEAN_CONSTANT, .standardize = CT_STANDARDIZE_NONE };
            if (given) options.noise = CT_NOISE_GIVEN_PLUS, options.noise_variances = noises;
            const char *kernel = kernels[k % 3];
            ct_gp *gp = with(s.X, s.y, kernel, &options);
            gp_set(gp, "mean.constant", 0.4, false);
            gp_set(gp, "noise.variance", 0.05, false);
            ct_tensor *out[3];
            for (int j = 0; j < 3; j++) out[j] = ct_empty(device, CT_F64, ct_shape1(n));
            assert_ok(ct_gp_loo(gp, out[0], out[1], out[2]), ct_message(device));
            double *mean = gp_host(out[0]), *variance = gp_host(out[1]), *density = gp_host(out[2]);
            for (int64_t i = 0; i < n; i++) {
                ct_tensor *X = without(s.X, i), *y = without(s.y, i), *w = without(noises, i);
                if (given) options.noise_variances = w;
                ct_gp *rest = with(X, y, kernel, &options);
                for (int64_t p = 0; p < ct_gp_params(gp); p++)
                    assert_ok(ct_gp_set_param(rest, p, ct_gp_param(gp, p)), ct_message(device));
                ct_tensor *x = ct_tensor_slice(s.X, 0, i, i + 1, 1);
                ct_tensor *m = ct_empty(device, CT_F64, ct_shape1(1)),
                          *u = ct_empty(device, CT_F64, ct_shape1(1));
                assert_ok(ct_gp_predict(rest, x, m, u), ct_message(device));
                double mu = ct_tensor_item(m), var = ct_tensor_item(u) + 0.05 + (given ? v[i] : 0);
                assert_close(mean[i], mu, 1e-10, 1e-11);
                assert_close(variance[i], var, 1e-10, 0);
                double e = s.y_host[i] - mu;
                assert_close(density[i], -0.5 * (log(2 * acos(-1) * var) + e * e / var), 1e-9, 1e-9);
                ct_gp_free(rest);
                ct_tensor *all[] = { X, y, w, x, m, u };
                for (int j = 0; j < 6; j++) ct_release(all[j]);
            }
            free(mean);
            free(variance);
            free(density);
            for (int j = 0; j < 3; j++) ct_release(out[j]);
            ct_release(noises);
            ct_gp_free(gp);
            gp_data_free(&s);
        }
}

/* The numbers are the same with standardisation and without. */
static void units_are_those_of_the_data(void **state)
{
    (void)state;
    const int64_t n = 20;
    gp_data s = gp_data_new(device, CT_F64, n, 2);
    double *seen[2][3];
    for (int k = 0; k < 2; k++) {
        ct_gp *gp = with(s.X, s.y, "scale * rbf(ard)",
                         &(ct_gp_options){ .standardize = k ? CT_STANDARDIZE_BOTH : CT_STANDARDIZE_NONE });
        gp_set(gp, "scale.variance", 2.5, false);
        gp_set(gp, "rbf.lengthscale[0]", 0.6, false);
        gp_set(gp, "rbf.lengthscale[1]", 1.7, false);
        gp_set(gp, "noise.variance", 0.02, false);
        gp_set(gp, "mean.constant", 0.3, false);
        ct_tensor *out[3];
        for (int j = 0; j < 3; j++) out[j] = ct_empty(device, CT_F64, ct_shape2(n, 1));
        assert_ok(ct_gp_loo(gp, out[0], out[1], out[2]), ct_message(device));
        for (int j = 0; j < 3; j++) seen[k][j] = gp_host(out[j]), ct_release(out[j]);
        ct_gp_free(gp);
    }
    for (int j = 0; j < 3; j++) {
        for (int64_t i = 0; i < n; i++) assert_close(seen[0][j][i], seen[1][j][i], 1e-10, 1e-10);
        free(seen[0][j]);
        free(seen[1][j]);
    }
    gp_data_free(&s);
}

/* More rows than one panel: the diagonal of the inverse comes from several panels, within the memory of one.
 */
static void several_panels(void **state)
{
    (void)state;
    const int64_t n = 1301;
    gp_data s = gp_data_new(device, CT_F64, n, 2);
    ct_gp *gp = with(s.X, s.y, "scale * rbf(ard)", NULL);
    gp_set(gp, "noise.variance", 0.05, false);
    ct_tensor *mean = ct_empty(device, CT_F64, ct_shape1(n)),
              *variance = ct_empty(device, CT_F64, ct_shape1(n));
    assert_ok(ct_gp_predict(gp, s.X, NULL, NULL), ct_message(device));
    ct_memory_trim(device);
    ct_memory_mark(device);
    uint64_t before = ct_memory(device).bytes_now;
    assert_ok(ct_gp_loo(gp, mean, variance, NULL), ct_message(device));
    assert_true(ct_memory(device).bytes_peak - before < 8 * (uint64_t)n * (650 + 64));
    double *m = gp_host(mean), *v = gp_host(variance);
    ct_tensor *full = ct_empty(device, CT_F64, ct_shape1(n)),
              *spread = ct_empty(device, CT_F64, ct_shape1(n));
    assert_ok(ct_gp_predict(gp, s.X, full, spread), ct_message(device));
    double *a = gp_host(full), *b = gp_host(spread);
    /* With h = posterior variance over itself and noise: the usual identities of a linear smoother. */
    for (int64_t i = 0; i < n; i++) {
        double h = b[i] / 0.05;
        assert_close(v[i], 0.05 / (1 - h), 1e-8, 0);
        assert_close(s.y_host[i] - m[i], (s.y_host[i] - a[i]) / (1 - h), 1e-7, 1e-9);
    }
    double *host[] = { m, v, a, b };
    for (int j = 0; j < 4; j++) free(host[j]);
    ct_tensor *all[] = { mean, variance, full, spread };
    for (int j = 0; j < 4; j++) ct_release(all[j]);
    ct_gp_free(gp);
    gp_data_free(&s);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F32, 10, 2);
    ct_gp *gp = with(s.X, s.y, "rbf", NULL);
    ct_tensor *bad = ct_empty(device, CT_F64, ct_shape1(9)), *whole = ct_zeros(device, CT_I64, ct_shape1(10));
    ct_tensor *good = ct_empty(device, CT_F32, ct_shape1(10));
    assert_status(ct_gp_loo(NULL, good, NULL, NULL), CT_EINVAL, "");
    assert_failed(ct_gp_loo(gp, bad, NULL, NULL), device, CT_ESHAPE, "mean: 9");
    assert_failed(ct_gp_loo(gp, NULL, bad, NULL), device, CT_ESHAPE, "variance: 9");
    assert_failed(ct_gp_loo(gp, NULL, NULL, whole), device, CT_EDTYPE, "log_density");
    assert_ok(ct_gp_loo(gp, NULL, NULL, NULL), ct_message(device));
    assert_ok(ct_gp_loo(gp, good, NULL, NULL), ct_message(device));
    ct_release(bad);
    ct_release(whole);
    ct_release(good);
    ct_gp_free(gp);
    gp_data_free(&s);
}

/* The same parameters in a kernel that does not use the columns. */
static void without_a_column_is_as_never_seen(void **state)
{
    (void)state;
    const char *const kernels[][2] = {
        { "scale(2) * rbf(ard, lengthscale=0.7:3:0.5) + scale(0.3) * matern32(ard, lengthscale=9:0.4:2)",
          "scale(2) * rbf(ard, dims=0, lengthscale=0.7) + scale(0.3) * matern32(ard, dims=0, "
          "lengthscale=9)" },
        { "linear(ard, lengthscale=0.7:3:0.5) + scale(0.2) * periodic(dims=0, period=1.1)",
          "linear(ard, dims=0, lengthscale=0.7) + scale(0.2) * periodic(dims=0, period=1.1)" },
    };
    const int64_t held[] = { 2, 1 };
    gp_data s = gp_data_new(device, CT_F64, 41, 3);
    const ct_gp_options options = { .standardize = CT_STANDARDIZE_INPUTS };
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        double sum[2], all, own = 0;
        for (int part = 0; part < 2; part++) {
            ct_gp *gp = with(s.X, s.y, kernels[k][part], &options);
            gp_set(gp, "noise.variance", 0.05, false);
            gp_set(gp, "mean.constant", 0.4, false);
            if (part == 0) {
                double before = ct_gp_nlml_value(gp), *each;
                ct_tensor *density = ct_empty(device, CT_F64, ct_shape1(41));
                assert_ok(ct_gp_loo(gp, NULL, NULL, density), ct_message(device));
                each = gp_host(density);
                for (int i = 0; i < 41; i++) own += each[i];
                assert_ok(ct_gp_loo_ablation(gp, NULL, 0, &all), ct_message(device));
                assert_close(all, own, 1e-12, 0);
                assert_ok(ct_gp_loo_ablation(gp, held, 2, &sum[part]), ct_message(device));
                assert_true(sum[part] < all - 1);
                assert_true(ct_gp_nlml_value(gp) == before);
                free(each);
                ct_release(density);
            } else
                assert_ok(ct_gp_loo_ablation(gp, NULL, 0, &sum[part]), ct_message(device));
            ct_gp_free(gp);
        }
        assert_close(sum[0], sum[1], 1e-9, 0);
    }
    double sum = 1;
    const int64_t wrong[] = { 0, 3 };
    ct_gp *gp = with(s.X, s.y, "rbf", NULL);
    assert_status(ct_gp_loo_ablation(NULL, held, 1, &sum), CT_EINVAL, "");
    assert_failed(ct_gp_loo_ablation(gp, NULL, 1, &sum), device, CT_EINVAL, "NULL");
    assert_failed(ct_gp_loo_ablation(gp, held, 1, NULL), device, CT_EINVAL, "NULL");
    assert_failed(ct_gp_loo_ablation(gp, wrong, 2, &sum), device, CT_EINDEX, "column 3 of 3");
    ct_gp_free(gp);
    gp_data_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_leaving_rows_out),
        cmocka_unit_test(units_are_those_of_the_data),
        cmocka_unit_test(several_panels),
        cmocka_unit_test(without_a_column_is_as_never_seen),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, open_check_device, close_device);
}
