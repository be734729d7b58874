/* The likelihood as an op: its rule against finite differences, and against the composition of public ops. */
#include "gp_support.h"

#include <cotangent/gradcheck.h>

#include "gp/model.h"

static ct_device *device;

static void rule_agrees_with_differences(void **state)
{
    (void)state;
    char report[4096];
    ct_status s = ct_gradcheck_op(device, &ct__op_gaussian_nlml, NULL, report, sizeof report);
    if (s) print_error("%s\n", report);
    assert_ok(s, "gradcheck");
}

/* ½ rᵀC⁻¹r + ½ log det C + n/2 log 2π from public ops alone. */
static ct_var composed(const ct_kernel *k, ct_var theta, ct_var X, ct_var r, ct_var noise)
{
    int64_t n = ct_var_shape(X).dim[0];
    ct_var L = ct_cholesky(ct_add_diag(ct_cov(k, theta, X, X), noise));
    ct_var column = ct_reshape(r, ct_shape2(n, 1));
    ct_var fit = ct_sum(ct_mul(column, ct_cholesky_solve(L, column)), CT_ALL, false);
    ct_var both = ct_scale(ct_add(fit, ct_cholesky_logdet(L)), 0.5);
    return ct_shift(both, 0.5 * (double)n * 1.8378770664093454836);
}

static void equals_the_composition(void **state)
{
    (void)state;
    const int64_t sizes[] = { 1, 2, 17, 63, 64, 65, 127, 130, 200, 321 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        gp_data s = gp_data_new(device, CT_F64, sizes[i], 3);
        ct_kernel *k = ct_kernel_parse("scale(1.5) * rbf(ard) + scale(0.3) * linear");
        assert_ok(ct_kernel_bind(k, 3), ct_kernel_message(k));
        for (int each = 0; each < 2; each++) {
            double value[2], *bar[2][4];
            for (int fused = 0; fused < 2; fused++) {
                ct_tape *tape = ct_tape_new(device);
                ct_tensor *v = ct_full(device, CT_F64, ct_shape1(each ? s.n : 1), 0.02);
                ct_var in[] = { ct_kernel_theta(k, tape, CT_F64), ct_leaf(tape, s.X), ct_leaf(tape, s.y),
                                ct_leaf(tape, v) };
                ct_var y = (fused ? ct_gp_nlml : composed)(k, in[0], in[1], in[2], in[3]);
                y = ct_scale(y, -1.7);
                value[fused] = ct_item(y);
                assert_ok(ct_backward(y), ct_tape_message(tape));
                for (int j = 0; j < 4; j++) bar[fused][j] = gp_host(ct_cotangent(in[j]));
                ct_release(v);
                ct_tape_free(tape);
            }
            assert_close(value[0], value[1], 1e-12, 0);
            const int64_t count[] = { ct_kernel_params(k), s.n * 3, s.n, each ? s.n : 1 };
            for (int j = 0; j < 4; j++) {
                double size = 0;
                for (int64_t p = 0; p < count[j]; p++) size = fmax(size, fabs(bar[0][j][p]));
                for (int64_t p = 0; p < count[j]; p++)
                    assert_close(bar[0][j][p], bar[1][j][p], 1e-8, 1e-10 * size);
                free(bar[0][j]);
                free(bar[1][j]);
            }
        }
        ct_kernel_free(k);
        gp_data_free(&s);
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
    ct_var y = ct_gp_nlml(k, ct_kernel_theta(k, tape, CT_F64), ct_constant(tape, X), ct_constant(tape, r),
                          ct_constant(tape, zero));
    assert_true(isnan(ct_item(y)));
    assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
    assert_non_null(strstr(ct_tape_message(tape), "minor 2"));
    ct_tape_free(tape);
    ct_kernel_free(k);
    ct_release(X);
    ct_release(r);
    ct_release(zero);
}

static void shapes_are_checked(void **state)
{
    (void)state;
    ct_tensor *K = tensor2(device, 2, 2, 2.0, 0.0, 0.0, 2.0),
              *bad = tensor2(device, 2, 3, 1.0, 0, 0, 0, 1, 0);
    ct_tensor *two = tensor1(device, 2, 1.0, 2.0), *three = tensor1(device, 3, 1.0, 2.0, 3.0);
    ct_tensor *in[][3] = { { bad, two, two }, { K, three, two }, { K, two, three } };
    for (int i = 0; i < 3; i++) {
        ct_tape *tape = ct_tape_new(device);
        ct_apply(&ct__op_gaussian_nlml,
                 (ct_var[]){ ct_leaf(tape, in[i][0]), ct_leaf(tape, in[i][1]), ct_leaf(tape, in[i][2]) }, 3,
                 NULL, 0);
        assert_status(ct_tape_status(tape), CT_ESHAPE, ct_tape_message(tape));
        ct_tape_free(tape);
    }
    ct_release(K);
    ct_release(bad);
    ct_release(two);
    ct_release(three);
}

static int open_device(void **state)
{
    (void)state;
    device = ct_device_open("cpu");
    return ct_device_status(device) != CT_OK;
}

static int close_device(void **state)
{
    (void)state;
    ct_device_close(device);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_agrees_with_differences),
        cmocka_unit_test(equals_the_composition),
        cmocka_unit_test(indefinite_is_flagged),
        cmocka_unit_test(shapes_are_checked),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
