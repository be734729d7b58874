/* Appending and removing rows, and copies, give the model of those rows with the same parameters. */
#include "gp_device.h"

#include "gp/model/model.h"

static const char *const kernels[] = { "scale(2) * rbf(ard)", "matern32 + white(0.3)",
                                       "scale * linear + rq" };

typedef struct set {
    gp_data data;
    ct_tensor *noises; /* (n), or NULL */
} set;

static set set_new(ct_dtype dtype, int64_t n, bool given)
{
    set s = { .data = gp_data_new(device, dtype, n, 2) };
    double *v = malloc((size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i] = 0.02 + 0.01 * (double)(i % 4);
    if (given) s.noises = assert_tensor(ct_from(device, CT_F64, ct_shape1(n), v), device);
    free(v);
    return s;
}

static void set_free(set *s)
{
    gp_data_free(&s->data);
    ct_release(s->noises);
}

static ct_tensor *part(const ct_tensor *t, int64_t first, int64_t end)
{
    return t ? assert_tensor(ct_tensor_slice(t, 0, first, end, 1), device) : NULL;
}

/* A model of rows first..end with fixed parameters. */
static ct_gp *model(const set *s, int64_t first, int64_t end, const char *kernel)
{
    ct_tensor *X = part(s->data.X, first, end), *y = part(s->data.y, first, end),
              *v = part(s->noises, first, end);
    ct_gp_options options = { .standardize = CT_STANDARDIZE_NONE, .noise_variances = v };
    if (v) options.noise = CT_NOISE_GIVEN_PLUS;
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse(kernel), &options);
    assert_gp(gp, device);
    gp_set(gp, "mean.constant", 0.3, false);
    gp_set(gp, "noise.variance", 0.05, false);
    for (int64_t i = 0; i < gp->params.n_kernel; i++) {
        ct_param p = *ct_gp_param(gp, i);
        p.value = 0.7 + 0.1 * (double)i;
        assert_ok(ct_gp_set_param(gp, i, &p), ct_message(device));
    }
    ct_release(X);
    ct_release(y);
    ct_release(v);
    return gp;
}

static ct_status append(ct_gp *gp, const set *s, int64_t first, int64_t end)
{
    ct_tensor *X = part(s->data.X, first, end), *y = part(s->data.y, first, end),
              *v = part(s->noises, first, end);
    ct_status status = ct_gp_append(gp, X, y, v);
    ct_release(X);
    ct_release(y);
    ct_release(v);
    return status;
}

static void assert_same_model(ct_gp *a, ct_gp *b, double tolerance)
{
    enum { m = 13 };
    int64_t n = ct_gp_points(b);
    assert_int_equal(ct_gp_points(a), n);
    assert_close(ct_gp_nlml_value(a), ct_gp_nlml_value(b), tolerance, tolerance);
    assert_close(ct_gp_jitter(a), ct_gp_jitter(b), tolerance, 0);
    ct_tensor *Xs = assert_tensor(ct_rand_uniform(device, CT_F64, ct_shape2(m, 2), 3, 0), device);
    double *seen[2][4];
    for (int k = 0; k < 2; k++) {
        ct_tensor *mean = ct_empty(device, CT_F64, ct_shape1(m)),
                  *variance = ct_empty(device, CT_F64, ct_shape1(m));
        ct_tensor *loo = ct_empty(device, CT_F64, ct_shape1(n)),
                  *left = ct_empty(device, CT_F64, ct_shape1(n));
        assert_ok(ct_gp_predict_noisy(k ? b : a, Xs, mean, variance), ct_message(device));
        assert_ok(ct_gp_loo(k ? b : a, loo, left, NULL), ct_message(device));
        ct_tensor *all[] = { mean, variance, loo, left };
        for (int j = 0; j < 4; j++) seen[k][j] = gp_host(all[j]), ct_release(all[j]);
    }
    for (int j = 0; j < 4; j++) {
        for (int64_t i = 0; i < (j < 2 ? m : n); i++)
            assert_close(seen[0][j][i], seen[1][j][i], tolerance, tolerance);
        free(seen[0][j]);
        free(seen[1][j]);
    }
    ct_release(Xs);
}

static void appended_is_refitted(void **state)
{
    (void)state;
    const int64_t n[] = { 1, 2, 5, 8, 33, 64 }, k[] = { 1, 2, 3, 20, 97 };
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        for (size_t j = 0; j < sizeof k / sizeof *k; j++)
            for (int given = 0; given < 2; given++) {
                const char *kernel = kernels[(i + j) % 3];
                set s = set_new(CT_F64, n[i] + k[j], given);
                ct_gp *gp = model(&s, 0, n[i], kernel), *whole = model(&s, 0, n[i] + k[j], kernel);
                if (given) assert_ok(ct_gp_predict(gp, s.data.X, NULL, NULL), ct_message(device));
                double before = ct_gp_nlml_value(gp); /* a factor is there */
                assert_true(isfinite(before));
                assert_ok(append(gp, &s, n[i], n[i] + k[j]), ct_message(device));
                assert_true(gp->factor.ready);
                assert_same_model(gp, whole, 1e-10);
                ct_gp_free(gp);
                ct_gp_free(whole);
                set_free(&s);
            }
}

static void one_by_one(void **state)
{
    (void)state;
    set s = set_new(CT_F64, 90, false);
    ct_gp *gp = model(&s, 0, 1, kernels[0]), *whole = model(&s, 0, 90, kernels[0]);
    for (int64_t i = 1; i < 90; i++) {
        if (i % 7) assert_true(isfinite(ct_gp_nlml_value(gp)));
        assert_ok(append(gp, &s, i, i + 1), ct_message(device));
    }
    assert_same_model(gp, whole, 1e-10);
    ct_gp_free(gp);
    ct_gp_free(whole);
    set_free(&s);
}

/* A model that grows by a row at a time, as in Bayesian optimisation, does not pile up blocks that are too
 * small. */
static void idle_memory_is_bounded(void **state)
{
    (void)state;
    const int64_t n = check_quick() ? 60 : 400;
    set s = set_new(CT_F64, n, false);
    ct_gp *gp = model(&s, 0, 10, kernels[0]);
    ct_tensor *mean = ct_empty(device, CT_F64, ct_shape1(n)),
              *variance = ct_empty(device, CT_F64, ct_shape1(n));
    ct_memory_trim(device);
    ct_memory_mark(device);
    for (int64_t i = 10; i < n; i++) {
        assert_ok(append(gp, &s, i, i + 1), ct_message(device));
        assert_ok(ct_gp_predict(gp, s.data.X, mean, variance), ct_message(device));
        const ct_memory_info m = ct_memory(device);
        assert_in_range(m.bytes_pooled, 0, 2 * m.bytes_peak + (16 << 20));
    }
    ct_release(mean);
    ct_release(variance);
    ct_gp_free(gp);
    set_free(&s);
}

/* A model of the rows of s that are not in `rows`. */
static ct_gp *rest_of(const set *s, const int64_t *rows, int64_t count, const char *kernel)
{
    ct_gp *gp = NULL;
    for (int64_t i = 0; i < s->data.n; i++) {
        bool gone = false;
        for (int64_t j = 0; j < count; j++) gone |= rows[j] == i;
        if (gone) continue;
        if (!gp)
            gp = model(s, i, i + 1, kernel);
        else
            assert_ok(append(gp, s, i, i + 1), ct_message(device)); /* no factor yet: rows alone */
    }
    return gp;
}

static void removed_is_refitted(void **state)
{
    (void)state;
    const int64_t lists[][6] = {
        { 0 }, { 59 }, { 58 }, { 31, 30, 29 }, { 0, 1, 2, 3, 4, 5 }, { 57, 3, 59, 20, 0, 40 }
    };
    const int64_t count[] = { 1, 1, 1, 3, 6, 6 };
    for (size_t k = 0; k < sizeof count / sizeof *count; k++)
        for (int64_t n = 60; n < 62; n++)
            for (int given = 0; given < 2; given++) {
                const char *kernel = kernels[k % 3];
                set s = set_new(CT_F64, n, given);
                ct_gp *gp = model(&s, 0, n, kernel), *rest = rest_of(&s, lists[k], count[k], kernel);
                assert_true(isfinite(ct_gp_nlml_value(gp)));
                assert_ok(ct_gp_remove(gp, lists[k], count[k]), ct_message(device));
                assert_true(gp->factor.ready);
                assert_same_model(gp, rest, 1e-10);
                ct_gp_free(gp);
                ct_gp_free(rest);
                set_free(&s);
            }
}

/* More rows than are rotated at once, so many that all is factorised anew, and all rows but one. */
static void many_are_removed(void **state)
{
    (void)state;
    const struct {
        int64_t n, first, step, count;
    } cases[] = {
        { 300, 0, 7, 5 }, { 300, 220, 2, 40 }, { 900, 0, 1, 20 }, { 300, 0, 7, 120 }, { 300, 0, 7, 299 }
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int64_t rows[300], n = cases[k].n, count = cases[k].count;
        for (int64_t i = 0; i < count; i++) rows[i] = (cases[k].first + i * cases[k].step) % n;
        set s = set_new(CT_F64, n, false);
        ct_gp *gp = model(&s, 0, n, kernels[0]), *rest = rest_of(&s, rows, count, kernels[0]);
        assert_true(isfinite(ct_gp_nlml_value(gp)));
        assert_ok(ct_gp_remove(gp, rows, count), ct_message(device));
        assert_same_model(gp, rest, 1e-10);
        ct_gp_free(gp);
        ct_gp_free(rest);
        set_free(&s);
    }
}

static void there_and_back(void **state)
{
    (void)state;
    set s = set_new(CT_F64, 80, true);
    ct_gp *gp = model(&s, 0, 70, kernels[1]), *same = model(&s, 0, 70, kernels[1]);
    assert_true(isfinite(ct_gp_nlml_value(gp)));
    assert_ok(append(gp, &s, 70, 80), ct_message(device));
    const int64_t rows[] = { 70, 71, 72, 73, 74, 75, 76, 77, 78, 79 };
    assert_ok(ct_gp_remove(gp, rows, 10), ct_message(device));
    assert_same_model(gp, same, 1e-10);
    ct_gp_free(gp);
    ct_gp_free(same);
    set_free(&s);
}

/* The transforms stay those of the first rows. */
static void transforms_stay(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 50, 2);
    ct_tensor *X = part(s.X, 0, 40), *y = part(s.y, 0, 40), *more_X = part(s.X, 40, 50),
              *more_y = part(s.y, 40, 50);
    ct_gp *gp =
        ct_gp_new(X, y, ct_kernel_parse("scale * matern52(ard)"), &(ct_gp_options){ .mean = CT_MEAN_LINEAR });
    assert_gp(gp, device);
    gp_set(gp, "noise.variance", 0.02, false);
    ct_gp *copy = ct_gp_copy(gp);
    assert_gp(copy, device);
    assert_true(isfinite(ct_gp_nlml_value(gp)));
    assert_false(copy->factor.ready);
    assert_ok(ct_gp_append(gp, more_X, more_y, NULL), ct_message(device));
    assert_ok(ct_gp_append(copy, more_X, more_y, NULL), ct_message(device));
    assert_memory_equal(gp->rows.shift, copy->rows.shift, 6 * sizeof(double));
    assert_same_model(gp, copy, 1e-10);
    ct_tensor *all[] = { X, y, more_X, more_y };
    for (int j = 0; j < 4; j++) ct_release(all[j]);
    ct_gp_free(gp);
    ct_gp_free(copy);
    gp_data_free(&s);
}

static void copies_share_until_they_differ(void **state)
{
    (void)state;
    set s = set_new(CT_F64, 400, true);
    ct_gp *gp = model(&s, 0, 399, kernels[0]), *whole = model(&s, 0, 400, kernels[0]);
    double nlml = ct_gp_nlml_value(gp);
    uint64_t before = ct_memory(device).bytes_now;
    ct_gp *copy = ct_gp_copy(gp);
    assert_gp(copy, device);
    assert_true(ct_memory(device).bytes_now - before < 10000); /* the factor has 640 kB */
    assert_ptr_equal(copy->factor.L, gp->factor.L);
    assert_string_equal(ct_gp_input(copy, 1)->name, "x1");
    assert_string_equal(ct_gp_output(copy)->name, "y");
    assert_same_model(copy, gp, 0);
    assert_ok(append(copy, &s, 399, 400), ct_message(device));
    assert_same_model(copy, whole, 1e-10);
    assert_true(ct_gp_nlml_value(gp) == nlml && ct_gp_points(gp) == 399);
    ct_gp *second = ct_gp_copy(gp);
    assert_gp(second, device);
    gp_set(second, "noise.variance", 0.5, false);
    assert_true(ct_gp_nlml_value(second) != nlml && ct_gp_nlml_value(gp) == nlml);
    assert_close(gp_get(gp, "noise.variance"), 0.05, 1e-15, 0);
    ct_gp_free(gp); /* the others live on */
    assert_same_model(copy, whole, 1e-10);
    ct_gp_free(copy);
    ct_gp_free(second);
    ct_gp_free(whole);
    set_free(&s);
}

static void the_report_is_copied(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 30, 2);
    ct_gp *gp = gp_of(&s, "scale * rbf", NULL);
    assert_ok(ct_gp_fit(gp, &(ct_fit_options){ .restarts = 2, .max_iterations = 5 }), ct_message(device));
    ct_gp *copy = ct_gp_copy(gp);
    assert_gp(copy, device);
    ct_fit_report a = ct_gp_report(gp), b = ct_gp_report(copy);
    assert_true(a.evaluations == b.evaluations && b.starts == 3 && a.start != b.start);
    assert_true(a.start[2].objective == b.start[2].objective);
    assert_ok(ct_gp_fit(copy, NULL), ct_message(device));
    ct_gp_free(gp);
    ct_gp_free(copy);
    gp_data_free(&s);
}

static void single_precision(void **state)
{
    (void)state;
    set s = set_new(CT_F32, 70, false);
    ct_gp *gp = model(&s, 0, 40, kernels[0]), *whole = model(&s, 0, 70, kernels[0]);
    const int64_t rows[] = { 3, 9 };
    assert_true(isfinite(ct_gp_nlml_value(gp)));
    assert_ok(append(gp, &s, 40, 70), ct_message(device));
    assert_ok(ct_gp_remove(gp, rows, 2), ct_message(device));
    assert_ok(ct_gp_remove(whole, rows, 2), ct_message(device));
    assert_same_model(gp, whole, 1e-3);
    ct_gp_free(gp);
    ct_gp_free(whole);
    set_free(&s);
}

/* A row that the others determine, without noise: jitter is added by the ladder. */
static void an_indefinite_row_needs_jitter(void **state)
{
    (void)state;
    ct_tensor *X = tensor2(device, 3, 1, 0.0, 1.0, 2.0), *y = tensor1(device, 3, 0.0, 1.0, 0.0);
    ct_tensor *twin = tensor2(device, 1, 1, 1.0), *one = tensor1(device, 1, 1.0);
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("rbf"),
                          &(ct_gp_options){ .noise = CT_NOISE_NONE, .standardize = CT_STANDARDIZE_NONE });
    assert_gp(gp, device);
    assert_true(ct_gp_jitter(gp) == 0);
    assert_ok(ct_gp_append(gp, twin, one, NULL), ct_message(device));
    assert_true(ct_gp_jitter(gp) > 0);
    assert_int_equal(ct_gp_points(gp), 4);
    ct_tensor *all[] = { X, y, twin, one };
    for (int j = 0; j < 4; j++) ct_release(all[j]);
    ct_gp_free(gp);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    set s = set_new(CT_F64, 10, true);
    ct_gp *gp = model(&s, 0, 10, kernels[0]);
    double nlml = ct_gp_nlml_value(gp);
    ct_tensor *X = ct_zeros(device, CT_F64, ct_shape2(2, 2)), *y = ct_zeros(device, CT_F64, ct_shape1(2));
    ct_tensor *v = ct_full(device, CT_F64, ct_shape1(2), 0.1),
              *minus = ct_full(device, CT_F64, ct_shape1(2), -1);
    ct_tensor *wide = ct_zeros(device, CT_F64, ct_shape2(2, 3)),
              *three = ct_zeros(device, CT_F64, ct_shape1(3));
    ct_tensor *nan = ct_full(device, CT_F64, ct_shape2(2, 2), NAN),
              *whole = ct_zeros(device, CT_I64, ct_shape2(2, 2));
    ct_tensor *far = ct_full(device, CT_F64, ct_shape1(2), 1e300);
    ct_tensor *none = ct_zeros(device, CT_F64, ct_shape2(0, 2)),
              *nothing = ct_zeros(device, CT_F64, ct_shape1(0));
    assert_status(ct_gp_append(NULL, X, y, v), CT_EINVAL, "");
    assert_failed(ct_gp_append(gp, NULL, y, v), device, CT_EINVAL, "NULL");
    assert_failed(ct_gp_append(gp, X, NULL, v), device, CT_EINVAL, "NULL");
    assert_failed(ct_gp_append(gp, wide, y, v), device, CT_ESHAPE, "3 columns");
    assert_failed(ct_gp_append(gp, X, three, v), device, CT_ESHAPE, "y: 3");
    assert_failed(ct_gp_append(gp, X, y, three), device, CT_ESHAPE, "noise_variances: 3");
    assert_failed(ct_gp_append(gp, X, y, NULL), device, CT_EINVAL, "noise_variances belong");
    assert_failed(ct_gp_append(gp, X, y, minus), device, CT_EINVAL, "not negative");
    assert_failed(ct_gp_append(gp, nan, y, v), device, CT_EINVAL, "row 0, column 0 is NaN");
    assert_failed(ct_gp_append(gp, whole, y, v), device, CT_EDTYPE, "f64 or f32");
    assert_failed(ct_gp_append(gp, X, far, v), device, CT_ENUMERIC,
                  "the likelihood is not finite: look for a y far from all others");
    assert_ok(ct_gp_append(gp, none, nothing, nothing), ct_message(device));
    const int64_t beyond[] = { 3, 10 }, twice[] = { 3, 4, 3 }, below[] = { -1 };
    int64_t all[10];
    for (int i = 0; i < 10; i++) all[i] = i;
    assert_status(ct_gp_remove(NULL, beyond, 1), CT_EINVAL, "");
    assert_failed(ct_gp_remove(gp, NULL, 2), device, CT_EINVAL, "no list");
    assert_failed(ct_gp_remove(gp, beyond, -1), device, CT_EINVAL, "no list");
    assert_failed(ct_gp_remove(gp, beyond, 2), device, CT_EINDEX, "row 10 is not there");
    assert_failed(ct_gp_remove(gp, below, 1), device, CT_EINDEX, "row -1 is not there");
    assert_failed(ct_gp_remove(gp, twice, 3), device, CT_EINDEX, "row 3 is named twice");
    assert_failed(ct_gp_remove(gp, all, 10), device, CT_EINVAL, "one at least must stay");
    assert_ok(ct_gp_remove(gp, NULL, 0), ct_message(device));
    assert_null(ct_gp_copy(NULL));
    assert_true(ct_gp_nlml_value(gp) == nlml && ct_gp_points(gp) == 10);
    ct_tensor *tensors[] = { X, y, v, minus, wide, three, nan, whole, none, nothing, far };
    for (int i = 0; i < 11; i++) ct_release(tensors[i]);
    ct_gp_free(gp);
    set_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appended_is_refitted),
        cmocka_unit_test(one_by_one),
        cmocka_unit_test(idle_memory_is_bounded),
        cmocka_unit_test(removed_is_refitted),
        cmocka_unit_test(many_are_removed),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(transforms_stay),
        cmocka_unit_test(copies_share_until_they_differ),
        cmocka_unit_test(the_report_is_copied),
        cmocka_unit_test(single_precision),
        cmocka_unit_test(an_indefinite_row_needs_jitter),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, open_check_device, close_device);
}
