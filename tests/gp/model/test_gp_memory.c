/* Every allocation fails once, at every entry point. The call returns a status, nothing leaks, and the model
 * is unchanged. */
#include "gp_support.h"

#include "alloc.h"

#include <cotangent/io.h>
#include <cotangent/ops.h>

static char path[256];
static const char *basis; /* of the job's model; NULL: a constant mean */
static const char *kernel = "scale * rbf(ard)";

typedef struct job {
    ct_device *device;
    gp_data data;
    ct_gp *gp;
    ct_tensor *mean, *variance, *covariance, *samples;
} job;

static ct_status make(job *j)
{
    ct_gp *gp = ct_gp_new(j->data.X, j->data.y, ct_kernel_parse("scale * rbf(ard) + scale * linear"),
                          &(ct_gp_options){ .mean = CT_MEAN_LINEAR });
    ct_status s = gp ? CT_OK : ct_last_status(j->device);
    ct_gp_free(gp);
    return s;
}

static ct_gp *model_of(const gp_data *s)
{
    const ct_column inputs[] = { { .name = "s",
                                   .kind = CT_COLUMN_CATEGORY,
                                   .levels = (const char *const[]){ "a", "b" },
                                   .n_levels = 2 },
                                 { .name = "t", .kind = CT_COLUMN_TIME } };
    const ct_gp_options options = { .mean = basis ? CT_MEAN_BASIS : CT_MEAN_CONSTANT,
                                    .basis = basis,
                                    .inputs = basis ? NULL : inputs };
    return ct_gp_new(s->X, s->y, ct_kernel_parse(kernel), &options);
}

static ct_status make_usual(job *j)
{
    ct_gp *gp = model_of(&j->data);
    ct_status s = gp ? CT_OK : ct_last_status(j->device);
    ct_gp_free(gp);
    return s;
}

static ct_status coefficients(job *j)
{
    double value[4], error[4];
    return ct_gp_coefficients(j->gp, value, error);
}

static ct_status objective(job *j)
{
    double u[16] = { 0 }, value, gradient[16];
    return ct_gp_objective(j->gp, u, &value, gradient);
}

static ct_status fit(job *j)
{
    return ct_gp_fit(j->gp, &(ct_fit_options){ .max_iterations = 1, .restarts = 1 });
}

static ct_status adam(job *j)
{
    return ct_gp_fit(j->gp, &(ct_fit_options){ .optimizer = CT_OPTIMIZER_ADAM, .max_iterations = 2 });
}

static ct_status mixed(job *j)
{
    return ct_gp_fit(j->gp, &(ct_fit_options){ .max_iterations = 1, .precision = CT_PRECISION_MIXED });
}

static ct_status predict(job *j) { return ct_gp_predict(j->gp, j->data.X, j->mean, j->variance); }

static ct_status noisy(job *j) { return ct_gp_predict_noisy(j->gp, j->data.X, j->mean, j->variance); }

static ct_status jitter(job *j) { return isnan(ct_gp_jitter(j->gp)) ? ct_last_status(j->device) : CT_OK; }

/* One of the likelihoods as an op, with its gradient. */
static ct_status likelihood(job *j, int which)
{
    ct_tape *tape = ct_tape_new(j->device);
    ct_tensor *noise = ct_full(j->device, CT_F64, ct_shape1(1), 0.5);
    const ct_kernel *k = ct_gp_kernel(j->gp);
    ct_status s = CT_ENOMEM;
    if (tape && noise) {
        ct_var theta = ct_kernel_theta(k, tape, CT_F64), X = ct_leaf(tape, j->data.X),
               r = ct_leaf(tape, j->data.y), v = ct_leaf(tape, noise);
        ct_gp_mixed report;
        s = ct_backward(which == 0   ? ct_gp_nlml(k, theta, X, r, v)
                        : which == 1 ? ct_gp_loo_nlpd(k, theta, X, r, v)
                                     : ct_gp_nlml_mixed(k, theta, X, r, v, &report));
        if (s) ct_device_fail(j->device, s, "%s", ct_tape_message(tape));
    }
    ct_release(noise);
    ct_tape_free(tape);
    return s;
}

static ct_status nlml_op(job *j) { return likelihood(j, 0); }
static ct_status loo_op(job *j) { return likelihood(j, 1); }
static ct_status mixed_op(job *j) { return likelihood(j, 2); }

/* A model of the data with that noise, levels 1 for every row: made, copied, extended, asked, saved and
 * loaded. */
static ct_status with_noise(job *j, ct_gp_noise kind)
{
    static const char *const names[] = { "north", "south" };
    const ct_column batch = { .name = "batch", .kind = CT_COLUMN_CATEGORY, .levels = names, .n_levels = 2 };
    ct_tensor *levels = ct_full(j->device, CT_F64, ct_shape1(6), 1);
    const ct_gp_options options = { .noise = kind,
                                    .noise_levels = kind == CT_NOISE_BY_LEVEL ? levels : NULL,
                                    .noise_column = &batch };
    ct_gp *gp = NULL, *copy = NULL, *back = NULL;
    double factor;
    if (levels) gp = ct_gp_new(j->data.X, j->data.y, ct_kernel_parse("scale * rbf"), &options);
    if (gp && !ct_gp_save(gp, path)) copy = ct_gp_copy(gp);
    ct_status s = copy ? CT_OK : ct_last_status(j->device);
    if (!s) s = ct_gp_append(copy, j->data.X, j->data.y, options.noise_levels);
    if (!s) s = ct_gp_noise_at(copy, j->data.X, options.noise_levels, j->variance);
    if (!s) s = ct_gp_predict_noisy(copy, j->data.X, j->mean, j->variance);
    if (!s) s = ct_gp_sample(copy, j->data.X, true, 1, j->samples);
    if (!s) s = ct_gp_calibrate_variance(copy, &factor);
    if (!s && !(back = ct_gp_load(j->device, path))) s = ct_last_status(j->device);
    ct_gp_free(gp);
    ct_gp_free(copy);
    ct_gp_free(back);
    ct_release(levels);
    return s;
}

static ct_status by_level(job *j) { return with_noise(j, CT_NOISE_BY_LEVEL); }
static ct_status by_inputs(job *j) { return with_noise(j, CT_NOISE_LOG_LINEAR); }

static ct_status full(job *j) { return ct_gp_predict_full(j->gp, j->data.X, true, j->mean, j->covariance); }

static ct_status sample(job *j) { return ct_gp_sample(j->gp, j->data.X, false, 3, j->samples); }

static ct_status inspect(job *j)
{
    ct_gp_numerics q;
    return ct_gp_inspect(j->gp, &q);
}

static ct_status loo(job *j)
{
    ct_status s = ct_gp_predict(j->gp, j->data.X, NULL, NULL);
    return s ? s : ct_gp_loo(j->gp, j->mean, j->variance, NULL);
}

static ct_status loo_without(job *j)
{
    double sum;
    return ct_gp_loo_ablation(j->gp, (const int64_t[]){ 1 }, 1, &sum);
}

static ct_status cross_validate(job *j)
{
    const int64_t fold[6] = { 0, 1, 0, 2, 1, 0 };
    ct_status s = ct_gp_predict(j->gp, j->data.X, NULL, NULL);
    return s ? s : ct_gp_cross_validate(j->gp, fold, j->mean, j->variance, NULL);
}

static ct_status sobol(job *j)
{
    double first[2], total[2];
    return ct_gp_sobol(j->gp, 10, 0, first, total);
}

static ct_status data(job *j)
{
    ct_tensor *X = ct_empty(j->device, CT_F64, ct_shape2(6, 2));
    ct_status s = X ? ct_gp_data(j->gp, X, j->mean) : CT_ENOMEM;
    ct_release(X);
    return s;
}

static ct_status posterior(job *j)
{
    ct_tape *tape = ct_tape_new(j->device);
    if (!tape) return CT_ENOMEM;
    ct_var mean, variance, x = ct_leaf(tape, j->data.X), bar;
    ct_gp_posterior(j->gp, x, true, &mean, &variance);
    ct_var y = ct_sum(ct_add(mean, variance), CT_ALL, false);
    ct_gp_posterior_full(j->gp, x, true, NULL, &variance);
    y = ct_add(y, ct_sum(variance, CT_ALL, false));
    ct_status s = ct_grad(y, (ct_var){ NULL, 0, 0 }, &x, &bar, 1, CT_GRAD_RECORD);
    if (!s) s = ct_backward(y);
    ct_tape_free(tape);
    return s;
}

/* The model has a factor, and after a failure all rows are unchanged. */
static ct_status append(job *j)
{
    ct_status s = ct_gp_predict(j->gp, j->data.X, NULL, NULL);
    if (!s) s = ct_gp_append(j->gp, j->data.X, j->data.y, NULL);
    assert_int_equal(ct_gp_points(j->gp), s ? 6 : 12);
    return s;
}

static ct_status remove_rows(job *j)
{
    ct_status s = ct_gp_predict(j->gp, j->data.X, NULL, NULL);
    if (!s) s = ct_gp_remove(j->gp, (const int64_t[]){ 1, 4 }, 2);
    assert_int_equal(ct_gp_points(j->gp), s ? 6 : 4);
    return s;
}

static ct_status copy(job *j)
{
    ct_gp *gp = ct_gp_copy(j->gp);
    ct_status s = gp ? CT_OK : ct_last_status(j->device);
    ct_gp_free(gp);
    return s;
}

static ct_status save(job *j) { return ct_gp_save(j->gp, path); }
static ct_status save_bare(job *j)
{
    return ct_gp_save_with(j->gp, path, &(ct_gp_save_options){ .no_factor = true });
}

static ct_status load(job *j)
{
    ct_gp *gp = ct_gp_load(j->device, path);
    ct_status s = gp ? CT_OK : ct_last_status(j->device);
    ct_gp_free(gp);
    return s;
}

static void run(ct_status (*call)(job *))
{
    for (int64_t k = 1; k < 4000; k++) {
        job j = { .device = ct_device_open_with("cpu", &(ct_device_options){ .threads = 1 }) };
        assert_ok(ct_device_status(j.device), ct_message(j.device));
        j.data = gp_data_new(j.device, CT_F64, 6, 2);
        j.gp = model_of(&j.data);
        assert_gp(j.gp, j.device);
        j.mean = assert_tensor(ct_empty(j.device, CT_F64, ct_shape1(6)), j.device);
        j.variance = assert_tensor(ct_empty(j.device, CT_F64, ct_shape1(6)), j.device);
        j.covariance = assert_tensor(ct_empty(j.device, CT_F64, ct_shape2(6, 6)), j.device);
        j.samples = assert_tensor(ct_empty(j.device, CT_F64, ct_shape2(2, 6)), j.device);
        if (call == load) assert_ok(save(&j), ct_message(j.device));
        if (k % 2) ct_memory_trim(j.device);
        double before[8];
        for (int64_t i = 0; i < ct_gp_params(j.gp); i++) before[i] = ct_gp_param(j.gp, i)->value;

        alloc_fail_at(k);
        ct_status s = call(&j);
        bool refused = alloc_refused();
        alloc_unwatch();

        if (!refused) assert_ok(s, ct_message(j.device));
        if (s) {
            assert_status(s, CT_ENOMEM, ct_message(j.device));
            assert_true(ct_message(j.device)[0] != 0);
            bool of_ops = call == nlml_op || call == loo_op || call == mixed_op; /* others name the place */
            assert_true(of_ops || !strstr(ct_message(j.device), "op #"));
            for (int64_t i = 0; i < ct_gp_params(j.gp); i++)
                assert_true(before[i] == ct_gp_param(j.gp, i)->value);
        }
        assert_ok(predict(&j), ct_message(j.device)); /* still usable */
        ct_gp_free(j.gp);
        gp_data_free(&j.data);
        ct_release(j.mean);
        ct_release(j.variance);
        ct_release(j.covariance);
        ct_release(j.samples);
        assert_int_equal(ct_memory(j.device).bytes_now, 0);
        ct_device_close(j.device);
        if (!refused) return;
    }
    fail_msg("no end of allocations");
}

#define TEST(name)                         \
    static void name##_fails(void **state) \
    {                                      \
        (void)state;                       \
        run(name);                         \
    }
TEST(make)
TEST(objective)
TEST(fit)
TEST(adam)
TEST(mixed)
TEST(noisy)
TEST(jitter)
TEST(by_level)
TEST(by_inputs)
TEST(nlml_op)
TEST(loo_op)
TEST(mixed_op)
TEST(predict)
TEST(full)
TEST(sample)
TEST(inspect)
TEST(loo)
TEST(loo_without)
TEST(cross_validate)
TEST(data)
TEST(sobol)
TEST(posterior)
TEST(append)
TEST(remove_rows)
TEST(copy)
TEST(save)
TEST(save_bare)
TEST(load)

static void a_basis_fails(void **state)
{
    (void)state;
    ct_status (*const calls[])(job *) = { make_usual, coefficients, objective, fit,         predict,   full,
                                          sample,     inspect,      loo,       loo_without, posterior, append,
                                          copy,       remove_rows,  save,      save_bare,   load };
    basis = "1 + x0*x1";
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) run(calls[i]);
    basis = NULL;
}

static void an_index_fails(void **state)
{
    (void)state;
    ct_status (*const calls[])(job *) = { make_usual, objective, fit,  predict, nlml_op,
                                          posterior,  append,    copy, save,    load };
    kernel = "scale * index * rbf";
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) run(calls[i]);
    kernel = "scale * rbf(ard)";
}

static int prepare(void **state)
{
    (void)state;
    gp_temporary(path);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    remove(path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(make_fails),        cmocka_unit_test(objective_fails),
        cmocka_unit_test(fit_fails),         cmocka_unit_test(adam_fails),
        cmocka_unit_test(predict_fails),     cmocka_unit_test(full_fails),
        cmocka_unit_test(sample_fails),      cmocka_unit_test(inspect_fails),
        cmocka_unit_test(loo_fails),         cmocka_unit_test(cross_validate_fails),
        cmocka_unit_test(data_fails),        cmocka_unit_test(sobol_fails),
        cmocka_unit_test(posterior_fails),   cmocka_unit_test(append_fails),
        cmocka_unit_test(remove_rows_fails), cmocka_unit_test(copy_fails),
        cmocka_unit_test(save_fails),        cmocka_unit_test(save_bare_fails),
        cmocka_unit_test(load_fails),        cmocka_unit_test(mixed_fails),
        cmocka_unit_test(noisy_fails),       cmocka_unit_test(jitter_fails),
        cmocka_unit_test(nlml_op_fails),     cmocka_unit_test(loo_op_fails),
        cmocka_unit_test(loo_without_fails), cmocka_unit_test(mixed_op_fails),
        cmocka_unit_test(by_level_fails),    cmocka_unit_test(by_inputs_fails),
        cmocka_unit_test(a_basis_fails),     cmocka_unit_test(an_index_fails),
    };
    return cmocka_run_group_tests(tests, prepare, clean);
}
