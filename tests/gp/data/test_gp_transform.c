/* A model of z = g(y) for a target on another scale: likelihoods, densities and moments of y against
 * scikit-learn and scipy, files, rows that come and go, refusals, failing allocations. */
#include <float.h>

#include "gp_device.h"

#include "alloc.h"
#include "reference/transform_tables.h"

enum {
    KINDS = sizeof transform_table / sizeof *transform_table,
    MOMENTS = sizeof transform_moments / sizeof *transform_moments,
    N = TRANSFORM_POINTS,
    M = TRANSFORM_NEW
};

static ct_tensor *empty(int64_t n) { return assert_tensor(ct_empty(device, CT_F64, ct_shape1(n)), device); }

/* Rows `first` to `end` of the table; at its parameters unless the options standardise. */
static ct_gp *model_of(const transform_row *row, int64_t first, int64_t end, ct_dtype dtype,
                       ct_gp_options options)
{
    static const char *const names[] = { "scale.variance", "rbf.lengthscale", "noise.variance" };
    ct_tensor *X = tensor(dtype, ct_shape2(end - first, 1), transform_X + first),
              *y = tensor(dtype, ct_shape1(end - first), row->y + first);
    options.transform = row->kind;
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("scale * rbf"), &options);
    ct_release(X), ct_release(y);
    assert_gp(gp, device);
    for (int i = 0; i < 3; i++) gp_set(gp, names[i], transform_theta[i], false);
    return gp;
}

static const ct_gp_options plain = { .mean = CT_MEAN_ZERO, .standardize = CT_STANDARDIZE_NONE };

static ct_gp *reference_model(const transform_row *row) { return model_of(row, 0, N, CT_F64, plain); }

static ct_tensor *new_points(void) { return tensor(CT_F64, ct_shape2(M, 1), transform_Xs); }

static void near_all(const char *what, const ct_tensor *t, const double *wanted, int64_t n, double tolerance)
{
    double *x = gp_host(t);
    for (int64_t i = 0; i < n; i++)
        if (!check_close(x[i], wanted[i], tolerance, tolerance)) {
            print_error("%s, entry %d: %.17g is not %.17g\n", what, (int)i, x[i], wanted[i]);
            fail();
        }
    free(x);
}

/* -- numbers --------------------------------------------------------------------------------------------- */

static const double values[] = { 1e-300, 1e-12, 0.01, 0.3, 0.5, 0.7, 0.99, 1 - 1e-9 };
enum { VALUES = sizeof values / sizeof *values };

static void inverses_and_slopes(void **state)
{
    (void)state;
    for (int kind = CT_TRANSFORM_NONE; kind <= CT_TRANSFORM_SQRT; kind++)
        for (int i = 0; i < VALUES; i++) {
            const ct_transform t = { .kind = (ct_transform_kind)kind };
            const double y = values[i], h = 1e-6 * fmin(y, 1 - y), z = ct_transform_value(t, y);
            assert_close(ct_transform_inverse(t, z), y, 1e-12, 0);
            if (h < 1e-300) continue;
            const double slope = (ct_transform_value(t, y + h) - ct_transform_value(t, y - h)) / (2 * h);
            if (y < 0.99) assert_close(ct_transform_log_slope(t, y), log(slope), 1e-6, 1e-6);
        }
}

static void moments_are_those_of_scipy(void **state)
{
    (void)state;
    for (int i = 0; i < MOMENTS; i++) {
        double mean, variance;
        ct_transform_moments((ct_transform){ .kind = transform_moments[i].kind }, transform_moments[i].m,
                             transform_moments[i].s * transform_moments[i].s, &mean, &variance);
        const bool good = check_close(mean, transform_moments[i].mean, 1e-11, 1e-15) &&
                          check_close(variance, transform_moments[i].variance, 1e-9, 1e-15);
        if (!good)
            print_error("%s of (%g, %g²): %.17g, %.17g\n", ct_transform_name(transform_moments[i].kind),
                        transform_moments[i].m, transform_moments[i].s, mean, variance);
        assert_true(good);
    }
}

/* Where z is certain y is, and far out there are no NaNs. */
static void moments_of_extremes(void **state)
{
    (void)state;
    const double at[] = { -1e200, -800, -40, 0, 40, 1e200 }, spread[] = { 0, 1e-200, 1e-8, 1, 1e3, 1e150 };
    for (int kind = CT_TRANSFORM_NONE; kind <= CT_TRANSFORM_SQRT; kind++)
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) {
                const ct_transform t = { .kind = (ct_transform_kind)kind };
                double mean = NAN, variance = NAN;
                ct_transform_moments(t, at[i], spread[j] * spread[j], &mean, &variance);
                assert_false(isnan(mean) || isnan(variance) || variance < 0);
                if (kind == CT_TRANSFORM_LOGIT)
                    assert_true(mean >= 0 && mean <= 1 && variance <= 0.25 + 1e-12);
                if (j == 0) assert_close(mean, ct_transform_inverse(t, at[i]), 1e-15, 0);
                if (j == 0) assert_true(variance == 0);
                ct_transform_moments(t, at[i], spread[j] * spread[j], NULL, NULL);
            }
}

static void domains(void **state)
{
    (void)state;
    const struct {
        ct_transform_kind kind;
        const char *name, *takes;
        double outside[3];
    } of[] = { { CT_TRANSFORM_LOG, "log", "numbers above 0", { 0, -1, -INFINITY } },
               { CT_TRANSFORM_LOGIT, "logit", "numbers between 0 and 1", { 0, 1, 50 } },
               { CT_TRANSFORM_SQRT, "sqrt", "numbers from 0 on", { -1e-300, -1, -2 } } };
    for (int k = 0; k < 3; k++) {
        assert_string_equal(ct_transform_name(of[k].kind), of[k].name);
        assert_string_equal(ct_transform_domain(of[k].kind), of[k].takes);
        for (int i = 0; i < 3; i++)
            assert_true(isnan(ct_transform_value((ct_transform){ .kind = of[k].kind }, of[k].outside[i])));
    }
    assert_string_equal(ct_transform_name(CT_TRANSFORM_NONE), "none");
    assert_string_equal(ct_transform_name((ct_transform_kind)99), "none");
}

/* -- the model, against scikit-learn and scipy ----------------------------------------------------------- */

static void likelihoods_are_of_y(void **state)
{
    (void)state;
    for (int r = 0; r < KINDS; r++)
        for (int narrow = 0; narrow < 2; narrow++) {
            const double tolerance = narrow ? 2e-4 : 1e-9;
            ct_gp *gp = model_of(&transform_table[r], 0, N, narrow ? CT_F32 : CT_F64, plain);
            double u[3], value, gradient[3];
            for (int i = 0; i < 3; i++) u[i] = log(transform_theta[i]);
            assert_ok(ct_gp_objective(gp, u, &value, gradient), ct_message(device));
            assert_close(value, transform_table[r].nlml, tolerance, 0);
            assert_close(ct_gp_nlml_value(gp), transform_table[r].nlml, tolerance, 0);
            ct_gp_numerics q;
            assert_ok(ct_gp_inspect(gp, &q), ct_message(device));
            ct_gp_free(gp);
        }
}

static void densities_are_of_y(void **state)
{
    (void)state;
    for (int r = 0; r < KINDS; r++) {
        const transform_row *row = &transform_table[r];
        ct_gp *gp = reference_model(row);
        ct_tensor *density = empty(N);
        int64_t fold[N];
        for (int i = 0; i < N; i++) fold[i] = i % 3;
        assert_ok(ct_gp_loo(gp, NULL, NULL, density), ct_message(device));
        near_all("leave-one-out", density, row->loo, N, 1e-9);
        double all, sum = 0;
        for (int i = 0; i < N; i++) sum += row->loo[i];
        assert_ok(ct_gp_loo_ablation(gp, NULL, 0, &all), ct_message(device));
        assert_close(all, sum, 1e-9, 0);
        assert_ok(ct_gp_cross_validate(gp, fold, NULL, NULL, density), ct_message(device));
        near_all("folds", density, row->folds, N, 1e-9);
        ct_release(density);
        ct_gp_free(gp);
    }
}

static void predictions_are_brought_to_y(void **state)
{
    (void)state;
    for (int r = 0; r < KINDS; r++) {
        const transform_row *row = &transform_table[r];
        ct_gp *gp = reference_model(row);
        ct_tensor *Xs = new_points(), *mean = empty(M), *variance = empty(M);
        assert_int_equal(ct_gp_transform(gp).kind, row->kind);
        assert_int_equal(ct_gp_get_options(gp).transform, row->kind);
        assert_ok(ct_gp_predict_noisy(gp, Xs, mean, variance), ct_message(device));
        near_all("mean of z", mean, row->z_mean, M, 1e-9);
        near_all("variance of z", variance, row->z_variance, M, 1e-9);
        double *m = gp_host(mean), *v = gp_host(variance), ends[2 * M];
        for (int i = 0; i < M; i++) {
            ends[i] = m[i] - 1.959963984540054 * sqrt(v[i]);
            ends[M + i] = m[i] + 1.959963984540054 * sqrt(v[i]);
        }
        free(m), free(v);
        ct_tensor *quantiles = tensor(CT_F64, ct_shape2(2, M), ends);
        assert_ok(ct_gp_untransform(gp, quantiles), ct_message(device));
        double wanted[2 * M];
        memcpy(wanted, row->lower, sizeof row->lower);
        memcpy(wanted + M, row->upper, sizeof row->upper);
        near_all("quantiles", quantiles, wanted, 2 * M, 1e-9);
        assert_ok(ct_gp_untransform_moments(gp, mean, variance), ct_message(device));
        near_all("mean", mean, row->mean, M, 1e-9);
        near_all("variance", variance, row->variance, M, 1e-8);
        ct_release(Xs), ct_release(mean), ct_release(variance), ct_release(quantiles);
        ct_gp_free(gp);
    }
}

/* Draws have the quantiles of y once they are brought there. */
static void draws_are_brought_to_y(void **state)
{
    (void)state;
    enum { DRAWS = 4000 };
    const transform_row *row = &transform_table[0];
    ct_gp *gp = reference_model(row);
    ct_tensor *Xs = new_points(), *samples = ct_empty(device, CT_F32, ct_shape2(DRAWS, M));
    assert_ok(ct_gp_sample(gp, Xs, true, 5, samples), ct_message(device));
    assert_ok(ct_gp_untransform(gp, samples), ct_message(device));
    double *y = gp_host(samples);
    for (int j = 0; j < M; j++) {
        int inside = 0;
        for (int i = 0; i < DRAWS; i++)
            inside += y[i * M + j] > row->lower[j] && y[i * M + j] < row->upper[j];
        assert_close(inside / (double)DRAWS, 0.95, 0, 0.015);
    }
    free(y);
    ct_release(Xs), ct_release(samples);
    ct_gp_free(gp);
}

/* Standardised or not, with any mean and in any dtype the model is one of the same y, which it gives back. */
static void the_data_are_y(void **state)
{
    (void)state;
    for (int r = 0; r < KINDS; r++)
        for (int how = 0; how < 4; how++) {
            const transform_row *row = &transform_table[r];
            const double tolerance = how == 3 ? 1e-5 : 1e-12;
            ct_gp_options o = { .mean = how == 1   ? CT_MEAN_LINEAR
                                        : how == 2 ? CT_MEAN_BASIS
                                                   : CT_MEAN_CONSTANT };
            if (how == 2) o.basis = "1 + x0";
            ct_gp *gp = model_of(row, 0, N, how == 3 ? CT_F32 : CT_F64, o);
            ct_tensor *y = empty(N), *X = ct_empty(device, CT_F64, ct_shape2(N, 1));
            assert_ok(ct_gp_data(gp, X, y), ct_message(device));
            near_all("y", y, row->y, N, tolerance);
            near_all("X", X, transform_X, N, tolerance);
            assert_true(isfinite(ct_gp_nlml_value(gp)));
            ct_release(y), ct_release(X);
            ct_gp_free(gp);
        }
}

/* The gradient does not feel the slopes, which a fit leaves as they are. */
static void fits_and_choices(void **state)
{
    (void)state;
    for (int r = 0; r < KINDS; r++) {
        const transform_row *row = &transform_table[r];
        double z[N], slopes = 0;
        ct_gp *of_y = model_of(row, 0, N, CT_F64, (ct_gp_options){ .priors = CT_PRIORS_WEAK });
        for (int i = 0; i < N; i++) {
            z[i] = ct_transform_value(ct_gp_transform(of_y), row->y[i]);
            slopes += ct_transform_log_slope(ct_gp_transform(of_y), row->y[i]);
        }
        transform_row none = *row;
        none.kind = CT_TRANSFORM_NONE;
        memcpy(none.y, z, sizeof z);
        ct_gp *of_z = model_of(&none, 0, N, CT_F64, (ct_gp_options){ .priors = CT_PRIORS_WEAK });
        assert_ok(ct_gp_fit(of_y, NULL), ct_message(device));
        assert_ok(ct_gp_fit(of_z, NULL), ct_message(device));
        assert_close(ct_gp_report(of_y).objective, ct_gp_report(of_z).objective - slopes, 1e-9, 1e-9);
        assert_close(gp_get(of_y, "rbf.lengthscale"), gp_get(of_z, "rbf.lengthscale"), 1e-5, 0);
        double factor[2];
        assert_ok(ct_gp_calibrate_variance(of_y, &factor[0]), ct_message(device));
        assert_ok(ct_gp_calibrate_variance(of_z, &factor[1]), ct_message(device));
        assert_close(factor[0], factor[1], 1e-4, 0);
        ct_gp_free(of_y);
        ct_gp_free(of_z);

        ct_tensor *X = tensor(CT_F64, ct_shape2(N, 1), transform_X),
                  *y = tensor(CT_F64, ct_shape1(N), row->y);
        const ct_gp_options o = { .transform = row->kind, .priors = CT_PRIORS_WEAK };
        ct_gp_choice choice;
        ct_gp *gp = NULL;
        assert_ok(ct_gp_choose(X, y, &o, &(ct_gp_choose_options){ .rows = 9 }, &gp, &choice),
                  ct_message(device));
        assert_int_equal(ct_gp_transform(gp).kind, row->kind);
        assert_true(isfinite(choice.tried[choice.best].criterion));
        ct_gp_free(gp);
        ct_release(X), ct_release(y);
    }
}

/* -- the same rows in other ways ------------------------------------------------------------------------- */

static void assert_equal_models(ct_gp *a, ct_gp *b, double tolerance)
{
    ct_tensor *Xs = new_points(), *of_a = empty(M), *of_b = empty(M);
    assert_int_equal(ct_gp_transform(a).kind, ct_gp_transform(b).kind);
    assert_true(ct_gp_transform(a).least == ct_gp_transform(b).least);
    assert_close(ct_gp_nlml_value(a), ct_gp_nlml_value(b), tolerance, 0);
    assert_ok(ct_gp_predict(a, Xs, of_a, NULL), ct_message(device));
    assert_ok(ct_gp_predict(b, Xs, of_b, NULL), ct_message(device));
    double *wanted = gp_host(of_a), u[4] = { 0 }, value[2]; /* the mean last */
    near_all("the other model", of_b, wanted, M, tolerance);
    for (int i = 0; i < 3; i++) u[i] = log(transform_theta[i]);
    assert_ok(ct_gp_objective(a, u, &value[0], NULL), ct_message(device));
    assert_ok(ct_gp_objective(b, u, &value[1], NULL), ct_message(device));
    assert_close(value[0], value[1], tolerance, 0);
    free(wanted);
    ct_release(Xs), ct_release(of_a), ct_release(of_b);
}

static void rows_come_and_go(void **state)
{
    (void)state;
    enum { FIRST = 9 };
    for (int r = 0; r < KINDS; r++) {
        const transform_row *row = &transform_table[r];
        ct_gp *all = reference_model(row), *gp = model_of(row, 0, FIRST, CT_F64, plain);
        ct_gp *first = ct_gp_copy(gp);
        ct_tensor *X = tensor(CT_F64, ct_shape2(N - FIRST, 1), transform_X + FIRST),
                  *y = tensor(CT_F64, ct_shape1(N - FIRST), row->y + FIRST);
        assert_gp(first, device);
        assert_true(isfinite(ct_gp_nlml_value(gp))); /* a factor to update */
        assert_ok(ct_gp_append(gp, X, y, NULL), ct_message(device));
        assert_equal_models(all, gp, 1e-9);
        assert_ok(ct_gp_remove(gp, (const int64_t[]){ 11, 9, 10 }, 3), ct_message(device));
        assert_equal_models(first, gp, 1e-9);
        const double bad = -1;
        ct_tensor *x1 = tensor(CT_F64, ct_shape2(1, 1), &bad), *y1 = tensor(CT_F64, ct_shape1(1), &bad);
        assert_failed(ct_gp_append(gp, x1, y1, NULL), device, CT_EINVAL, "y: row 0 is -1, and the transform");
        assert_equal_models(first, gp, 1e-9);
        ct_release(X), ct_release(y), ct_release(x1), ct_release(y1);
        ct_gp_free(all);
        ct_gp_free(gp);
        ct_gp_free(first);
    }
}

static void a_file_has_the_transform(void **state)
{
    (void)state;
    for (int r = 0; r < KINDS; r++)
        for (int bare = 0; bare < 2; bare++) {
            ct_gp *gp = model_of(&transform_table[r], 0, N, CT_F64, (ct_gp_options){ 0 });
            assert_ok(ct_gp_save_with(gp, path, &(ct_gp_save_options){ .no_factor = bare }),
                      ct_message(device));
            ct_gp *back = ct_gp_load(device, path);
            assert_gp(back, device);
            assert_int_equal(ct_gp_has_factor(back), !bare);
            assert_int_equal(ct_gp_get_options(back).transform, transform_table[r].kind);
            assert_equal_models(gp, back, bare ? 1e-12 : 0);
            ct_gp_free(gp);
            ct_gp_free(back);
        }
}

/* A checkpoint of another transform is another fit's. */
static void a_checkpoint_has_the_transform(void **state)
{
    (void)state;
    char log[256];
    gp_temporary(log);
    remove(log);
    for (int k = 0; k < 3; k++) {
        transform_row row = transform_table[2];
        if (k == 1) {
            row.kind = CT_TRANSFORM_NONE;
            for (int i = 0; i < N; i++) row.y[i] = sqrt(row.y[i]);
        }
        ct_gp *gp = model_of(&row, 0, N, CT_F64, (ct_gp_options){ .priors = CT_PRIORS_WEAK });
        const ct_fit_options how = { .max_iterations = 4, .checkpoint = log };
        if (k == 1)
            assert_failed(ct_gp_fit(gp, &how), device, CT_EINVAL, "another name");
        else
            assert_ok(ct_gp_fit(gp, &how), ct_message(device));
        if (k == 2) assert_int_equal(ct_gp_report(gp).replayed, ct_gp_report(gp).evaluations);
        ct_gp_free(gp);
    }
    remove(log);
}

/* -- refusals and memory --------------------------------------------------------------------------------- */

static void nonsense_is_refused(void **state)
{
    (void)state;
    const double bad[] = { 0.5, 0.2, -3, 0.1 }, nan[] = { 0.5, NAN, 0.2, 0.1 }, zero[] = { 0.1, 0, 1, 0.5 };
    const double percent[] = { 0.5, 50, 20, 10 };
    ct_tensor *X = tensor(CT_F64, ct_shape2(4, 1), transform_X), *y = tensor(CT_F64, ct_shape1(4), bad),
              *lacking = tensor(CT_F64, ct_shape1(4), nan), *none = tensor(CT_F64, ct_shape1(4), zero),
              *shares = tensor(CT_F64, ct_shape1(4), percent);
    const struct {
        const ct_tensor *y;
        ct_transform_kind kind;
        const char *text;
    } refused[] = {
        { y, CT_TRANSFORM_LOG,
          "y: row 2 is -3, and the transform log takes numbers above 0: leave such rows" },
        { y, CT_TRANSFORM_SQRT, "row 2 is -3, and the transform sqrt takes numbers from 0 on" },
        { none, CT_TRANSFORM_LOG, "row 1 is 0, and the transform log" },
        { shares, CT_TRANSFORM_LOGIT, "row 1 is 50, and the transform logit takes numbers between 0 and 1" },
        { lacking, CT_TRANSFORM_LOG, "y: row 1, column 0 is NaN" },
        { y, (ct_transform_kind)(CT_TRANSFORM_SQRT + 1), "the option " },
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_refused(ct_gp_new(X, refused[i].y, ct_kernel_parse("rbf"),
                                 &(ct_gp_options){ .transform = refused[i].kind }),
                       device, CT_EINVAL, refused[i].text);
    ct_release(X), ct_release(y), ct_release(lacking), ct_release(none), ct_release(shares);

    ct_gp *gp = reference_model(&transform_table[0]);
    const double far[] = { 1, 800 }, negative[] = { 1, -1 }, low[] = { 1, 400 }, certain[] = { 0.5, 1 };
    ct_tensor *t = tensor(CT_F64, ct_shape1(2), far), *v = tensor(CT_F64, ct_shape1(2), negative),
              *three = empty(3), *whole = ct_empty(device, CT_I64, ct_shape1(2));
    assert_int_equal(ct_gp_untransform(NULL, t), CT_EINVAL);
    assert_int_equal(ct_gp_untransform_moments(NULL, t, v), CT_EINVAL);
    assert_int_equal(ct_gp_transform(NULL).kind, CT_TRANSFORM_NONE);
    assert_failed(ct_gp_untransform(gp, NULL), device, CT_EINVAL, "z is NULL");
    assert_failed(ct_gp_untransform(gp, whole), device, CT_EDTYPE, "z must be f64 or f32");
    assert_failed(ct_gp_untransform(gp, t), device, CT_ENUMERIC, "element 1 of the result is inf");
    assert_failed(ct_gp_untransform_moments(gp, t, NULL), device, CT_EINVAL, "is NULL");
    assert_failed(ct_gp_untransform_moments(gp, t, three), device, CT_ESHAPE, "variance: 3 elements");
    assert_failed(ct_gp_untransform_moments(gp, whole, v), device, CT_EDTYPE, "mean must be");
    assert_failed(ct_gp_untransform_moments(gp, t, v), device, CT_EINVAL, "variance: row 1 is -1");
    near_all("as it was", t, far, 2, 0);
    near_all("as it was, too", v, negative, 2, 0);
    /* exp(400) is a number, and its square is not. */
    assert_ok(ct_write(t, low, sizeof low), ct_message(device));
    assert_ok(ct_write(v, certain, sizeof certain), ct_message(device));
    assert_failed(ct_gp_untransform_moments(gp, t, v), device, CT_ENUMERIC, "element 1 of the result is inf");
    near_all("the mean as it was", t, low, 2, 0);
    near_all("the variance as it was", v, certain, 2, 0);
    ct_release(t), ct_release(v), ct_release(three), ct_release(whole);
    ct_gp_free(gp);
}

/* A y at the end of the domain that rounding of z moves out of it. */
static void ends_of_the_domain(void **state)
{
    (void)state;
    const struct {
        ct_transform_kind kind;
        double y[4];
    } end[] = { { CT_TRANSFORM_LOGIT, { 0.5, 1 - DBL_EPSILON / 2, 0.2, 0.1 } },
                { CT_TRANSFORM_LOG, { 1, DBL_MAX, 2, 3 } } };
    ct_tensor *X = tensor(CT_F32, ct_shape2(4, 1), transform_X);
    for (int k = 0; k < 2; k++) {
        const ct_gp_options how = { .transform = end[k].kind, .standardize = CT_STANDARDIZE_NONE };
        ct_tensor *y = tensor(CT_F64, ct_shape1(4), end[k].y), *inner = ct_tensor_slice(y, 0, 2, 4, 1),
                  *outer = ct_tensor_slice(y, 0, 0, 2, 1), *two = ct_tensor_slice(X, 0, 0, 2, 1);
        assert_refused(ct_gp_new(X, y, ct_kernel_parse("rbf"), &how), device, CT_EINVAL, "y: row 1 ");
        ct_gp *gp = ct_gp_new(two, inner, ct_kernel_parse("rbf"), &how);
        assert_gp(gp, device);
        const double nlml = ct_gp_nlml_value(gp);
        assert_failed(ct_gp_append(gp, two, outer, NULL), device, CT_EINVAL, "y: row 3 ");
        assert_int_equal(ct_gp_points(gp), 2);
        assert_true(ct_gp_nlml_value(gp) == nlml);
        ct_gp_free(gp);
        ct_release(y), ct_release(inner), ct_release(outer), ct_release(two);
    }
    ct_release(X);
}

/* The k-th allocation fails: no leak, and CT_ENOMEM. */
static void no_memory(void **state)
{
    (void)state;
    const transform_row *row = &transform_table[2];
    for (int64_t k = 1; k < 10000; k++) {
        ct_device *own = ct_device_open("cpu");
        ct_tensor *X = ct_from(own, CT_F64, ct_shape2(N, 1), transform_X),
                  *y = ct_from(own, CT_F64, ct_shape1(N), row->y),
                  *mean = ct_empty(own, CT_F64, ct_shape1(N)),
                  *variance = ct_empty(own, CT_F64, ct_shape1(N)), *zs = ct_empty(own, CT_F64, ct_shape1(N));
        ct_kernel *kernel = ct_kernel_parse("scale * rbf");
        alloc_fail_at(k);
        ct_gp *gp = ct_gp_new(X, y, kernel, &(ct_gp_options){ .transform = row->kind });
        ct_status s = gp ? ct_gp_loo(gp, mean, variance, zs) : ct_last_status(own);
        if (!s) s = ct_gp_untransform_moments(gp, mean, variance);
        if (!s) s = ct_gp_data(gp, NULL, zs);
        if (!s) s = ct_gp_untransform(gp, zs);
        if (!s) s = ct_gp_append(gp, X, y, NULL);
        if (!s) s = ct_gp_save(gp, path);
        ct_gp *back = s ? NULL : ct_gp_load(own, path);
        if (!s && !back) s = ct_last_status(own);
        const bool refused = alloc_refused();
        alloc_unwatch();
        if (!refused) assert_ok(s, ct_message(own));
        if (s) assert_status(s, CT_ENOMEM, ct_message(own));
        ct_gp_free(gp);
        ct_gp_free(back);
        ct_release(X), ct_release(y), ct_release(mean), ct_release(variance), ct_release(zs);
        ct_device_close(own);
        if (!refused) return;
    }
    fail_msg("no end of allocations");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverses_and_slopes),
        cmocka_unit_test(moments_are_those_of_scipy),
        cmocka_unit_test(moments_of_extremes),
        cmocka_unit_test(domains),
        cmocka_unit_test(likelihoods_are_of_y),
        cmocka_unit_test(densities_are_of_y),
        cmocka_unit_test(predictions_are_brought_to_y),
        cmocka_unit_test(draws_are_brought_to_y),
        cmocka_unit_test(the_data_are_y),
        cmocka_unit_test(fits_and_choices),
        cmocka_unit_test(rows_come_and_go),
        cmocka_unit_test(a_file_has_the_transform),
        cmocka_unit_test(a_checkpoint_has_the_transform),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(ends_of_the_domain),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, open_check_device_with_path, close_with_path);
}
