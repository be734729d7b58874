/* ct_gp_choose and ct_gp_calibrate_variance: the choice on data of a known kind, the report of it, refusals,
 * and failing allocations. */
#include "gp_device.h"

#include "alloc.h"
#include "gp/data/rows.h"

static const ct_gp_options weak = { .priors = CT_PRIORS_WEAK };

/* y_i = f(x_i) + level e_i at n uniform rows of [0, 1]^d, from a fixed seed. */
static gp_data made(int64_t n, int64_t d, double level, double (*f)(const double *x, int64_t d))
{
    gp_data s = { .device = device, .n = n, .d = d };
    s.X = assert_tensor(ct_rand_uniform(device, CT_F64, ct_shape2(n, d), 5, 0), device);
    ct_tensor *e = assert_tensor(ct_rand_normal(device, CT_F64, ct_shape1(n), 5, 1), device);
    double *x = gp_host(s.X);
    s.y_host = gp_host(e);
    for (int64_t i = 0; i < n; i++) s.y_host[i] = f(x + i * d, d) + level * s.y_host[i];
    s.y = assert_tensor(ct_from(device, CT_F64, ct_shape1(n), s.y_host), device);
    ct_release(e);
    free(x);
    return s;
}

static double plane(const double *x, int64_t d)
{
    double y = 0;
    for (int64_t j = 0; j < d; j++) y += (double)(j + 1) * x[j];
    return y;
}

static double wave(const double *x, int64_t d)
{
    (void)d;
    return sin(40 * x[0]);
}

static double steep(const double *x, int64_t d)
{
    (void)d;
    return exp(6 * x[0] * x[1]);
}

/* Rough along the first column alone. */
static double steps(const double *x, int64_t d)
{
    (void)d;
    return floor(8 * x[0]) * (fmod(floor(8 * x[0]), 2) ? 1 : -1);
}

static ct_gp *chosen(const gp_data *s, const ct_gp_choose_options *options, ct_gp_choice *choice)
{
    ct_gp *gp;
    ct_status status = ct_gp_choose(s->X, s->y, &weak, options, &gp, choice);
    assert_ok(status, ct_message(device));
    assert_gp(gp, device);
    return gp;
}

static const char *best_of(const ct_gp_choice *choice) { return choice->tried[choice->best].kernel; }

/* -- what is chosen -------------------------------------------------------------------------------------- */

static void few_parameters_where_the_columns_are_alike(void **state)
{
    (void)state;
    gp_data s = made(60, 6, 0.5, plane);
    for (int loo = 0; loo < 2; loo++) {
        ct_gp_choice choice;
        ct_gp_choose_options options = { .fit = { .objective =
                                                      loo ? CT_OBJECTIVE_LOO : CT_OBJECTIVE_LIKELIHOOD } };
        ct_gp *gp = chosen(&s, &options, &choice);
        assert_string_equal(best_of(&choice), loo ? "scale * matern32" : "linear + scale * matern32");
        assert_int_equal(ct_gp_params(gp), loo ? 4 : 5);
        ct_gp_free(gp);
    }
    gp_data_free(&s);
}

static void a_lengthscale_each_where_one_column_matters(void **state)
{
    (void)state;
    gp_data s = made(90, 4, 0.1, steps);
    ct_gp_choice choice;
    ct_gp_free(chosen(&s, NULL, &choice));
    assert_non_null(strstr(best_of(&choice), "scale * matern32(ard)"));
    gp_data_free(&s);
}

static void what_the_caller_names(void **state)
{
    (void)state;
    const ct_gp_candidate candidates[] = { { "scale * rbf(lengthscale=3!)", NULL },
                                           { "scale * periodic(period=0.157)", NULL },
                                           { "scale * linear", NULL } };
    gp_data s = made(50, 1, 0.1, wave);
    ct_gp_choice choice;
    ct_gp *gp = chosen(&s, &(ct_gp_choose_options){ .candidates = candidates, .n_candidates = 3 }, &choice);
    assert_int_equal(choice.count, 3);
    assert_int_equal(choice.best, 1);
    assert_true(best_of(&choice) == candidates[1].kernel);
    char text[64];
    ct_kernel_print(ct_gp_kernel(gp), false, text, sizeof text);
    assert_string_equal(text, "scale * periodic");
    ct_gp_free(gp);
    gp_data_free(&s);
}

/* -- what is reported ------------------------------------------------------------------------------------ */

static void the_choice_is_the_lowest_aicc(void **state)
{
    (void)state;
    gp_data s = made(70, 3, 0.2, plane);
    for (int loo = 0; loo < 2; loo++) {
        ct_gp_choice choice;
        ct_gp_choose_options options = {
            .fit = { .restarts = 1, .objective = loo ? CT_OBJECTIVE_LOO : CT_OBJECTIVE_LIKELIHOOD }
        };
        ct_gp *gp = chosen(&s, &options, &choice);
        int evaluations = 0, iterations = 0;
        assert_int_equal(choice.count, 4);
        assert_int_equal(choice.rows, 70);
        assert_int_equal(choice.starts, 3 * 2 + 1); /* from the end of another candidate there is one */
        assert_true(choice.seconds > 0 && choice.variance_factor >= 1 && !choice.calibration);
        for (int k = 0; k < choice.count; k++) {
            const ct_gp_tried *t = &choice.tried[k];
            double m = (double)t->parameters * (loo ? 2 : 1);
            assert_true(!t->status && !t->too_few_rows && t->end);
            assert_close(t->criterion, 2 * (t->objective + 70 * m / (69 - m)), 1e-14, 0);
            assert_true(t->criterion >= choice.tried[choice.best].criterion);
            evaluations += t->evaluations;
            iterations += t->iterations;
        }
        assert_int_equal(evaluations, choice.evaluations);
        assert_int_equal(iterations, choice.iterations);
        assert_string_equal(choice.tried[3].from, choice.tried[1].kernel);
        assert_close(ct_gp_report(gp).objective, choice.tried[choice.best].objective, 0, 0);
        assert_true(isfinite(ct_gp_nlml_value(gp)));
        ct_gp_free(gp);
    }
    gp_data_free(&s);
}

/* One lengthscale for all columns is left out where it saves no parameter. */
static void no_more_candidates_than_differ(void **state)
{
    (void)state;
    for (int64_t d = 1; d <= 3; d++)
        for (int loo = 0; loo < 2; loo++) {
            gp_data s = made(60, d, 0.2, plane);
            ct_gp_choice choice;
            ct_gp_choose_options options = {
                .fit = { .max_iterations = 1, .objective = loo ? CT_OBJECTIVE_LOO : CT_OBJECTIVE_LIKELIHOOD }
            };
            ct_gp_free(chosen(&s, &options, &choice));
            assert_int_equal(choice.count, d > (loo ? 1 : 2) ? 4 : 3);
            for (int k = 1; k < choice.count; k++)
                assert_true(choice.tried[k].parameters >= choice.tried[k - 1].parameters);
            gp_data_free(&s);
        }
}

/* Fewer than 60 rows have a simpler candidate, too. */
static void few_rows_have_a_simple_candidate(void **state)
{
    (void)state;
    for (int64_t d = 1; d <= 3; d++) {
        gp_data s = made(20, d, 1, plane);
        ct_gp_choice choice;
        ct_gp_free(chosen(&s, &(ct_gp_choose_options){ .fit = { .max_iterations = 1 } }, &choice));
        assert_int_equal(choice.count, 5);
        assert_string_equal(choice.tried[0].kernel, "linear");
        for (int k = 1; k < choice.count; k++)
            assert_true(choice.tried[k].parameters > choice.tried[0].parameters);
        gp_data_free(&s);
    }
}

static void too_few_rows_for_the_parameters(void **state)
{
    (void)state;
    gp_data s = made(8, 5, 0.2, plane);
    ct_gp_choice choice;
    ct_gp_free(chosen(&s, NULL, &choice)); /* 3, 5, 8, 14 and 14 parameters */
    assert_int_equal(choice.count, 5);
    assert_int_equal(choice.best, 0);
    for (int k = 0; k < 5; k++) {
        const ct_gp_tried *t = &choice.tried[k];
        assert_int_equal(t->too_few_rows, k > 1);
        assert_int_equal(t->status, k > 1 ? CT_EINVAL : CT_OK);
        assert_int_equal(t->evaluations > 0, k <= 1);
        assert_int_equal(isfinite(t->criterion), k <= 1);
    }
    gp_data_free(&s);
    s = made(3, 5, 0.2, plane); /* the smallest candidate always stays */
    ct_gp_free(chosen(&s, NULL, &choice));
    assert_true(choice.best == 0 && !choice.tried[0].status && isinf(choice.tried[0].criterion));
    gp_data_free(&s);
}

/* -- searches -------------------------------------------------------------------------------------------- */

typedef struct watch {
    ct_gp_choice choice;
    double last[32], first[32]; /* the lowest point of candidate 0, the first of candidate 1 */
    double lowest;
    int models, calls, stop_at;
    bool all_rows, late;
} watch;

static int on_step(void *context, const ct_fit_progress *p)
{
    watch *w = context;
    if (w->stop_at && w->calls >= w->stop_at) w->late = true;
    w->calls++;
    w->models |= 1 << p->model;
    w->all_rows |= p->model == w->choice.count;
    if (p->model == 0 && p->objective < w->lowest) {
        w->lowest = p->objective;
        memcpy(w->last, p->parameters, (size_t)p->n_parameters * sizeof *w->last);
    }
    if (p->model == 1 && p->evaluation == 1)
        memcpy(w->first, p->parameters, (size_t)p->n_parameters * sizeof *w->first);
    return w->calls == w->stop_at;
}

static void a_search_begins_where_another_ended(void **state)
{
    (void)state;
    const ct_gp_candidate candidates[] = {
        { "scale * matern32", NULL }, { "scale * matern32 + scale * rbf + constant(5!)", "scale * matern32" }
    };
    gp_data s = made(40, 2, 0.1, steep);
    watch w = { .lowest = INFINITY };
    const ct_gp_choose_options options = { .candidates = candidates,
                                           .n_candidates = 2,
                                           .fit = { .progress = on_step, .context = &w } };
    ct_gp_free(chosen(&s, &options, &w.choice));
    assert_int_equal(w.models, 3);
    assert_close(w.first[0], w.last[0], 1e-12, 0);      /* scale.variance    */
    assert_close(w.first[1], w.last[1], 1e-12, 0);      /* its lengthscale   */
    assert_close(w.first[2], w.last[0] / 10, 1e-12, 0); /* scale#2.variance  */
    assert_close(w.first[4], 5, 1e-12, 0);              /* fixed             */
    assert_close(w.first[5], w.last[2], 1e-12, 0);      /* noise.variance    */
    assert_close(w.first[6], w.last[3], 1e-12, 1e-12);  /* mean.constant     */
    gp_data_free(&s);
}

static void some_rows_choose_for_all(void **state)
{
    (void)state;
    gp_data s = made(90, 3, 0.1, plane);
    watch w = { .lowest = INFINITY };
    ct_gp_choose_options options = { .rows = 30, .fit = { .seed = 1, .progress = on_step, .context = &w } };
    ct_gp *gp = chosen(&s, &options, &w.choice), *again = chosen(&s, &options, &w.choice);
    assert_int_equal(w.choice.rows, 30);
    assert_int_equal(ct_gp_points(gp), 90);
    assert_true(w.all_rows);
    assert_true(ct_gp_nlml_value(gp) == ct_gp_nlml_value(again)); /* the same seed, the same bits */
    ct_gp_free(again);
    double first = w.choice.tried[0].objective;
    options.fit.seed = 2;
    again = chosen(&s, &options, &w.choice);
    assert_true(w.choice.tried[0].objective != first);
    ct_gp_free(again);
    ct_gp_free(gp);

    /* given noise goes with its rows */
    ct_tensor *noise = assert_tensor(ct_full(device, CT_F64, ct_shape1(90), 0.01), device);
    const ct_gp_options given = { .noise = CT_NOISE_GIVEN, .noise_variances = noise };
    assert_ok(ct_gp_choose(s.X, s.y, &given, &options, &gp, &w.choice), ct_message(device));
    assert_int_equal(ct_gp_points(gp), 90);
    assert_int_equal(w.choice.calibration, CT_EUNSUPPORTED);
    assert_true(w.choice.variance_factor == 1);
    ct_gp_free(gp);
    ct_release(noise);

    /* f32 stays f32 */
    ct_tensor *X = assert_tensor(ct_tensor_cast(s.X, CT_F32), device);
    assert_ok(ct_gp_choose(X, s.y, NULL, &options, &gp, NULL), ct_message(device));
    assert_int_equal(ct_gp_dtype(gp), CT_F32);
    ct_gp_free(gp);
    ct_release(X);
    gp_data_free(&s);
}

/* One row from each of equal stretches: none twice, also where their number does not divide the table's. */
static void no_row_is_drawn_twice(void **state)
{
    (void)state;
    for (int64_t n = 2; n < 40; n++)
        for (int64_t rows = 1; rows < n; rows++) {
            int64_t *row = ct__gp_draw_rows(device, n, rows, 7);
            assert_non_null(row);
            for (int64_t i = 0; i < rows; i++)
                assert_true(i * n / rows <= row[i] && row[i] < (i + 1) * n / rows);
            free(row);
        }
}

/* Whenever the callback asks to stop there is a model, and the callback is not called again. */
static void a_choice_can_be_stopped(void **state)
{
    (void)state;
    gp_data s = made(40, 3, 0.1, plane);
    for (int rows = 0; rows <= 20; rows += 20)
        for (int stop_at = 1; stop_at < 200; stop_at += 1 + stop_at / 2) {
            watch w = { .lowest = INFINITY, .stop_at = stop_at };
            const ct_gp_choose_options options = {
                .rows = rows, .fit = { .max_iterations = 4, .progress = on_step, .context = &w }
            };
            ct_gp *gp;
            ct_status status = ct_gp_choose(s.X, s.y, &weak, &options, &gp, &w.choice);
            assert_gp(gp, device);
            assert_status(status, w.calls < stop_at ? CT_OK : CT_ESTOPPED, ct_message(device));
            assert_false(w.late);
            assert_true(w.choice.best >= 0 && isfinite(w.choice.tried[w.choice.best].objective));
            assert_true(isfinite(ct_gp_report(gp).objective) && isfinite(ct_gp_nlml_value(gp)));
            assert_true(ct_gp_points(gp) == 40 || (status && ct_gp_points(gp) == rows));
            if (status) assert_true(w.choice.variance_factor == 1);
            ct_gp_free(gp);
        }
    gp_data_free(&s);
}

/* -- what is refused ------------------------------------------------------------------------------------- */

static void refuse(const gp_data *s, const ct_gp_choose_options *options, ct_status status, const char *text)
{
    ct_gp_choice choice;
    ct_gp *gp = (ct_gp *)&choice;
    assert_failed(ct_gp_choose(s->X, s->y, &weak, options, &gp, &choice), device, status, text);
    assert_status(ct_last_status(device), status, ct_message(device));
    assert_null(gp);
    assert_int_equal(choice.best, -1);
}

static void refusals(void **state)
{
    (void)state;
    gp_data s = made(12, 2, 0.1, plane), one = made(1, 2, 0.1, plane);
    ct_gp *gp;
    const ct_gp_candidate unknown[] = { { "rbf", NULL }, { "rbf", "matern32" } },
                          itself[] = { { "scale * rbf", "scale * rbf" } },
                          bad[] = { { "rbf", NULL }, { "rbff", NULL } }, absent[] = { { NULL, NULL } };
    assert_status(ct_gp_choose(NULL, NULL, NULL, NULL, &gp, NULL), CT_EINVAL, "");
    assert_null(gp);
    assert_failed(ct_gp_choose(s.X, NULL, NULL, NULL, &gp, NULL), device, CT_EINVAL, "NULL");
    assert_failed(ct_gp_choose(NULL, s.y, NULL, NULL, &gp, NULL), device, CT_EINVAL, "NULL");
    assert_failed(ct_gp_choose(s.X, s.y, NULL, NULL, NULL, NULL), device, CT_EINVAL, "NULL");
    assert_failed(ct_gp_choose(s.X, one.y, NULL, NULL, &gp, NULL), device, CT_ESHAPE, "rows");
    assert_failed(ct_gp_choose(s.X, one.y, NULL, &(ct_gp_choose_options){ .rows = 4 }, &gp, NULL), device,
                  CT_ESHAPE, "rows");
    assert_failed(ct_gp_choose(s.y, s.y, NULL, NULL, &gp, NULL), device, CT_ESHAPE, "(n, d)");
    refuse(&one, NULL, CT_EINVAL, "at least 2");
    refuse(&s, &(ct_gp_choose_options){ .rows = 1 }, CT_EINVAL, "1 rows");
    refuse(&s, &(ct_gp_choose_options){ .rows = -1 }, CT_EINVAL, "-1 rows");
    refuse(&s, &(ct_gp_choose_options){ .n_candidates = 2 }, CT_EINVAL, "2 candidates");
    refuse(&s, &(ct_gp_choose_options){ .n_candidates = -1 }, CT_EINVAL, "-1 candidates");
    refuse(&s, &(ct_gp_choose_options){ .candidates = bad, .n_candidates = 17 }, CT_EINVAL, "at most 16");
    refuse(&s, &(ct_gp_choose_options){ .candidates = absent, .n_candidates = 1 }, CT_EINVAL,
           "a kernel each");
    refuse(&s, &(ct_gp_choose_options){ .candidates = unknown, .n_candidates = 2 }, CT_EINVAL, "matern32");
    refuse(&s, &(ct_gp_choose_options){ .candidates = itself, .n_candidates = 1 }, CT_EINVAL,
           "not an earlier one");
    refuse(&s, &(ct_gp_choose_options){ .candidates = bad, .n_candidates = 2 }, CT_EFORMAT, "rbff");
    refuse(&s, &(ct_gp_choose_options){ .fit = { .restarts = INT32_MAX } }, CT_EINVAL, "option");
    refuse(&s, &(ct_gp_choose_options){ .fit = { .objective = 7 } }, CT_EINVAL, "option");
    gp_data_free(&s);
    gp_data_free(&one);
}

/* Without noise `linear` is 0 at rows that are all the same, so that candidate has no model, and neither has
 * one that begins where it ends. One candidate with a model is enough. */
static void candidates_without_a_model(void **state)
{
    (void)state;
    const ct_gp_candidate candidates[] = { { "linear", NULL },
                                           { "linear + linear", "linear" },
                                           { "scale * rbf", NULL } };
    const ct_gp_options exact = { .noise = CT_NOISE_NONE };
    gp_data s = made(8, 1, 0.1, plane);
    ct_tensor *same = assert_tensor(ct_full(device, CT_F64, ct_shape2(8, 1), 3), device);
    ct_gp_choice choice;
    ct_gp *gp;
    for (int rows = 0; rows <= 4; rows += 4) {
        ct_gp_choose_options options = { .candidates = candidates, .n_candidates = 2, .rows = rows };
        assert_failed(ct_gp_choose(same, s.y, &exact, &options, &gp, &choice), device, CT_ENUMERIC, "noise");
        assert_null(gp);
        assert_true(choice.best == -1 && choice.rows == 8); /* all rows were asked */
        for (int k = 0; k < 2; k++)
            assert_true(choice.tried[k].status == CT_ENUMERIC && isinf(choice.tried[k].criterion));
        options.n_candidates = 3;
        assert_ok(ct_gp_choose(same, s.y, &exact, &options, &gp, &choice), ct_message(device));
        assert_int_equal(choice.best, 2);
        ct_gp_free(gp);
    }
    ct_release(same);
    gp_data_free(&s);
}

/* -- calibration ----------------------------------------------------------------------------------------- */

/* Sum of squares of the standardised leave-one-out residuals over the rows less the free parameters, and the
 * predicted means. */
static double square(ct_gp *gp, const gp_data *s, double *means)
{
    ct_tensor *m = ct_empty(device, CT_F64, ct_shape1(s->n)), *v = ct_empty(device, CT_F64, ct_shape1(s->n));
    assert_ok(ct_gp_loo(gp, m, v, NULL), ct_message(device));
    double *mean = gp_host(m), *variance = gp_host(v), sum = 0;
    for (int64_t i = 0; i < s->n; i++) {
        double e = s->y_host[i] - mean[i];
        sum += e * e / variance[i];
        means[i] = mean[i];
    }
    free(mean);
    free(variance);
    ct_release(m);
    ct_release(v);
    double n = (double)s->n, p = 0;
    for (int64_t i = 0; i < ct_gp_params(gp); i++) p += !ct_gp_param(gp, i)->fixed;
    return sum / fmax(n - p, n / 2);
}

static void calibration_fits_the_residuals(void **state)
{
    (void)state;
    static const char *const kernels[] = { "scale(0.5) * rbf", "linear(ard) + scale(0.1) * matern32(ard)",
                                           "rbf * (scale(0.2) * matern32 + constant(2)) + white(0.3)",
                                           "scale(2!) * linear", "rbf * linear * scale(0.2) * periodic" };
    gp_data s = made(30, 2, 0.3, steep);
    double before[30], after[30];
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        ct_gp *gp = gp_of(&s, kernels[k], NULL);
        gp_set(gp, "noise.variance", 0.01, false);
        double c = square(gp, &s, before), factor;
        assert_true(c > 1.01);
        assert_ok(ct_gp_calibrate_variance(gp, &factor), ct_message(device));
        assert_close(factor, c, 1e-9, 0);
        assert_close(square(gp, &s, after), 1, 1e-7, 0);
        for (int i = 0; i < 30; i++) assert_close(after[i], before[i], 1e-6, 1e-6);
        assert_ok(ct_gp_calibrate_variance(gp, &factor), ct_message(device));
        assert_true(factor == 1); /* nothing is left to do */
        ct_gp_free(gp);
    }
    ct_gp *gp = gp_of(&s, "scale * rbf", NULL); /* intervals that are too wide are left alone */
    gp_set(gp, "noise.variance", 1e8, false);
    double factor;
    assert_ok(ct_gp_calibrate_variance(gp, &factor), ct_message(device));
    assert_true(factor == 1 && gp_get(gp, "noise.variance") == 1e8);
    assert_ok(ct_gp_calibrate_variance(gp, NULL), ct_message(device));
    ct_gp_free(gp);
    gp_data_free(&s);
}

static void what_cannot_be_calibrated_stays(void **state)
{
    (void)state;
    static const char *const kernels[] = { "rbf", "scale * rbf + poly", "scale(2!) * rbf",
                                           "scale * rbf + linear(lengthscale=1!)" };
    gp_data s = made(20, 2, 0.3, steep);
    double factor;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        ct_gp *gp = gp_of(&s, kernels[k], NULL);
        assert_failed(ct_gp_calibrate_variance(gp, &factor), device, CT_EUNSUPPORTED, "scale");
        assert_true(isnan(factor));
        ct_gp_free(gp);
    }
    ct_gp *gp = gp_of(&s, "scale(0.5) * rbf", NULL);
    gp_set(gp, "noise.variance", 0.01, true);
    assert_failed(ct_gp_calibrate_variance(gp, &factor), device, CT_EUNSUPPORTED, "noise");
    ct_param p = *ct_gp_param(gp, ct_gp_find(gp, "noise.variance"));
    p.fixed = false;
    p.upper = 0.0101;
    assert_ok(ct_gp_set_param(gp, ct_gp_find(gp, "noise.variance"), &p), ct_message(device));
    assert_failed(ct_gp_calibrate_variance(gp, &factor), device, CT_EINVAL, "noise.variance");
    assert_true(gp_get(gp, "scale.variance") == 0.5 && gp_get(gp, "noise.variance") == 0.01);
    assert_status(ct_gp_calibrate_variance(NULL, &factor), CT_EINVAL, "");
    ct_gp_free(gp);
    gp_data_free(&s);
}

static void a_choice_is_calibrated_unless_as_fitted(void **state)
{
    (void)state;
    gp_data s = made(60, 2, 0, steep);
    double means[60];
    for (int as_fitted = 0; as_fitted < 2; as_fitted++) {
        ct_gp_choice choice;
        ct_gp *gp = chosen(&s, &(ct_gp_choose_options){ .as_fitted = as_fitted }, &choice);
        double c = square(gp, &s, means);
        assert_true(as_fitted ? choice.variance_factor == 1 && c > 1.01 : choice.variance_factor > 1.01);
        if (!as_fitted) assert_close(c, 1, 1e-6, 0);
        ct_gp_free(gp);
    }
    gp_data_free(&s);
}

/* -- memory ---------------------------------------------------------------------------------------------- */

typedef struct job {
    ct_device *device;
    gp_data data;
    ct_tensor *noise;
    ct_gp *gp;
} job;

static ct_status all_rows(job *j, ct_gp **gp)
{
    const ct_gp_choose_options options = { .fit = { .max_iterations = 1 } };
    return ct_gp_choose(j->data.X, j->data.y, NULL, &options, gp, NULL);
}

static ct_status some_rows(job *j, ct_gp **gp)
{
    const ct_gp_options given = { .noise = CT_NOISE_GIVEN_PLUS, .noise_variances = j->noise };
    const ct_gp_candidate candidates[] = { { "scale * rbf", NULL },
                                           { "scale * rbf + linear", "scale * rbf" } };
    const ct_gp_choose_options options = {
        .candidates = candidates, .n_candidates = 2, .rows = 6, .fit = { .max_iterations = 1 }
    };
    return ct_gp_choose(j->data.X, j->data.y, &given, &options, gp, NULL);
}

static ct_status calibrated(job *j, ct_gp **gp)
{
    *gp = NULL;
    return ct_gp_calibrate_variance(j->gp, NULL);
}

static void run(ct_status (*call)(job *, ct_gp **))
{
    for (int64_t k = 1; k < 20000; k++) {
        job j = { .device = ct_device_open_with("cpu", &(ct_device_options){ .threads = 1 }) };
        assert_ok(ct_device_status(j.device), ct_message(j.device));
        j.data = gp_data_new(j.device, CT_F64, 12, 1);
        j.noise = assert_tensor(ct_full(j.device, CT_F64, ct_shape1(12), 0.1), j.device);
        j.gp = gp_of(&j.data, "scale * rbf", NULL);
        if (k % 2) ct_memory_trim(j.device);
        double before = gp_get(j.gp, "scale.variance");
        ct_gp *gp = j.gp;
        alloc_fail_at(k);
        ct_status s = call(&j, &gp);
        bool refused = alloc_refused();
        alloc_unwatch();
        if (!refused) assert_ok(s, ct_message(j.device));
        if (s) {
            assert_status(s, CT_ENOMEM, ct_message(j.device));
            assert_status(ct_last_status(j.device), CT_ENOMEM, ct_message(j.device));
            assert_null(gp);
            assert_true(gp_get(j.gp, "scale.variance") == before);
        }
        if (gp) assert_true(isfinite(ct_gp_nlml_value(gp)));
        assert_true(isfinite(ct_gp_nlml_value(j.gp)));
        ct_gp_free(gp);
        ct_gp_free(j.gp);
        gp_data_free(&j.data);
        ct_release(j.noise);
        assert_int_equal(ct_memory(j.device).bytes_now, 0);
        ct_device_close(j.device);
        if (!refused) return;
    }
    fail_msg("no end of allocations");
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    run(calibrated);
    run(some_rows);
    run(all_rows);
}

/* Once the device's pool is filled, a choice leaves nothing behind but its model. */
static void nothing_leaks(void **state)
{
    (void)state;
    gp_data s = made(25, 3, 0.1, plane);
    const ct_gp_choose_options options = { .rows = 12, .fit = { .max_iterations = 3 } };
    uint64_t bytes = ct_memory(device).bytes_now;
    for (int turn = 0; turn < 3; turn++) {
        alloc_watch();
        ct_gp_free(chosen(&s, &options, NULL));
        int64_t live = alloc_live();
        alloc_unwatch();
        if (turn) assert_int_equal(live, 0);
        assert_int_equal(ct_memory(device).bytes_now, bytes);
    }
    gp_data_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_parameters_where_the_columns_are_alike),
        cmocka_unit_test(a_lengthscale_each_where_one_column_matters),
        cmocka_unit_test(what_the_caller_names),
        cmocka_unit_test(the_choice_is_the_lowest_aicc),
        cmocka_unit_test(no_more_candidates_than_differ),
        cmocka_unit_test(few_rows_have_a_simple_candidate),
        cmocka_unit_test(too_few_rows_for_the_parameters),
        cmocka_unit_test(a_search_begins_where_another_ended),
        cmocka_unit_test(some_rows_choose_for_all),
        cmocka_unit_test(no_row_is_drawn_twice),
        cmocka_unit_test(a_choice_can_be_stopped),
        cmocka_unit_test(refusals),
        cmocka_unit_test(candidates_without_a_model),
        cmocka_unit_test(calibration_fits_the_residuals),
        cmocka_unit_test(what_cannot_be_calibrated_stays),
        cmocka_unit_test(a_choice_is_calibrated_unless_as_fitted),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(nothing_leaks),
    };
    return cmocka_run_group_tests(tests, open_cpu, close_device);
}
