/* Prediction: chunks, layouts and dtypes, full covariance, joint draws, refusals. */
#include "gp_device.h"

static ct_gp *model(gp_data *s, ct_gp_mean mean)
{
    ct_gp *gp = gp_of(s, "scale * rbf(ard)", &(ct_gp_options){ .mean = mean });
    gp_set(gp, "rbf.lengthscale[0]", 0.5, false);
    gp_set(gp, "noise.variance", 0.01, false);
    return gp;
}

/* 5000 points of a 900-row model go in several chunks; each row alone must give the same. */
static void chunks_do_not_matter(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 900, 2);
    ct_gp *gp = model(&s, CT_MEAN_LINEAR);
    gp_set(gp, "mean.slope[1]", 1.1, false);
    ct_tensor *Xs = assert_tensor(ct_rand_normal(device, CT_F64, ct_shape2(5000, 2), 4, 0), device);
    ct_tensor *m = ct_empty(device, CT_F64, ct_shape1(5000)), *v = ct_empty(device, CT_F64, ct_shape1(5000));
    assert_ok(ct_gp_predict(gp, Xs, m, NULL), ct_message(device));
    ct_memory_trim(device);
    ct_memory_mark(device);
    uint64_t before = ct_memory(device).bytes_now;
    assert_ok(ct_gp_predict(gp, Xs, m, v), ct_message(device));
    assert_true(ct_memory(device).bytes_peak - before < (uint64_t)80 << 20);
    double *mean = gp_host(m), *variance = gp_host(v);
    for (int64_t i = 0; i < 5000; i += 611) {
        ct_tensor *row = ct_tensor_slice(Xs, 0, i, i + 1, 1);
        ct_tensor *one = ct_empty(device, CT_F64, ct_shape1(1)),
                  *other = ct_empty(device, CT_F64, ct_shape1(1));
        assert_ok(ct_gp_predict(gp, row, one, other), ct_message(device));
        assert_close(ct_tensor_item(one), mean[i], 1e-10, 1e-10);
        assert_close(ct_tensor_item(other), variance[i], 1e-8, 1e-10);
        ct_release(row);
        ct_release(one);
        ct_release(other);
    }
    free(mean);
    free(variance);
    ct_release(Xs);
    ct_release(m);
    ct_release(v);
    ct_gp_free(gp);
    gp_data_free(&s);
}

static void layouts_and_dtypes(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 30, 2);
    ct_gp *gp = model(&s, CT_MEAN_CONSTANT);
    ct_tensor *Xs = ct_tensor_slice(s.X, 0, 0, 6, 2), *narrow = ct_tensor_cast(Xs, CT_F32);
    ct_tensor *m = ct_empty(device, CT_F64, ct_shape1(3)), *wide = ct_zeros(device, CT_F64, ct_shape2(3, 2));
    ct_tensor *column = ct_tensor_slice(wide, 1, 1, 2, 1), *m32 = ct_empty(device, CT_F32, ct_shape2(3, 1));
    assert_ok(ct_gp_predict(gp, Xs, m, column), ct_message(device));
    assert_ok(ct_gp_predict(gp, narrow, m32, NULL), ct_message(device));
    double *a = gp_host(m), *b = gp_host(m32), *c = gp_host(wide);
    for (int i = 0; i < 3; i++) {
        assert_close(a[i], b[i], 1e-4, 1e-4);
        assert_true(c[2 * i] == 0 && c[2 * i + 1] > 0);
    }
    ct_tensor *empty = ct_zeros(device, CT_F64, ct_shape2(0, 2)),
              *nothing = ct_zeros(device, CT_F64, ct_shape1(0));
    assert_ok(ct_gp_predict(gp, empty, nothing, nothing), ct_message(device));
    ct_tensor *all[] = { Xs, narrow, m, wide, column, m32, empty, nothing };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ct_release(all[i]);
    free(a);
    free(b);
    free(c);
    ct_gp_free(gp);
    gp_data_free(&s);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 10, 2);
    ct_gp *gp = model(&s, CT_MEAN_CONSTANT);
    ct_tensor *m = ct_empty(device, CT_F64, ct_shape1(10)), *bad = ct_empty(device, CT_F64, ct_shape1(9));
    ct_tensor *three = ct_zeros(device, CT_F64, ct_shape2(10, 3)),
              *nan = ct_full(device, CT_F64, ct_shape2(10, 2), NAN);
    ct_tensor *whole = ct_zeros(device, CT_I64, ct_shape1(10));
    assert_failed(ct_gp_predict(gp, NULL, m, NULL), device, CT_EINVAL, "NULL");
    assert_failed(ct_gp_predict(gp, three, m, NULL), device, CT_ESHAPE, "3 columns");
    assert_failed(ct_gp_predict(gp, nan, m, NULL), device, CT_EINVAL, "row 0, column 0 is NaN");
    assert_failed(ct_gp_predict(gp, s.X, bad, NULL), device, CT_ESHAPE, "mean: 9");
    assert_failed(ct_gp_predict(gp, s.X, m, bad), device, CT_ESHAPE, "variance: 9");
    assert_failed(ct_gp_predict(gp, s.X, whole, NULL), device, CT_EDTYPE, "f64 or f32");
    assert_failed(ct_gp_predict_full(gp, s.X, false, m, m), device, CT_ESHAPE, "(10, 10)");
    assert_failed(ct_gp_sample(gp, s.X, false, 1, m), device, CT_ESHAPE, "(s, 10)");
    ct_tensor *all[] = { m, bad, three, nan, whole };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ct_release(all[i]);
    ct_gp_free(gp);
    gp_data_free(&s);
}

static void full_covariance_has_the_variances(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 40, 2);
    ct_gp *gp = model(&s, CT_MEAN_CONSTANT);
    ct_tensor *Xs = ct_tensor_slice(s.X, 0, 0, 15, 1), *C = ct_empty(device, CT_F64, ct_shape2(15, 15));
    ct_tensor *m = ct_empty(device, CT_F64, ct_shape1(15)), *n = ct_empty(device, CT_F64, ct_shape1(15));
    ct_tensor *v = ct_empty(device, CT_F64, ct_shape1(15));
    for (int noisy = 0; noisy < 2; noisy++) {
        assert_ok(ct_gp_predict_full(gp, Xs, noisy, n, C), ct_message(device));
        assert_ok((noisy ? ct_gp_predict_noisy : ct_gp_predict)(gp, Xs, m, v), ct_message(device));
        double *full = gp_host(C), *variance = gp_host(v), *a = gp_host(m), *b = gp_host(n);
        for (int i = 0; i < 15; i++) {
            assert_close(full[16 * i], variance[i], 1e-9, 1e-12);
            assert_close(a[i], b[i], 1e-12, 1e-12);
            for (int j = 0; j < i; j++) assert_true(full[15 * i + j] == full[15 * j + i]);
        }
        free(full);
        free(variance);
        free(a);
        free(b);
    }
    ct_tensor *all[] = { Xs, C, m, n, v };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ct_release(all[i]);
    ct_gp_free(gp);
    gp_data_free(&s);
}

/* Moments of 4000 joint draws, at points of which two coincide (a singular covariance). */
static void draws_have_the_moments(void **state)
{
    (void)state;
    enum { m = 4, draws = 4000 };
    gp_data s = gp_data_new(device, CT_F64, 20, 1);
    ct_gp *gp = gp_of(&s, "scale * rbf(lengthscale=0.3)", NULL);
    gp_set(gp, "noise.variance", 0.01, false);
    ct_tensor *Xs = tensor2(device, m, 1, 0.5, 3.0, 3.0, 3.1),
              *S = ct_empty(device, CT_F64, ct_shape2(draws, m));
    ct_tensor *C = ct_empty(device, CT_F64, ct_shape2(m, m)), *mean = ct_empty(device, CT_F64, ct_shape1(m));
    assert_ok(ct_gp_predict_full(gp, Xs, false, mean, C), ct_message(device));
    assert_ok(ct_gp_sample(gp, Xs, false, 9, S), ct_message(device));
    double *x = gp_host(S), *c = gp_host(C), *mu = gp_host(mean);
    for (int i = 0; i < m; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0, product = 0;
            for (int k = 0; k < draws; k++) {
                sum += x[k * m + i];
                product += (x[k * m + i] - mu[i]) * (x[k * m + j] - mu[j]);
            }
            double spread = sqrt(c[i * m + i] * c[j * m + j]);
            assert_close(sum / draws, mu[i], 0, 4 * sqrt(c[i * m + i] / draws) + 1e-9);
            assert_close(product / draws, c[i * m + j], 0, 6 * spread / sqrt(draws) + 1e-9);
        }
    ct_tensor *again = ct_empty(device, CT_F64, ct_shape2(draws, m)),
              *few = ct_empty(device, CT_F64, ct_shape2(2, m));
    assert_ok(ct_gp_sample(gp, Xs, false, 9, again), ct_message(device));
    assert_ok(ct_gp_sample(gp, Xs, false, 9, few), ct_message(device));
    double *y = gp_host(again), *z = gp_host(few);
    assert_memory_equal(x, y, sizeof(double) * m * draws);
    for (int i = 0; i < 2 * m; i++) assert_close(x[i], z[i], 1e-12, 1e-12);
    assert_ok(ct_gp_sample(gp, Xs, false, 10, few), ct_message(device));
    free(z);
    z = gp_host(few);
    assert_true(z[0] != x[0]);
    double *all[] = { x, c, mu, y, z };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    ct_tensor *tensors[] = { Xs, S, C, mean, again, few };
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) ct_release(tensors[i]);
    ct_gp_free(gp);
    gp_data_free(&s);
}

static void never_negative_and_back_to_the_prior(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F32, 200, 1);
    ct_gp *gp = gp_of(&s, "scale(4) * rbf(lengthscale=3)", NULL);
    gp_set(gp, "noise.variance", 1e-4, false);
    ct_tensor *m = ct_empty(device, CT_F64, ct_shape1(200)), *v = ct_empty(device, CT_F64, ct_shape1(200));
    assert_ok(ct_gp_predict(gp, s.X, m, v), ct_message(device));
    double *variance = gp_host(v);
    for (int i = 0; i < 200; i++) assert_true(variance[i] >= 0);
    ct_tensor *far = tensor2(device, 1, 1, 1e6), *one = ct_empty(device, CT_F64, ct_shape1(1));
    ct_tensor *two = ct_empty(device, CT_F64, ct_shape1(1));
    assert_ok(ct_gp_predict(gp, far, one, two), ct_message(device));
    assert_close(ct_tensor_item(one), gp_get(gp, "mean.constant"), 1e-5, 1e-5);
    assert_close(ct_tensor_item(two), 4, 1e-5, 0);
    free(variance);
    ct_tensor *all[] = { m, v, far, one, two };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ct_release(all[i]);
    ct_gp_free(gp);
    gp_data_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_do_not_matter),
        cmocka_unit_test(layouts_and_dtypes),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(full_covariance_has_the_variances),
        cmocka_unit_test(draws_have_the_moments),
        cmocka_unit_test(never_negative_and_back_to_the_prior),
    };
    return cmocka_run_group_tests(tests, open_check_device, close_device);
}
