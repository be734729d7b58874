#include "gp_outputs.h"

const ct_column outputs_names[] = { { .name = "a" }, { .name = "b" }, { .name = "c" } };

ct_tensor *ones(ct_shape shape) { return assert_tensor(ct_full(device, CT_F64, shape, 1), device); }

void assert_outputs(const ct_outputs *o)
{
    if (!o) fail_msg("no outputs: %s", ct_message(device));
}

void assert_near(const char *what, const double *a, const double *b, int64_t n, double tolerance, double unit)
{
    for (int64_t i = 0; i < n; i++)
        if (!isnan(b[i]) && !(fabs(a[i] - b[i]) <= tolerance * fmax(unit, fabs(b[i]))))
            fail_msg("%s, element %lld: %.17g is not %.17g", what, (long long)i, a[i], b[i]);
}

ct_outputs *outputs_make(const struct outputs_row *row, int64_t rows)
{
    const bool joint = row->name[0] == 'j';
    ct_tensor *X = tensor(CT_F64, ct_shape2(rows, 2), outputs_X),
              *Y = tensor(CT_F64, ct_shape2(rows, P), strchr(row->name, ',') ? outputs_Y_missing : outputs_Y);
    const ct_outputs_options how = { .kind = joint ? CT_OUTPUTS_COREGIONALISED : CT_OUTPUTS_SHARED,
                                     .outputs = outputs_names,
                                     .rank = 2 };
    ct_outputs *o = ct_outputs_new(X, Y, ct_kernel_parse(joint ? "rbf(ard)" : "scale * rbf(ard)"), &how);
    ct_release(X), ct_release(Y);
    assert_outputs(o);
    ct_gp *whole = ct_outputs_joint_model(o);
    assert_int_equal(ct_gp_params(whole), row->n_params);
    for (int64_t i = 0; i < row->n_params; i++) {
        ct_param p = *ct_gp_param(whole, i);
        p.value = row->theta[i];
        assert_ok(ct_gp_set_param(whole, i, &p), ct_message(device));
    }
    return o;
}

bool on_cpu(void) { return !strcmp(ct_device_name(device), "cpu"); }

ct_outputs *outputs_fitted(ct_outputs_kind kind, int64_t n)
{
    gp_data s = gp_data_new(device, CT_F64, n, 2);
    double *Y = malloc((size_t)(3 * n) * sizeof *Y);
    for (int64_t i = 0; i < n; i++) {
        Y[3 * i] = s.y_host[i];
        Y[3 * i + 1] = 100 - 7 * s.y_host[i] + (double)(i % 3);
        Y[3 * i + 2] = 0.01 * s.y_host[(i * 7) % n];
    }
    ct_tensor *all = tensor(CT_F64, ct_shape2(n, 3), Y);
    ct_outputs *o = ct_outputs_new(s.X, all, ct_kernel_parse("scale * rbf(ard)"),
                                   &(ct_outputs_options){ .kind = kind, .outputs = outputs_names });
    assert_outputs(o);
    assert_ok(ct_outputs_fit(o, &(ct_fit_options){ .restarts = 1 }), ct_message(device));
    ct_release(all);
    free(Y);
    gp_data_free(&s);
    return o;
}
