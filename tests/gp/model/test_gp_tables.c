/* Likelihood, gradients and predictions against scikit-learn's and GPyTorch's for the same parameters. */
#include "gp_support.h"
#include "reference/gp_tables.h"

static const double relative = 1e-8;

/* Entry by entry, relative to the largest of the row's entries where one is small by cancellation. */
static void compare(const char *what, const table_row *row, const double *got, const double *wanted, int n)
{
    double size = 0;
    for (int i = 0; i < n; i++) size = fmax(size, fabs(wanted[i]));
    for (int i = 0; i < n; i++)
        if (!check_close(got[i], wanted[i], relative, 1e-11 * size)) {
            print_error("%s of %s by %s, entry %d: %.17g is not %.17g\n", what, row->name, row->source, i,
                        got[i], wanted[i]);
            fail();
        }
}

static ct_gp *model_of(ct_device *device, const table_row *row, ct_dtype dtype)
{
    const double *x = row->d == 1 ? table_X1 : table_X2, *y = row->d == 1 ? table_y1 : table_y2;
    ct_tensor *X64 = ct_from(device, CT_F64, ct_shape2(TABLE_POINTS, row->d), x);
    ct_tensor *y64 = ct_from(device, CT_F64, ct_shape1(TABLE_POINTS), y);
    ct_tensor *X = assert_tensor(ct_tensor_cast(X64, dtype), device);
    ct_tensor *t = assert_tensor(ct_tensor_cast(y64, dtype), device);
    ct_gp *gp = ct_gp_new(X, t, ct_kernel_parse(row->kernel),
                          &(ct_gp_options){ .mean = CT_MEAN_ZERO, .standardize = CT_STANDARDIZE_NONE });
    assert_gp(gp, device);
    assert_int_equal(ct_gp_params(gp), row->n_params);
    for (int i = 0; i < row->n_params; i++) {
        ct_param p = *ct_gp_param(gp, i);
        p.value = row->value[i];
        assert_ok(ct_gp_set_param(gp, i, &p), ct_message(device));
    }
    ct_release(X64);
    ct_release(y64);
    ct_release(X);
    ct_release(t);
    return gp;
}

static void equals_the_references(void **state)
{
    ct_device *device = *state;
    for (size_t r = 0; r < sizeof table / sizeof *table; r++) {
        const table_row *row = &table[r];
        ct_gp *gp = model_of(device, row, CT_F64);
        double u[9], value, gradient[9];
        for (int i = 0; i < row->n_params; i++) u[i] = log(row->value[i]);
        assert_ok(ct_gp_objective(gp, u, &value, gradient), ct_message(device));
        compare("nlml", row, &value, &row->nlml, 1);
        compare("gradient", row, gradient, row->gradient, row->n_params);
        value = ct_gp_nlml_value(gp);
        compare("nlml of the factor", row, &value, &row->nlml, 1);

        const double *xs = row->d == 1 ? table_Xs1 : table_Xs2;
        ct_tensor *Xs = assert_tensor(ct_from(device, CT_F64, ct_shape2(TABLE_NEW, row->d), xs), device);
        ct_tensor *mean = ct_empty(device, CT_F64, ct_shape1(TABLE_NEW));
        ct_tensor *variance = ct_empty(device, CT_F64, ct_shape2(TABLE_NEW, 1));
        assert_ok(ct_gp_predict(gp, Xs, mean, variance), ct_message(device));
        double *m = gp_host(mean), *v = gp_host(variance);
        compare("mean", row, m, row->mean, TABLE_NEW);
        compare("variance", row, v, row->variance, TABLE_NEW);
        free(m);
        free(v);
        ct_release(Xs);
        ct_release(mean);
        ct_release(variance);
        ct_gp_free(gp);
    }
}

static void single_precision_is_near(void **state)
{
    ct_device *device = *state;
    for (size_t r = 0; r < sizeof table / sizeof *table; r++) {
        const table_row *row = &table[r];
        ct_gp *gp = model_of(device, row, CT_F32);
        double u[9], value, gradient[9];
        for (int i = 0; i < row->n_params; i++) u[i] = log(row->value[i]);
        assert_ok(ct_gp_objective(gp, u, &value, gradient), ct_message(device));
        assert_close(value, row->nlml, 1e-4, 0);
        double size = 0;
        for (int i = 0; i < row->n_params; i++) size = fmax(size, fabs(row->gradient[i]));
        for (int i = 0; i < row->n_params; i++)
            assert_close(gradient[i], row->gradient[i], 1e-3, 1e-3 * size);
        ct_gp_free(gp);
    }
}

static int open_device(void **state) { return (*state = ct_device_open(check_device())) == NULL; }

static int close_device(void **state)
{
    ct_device_close(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_references),
        cmocka_unit_test(single_precision_is_near),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
