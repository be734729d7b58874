/* Values of one f64 element, which live in the tape's nodes on a CPU: as ops on tensors, to the bit, and as
 * tensors where somebody asks for one. */
#include "alloc.h"
#include "one_tape.h"

#include <cotangent/op.h>

#include <math.h>

static ct_var leaf(ct_tensor *t)
{
    ct_var v = ct_leaf(tape, t);
    ct_release(t);
    return v;
}

/* The shape (1, ..., 1) of ndim dimensions, or with `two` (2, 1, ..., 1) of one more. */
static ct_shape ones(int ndim, bool two)
{
    ct_shape s = { .ndim = ndim + two };
    for (int i = 0; i < s.ndim; i++) s.dim[i] = two && !i ? 2 : 1;
    return s;
}

/* -- the same bits as tensors ---------------------------------------------------------------------------- */

typedef struct outcome {
    double y, x_bar[2];
} outcome;

/* y = f(x) and its gradient; with `two` for two copies of the numbers x in one tensor. */
static outcome apply(const ct_op *op, const double *x, const double *p, int ndim, bool two)
{
    ct_var in[2];
    outcome out = { 0 };
    double pair[2];
    for (int i = 0; i < op->n_in; i++)
        in[i] = leaf(ct_from(device, CT_F64, ones(ndim, two), (double[]){ x[i], x[i] }));
    const int64_t before = ct_tape_length(tape);
    ct_var y = ct_apply(op, in, op->n_in, p, p ? 2 * sizeof *p : 0);
    assert_int_equal(ct_tape_length(tape), before + 1);
    assert_true(ct_shape_equal(ct_var_shape(y), ones(ndim, two)));
    assert_int_equal(ct_var_dtype(y), CT_F64);
    if (two) ct_keep(y);
    if (op->vjp) assert_ok(ct_backward(two ? ct_sum(y, CT_ALL, false) : y), ct_tape_message(tape));
    for (int i = -1; i < (op->vjp ? op->n_in : 0); i++) {
        const ct_tensor *t = i < 0 ? ct_value(y) : ct_cotangent(in[i]);
        assert_ok(ct_read(t, pair, two ? sizeof pair : sizeof *pair), ct_message(device));
        *(i < 0 ? &out.y : &out.x_bar[i]) = pair[0];
    }
    return out;
}

static void assert_same(const ct_op *op, const double *x, int ndim)
{
    static const double p[] = { 2.5, 0 };
    const double *given = op->number.inputs == 1 ? p : NULL;
    outcome number, tensor;
    memset(&number, 0, sizeof number);
    memset(&tensor, 0, sizeof tensor);
    for (int two = 0; two < 2; two++) {
        ct_tape_reset(tape);
        *(two ? &tensor : &number) = apply(op, x, given, ndim, two);
    }
    for (int i = -1; i < op->n_in; i++) {
        const double a = i < 0 ? number.y : number.x_bar[i], b = i < 0 ? tensor.y : tensor.x_bar[i];
        const bool product = op->number.ndim == 2; /* it is added to a 0, so that it has no sign */
        if (memcmp(&a, &b, sizeof a) && !(isnan(a) && isnan(b)) && !(product && a == b))
            fail_msg("%s(%g, %g): %s %d is %.17g, in a tensor %.17g", op->name, x[0], x[1],
                     i < 0 ? "value" : "slope", i, a, b);
    }
}

static void every_map(void **state)
{
    (void)state;
    static const double x[] = { -40, -2.5, -1, -0.3, 0, 1e-9, 0.7, 1, 3.25, 40, 1e5, INFINITY, NAN };
    const int count = sizeof x / sizeof *x;
    int n, maps = 0;
    const ct_op *const *list = ct_op_list(&n);
    for (int k = 0; k < n; k++) {
        const ct_op *op = list[k];
        if (!op->number.inputs) continue;
        maps++;
        for (int i = 0; i < count; i++)
            for (int j = 0; j < (op->n_in == 2 ? count : 1); j++)
                for (int ndim = op->number.ndim; ndim <= 3; ndim += 1 + op->number.ndim)
                    assert_same(op, (double[]){ x[i], x[j] }, ndim);
    }
    assert_true(maps > 30);
}

/* Ops whose parameters are checked check them. */
static void limits_hold(void **state)
{
    (void)state;
    ct_var x = leaf(tensor0(device, 1));
    assert_int_equal(ct_var_shape(ct_clamp(x, 2, 1)).ndim, -1);
    assert_status(ct_tape_status(tape), CT_EINVAL, ct_tape_message(tape));
    ct_tape_reset(tape);
    ct_matmul(leaf(tensor0(device, 1)), leaf(tensor0(device, 1)));
    assert_status(ct_tape_status(tape), CT_ESHAPE, ct_tape_message(tape));
}

/* -- between numbers and tensors ------------------------------------------------------------------------- */

/* y = log(Σ_i s² v_i) + s t with s a number, v of three elements, and t (1, 1). */
static void numbers_and_tensors(void **state)
{
    (void)state;
    ct_var s = leaf(tensor0(device, 3)), v = leaf(tensor1(device, 3, 1, 2, 5)),
           t = leaf(tensor2(device, 1, 1, 0.5));
    ct_var u = ct_square(s), y = ct_add(ct_log(ct_sum(ct_mul(u, v), CT_ALL, false)), ct_mul(s, t));
    assert_true(ct_shape_equal(ct_var_shape(y), ct_shape2(1, 1)));
    assert_close(ct_item(y), log(72) + 1.5, 1e-15, 0);
    assert_ok(ct_backward(y), ct_tape_message(tape));
    assert_elements(ct_cotangent(s), 1e-15, 0, 2.0 / 3 + 0.5);
    assert_elements(ct_cotangent(v), 1e-15, 0, 1.0 / 8, 1.0 / 8, 1.0 / 8);
    assert_elements(ct_cotangent(t), 1e-15, 0, 3);
    assert_true(ct_shape_equal(ct_tensor_shape(ct_cotangent(t)), ct_shape2(1, 1)));
    assert_int_equal(ct_tensor_ndim(ct_cotangent(s)), 0);
}

/* A number's cotangent arrives from a number and from a tensor, in both orders. */
static void both_arrive(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        ct_tape_reset(tape);
        ct_var x = leaf(tensor0(device, 2)), v = leaf(tensor1(device, 2, 1, 3)), u = ct_exp(x), a, b;
        if (order)
            a = ct_square(u), b = ct_sum(ct_mul(u, v), CT_ALL, false);
        else
            b = ct_sum(ct_mul(u, v), CT_ALL, false), a = ct_square(u);
        assert_ok(ct_backward(ct_add(a, b)), ct_tape_message(tape));
        assert_elements(ct_cotangent(x), 1e-15, 0, 2 * exp(4) + 4 * exp(2));
    }
}

/* d/dx, d²/dx² and d³/dx³ of x⁴, and the gradient for a number in between. */
static void higher_orders(void **state)
{
    (void)state;
    ct_var x = leaf(tensor0(device, 2)), u = ct_square(x), y = ct_square(u), g[3], at = y;
    for (int order = 0; order < 3; order++) {
        assert_ok(ct_grad(at, ct_none(), &x, &g[order], 1, CT_GRAD_RECORD), ct_tape_message(tape));
        at = g[order];
    }
    assert_close(ct_item(g[0]), 32, 1e-15, 0);
    assert_close(ct_item(g[1]), 48, 1e-15, 0);
    assert_close(ct_item(g[2]), 48, 1e-15, 0);
    ct_var u_bar, hv, dot, one = ct_scalar(tape, CT_F64, 1);
    assert_ok(ct_grad(y, ct_none(), &u, &u_bar, 1, CT_GRAD_KEEP), ct_tape_message(tape));
    assert_close(ct_item(u_bar), 8, 1e-15, 0);
    assert_ok(ct_hvp(y, &x, &one, &hv, 1), ct_tape_message(tape));
    assert_close(ct_item(hv), 48, 1e-15, 0);
    assert_ok(ct_jvp(&y, &dot, 1, &x, &one, 1, 0), ct_tape_message(tape));
    assert_close(ct_item(dot), 32, 1e-15, 0);
}

/* A rule may ask for a tangent that has not arrived, and gets zeros. */
static void asks_for_both(ct_rule *g)
{
    ct_give_out_dot(g, 0, ct_mul(ct_in_dot(g, 0), ct_in(g, 1)));
    ct_give_out_dot(g, 0, ct_mul(ct_in(g, 0), ct_in_dot(g, 1)));
}

static void a_tangent_that_has_not_arrived(void **state)
{
    (void)state;
    ct_op op = *ct_op_find("mul");
    op.jvp = asks_for_both;
    ct_var x = leaf(tensor0(device, 3)), other = leaf(tensor0(device, 2)), one = ct_scalar(tape, CT_F64, 1),
           dot;
    ct_var y = ct_apply(&op, (ct_var[]){ ct_square(x), ct_square(other) }, 2, NULL, 0);
    assert_ok(ct_jvp(&y, &dot, 1, &x, &one, 1, CT_GRAD_FREE), ct_tape_message(tape));
    assert_close(ct_item(dot), 24, 0, 0);
    ct_tape_reset(tape); /* before its op goes */
}

/* -- as tensors ------------------------------------------------------------------------------------------ */

static void a_tensor_for_whoever_asks(void **state)
{
    (void)state;
    ct_var x = leaf(tensor2(device, 1, 1, 3)), y = ct_square(x);
    ct_tensor *t = ct_value(y);
    assert_tensor(t, device);
    assert_elements(t, 0, 0, 9);
    assert_ptr_equal(ct_value(y), t);
    ct_var z = ct_mul(y, y);
    assert_ok(ct_backward(z), ct_tape_message(tape));
    assert_elements(ct_cotangent(x), 0, 0, 4 * 27);
}

/* As with other values: an op's rule does not run after a write to what it has read or returned. */
static void a_write_is_noticed(void **state)
{
    (void)state;
    const double five = 5;
    ct_var x = leaf(tensor0(device, 3)), y = ct_square(x), z = ct_square(y);
    assert_ok(ct_write(ct_value(y), &five, sizeof five), ct_message(device));
    assert_close(ct_item(y), 5, 0, 0);
    assert_close(ct_item(ct_square(y)), 25, 0, 0);
    assert_status(ct_backward(z), CT_ESTALE, ct_tape_message(tape));
}

static void a_sweep_frees_what_is_not_kept(void **state)
{
    (void)state;
    for (int kept = 0; kept < 3; kept++) {
        ct_tape_reset(tape);
        ct_var x = leaf(tensor0(device, 3)), y = ct_square(x), z = ct_exp(ct_sin(y)), bar;
        if (kept == 1) ct_keep(y);
        if (kept == 2)
            assert_ok(ct_grad(z, ct_none(), &x, &bar, 1, CT_GRAD_KEEP), ct_tape_message(tape));
        else
            assert_ok(ct_backward(z), ct_tape_message(tape));
        assert_close(ct_item(z), exp(sin(9)), 1e-15, 0);
        if (kept) {
            assert_close(ct_item(y), 9, 0, 0);
        } else {
            assert_true(isnan(ct_item(y)));
            assert_status(ct_tape_status(tape), CT_ESTALE, ct_tape_message(tape));
        }
    }
    ct_tape_reset(tape);
    ct_var x = leaf(tensor0(device, 3)), y = ct_exp(x);
    assert_ok(ct_backward(ct_sin(y)), ct_tape_message(tape));
    assert_status(ct_backward(y), CT_ESTALE, ct_tape_message(tape));
}

static void the_listing_shows_them(void **state)
{
    (void)state;
    char text[1024];
    ct_var x = leaf(tensor2(device, 1, 1, 3));
    assert_ok(ct_backward(ct_sin(ct_square(x))), ct_tape_message(tape));
    ct_tape_print(tape, text, sizeof text);
    assert_non_null(strstr(text, "#1     square           freed"));
    assert_non_null(strstr(text, "#2     sin              1x1            f64"));
}

/* -- memory ---------------------------------------------------------------------------------------------- */

static ct_var chain(ct_var x)
{
    ct_var y = x;
    for (int i = 0; i < 300; i++) y = ct_tanh(ct_add(ct_mul(y, x), x));
    return y;
}

/* A thousand ops ask for no memory of tensors; a sweep asks for the seed, y as a tensor and the gradient. */
static void no_tensor_is_made(void **state)
{
    (void)state;
    ct_var y = chain(leaf(tensor0(device, 0.9)));
    const uint64_t before = ct_memory(device).requests;
    y = chain(y);
    assert_int_equal(ct_memory(device).requests, before);
    assert_ok(ct_backward(y), ct_tape_message(tape));
    assert_true(ct_memory(device).requests <= before + 3);
}

static void without_memory(void **state)
{
    (void)state;
    bool refused = true;
    for (int64_t k = 1; refused; k++) {
        ct_tape_free(tape);
        tape = ct_tape_new(device);
        ct_tensor *t = tensor1(device, 3, 1, 2, 3), *s = tensor0(device, 0.9);
        ct_memory_trim(device);
        alloc_fail_at(k);
        ct_var x = ct_leaf(tape, s), v = ct_leaf(tape, t), u = chain(x);
        ct_status status = ct_backward(ct_sum(ct_mul(ct_square(u), v), CT_ALL, false));
        refused = alloc_refused();
        alloc_unwatch();
        if (status) assert_status(status, CT_ENOMEM, ct_tape_message(tape));
        if (!refused) assert_int_equal(status, CT_OK);
        ct_release(t);
        ct_release(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_map, open_tape, close_tape),
        cmocka_unit_test_setup_teardown(limits_hold, open_tape, close_tape),
        cmocka_unit_test_setup_teardown(numbers_and_tensors, open_tape, close_tape),
        cmocka_unit_test_setup_teardown(both_arrive, open_tape, close_tape),
        cmocka_unit_test_setup_teardown(higher_orders, open_tape, close_tape),
        cmocka_unit_test_setup_teardown(a_tangent_that_has_not_arrived, open_tape, close_tape),
        cmocka_unit_test_setup_teardown(a_tensor_for_whoever_asks, open_tape, close_tape),
        cmocka_unit_test_setup_teardown(a_write_is_noticed, open_tape, close_tape),
        cmocka_unit_test_setup_teardown(a_sweep_frees_what_is_not_kept, open_tape, close_tape),
        cmocka_unit_test_setup_teardown(the_listing_shows_them, open_tape, close_tape),
        check_test_if(check_at_once(),
                      cmocka_unit_test_setup_teardown(no_tensor_is_made, open_tape, close_tape)),
        cmocka_unit_test_setup_teardown(without_memory, open_tape, close_tape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
