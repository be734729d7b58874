/* The posterior on a tape: its value, its rule against differences and against public ops, second order,
 * refusals. */
#include "gp_device.h"

#include "gp/model/model.h"

static const char *const kernels[] = { "scale(2) * rbf(ard)", "matern52 + white(0.1)",
                                       "scale * matern32(ard) + linear",
                                       "scale * periodic * rq + poly(degree=2)" };
enum { KERNELS = sizeof kernels / sizeof *kernels };

static ct_gp *model(const gp_data *s, const char *kernel, ct_gp_mean mean)
{
    ct_gp *gp = gp_of(s, kernel, &(ct_gp_options){ .mean = mean });
    gp_set(gp, "noise.variance", 0.05, false);
    if (mean == CT_MEAN_LINEAR) gp_set(gp, "mean.slope[1]", 0.7, false);
    return gp;
}

static void equals_the_prediction(void **state)
{
    (void)state;
    for (int k = 0; k < KERNELS; k++)
        for (int noisy = 0; noisy < 2; noisy++) {
            gp_data s = gp_data_new(device, CT_F64, 37 + k, 3);
            ct_gp *gp = model(&s, kernels[k], CT_MEAN_LINEAR);
            ct_tensor *Xs = assert_tensor(ct_rand_normal(device, CT_F64, ct_shape2(21, 3), 4, 0), device);
            ct_tensor *m = ct_empty(device, CT_F64, ct_shape1(21)),
                      *v = ct_empty(device, CT_F64, ct_shape1(21));
            assert_ok((noisy ? ct_gp_predict_noisy : ct_gp_predict)(gp, Xs, m, v), ct_message(device));
            double *m0 = gp_host(m), *v0 = gp_host(v);
            ct_tape *tape = ct_tape_new(device);
            for (int leaf = 0; leaf < 2; leaf++) {
                ct_var mean, variance;
                ct_gp_posterior(gp, (leaf ? ct_leaf : ct_constant)(tape, Xs), noisy, &mean, &variance);
                assert_ok(ct_tape_status(tape), ct_tape_message(tape));
                double *m1 = gp_host(ct_value(mean)), *v1 = gp_host(ct_value(variance));
                for (int i = 0; i < 21; i++) {
                    assert_close(m1[i], m0[i], 1e-12, 1e-12);
                    assert_close(v1[i], v0[i], 1e-12, 1e-12);
                }
                free(m1);
                free(v1);
            }
            ct_tape_free(tape);
            free(m0);
            free(v0);
            ct_release(Xs);
            ct_release(m);
            ct_release(v);
            ct_gp_free(gp);
            gp_data_free(&s);
        }
}

/* The full covariance is the prediction's, to the last bit symmetric. */
static void full_equals_the_prediction(void **state)
{
    (void)state;
    for (int k = 0; k < KERNELS; k++)
        for (int noisy = 0; noisy < 2; noisy++) {
            const int64_t m = k ? 21 : 1;
            const ct_dtype dtype = k == 1 ? CT_F32 : CT_F64;
            const double tolerance = k == 1 ? 1e-4 : 1e-11;
            gp_data s = gp_data_new(device, dtype, 37 + k, 3);
            ct_gp *gp = model(&s, kernels[k], CT_MEAN_LINEAR);
            ct_tensor *Xs = assert_tensor(ct_rand_normal(device, dtype, ct_shape2(m, 3), 4, 0), device);
            ct_tensor *mean0 = ct_empty(device, CT_F64, ct_shape1(m)),
                      *C0 = ct_empty(device, CT_F64, ct_shape2(m, m));
            assert_ok(ct_gp_predict_full(gp, Xs, noisy, mean0, C0), ct_message(device));
            ct_tape *tape = ct_tape_new(device);
            ct_var mean, C;
            ct_gp_posterior_full(gp, ct_leaf(tape, Xs), noisy, &mean, &C);
            assert_ok(ct_tape_status(tape), ct_tape_message(tape));
            double *a = gp_host(mean0), *b = gp_host(C0), *c = gp_host(ct_value(mean)),
                   *d = gp_host(ct_value(C));
            for (int64_t i = 0; i < m; i++) assert_close(c[i], a[i], tolerance, tolerance);
            for (int64_t i = 0; i < m * m; i++) {
                assert_close(d[i], b[i], tolerance, tolerance);
                assert_true(d[i] == d[i % m * m + i / m]);
            }
            ct_gp_posterior_full(gp, ct_constant(tape, Xs), noisy, NULL, &C);
            double *e = gp_host(ct_value(C));
            assert_memory_equal(d, e, (size_t)(m * m) * sizeof *d);
            free(a), free(b), free(c), free(d), free(e);
            ct_release(Xs), ct_release(mean0), ct_release(C0);
            ct_tape_free(tape);
            ct_gp_free(gp);
            gp_data_free(&s);
        }
}

static bool jointly; /* mixture takes the full covariance */

/* A scalar of mean and variance, with a weight for each point, or of mean and covariance. */
static ct_var mixture(ct_gp *gp, ct_var Xs)
{
    ct_var mean, variance;
    int64_t m = ct_var_shape(Xs).dim[0];
    double w[64];
    for (int64_t i = 0; i < m; i++) w[i] = 1 + 0.3 * (double)i;
    ct_tensor *t = ct_from(device, CT_F64, ct_shape1(m), w);
    ct_var weight = ct_constant(Xs.tape, t);
    ct_release(t);
    if (jointly) {
        ct_gp_posterior_full(gp, Xs, true, &mean, &variance);
        ct_var each = ct_sum(ct_mul(ct_unsqueeze(weight, 1), variance), CT_ALL, false);
        ct_var fit = ct_sum(ct_mul(weight, ct_square(mean)), CT_ALL, false);
        return ct_add(fit, ct_add(each, ct_cholesky_logdet(ct_cholesky(variance))));
    }
    ct_gp_posterior(gp, Xs, true, &mean, &variance);
    return ct_sum(ct_mul(weight, ct_add(ct_square(mean), ct_log(variance))), CT_ALL, false);
}

static double value_at(ct_gp *gp, const double *x, int64_t m)
{
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *t = ct_from(device, CT_F64, ct_shape2(m, 3), x);
    double value = ct_item(mixture(gp, ct_constant(tape, t)));
    ct_release(t);
    ct_tape_free(tape);
    return value;
}

static void gradient_agrees_with_differences(void **state)
{
    (void)state;
    enum { m = 7 };
    for (int k = 0; k < 2 * KERNELS; k++) {
        jointly = k >= KERNELS;
        gp_data s = gp_data_new(device, CT_F64, 30 + k, 3);
        ct_gp *gp = model(&s, kernels[k % KERNELS], CT_MEAN_LINEAR);
        ct_tensor *Xs = assert_tensor(ct_rand_uniform(device, CT_F64, ct_shape2(m, 3), 5, 0), device);
        ct_tape *tape = ct_tape_new(device);
        ct_var leaf = ct_leaf(tape, Xs), recorded;
        ct_var y = mixture(gp, leaf);
        assert_ok(ct_grad(y, (ct_var){ NULL, 0, 0 }, &leaf, &recorded, 1, CT_GRAD_RECORD),
                  ct_tape_message(tape));
        assert_ok(ct_backward(y), ct_tape_message(tape));
        double *x = gp_host(Xs), *g = gp_host(ct_cotangent(leaf)), *r = gp_host(ct_value(recorded));
        for (int i = 0; i < 3 * m; i++) {
            double h = 1e-5, x0 = x[i];
            x[i] = x0 + h;
            double up = value_at(gp, x, m);
            x[i] = x0 - h;
            double down = value_at(gp, x, m);
            x[i] = x0;
            assert_close(g[i], (up - down) / (2 * h), 1e-6, 1e-6);
            assert_close(g[i], r[i], 1e-9, 1e-10);
        }
        free(x);
        free(g);
        free(r);
        ct_release(Xs);
        ct_tape_free(tape);
        ct_gp_free(gp);
        gp_data_free(&s);
    }
    jointly = false;
}

static void gradient_at(ct_gp *gp, const double *x, int64_t m, double *g)
{
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *t = ct_from(device, CT_F64, ct_shape2(m, 3), x);
    ct_var leaf = ct_leaf(tape, t);
    assert_ok(ct_backward(mixture(gp, leaf)), ct_tape_message(tape));
    assert_ok(ct_read(ct_cotangent(leaf), g, (size_t)(3 * m) * sizeof *g), ct_message(device));
    ct_release(t);
    ct_tape_free(tape);
}

/* Hessian times a vector against differences of gradients. */
static void second_order(void **state)
{
    (void)state;
    enum { m = 4 };
    for (int k = 0; k < 2 * KERNELS; k++) {
        jointly = k >= KERNELS;
        gp_data s = gp_data_new(device, CT_F64, 25, 3);
        ct_gp *gp = model(&s, kernels[k % KERNELS], CT_MEAN_CONSTANT);
        ct_tensor *Xs = assert_tensor(ct_rand_uniform(device, CT_F64, ct_shape2(m, 3), 6, 0), device);
        ct_tensor *V = assert_tensor(ct_rand_normal(device, CT_F64, ct_shape2(m, 3), 7, 0), device);
        ct_tape *tape = ct_tape_new(device);
        ct_var leaf = ct_leaf(tape, Xs), v = ct_constant(tape, V), hv;
        assert_ok(ct_hvp(mixture(gp, leaf), &leaf, &v, &hv, 1), ct_tape_message(tape));
        double *x = gp_host(Xs), *d = gp_host(V), *h = gp_host(ct_value(hv)), up[3 * m], down[3 * m];
        for (int i = 0; i < 3 * m; i++) x[i] += 1e-5 * d[i];
        gradient_at(gp, x, m, up);
        for (int i = 0; i < 3 * m; i++) x[i] -= 2e-5 * d[i];
        gradient_at(gp, x, m, down);
        for (int i = 0; i < 3 * m; i++) assert_close(h[i], (up[i] - down[i]) / 2e-5, 1e-5, 1e-4);
        free(x);
        free(d);
        free(h);
        ct_release(Xs);
        ct_release(V);
        ct_tape_free(tape);
        ct_gp_free(gp);
        gp_data_free(&s);
    }
    jointly = false;
}

/* Several panels, the last of an odd number of rows. */
static void panels_do_not_matter(void **state)
{
    (void)state;
    const int64_t n = 1101, m = 1300;
    gp_data s = gp_data_new(device, CT_F64, n, 2);
    ct_gp *gp = gp_of(&s, "scale * rbf(ard)", NULL);
    assert_ok(ct_gp_predict(gp, s.X, NULL, NULL), ct_message(device));
    ct_tensor *Xs = assert_tensor(ct_rand_uniform(device, CT_F64, ct_shape2(m, 2), 8, 0), device);
    double *g[2];
    for (int pass = 0; pass < 2; pass++) {
        int64_t rows = pass ? 100 : m;
        g[pass] = malloc((size_t)(2 * m) * sizeof(double));
        for (int64_t i = 0; i < m; i += rows) {
            ct_tape *tape = ct_tape_new(device);
            ct_tensor *part = ct_tensor_slice(Xs, 0, i, i + rows, 1);
            ct_var leaf = ct_leaf(tape, part), mean, variance;
            ct_gp_posterior(gp, leaf, false, &mean, &variance);
            assert_ok(ct_backward(ct_sum(ct_add(mean, variance), CT_ALL, false)), ct_tape_message(tape));
            assert_ok(ct_read(ct_cotangent(leaf), g[pass] + 2 * i, (size_t)(2 * rows) * sizeof(double)),
                      ct_message(device));
            ct_release(part);
            ct_tape_free(tape);
        }
    }
    for (int64_t i = 0; i < 2 * m; i++) assert_close(g[0][i], g[1][i], 1e-8, 1e-9);
    free(g[0]);
    free(g[1]);
    ct_release(Xs);
    ct_gp_free(gp);
    gp_data_free(&s);
}

/* The mean's gradient is the same with the variance and without, recorded or not. */
static void the_mean_alone(void **state)
{
    (void)state;
    enum { m = 9 };
    for (int k = 0; k < KERNELS; k++) {
        gp_data s = gp_data_new(device, CT_F64, 31, 3);
        ct_gp *gp = model(&s, kernels[k], CT_MEAN_LINEAR);
        ct_tensor *Xs = assert_tensor(ct_rand_uniform(device, CT_F64, ct_shape2(m, 3), 5, 0), device);
        ct_tape *tape = ct_tape_new(device);
        ct_var leaf = ct_leaf(tape, Xs), mean, variance, bar[3];
        for (int i = 0; i < 3; i++) {
            ct_gp_posterior(gp, leaf, false, &mean, i == 1 ? &variance : NULL);
            assert_ok(ct_grad(ct_sum(ct_square(mean), CT_ALL, false), (ct_var){ NULL, 0, 0 }, &leaf, &bar[i],
                              1, i == 2 ? CT_GRAD_RECORD : 0),
                      ct_tape_message(tape));
        }
        double *alone = gp_host(ct_value(bar[0])), *both = gp_host(ct_value(bar[1]));
        double *recorded = gp_host(ct_value(bar[2]));
        assert_memory_equal(alone, both, 3 * m * sizeof *alone);
        for (int i = 0; i < 3 * m; i++) assert_close(alone[i], recorded[i], 1e-9, 1e-10);
        free(alone);
        free(both);
        free(recorded);
        ct_release(Xs);
        ct_tape_free(tape);
        ct_gp_free(gp);
        gp_data_free(&s);
    }
}

static void only_one_is_wanted(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F32, 20, 3);
    ct_gp *gp = model(&s, "rbf", CT_MEAN_ZERO);
    ct_tape *tape = ct_tape_new(device);
    ct_var leaf = ct_leaf(tape, s.X), mean, variance;
    ct_gp_posterior(gp, leaf, false, &mean, NULL);
    assert_ok(ct_backward(ct_sum(mean, CT_ALL, false)), ct_tape_message(tape));
    ct_gp_posterior(gp, leaf, false, NULL, &variance);
    assert_ok(ct_backward(ct_sum(variance, CT_ALL, false)), ct_tape_message(tape));
    ct_tensor *none = ct_zeros(device, CT_F32, ct_shape2(0, 3));
    leaf = ct_leaf(tape, none);
    ct_gp_posterior(gp, leaf, true, &mean, &variance);
    assert_ok(ct_backward(ct_sum(ct_add(mean, variance), CT_ALL, false)), ct_tape_message(tape));
    ct_release(none);
    ct_tape_free(tape);
    ct_gp_free(gp);
    gp_data_free(&s);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 10, 3);
    ct_gp *gp = model(&s, "rbf", CT_MEAN_CONSTANT);
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *two = ct_zeros(device, CT_F64, ct_shape2(4, 2)),
              *narrow = ct_zeros(device, CT_F32, ct_shape2(4, 3));
    ct_var mean, variance;
    const struct refusal {
        ct_tensor *Xs;
        ct_status status;
        const char *text;
    } refused[] = { { two, CT_ESHAPE, "2 columns" },
                    { s.y, CT_ESHAPE, "must be (m, 3)" },
                    { narrow, CT_EDTYPE, "ct_cast" } };
    for (size_t i = 0; i < 3; i++) {
        ct_gp_posterior(gp, ct_leaf(tape, refused[i].Xs), false, &mean, &variance);
        assert_status(ct_tape_status(tape), refused[i].status, ct_tape_message(tape));
        assert_non_null(strstr(ct_tape_message(tape), refused[i].text));
        assert_true(isnan(ct_item(ct_sum(mean, CT_ALL, false))));
        ct_tape_reset(tape);
    }
    ct_gp_posterior(NULL, ct_leaf(tape, s.X), false, &mean, &variance);
    assert_status(ct_tape_status(tape), CT_EINVAL, ct_tape_message(tape));
    ct_gp_posterior(gp, (ct_var){ NULL, 0, 0 }, false, &mean, &variance);
    assert_null(mean.tape);
    ct_device *other = ct_device_open(check_device());
    ct_tape *elsewhere = ct_tape_new(other);
    ct_tensor *far = ct_zeros(other, CT_F64, ct_shape2(1, 3));
    ct_gp_posterior(gp, ct_leaf(elsewhere, far), false, &mean, &variance);
    assert_status(ct_tape_status(elsewhere), CT_EDEVICE, ct_tape_message(elsewhere));
    ct_release(far);
    ct_tape_free(elsewhere);
    ct_device_close(other);
    ct_release(two);
    ct_release(narrow);
    ct_tape_free(tape);
    ct_gp_free(gp);
    gp_data_free(&s);
}

/* Far more points than one panel: neither pass holds more than one panel. */
static void memory_is_bounded(void **state)
{
    (void)state;
    const int64_t n = 900, m = 20000;
    gp_data s = gp_data_new(device, CT_F64, n, 2);
    ct_gp *gp = gp_of(&s, "scale * rbf", NULL);
    ct_tensor *Xs = assert_tensor(ct_rand_normal(device, CT_F64, ct_shape2(m, 2), 4, 0), device);
    ct_tensor *mean = ct_empty(device, CT_F64, ct_shape1(m)),
              *variance = ct_empty(device, CT_F64, ct_shape1(m));
    const uint64_t panel = 512 * 8 * (uint64_t)n, points = 8 * (uint64_t)m * 2;
    for (int pass = 0; pass < 2; pass++) {
        assert_ok(ct_gp_predict(gp, s.X, NULL, NULL), ct_message(device));
        ct_memory_trim(device);
        ct_memory_mark(device);
        uint64_t before = ct_memory(device).bytes_now;
        assert_ok(ct_gp_predict(gp, Xs, mean, pass ? variance : NULL), ct_message(device));
        uint64_t peak = ct_memory(device).bytes_peak - before;
        assert_true(peak < (pass ? panel : (uint64_t)2 << 20) + 10 * points);
    }
    ct_release(Xs);
    ct_release(mean);
    ct_release(variance);
    ct_gp_free(gp);
    gp_data_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_prediction),
        cmocka_unit_test(full_equals_the_prediction),
        cmocka_unit_test(gradient_agrees_with_differences),
        cmocka_unit_test(second_order),
        cmocka_unit_test(panels_do_not_matter),
        cmocka_unit_test(the_mean_alone),
        cmocka_unit_test(only_one_is_wanted),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, open_check_device, close_device);
}
