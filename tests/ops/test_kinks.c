/* The derivatives that are a convention: at kinks and ties, as ops.h states them. The first and second
 * derivative at zero of either sign, where a formula may lose one. The plain rule and the recorded one agree
 * everywhere. */
#include "one_tape.h"

#include <cotangent/op.h>

/* Checks that the gradient of the sum of y with respect to x is wanted[0..n), recorded or not. */
static void gradient_is(ct_var y, ct_var x, int64_t n, const double *wanted)
{
    for (int record = 0; record < 2; record++) {
        ct_var bar;
        assert_ok(ct_grad(ct_sum(y, CT_ALL, false), (ct_var){ NULL, 0, 0 }, &x, &bar, 1,
                          record ? CT_GRAD_RECORD : CT_GRAD_KEEP),
                  ct_tape_message(tape));
        check_elements_at(ct_value(bar), wanted, n, 1e-15, 0, record ? "recorded" : "plain", __FILE__,
                          __LINE__);
    }
}

/* f'(0) and f''(0), also at -0 */
static void at_zero(ct_var (*f)(ct_var), double first, double second)
{
    ct_tensor *t = tensor1(device, 2, 0.0, -0.0);
    ct_var x = ct_leaf(tape, t), none = { NULL, 0, 0 }, bar, again;
    ct_release(t);
    gradient_is(f(x), x, 2, (double[]){ first, first });
    assert_ok(ct_grad(ct_sum(f(x), CT_ALL, false), none, &x, &bar, 1, CT_GRAD_RECORD), ct_tape_message(tape));
    assert_ok(ct_grad(ct_sum(bar, CT_ALL, false), none, &x, &again, 1, CT_GRAD_KEEP), ct_tape_message(tape));
    assert_elements(ct_value(again), 1e-14, 0, second, second);
    ct_tape_reset(tape);
}

static ct_var leaf(ct_tensor *t)
{
    ct_var v = ct_leaf(tape, t);
    ct_release(t);
    return v;
}

static void test_one_input(void **state)
{
    (void)state;
    ct_var x = leaf(tensor1(device, 3, -1, 0, 2));
    gradient_is(ct_abs(x), x, 3, (double[]){ -1, 0, 1 });
    gradient_is(ct_relu(x), x, 3, (double[]){ 0, 0, 1 });
    gradient_is(ct_clamp(x, -1, 0), x, 3, (double[]){ 1, 1, 0 });
    gradient_is(ct_huber(x, ct_stop_gradient(ct_scale(x, 0)), 1), x, 3, (double[]){ -1. / 3, 0, 1. / 3 });
    ct_var far = leaf(tensor1(device, 4, INFINITY, -INFINITY, 0.5, 2));
    gradient_is(ct_huber(far, leaf(tensor1(device, 4, 0, 0, 0, 0)), 1), far, 4,
                (double[]){ 0.25, -0.25, 0.125, 0.25 });
    gradient_is(ct_pow(x, 0), x, 3, (double[]){ 0, 0, 0 });
    gradient_is(ct_pow(x, 1), x, 3, (double[]){ 1, 1, 1 });
    gradient_is(ct_pow(x, 2), x, 3, (double[]){ -2, 0, 4 });
    gradient_is(ct_add(ct_sign(x), x), x, 3, (double[]){ 1, 1, 1 });
    ct_tape_reset(tape);
}

static void test_ties(void **state)
{
    (void)state;
    ct_var x = leaf(tensor1(device, 4, 1, 3, 3, 2)), y = leaf(tensor1(device, 4, 1, 4, 3, 1));
    gradient_is(ct_max(x, -1, false), x, 4, (double[]){ 0, 0.5, 0.5, 0 });
    gradient_is(ct_max(x, CT_ALL, true), x, 4, (double[]){ 0, 0.5, 0.5, 0 });
    gradient_is(ct_maximum(x, y), x, 4, (double[]){ 0.5, 0, 0.5, 1 });
    gradient_is(ct_maximum(x, y), y, 4, (double[]){ 0.5, 1, 0.5, 0 });
    gradient_is(ct_minimum(x, y), x, 4, (double[]){ 0.5, 1, 0.5, 0 });
    gradient_is(ct_maximum(x, x), x, 4, (double[]){ 1, 1, 1, 1 });
    ct_var A = leaf(tensor2(device, 2, 2, 5, 5, 5, 1));
    gradient_is(ct_max(A, 0, false), A, 4, (double[]){ 0.5, 1, 0.5, 0 });
    gradient_is(ct_max(A, CT_ALL, false), A, 4, (double[]){ 1. / 3, 1. / 3, 1. / 3, 0 });
    ct_tape_reset(tape);
}

/* Equal points have distance 0 and derivative 0; equal logits share the cotangent. */
static void test_coincidences(void **state)
{
    (void)state;
    ct_var x = leaf(tensor2(device, 2, 1, 7, 7));
    gradient_is(ct_sqdist(x, x), x, 2, (double[]){ 0, 0 });
    gradient_is(ct_logsumexp(x, CT_ALL, false), x, 2, (double[]){ 0.5, 0.5 });
    ct_tape_reset(tape);
}

#define WITH(name, expression) \
    static ct_var name(ct_var x) { return expression; }
WITH(pow_3, ct_pow(x, 3))
WITH(pow_2, ct_pow(x, 2))
WITH(pow_1, ct_pow(x, 1))
WITH(pow_0, ct_pow(x, 0))
WITH(pow_52, ct_pow(x, 2.5))
WITH(clamp_inside, ct_clamp(x, -1, 1))
WITH(clamp_edge, ct_clamp(x, 0, 1))
WITH(clamp_outside, ct_clamp(x, 1, 2))
WITH(product, ct_mul(x, x))
WITH(quotient, ct_div(x, ct_shift(x, 1)))
WITH(huber, ct_scale(ct_huber(x, ct_stop_gradient(ct_scale(x, 0)), 1), 2))
WITH(mse, ct_scale(ct_mse(x, ct_stop_gradient(ct_scale(x, 0))), 2))
WITH(nll, ct_scale(ct_gaussian_nll(x, ct_scalar(x.tape, CT_F64, 2), ct_stop_gradient(ct_scale(x, 0))), 2))
WITH(distance, ct_sqdist(ct_unsqueeze(x, -1), ct_unsqueeze(ct_stop_gradient(ct_slice(x, 0, 0, 1, 1)), -1)))

static void test_zeros(void **state)
{
    (void)state;
    at_zero(ct_neg, -1, 0);
    at_zero(ct_abs, 0, 0);
    at_zero(ct_exp, 1, 1);
    at_zero(ct_expm1, 1, 1);
    at_zero(ct_log1p, 1, -1);
    at_zero(ct_square, 0, 2);
    at_zero(ct_sin, 1, 0);
    at_zero(ct_cos, 0, -1);
    at_zero(ct_tanh, 1, 0);
    at_zero(ct_sigmoid, 0.25, 0);
    at_zero(ct_softplus, 0.5, 0.25);
    at_zero(ct_relu, 0, 0);
    at_zero(ct_erf, 1.1283791670955126, 0);
    at_zero(ct_sech2, 0, -2);
    at_zero(ct_gaussian, 0, -2);
    at_zero(pow_3, 0, 0);
    at_zero(pow_2, 0, 2);
    at_zero(pow_1, 1, 0);
    at_zero(pow_0, 0, 0);
    at_zero(pow_52, 0, 0);
    at_zero(clamp_inside, 1, 0);
    at_zero(clamp_edge, 1, 0);
    at_zero(clamp_outside, 0, 0);
    at_zero(product, 0, 2);
    at_zero(quotient, 1, -2);
    at_zero(huber, 0, 1);
    at_zero(mse, 0, 2);
    at_zero(nll, 0, 0.5);
    at_zero(distance, 0, 2);
}

/* Poles are IEEE's. */
static void test_poles(void **state)
{
    (void)state;
    ct_var x = leaf(tensor1(device, 2, 0.0, -0.0));
    assert_elements(ct_value(ct_log(x)), 0, 0, -INFINITY, -INFINITY);
    assert_elements(ct_value(ct_reciprocal(x)), 0, 0, INFINITY, -INFINITY);
    assert_elements(ct_value(ct_reciprocal(ct_pow(x, 0.5))), 0, 0, INFINITY, INFINITY);
    assert_elements(ct_value(ct_reciprocal(ct_sqrt(x))), 0, 0, INFINITY, -INFINITY);
    assert_elements(ct_value(ct_pow(x, -1)), 0, 0, INFINITY, -INFINITY);
    gradient_is(ct_log(x), x, 2, (double[]){ INFINITY, -INFINITY });
    gradient_is(ct_sqrt(x), x, 2, (double[]){ INFINITY, -INFINITY });
    gradient_is(ct_pow(x, 0.5), x, 2, (double[]){ INFINITY, INFINITY });
    gradient_is(ct_reciprocal(x), x, 2, (double[]){ -INFINITY, -INFINITY });
    assert_ok(ct_tape_status(tape), ct_tape_message(tape));
    ct_tape_reset(tape);
}

static const double special[] = { 0.0, -0.0, 0.3,   -0.3,   1,     -1,     2,        -2,        1e-30, 30,
                                  -30, 1e30, -1e30, 1e-300, 1e300, -1e300, INFINITY, -INFINITY, NAN };
enum { SPECIAL = sizeof special / sizeof *special };

/* The gradients of op by its fused rule and by the one in ops, at n points. */
static void rules_agree(const ct_op *op, ct_var *x, int n_in, const double *p, const char *name)
{
    ct_var y = ct_sum(ct_apply(op, x, n_in, p, p ? 2 * sizeof *p : 0), CT_ALL, false), bar[2][2];
    if (!ct_var_needs_grad(y)) return;
    for (int record = 0; record < 2; record++)
        assert_ok(
            ct_grad(y, (ct_var){ NULL, 0, 0 }, x, bar[record], n_in, record ? CT_GRAD_RECORD : CT_GRAD_KEEP),
            ct_tape_message(tape));
    for (int i = 0; i < n_in; i++) {
        enum { MOST = SPECIAL * SPECIAL };
        double plain[MOST];
        int64_t n = ct_tensor_count(ct_value(bar[0][i]));
        ct_tensor *wide = ct_tensor_cast(ct_value(bar[0][i]), CT_F64);
        assert_ok(ct_read(wide, plain, (size_t)n * sizeof *plain), "");
        ct_release(wide);
        check_elements_at(ct_value(bar[1][i]), plain, n, ct_var_dtype(x[i]) == CT_F64 ? 1e-13 : 2e-6, 0, name,
                          __FILE__, __LINE__);
    }
}

static void test_rules(void **state)
{
    (void)state;
    static const char *const unary[] = { "neg",     "abs",      "exp",        "expm1", "log",    "log1p",
                                         "sqrt",    "square",   "reciprocal", "sin",   "cos",    "tanh",
                                         "sigmoid", "softplus", "relu",       "erf",   "lgamma", "polygamma",
                                         "pow",     "scale",    "shift",      "clamp", "sech2",  "gaussian" };
    static const char *const binary[] = { "add", "sub", "mul", "div", "maximum", "minimum" };
    static const double parameters[] = { 0, 1, 2, 0.5, -0.5, -1, 3 };
    double pairs[2][SPECIAL * SPECIAL];
    for (int i = 0; i < SPECIAL * SPECIAL; i++)
        pairs[0][i] = special[i / SPECIAL], pairs[1][i] = special[i % SPECIAL];
    for (int f32 = 0; f32 < 2; f32++) {
        ct_tensor *wide[3], *t[3];
        for (int k = 0; k < 3; k++) {
            wide[k] = ct_from(device, CT_F64, ct_shape1(k ? SPECIAL * SPECIAL : SPECIAL),
                              k ? pairs[k - 1] : special);
            t[k] = ct_tensor_cast(wide[k], f32 ? CT_F32 : CT_F64);
            ct_release(wide[k]);
        }
        for (size_t i = 0; i < sizeof unary / sizeof *unary; i++)
            for (size_t k = 0; k < sizeof parameters / sizeof *parameters; k++) {
                const double p[2] = { parameters[k], parameters[k] + 1 };
                if (!strcmp(unary[i], "polygamma") && (p[0] < 0 || p[0] != floor(p[0]))) continue;
                ct_var x = ct_leaf(tape, t[0]);
                rules_agree(ct_op_find(unary[i]), &x, 1, p, unary[i]);
                ct_tape_reset(tape);
            }
        for (size_t i = 0; i < sizeof binary / sizeof *binary; i++) {
            ct_var x[2] = { ct_leaf(tape, t[1]), ct_leaf(tape, t[2]) };
            rules_agree(ct_op_find(binary[i]), x, 2, NULL, binary[i]);
            ct_tape_reset(tape);
        }
        for (int k = 0; k < 3; k++) ct_release(t[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_input), cmocka_unit_test(test_ties),  cmocka_unit_test(test_coincidences),
        cmocka_unit_test(test_zeros),     cmocka_unit_test(test_poles), cmocka_unit_test(test_rules),
    };
    return cmocka_run_group_tests_name("kinks", tests, open_tape, close_tape);
}
