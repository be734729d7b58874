/* Noise that differs from row to row: given, learned for each level, a function of the inputs. */
#include "gp_device.h"

#include <cotangent/ops.h>

#include "reference/noise_tables.h"

enum { KINDS = sizeof noise_table / sizeof *noise_table };

/* What a model of that kind is given of rows `first` to `end`, or of the new ones; NULL for nothing. */
static ct_tensor *given_of(ct_gp_noise kind, int64_t first, int64_t end)
{
    const double *x = kind == CT_NOISE_BY_LEVEL                               ? noise_level
                      : kind == CT_NOISE_GIVEN || kind == CT_NOISE_GIVEN_PLUS ? noise_given
                                                                              : NULL;
    return x ? tensor(CT_F64, ct_shape1(end - first), x + first) : NULL;
}

static ct_tensor *given_new(ct_gp_noise kind)
{
    const double *x = kind == CT_NOISE_BY_LEVEL                               ? noise_level_new
                      : kind == CT_NOISE_GIVEN || kind == CT_NOISE_GIVEN_PLUS ? noise_given_new
                                                                              : NULL;
    return x ? tensor(CT_F64, ct_shape1(NOISE_NEW), x) : NULL;
}

/* The table's first rows; the options' noise is of this kind. */
static ct_gp *model_of(ct_gp_noise kind, int64_t rows, ct_dtype dtype, ct_gp_options options)
{
    ct_tensor *X = tensor(dtype, ct_shape2(rows, 2), noise_X), *y = tensor(dtype, ct_shape1(rows), noise_y);
    ct_tensor *given = given_of(kind, 0, rows);
    options.noise = kind;
    if (kind == CT_NOISE_BY_LEVEL)
        options.noise_levels = given;
    else
        options.noise_variances = given;
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("scale * rbf(ard)"), &options);
    ct_release(X), ct_release(y), ct_release(given);
    assert_gp(gp, device);
    return gp;
}

static void set_values(ct_gp *gp, const double *value, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        ct_param p = *ct_gp_param(gp, i);
        p.value = value[i];
        assert_ok(ct_gp_set_param(gp, i, &p), ct_message(device));
    }
}

/* The table's model, at its parameters. */
static ct_gp *reference_model(const noise_row *row, ct_dtype dtype)
{
    ct_gp *gp = model_of(row->kind, NOISE_POINTS, dtype,
                         (ct_gp_options){ .mean = CT_MEAN_ZERO, .standardize = CT_STANDARDIZE_NONE });
    assert_int_equal(ct_gp_params(gp), 3 + row->n_noise);
    set_values(gp, row->value, 3 + row->n_noise);
    return gp;
}

static ct_tensor *new_points(void) { return tensor(CT_F64, ct_shape2(NOISE_NEW, 2), noise_Xs); }

static void near_all(const char *what, const ct_tensor *t, const double *wanted, int64_t n, int64_t stride,
                     double tolerance)
{
    double *x = gp_host(t);
    for (int64_t i = 0; i < n; i++)
        if (!check_close(x[i * stride], wanted[i], tolerance, tolerance)) {
            print_error("%s, entry %d: %.17g is not %.17g\n", what, (int)i, x[i * stride], wanted[i]);
            fail();
        }
    free(x);
}

/* -- against NumPy --------------------------------------------------------------------------------------- */

static void point_of(const noise_row *row, double u[6])
{
    for (int i = 0; i < 3 + row->n_noise; i++)
        u[i] = i >= 3 && row->kind == CT_NOISE_LOG_LINEAR ? row->value[i] : log(row->value[i]);
}

static void likelihood_and_gradient(void **state)
{
    (void)state;
    for (int r = 0; r < KINDS; r++)
        for (int narrow = 0; narrow < 2; narrow++) {
            const noise_row *row = &noise_table[r];
            const double tolerance = narrow ? 2e-4 : 1e-9;
            ct_gp *gp = reference_model(row, narrow ? CT_F32 : CT_F64);
            double u[6], value, gradient[6];
            point_of(row, u);
            assert_ok(ct_gp_objective(gp, u, &value, gradient), ct_message(device));
            assert_close(value, row->nlml, tolerance, 0);
            for (int i = 0; i < 3 + row->n_noise; i++)
                assert_close(gradient[i], row->gradient[i], tolerance, tolerance);
            assert_close(ct_gp_nlml_value(gp), row->nlml, tolerance, 0);
            ct_gp_free(gp);
        }
}

/* Means, variances without and with noise, and what the noise is at new points. */
static void predictions(void **state)
{
    (void)state;
    for (int r = 0; r < KINDS; r++) {
        const noise_row *row = &noise_table[r];
        ct_gp *gp = reference_model(row, CT_F64);
        ct_tensor *Xs = new_points(), *given = given_new(row->kind);
        ct_tensor *mean = ct_empty(device, CT_F64, ct_shape1(NOISE_NEW)),
                  *variance = ct_empty(device, CT_F64, ct_shape1(NOISE_NEW)),
                  *C = ct_empty(device, CT_F64, ct_shape2(NOISE_NEW, NOISE_NEW));
        double average[NOISE_NEW], noisy[NOISE_NEW];
        for (int i = 0; i < NOISE_NEW; i++) {
            average[i] = row->kind == CT_NOISE_LOG_LINEAR ? row->noise[i] : row->average;
            noisy[i] = row->variance[i] + average[i];
        }
        assert_ok(ct_gp_predict(gp, Xs, mean, variance), ct_message(device));
        near_all("mean", mean, row->mean, NOISE_NEW, 1, 1e-9);
        near_all("variance", variance, row->variance, NOISE_NEW, 1, 1e-9);
        assert_ok(ct_gp_noise_at(gp, Xs, given, variance), ct_message(device));
        near_all("noise", variance, row->noise, NOISE_NEW, 1, 1e-12);
        assert_ok(ct_gp_noise_at(gp, Xs, NULL, variance), ct_message(device));
        near_all("average noise", variance, average, NOISE_NEW, 1, 1e-12);
        assert_ok(ct_gp_predict_noisy(gp, Xs, mean, variance), ct_message(device));
        near_all("noisy variance", variance, noisy, NOISE_NEW, 1, 1e-9);
        assert_ok(ct_gp_predict_full(gp, Xs, true, NULL, C), ct_message(device));
        near_all("noisy covariance", C, noisy, NOISE_NEW, NOISE_NEW + 1, 1e-9);

        ct_tape *tape = ct_tape_new(device);
        ct_var on_tape, full;
        ct_gp_posterior(gp, ct_constant(tape, Xs), true, NULL, &on_tape);
        ct_gp_posterior_full(gp, ct_constant(tape, Xs), true, NULL, &full);
        assert_ok(ct_tape_status(tape), ct_tape_message(tape));
        near_all("on the tape", ct_value(on_tape), noisy, NOISE_NEW, 1, 1e-9);
        near_all("the diagonal on the tape", ct_value(full), noisy, NOISE_NEW, NOISE_NEW + 1, 1e-9);
        ct_tape_free(tape);

        ct_tensor *density = ct_empty(device, CT_F64, ct_shape1(NOISE_POINTS));
        assert_ok(ct_gp_loo(gp, NULL, NULL, density), ct_message(device));
        double *d = gp_host(density), sum = 0;
        for (int i = 0; i < NOISE_POINTS; i++) sum += d[i];
        assert_close(sum, row->loo, 1e-9, 0);
        free(d);
        ct_release(Xs), ct_release(given), ct_release(mean), ct_release(variance), ct_release(C);
        ct_release(density);
        ct_gp_free(gp);
    }
}

/* The noise moves with the points: the gradient of the noisy variance, by central differences. */
static void the_posterior_feels_the_inputs(void **state)
{
    (void)state;
    ct_gp *gp = reference_model(&noise_table[KINDS - 1], CT_F64);
    const double h = 1e-5;
    double x[2 * NOISE_NEW], v[2];
    ct_tensor *Xs = new_points();
    ct_tape *tape = ct_tape_new(device);
    ct_var variance, points = ct_leaf(tape, Xs);
    ct_gp_posterior(gp, points, true, NULL, &variance);
    assert_ok(ct_backward(ct_sum(variance, CT_ALL, false)), ct_tape_message(tape));
    double *bar = gp_host(ct_cotangent(points));
    for (int i = 0; i < 2 * NOISE_NEW; i++) {
        for (int side = 0; side < 2; side++) {
            memcpy(x, noise_Xs, sizeof x);
            x[i] += side ? h : -h;
            ct_tensor *moved = tensor(CT_F64, ct_shape2(NOISE_NEW, 2), x),
                      *out = ct_empty(device, CT_F64, ct_shape1(NOISE_NEW));
            assert_ok(ct_gp_predict_noisy(gp, moved, NULL, out), ct_message(device));
            double *each = gp_host(out);
            v[side] = each[0] + each[1] + each[2] + each[3];
            free(each);
            ct_release(moved), ct_release(out);
        }
        assert_close(bar[i], (v[1] - v[0]) / (2 * h), 1e-6, 1e-8);
    }
    free(bar);
    ct_tape_free(tape);
    ct_release(Xs);
    ct_gp_free(gp);
}

/* Draws have the noise of their points. */
static void draws_are_as_noisy_as_their_points(void **state)
{
    (void)state;
    enum { DRAWS = 4000 };
    const noise_row *row = &noise_table[KINDS - 1];
    ct_gp *gp = reference_model(row, CT_F64);
    ct_tensor *Xs = new_points(), *samples = ct_empty(device, CT_F64, ct_shape2(DRAWS, NOISE_NEW));
    assert_ok(ct_gp_sample(gp, Xs, true, 5, samples), ct_message(device));
    double *x = gp_host(samples);
    for (int j = 0; j < NOISE_NEW; j++) {
        double square = 0;
        for (int i = 0; i < DRAWS; i++) square += pow(x[i * NOISE_NEW + j] - row->mean[j], 2);
        assert_close(square / DRAWS, row->variance[j] + row->noise[j], 0.1, 0);
    }
    free(x);
    ct_release(Xs), ct_release(samples);
    ct_gp_free(gp);
}

/* -- gradients and units --------------------------------------------------------------------------------- */

/* With priors and standardisation, at the first values: central differences in every parameter. */
static void gradients_are_those_of_the_objective(void **state)
{
    (void)state;
    for (int r = 0; r < KINDS; r++) {
        const ct_gp_options options = { .mean = CT_MEAN_LINEAR, .priors = CT_PRIORS_WEAK };
        ct_gp *gp = model_of(noise_table[r].kind, NOISE_POINTS, CT_F64, options);
        double u[16], gradient[16], value, v[2];
        const int n = (int)ct_gp_params(gp), noise = 3, means = n - 3;
        for (int i = 0; i < n; i++) {
            const double first = ct_gp_param(gp, i)->value;
            const bool real = i >= means || (noise_table[r].kind == CT_NOISE_LOG_LINEAR && i >= noise);
            u[i] = (real ? first : log(first)) + 0.1 * (i % 3) + 0.05; /* no kink of a prior */
        }
        assert_ok(ct_gp_objective(gp, u, &value, gradient), ct_message(device));
        for (int i = 0; i < n; i++) {
            const double at = u[i], h = 1e-5;
            for (int side = 0; side < 2; side++) {
                u[i] = at + (side ? h : -h);
                assert_ok(ct_gp_objective(gp, u, &v[side], NULL), ct_message(device));
            }
            u[i] = at;
            assert_close(gradient[i], (v[1] - v[0]) / (2 * h), 1e-6, 1e-7);
        }
        ct_gp_free(gp);
    }
}

/* Standardised or not, equal parameters in the units of the data make equal models. */
static void parameters_are_in_the_units_of_the_data(void **state)
{
    (void)state;
    for (int r = 0; r < KINDS; r++) {
        const ct_gp_noise kind = noise_table[r].kind;
        const int n = 3 + noise_table[r].n_noise;
        ct_gp *plain =
                  model_of(kind, NOISE_POINTS, CT_F64, (ct_gp_options){ .standardize = CT_STANDARDIZE_NONE }),
              *scaled = model_of(kind, NOISE_POINTS, CT_F64, (ct_gp_options){ 0 });
        double v[7];
        memcpy(v, noise_table[r].value, (size_t)n * sizeof *v);
        v[n] = 0.3; /* mean.constant */
        set_values(plain, v, n + 1);
        for (int j = 0; j < 2 && kind == CT_NOISE_LOG_LINEAR; j++) { /* a at the columns' means */
            double mean = 0;
            for (int i = 0; i < NOISE_POINTS; i++) mean += noise_X[2 * i + j] / NOISE_POINTS;
            v[3] += v[4 + j] * mean;
        }
        set_values(scaled, v, n + 1);
        assert_close(ct_gp_nlml_value(scaled), ct_gp_nlml_value(plain), 1e-11, 0);
        ct_tensor *Xs = new_points(), *given = given_new(kind),
                  *noise = ct_empty(device, CT_F64, ct_shape1(NOISE_NEW));
        assert_ok(ct_gp_noise_at(scaled, Xs, given, noise), ct_message(device));
        near_all("noise", noise, noise_table[r].noise, NOISE_NEW, 1, 1e-12);
        ct_release(Xs), ct_release(given), ct_release(noise);
        ct_gp_free(plain);
        ct_gp_free(scaled);
    }
}

/* -- fits ------------------------------------------------------------------------------------------------ */

enum { ROWS = 240 };

/* y = sin 3x + σ(x) e, with σ 0.05 and 0.5 in turn, or rising from 0.05 by the factor e^1.5 a unit. */
static void draw_rows(bool by_level, ct_tensor **X, ct_tensor **y, ct_tensor **levels)
{
    ct_tensor *x = ct_rand_uniform(device, CT_F64, ct_shape2(ROWS, 1), 4, 0),
              *e = ct_rand_normal(device, CT_F64, ct_shape1(ROWS), 4, 1);
    double *at = gp_host(x), *error = gp_host(e), value[ROWS], level[ROWS];
    for (int i = 0; i < ROWS; i++) {
        at[i] *= 2;
        level[i] = i % 2;
        value[i] = sin(3 * at[i]) + 0.05 * (by_level ? pow(10, level[i]) : exp(1.5 * at[i])) * error[i];
    }
    *X = tensor(CT_F64, ct_shape2(ROWS, 1), at);
    *y = tensor(CT_F64, ct_shape1(ROWS), value);
    *levels = tensor(CT_I64, ct_shape1(ROWS), level);
    free(at), free(error);
    ct_release(x), ct_release(e);
}

static void a_fit_finds_the_noise(void **state)
{
    (void)state;
    for (int by_level = 0; by_level < 2; by_level++)
        for (int how = 0; how < 3; how++) {
            ct_tensor *X, *y, *levels;
            draw_rows(by_level, &X, &y, &levels);
            const ct_gp_options options = { .noise = by_level ? CT_NOISE_BY_LEVEL : CT_NOISE_LOG_LINEAR,
                                            .priors = how ? CT_PRIORS_WEAK : CT_PRIORS_NONE,
                                            .noise_levels = by_level ? levels : NULL };
            const ct_fit_options fit = { .objective = how == 1 ? CT_OBJECTIVE_LOO : CT_OBJECTIVE_LIKELIHOOD,
                                         .precision = how == 2 ? CT_PRECISION_MIXED : CT_PRECISION_FULL,
                                         .restarts = CT_FIT_NO_RESTARTS };
            ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("scale * rbf"), &options);
            assert_gp(gp, device);
            assert_ok(ct_gp_fit(gp, &fit), ct_message(device));
            assert_true(ct_fit_converged(ct_gp_report(gp).end));
            if (by_level) { /* levels may be whole numbers */
                ct_tensor *noise = ct_empty(device, CT_F64, ct_shape1(ROWS));
                assert_ok(ct_gp_noise_at(gp, X, levels, noise), ct_message(device));
                double *v = gp_host(noise);
                assert_true(v[2] == gp_get(gp, "noise.variance[0]") && v[3] > v[2]);
                free(v);
                ct_release(noise);
                assert_close(gp_get(gp, "noise.variance[0]"), 0.0025, 0.4, 0);
                assert_close(gp_get(gp, "noise.variance[1]"), 0.25, 0.4, 0);
            } else {
                assert_close(gp_get(gp, "noise.slope[0]"), 3, 0.15, 0);
                assert_close(gp_get(gp, "noise.log_variance"), 2 * log(0.05) + 3, 0, 0.5);
            }
            ct_gp_free(gp);
            ct_release(X), ct_release(y), ct_release(levels);
        }
}

/* Levels go with their rows where some rows make the choice, and one factor multiplies all variances. */
static void a_choice_takes_the_noise_along(void **state)
{
    (void)state;
    for (int by_level = 0; by_level < 2; by_level++) {
        ct_tensor *X, *y, *levels;
        draw_rows(by_level, &X, &y, &levels);
        const ct_gp_options options = { .noise = by_level ? CT_NOISE_BY_LEVEL : CT_NOISE_LOG_LINEAR,
                                        .noise_levels = by_level ? levels : NULL };
        const ct_gp_candidate one = { .kernel = "scale * rbf" };
        ct_gp *gp;
        assert_ok(ct_gp_choose(X, y, &options,
                               &(ct_gp_choose_options){
                                   .candidates = &one, .n_candidates = 1, .rows = 120, .as_fitted = true },
                               &gp, NULL),
                  ct_message(device));
        if (by_level) assert_close(gp_get(gp, "noise.variance[1]"), 0.25, 0.4, 0);

        const char *names[] = { "scale.variance", by_level ? "noise.variance[0]" : "noise.log_variance" };
        for (int i = 0; i < 2; i++) { /* too sure by a factor of 4 */
            const double v = gp_get(gp, names[i]);
            gp_set(gp, names[i], i && !by_level ? v - log(4) : v / 4, false);
        }
        if (by_level) gp_set(gp, "noise.variance[1]", gp_get(gp, "noise.variance[1]") / 4, false);
        const double scale = gp_get(gp, names[0]), noise = gp_get(gp, names[1]);
        double factor;
        assert_ok(ct_gp_calibrate_variance(gp, &factor), ct_message(device));
        assert_true(factor > 2);
        assert_close(gp_get(gp, names[0]), scale * factor, 1e-12, 0);
        assert_close(gp_get(gp, names[1]), by_level ? noise * factor : noise + log(factor), 1e-12, 0);
        ct_gp_free(gp);
        ct_release(X), ct_release(y), ct_release(levels);
    }
}

/* -- the same rows in other ways ------------------------------------------------------------------------- */

static void assert_equal_models(ct_gp *a, ct_gp *b, const ct_tensor *Xs, double tolerance)
{
    ct_tensor *of_a = ct_empty(device, CT_F64, ct_shape1(NOISE_NEW)),
              *of_b = ct_empty(device, CT_F64, ct_shape1(NOISE_NEW));
    for (int noise = 0; noise < 2; noise++) {
        assert_ok(noise ? ct_gp_noise_at(a, Xs, NULL, of_a) : ct_gp_predict(a, Xs, of_a, NULL),
                  ct_message(device));
        assert_ok(noise ? ct_gp_noise_at(b, Xs, NULL, of_b) : ct_gp_predict(b, Xs, of_b, NULL),
                  ct_message(device));
        double *wanted = gp_host(of_a);
        near_all("the other model", of_b, wanted, NOISE_NEW, 1, tolerance);
        free(wanted);
    }
    assert_close(ct_gp_nlml_value(a), ct_gp_nlml_value(b), tolerance, 0);
    ct_release(of_a), ct_release(of_b);
}

static void rows_come_and_go(void **state)
{
    (void)state;
    enum { FIRST = 10 };
    const ct_gp_options options = { .mean = CT_MEAN_ZERO, .standardize = CT_STANDARDIZE_NONE };
    for (int r = 0; r < KINDS; r++) {
        const noise_row *row = &noise_table[r];
        ct_gp *all = reference_model(row, CT_F64), *gp = model_of(row->kind, FIRST, CT_F64, options);
        set_values(gp, row->value, 3 + row->n_noise);
        ct_tensor *Xs = new_points(), *noise = given_of(row->kind, FIRST, NOISE_POINTS),
                  *X = tensor(CT_F64, ct_shape2(NOISE_POINTS - FIRST, 2), noise_X + 2 * FIRST),
                  *y = tensor(CT_F64, ct_shape1(NOISE_POINTS - FIRST), noise_y + FIRST);
        ct_gp *first = ct_gp_copy(gp);
        assert_gp(first, device);
        assert_ok(ct_gp_predict(gp, Xs, NULL, NULL), ct_message(device)); /* a factor to update */
        assert_ok(ct_gp_append(gp, X, y, noise), ct_message(device));
        assert_equal_models(all, gp, Xs, 1e-9);
        assert_ok(ct_gp_remove(gp, (const int64_t[]){ 13, 10, 12, 11 }, 4), ct_message(device));
        assert_equal_models(first, gp, Xs, 1e-9);
        ct_release(Xs), ct_release(noise), ct_release(X), ct_release(y);
        ct_gp_free(all);
        ct_gp_free(gp);
        ct_gp_free(first);
    }
}

static void a_file_has_the_noise(void **state)
{
    (void)state;
    for (int r = 0; r < KINDS; r++)
        for (int bare = 0; bare < 2; bare++) {
            const ct_column column = { .name = "spread, in mm" };
            ct_gp *gp = model_of(noise_table[r].kind, NOISE_POINTS, bare ? CT_F32 : CT_F64,
                                 (ct_gp_options){ .noise_column = &column });
            ct_tensor *Xs = new_points();
            assert_ok(ct_gp_save_with(gp, path, &(ct_gp_save_options){ .no_factor = bare }),
                      ct_message(device));
            ct_gp *back = ct_gp_load(device, path);
            assert_gp(back, device);
            assert_int_equal(ct_gp_get_options(back).noise, noise_table[r].kind);
            assert_string_equal(ct_gp_get_options(back).noise_column->name, "spread, in mm");
            for (int64_t i = 0; i < ct_gp_params(gp); i++)
                assert_string_equal(ct_gp_param(back, i)->name, ct_gp_param(gp, i)->name);
            assert_equal_models(gp, back, Xs, 0);
            ct_gp_free(back);
            ct_gp_free(gp);
            ct_release(Xs);
        }
}

/* Levels with names: in the parameters' names, in the file, in what is refused. */
static void levels_have_names(void **state)
{
    (void)state;
    enum { STATIONS = 6, LONG = 48 };
    char long_name[LONG + 1] = { 0 };
    memset(long_name, 'w', LONG);
    const char *const names[] = { "north", "south", long_name, "west" };
    const ct_column column = {
        .name = "station", .kind = CT_COLUMN_CATEGORY, .levels = names, .n_levels = 4
    };
    const double codes[] = { 1, 0, 1, 0, 2, 2 }, unknown[] = { 3 }, none[] = { 1, 0, 4, 0, 0.5, -1 };
    ct_tensor *X = tensor(CT_F64, ct_shape2(STATIONS, 2), noise_X),
              *y = tensor(CT_F64, ct_shape1(STATIONS), noise_y),
              *code = tensor(CT_F64, ct_shape1(STATIONS), codes),
              *bad = tensor(CT_F64, ct_shape1(STATIONS), none),
              *x1 = tensor(CT_F64, ct_shape2(1, 2), noise_X), *y1 = tensor(CT_F64, ct_shape1(1), noise_y),
              *west = tensor(CT_F64, ct_shape1(1), unknown);
    ct_gp_options options = {
        .noise = CT_NOISE_BY_LEVEL, .noise_levels = bad, .noise_column = &column, .rows_of_table = 9
    };
    assert_null(ct_gp_new(X, y, ct_kernel_parse("scale * rbf"), &options));
    assert_string_equal(ct_message(device), "noise_levels: row 2 is not the code of a level of noise_column");
    options.noise_levels = code;
    for (int bare = 0; bare < 2; bare++) {
        ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("scale * rbf"), &options);
        assert_gp(gp, device);
        assert_ok(ct_gp_save_with(gp, path, &(ct_gp_save_options){ .no_factor = bare }), ct_message(device));
        ct_gp *back = ct_gp_load(device, path), *copy = ct_gp_copy(gp), *all[] = { gp, back, copy };
        for (int k = 0; k < 3; k++) {
            assert_gp(all[k], device);
            const ct_column *c = ct_gp_get_options(all[k]).noise_column;
            assert_true(ct_gp_find(all[k], "noise.variance[north]") >= 0);
            assert_true(ct_gp_find(all[k], "noise.variance[south]") >= 0);
            assert_true(ct_gp_find(all[k], "noise.variance[2]") >= 0);
            assert_true(c->kind == CT_COLUMN_CATEGORY && c->n_levels == 4);
            assert_string_equal(c->name, "station");
            assert_int_equal(ct_gp_get_options(all[k]).rows_of_table, 9);
            for (int i = 0; i < 4; i++) assert_string_equal(c->levels[i], names[i]);
            assert_int_equal(ct_gp_append(all[k], x1, y1, west), CT_EINVAL);
            assert_non_null(strstr(ct_message(device), "row 0 has level west, for which the model has no"));
            ct_gp_free(all[k]);
        }
    }
    ct_release(X), ct_release(y), ct_release(code), ct_release(bad);
    ct_release(x1), ct_release(y1), ct_release(west);
}

/* Rows may go until some levels have none. */
static void a_file_has_levels_without_rows(void **state)
{
    (void)state;
    ct_gp *gp = model_of(CT_NOISE_BY_LEVEL, 10, CT_F64, (ct_gp_options){ .mean = CT_MEAN_ZERO });
    ct_tensor *Xs = new_points();
    assert_ok(ct_gp_remove(gp, (const int64_t[]){ 0, 1, 2, 3, 4, 5, 6, 7, 8 }, 9), ct_message(device));
    assert_true(ct_gp_params(gp) - 3 > ct_gp_points(gp));
    for (int bare = 0; bare < 2; bare++) {
        assert_ok(ct_gp_save_with(gp, path, &(ct_gp_save_options){ .no_factor = bare }), ct_message(device));
        ct_gp *back = ct_gp_load(device, path);
        assert_gp(back, device);
        assert_equal_models(gp, back, Xs, 0);
        ct_gp_free(back);
    }
    ct_gp_free(gp);
    ct_release(Xs);
}

static void a_checkpoint_has_the_noise(void **state)
{
    (void)state;
    char log[256];
    gp_temporary(log);
    remove(log);
    for (int k = 0; k < 3; k++) {
        const ct_gp_noise kind = k == 1 ? CT_NOISE_LOG_LINEAR : CT_NOISE_BY_LEVEL;
        ct_gp *gp = model_of(kind, NOISE_POINTS, CT_F64, (ct_gp_options){ .priors = CT_PRIORS_WEAK });
        const ct_fit_options how = { .max_iterations = 4, .checkpoint = log };
        if (k == 1) /* another fit */
            assert_failed(ct_gp_fit(gp, &how), device, CT_EINVAL, "another name");
        else
            assert_ok(ct_gp_fit(gp, &how), ct_message(device));
        if (k == 2) assert_int_equal(ct_gp_report(gp).replayed, ct_gp_report(gp).evaluations);
        ct_gp_free(gp);
    }
    remove(log);
}

/* -- refusals -------------------------------------------------------------------------------------------- */

static void nonsense_is_refused(void **state)
{
    (void)state;
    double x[NOISE_POINTS];
    memcpy(x, noise_level, sizeof x);
    ct_tensor *X = tensor(CT_F64, ct_shape2(NOISE_POINTS, 2), noise_X),
              *y = tensor(CT_F64, ct_shape1(NOISE_POINTS), noise_y),
              *levels = tensor(CT_F64, ct_shape1(NOISE_POINTS), x),
              *few = tensor(CT_F64, ct_shape1(NOISE_POINTS - 1), x);
    x[3] = NAN;
    ct_tensor *lacking = tensor(CT_F64, ct_shape1(NOISE_POINTS), x);
    const int64_t ids[NOISE_POINTS] = { 1, 2, 9007199254740992, 9007199254740993 }; /* one double */
    ct_tensor *long_ids = assert_tensor(ct_from(device, CT_I64, ct_shape1(NOISE_POINTS), ids), device);
    const struct {
        ct_gp_options options;
        ct_status status;
        const char *text;
    } bad[] = {
        { { .noise = CT_NOISE_BY_LEVEL }, CT_EINVAL, "noise_levels belong with CT_NOISE_BY_LEVEL" },
        { { .noise_levels = levels }, CT_EINVAL, "noise_levels belong" },
        { { .noise = CT_NOISE_BY_LEVEL, .noise_levels = few }, CT_ESHAPE, "noise_levels must be n numbers" },
        { { .noise = CT_NOISE_BY_LEVEL, .noise_levels = lacking }, CT_EINVAL, "noise_levels: row 3 is NaN" },
        { { .noise = CT_NOISE_BY_LEVEL, .noise_levels = long_ids }, CT_EINVAL, "row 2 exceeds ±2^53" },
        { { .noise = (ct_gp_noise)(CT_NOISE_LOG_LINEAR + 1) }, CT_EINVAL, "the option " },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(ct_gp_new(X, y, ct_kernel_parse("rbf"), &bad[i].options), device, bad[i].status,
                       bad[i].text);

    ct_gp *gp = reference_model(&noise_table[3], CT_F64), *plain = reference_model(&noise_table[0], CT_F64);
    const double other[NOISE_NEW] = { 2, 7, 3.5, 2 };
    ct_tensor *Xs = new_points(), *unknown = tensor(CT_F64, ct_shape1(NOISE_NEW), other),
              *targets = tensor(CT_F64, ct_shape1(NOISE_NEW), other),
              *out = ct_empty(device, CT_F64, ct_shape1(NOISE_NEW));
    assert_failed(ct_gp_noise_at(gp, Xs, unknown, out), device, CT_EINVAL, "noise: row 2 has level 3.5");
    assert_failed(ct_gp_append(gp, Xs, targets, unknown), device, CT_EINVAL,
                  "noise_levels: row 2 has level 3.5");
    assert_failed(ct_gp_append(gp, Xs, targets, NULL), device, CT_EINVAL, "noise_levels with");
    assert_int_equal(ct_gp_points(gp), NOISE_POINTS);
    const double nobody[NOISE_NEW] = { 2, 7, NAN, 2 };
    ct_tensor *nan = tensor(CT_F64, ct_shape1(NOISE_NEW), nobody);
    assert_ok(ct_gp_noise_at(gp, Xs, NULL, out), ct_message(device));
    double *average = gp_host(out);
    assert_ok(ct_gp_noise_at(gp, Xs, nan, out), ct_message(device));
    double *at = gp_host(out);
    assert_true(at[2] == average[2] && at[0] == at[3] && at[0] != at[2]);
    free(average), free(at);
    ct_release(nan);
    assert_failed(ct_gp_noise_at(plain, Xs, unknown, out), device, CT_EINVAL, "not given by row");
    assert_failed(ct_gp_noise_at(gp, Xs, few, out), device, CT_ESHAPE, "noise: 13 elements");
    assert_failed(ct_gp_noise_at(gp, Xs, NULL, NULL), device, CT_EINVAL, "variance is NULL");
    ct_gp_free(gp);
    gp = reference_model(&noise_table[1], CT_F64);
    const double negative[NOISE_NEW] = { 2, -1, 3, 2 };
    ct_tensor *wrong = tensor(CT_F64, ct_shape1(NOISE_NEW), negative);
    assert_failed(ct_gp_noise_at(gp, Xs, wrong, out), device, CT_EINVAL,
                  "row 1 is -1, which is not a variance");
    ct_gp_free(gp);
    ct_gp_free(plain);
    ct_release(X), ct_release(y), ct_release(levels), ct_release(few), ct_release(lacking),
        ct_release(long_ids);
    ct_release(Xs), ct_release(unknown), ct_release(targets), ct_release(out), ct_release(wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(likelihood_and_gradient),
        cmocka_unit_test(predictions),
        cmocka_unit_test(the_posterior_feels_the_inputs),
        cmocka_unit_test(draws_are_as_noisy_as_their_points),
        cmocka_unit_test(gradients_are_those_of_the_objective),
        cmocka_unit_test(parameters_are_in_the_units_of_the_data),
        cmocka_unit_test(a_fit_finds_the_noise),
        cmocka_unit_test(a_choice_takes_the_noise_along),
        cmocka_unit_test(rows_come_and_go),
        cmocka_unit_test(a_file_has_the_noise),
        cmocka_unit_test(levels_have_names),
        cmocka_unit_test(a_file_has_levels_without_rows),
        cmocka_unit_test(a_checkpoint_has_the_noise),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, open_check_device_with_path, close_with_path);
}
