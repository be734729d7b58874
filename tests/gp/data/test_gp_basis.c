/* A mean of basis functions whose coefficients are integrated out: dense formulas, invariances. */
#include "gp_device.h"
#include "reference/basis_tables.h"

#include <cotangent/ops.h>

#include "gp/likelihood/restricted.h"

#include <unistd.h>

static ct_gp_options with_basis(const char *basis)
{
    return (ct_gp_options){ .mean = CT_MEAN_BASIS, .basis = basis };
}

/* Two models of the same rows agree in likelihood, predictions and leave-one-out, to `tolerance`; those of b
 * are higher by `above` (NULL: equal), row by row of Xs and then of the data. */
static void agree(ct_gp *a, ct_gp *b, const ct_tensor *Xs, const double *above, double tolerance)
{
    const int64_t m = ct_tensor_dim(Xs, 0), n = ct_gp_points(a);
    ct_gp *gp[] = { a, b };
    double *seen[2][5];
    for (int k = 0; k < 2; k++) {
        ct_tensor *t[] = { ct_empty(device, CT_F64, ct_shape1(m)), ct_empty(device, CT_F64, ct_shape1(m)),
                           ct_empty(device, CT_F64, ct_shape2(m, m)), ct_empty(device, CT_F64, ct_shape1(n)),
                           ct_empty(device, CT_F64, ct_shape1(n)) };
        assert_ok(ct_gp_predict(gp[k], Xs, t[0], t[1]), ct_message(device));
        assert_ok(ct_gp_predict_full(gp[k], Xs, true, NULL, t[2]), ct_message(device));
        assert_ok(ct_gp_loo(gp[k], t[3], t[4], NULL), ct_message(device));
        for (int j = 0; j < 5; j++) seen[k][j] = gp_host(t[j]), ct_release(t[j]);
    }
    assert_close(ct_gp_nlml_value(a), ct_gp_nlml_value(b), tolerance, tolerance);
    const int64_t count[] = { m, m, m * m, n, n };
    for (int j = 0; j < 5; j++) {
        for (int64_t i = 0; i < count[j]; i++) {
            const double more = above && j == 0 ? above[i] : above && j == 3 ? above[m + i] : 0;
            assert_close(seen[0][j][i] + more, seen[1][j][i], tolerance, tolerance);
        }
        free(seen[0][j]);
        free(seen[1][j]);
    }
}

static void take_values(ct_gp *gp, const double *value)
{
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        ct_param p = *ct_gp_param(gp, i);
        p.value = value[i];
        assert_ok(ct_gp_set_param(gp, i, &p), ct_message(device));
    }
}

/* -- the dense formulas ---------------------------------------------------------------------------------- */

/* Entry by entry, relative to the largest where one is small by cancellation. */
static void compare(const char *what, const basis_row *row, const double *got, const double *wanted, int n,
                    double relative)
{
    double size = 0;
    for (int i = 0; i < n; i++) size = fmax(size, fabs(wanted[i]));
    for (int i = 0; i < n; i++)
        if (!check_close(got[i], wanted[i], relative, relative * size)) {
            print_error("%s of %s, entry %d: %.17g is not %.17g\n", what, row->name, i, got[i], wanted[i]);
            fail();
        }
}

static void compare_tensor(const char *what, const basis_row *row, ct_tensor *t, const double *wanted,
                           double relative)
{
    double *got = gp_host(t);
    compare(what, row, got, wanted, (int)ct_tensor_count(t), relative);
    free(got);
    ct_release(t);
}

static void check_likelihood(ct_gp *gp, const basis_row *row, double relative)
{
    double u[BASIS_MOST], value, gradient[BASIS_MOST];
    for (int i = 0; i < row->n_params; i++) u[i] = log(row->value[i]);
    assert_ok(ct_gp_objective(gp, u, &value, gradient), ct_message(device));
    compare("nlml", row, &value, &row->nlml, 1, relative);
    compare("gradient", row, gradient, row->gradient, row->n_params, relative);
    assert_ok(ct_gp_objective(gp, u, &value, NULL), ct_message(device));
    compare("nlml alone", row, &value, &row->nlml, 1, relative);
    value = ct_gp_nlml_value(gp);
    compare("nlml of the factor", row, &value, &row->nlml, 1, relative);
}

static void check_coefficients(ct_gp *gp, const basis_row *row, double relative)
{
    double beta[BASIS_MOST], error[BASIS_MOST];
    assert_int_equal(ct_gp_functions(gp), row->functions);
    assert_ok(ct_gp_coefficients(gp, beta, error), ct_message(device));
    for (int k = 0; k < row->functions; k++) {
        compare("coefficients", row, &beta[k], &row->beta[k], 1, relative);
        compare("their errors", row, &error[k], &row->error[k], 1, relative);
    }
}

static void check_answers(ct_gp *gp, const basis_row *row, ct_dtype dtype, double relative)
{
    const double *C = row->covariance;
    double variance[BASIS_NEW];
    for (int i = 0; i < BASIS_NEW; i++) variance[i] = C[i * BASIS_NEW + i];
    ct_tensor *Xs = ct_from(device, CT_F64, ct_shape2(BASIS_NEW, row->d), row->Xs);
    ct_tensor *m = ct_empty(device, CT_F64, ct_shape1(BASIS_NEW)),
              *v = ct_empty(device, CT_F64, ct_shape1(BASIS_NEW)),
              *full_m = ct_empty(device, CT_F64, ct_shape1(BASIS_NEW)),
              *full = ct_empty(device, CT_F64, ct_shape2(BASIS_NEW, BASIS_NEW)),
              *out = ct_empty(device, CT_F64, ct_shape1(BASIS_POINTS)),
              *out_v = ct_empty(device, CT_F64, ct_shape1(BASIS_POINTS));
    assert_ok(ct_gp_predict(gp, Xs, m, v), ct_message(device));
    compare_tensor("mean", row, m, row->mean, relative);
    compare_tensor("variance", row, v, variance, relative);
    assert_ok(ct_gp_predict_full(gp, Xs, false, full_m, full), ct_message(device));
    compare_tensor("mean of all", row, full_m, row->mean, relative);
    compare_tensor("covariance", row, full, C, relative);
    assert_ok(ct_gp_loo(gp, out, out_v, NULL), ct_message(device));
    compare_tensor("leave-one-out mean", row, out, row->loo_mean, relative);
    compare_tensor("leave-one-out variance", row, out_v, row->loo_variance, relative);
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *points = ct_tensor_cast(Xs, dtype);
    ct_var x = ct_leaf(tape, points), mean, each, all;
    ct_gp_posterior(gp, x, false, &mean, &each);
    ct_gp_posterior_full(gp, x, false, NULL, &all);
    compare_tensor("mean on a tape", row, ct_retain(ct_value(mean)), row->mean, relative);
    compare_tensor("variance on a tape", row, ct_retain(ct_value(each)), variance, relative);
    compare_tensor("covariance on a tape", row, ct_retain(ct_value(all)), C, relative);
    ct_tape_free(tape);
    ct_release(points);
    ct_release(Xs);
}

static void check_row(const basis_row *row, ct_dtype dtype, ct_gp_standardize how, double relative)
{
    ct_tensor *X64 = ct_from(device, CT_F64, ct_shape2(BASIS_POINTS, row->d), row->X);
    ct_tensor *y64 = ct_from(device, CT_F64, ct_shape1(BASIS_POINTS), row->y);
    ct_tensor *X = ct_tensor_cast(X64, dtype), *y = ct_tensor_cast(y64, dtype);
    ct_gp_options o = with_basis(row->basis);
    o.standardize = how;
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse(row->kernel), &o);
    assert_gp(gp, device);
    assert_int_equal(ct_gp_params(gp), row->n_params);
    take_values(gp, row->value);
    check_likelihood(gp, row, relative);
    check_answers(gp, row, dtype, relative);
    if (dtype == CT_F64) check_coefficients(gp, row, 1e-6); /* years: h is ill-conditioned, b is not */
    ct_gp_free(gp);
    ct_tensor *all[] = { X64, y64, X, y };
    for (int i = 0; i < 4; i++) ct_release(all[i]);
}

static void equals_the_dense_formulas(void **state)
{
    (void)state;
    const size_t rows = sizeof basis_table / sizeof *basis_table;
    for (size_t r = 0; r < rows; r++)
        for (int how = CT_STANDARDIZE_BOTH; how <= CT_STANDARDIZE_OUTPUTS; how++)
            check_row(&basis_table[r], CT_F64, (ct_gp_standardize)how, 1e-8);
}

static void single_precision_is_near(void **state)
{
    (void)state;
    check_row(&basis_table[1], CT_F32, CT_STANDARDIZE_BOTH, 2e-3);
    check_row(&basis_table[2], CT_F32, CT_STANDARDIZE_BOTH, 2e-3);
}

/* Beyond the rows of one square, even and odd: packed blocks. */
static void gradients_equal_differences(void **state)
{
    (void)state;
    const int64_t sizes[] = { 6, 257, 300 };
    for (int k = 0; k < 3; k++) {
        gp_data s = gp_data_new(device, CT_F64, sizes[k], 2);
        ct_gp_options o = with_basis("1 + x0 + x1 + x0^2");
        ct_gp *gp = gp_of(&s, "scale * rbf(ard) + scale * matern52", &o);
        double u[8], gradient[8], value, step[2];
        for (int64_t i = 0; i < ct_gp_params(gp); i++)
            u[i] = log(ct_gp_param(gp, i)->value) - 0.1 * (double)i;
        assert_ok(ct_gp_objective(gp, u, &value, gradient), ct_message(device));
        for (int64_t i = 0; i < ct_gp_params(gp); i++) {
            const double at = u[i], h = 1e-4;
            for (int side = 0; side < 2; side++) {
                u[i] = at + (side ? h : -h);
                assert_ok(ct_gp_objective(gp, u, &step[side], NULL), ct_message(device));
            }
            u[i] = at;
            assert_close(gradient[i], (step[1] - step[0]) / (2 * h), 1e-5, 1e-5);
        }
        ct_gp_free(gp);
        gp_data_free(&s);
    }
}

/* The op's gradient is that of its composition, which a recorded sweep differentiates. */
static void a_recorded_sweep_gives_the_same(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 9, 2);
    ct_kernel *k = ct_kernel_parse("scale(1.3) * rbf(ard) + matern32");
    assert_ok(ct_kernel_bind(k, 2), ct_kernel_message(k));
    ct_tensor *noise = ct_full(device, CT_F64, ct_shape1(1), 0.1),
              *y = ct_tensor_reshape(s.y, ct_shape2(9, 1));
    double *bar[2][3];
    for (int recorded = 0; recorded < 2; recorded++) {
        ct_tape *tape = ct_tape_new(device);
        ct_var X = ct_constant(tape, s.X), theta = ct_kernel_theta(k, tape, CT_F64), r = ct_leaf(tape, y);
        ct_var at[] = { theta, r, ct_leaf(tape, noise) }, grad[3];
        ct_var v = ct_scale(ct__gp_restricted(k, theta, X, r, at[2], X), -1.7);
        assert_ok(ct_grad(v, (ct_var){ NULL, 0, 0 }, at, grad, 3, recorded ? CT_GRAD_RECORD : 0),
                  ct_tape_message(tape));
        for (int i = 0; i < 3; i++) bar[recorded][i] = gp_host(ct_value(grad[i]));
        ct_tape_free(tape);
    }
    const int64_t count[] = { ct_kernel_params(k), 9, 1 };
    for (int i = 0; i < 3; i++) {
        for (int64_t j = 0; j < count[i]; j++) assert_close(bar[0][i][j], bar[1][i][j], 1e-9, 1e-10);
        free(bar[0][i]);
        free(bar[1][i]);
    }
    ct_release(noise);
    ct_release(y);
    ct_kernel_free(k);
    gp_data_free(&s);
}

/* -- invariances ----------------------------------------------------------------------------------------- */

enum { ROWS = 30 };

static double polynomial(const double *x) { return 70 - 8 * x[0] + 3 * x[0] * x[1]; }

/* A combination of the functions added to y is added to the predictions, and nothing else changes: at given
 * parameters, and by a fit. */
static void a_trend_in_y_is_added_to_the_predictions(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, ROWS, 2);
    double *x = gp_host(s.X), y[ROWS], above[2 * ROWS];
    for (int i = 0; i < ROWS; i++) {
        above[i] = above[ROWS + i] = polynomial(x + 2 * i);
        y[i] = s.y_host[i] + above[i];
    }
    ct_tensor *raised = ct_from(device, CT_F64, ct_shape1(ROWS), y);
    ct_gp_options o = with_basis("1 + x0 + x0*x1");
    o.priors = CT_PRIORS_WEAK;
    ct_gp *a = gp_of(&s, "scale * rbf(ard)", &o);
    ct_gp *b = ct_gp_new(s.X, raised, ct_kernel_parse("scale * rbf(ard)"), &o);
    assert_gp(b, device);
    agree(a, b, s.X, above, 1e-8);
    ct_gp *both[] = { a, b };
    assert_ok(ct_gp_fit_many(both, 2, NULL, NULL), ct_message(device));
    agree(a, b, s.X, above, 1e-5);
    ct_gp_free(a);
    ct_gp_free(b);
    free(x);
    ct_release(raised);
    gp_data_free(&s);
}

/* x in other units, another order of the functions: the same space, the same predictions. */
static void the_space_of_the_functions_matters(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, ROWS, 2);
    double *x = gp_host(s.X);
    for (int i = 0; i < ROWS; i++) x[2 * i] = 1e6 + x[2 * i], x[2 * i + 1] *= 1e-3;
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(ROWS, 2), x);
    ct_gp_options o = with_basis("1 + x0 + x1 + x0^2"), p = with_basis("x0*x0 + x1 + x0 + 1");
    ct_gp *a = gp_of(&s, "scale * matern32(ard)", &o);
    ct_gp *b = ct_gp_new(X, s.y, ct_kernel_parse("scale * matern32(ard)"), &p);
    assert_gp(b, device);
    ct_tensor *m[2] = { ct_empty(device, CT_F64, ct_shape1(ROWS)),
                        ct_empty(device, CT_F64, ct_shape1(ROWS)) };
    ct_tensor *v[2] = { ct_empty(device, CT_F64, ct_shape1(ROWS)),
                        ct_empty(device, CT_F64, ct_shape1(ROWS)) };
    assert_ok(ct_gp_predict(a, s.X, m[0], v[0]), ct_message(device));
    assert_ok(ct_gp_predict(b, X, m[1], v[1]), ct_message(device));
    double *host[] = { gp_host(m[0]), gp_host(m[1]), gp_host(v[0]), gp_host(v[1]) };
    for (int i = 0; i < ROWS; i++) { /* x0 keeps nine digits */
        assert_close(host[0][i], host[1][i], 1e-6, 1e-6);
        assert_close(host[2][i], host[3][i], 1e-6, 1e-6);
    }
    for (int k = 0; k < 4; k++) free(host[k]);
    for (int k = 0; k < 2; k++) ct_release(m[k]), ct_release(v[k]);
    ct_gp_free(a);
    ct_gp_free(b);
    ct_release(X);
    free(x);
    gp_data_free(&s);
}

/* Far from the data the variance is the prior's and that of the slope, which grows with the distance. */
static void a_forecast_gets_wider(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, ROWS, 1);
    ct_gp_options o = with_basis("1 + x0");
    ct_gp *gp = gp_of(&s, "scale * rbf", &o);
    gp_set(gp, "scale.variance", 0.5, false);
    gp_set(gp, "rbf.lengthscale", 0.3, false);
    ct_tensor *Xs = ct_from(device, CT_F64, ct_shape2(2, 1), (double[]){ 20, 1e4 });
    ct_tensor *v = ct_empty(device, CT_F64, ct_shape1(2)), *none = ct_empty(device, CT_F64, ct_shape2(0, 1));
    assert_ok(ct_gp_predict(gp, none, none, none), ct_message(device));
    assert_ok(ct_gp_predict(gp, Xs, NULL, v), ct_message(device));
    double *variance = gp_host(v), error[2];
    assert_ok(ct_gp_coefficients(gp, NULL, error), ct_message(device));
    assert_true(variance[0] > 0.5 + 100 * error[1] * error[1]);
    assert_close(variance[1], 1e8 * error[1] * error[1], 1e-3, 0);
    free(variance);
    ct_release(none);
    ct_release(v);
    ct_release(Xs);
    ct_gp_free(gp);
    gp_data_free(&s);
}

/* The draws' mean and covariance are those of ct_gp_predict_full. */
static void draws_have_the_covariance(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    gp_data s = gp_data_new(device, CT_F64, 12, 1);
    ct_gp_options o = with_basis("1 + x0");
    ct_gp *gp = gp_of(&s, "scale * rbf", &o);
    ct_tensor *Xs = ct_from(device, CT_F64, ct_shape2(2, 1), (double[]){ 3, 9 });
    ct_tensor *mean = ct_empty(device, CT_F64, ct_shape1(2)), *C = ct_empty(device, CT_F64, ct_shape2(2, 2)),
              *draws = ct_empty(device, CT_F64, ct_shape2(DRAWS, 2));
    assert_ok(ct_gp_predict_full(gp, Xs, false, mean, C), ct_message(device));
    assert_ok(ct_gp_sample(gp, Xs, false, 5, draws), ct_message(device));
    double *m = gp_host(mean), *c = gp_host(C), *d = gp_host(draws), sum[4] = { 0 };
    for (int i = 0; i < DRAWS; i++)
        for (int k = 0; k < 4; k++)
            sum[k] += (d[2 * i + k / 2] - m[k / 2]) * (d[2 * i + k % 2] - m[k % 2]) / DRAWS;
    for (int k = 0; k < 4; k++) assert_close(sum[k], c[k], 0, 0.05 * sqrt(c[0] * c[3]));
    free(m);
    free(c);
    free(d);
    ct_tensor *all[] = { Xs, mean, C, draws };
    for (int i = 0; i < 4; i++) ct_release(all[i]);
    ct_gp_free(gp);
    gp_data_free(&s);
}

/* -- gradients in the points ----------------------------------------------------------------------------- */

/* Of the mean, the variance and the covariance at two points. */
static ct_var combination(ct_gp *gp, ct_var x, ct_tensor *weights)
{
    ct_var mean, variance, all;
    ct_gp_posterior(gp, x, true, &mean, &variance);
    ct_gp_posterior_full(gp, x, false, NULL, &all);
    ct_var each = ct_sum(ct_add(mean, ct_log(variance)), CT_ALL, false);
    return ct_add(each, ct_sum(ct_mul(ct_constant(x.tape, weights), all), CT_ALL, false));
}

static void the_posterior_has_gradients(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, ROWS, 2);
    ct_gp_options o = with_basis("1 + x0^2 + x0*x1");
    ct_gp *gp = gp_of(&s, "scale * matern52(ard)", &o);
    const double at[] = { 0.3, 2.5, 1.4, -1.1 }, h = 1e-5;
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(2, 2), at),
              *weights = ct_from(device, CT_F64, ct_shape2(2, 2), (double[]){ 1, -0.3, 0.8, 0.4 });
    ct_tape *tape = ct_tape_new(device);
    ct_var x = ct_leaf(tape, X);
    assert_ok(ct_backward(combination(gp, x, weights)), ct_tape_message(tape));
    double *gradient = gp_host(ct_cotangent(x));
    for (int i = 0; i < 4; i++) {
        double value[2];
        for (int side = 0; side < 2; side++) {
            double moved[4];
            memcpy(moved, at, sizeof at);
            moved[i] += side ? h : -h;
            assert_ok(ct_write(X, moved, sizeof moved), ct_message(device));
            ct_tape_reset(tape);
            value[side] = ct_item(combination(gp, ct_constant(tape, X), weights));
        }
        assert_close(gradient[i], (value[1] - value[0]) / (2 * h), 1e-6, 1e-6);
    }
    free(gradient);
    ct_release(weights);
    ct_release(X);
    ct_tape_free(tape);
    ct_gp_free(gp);
    gp_data_free(&s);
}

/* -- rows, files, copies --------------------------------------------------------------------------------- */

static void rows_come_and_go(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, ROWS, 2);
    ct_gp_options o = with_basis("1 + x0 + x1^2");
    o.standardize = CT_STANDARDIZE_NONE;
    ct_tensor *X[] = { ct_tensor_slice(s.X, 0, 0, 20, 1), ct_tensor_slice(s.X, 0, 20, ROWS, 1),
                       ct_tensor_slice(s.X, 0, 2, ROWS, 1) };
    ct_tensor *y[] = { ct_tensor_slice(s.y, 0, 0, 20, 1), ct_tensor_slice(s.y, 0, 20, ROWS, 1),
                       ct_tensor_slice(s.y, 0, 2, ROWS, 1) };
    ct_gp *gp = ct_gp_new(X[0], y[0], ct_kernel_parse("scale * rbf(ard)"), &o),
          *all = gp_of(&s, "scale * rbf(ard)", &o);
    assert_gp(gp, device);
    const double value[] = { 0.7, 0.4, 1.1, 0.02 };
    take_values(gp, value);
    take_values(all, value);
    assert_ok(ct_gp_predict(gp, X[1], NULL, NULL), ct_message(device));
    ct_gp *before = ct_gp_copy(gp);
    assert_ok(ct_gp_append(gp, X[1], y[1], NULL), ct_message(device));
    agree(gp, all, s.X, NULL, 1e-9);
    assert_ok(ct_gp_remove(gp, (const int64_t[]){ 1, 0 }, 2), ct_message(device));
    ct_gp *rest = ct_gp_new(X[2], y[2], ct_kernel_parse("scale * rbf(ard)"), &o);
    assert_gp(rest, device);
    take_values(rest, value);
    agree(gp, rest, s.X, NULL, 1e-9);
    assert_int_equal(ct_gp_points(before), 20);
    double beta[2][3];
    ct_gp *fresh = ct_gp_new(X[0], y[0], ct_kernel_parse("scale * rbf(ard)"), &o);
    take_values(fresh, value);
    assert_ok(ct_gp_coefficients(before, beta[0], NULL), ct_message(device));
    assert_ok(ct_gp_coefficients(fresh, beta[1], NULL), ct_message(device));
    for (int k = 0; k < 3; k++) assert_close(beta[0][k], beta[1][k], 1e-10, 1e-10);
    const int64_t most[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
    assert_failed(ct_gp_remove(before, most, 17), device, CT_EINVAL, "more rows than functions");
    agree(before, fresh, s.X, NULL, 1e-9);
    ct_gp *models[] = { gp, all, before, rest, fresh };
    for (int k = 0; k < 5; k++) ct_gp_free(models[k]);
    for (int k = 0; k < 3; k++) ct_release(X[k]), ct_release(y[k]);
    gp_data_free(&s);
}

static void what_a_basis_does_not_go_with(void **state)
{
    (void)state;
    static const char *const levels[] = { "a", "b" };
    const ct_column inputs[] = {
        { .name = "wood", .kind = CT_COLUMN_CATEGORY, .levels = levels, .n_levels = 2 }, { .name = "x" }
    };
    gp_data s = gp_data_new(device, CT_F64, ROWS, 2);
    ct_gp_options o = with_basis("1 + x*wood");
    o.inputs = inputs;
    assert_refused(ct_gp_new(s.X, s.y, ct_kernel_parse("rbf"), &o), device, CT_EFORMAT,
                   "this column is a category, and a function takes numbers\n  1 + x*wood\n        ^");
    o.basis = "1 + x";
    ct_gp *gp = gp_of(&s, "rbf", &o);
    int64_t fold[ROWS] = { 0 };
    assert_failed(ct_gp_cross_validate(gp, fold, NULL, NULL, NULL), device, CT_ENUMERIC,
                  "alone determines a coefficient of the mean");
    ct_gp_free(gp);
    gp_data_free(&s);
}

static void files_keep_the_basis(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, ROWS, 2);
    const ct_column inputs[] = { { .name = "the year" }, { .name = "p" } };
    ct_gp_options o = with_basis("1 + \"the year\" + p*\"the year\"^2");
    o.inputs = inputs;
    ct_gp *gp = gp_of(&s, "scale * rbf(ard)", &o);
    for (int bare = 0; bare < 2; bare++) {
        assert_ok(ct_gp_save_with(gp, path, &(ct_gp_save_options){ .no_factor = bare }), ct_message(device));
        ct_gp *back = ct_gp_load(device, path);
        assert_gp(back, device);
        agree(gp, back, s.X, NULL, bare ? 1e-10 : 0);
        char text[64];
        assert_int_equal(ct_gp_function(back, 2, text, sizeof text), strlen("\"the year\"^2*p"));
        assert_string_equal(text, "\"the year\"^2*p");
        double a[2][3], e[2][3];
        assert_ok(ct_gp_coefficients(gp, a[0], e[0]), ct_message(device));
        assert_ok(ct_gp_coefficients(back, a[1], e[1]), ct_message(device));
        for (int k = 0; k < 3; k++) {
            assert_close(a[0][k], a[1][k], bare ? 1e-9 : 0, 0);
            assert_close(e[0][k], e[1][k], bare ? 1e-9 : 0, 0);
        }
        ct_gp_numerics q[2];
        assert_ok(ct_gp_inspect(gp, &q[0]), ct_message(device));
        assert_ok(ct_gp_inspect(back, &q[1]), ct_message(device));
        assert_close(q[0].gradient_error, q[1].gradient_error, 1e-6, 0);
        ct_gp_free(back);
    }
    unlink(path);
    ct_gp_free(gp);
    gp_data_free(&s);
}

/* -- fits ------------------------------------------------------------------------------------------------ */

static void a_fit_and_a_choice_take_a_basis(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 40, 2);
    ct_gp_options o = with_basis("1 + x0 + x1");
    o.priors = CT_PRIORS_WEAK;
    unlink(path);
    double objective[2];
    for (int again = 0; again < 2; again++) { /* the second fit is all in the checkpoint */
        ct_gp *gp = gp_of(&s, "scale * rbf(ard)", &o);
        ct_fit_options how = { .restarts = 1, .checkpoint = path };
        assert_ok(ct_gp_fit(gp, &how), ct_message(device));
        objective[again] = ct_gp_report(gp).objective;
        assert_int_equal(ct_gp_report(gp).replayed, again ? ct_gp_report(gp).evaluations : 0);
        ct_gp_free(gp);
    }
    assert_close(objective[0], objective[1], 0, 0);
    o.basis = "1 + x0";
    ct_gp *other = gp_of(&s, "scale * rbf(ard)", &o);
    assert_failed(ct_gp_fit(other, &(ct_fit_options){ .restarts = 1, .checkpoint = path }), device, CT_EINVAL,
                  "checkpoint of other data");
    assert_failed(ct_gp_fit(other, &(ct_fit_options){ .objective = CT_OBJECTIVE_LOO }), device,
                  CT_EUNSUPPORTED, "with a basis there is only the likelihood");
    assert_failed(ct_gp_fit(other, &(ct_fit_options){ .precision = CT_PRECISION_MIXED }), device,
                  CT_EUNSUPPORTED, "with a basis there is only the likelihood");
    unlink(path);
    ct_gp *chosen;
    ct_gp_choice choice;
    assert_ok(ct_gp_choose(s.X, s.y, &o, &(ct_gp_choose_options){ .rows = 20 }, &chosen, &choice),
              ct_message(device));
    assert_ok(choice.calibration, ct_message(device));
    assert_int_equal(ct_gp_functions(chosen), 2);
    ct_gp_free(chosen);
    ct_gp_free(other);
    gp_data_free(&s);
}

/* x1 is 1 in one row of a stretch of three, of which one row is drawn: without it the functions are one. */
static void all_rows_choose_where_some_lack_a_function(void **state)
{
    (void)state;
    const ct_gp_options o = with_basis("1 + x1");
    const ct_gp_candidate only = { "scale * rbf(dims=0)", NULL };
    const ct_gp_choose_options how = { .candidates = &only, .n_candidates = 1, .rows = 10 };
    int by_all = 0;
    for (int one = 0; one < 3; one++) {
        double x[60], y[30];
        for (int i = 0; i < 30; i++) {
            x[2 * i] = 0.2 * i;
            x[2 * i + 1] = i == one;
            y[i] = sin(x[2 * i]) + 3 * (i == one) + 0.1 * cos(17. * i);
        }
        ct_tensor *X = ct_from(device, CT_F64, ct_shape2(30, 2), x),
                  *t = ct_from(device, CT_F64, ct_shape1(30), y);
        ct_gp *chosen;
        ct_gp_choice choice;
        assert_ok(ct_gp_choose(X, t, &o, &how, &chosen, &choice), ct_message(device));
        assert_int_equal(ct_gp_points(chosen), 30);
        by_all += choice.rows == 30;
        ct_gp_free(chosen);
        ct_release(X), ct_release(t);
    }
    assert_int_equal(by_all, 2);
}

/* A column at its mean takes its functions with it: what is left is the model without them. */
static void a_column_is_left_out_with_its_functions(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, ROWS, 2);
    ct_gp_options o = with_basis("1 + x0 + x1 + x1^2"), less = with_basis("1 + x0");
    o.standardize = less.standardize = CT_STANDARDIZE_NONE;
    ct_gp *gp = gp_of(&s, "scale * rbf(dims=0)", &o), *without = gp_of(&s, "scale * rbf(dims=0)", &less);
    double sum[2];
    take_values(without, (double[]){ 1.3, 0.4, 0.05 });
    take_values(gp, (double[]){ 1.3, 0.4, 0.05 });
    assert_ok(ct_gp_loo_ablation(gp, (const int64_t[]){ 1 }, 1, &sum[0]), ct_message(device));
    assert_ok(ct_gp_loo_ablation(without, NULL, 0, &sum[1]), ct_message(device));
    assert_close(sum[0], sum[1], 1e-9, 0);
    ct_gp_free(gp);
    ct_gp_free(without);
    gp_data_free(&s);
}

/* -- what is refused ------------------------------------------------------------------------------------- */

static void texts_that_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
        int column; /* of the caret */
    } wrong[] = {
        { "", "the text ends where a column or 1", 0 },
        { "1 + ", "the text ends where", 4 },
        { "1 + q", "no such column; there are x0, my col", 4 },
        { "1 + x3", "no such column; there are x0", 4 },
        { "2*x0", "the only number is 1", 0 },
        { "x0^0", "a power is at least 1", 3 },
        { "x0^9", "a power is at most 8", 3 },
        { "x0^99999999999999999999", "a power is at most 8", 3 },
        { "x0^5 * x2^4", "add up to more than 8", 7 },
        { "x0 + 1*x0", "this function is there twice", 5 },
        { "x0 - x2", "expected \"+\", \"*\", \"^\" or the end", 3 },
        { "\"my col", "whose second quote is missing", 0 },
        { "1 + (x0)", "expected a column or 1", 4 },
        { "x0 x2", "expected \"+\"", 3 },
    };
    const ct_column inputs[] = { { .name = "x0" }, { .name = "my col" }, { .name = "q\"t" } };
    gp_data s = gp_data_new(device, CT_F64, 12, 3);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        ct_gp_options o = with_basis(wrong[k].text);
        o.inputs = inputs;
        assert_refused(ct_gp_new(s.X, s.y, ct_kernel_parse("rbf"), &o), device, CT_EFORMAT, wrong[k].why);
        const char *message = ct_message(device), *last = strrchr(message, '\n');
        assert_non_null(last);
        assert_int_equal(strlen(last), 1 + 2 + (size_t)wrong[k].column + 1);
        assert_int_equal(last[strlen(last) - 1], '^');
    }
    ct_gp_options o = with_basis("1*1 + x0*x2*x0 + \"q\"\"t\" + \"my col\"");
    o.inputs = inputs;
    ct_gp *gp = gp_of(&s, "rbf", &o);
    static const char *const printed[] = { "1", "x0^2*\"q\"\"t\"", "\"q\"\"t\"", "\"my col\"" };
    assert_int_equal(ct_gp_functions(gp), 4);
    for (int k = 0; k < 4; k++) {
        char text[32];
        assert_int_equal(ct_gp_function(gp, k, text, sizeof text), strlen(printed[k]));
        assert_string_equal(text, printed[k]);
    }
    ct_gp_free(gp);
    gp_data_free(&s);
}

static void bases_that_do_not_fit(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 4, 2);
    const double x[] = { 0, 1, 0, 2, 1, 3, 1, 4 };
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(4, 2), x);
    const struct {
        const char *basis, *why;
    } wrong[] = {
        { "1 + x0 + x0^2", "the function x0^2 is, to rounding, a combination" },
        { "1 + x0 + x1 + x0*x1", "4 functions for 4 rows" },
    };
    for (int k = 0; k < 2; k++) {
        ct_gp_options o = with_basis(wrong[k].basis);
        assert_refused(ct_gp_new(X, s.y, ct_kernel_parse("rbf"), &o), device, CT_EINVAL, wrong[k].why);
    }
    double wide[8];
    for (int i = 0; i < 8; i++) wide[i] = 1e60 * x[i];
    ct_tensor *W = ct_from(device, CT_F64, ct_shape2(4, 2), wide);
    ct_gp_options o = with_basis("1 + x1^8");
    assert_refused(ct_gp_new(W, s.y, ct_kernel_parse("rbf"), &o), device, CT_EINVAL, "x1^8 leaves the range");
    o.standardize = CT_STANDARDIZE_NONE;
    assert_refused(ct_gp_new(W, s.y, ct_kernel_parse("rbf"), &o), device, CT_EINVAL, "leaves the range");
    o.basis = NULL;
    assert_refused(ct_gp_new(X, s.y, ct_kernel_parse("rbf"), &o), device, CT_EINVAL, "belongs with");
    o = (ct_gp_options){ .basis = "1" };
    assert_refused(ct_gp_new(X, s.y, ct_kernel_parse("rbf"), &o), device, CT_EINVAL, "belongs with");
    /* one row alone tells the slope: it cannot be left out */
    ct_tensor *lone = ct_from(device, CT_F64, ct_shape2(4, 1), (double[]){ 0, 0, 0, 1 });
    o = with_basis("1 + x0");
    ct_gp *gp = ct_gp_new(lone, s.y, ct_kernel_parse("rbf"), &o);
    assert_gp(gp, device);
    ct_tensor *out = ct_empty(device, CT_F64, ct_shape1(4));
    assert_failed(ct_gp_loo(gp, out, NULL, NULL), device, CT_ENUMERIC, "row 3 cannot be left out");
    ct_gp *plain = gp_of(&s, "rbf", NULL);
    assert_failed(ct_gp_coefficients(plain, NULL, NULL), device, CT_EINVAL, "no basis");
    assert_int_equal(ct_gp_functions(plain), 0);
    ct_gp_free(gp);
    ct_gp_free(plain);
    ct_tensor *all[] = { X, W, lone, out };
    for (int i = 0; i < 4; i++) ct_release(all[i]);
    gp_data_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_dense_formulas),
        cmocka_unit_test(single_precision_is_near),
        cmocka_unit_test(gradients_equal_differences),
        cmocka_unit_test(a_recorded_sweep_gives_the_same),
        cmocka_unit_test(a_trend_in_y_is_added_to_the_predictions),
        cmocka_unit_test(the_space_of_the_functions_matters),
        cmocka_unit_test(a_forecast_gets_wider),
        cmocka_unit_test(draws_have_the_covariance),
        cmocka_unit_test(the_posterior_has_gradients),
        cmocka_unit_test(rows_come_and_go),
        cmocka_unit_test(what_a_basis_does_not_go_with),
        cmocka_unit_test(files_keep_the_basis),
        cmocka_unit_test(a_fit_and_a_choice_take_a_basis),
        cmocka_unit_test(all_rows_choose_where_some_lack_a_function),
        cmocka_unit_test(a_column_is_left_out_with_its_functions),
        cmocka_unit_test(texts_that_are_wrong),
        cmocka_unit_test(bases_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, open_check_device_with_path, close_with_path);
}
