/* Several outputs: against the dense formulas, their fits, and what they refuse. */
#include "gp_outputs.h"

#include <cotangent/gradcheck.h>
#include <cotangent/ops.h>

#include "gp/likelihood/table.h"

#include <string.h>

/* -- against the table ----------------------------------------------------------------------------------- */

static void check_values(const struct outputs_row *row, ct_outputs *o)
{
    ct_gp *whole = ct_outputs_joint_model(o);
    const int64_t n = ct_gp_params(whole);
    double u[16], value, gradient[16], nlml = ct_outputs_nlml(o);
    assert_near(row->name, &nlml, &row->nlml, 1, 1e-11, 1);
    for (int64_t i = 0; i < n; i++)
        u[i] = ct_gp_param(whole, i)->any_sign ? row->theta[i] : log(row->theta[i]);
    assert_ok(ct_gp_objective(whole, u, &value, gradient), ct_message(device));
    assert_near("objective", &value, &row->nlml, 1, 1e-11, 1);
    assert_near("gradient", gradient, row->gradient, n, 1e-10, 1);
}

static void check_predictions(const struct outputs_row *row, ct_outputs *o)
{
    ct_tensor *Xs = tensor(CT_F64, ct_shape2(NEW, 2), outputs_new_X),
              *mean = tensor(CT_F64, ct_shape2(NEW, P), row->mean),
              *C = tensor(CT_F64, ct_shape2(NEW * P, NEW * P), row->covariance),
              *one = tensor(CT_F64, ct_shape1(NEW), row->mean),
              *variance = tensor(CT_F64, ct_shape1(NEW), row->mean),
              *left = assert_tensor(ct_zeros(device, CT_F64, ct_shape1(N)), device);
    assert_ok(ct_outputs_predict_full(o, Xs, false, mean, C), ct_message(device));
    double *m = gp_host(mean), *c = gp_host(C);
    assert_near("mean", m, row->mean, NEW * P, 1e-11, 0);
    assert_near("covariance", c, row->covariance, NEW * P * NEW * P, 1e-10, 1e-9);
    for (int64_t j = 0; j < P; j++) {
        ct_gp *gp = ct_outputs_model(o, j);
        assert_gp(gp, device);
        assert_string_equal(ct_gp_output(gp)->name, outputs_names[j].name);
        assert_int_equal(ct_gp_dims(gp), 2);
        assert_ok(ct_gp_predict(gp, Xs, one, variance), ct_message(device));
        double *a = gp_host(one), *v = gp_host(variance);
        for (int64_t i = 0; i < NEW; i++) {
            assert_near("mean of one", &a[i], &row->mean[i * P + j], 1, 1e-11, 0);
            assert_near("variance of one", &v[i], &row->covariance[(i * P + j) * (NEW * P + 1)], 1, 1e-10, 0);
        }
        free(a), free(v);
    }
    ct_release(Xs), ct_release(mean), ct_release(C), ct_release(one), ct_release(variance), ct_release(left);
    free(m), free(c);
}

static void check_left_out(const struct outputs_row *row, ct_outputs *o)
{
    for (int64_t j = 0; j < P; j++) {
        ct_gp *gp = ct_outputs_model(o, j);
        const int64_t n = ct_gp_points(gp);
        ct_tensor *mean = assert_tensor(ct_zeros(device, CT_F64, ct_shape1(n)), device);
        assert_ok(ct_gp_loo(gp, mean, NULL, NULL), ct_message(device));
        double *m = gp_host(mean);
        for (int64_t i = 0, k = 0; i < N; i++)
            if (!isnan(row->left_out[i * P + j]))
                assert_near("leave-one-out", &m[k++], &row->left_out[i * P + j], 1, 1e-10, 0);
        free(m);
        ct_release(mean);
    }
}

static void the_dense_formulas(void **state)
{
    (void)state;
    for (int r = 0; r < ROWS; r++) {
        ct_outputs *o = outputs_make(&outputs_table[r], N);
        check_values(&outputs_table[r], o);
        check_predictions(&outputs_table[r], o);
        check_left_out(&outputs_table[r], o);
        ct_outputs_free(o);
    }
}

/* -- fits ------------------------------------------------------------------------------------------------ */

static void a_shared_fit_lowers_the_sum(void **state)
{
    (void)state;
    ct_outputs *o = outputs_fitted(CT_OUTPUTS_SHARED, 40);
    ct_gp *whole = ct_outputs_joint_model(o);
    assert_true(ct_fit_converged(ct_gp_report(whole).end));
    const double objective = ct_gp_report(whole).objective, nlml = ct_outputs_nlml(o);
    assert_near("objective", &objective, &nlml, 1, 1e-10, 1);
    for (int64_t i = 0; i < ct_gp_params(whole); i++) { /* a minimum */
        for (int side = -1; side <= 1; side += 2) {
            ct_param before = *ct_gp_param(whole, i), p = before;
            p.value *= 1 + 0.01 * side;
            assert_ok(ct_gp_set_param(whole, i, &p), ct_message(device));
            assert_true(ct_outputs_nlml(o) >= nlml - 1e-7);
            assert_ok(ct_gp_set_param(whole, i, &before), ct_message(device));
        }
    }
    /* what the outputs have in common, in their own units */
    ct_gp *a = ct_outputs_model(o, 0), *b = ct_outputs_model(o, 1);
    assert_near("lengthscale", &(double){ gp_get(a, "rbf.lengthscale[0]") },
                &(double){ gp_get(b, "rbf.lengthscale[0]") }, 1, 0, 0);
    const double share = gp_get(whole, "noise.variance") / gp_get(whole, "scale.variance");
    for (int64_t j = 0; j < 3; j++) {
        ct_gp *gp = ct_outputs_model(o, j);
        const double own = gp_get(gp, "noise.variance") / gp_get(gp, "scale.variance");
        assert_near("share of the noise", &own, &share, 1, 1e-12, 0);
    }
    ct_outputs_free(o);
}

static double *column_of(ct_outputs *o, int64_t j, int64_t *n)
{
    ct_gp *gp = ct_outputs_model(o, j);
    *n = ct_gp_points(gp);
    ct_tensor *y = assert_tensor(ct_zeros(device, CT_F64, ct_shape1(*n)), device);
    assert_ok(ct_gp_data(gp, NULL, y), ct_message(device));
    double *host = gp_host(y);
    ct_release(y);
    return host;
}

/* Computes a joint model's likelihood without Kronecker products. */
static void by_the_whole_matrix(ct_gp *whole)
{
    whole->likelihood.grid = 0;
    ct__likelihood_take(whole, CT__JOINT_OUTPUTS);
}

/* What a model of one joint output says of itself, and that a fit by Kronecker products ends where one of the
 * whole matrix does. */
static void a_joint_output_is_a_model(void **state)
{
    (void)state;
    ct_outputs *o = outputs_make(&outputs_table[2], N), *full = outputs_make(&outputs_table[1], N);
    assert_int_equal(ct_outputs_joint_model(full)->likelihood.grid, on_cpu() ? P : 0);
    assert_int_equal(ct_outputs_joint_model(o)->likelihood.grid, 0);
    assert_int_equal(ct_outputs_values(o), N * P - 4);
    for (int64_t j = 0; j < P; j++) {
        int64_t n;
        double *y = column_of(o, j, &n);
        for (int64_t i = 0, k = 0; i < N; i++)
            if (!isnan(outputs_Y_missing[i * P + j]))
                assert_near("data", &y[k++], &outputs_Y_missing[i * P + j], 1, 1e-14, 0);
        free(y);
    }
    ct_gp *gp = ct_outputs_model(o, 1);
    assert_int_equal(ct_gp_points(gp), N - 1);
    assert_int_equal(ct_gp_get_options(gp).noise, CT_NOISE_LEARNED);
    assert_null(ct_gp_input(gp, 2));
    assert_true(ct_gp_noise_variance(gp) == gp_get(gp, "noise.variance[b]"));
    ct_tensor *X = tensor(CT_F64, ct_shape2(N, 2), outputs_X),
              *own = assert_tensor(ct_zeros(device, CT_F64, ct_shape2(N - 1, 2)), device);
    assert_ok(ct_gp_data(gp, own, NULL), ct_message(device));
    double *x = gp_host(own), first[2], total[2], without[2];
    assert_near("inputs", x, outputs_X + 2, 2 * (N - 1), 1e-14, 0); /* row 0 has no b */
    assert_ok(ct_gp_sobol(gp, 64, 1, first, total), ct_message(device));
    assert_ok(ct_gp_loo_ablation(gp, (int64_t[]){ 1 }, 1, without), ct_message(device));
    assert_ok(ct_gp_loo_ablation(gp, NULL, 0, without + 1), ct_message(device));
    assert_true(without[0] != without[1]);
    assert_failed(ct_gp_loo_ablation(gp, (int64_t[]){ 2 }, 1, without), device, CT_EINDEX, "column 2 of 2");
    /* on a tape */
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *Xs = tensor(CT_F64, ct_shape2(NEW, 2), outputs_new_X);
    ct_var at = ct_leaf(tape, Xs), m, v, C;
    ct_gp_posterior(gp, at, true, &m, &v);
    ct_gp_posterior_full(gp, at, false, NULL, &C);
    assert_ok(ct_check(m), ct_tape_message(tape));
    double *mean = gp_host(ct_value(m)), *variance = gp_host(ct_value(v)), *covariance = gp_host(ct_value(C));
    for (int64_t i = 0; i < NEW; i++) {
        const double *row = outputs_table[2].covariance + (i * P + 1) * NEW * P,
                     noise = ct_gp_noise_variance(gp);
        assert_near("mean", &mean[i], &outputs_table[2].mean[i * P + 1], 1, 1e-11, 0);
        assert_near("variance", &variance[i], &(double){ row[i * P + 1] + noise }, 1, 1e-10, 0);
        for (int64_t l = 0; l < NEW; l++)
            assert_near("covariance", &covariance[i * NEW + l], &row[l * P + 1], 1, 1e-9, 1e-6);
    }
    free(x), free(mean), free(variance), free(covariance);
    ct_tape_free(tape);
    ct_gp_numerics q;
    assert_ok(ct_gp_inspect(gp, &q), ct_message(device));
    assert_true(q.pivot_row >= 0 && q.pivot_row < N - 1 && q.gradient_error < 1e-8 && q.gradient_error > 0);
    /* a new factor has the same likelihood */
    ct_gp *copy = ct_gp_copy(gp);
    gp_set(copy, "rbf.lengthscale[0]", 1, false);
    gp_set(copy, "rbf.lengthscale[0]", gp_get(gp, "rbf.lengthscale[0]"), false);
    assert_near("nlml", &(double){ ct_gp_nlml_value(copy) }, &(double){ ct_gp_nlml_value(gp) }, 1, 1e-12, 1);
    ct_gp_free(copy);
    /* what belongs to all outputs */
    int64_t folds[N] = { 0 };
    assert_failed(ct_gp_cross_validate(gp, folds, NULL, NULL, NULL), device, CT_EUNSUPPORTED,
                  "one output of several");
    assert_failed(ct_gp_save(gp, path), device, CT_EUNSUPPORTED, "ct_outputs_save");
    assert_failed(ct_gp_append(gp, own, own, NULL), device, CT_EUNSUPPORTED, "ct_outputs_append");
    assert_failed(ct_gp_noise_at(gp, Xs, Xs, own), device, CT_ESHAPE, "");
    ct_release(X), ct_release(own), ct_release(Xs);
    ct_outputs_free(o), ct_outputs_free(full);
}

static void a_fit_in_the_grid_is_the_fit(void **state)
{
    (void)state;
    ct_outputs *o[2] = { NULL };
    for (int k = 0; k < 2; k++) {
        ct_tensor *X = tensor(CT_F64, ct_shape2(N, 2), outputs_X),
                  *Y = tensor(CT_F64, ct_shape2(N, P), outputs_Y);
        o[k] = ct_outputs_new(
            X, Y, ct_kernel_parse("rbf(ard)"),
            &(ct_outputs_options){ .kind = CT_OUTPUTS_COREGIONALISED, .model.priors = CT_PRIORS_WEAK });
        assert_outputs(o[k]);
        if (k) by_the_whole_matrix(ct_outputs_joint_model(o[k]));
        assert_ok(ct_outputs_fit(o[k], &(ct_fit_options){ .restarts = 1, .tolerance = 1e-9 }),
                  ct_message(device));
        ct_release(X), ct_release(Y);
    }
    const double a = ct_gp_report(ct_outputs_joint_model(o[0])).objective,
                 b = ct_gp_report(ct_outputs_joint_model(o[1])).objective;
    assert_near("objective", &a, &b, 1, 1e-6, 1);
    ct_outputs_free(o[0]), ct_outputs_free(o[1]);
}

/* Kernels of joint outputs that are a product of input and output, and those that are not. */
static void kernels_on_pairs(void **state)
{
    (void)state;
    static const struct {
        const char *kernel;
        bool grid;
        int64_t params;
    } list[] = {
        { "rbf", true, 2 * P + 1 + P },
        { "scale * (rbf + constant) * matern32(dims=0)", true, 2 * P + 4 + P },
        { "index(dims=2) * rbf(dims=0:1) + index(dims=2) * linear(dims=0:1)", false, 4 * P + 2 + P },
        { "index(rank=2, dims=2) * rbf(dims=0:1) * index(dims=2)", true, 5 * P + 1 + P },
        { "rbf + white", false, 2 * P + 2 + P },
        { "category(dims=2) * rbf(dims=0)", true, 2 + P },
    };
    ct_tensor *X = tensor(CT_F64, ct_shape2(N, 2), outputs_X),
              *Y = tensor(CT_F64, ct_shape2(N, P), outputs_Y);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        ct_outputs *o = ct_outputs_new(X, Y, ct_kernel_parse(list[i].kernel),
                                       &(ct_outputs_options){ .kind = CT_OUTPUTS_COREGIONALISED });
        assert_outputs(o);
        ct_gp *whole = ct_outputs_joint_model(o);
        assert_int_equal(ct_gp_params(whole), list[i].params);
        assert_int_equal(whole->likelihood.grid, list[i].grid && on_cpu() ? P : 0);
        double u[32], with, without, gradient[2][32];
        for (int64_t k = 0; k < ct_gp_params(whole); k++) {
            const ct_param *p = ct_gp_param(whole, k);
            u[k] = p->any_sign ? p->value : log(p->value);
        }
        assert_ok(ct_gp_objective(whole, u, &with, gradient[0]), ct_message(device));
        by_the_whole_matrix(whole);
        assert_ok(ct_gp_objective(whole, u, &without, gradient[1]), ct_message(device));
        assert_near("value", &with, &without, 1, 1e-12, 1);
        assert_near("gradient", gradient[0], gradient[1], ct_gp_params(whole), 1e-10, 1);
        ct_outputs_free(o);
    }
    ct_release(X), ct_release(Y);
}

static void each_is_a_model_of_its_own(void **state)
{
    (void)state;
    ct_outputs *o = outputs_fitted(CT_OUTPUTS_EACH, 30);
    gp_data s = gp_data_new(device, CT_F64, 30, 2);
    ct_gp *gp = gp_of(&s, "scale * rbf(ard)", NULL);
    assert_ok(ct_gp_fit(gp, &(ct_fit_options){ .restarts = 1 }), ct_message(device));
    for (int64_t i = 0; i < ct_gp_params(gp); i++)
        assert_true(ct_gp_param(gp, i)->value == ct_gp_param(ct_outputs_model(o, 0), i)->value);
    assert_null(ct_outputs_joint_model(o));
    assert_int_equal(ct_outputs_find(o, "c"), 2);
    assert_int_equal(ct_outputs_find(o, "d"), -1);
    ct_gp_free(gp);
    ct_outputs_free(o);
    gp_data_free(&s);
}

/* -- what is refused ------------------------------------------------------------------------------------- */

static void bad_input_is_refused(void **state)
{
    (void)state;
    ct_tensor *X = tensor(CT_F64, ct_shape2(N, 2), outputs_X),
              *Y = tensor(CT_F64, ct_shape2(N, P), outputs_Y),
              *missing = tensor(CT_F64, ct_shape2(N, P), outputs_Y_missing), *given = ones(ct_shape1(N)),
              *whole = ct_zeros(device, CT_I64, ct_shape2(N, P)), *flat = ones(ct_shape2(N, P));
#define REFUSED(X, Y, status, text, ...)                                                               \
    assert_refused(ct_outputs_new(X, Y, ct_kernel_parse("rbf"), &(ct_outputs_options){ __VA_ARGS__ }), \
                   device, status, text)
    REFUSED(NULL, Y, CT_EINVAL, "X is NULL", 0);
    REFUSED(X, NULL, CT_EINVAL, "Y is NULL", 0);
    REFUSED(Y, X, CT_EINVAL, "no kind 7", .kind = 7);
    const ct_column twice[] = { { .name = "a" }, { .name = "b" }, { .name = "a" } };
    REFUSED(X, Y, CT_EINVAL, "output 2 has no unique name", .outputs = twice);
    REFUSED(X, whole, CT_EDTYPE, "f64 or f32", 0);
    REFUSED(X, missing, CT_EINVAL, "Y: row 0, column 1 is NaN", .kind = CT_OUTPUTS_SHARED);
    REFUSED(X, Y, CT_EUNSUPPORTED, "averages", .kind = CT_OUTPUTS_SHARED,
            .model = { .mean = CT_MEAN_LINEAR });
    REFUSED(X, Y, CT_EUNSUPPORTED, "learn a noise for each", .kind = CT_OUTPUTS_COREGIONALISED,
            .model = { .noise = CT_NOISE_NONE });
    REFUSED(X, Y, CT_EUNSUPPORTED, "transform", .kind = CT_OUTPUTS_SHARED,
            .model = { .transform = CT_TRANSFORM_LOG });
    REFUSED(X, Y, CT_EINVAL, "a rank of 4 for 3", .kind = CT_OUTPUTS_COREGIONALISED, .rank = 4);
    REFUSED(X, Y, CT_EUNSUPPORTED, "given noise", .kind = CT_OUTPUTS_SHARED,
            .model = { .noise = CT_NOISE_GIVEN, .noise_variances = given });
    ct_tensor *few = ones(ct_shape1(3)), *many = ones(ct_shape1(2 * N));
    REFUSED(X, Y, CT_ESHAPE, "n numbers", .model = { .noise = CT_NOISE_GIVEN, .noise_variances = few });
    REFUSED(X, Y, CT_ESHAPE, "n numbers", .model = { .noise = CT_NOISE_GIVEN, .noise_variances = many });
    REFUSED(X, Y, CT_ESHAPE, "n numbers", .model = { .noise = CT_NOISE_BY_LEVEL, .noise_levels = few });
    REFUSED(X, Y, CT_EINVAL, "belong with", .model = { .noise_levels = given });
    ct_release(few), ct_release(many);
#undef REFUSED
    ct_outputs *o = ct_outputs_new(X, flat, ct_kernel_parse("scale * rbf"),
                                   &(ct_outputs_options){ .kind = CT_OUTPUTS_SHARED });
    assert_outputs(o); /* constant outputs have a deviation of 1 */
    assert_null(ct_outputs_model(o, 3));
    assert_status(ct_last_status(device), CT_EINDEX, ct_message(device));
    assert_failed(ct_outputs_predict_full(o, Y, false, NULL, Y), device, CT_ESHAPE, "columns");
    assert_failed(ct_outputs_predict_full(o, X, false, NULL, Y), device, CT_ESHAPE,
                  "covariance must be (27, 27)");
    assert_failed(ct_outputs_append(o, X, NULL, NULL), device, CT_EINVAL, "NULL");
    assert_failed(ct_outputs_append(o, X, missing, NULL), device, CT_EINVAL, "NaN");
    assert_failed(ct_outputs_append(o, Y, Y, NULL), device, CT_ESHAPE, "(k, 2)");
    assert_failed(ct_outputs_append(o, X, Y, Y), device, CT_ESHAPE, "noise");
    assert_failed(ct_outputs_fit(o, &(ct_fit_options){ .objective = CT_OBJECTIVE_LOO }), device,
                  CT_EUNSUPPORTED, "likelihood");
    assert_failed(ct_outputs_save(o, NULL, NULL), device, CT_EINVAL, "path");
    assert_null(ct_outputs_load(device, NULL));
    assert_null(ct_outputs_load(device, "/nowhere/at/all"));
    assert_status(ct_outputs_fit(NULL, NULL), CT_EINVAL, "");
    assert_status(ct_outputs_append(NULL, X, Y, NULL), CT_EINVAL, "");
    assert_status(ct_outputs_save(NULL, path, NULL), CT_EINVAL, "");
    assert_status(ct_outputs_predict_full(NULL, X, false, NULL, Y), CT_EINVAL, "");
    assert_null(ct_outputs_model(NULL, 0));
    assert_null(ct_outputs_joint_model(NULL));
    assert_true(isnan(ct_outputs_nlml(NULL)));
    assert_int_equal(ct_outputs_count(NULL), 0);
    assert_int_equal(ct_outputs_find(NULL, "a"), -1);
    assert_null(ct_outputs_of(NULL, 2));
    ct_gp *gp = ct_outputs_model(o, 0);
    assert_null(ct_outputs_of((ct_gp *[]){ gp, gp }, 2));
    assert_status(ct_last_status(device), CT_EINVAL, ct_message(device));
    ct_outputs_free(NULL);
    ct_outputs_free(o);
    ct_release(X), ct_release(Y), ct_release(missing), ct_release(given), ct_release(whole), ct_release(flat);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_dense_formulas),        cmocka_unit_test(a_shared_fit_lowers_the_sum),
        cmocka_unit_test(a_joint_output_is_a_model), cmocka_unit_test(a_fit_in_the_grid_is_the_fit),
        cmocka_unit_test(kernels_on_pairs),          cmocka_unit_test(each_is_a_model_of_its_own),
        cmocka_unit_test(bad_input_is_refused),
    };
    return cmocka_run_group_tests(tests, open_check_device_with_path, close_with_path);
}
