/* The fit finds the parameters that generated the data, is deterministic, can be stopped, and survives
 * singular covariances. */
#include "gp_device.h"

#include "gp/fit/optimize.h"

static const ct_fit_options once = { .restarts = CT_FIT_NO_RESTARTS };

/* A fit to a draw from the prior with known parameters ends near them, and never at a worse objective. */
static void recovers_known_parameters(void **state)
{
    (void)state;
    enum { n = 220 };
    ct_tensor *X = assert_tensor(ct_rand_uniform(device, CT_F64, ct_shape2(n, 1), 3, 0), device);
    ct_tensor *zero = ct_zeros(device, CT_F64, ct_shape1(n)), *y = ct_empty(device, CT_F64, ct_shape2(1, n));
    const ct_gp_options raw = { .mean = CT_MEAN_ZERO, .standardize = CT_STANDARDIZE_NONE };
    ct_gp *truth = ct_gp_new(X, zero, ct_kernel_parse("scale(4) * matern52(lengthscale=0.15)"), &raw);
    assert_gp(truth, device);
    gp_set(truth, "noise.variance", 0.04, true);
    ct_tensor *far = assert_tensor(ct_tensor_clone(X), device);
    /* the data of `truth` say nothing about points where its noise is huge */
    gp_set(truth, "noise.variance", 1e9, true);
    assert_ok(ct_gp_sample(truth, far, false, 5, y), ct_message(device));
    double *draw = gp_host(y);
    ct_tensor *e = assert_tensor(ct_rand_normal(device, CT_F64, ct_shape1(n), 8, 0), device);
    double *noise = gp_host(e);
    for (int i = 0; i < n; i++) draw[i] += 0.2 * noise[i];
    ct_tensor *target = assert_tensor(ct_from(device, CT_F64, ct_shape1(n), draw), device);

    ct_gp *gp = ct_gp_new(X, target, ct_kernel_parse("scale * matern52"), NULL);
    assert_gp(gp, device);
    assert_ok(ct_gp_fit(gp, &(ct_fit_options){ .restarts = CT_FIT_NO_RESTARTS }), ct_message(device));
    assert_true(fabs(log(gp_get(gp, "scale.variance") / 4)) < 1.2);
    assert_true(fabs(log(gp_get(gp, "matern52.lengthscale") / 0.15)) < 0.6);
    assert_true(fabs(log(gp_get(gp, "noise.variance") / 0.04)) < 0.3);
    ct_fit_report r = ct_gp_report(gp);
    assert_true(r.evaluations > 0 && r.iterations > 0);
    if (ct__lbfgs.run) assert_true(r.evaluations < 100);
    assert_close(r.objective, ct_gp_nlml_value(gp), 1e-9, 1e-9);
    assert_true(r.jitter == 0 && r.failed == 0 && r.starts == 1 && r.best == 0);
    assert_true(ct_fit_converged(r.end) && r.end == r.start[0].end);

    /* the truth is no better */
    gp_set(gp, "scale.variance", 4, false);
    gp_set(gp, "matern52.lengthscale", 0.15, false);
    gp_set(gp, "noise.variance", 0.04, false);
    gp_set(gp, "mean.constant", 0, false);
    assert_true(ct_gp_nlml_value(gp) >= r.objective);

    ct_gp_free(gp);
    ct_gp_free(truth);
    ct_tensor *all[] = { X, zero, y, far, e, target };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ct_release(all[i]);
    free(draw);
    free(noise);
}

static double fitted(gp_data *s, const ct_fit_options *options, double *lengthscale)
{
    ct_gp *gp = ct_gp_new(s->X, s->y, ct_kernel_parse("scale * rbf(ard)"), NULL);
    assert_gp(gp, device);
    assert_ok(ct_gp_fit(gp, options), ct_message(device));
    *lengthscale = gp_get(gp, "rbf.lengthscale[0]");
    double objective = ct_gp_report(gp).objective;
    ct_gp_free(gp);
    return objective;
}

static void the_same_seed_gives_the_same_fit(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 50, 2);
    double a, b, c, first = fitted(&s, NULL, &a);
    const ct_fit_options options = { .restarts = 3, .seed = 42 };
    double one = fitted(&s, &options, &b), two = fitted(&s, &options, &c);
    assert_true(one == two && b == c);
    assert_true(one <= first + 1e-6);
    gp_data_free(&s);
}

/* All of the data as noise is an optimum, too, and one search from the data's own point ends there: 20 rows
 * of sin(0.4 x) and some noise, five rows for each wave. */
static void a_sine_is_no_noise(void **state)
{
    (void)state;
    enum { n = 20 };
    double x[n], y[n], lengthscale;
    for (int k = 0; k < 8; k++) {
        ct_tensor *e = assert_tensor(ct_rand_normal(device, CT_F64, ct_shape1(n), 38, (uint64_t)k), device);
        double *noise = gp_host(e);
        for (int i = 0; i < n; i++) y[i] = sin(0.4 * (x[i] = 3 * i)) + 0.1 * noise[i];
        gp_data s = { .X = assert_tensor(ct_from(device, CT_F64, ct_shape2(n, 1), x), device),
                      .y = assert_tensor(ct_from(device, CT_F64, ct_shape1(n), y), device) };
        double usual = fitted(&s, NULL, &lengthscale);
        double best = fitted(&s, &(ct_fit_options){ .restarts = 50, .seed = 1 }, &lengthscale);
        assert_true(usual < best + 0.1);
        assert_true(lengthscale > 1 && lengthscale < 10);
        ct_release(s.X), ct_release(s.y), ct_release(e);
        free(noise);
    }
}

/* What is decided without a clock: as many restarts as a second allows, none from a given start or the end of
 * a fit; and how many starts agree. */
static void restarts_where_they_cost_little(void **state)
{
    (void)state;
    const struct {
        int n, restarts, starts;
        const char *kernel;
    } row[] = { { 40, 0, 1 + CT_FIT_RESTARTS, "scale * rbf(ard)" },
                { 40, CT_FIT_NO_RESTARTS, 1, "scale * rbf(ard)" },
                { 40, 2, 3, "scale * rbf(ard)" },
                { 40, 0, 1, "scale * rbf(lengthscale=0.3)" },
                { 40, 0, 1, "constant" },
                { 800, 0, 2, "scale * rbf" },
                { 1100, 0, 1, "scale * rbf" } };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        gp_data s = gp_data_new(device, CT_F64, row[k].n, 2);
        ct_gp *gp = gp_of(&s, row[k].kernel, NULL);
        const ct_fit_options options = { .restarts = row[k].restarts,
                                         .max_iterations = row[k].n > 40 ? 1 : 0 };
        assert_ok(ct_gp_fit(gp, &options), ct_message(device));
        assert_int_equal(ct_gp_report(gp).starts, row[k].starts);
        assert_in_range(ct_gp_report(gp).agreed, 1, row[k].starts);
        const double objective = ct_gp_report(gp).objective;
        assert_ok(ct_gp_fit(gp, NULL), ct_message(device));
        assert_int_equal(ct_gp_report(gp).starts, 1);
        assert_true(ct_gp_report(gp).objective <= objective + 1e-9 * fabs(objective));
        ct_gp_free(gp);
        gp_data_free(&s);
    }
}

/* The objective at the first point of each of three starts */
static int keep_first(void *context, const ct_fit_progress *p)
{
    double *first = context;
    if (p->evaluation == 1) first[p->start] = p->objective;
    return 0;
}

/* Restarts are drawn around a given start as widely as around the data's own. */
static void a_given_start_is_no_narrower(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 40, 2);
    double first[2][3];
    for (int given = 0; given < 2; given++) {
        ct_gp *gp = gp_of(&s, "scale * rbf(ard)", NULL);
        for (int64_t i = 0; i < ct_gp_params(gp) && given; i++) {
            ct_param p = *ct_gp_param(gp, i);
            p.start_given = true;
            assert_ok(ct_gp_set_param(gp, i, &p), ct_message(device));
        }
        const ct_fit_options options = {
            .restarts = 2, .seed = 3, .progress = keep_first, .context = first[given]
        };
        assert_ok(ct_gp_fit(gp, &options), ct_message(device));
        ct_gp_free(gp);
    }
    for (int k = 0; k < 3; k++) assert_true(first[0][k] == first[1][k]);
    assert_true(first[0][1] != first[0][0] && first[0][2] != first[0][1]);
    gp_data_free(&s);
}

static void adam_comes_near_lbfgs(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 50, 2);
    double a, b;
    double lbfgs = fitted(&s, NULL, &a);
    double adam = fitted(&s, &(ct_fit_options){ .optimizer = CT_OPTIMIZER_ADAM, .max_iterations = 400 }, &b);
    assert_true(adam < lbfgs + 0.05);
    assert_close(a, b, 0.1, 0);
    gp_data_free(&s);
}

static void single_precision_fits(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 80, 2), t = gp_data_new(device, CT_F32, 80, 2);
    double a, b;
    double wide = fitted(&s, NULL, &a), narrow = fitted(&t, NULL, &b);
    assert_true(narrow < wide + 0.5);
    assert_close(a, b, 0.05, 0);
    gp_data_free(&s);
    gp_data_free(&t);
}

enum { STARTS = 6 };

typedef struct watch {
    int calls, stop_at;
    double lowest; /* of all starts */
    bool wrong;    /* an assertion cannot jump out of one of the library's threads */
} watch;

static int count(void *context, const ct_fit_progress *p)
{
    watch *w = context;
    w->calls++;
    bool right = p->n_parameters == 5 && p->best <= p->objective && p->seconds >= 0 && p->starts == STARTS &&
                 p->evaluation >= 1;
    for (int64_t i = 0; i < p->n_parameters; i++) right = right && isfinite(p->parameters[i]);
    w->wrong = w->wrong || !right;
    w->lowest = fmin(w->lowest, p->best);
    return w->calls == w->stop_at;
}

static void the_callback_stops_it(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 40, 2);
    ct_gp *gp = ct_gp_new(s.X, s.y, ct_kernel_parse("scale * rbf(ard)"), NULL);
    double before = ct_gp_nlml_value(gp);
    watch w = { .stop_at = 9, .lowest = INFINITY };
    const ct_fit_options options = { .restarts = STARTS - 1, .progress = count, .context = &w };
    assert_status(ct_gp_fit(gp, &options), CT_ESTOPPED, ct_message(device));
    assert_int_equal(w.calls, 9);
    assert_int_equal(ct_gp_report(gp).end, CT_FIT_STOPPED);
    assert_false(w.wrong);
    assert_true(ct_gp_nlml_value(gp) <= before + 1e-9); /* the first point */
    assert_close(ct_gp_nlml_value(gp), ct_gp_report(gp).objective, 1e-9, 1e-9);
    assert_true(ct_gp_nlml_value(gp) <=
                w.lowest + 1e-9);      /* another start may have found a lower one by then */
    for (int k = 0; k < STARTS; k++) { /* after nine calls no start has ended, and most have not begun */
        const ct_fit_start *start = &ct_gp_report(gp).start[k];
        assert_status(start->status, CT_ESTOPPED, "");
        assert_int_equal(start->end, start->evaluations ? CT_FIT_STOPPED : CT_FIT_NOT_STARTED);
    }
    ct_tensor *m = ct_empty(device, CT_F64, ct_shape1(40));
    assert_ok(ct_gp_predict(gp, s.X, m, NULL), ct_message(device));
    w = (watch){ 0 };
    assert_ok(ct_gp_fit(gp, &options), ct_message(device));
    assert_int_equal(w.calls, ct_gp_report(gp).evaluations);
    assert_false(w.wrong);
    ct_release(m);
    ct_gp_free(gp);
    gp_data_free(&s);
}

static void fixed_stays_and_bounds_hold(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 40, 2);
    ct_gp *gp = gp_of(&s, "scale(2!) * rbf(ard)", NULL);
    assert_true(ct_gp_param(gp, 0)->fixed);
    ct_param p = *ct_gp_param(gp, ct_gp_find(gp, "noise.variance"));
    p.lower = 0.5;
    p.value = 0.7;
    assert_ok(ct_gp_set_param(gp, ct_gp_find(gp, "noise.variance"), &p), ct_message(device));
    assert_ok(ct_gp_fit(gp, &(ct_fit_options){ .restarts = 1 }), ct_message(device));
    assert_close(gp_get(gp, "scale.variance"), 2, 0, 0);
    assert_close(gp_get(gp, "noise.variance"), 0.5, 1e-9, 0);
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        p = *ct_gp_param(gp, i);
        p.fixed = true;
        assert_ok(ct_gp_set_param(gp, i, &p), ct_message(device));
    }
    assert_ok(ct_gp_fit(gp, NULL), ct_message(device));
    assert_int_equal(ct_gp_report(gp).evaluations, 1);
    assert_int_equal(ct_gp_report(gp).end, CT_FIT_FIXED);
    ct_gp_free(gp);
    gp_data_free(&s);
}

static void a_limit_of_iterations_is_kept_and_told(void **state)
{
    (void)state;
    const ct_optimizer optimizers[] = { ct__lbfgs.run ? CT_OPTIMIZER_LBFGS : CT_OPTIMIZER_ADAM,
                                        CT_OPTIMIZER_ADAM };
    gp_data s = gp_data_new(device, CT_F64, 40, 2);
    for (int o = 0; o < 2; o++)
        for (int limit = 1; limit <= 6; limit++) {
            ct_gp *gp = gp_of(&s, "scale * rbf(ard)", NULL);
            const ct_fit_options options = { .optimizer = optimizers[o],
                                             .max_iterations = limit,
                                             .restarts = CT_FIT_NO_RESTARTS };
            assert_ok(ct_gp_fit(gp, &options), ct_message(device));
            ct_fit_report r = ct_gp_report(gp);
            assert_int_equal(r.iterations, limit);
            if (optimizers[o] == CT_OPTIMIZER_ADAM) assert_int_equal(r.evaluations, limit + 3);
            assert_int_equal(r.end, CT_FIT_ITERATIONS);
            assert_int_equal(r.start[0].end, CT_FIT_ITERATIONS);
            assert_false(ct_fit_converged(r.end));
            ct_gp_free(gp);
        }
    ct_gp *gp = gp_of(&s, "scale * rbf(ard)", NULL);
    assert_int_equal(ct_gp_report(gp).end, CT_FIT_UNKNOWN);
    assert_ok(ct_gp_fit(gp, &once), ct_message(device));
    assert_true(ct_fit_converged(ct_gp_report(gp).end));
    ct_gp_free(gp);
    gp_data_free(&s);
    for (int end = CT_FIT_UNKNOWN; end <= CT_FIT_FAILED; end++)
        assert_int_equal(!strcmp(ct_fit_end_text((ct_fit_end)end), "unknown"), end == CT_FIT_UNKNOWN);
}

static void priors_pull(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 30, 2);
    ct_gp *gp = ct_gp_new(s.X, s.y, ct_kernel_parse("scale * rbf(ard)"), NULL);
    int64_t i = ct_gp_find(gp, "rbf.lengthscale[0]");
    ct_param p = *ct_gp_param(gp, i);
    p.prior = (ct_prior){ CT_PRIOR_LOG_NORMAL, log(0.2), 0.001 };
    assert_ok(ct_gp_set_param(gp, i, &p), ct_message(device));
    assert_ok(ct_gp_fit(gp, &once), ct_message(device));
    assert_close(gp_get(gp, "rbf.lengthscale[0]"), 0.2, 0.01, 0);
    assert_true(ct_gp_report(gp).objective < ct_gp_nlml_value(gp)); /* a narrow prior has a density above 1 */
    ct_gp_free(gp);
    gp_data_free(&s);
}

/* Mean squared error in noise variances, and mean coverage of the 95 % interval, over tables with a slope in
 * one of six columns and as much noise. The rows are so few that short lengthscales can explain all of the
 * noise. */
static void score_on_noise(ct_gp_priors priors, double *error, double *coverage)
{
    enum { n = 40, m = 100, d = 6, tables = 6 };
    *error = *coverage = 0;
    for (int t = 0; t < tables; t++) {
        ct_tensor *all =
            assert_tensor(ct_rand_normal(device, CT_F64, ct_shape2(n + m, d + 1), 21, (uint64_t)t), device);
        double *x = gp_host(all), y[n + m], mean[m], variance[m];
        for (int i = 0; i < n + m; i++) y[i] = x[i * (d + 1)] + x[i * (d + 1) + d];
        ct_tensor *X = assert_tensor(ct_tensor_slice(all, 1, 0, d, 1), device);
        ct_tensor *Xn = ct_tensor_slice(X, 0, 0, n, 1), *Xm = ct_tensor_slice(X, 0, n, n + m, 1);
        ct_tensor *yn = assert_tensor(ct_from(device, CT_F64, ct_shape1(n), y), device);
        ct_tensor *to_mean = assert_tensor(ct_empty(device, CT_F64, ct_shape1(m)), device);
        ct_tensor *to_variance = assert_tensor(ct_empty(device, CT_F64, ct_shape1(m)), device);
        ct_gp *gp = ct_gp_new(Xn, yn, ct_kernel_parse("scale * rbf(ard) + scale * matern12(ard)"),
                              &(ct_gp_options){ .priors = priors });
        assert_gp(gp, device);
        assert_ok(ct_gp_fit(gp, &once), ct_message(device));
        assert_ok(ct_gp_predict_noisy(gp, Xm, to_mean, to_variance), ct_message(device));
        assert_ok(ct_read(to_mean, mean, sizeof mean), ct_message(device));
        assert_ok(ct_read(to_variance, variance, sizeof variance), ct_message(device));
        for (int i = 0; i < m; i++) {
            double e = y[n + i] - mean[i];
            *error += e * e / (m * tables);
            *coverage += (fabs(e) < 1.96 * sqrt(variance[i])) / (double)(m * tables);
        }
        ct_gp_free(gp);
        ct_tensor *done[] = { all, X, Xn, Xm, yn, to_mean, to_variance };
        for (size_t i = 0; i < sizeof done / sizeof *done; i++) ct_release(done[i]);
        free(x);
    }
}

static void weak_priors_predict_better_from_few_noisy_rows(void **state)
{
    (void)state;
    double error[2], coverage[2];
    score_on_noise(CT_PRIORS_WEAK, &error[0], &coverage[0]);
    score_on_noise(CT_PRIORS_NONE, &error[1], &coverage[1]);
    assert_true(error[0] < error[1]);
    assert_true(coverage[0] > coverage[1]);
    assert_true(coverage[0] > 0.85);
}

/* y = sin x has no noise: the fit ends at the lower bound of the noise, which is lower with a prior. */
static void a_prior_on_the_noise_lowers_its_bound(void **state)
{
    (void)state;
    enum { n = 60 };
    const double below[] = { 1.001e-6, 1e-7 }, above[] = { 0.999e-6, 0.999e-8 };
    double x[n], y[n], mean = 0, variance = 0;
    for (int i = 0; i < n; i++) mean += (y[i] = sin(x[i] = 0.2 * i)) / n;
    for (int i = 0; i < n; i++) variance += (y[i] - mean) * (y[i] - mean) / n;
    ct_tensor *X = assert_tensor(ct_from(device, CT_F64, ct_shape2(n, 1), x), device);
    ct_tensor *t = assert_tensor(ct_from(device, CT_F64, ct_shape1(n), y), device);
    for (int k = 0; k < 2; k++) {
        ct_gp *gp = ct_gp_new(X, t, ct_kernel_parse("scale * rbf"),
                              &(ct_gp_options){ .priors = k ? CT_PRIORS_WEAK : CT_PRIORS_NONE });
        assert_gp(gp, device);
        assert_ok(ct_gp_fit(gp, &once), ct_message(device));
        double noise = gp_get(gp, "noise.variance") / variance;
        assert_true(noise < below[k]);
        assert_true(noise > above[k]);
        ct_gp_free(gp);
    }
    ct_release(X);
    ct_release(t);
}

/* Every row three times, no noise: the factorisation needs jitter, and says so. */
static void duplicates_without_noise(void **state)
{
    (void)state;
    enum { n = 30 };
    double x[n], y[n];
    for (int i = 0; i < n; i++) {
        x[i] = 0.1 * (i / 3);
        y[i] = sin(x[i]);
    }
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(n, 1), x), *t = ct_from(device, CT_F64, ct_shape1(n), y);
    ct_gp *gp = ct_gp_new(X, t, ct_kernel_parse("scale * rbf"), &(ct_gp_options){ .noise = CT_NOISE_NONE });
    assert_gp(gp, device);
    assert_int_equal(ct_gp_find(gp, "noise.variance"), -1);
    assert_ok(ct_gp_fit(gp, &once), ct_message(device));
    assert_true(ct_gp_jitter(gp) > 0);
    ct_fit_report r = ct_gp_report(gp);
    assert_true(r.jitter > 0 && r.jittered > 0);
    ct_tensor *m = ct_empty(device, CT_F64, ct_shape1(n)), *v = ct_empty(device, CT_F64, ct_shape1(n));
    assert_ok(ct_gp_predict(gp, X, m, v), ct_message(device));
    double *mean = gp_host(m), *variance = gp_host(v);
    for (int i = 0; i < n; i++) {
        assert_close(mean[i], y[i], 0, 1e-2);
        assert_true(variance[i] >= 0);
    }
    free(mean);
    free(variance);
    ct_release(m);
    ct_release(v);
    ct_gp_free(gp);
    ct_release(X);
    ct_release(t);
}

static void constant_columns_and_outputs(void **state)
{
    (void)state;
    ct_tensor *X = tensor2(device, 4, 2, 0.0, 7, 1, 7, 2, 7, 3, 7), *y = tensor1(device, 4, 5.0, 5, 5, 5);
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("scale * rbf(ard)"), NULL);
    assert_gp(gp, device);
    assert_ok(ct_gp_fit(gp, &once), ct_message(device));
    ct_tensor *m = ct_empty(device, CT_F64, ct_shape1(4)), *v = ct_empty(device, CT_F64, ct_shape1(4));
    assert_ok(ct_gp_predict(gp, X, m, v), ct_message(device));
    assert_elements(m, 1e-9, 0, 5, 5, 5, 5);
    double *variance = gp_host(v);
    for (int i = 0; i < 4; i++) assert_true(variance[i] >= 0 && variance[i] < 1e-2);
    free(variance);
    ct_release(m);
    ct_release(v);
    ct_gp_free(gp);
    ct_release(X);
    ct_release(y);
}

static void one_row(void **state)
{
    (void)state;
    ct_tensor *X = tensor2(device, 1, 2, 3.0, 7), *y = tensor1(device, 1, 5.0);
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("scale * rbf(ard)"), NULL);
    assert_gp(gp, device);
    assert_failed(ct_gp_fit(gp, NULL), device, CT_EINVAL, "one row");
    ct_tensor *m = ct_empty(device, CT_F64, ct_shape1(1));
    assert_ok(ct_gp_predict(gp, X, m, NULL), ct_message(device));
    assert_elements(m, 1e-12, 0, 5);
    ct_release(m);
    ct_gp_free(gp);
    ct_release(X);
    ct_release(y);
}

static void extreme_scales(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 40, 2);
    double *x = gp_host(s.X), a, b, plain = fitted(&s, NULL, &a);
    for (int i = 0; i < 80; i++) x[i] = 1e9 * x[i] + 1e11;
    for (int i = 0; i < 40; i++) s.y_host[i] = 1e-7 * s.y_host[i] + 1e-3;
    ct_release(s.X);
    ct_release(s.y);
    s.X = ct_from(device, CT_F64, ct_shape2(40, 2), x);
    s.y = ct_from(device, CT_F64, ct_shape1(40), s.y_host);
    double scaled = fitted(&s, NULL, &b);
    assert_close(b, 1e9 * a, 1e-3, 0);
    assert_close(scaled, plain + 40 * log(1e-7), 1e-6, 0);
    free(x);
    gp_data_free(&s);
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 10, 2);
    ct_gp *gp = ct_gp_new(s.X, s.y, ct_kernel_parse("scale * rbf"), NULL);
    const ct_fit_options bad[] = { { .restarts = -2 },      { .max_iterations = -1 },
                                   { .tolerance = -1 },     { .tolerance = NAN },
                                   { .learning_rate = -1 }, { .optimizer = (ct_optimizer)77 } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_status(ct_gp_fit(gp, &bad[i]), CT_EINVAL, ct_message(device));
    if (!ct__lbfgs.run)
        assert_status(ct_gp_fit(gp, &(ct_fit_options){ .optimizer = CT_OPTIMIZER_LBFGS }), CT_EUNSUPPORTED,
                      "");
    ct_gp_free(gp);
    gp_data_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recovers_known_parameters),
        cmocka_unit_test(the_same_seed_gives_the_same_fit),
        cmocka_unit_test(a_sine_is_no_noise),
        cmocka_unit_test(restarts_where_they_cost_little),
        cmocka_unit_test(a_given_start_is_no_narrower),
        cmocka_unit_test(adam_comes_near_lbfgs),
        cmocka_unit_test(single_precision_fits),
        cmocka_unit_test(the_callback_stops_it),
        cmocka_unit_test(fixed_stays_and_bounds_hold),
        cmocka_unit_test(a_limit_of_iterations_is_kept_and_told),
        cmocka_unit_test(priors_pull),
        cmocka_unit_test(weak_priors_predict_better_from_few_noisy_rows),
        cmocka_unit_test(a_prior_on_the_noise_lowers_its_bound),
        cmocka_unit_test(duplicates_without_noise),
        cmocka_unit_test(constant_columns_and_outputs),
        cmocka_unit_test(one_row),
        cmocka_unit_test(extreme_scales),
        cmocka_unit_test(bad_options_are_refused),
    };
    return cmocka_run_group_tests(tests, open_check_device, close_device);
}
