/* The kernel of levels: against NumPy's numbers, differences and its own composition; in models. */
#include "gp_support.h"

#include <cotangent/gp/kernel.h>
#include <cotangent/gradcheck.h>
#include <cotangent/ops.h>

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "gp/kernel/cov_compose.h"
#include "reference/index_tables.h"

enum { COLUMNS = INDEX_COLUMNS };

static ct_kernel *bound(const char *text, int64_t columns)
{
    ct_kernel *k = ct_kernel_parse(text);
    assert_ok(ct_kernel_bind(k, columns), ct_kernel_message(k));
    return k;
}

static ct_tensor *tensor(ct_device *device, ct_dtype dtype, ct_shape shape, const double *x)
{
    ct_tensor *wide = ct_from(device, CT_F64, shape, x), *t = ct_tensor_cast(wide, dtype);
    ct_release(wide);
    return t;
}

static ct_var leaf(ct_tape *tape, ct_dtype dtype, ct_shape shape, const double *x)
{
    ct_tensor *t = tensor(ct_tape_device(tape), dtype, shape, x);
    ct_var v = ct_leaf(tape, t);
    ct_release(t);
    return v;
}

/* |a_i - b_i| <= tolerance max(1, |b_i|) for what is not NaN in b */
static void assert_near(const char *what, ct_var a, const double *b, double tolerance)
{
    assert_ok(ct_check(a), ct_tape_message(a.tape));
    double *x = gp_host(ct_value(a));
    for (int64_t i = 0; i < ct_tensor_count(ct_value(a)); i++)
        if (!(fabs(x[i] - b[i]) <= tolerance * fmax(1, fabs(b[i]))))
            fail_msg("%s, element %lld: %.17g is not %.17g", what, (long long)i, x[i], b[i]);
    free(x);
}

static void assert_same(const char *what, ct_var a, ct_var b, double tolerance)
{
    assert_ok(ct_check(b), ct_tape_message(b.tape));
    double *y = gp_host(ct_value(b));
    assert_int_equal(ct_tensor_count(ct_value(a)), ct_tensor_count(ct_value(b)));
    assert_near(what, a, y, tolerance);
    free(y);
}

/* -- values and gradients -------------------------------------------------------------------------------- */

static void check_table(ct_dtype dtype, double tolerance)
{
    ct_device *device = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(device);
    for (size_t r = 0; r < sizeof index_table / sizeof *index_table; r++) {
        const struct index_row *row = &index_table[r];
        ct_kernel *k = bound(row->text, COLUMNS);
        assert_int_equal(ct_kernel_params(k), row->n_params);
        ct_var theta = leaf(tape, dtype, ct_shape1(row->n_params), row->theta), bar,
               X = leaf(tape, dtype, ct_shape2(INDEX_N, COLUMNS), index_X),
               Z = leaf(tape, dtype, ct_shape2(INDEX_M, COLUMNS), index_Z),
               W = leaf(tape, dtype, ct_shape2(INDEX_N, INDEX_N), index_W), K = ct_cov(k, theta, X, X);
        assert_near(row->text, K, row->K, tolerance);
        assert_near(row->text, ct_cov(k, theta, X, Z), row->C, tolerance);
        assert_same(row->text, ct_cov_diag(k, theta, X), ct_diag(K), tolerance);
        for (int recorded = 0; recorded < 2; recorded++) {
            assert_ok(ct_grad(K, W, &theta, &bar, 1, recorded ? CT_GRAD_RECORD : CT_GRAD_KEEP),
                      ct_tape_message(tape));
            assert_near(row->text, bar, row->G, 10 * tolerance);
        }
        ct_tape_reset(tape);
        ct_kernel_free(k);
    }
    ct_tape_free(tape);
    ct_device_close(device);
}

static void tables_f64(void **state)
{
    (void)state;
    check_table(CT_F64, 1e-14);
}

static void tables_f32(void **state)
{
    (void)state;
    check_table(CT_F32, 1e-6);
}

/* Rows of a number, a code of `levels` and a code of 2; some have no level. */
static ct_var rows(ct_tape *tape, int64_t n, int levels, uint64_t stream)
{
    ct_tensor *random = ct_rand_normal(ct_tape_device(tape), CT_F64, ct_shape2(n, COLUMNS), 7, stream);
    double *x = gp_host(random);
    for (int64_t i = 0; i < n; i++) {
        x[i * COLUMNS + 1] = i % 11 == 5 ? -1 : floor(fmod(1e3 * fabs(x[i * COLUMNS + 1]), levels));
        x[i * COLUMNS + 2] = i % 13 == 7 ? 0.5 : i % 2;
    }
    ct_var X = leaf(tape, CT_F64, ct_shape2(n, COLUMNS), x);
    ct_release(random);
    free(x);
    return X;
}

/* More rows than one block, more columns than one tile, more levels than one vector. */
static void fused_is_composed(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "index(rank=1, levels=5, dims=1)",
        "scale * index(rank=3, levels=5, dims=1) * rbf(dims=0) + white",
        "index(rank=2, levels=40, dims=1) * (index(rank=2, levels=2, dims=2) + linear(dims=0))",
        "index(rank=2, levels=512, dims=1)",
    };
    ct_device *device = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(device);
    for (size_t i = 0; i < 2 * sizeof texts / sizeof *texts; i++) {
        const bool symmetric = i % 2;
        const char *text = texts[i / 2];
        ct_kernel *k = bound(text, COLUMNS);
        const ct_cov_program *p = ct_kernel_program(k);
        const int64_t n = 70, m = symmetric ? n : 300;
        const int levels = i / 2 < 2 ? 5 : i / 2 < 3 ? 40 : 512;
        ct_tensor *draw = ct_rand_normal(device, CT_F64, ct_shape1(p->n_params), 3, i),
                  *of_K = ct_rand_normal(device, CT_F64, ct_shape2(n, m), 4, i);
        ct_var theta = ct_leaf(tape, draw), X = rows(tape, n, levels, 1),
               Z = symmetric ? X : rows(tape, m, levels, 2), bar = ct_constant(tape, of_K),
               K = ct_cov(k, theta, X, Z),
               C = ct__cov_compose(p, theta, X, symmetric ? (ct_var){ NULL, 0, 0 } : Z, false), by_K[3],
               by_C[3], in[] = { theta, X, Z };
        assert_same(text, K, C, 1e-13);
        assert_ok(ct_grad(K, bar, in, by_K, symmetric ? 2 : 3, CT_GRAD_KEEP), ct_tape_message(tape));
        assert_ok(ct_grad(C, bar, in, by_C, symmetric ? 2 : 3, CT_GRAD_KEEP), ct_tape_message(tape));
        for (int j = 0; j < (symmetric ? 2 : 3); j++) assert_same(text, by_K[j], by_C[j], 1e-11);
        ct_release(draw);
        ct_release(of_K);
        ct_tape_reset(tape);
        ct_kernel_free(k);
    }
    ct_tape_free(tape);
    ct_device_close(device);
}

/* ct_cov with fixed points, whose codes have no neighbours to take differences with. */
static ct_tensor *points;

static ct_var at_points(ct_call *c)
{
    const ct_cov_program *p = ct_attr(c);
    ct_var theta = ct_arg_var(c, 0), X = ct_constant(theta.tape, points);
    return ct_apply(&ct_op_cov, (ct_var[]){ theta, X }, 2, p, (size_t)p->bytes);
}

static void gradients_are_differences(void **state)
{
    (void)state;
    const ct_op op = { .name = "cov_at_points", .n_in = 1, .compose = at_points };
    ct_device *device = ct_device_open(check_device());
    points = ct_from(device, CT_F64, ct_shape2(INDEX_N, COLUMNS), index_X);
    for (size_t r = 0; r < sizeof index_table / sizeof *index_table; r++) {
        const struct index_row *row = &index_table[r];
        ct_kernel *k = bound(row->text, COLUMNS);
        const ct_cov_program *p = ct_kernel_program(k);
        char report[2000];
        ct_tensor *theta = ct_from(device, CT_F64, ct_shape1(row->n_params), row->theta);
        assert_ok(ct_gradcheck(&op, &theta, 1, p, (size_t)p->bytes, 0, NULL, report, sizeof report), report);
        ct_release(theta);
        ct_kernel_free(k);
    }
    ct_release(points);
    ct_device_close(device);
}

/* A batch of thetas on one set of points. */
static void batches(void **state)
{
    (void)state;
    const struct index_row *row = &index_table[2];
    ct_device *device = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(device);
    ct_kernel *k = bound(row->text, COLUMNS);
    ct_var X = leaf(tape, CT_F64, ct_shape2(INDEX_N, COLUMNS), index_X),
           one = leaf(tape, CT_F64, ct_shape1(row->n_params), row->theta),
           W = leaf(tape, CT_F64, ct_shape2(INDEX_N, INDEX_N), index_W), bar,
           both = ct_concat((ct_var[]){ ct_unsqueeze(ct_scale(one, 0.5), 0), ct_unsqueeze(one, 0) }, 2, 0),
           K = ct_cov(k, both, X, X), r = ct_slice(X, 1, 0, 1, 1), noise = ct_scalar(tape, CT_F64, 0.3);
    assert_near("the second", ct_slice(K, 0, 1, 2, 1), row->K, 1e-14);
    assert_ok(ct_grad(K, ct_broadcast_to(W, ct_var_shape(K)), &both, &bar, 1, CT_GRAD_KEEP),
              ct_tape_message(tape));
    assert_near("its gradient", ct_slice(bar, 0, 1, 2, 1), row->G, 1e-13);
    ct_var values = ct_gp_nlml(k, both, X, ct_squeeze(r, 1), noise);
    assert_same("a likelihood", ct_slice(values, 0, 1, 2, 1), ct_gp_nlml(k, one, X, ct_squeeze(r, 1), noise),
                1e-13);
    ct_tape_free(tape);
    ct_kernel_free(k);
    ct_device_close(device);
}

static void a_code_that_is_not_finite_gives_nan(void **state)
{
    (void)state;
    const double x[] = { 0, 1, NAN, INFINITY };
    ct_device *device = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(device);
    ct_kernel *k = bound("index(levels=2)", 1);
    ct_var X = leaf(tape, CT_F64, ct_shape2(4, 1), x), theta = ct_kernel_theta(k, tape, CT_F64);
    const ct_var all[] = { ct_cov(k, theta, X, X),
                           ct__cov_compose(ct_kernel_program(k), theta, X, X, false) };
    for (int c = 0; c < 2; c++) {
        double *K = gp_host(ct_value(all[c]));
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) assert_true(isfinite(K[4 * i + j]) == (i < 2 && j < 2));
        free(K);
    }
    ct_tape_free(tape);
    ct_kernel_free(k);
    ct_device_close(device);
}

/* -- text ------------------------------------------------------------------------------------------------ */

static void texts(void **state)
{
    (void)state;
    static const char *const same[] = {
        "index(rank=2)",
        "index(dims=1, rank=1, levels=3)",
        "scale(2) * index(dims=0, rank=2, levels=2, w=0.5:-0.25:0!:-1e-05, kappa=1:0.5!)",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        char text[300];
        ct_kernel *k = ct_kernel_parse(same[i]);
        assert_ok(ct_kernel_status(k), ct_kernel_message(k));
        ct_kernel_print(k, i > 1, text, sizeof text);
        assert_string_equal(text, same[i]);
        ct_kernel_free(k);
    }
    static const struct {
        const char *text, *message;
    } bad[] = {
        { "index(rank=0)", "the rank must be 1 to 16" },
        { "index(levels=0)", "the levels must be 1 to 512" },
        { "index(rank=3, levels=2)", "the rank is at most the levels" },
        { "index(dims=0:1)", "one column, not 2" },
        { "index(w=1)", "levels= comes before" },
        { "index(levels=2, w=1)", "1 of 2 values" },
        { "index(levels=2, w=1:2:3)", "more than 2 values" },
        { "index(levels=2, w=1:-2, rank=2)", "come before w= and kappa=" },
        { "index(levels=2, kappa=1:-2)", "expected a positive number" },
        { "index(levels=2, w=1:x)", "expected a number" },
        { "index(ard)", "index takes dims=, rank=, levels=, w=, kappa=" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ct_kernel *k = ct_kernel_parse(bad[i].text);
        assert_status(ct_kernel_status(k), CT_EFORMAT, ct_kernel_message(k));
        if (!strstr(ct_kernel_message(k), bad[i].message)) fail_msg("%s", ct_kernel_message(k));
        ct_kernel_free(k);
    }
}

static void parameters(void **state)
{
    (void)state;
    ct_kernel *k = ct_kernel_sum(ct_kernel_index(3, 2), ct_kernel_index(2, 1));
    assert_ok(ct_kernel_status(k), ct_kernel_message(k));
    assert_int_equal(ct_kernel_params(k), 9 + 4);
    const int64_t w = ct_kernel_find(k, "index.w[2,1]"), kappa = ct_kernel_find(k, "index#2.kappa[1]");
    assert_int_equal(w, 5);
    assert_int_equal(kappa, 12);
    ct_param p = *ct_kernel_param(k, w);
    assert_true(p.any_sign && p.lower == -INFINITY && p.unit == CT_UNIT_NONE);
    p.value = -3;
    assert_ok(ct_kernel_set(k, w, &p), ct_kernel_message(k));
    p.prior = (ct_prior){ CT_PRIOR_LOG_NORMAL, 0, 1 };
    assert_status(ct_kernel_set(k, w, &p), CT_EINVAL, "a prior of positive numbers");
    p = *ct_kernel_param(k, kappa);
    assert_true(!p.any_sign && p.value == 0.5);
    p.value = -3;
    assert_status(ct_kernel_set(k, kappa, &p), CT_EINVAL, "a negative variance");
    ct_kernel_free(k);

    k = ct_kernel_index(0, 2);
    assert_int_equal(ct_kernel_params(k), 0);
    assert_status(ct_kernel_bind(k, 1), CT_EINVAL, "no levels");
    assert_non_null(strstr(ct_kernel_message(k), "give levels="));
    ct_kernel_free(k);
    k = ct_kernel_index(3, 1);
    assert_status(ct_kernel_bind(k, 2), CT_EINVAL, "two columns");
    assert_non_null(strstr(ct_kernel_message(k), "name it by dims="));
    ct_kernel_free(k);
    k = ct_kernel_index(2, 3);
    assert_status(ct_kernel_status(k), CT_EINVAL, "a rank above the levels");
    ct_kernel_free(k);
}

/* -- models ---------------------------------------------------------------------------------------------- */

enum { N = 60, D = 2, M = 4 };

static const char *const woods[] = { "elm", "oak", "pine" }, *const two[] = { "a", "b" };

static double level_of(int i) { return (i + i / 7) % 3; }

/* y = sin 0.3i for level 0, its mirror image for level 1, and a line for level 2. */
static ct_gp *model(ct_device *device, const char *kernel)
{
    static const ct_column inputs[] = {
        { .name = "x" }, { .name = "wood", .kind = CT_COLUMN_CATEGORY, .levels = woods, .n_levels = 3 }
    };
    double x[N * D], y[N];
    for (int i = 0; i < N; i++) {
        x[i * D] = 0.1 * i;
        x[i * D + 1] = level_of(i);
        y[i] = (level_of(i) == 0   ? sin(0.3 * i)
                : level_of(i) == 1 ? -sin(0.3 * i)
                                   : 0.02 * i) +
               0.05 * cos(7.0 * i);
    }
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(N, D), x), *t = ct_from(device, CT_F64, ct_shape1(N), y);
    ct_gp *gp = ct_gp_new(X, t, ct_kernel_parse(kernel), &(ct_gp_options){ .inputs = inputs });
    ct_release(X);
    ct_release(t);
    return gp;
}

/* At the middle of the numbers: of the three levels, then of one that the data do not have. */
static void predict(ct_gp *gp, ct_device *device, double *mean, double *variance)
{
    const double x[M * D] = { 2.95, 0, 2.95, 1, 2.95, 2, 2.95, -1 };
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(M, D), x), *m = ct_empty(device, CT_F64, ct_shape1(M)),
              *v = ct_empty(device, CT_F64, ct_shape1(M));
    assert_ok(ct_gp_predict(gp, X, m, v), ct_message(device));
    assert_ok(ct_read(m, mean, M * sizeof *mean), ct_message(device));
    assert_ok(ct_read(v, variance, M * sizeof *variance), ct_message(device));
    ct_release(X);
    ct_release(m);
    ct_release(v);
}

/* The model takes the levels from its column. A fit finds that level 1 mirrors level 0, and tells more of
 * them than `category`, which knows no opposites. The file brings all of it back. */
static void levels_may_be_opposites(void **state)
{
    (void)state;
    ct_device *device = ct_device_open("cpu");
    double nlml[2], mean[2][M], variance[2][M];
    char path[256], text[300], again[300];
    for (int k = 0; k < 2; k++) {
        ct_gp *gp = model(device, k ? "index * rbf(lengthscale=1)" : "scale * category * rbf(lengthscale=1)");
        assert_gp(gp, device);
        assert_ok(ct_gp_fit(gp, &(ct_fit_options){ .restarts = 4 }), ct_message(device));
        nlml[k] = ct_gp_nlml_value(gp);
        if (!k) {
            ct_gp_free(gp);
            continue;
        }
        const double w0 = gp_get(gp, "index.w[0,0]"), w1 = gp_get(gp, "index.w[1,0]");
        const double v0 = w0 * w0 + gp_get(gp, "index.kappa[0]"), v1 = w1 * w1 + gp_get(gp, "index.kappa[1]");
        assert_true(w0 * w1 / sqrt(v0 * v1) < -0.9);
        predict(gp, device, mean[0], variance[0]);
        assert_true(variance[0][3] > 5 * variance[0][0]);
        ct_kernel_print(ct_gp_kernel(gp), true, text, sizeof text);
        gp_temporary(path);
        assert_ok(ct_gp_save(gp, path), ct_message(device));
        ct_gp_free(gp);
        gp = ct_gp_load(device, path);
        assert_gp(gp, device);
        unlink(path);
        ct_kernel_print(ct_gp_kernel(gp), true, again, sizeof again);
        assert_string_equal(text, again);
        predict(gp, device, mean[1], variance[1]);
        for (int i = 0; i < M; i++) assert_true(mean[0][i] == mean[1][i] && variance[0][i] == variance[1][i]);
        ct_gp_free(gp);
    }
    assert_true(nlml[1] < nlml[0] - 10);
    ct_device_close(device);
}

/* What a level is called is nothing: with the rows of W and κ in another order, the likelihood is the same.
 * `category` is the index of a W that is constant. */
static void invariances(void **state)
{
    (void)state;
    static const char *const all[] = {
        "index(dims=1, rank=1, levels=3, w=0.5:-0.7:1.1, kappa=0.3:0.2:0.1) * rbf(dims=0)",
        "index(dims=1, rank=1, levels=3, w=-0.5:0.7:-1.1, kappa=0.3:0.2:0.1) * rbf(dims=0)",
        "index(dims=1, rank=1, levels=3, w=0.6:0.6:0.6, kappa=0.64:0.64:0.64) * rbf(dims=0)",
        "category(dims=1, lengthscale=0.9788075944856087) * rbf(dims=0)", /* exp(-1/l) = 0.36 */
    };
    ct_device *device = ct_device_open("cpu");
    double nlml[4];
    for (int k = 0; k < 4; k++) {
        ct_gp *gp = model(device, all[k]);
        assert_gp(gp, device);
        nlml[k] = ct_gp_nlml_value(gp);
        ct_gp_free(gp);
    }
    assert_float_equal(nlml[0], nlml[1], 1e-10);
    assert_float_equal(nlml[2], nlml[3], 1e-10);
    ct_device_close(device);
}

static void calibration(void **state)
{
    (void)state;
    ct_device *device = ct_device_open("cpu");
    ct_gp *gp = model(device, "index(rank=1, w=0.5:-0.7:1.1, kappa=0.3:0.2:0.1, levels=3) * rbf");
    assert_null(gp); /* levels= comes first */
    gp = model(device, "index(rank=1, levels=3, w=0.5:-0.7:1.1, kappa=0.3:0.2:0.1) * rbf(lengthscale=9)");
    assert_gp(gp, device);
    gp_set(gp, "noise.variance", 1e-4, false);
    double c;
    assert_ok(ct_gp_calibrate_variance(gp, &c), ct_message(device));
    assert_true(c > 1.5);
    assert_float_equal(gp_get(gp, "index.w[1,0]"), -0.7 * sqrt(c), 1e-12);
    assert_float_equal(gp_get(gp, "index.kappa[1]"), 0.2 * c, 1e-12);
    ct_gp_free(gp);
    ct_device_close(device);
}

/* The text of the model's kernel on columns of these kinds; NULL where it is refused. */
static const char *seen(ct_device *device, const ct_column *inputs, int64_t d, const char *kernel,
                        char text[256])
{
    const double zeros[8] = { 0 }, y[] = { 1, 2 };
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(2, d), zeros),
              *t = ct_from(device, CT_F64, ct_shape1(2), y);
    ct_gp *gp = ct_gp_new(X, t, ct_kernel_parse(kernel), &(ct_gp_options){ .inputs = inputs });
    if (gp) ct_kernel_print(ct_gp_kernel(gp), false, text, 256);
    const bool there = gp;
    ct_release(X);
    ct_release(t);
    ct_gp_free(gp);
    return there ? text : NULL;
}

static void levels_come_from_the_column(void **state)
{
    (void)state;
    char text[256];
    const ct_column mixed[] = {
        { .name = "x" },
        { .name = "wood", .kind = CT_COLUMN_CATEGORY, .levels = woods, .n_levels = 3 },
        { .name = "s", .kind = CT_COLUMN_CATEGORY, .levels = two, .n_levels = 2 }
    };
    ct_device *device = ct_device_open("cpu");
    assert_string_equal(seen(device, mixed, 2, "scale * rbf * index(rank=2)", text),
                        "scale * rbf(dims=0) * index(dims=1, rank=2, levels=3)");
    assert_string_equal(seen(device, mixed, 3, "index(dims=2)", text), "index(dims=2, rank=1, levels=2)");
    assert_string_equal(seen(device, NULL, 1, "index(levels=4)", text), "index(rank=1, levels=4)");
    static const struct {
        const char *kernel, *message;
    } bad[] = {
        { "index", "index without dims=: 2 columns of its kind, must be 1 to 1" },
        { "index(dims=0)", "make the column a category, or give levels=" },
        { "index(dims=1, levels=4)", "index has levels=4, its column \"wood\" has 3" },
        { "index(dims=2, rank=3)", "index of \"s\", of 2 levels: the rank is at most the levels" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(seen(device, mixed, 3, bad[i].kernel, text));
        if (!strstr(ct_message(device), bad[i].message)) fail_msg("%s", ct_message(device));
    }
    ct_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_f64),
        cmocka_unit_test(tables_f32),
        cmocka_unit_test(fused_is_composed),
        cmocka_unit_test(gradients_are_differences),
        cmocka_unit_test(batches),
        cmocka_unit_test(a_code_that_is_not_finite_gives_nan),
        cmocka_unit_test(texts),
        cmocka_unit_test(parameters),
        cmocka_unit_test(levels_may_be_opposites),
        cmocka_unit_test(invariances),
        cmocka_unit_test(calibration),
        cmocka_unit_test(levels_come_from_the_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
