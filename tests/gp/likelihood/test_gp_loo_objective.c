/* The leave-one-out density as an objective: its rule against differences, the composition of public ops, and
 * ct_gp_loo. */
#include "gp_device.h"

#include <cotangent/gradcheck.h>
#include <cotangent/op.h>

#include "gp/likelihood/density.h"
#include "gp/likelihood/leave_one_out.h"

static void rule_agrees_with_differences(void **state)
{
    (void)state;
    static char report[65536];
    ct_status s = ct_gradcheck_op(device, &ct__op_gp_loo_nlpd, NULL, report, sizeof report);
    if (s) fputs(report, stderr);
    assert_ok(s, "gradcheck");
}

/* ½ Σ (α_i²/q_i - log q_i) + n/2 log 2π from public ops alone. */
static ct_var composed(const ct_kernel *k, ct_var theta, ct_var X, ct_var r, ct_var noise)
{
    int64_t n = ct_var_shape(X).dim[0];
    ct_tensor *ones = ct_full(device, CT_F64, ct_shape1(n), 1);
    ct_var identity = ct_diag_embed(ct_constant(theta.tape, ones));
    ct_release(ones);
    ct_var L = ct_cholesky(ct_add_diag(ct_cov(k, theta, X, X), noise));
    ct_var alpha = ct_squeeze(ct_cholesky_solve(L, ct_reshape(r, ct_shape2(n, 1))), 1);
    ct_var q = ct_diag(ct_cholesky_solve(L, identity));
    ct_var terms = ct_sub(ct_div(ct_square(alpha), q), ct_log(q));
    return ct_shift(ct_scale(ct_sum(terms, CT_ALL, false), 0.5), 0.5 * (double)n * 1.8378770664093454836);
}

/* Value and cotangents of theta, X, r and noise of -1.7 times the density. */
static void equals_the_composition(void **state)
{
    (void)state;
    const char *const kernels[] = { "scale(1.5) * rbf(ard) + scale(0.3) * linear",
                                    "matern52(ard) + white(0.1)", "rq",
                                    "scale * periodic * matern32 + white" };
    const int64_t sizes[] = { 1, 2, 5, 33, 130, 700 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes - (check_quick() > 1); i++)
        for (int each = 0; each < 2; each++) {
            int64_t n = sizes[i], noises = each ? n : 1;
            gp_data s = gp_data_new(device, CT_F64, n, 3);
            ct_kernel *k = ct_kernel_parse(kernels[(i + (size_t)each) % 4]);
            assert_ok(ct_kernel_bind(k, 3), ct_kernel_message(k));
            double *fused[4], *reference[4];
            double value = gp_density_at(ct_gp_loo_nlpd, k, &s, noises, fused);
            assert_close(value, gp_density_at(composed, k, &s, noises, reference), 1e-10, 1e-10);
            const int64_t count[] = { ct_kernel_params(k), n * 3, n, noises };
            for (int j = 0; j < 4; j++) {
                double size = 0;
                for (int64_t p = 0; p < count[j]; p++) size = fmax(size, fabs(reference[j][p]));
                for (int64_t p = 0; p < count[j]; p++)
                    assert_close(fused[j][p], reference[j][p], 1e-8, 1e-9 * size);
                free(fused[j]);
                free(reference[j]);
            }
            ct_kernel_free(k);
            gp_data_free(&s);
        }
}

/* Enough rows for several panels: the gradient in one direction against differences. */
static void several_panels(void **state)
{
    (void)state;
    const int64_t n = check_quick() ? 1100 : 3100;
    gp_data s = gp_data_new(device, CT_F64, n, 2);
    ct_kernel *k = ct_kernel_parse("scale(1.5) * rbf(ard)");
    assert_ok(ct_kernel_bind(k, 2), ct_kernel_message(k));
    double *bar[4], h = 1e-4, slope = 0, value[2];
    gp_density_at(ct_gp_loo_nlpd, k, &s, 1, bar);
    double *x = gp_host(s.X), theta[3];
    for (int64_t i = 0; i < 2 * n; i++) slope += bar[1][i] * sin(5 * (double)i) * 0.1;
    for (int p = 0; p < 3; p++) theta[p] = ct_kernel_param(k, p)->value;
    for (int p = 0; p < 3; p++) slope += bar[0][p] * (0.3 + 0.1 * p);
    for (int side = 0; side < 2; side++) {
        double t = side ? h : -h;
        double *moved = malloc((size_t)(2 * n) * sizeof *moved);
        for (int64_t i = 0; i < 2 * n; i++) moved[i] = x[i] + t * sin(5 * (double)i) * 0.1;
        assert_ok(ct_write(s.X, moved, (size_t)(2 * n) * sizeof *moved), ct_message(device));
        free(moved);
        ct_tape *tape = ct_tape_new(device);
        double at[3];
        for (int p = 0; p < 3; p++) at[p] = theta[p] + t * (0.3 + 0.1 * p);
        ct_tensor *v = ct_from(device, CT_F64, ct_shape1(3), at);
        value[side] = -1.7 * ct_item(ct_gp_loo_nlpd(k, ct_constant(tape, v), ct_constant(tape, s.X),
                                                    ct_constant(tape, s.y), ct_scalar(tape, CT_F64, 0.02)));
        ct_release(v);
        ct_tape_free(tape);
    }
    assert_close((value[1] - value[0]) / (2 * h), slope, 1e-4, 1e-3);
    for (int j = 0; j < 4; j++) free(bar[j]);
    free(x);
    ct_kernel_free(k);
    gp_data_free(&s);
}

static double density_of(ct_gp *gp)
{
    int64_t n = ct_gp_points(gp);
    ct_tensor *t = ct_empty(device, CT_F64, ct_shape1(n));
    assert_ok(ct_gp_loo(gp, NULL, NULL, t), ct_message(device));
    double *d = gp_host(t), sum = 0;
    for (int64_t i = 0; i < n; i++) sum -= d[i];
    free(d);
    ct_release(t);
    return sum;
}

/* The fit minimises what ct_gp_loo says, in the data's units, and beats the likelihood's point at it. */
static void fits(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 60, 2);
    double found[2];
    for (int loo = 0; loo < 2; loo++) {
        ct_gp *gp = gp_of(&s, "scale * rbf(ard)", NULL);
        double before = density_of(gp);
        ct_fit_options options = { .objective = loo ? CT_OBJECTIVE_LOO : CT_OBJECTIVE_LIKELIHOOD };
        assert_ok(ct_gp_fit(gp, &options), ct_message(device));
        found[loo] = density_of(gp);
        assert_true(found[loo] < before);
        assert_close(ct_gp_report(gp).objective, loo ? found[1] : ct_gp_nlml_value(gp), 1e-6, 1e-6);
        ct_gp_free(gp);
    }
    assert_true(found[1] < found[0]);
    ct_gp *gp = ct_gp_new(s.X, s.y, ct_kernel_parse("rbf"), NULL);
    assert_failed(ct_gp_fit(gp, &(ct_fit_options){ .objective = (ct_fit_objective)2 }), device, CT_EINVAL,
                  "option");
    ct_gp_free(gp);
    gp_data_free(&s);
}

/* As many columns as rows, each of which explains a part of y: a free constant mean ends far away from the
 * data. */
static void the_level_stays_with_the_data(void **state)
{
    (void)state;
    enum { n = 33, d = 32 };
    ct_tensor *all = assert_tensor(ct_rand_normal(device, CT_F64, ct_shape2(n, d + 1), 1, 0), device);
    double *x = gp_host(all), y[n], average = 0, square = 0;
    for (int i = 0; i < n; i++) {
        y[i] = 100 + 0.3 * x[i * (d + 1) + d];
        for (int j = 0; j < d; j++) y[i] += 0.3 * cos(j) * x[i * (d + 1) + j];
        average += y[i] / n;
    }
    for (int i = 0; i < n; i++) square += (y[i] - average) * (y[i] - average) / n;
    ct_tensor *X = assert_tensor(ct_tensor_slice(all, 1, 0, d, 1), device);
    ct_tensor *t = assert_tensor(ct_from(device, CT_F64, ct_shape1(n), y), device);
    const ct_fit_options options = { .objective = CT_OBJECTIVE_LOO };
    for (int k = 0; k < 5; k++) { /* bounds of its own in the last */
        ct_gp *gp = ct_gp_new(X, t, ct_kernel_parse("scale * matern32"),
                              &(ct_gp_options){ .standardize = (ct_gp_standardize)(k % 4) });
        assert_gp(gp, device);
        int64_t level = ct_gp_find(gp, "mean.constant");
        ct_param p = *ct_gp_param(gp, level);
        p.lower = average + 5 * sqrt(square);
        p.value = average + 10 * sqrt(square);
        p.upper = average + 20 * sqrt(square);
        if (k == 4) assert_ok(ct_gp_set_param(gp, level, &p), ct_message(device));
        assert_ok(ct_gp_fit(gp, &options), ct_message(device));
        double away = fabs(gp_get(gp, "mean.constant") - average) / sqrt(square);
        if ((away > 1 + 1e-9) != (k == 4)) fail_msg("case %d: %g deviations away", k, away);
        ct_gp_free(gp);
    }
    ct_tensor *done[] = { all, X, t };
    for (int k = 0; k < 3; k++) ct_release(done[k]);
    free(x);
}

/* A fit stays within the memory that it asks for. A device with room only for a fit by the likelihood refuses
 * this one at once. */
static void memory_is_planned(void **state)
{
    (void)state;
    for (int64_t n = 700; n <= 1300; n += 600) {
        ct_device *free_one = ct_device_open("cpu");
        gp_data s = gp_data_new(free_one, CT_F64, n, 3);
        uint64_t planned = ct__gp_loo_bytes(free_one, n, 3, CT_F64),
                 model = ct_gp_bytes_needed(free_one, n, 3, CT_F64, false); /* more than the likelihood's */
        ct_memory_trim(free_one);
        uint64_t before = ct_memory(free_one).bytes_now;
        ct_gp *gp = ct_gp_new(s.X, s.y, ct_kernel_parse("scale * rbf(ard)"), NULL);
        assert_gp(gp, free_one);
        ct_memory_mark(free_one);
        const ct_fit_options options = { .restarts = CT_FIT_NO_RESTARTS,
                                         .objective = CT_OBJECTIVE_LOO,
                                         .max_iterations = 1 };
        assert_ok(ct_gp_fit(gp, &options), ct_message(free_one));
        uint64_t peak = ct_memory(free_one).bytes_peak - before;
        if (peak > planned || peak < planned / 2)
            fail_msg("n %d: %llu bytes of %llu", (int)n, (unsigned long long)peak,
                     (unsigned long long)planned);
        ct_gp_free(gp);
        gp_data_free(&s);
        ct_device_close(free_one);

        ct_device *small =
            ct_device_open_with("cpu", &(ct_device_options){ .memory_limit = (planned + model) / 2 });
        s = gp_data_new(small, CT_F64, n, 3);
        gp = ct_gp_new(s.X, s.y, ct_kernel_parse("scale * rbf(ard)"), NULL);
        assert_gp(gp, small);
        assert_failed(ct_gp_fit(gp, &options), small, CT_ENOMEM, "ct_gp_fit needs");
        ct_gp_free(gp);
        gp_data_free(&s);
        ct_device_close(small);
    }
}

static void indefinite_is_flagged(void **state)
{
    (void)state;
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *X = tensor2(device, 2, 1, 0.0, 0.0), *r = tensor1(device, 2, 1.0, 2.0),
              *zero = tensor1(device, 1, 0.0);
    ct_kernel *k = ct_kernel_rbf();
    assert_ok(ct_kernel_bind(k, 1), ct_kernel_message(k));
    ct_var y = ct_gp_loo_nlpd(k, ct_kernel_theta(k, tape, CT_F64), ct_leaf(tape, X), ct_constant(tape, r),
                              ct_constant(tape, zero));
    assert_true(isnan(ct_item(y)));
    assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
    ct_tape_reset(tape);
    ct_kernel *loose = ct_kernel_rbf();
    ct_var v = ct_leaf(tape, r);
    ct_gp_loo_nlpd(loose, v, v, v, v);
    assert_status(ct_tape_status(tape), CT_EINVAL, ct_tape_message(tape));
    ct_kernel_free(loose);
    ct_tape_free(tape);
    ct_kernel_free(k);
    ct_release(X);
    ct_release(r);
    ct_release(zero);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_agrees_with_differences),
        cmocka_unit_test(equals_the_composition),
        cmocka_unit_test(several_panels),
        cmocka_unit_test(fits),
        cmocka_unit_test(the_level_stays_with_the_data),
        cmocka_unit_test(indefinite_is_flagged),
        check_test_if(check_at_once(), cmocka_unit_test(memory_is_planned)),
    };
    return cmocka_run_group_tests(tests, open_check_device, close_device);
}
