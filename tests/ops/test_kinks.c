/* The derivatives that are a convention: at kinks and ties, as ops.h states them; the plain rule and the recorded
 * one agree. */
#include "check.h"

#include <cotangent/ops.h>

static ct_device *device;
static ct_tape *tape;

static int open_tape(void **state)
{
    (void)state;
    device = ct_device_open(check_device());
    tape = ct_tape_new(device);
    return tape == NULL;
}

static int close_tape(void **state)
{
    (void)state;
    ct_tape_free(tape);
    uint64_t held = ct_memory(device).bytes_now;
    ct_device_close(device);
    return held != 0;
}

/* The gradient of the sum of y with respect to x is wanted[0..n), recorded or not. */
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

/* Equal points: distance 0, derivative 0; all-equal logits share. */
static void test_coincidences(void **state)
{
    (void)state;
    ct_var x = leaf(tensor2(device, 2, 1, 7, 7));
    gradient_is(ct_sqdist(x, x), x, 2, (double[]){ 0, 0 });
    gradient_is(ct_logsumexp(x, CT_ALL, false), x, 2, (double[]){ 0.5, 0.5 });
    ct_tape_reset(tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_input),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_coincidences),
    };
    return cmocka_run_group_tests_name("kinks", tests, open_tape, close_tape);
}
