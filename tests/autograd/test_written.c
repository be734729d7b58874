/* A tensor is written to after an op has read it. A sweep through that op is refused; other sweeps are not.
 */
#include "one_tape.h"

#include <cotangent/op.h>
#include <cotangent/step.h>

static ct_tensor *X;

static int setup(void **state)
{
    if (open_tape(state)) return -1;
    X = ct_from(device, CT_F64, ct_shape1(2), (double[]){ 1, 2 });
    return X ? 0 : -1;
}

static int teardown(void **state)
{
    ct_release(X);
    return close_tape(state);
}

static ct_var total(ct_var x) { return ct_sum(x, CT_ALL, false); }

static void write_to(ct_tensor *t, double a, double b)
{
    assert_ok(ct_write(t, (double[]){ a, b }, 2 * sizeof(double)), ct_message(device));
}

static void refused(ct_status got, const char *what)
{
    assert_status(got, CT_ESTALE, ct_tape_message(tape));
    if (!strstr(ct_tape_message(tape), what)) fail_msg("%s\nlacks: %s", ct_tape_message(tape), what);
    ct_tape_reset(tape);
}

static void a_leaf(void **state)
{
    (void)state;
    ct_var x = ct_leaf(tape, X), y = total(ct_square(x));
    write_to(X, 100, 100);
    refused(ct_backward(y), "op #1 square: input 0 (#0 leaf) was written to after it was recorded");
    x = ct_leaf(tape, X); /* from here on it is the new point */
    assert_ok(ct_backward(total(ct_square(x))), ct_tape_message(tape));
    assert_elements(ct_cotangent(x), 0, 0, 200, 200);
}

static void a_constant(void **state)
{
    (void)state;
    ct_tensor *W = tensor1(device, 2, 3, 4);
    ct_var x = ct_leaf(tape, X), y = total(ct_mul(x, ct_constant(tape, W)));
    ct_release(W);
    assert_ok(ct_copy(X, W), ct_message(device));
    refused(ct_backward(y), "op #2 mul: input 1 (#1 constant) was written to");
}

static void a_slice_of_it(void **state)
{
    (void)state;
    ct_tensor *row = ct_tensor_slice(X, 0, 1, 2, 1);
    ct_var y = total(ct_square(ct_leaf(tape, X)));
    assert_ok(ct_write(row, (double[]){ 7 }, sizeof(double)), ct_message(device));
    ct_release(row);
    refused(ct_backward(y), "(#0 leaf) was written to");
}

/* The value of a view is the leaf's own memory; ct_grad with respect to it does not pass the leaf. */
static void a_view_on_the_tape(void **state)
{
    (void)state;
    ct_var v = ct_reshape(ct_leaf(tape, X), ct_shape2(2, 1)), y = total(ct_square(v)), bar;
    write_to(X, 5, 5);
    refused(ct_grad(y, (ct_var){ 0 }, &v, &bar, 1, CT_GRAD_KEEP), "input 0 (#1 reshape) was written to");
}

static void an_output(void **state)
{
    (void)state;
    ct_var y = ct_keep(ct_exp(ct_leaf(tape, X))), z = total(y);
    write_to(ct_value(y), 5, 5);
    refused(ct_backward(z), "(#1 exp) was written to");
}

static void between_two_sweeps(void **state)
{
    (void)state;
    ct_var x = ct_leaf(tape, X), y = total(ct_exp(x)), bar;
    assert_ok(ct_grad(y, (ct_var){ 0 }, &x, &bar, 1, CT_GRAD_KEEP), ct_tape_message(tape));
    write_to(X, 0, 0);
    refused(ct_backward(y), "(#0 leaf) was written to");
}

static void between_two_orders(void **state)
{
    (void)state;
    ct_var x = ct_leaf(tape, X), y = total(ct_exp(x)), bar, second;
    assert_ok(ct_grad(y, (ct_var){ 0 }, &x, &bar, 1, CT_GRAD_RECORD), ct_tape_message(tape));
    write_to(X, 0, 0);
    refused(ct_grad(total(bar), (ct_var){ 0 }, &x, &second, 1, CT_GRAD_KEEP), "was written to");
}

/* Forward, backward, update, reset. What does not depend on the new values can still be swept. */
static void after_the_sweep(void **state)
{
    (void)state;
    ct_tensor *W = tensor1(device, 2, 3, 4);
    for (int i = 0; i < 3; i++) {
        ct_var x = ct_leaf(tape, X), w = ct_leaf(tape, W), y = total(ct_square(x)), z = total(ct_exp(w));
        assert_ok(ct_backward(y), ct_tape_message(tape));
        ct_no_grad_begin(tape);
        ct_var moved = ct_sub(x, ct_scale(ct_constant(tape, ct_cotangent(x)), 0.25));
        ct_no_grad_end(tape);
        assert_ok(ct_copy(ct_value(moved), X), ct_message(device));
        assert_ok(ct_backward(z), ct_tape_message(tape)); /* of w alone */
        ct_tape_reset(tape);
    }
    assert_elements(X, 0, 0, 0.125, 0.25);
    ct_release(W);
}

/* A value computed from the leaf has its own memory: a sweep that ends there does not read the leaf. */
static void beyond_what_is_asked(void **state)
{
    (void)state;
    ct_var h = ct_exp(ct_leaf(tape, X)), y = total(ct_square(h)), bar;
    write_to(X, 0, 0);
    assert_ok(ct_grad(y, (ct_var){ 0 }, &h, &bar, 1, CT_GRAD_KEEP), ct_tape_message(tape));
    assert_elements(ct_value(bar), 1e-15, 0, 2 * exp(1), 2 * exp(2));
}

/* A failed write, and a write of no bytes, change nothing and are not counted. */
static void no_write(void **state)
{
    (void)state;
    ct_tensor *none = ct_tensor_slice(X, 0, 1, 1, 1);
    ct_var x = ct_leaf(tape, X), y = total(ct_square(x));
    assert_status(ct_write(X, (double[]){ 1 }, sizeof(double)), CT_ESHAPE, "");
    assert_ok(ct_write(none, NULL, 0), ct_message(device));
    assert_ok(ct_copy(none, none), ct_message(device));
    ct_release(none);
    assert_ok(ct_backward(y), ct_tape_message(tape));
}

/* -- a step: the same whether it is replayed as a graph or called again ---------------------------------- */

static ct_var loss;

static ct_status evaluate(ct_tape *t, void *x)
{
    loss = total(ct_square(ct_leaf(t, x)));
    return CT_OK;
}

static void a_replay_reads_anew(void **state)
{
    (void)state;
    ct_step *step = ct_step_capture(device, evaluate, X);
    assert_non_null(step);
    ct_tape *t = ct_step_tape(step);
    for (int i = 1; i < 4; i++) {
        ct_var x, bar;
        write_to(X, i, -i);
        assert_ok(ct_step_replay(step), ct_message(device));
        x = (ct_var){ t, 0, loss.epoch };
        assert_ok(ct_grad(loss, (ct_var){ 0 }, &x, &bar, 1, CT_GRAD_KEEP), ct_tape_message(t));
        assert_elements(ct_value(bar), 0, 0, 2 * i, -2 * i);
    }
    write_to(X, 9, 9);
    assert_status(ct_backward(loss), CT_ESTALE, ct_tape_message(t));
    ct_step_free(step);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_leaf),
        TEST(a_constant),
        TEST(a_slice_of_it),
        TEST(a_view_on_the_tape),
        TEST(an_output),
        TEST(between_two_sweeps),
        TEST(between_two_orders),
        TEST(after_the_sweep),
        TEST(beyond_what_is_asked),
        TEST(no_write),
        TEST(a_replay_reads_anew),
    };
    return cmocka_run_group_tests_name("written", tests, NULL, NULL);
}
