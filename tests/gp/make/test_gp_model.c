/* Making a model: what is refused, units, parameters, names, priors. */
#include "gp_device.h"

#include "gp/data/table.h"

static ct_kernel *rbf(void) { return ct_kernel_parse("scale * rbf(ard)"); }

static void bad_data_is_refused(void **state)
{
    (void)state;
    ct_tensor *X = tensor2(device, 3, 2, 0.0, 1, 2, 3, 4, 5), *y = tensor1(device, 3, 1.0, 2, 3);
    ct_tensor *nan_X = tensor2(device, 3, 2, 0.0, 1, 2, NAN, 4, 5),
              *inf_y = tensor1(device, 3, 1.0, 2, INFINITY);
    ct_tensor *short_y = tensor1(device, 2, 1.0, 2), *square_y = tensor2(device, 3, 2, 1.0, 2, 3, 4, 5, 6);
    ct_tensor *none = ct_zeros(device, CT_F64, ct_shape2(0, 2)),
              *no_y = ct_zeros(device, CT_F64, ct_shape1(0));
    ct_tensor *whole = ct_zeros(device, CT_I64, ct_shape2(3, 2));
    assert_refused(ct_gp_new(nan_X, y, rbf(), NULL), device, CT_EINVAL, "row 1, column 1 is NaN");
    assert_refused(ct_gp_new(X, inf_y, rbf(), NULL), device, CT_EINVAL, "row 2, column 0 is infinite");
    assert_refused(ct_gp_new(X, short_y, rbf(), NULL), device, CT_ESHAPE, "3 and 2 rows");
    assert_refused(ct_gp_new(X, square_y, rbf(), NULL), device, CT_ESHAPE, "(n, d)");
    assert_refused(ct_gp_new(y, y, rbf(), NULL), device, CT_ESHAPE, "(n, d)");
    assert_refused(ct_gp_new(none, no_y, rbf(), NULL), device, CT_ESHAPE, "at least one row");
    assert_refused(ct_gp_new(whole, y, rbf(), NULL), device, CT_EDTYPE, "f64 or f32");
    assert_refused(ct_gp_new(X, NULL, rbf(), NULL), device, CT_EINVAL, "y is NULL");
    assert_refused(ct_gp_new(NULL, y, rbf(), NULL), device, CT_EINVAL, "X is NULL");
    assert_refused(ct_gp_new(X, y, NULL, NULL), device, CT_ENOMEM, "kernel");
    assert_refused(ct_gp_new(X, y, ct_kernel_parse("scale * rbg"), NULL), device, CT_EFORMAT, "^");
    assert_refused(ct_gp_new(X, y, ct_kernel_parse("rbf(dims=7)"), NULL), device, CT_EINVAL, "7");
    assert_null(ct_gp_new(NULL, NULL, rbf(), NULL));
    assert_refused(ct_gp_new(X, y, rbf(), &(ct_gp_options){ .noise = CT_NOISE_GIVEN }), device, CT_EINVAL,
                   "noise_variances");
    assert_refused(ct_gp_new(X, y, rbf(), &(ct_gp_options){ .noise_variances = y }), device, CT_EINVAL,
                   "noise_variances");
    ct_tensor *negative = tensor1(device, 3, 0.1, -0.1, 0.2);
    assert_refused(
        ct_gp_new(X, y, rbf(), &(ct_gp_options){ .noise = CT_NOISE_GIVEN, .noise_variances = negative }),
        device, CT_EINVAL, "row 1 is -0.1");
    ct_tensor *all[] = { X, y, nan_X, inf_y, short_y, square_y, none, no_y, whole, negative };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ct_release(all[i]);
}

static void too_large_is_refused_before_allocating(void **state)
{
    (void)state;
    ct_device *small = ct_device_open_with(check_device(), &(ct_device_options){ .memory_limit = 3 << 20 });
    ct_tensor *X = ct_zeros(small, CT_F64, ct_shape2(20000, 1)),
              *y = ct_zeros(small, CT_F64, ct_shape1(20000));
    ct_memory_mark(small);
    assert_refused(ct_gp_new(X, y, rbf(), NULL), small, CT_ENOMEM, "bytes");
    assert_refused(ct_gp_new(X, y, rbf(), NULL), small, CT_ENOMEM, "more: use fewer rows");
    assert_null(strstr(ct_message(small), "f32")); /* would not do */
    assert_true(ct_memory(small).bytes_peak < 1 << 20);
    ct_release(X);
    ct_release(y);
    X = ct_zeros(small, CT_F64, ct_shape2(300, 1));
    y = ct_zeros(small, CT_F64, ct_shape1(300));
    ct_gp *gp = ct_gp_new(X, y, rbf(), NULL);
    assert_gp(gp, small);
    ct_tensor *other = assert_tensor(ct_empty(small, CT_F64, ct_shape1(200000)), small);
    assert_failed(ct_gp_fit(gp, NULL), small, CT_ENOMEM, "ct_gp_fit needs");
    ct_release(other);
    ct_gp_free(gp);
    ct_release(X);
    ct_release(y);
    ct_device_close(small);
    assert_true(ct_gp_bytes_needed(device, INT64_MAX, 3, CT_F64, true) == UINT64_MAX);
    assert_true(ct_gp_bytes_needed(device, 1, 1, CT_BF16, false) == UINT64_MAX);
    assert_true(ct_gp_bytes_needed(device, 1, 1, (ct_dtype)99, false) == UINT64_MAX);
    assert_true(ct_gp_bytes_needed(device, 40000, 8, CT_F64, true) > (uint64_t)4 * 40000 * 40000);
    assert_true(ct_gp_bytes_needed(device, 6000, 8, CT_F64, true) <
                (uint64_t)(0.54 * 8 * 6000 * 6000) + (64 << 20));
    assert_true(ct_gp_bytes_needed(device, 1000, 8, CT_F32, false) <
                ct_gp_bytes_needed(device, 1000, 8, CT_F64, false));
}

static void f32_is_a_remedy_where_it_is_one(void **state)
{
    (void)state;
    const uint64_t limit = ct_gp_bytes_needed(device, 1500, 1, CT_F64, false) * 7 / 10;
    ct_device *small = ct_device_open_with(check_device(), &(ct_device_options){ .memory_limit = limit });
    ct_tensor *X = ct_zeros(small, CT_F64, ct_shape2(1500, 1)), *y = ct_zeros(small, CT_F64, ct_shape1(1500));
    ct_tensor *narrow = ct_tensor_cast(X, CT_F32);
    assert_refused(ct_gp_new(X, y, rbf(), NULL), small, CT_ENOMEM, "use fewer rows, or f32");
    ct_gp *gp = ct_gp_new(narrow, y, rbf(), NULL);
    assert_gp(gp, small);
    ct_gp_free(gp);
    ct_tensor *all[] = { X, y, narrow };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ct_release(all[i]);
    ct_device_close(small);
}

/* The squares of the columns' spreads must be finite, too. */
static void columns_of_no_scale_are_refused(void **state)
{
    (void)state;
    enum { n = 6 };
    const double scales[] = { 1e-310, 1e-200, 1e-149, 1e149, 1e152, 1e200, 1e300, 1.7e308 };
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++)
        for (int raw = 0; raw < 2; raw++) {
            double x[2 * n], y[n], size = scales[k];
            bool good = size > 1e-150 && size < 1e150;
            for (int i = 0; i < n; i++) x[2 * i] = i, x[2 * i + 1] = sin(i) * size, y[i] = cos(i) * size;
            const ct_gp_options options = { .standardize = raw ? CT_STANDARDIZE_NONE : CT_STANDARDIZE_BOTH };
            ct_tensor *X = ct_from(device, CT_F64, ct_shape2(n, 2), x),
                      *t = ct_from(device, CT_F64, ct_shape1(n), y);
            ct_tensor *plain = ct_tensor_slice(X, 1, 0, 1, 1), *u = ct_from(device, CT_F64, ct_shape1(n), x);
            const char *const where[] = { "y: its standard deviation",
                                          "X, column 1: its standard deviation" };
            for (int side = 0; side < 2; side++) {
                ct_gp *gp = ct_gp_new(side ? X : plain, side ? u : t,
                                      ct_kernel_parse("scale * rbf(ard) + linear(ard)"), &options);
                if (good) {
                    assert_gp(gp, device);
                    for (int64_t i = 0; i < ct_gp_params(gp); i++)
                        assert_true(isfinite(ct_gp_param(gp, i)->value));
                } else
                    assert_refused(gp, device, CT_EINVAL, where[side]);
                ct_gp_free(gp);
            }
            ct_tensor *all[] = { X, t, plain, u };
            for (size_t i = 0; i < sizeof all / sizeof *all; i++) ct_release(all[i]);
        }
}

/* Whoever asks how many points fit may search by halves. */
static void more_points_need_no_fewer_bytes(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        const ct_dtype dtype = variant % 2 ? CT_F32 : CT_F64;
        uint64_t before = 0, bytes;
        for (int64_t n = 0; n < 20000; n++, before = bytes)
            if ((bytes = ct_gp_bytes_needed(device, n, 3, dtype, variant / 2)) < before)
                fail_msg("%s, %s: %lld points need %llu bytes, one fewer %llu", ct_dtype_name(dtype),
                         variant / 2 ? "fit" : "predict", (long long)n, (unsigned long long)bytes,
                         (unsigned long long)before);
    }
}

/* Fit and prediction stay within ct_gp_bytes_needed, which is little more than a triangle; of 600 rows a fit
 * takes a square on a CPU, and 601 rows count as much. */
static void the_plan_is_kept(void **state)
{
    (void)state;
    const int64_t m = 2000, d = 3;
    for (int variant = 0; variant < 6; variant++) {
        const int64_t n = (int64_t[]){ 600, 601, 900 }[variant / 2];
        const ct_dtype dtype = variant % 2 ? CT_F32 : CT_F64;
        gp_data s = gp_data_new(device, dtype, n, d), points = gp_data_new(device, dtype, m, d);
        ct_tensor *variance = assert_tensor(ct_empty(device, dtype, ct_shape1(m)), device);
        ct_memory_trim(device);
        uint64_t before = ct_memory(device).bytes_now;
        ct_memory_mark(device);
        ct_gp *gp = gp_of(&s, "scale * rbf(ard) + scale * matern32", NULL);
        assert_ok(ct_gp_fit(gp, &(ct_fit_options){ .restarts = CT_FIT_NO_RESTARTS, .max_iterations = 2 }),
                  ct_message(device));
        uint64_t fit = ct_memory(device).bytes_peak - before,
                 planned = ct_gp_bytes_needed(device, n, d, dtype, true);
        assert_true(fit <= planned);
        if (n == 900 || (n == 600 && !strcmp(ct_device_name(device), "cpu"))) assert_true(fit > planned / 2);
        ct_memory_mark(device);
        assert_ok(ct_gp_predict(gp, points.X, variance, variance), ct_message(device));
        assert_true(ct_memory(device).bytes_peak - before <= ct_gp_bytes_needed(device, n, d, dtype, false));
        ct_gp_free(gp);
        gp_data_free(&s);
        gp_data_free(&points);
        ct_release(variance);
    }
}

/* The likelihood and the predictions do not depend on standardisation where the parameters are the same. */
static void units_are_those_of_the_data(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 40, 2);
    double nlml[2], *mean[2], *variance[2], *sum[2];
    ct_tensor *Xs = assert_tensor(ct_rand_uniform(device, CT_F64, ct_shape2(5, 2), 5, 0), device);
    for (int raw = 0; raw < 2; raw++) {
        ct_gp *gp = ct_gp_new(
            s.X, s.y,
            ct_kernel_parse(
                "scale(3) * rbf(ard) * periodic(dims=0, period=0.7) + scale(2) * cosine(dims=1, period=9)"),
            &(ct_gp_options){ .mean = CT_MEAN_CONSTANT,
                              .standardize = raw ? CT_STANDARDIZE_NONE : CT_STANDARDIZE_BOTH });
        assert_gp(gp, device);
        assert_close(gp_get(gp, "periodic.period"), 0.7, 1e-15, 0);
        gp_set(gp, "rbf.lengthscale[0]", 0.4, false);
        gp_set(gp, "rbf.lengthscale[1]", 1.4, false);
        gp_set(gp, "noise.variance", 0.03, false);
        gp_set(gp, "mean.constant", 0.5, false);
        assert_close(ct_gp_noise_variance(gp), 0.03, 1e-15, 0);
        nlml[raw] = ct_gp_nlml_value(gp);
        ct_tensor *m = ct_empty(device, CT_F64, ct_shape1(5)), *v = ct_empty(device, CT_F64, ct_shape1(5));
        assert_ok(ct_gp_predict(gp, Xs, m, v), ct_message(device));
        mean[raw] = gp_host(m);
        variance[raw] = gp_host(v);
        double u[9], value, *gradient = malloc(9 * sizeof *gradient);
        int64_t p = ct_gp_params(gp);
        assert_true(p <= 9);
        for (int64_t i = 0; i < p; i++) {
            double now = ct_gp_param(gp, i)->value;
            u[i] = i == ct_gp_find(gp, "mean.constant") ? now : log(now);
        }
        assert_ok(ct_gp_objective(gp, u, &value, gradient), ct_message(device));
        assert_close(value, nlml[raw], 1e-12, 0);
        sum[raw] = gradient;
        ct_release(m);
        ct_release(v);
        if (raw) {
            assert_close(nlml[0], nlml[1], 1e-10, 0);
            for (int i = 0; i < 5; i++) {
                assert_close(mean[0][i], mean[1][i], 1e-9, 1e-9);
                assert_close(variance[0][i], variance[1][i], 1e-8, 1e-9);
            }
            for (int64_t i = 0; i < p; i++) assert_close(sum[0][i], sum[1][i], 1e-8, 1e-8);
        }
        ct_gp_free(gp);
    }
    for (int raw = 0; raw < 2; raw++) {
        free(mean[raw]);
        free(variance[raw]);
        free(sum[raw]);
    }
    ct_release(Xs);
    gp_data_free(&s);
}

/* Central differences of the objective over every parameter, with priors, linear mean and given noise. */
static void gradient_of_the_objective(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 25, 2);
    ct_tensor *given = assert_tensor(ct_rand_uniform(device, CT_F64, ct_shape1(25), 3, 0), device);
    ct_gp *gp = ct_gp_new(
        s.X, s.y, ct_kernel_parse("scale * matern52(ard) + scale * rq"),
        &(ct_gp_options){ .mean = CT_MEAN_LINEAR, .noise = CT_NOISE_GIVEN_PLUS, .noise_variances = given });
    assert_gp(gp, device);
    int64_t p = ct_gp_params(gp);
    assert_int_equal(p, 10);
    const ct_prior priors[] = { { CT_PRIOR_GAMMA, 2, 0.5 },        { CT_PRIOR_LOG_NORMAL, 0.3, 0.8 },
                                { CT_PRIOR_HALF_CAUCHY, 1.5, 0 },  { CT_PRIOR_SOFT_LOWER, 4, 0.7 },
                                { CT_PRIOR_CAUCHY_LOWER, 4, 0.7 }, { CT_PRIOR_NORMAL, 1, 2 } };
    double *u = malloc((size_t)p * sizeof *u), *gradient = malloc((size_t)p * sizeof *gradient), value,
           without;
    for (int64_t i = 0; i < p; i++) {
        const ct_param *now = ct_gp_param(gp, i);
        u[i] = now->lower < 0 ? now->value + 0.1 : log(now->value) + 0.1 * (double)i;
    }
    assert_ok(ct_gp_objective(gp, u, &without, NULL), ct_message(device));
    double expected = without;
    for (int64_t i = 0; i < p; i++) {
        ct_param q = *ct_gp_param(gp, i);
        q.prior = q.lower < 0 ? priors[5] : priors[i % 5];
        assert_ok(ct_gp_set_param(gp, i, &q), ct_message(device));
        double v = q.lower < 0 ? u[i] : exp(u[i]), a = q.prior.a, b = q.prior.b, density = 0;
        switch (q.prior.kind) {
        case CT_PRIOR_GAMMA: density = pow(b, a) * pow(v, a - 1) * exp(-b * v) / tgamma(a); break;
        case CT_PRIOR_LOG_NORMAL:
            density = exp(-pow((log(v) - a) / b, 2) / 2) / (v * b * sqrt(2 * 3.14159265358979323846));
            break;
        case CT_PRIOR_HALF_CAUCHY: density = 2 / (3.14159265358979323846 * a * (1 + v * v / (a * a))); break;
        case CT_PRIOR_NORMAL:
            density = exp(-pow((v - a) / b, 2) / 2) / (b * sqrt(2 * 3.14159265358979323846));
            break;
        case CT_PRIOR_SOFT_LOWER: density = v < a ? exp(-pow(log(v / a) / b, 2) / 2) : 1; break;
        case CT_PRIOR_CAUCHY_LOWER: density = v < a ? 1 / (1 + pow(log(v / a) / b, 2)) : 1; break;
        case CT_PRIOR_NONE: break;
        }
        expected -= log(density);
    }
    assert_ok(ct_gp_objective(gp, u, &value, gradient), ct_message(device));
    assert_close(value, expected, 1e-12, 0);
    for (int64_t i = 0; i < p; i++) {
        double h = 1e-5, up, down, keep = u[i];
        u[i] = keep + h;
        assert_ok(ct_gp_objective(gp, u, &up, NULL), ct_message(device));
        u[i] = keep - h;
        assert_ok(ct_gp_objective(gp, u, &down, NULL), ct_message(device));
        u[i] = keep;
        assert_close(gradient[i], (up - down) / (2 * h), 1e-6, 1e-6);
    }
    free(u);
    free(gradient);
    ct_gp_free(gp);
    ct_release(given);
    gp_data_free(&s);
}

static void given_noise_stands_in_the_likelihood(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 20, 2);
    ct_tensor *given = ct_full(device, CT_F64, ct_shape1(20), 0.05);
    double nlml[3];
    const ct_gp_noise noise[] = { CT_NOISE_LEARNED, CT_NOISE_GIVEN, CT_NOISE_GIVEN_PLUS };
    for (int i = 0; i < 3; i++) {
        ct_gp *gp = ct_gp_new(s.X, s.y, rbf(),
                              &(ct_gp_options){ .noise = noise[i], .noise_variances = i ? given : NULL });
        assert_gp(gp, device);
        if (i == 0) gp_set(gp, "noise.variance", 0.05, true);
        if (i == 1) assert_int_equal(ct_gp_find(gp, "noise.variance"), -1);
        if (i == 2) gp_set(gp, "noise.variance", 1e-14, true);
        nlml[i] = ct_gp_nlml_value(gp);
        ct_tensor *x = ct_tensor_slice(s.X, 0, 0, 1, 1), *v = ct_empty(device, CT_F64, ct_shape1(1));
        ct_tensor *w = ct_empty(device, CT_F64, ct_shape1(1));
        assert_ok(ct_gp_predict(gp, x, NULL, v), ct_message(device));
        assert_ok(ct_gp_predict_noisy(gp, x, NULL, w), ct_message(device));
        assert_close(ct_tensor_item(w) - ct_tensor_item(v), 0.05, 1e-10, 0);
        ct_release(x);
        ct_release(v);
        ct_release(w);
        ct_gp_free(gp);
    }
    assert_close(nlml[0], nlml[1], 1e-12, 0);
    assert_close(nlml[0], nlml[2], 1e-9, 0);
    ct_release(given);
    gp_data_free(&s);
}

static void parameters_are_checked(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 10, 2);
    ct_gp *gp = ct_gp_new(s.X, s.y, rbf(), NULL);
    assert_gp(gp, device);
    ct_param p = *ct_gp_param(gp, 0), bad = p;
    bad.value = -1;
    assert_failed(ct_gp_set_param(gp, 0, &bad), device, CT_EINVAL, "positive");
    bad.value = NAN;
    assert_failed(ct_gp_set_param(gp, 0, &bad), device, CT_EINVAL, "positive");
    bad = p;
    bad.lower = 2 * p.value;
    assert_failed(ct_gp_set_param(gp, 0, &bad), device, CT_EINVAL, "bounds");
    bad = p;
    const ct_prior none[] = { { CT_PRIOR_GAMMA, -1, 1 },
                              { CT_PRIOR_SOFT_LOWER, 0, 1 },
                              { CT_PRIOR_SOFT_LOWER, 1, 0 } };
    for (int i = 0; i < 3; i++) {
        bad.prior = none[i];
        assert_failed(ct_gp_set_param(gp, 0, &bad), device, CT_EINVAL, "prior");
    }
    int64_t mean = ct_gp_find(gp, "mean.constant");
    bad = *ct_gp_param(gp, mean);
    bad.prior = (ct_prior){ CT_PRIOR_GAMMA, 1, 1 };
    assert_failed(ct_gp_set_param(gp, mean, &bad), device, CT_EINVAL, "prior");
    assert_failed(ct_gp_set_param(gp, 99, &p), device, CT_EINVAL, "99");
    for (int64_t i = 0; i < ct_gp_params(gp); i++) { /* below zero is the model's own bound, of every one */
        ct_param low = *ct_gp_param(gp, i);
        low.lower = -1;
        assert_ok(ct_gp_set_param(gp, i, &low), ct_message(device));
        assert_true(ct_gp_param(gp, i)->lower == (low.any_sign ? -1 : 0));
    }
    assert_status(ct_gp_set_param(NULL, 0, &p), CT_EINVAL, "");
    assert_close(ct_gp_param(gp, 0)->value, p.value, 0, 0);
    gp_set(gp, "scale.variance", 4, false);
    assert_close(ct_kernel_param(ct_gp_kernel(gp), 0)->value, 4, 0, 0);
    ct_gp_free(gp);
    gp_data_free(&s);
}

static void assert_prior(const ct_gp *gp, const char *name, ct_prior_kind kind, double a)
{
    const ct_param *p = ct_gp_param(gp, ct_gp_find(gp, name));
    assert_non_null(p);
    assert_int_equal(p->prior.kind, kind);
    if (kind != CT_PRIOR_SOFT_LOWER && kind != CT_PRIOR_CAUCHY_LOWER) return;
    assert_close(p->prior.a, a, 1e-12, 0);
    assert_close(p->prior.b, kind == CT_PRIOR_SOFT_LOWER ? 2 : 1.5, 0, 0);
}

/* The priors cost something below lengthscales of √columns deviations and below a noise of a hundredth of the
 * variance of y, and nothing elsewhere. */
static void weak_priors(void **state)
{
    (void)state;
    enum { n = 60, d = 3 };
    gp_data s = gp_data_new(device, CT_F64, n, d);
    double *x = gp_host(s.X), mean, spread[d], y_spread;
    for (int j = 0; j < d; j++) ct__gp_column_moments(x + j, n, d, &mean, &spread[j]);
    ct__gp_column_moments(s.y_host, n, 1, &mean, &y_spread);
    ct_gp *gp = gp_of(&s, "scale * rbf(ard) + scale * rbf(dims=1) + periodic * matern32",
                      &(ct_gp_options){ .priors = CT_PRIORS_WEAK });
    assert_prior(gp, "rbf.lengthscale[0]", CT_PRIOR_SOFT_LOWER, sqrt(3) * spread[0]);
    assert_prior(gp, "rbf.lengthscale[2]", CT_PRIOR_SOFT_LOWER, sqrt(3) * spread[2]);
    assert_prior(gp, "rbf#2.lengthscale", CT_PRIOR_SOFT_LOWER, spread[1]);
    assert_prior(gp, "matern32.lengthscale", CT_PRIOR_SOFT_LOWER, sqrt(3)); /* in deviations */
    assert_prior(gp, "noise.variance", CT_PRIOR_SOFT_LOWER, 0.01 * y_spread * y_spread);
    const char *none[] = { "scale.variance", "scale#2.variance", "periodic.period", "periodic.lengthscale",
                           "mean.constant" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) assert_prior(gp, none[i], CT_PRIOR_NONE, 0);

    /* zero above the bound, half a square below */
    int64_t p = ct_gp_params(gp), at = ct_gp_find(gp, "noise.variance");
    double *u = malloc((size_t)p * sizeof *u), value;
    for (int64_t i = 0; i < p; i++) {
        const ct_param *q = ct_gp_param(gp, i);
        u[i] = q->lower < 0 ? q->value : log(fmax(q->value, q->prior.a));
    }
    for (int below = 0; below < 2; below++) {
        double noise = 0.01 * y_spread * y_spread * (below ? exp(-3) : 1);
        u[at] = log(noise);
        assert_ok(ct_gp_objective(gp, u, &value, NULL), ct_message(device));
        for (int64_t i = 0; i < p; i++) {
            const ct_param *q = ct_gp_param(gp, i);
            gp_set(gp, q->name, q->lower < 0 ? u[i] : exp(u[i]), false);
        }
        assert_close(value - ct_gp_nlml_value(gp), below ? 9.0 / 8 : 0, 1e-9, 1e-9);
    }
    free(u);
    free(x);
    ct_gp_free(gp);
    gp_data_free(&s);
}

/* Few rows have a higher prior. Rounding to a step is a noise of step² / 12 at least; with few values, of a
 * thousandth of the variance. */
static void noise_of_steps(void **state)
{
    (void)state;
    const double step[] = { 0, 0.01, 0.1, 10 }; /* of a target of deviation 1; 10: two values */
    for (size_t k = 0; k < sizeof step / sizeof *step; k++) {
        gp_data s = gp_data_new(device, CT_F64, 40, 1);
        double mean, spread, *y = s.y_host;
        for (int i = 0; i < 40 && step[k] > 0; i++)
            y[i] = step[k] < 1 ? step[k] * round(y[i] / step[k]) : step[k] * (y[i] > 0);
        assert_int_equal(ct_write(s.y, y, 40 * sizeof *y), CT_OK);
        ct__gp_column_moments(y, 40, 1, &mean, &spread);
        ct_gp *gp = gp_of(&s, "scale * rbf", &(ct_gp_options){ .priors = CT_PRIORS_WEAK });
        assert_prior(gp, "noise.variance", CT_PRIOR_CAUCHY_LOWER, 0.1 * spread * spread);
        const double least = ct_gp_param(gp, ct_gp_find(gp, "noise.variance"))->lower;
        assert_close(least, fmin(step[k] * step[k] / 12, 1e-3 * spread * spread), 1e-12, 0);
        ct_gp_free(gp);
        gp_data_free(&s);
    }
}

static void weak_priors_where_nothing_is_told(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 20, 2);
    ct_tensor *given = assert_tensor(ct_full(device, CT_F64, ct_shape1(20), 0.01), device);
    ct_kernel *k = ct_kernel_parse("scale * rbf(lengthscale=0.3) + scale * matern32 + scale * matern52");
    ct_param bounded = *ct_kernel_param(k, ct_kernel_find(k, "matern32.lengthscale"));
    bounded.lower = 0.2;
    assert_ok(ct_kernel_set(k, ct_kernel_find(k, bounded.name), &bounded), ct_kernel_message(k));
    ct_param own = *ct_kernel_param(k, ct_kernel_find(k, "matern52.lengthscale"));
    own.prior = (ct_prior){ CT_PRIOR_GAMMA, 2, 1 };
    assert_ok(ct_kernel_set(k, ct_kernel_find(k, own.name), &own), ct_kernel_message(k));
    const ct_gp_options plus = { .noise = CT_NOISE_GIVEN_PLUS,
                                 .priors = CT_PRIORS_WEAK,
                                 .noise_variances = given };
    ct_gp *gp = ct_gp_new(s.X, s.y, k, &plus);
    assert_gp(gp, device);
    assert_prior(gp, "rbf.lengthscale", CT_PRIOR_NONE, 0);
    assert_prior(gp, "matern32.lengthscale", CT_PRIOR_NONE, 0);
    assert_prior(gp, "matern52.lengthscale", CT_PRIOR_GAMMA, 2);
    assert_prior(gp, "noise.variance", CT_PRIOR_NONE, 0); /* zero is plausible there */
    ct_gp_free(gp);
    gp = ct_gp_new(s.X, s.y, rbf(), NULL);
    for (int64_t i = 0; i < ct_gp_params(gp); i++)
        assert_prior(gp, ct_gp_param(gp, i)->name, CT_PRIOR_NONE, 0);
    ct_gp_free(gp);
    assert_refused(ct_gp_new(s.X, s.y, rbf(), &(ct_gp_options){ .priors = (ct_gp_priors)2 }), device,
                   CT_EINVAL, "option");
    ct_release(given);
    gp_data_free(&s);
}

static void columns_are_kept(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 10, 2);
    ct_gp *gp = ct_gp_new(s.X, s.y, rbf(), NULL);
    assert_string_equal(ct_gp_input(gp, 1)->name, "x1");
    assert_string_equal(ct_gp_output(gp)->name, "y");
    assert_int_equal(ct_gp_output(gp)->kind, CT_COLUMN_NUMBER);
    assert_null(ct_gp_input(gp, 2));
    assert_null(ct_gp_input(gp, -1));
    assert_null(ct_gp_input(NULL, 0));
    assert_null(ct_gp_output(NULL));
    ct_gp_free(gp);

    const char *levels[] = { "oak", "pine" };
    ct_column inputs[] = { { .name = "date", .kind = CT_COLUMN_TIME },
                           { .name = "wood", .kind = CT_COLUMN_CATEGORY, .levels = levels, .n_levels = 2 } };
    const ct_column output = { .name = "price" };
    const ct_gp_options options = { .inputs = inputs, .output = &output };
    gp = ct_gp_new(s.X, s.y, rbf(), &options);
    assert_gp(gp, device);
    levels[0] = "";
    inputs[0].name = NULL;
    assert_string_equal(ct_gp_input(gp, 0)->name, "date");
    assert_int_equal(ct_gp_input(gp, 0)->kind, CT_COLUMN_TIME);
    assert_int_equal(ct_gp_input(gp, 1)->n_levels, 2);
    assert_string_equal(ct_gp_input(gp, 1)->levels[0], "oak");
    assert_string_equal(ct_gp_input(gp, 1)->levels[1], "pine");
    assert_string_equal(ct_gp_output(gp)->name, "price");
    assert_ptr_equal(ct_gp_get_options(gp).inputs, ct_gp_input(gp, 0));
    assert_ptr_equal(ct_gp_get_options(gp).output, ct_gp_output(gp));
    ct_gp_free(gp);

    assert_refused(ct_gp_new(s.X, s.y, rbf(), &options), device, CT_EINVAL, "column 0 of inputs has no name");
    inputs[0].name = "date";
    levels[1] = NULL;
    assert_refused(ct_gp_new(s.X, s.y, rbf(), &options), device, CT_EINVAL, "column 1 of inputs");
    inputs[1] = (ct_column){ .name = "wood", .kind = (ct_column_kind)(CT_COLUMN_ABSENT + 1) };
    assert_refused(ct_gp_new(s.X, s.y, rbf(), &options), device, CT_EINVAL, "no such kind");
    inputs[1] = (ct_column){ .name = "wood", .kind = CT_COLUMN_FILLED, .fill = NAN };
    assert_refused(ct_gp_new(s.X, s.y, rbf(), &options), device, CT_EINVAL, "no fill");
    inputs[1] = (ct_column){ .name = "wood", .form = CT_TIME_EXCEL };
    assert_refused(ct_gp_new(s.X, s.y, rbf(), &options), device, CT_EINVAL, "no such kind or form");
    assert_refused(ct_gp_new(s.X, s.y, rbf(), &(ct_gp_options){ .output = &(ct_column){ .name = NULL } }),
                   device, CT_EINVAL, "the output");
    gp_data_free(&s);
}

static void nothing_crashes_without_a_model(void **state)
{
    (void)state;
    double x;
    ct_gp_free(NULL);
    assert_int_equal(ct_gp_params(NULL), 0);
    assert_null(ct_gp_param(NULL, 0));
    assert_int_equal(ct_gp_find(NULL, "a"), -1);
    assert_true(isnan(ct_gp_nlml_value(NULL)));
    assert_true(isnan(ct_gp_jitter(NULL)));
    assert_status(ct_gp_fit(NULL, NULL), CT_EINVAL, "");
    assert_status(ct_gp_predict(NULL, NULL, NULL, NULL), CT_EINVAL, "");
    assert_status(ct_gp_predict_full(NULL, NULL, false, NULL, NULL), CT_EINVAL, "");
    assert_status(ct_gp_sample(NULL, NULL, false, 0, NULL), CT_EINVAL, "");
    assert_status(ct_gp_save(NULL, "x"), CT_EINVAL, "");
    assert_status(ct_gp_objective(NULL, &x, &x, &x), CT_EINVAL, "");
    assert_null(ct_gp_load(NULL, "x"));
    assert_null(ct_gp_load(device, NULL));
    assert_int_equal(ct_gp_report(NULL).starts, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_data_is_refused),
        cmocka_unit_test(too_large_is_refused_before_allocating),
        cmocka_unit_test(f32_is_a_remedy_where_it_is_one),
        cmocka_unit_test(columns_of_no_scale_are_refused),
        cmocka_unit_test(more_points_need_no_fewer_bytes),
        cmocka_unit_test(the_plan_is_kept),
        cmocka_unit_test(units_are_those_of_the_data),
        cmocka_unit_test(gradient_of_the_objective),
        cmocka_unit_test(given_noise_stands_in_the_likelihood),
        cmocka_unit_test(parameters_are_checked),
        cmocka_unit_test(weak_priors),
        cmocka_unit_test(noise_of_steps),
        cmocka_unit_test(weak_priors_where_nothing_is_told),
        cmocka_unit_test(columns_are_kept),
        cmocka_unit_test(nothing_crashes_without_a_model),
    };
    return cmocka_run_group_tests(tests, open_check_device, close_device);
}
