/* The tape: handles, sticky errors, sweeps, what they free and what they keep, higher orders. */
#include "alloc.h"
#include "one_tape.h"

#include <cotangent/op.h>

static ct_var leaf(ct_tensor *t)
{
    ct_var v = ct_leaf(tape, t);
    ct_release(t);
    return v;
}

static ct_var constant(ct_tensor *t)
{
    ct_var v = ct_constant(tape, t);
    ct_release(t);
    return v;
}

/* -- gradients ------------------------------------------------------------------------------------------- */

static void a_gradient(void **state)
{
    (void)state;
    ct_var x = leaf(tensor1(device, 3, 1, 2, 3)), y = ct_sum(ct_mul(ct_square(x), x), CT_ALL, false);
    assert_close(ct_item(y), 36, 0, 0);
    assert_ok(ct_backward(y), ct_tape_message(tape));
    assert_elements(ct_cotangent(x), 1e-15, 0, 3, 12, 27);
    assert_close(ct_item(y), 36, 0, 0); /* the output stays */
}

/* Rows, stacked again, and a scalar leaf: y = s Σ_ij i x_ij² for the rows i = 1, 2. */
static void rows_and_scalars(void **state)
{
    (void)state;
    ct_var x = leaf(tensor2(device, 2, 2, 1, 2, 3, 4)), s = ct_leaf_scalar(tape, CT_F64, 3);
    ct_var again = ct_stack((ct_var[]){ ct_row(x, 0), ct_scale(ct_row(x, -1), 2) }, 2, 0);
    assert_elements(ct_value(again), 0, 0, 1, 2, 6, 8);
    assert_elements(ct_value(ct_stack((ct_var[]){ ct_row(x, -2), ct_row(x, 1) }, 2, -1)), 0, 0, 1, 3, 2, 4);
    assert_ok(ct_backward(ct_mul(s, ct_sum(ct_mul(x, again), CT_ALL, false))), ct_tape_message(tape));
    assert_elements(ct_cotangent(s), 1e-15, 0, 5 + 2 * 25);
    assert_elements(ct_cotangent(x), 1e-15, 0, 6, 12, 36, 48);
    ct_var many[100];
    for (int i = 0; i < 100; i++) many[i] = ct_scalar(tape, CT_F64, i);
    ct_var all = ct_stack(many, 100, 0);
    assert_int_equal(ct_var_shape(all).dim[0], 100);
    assert_close(ct_item(ct_row(all, 77)), 77, 0, 0);
}

/* The slices of one value add to one cotangent, whoever else uses the value, before or after. */
static void slices_add(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        ct_tape_reset(tape);
        ct_var x = leaf(tensor1(device, 4, 1, 2, 3, 4)), whole = order ? ct_none() : ct_square(x);
        ct_var y = ct_sum(ct_scale(ct_slice(x, 0, 0, 3, 1), 10), CT_ALL, false);
        y = ct_add(y, ct_sum(ct_slice(x, 0, -3, CT_END, 2), CT_ALL, false));
        if (order) whole = ct_square(x);
        y = ct_add(y, ct_sum(whole, CT_ALL, false));
        assert_ok(ct_backward(y), ct_tape_message(tape));
        assert_elements(ct_cotangent(x), 0, 0, 12, 15, 16, 9);
    }
    /* Both uses adopt one cotangent, which the slice must not change. */
    ct_tape_reset(tape);
    ct_var x = leaf(tensor1(device, 2, 1, 2)), u = ct_scale(x, 1),
           v = ct_keep(ct_add(u, leaf(tensor1(device, 2, 5, 6))));
    ct_var y = ct_add(ct_sum(ct_square(v), CT_ALL, false), ct_sum(ct_slice(u, 0, 0, 1, 1), CT_ALL, false));
    assert_ok(ct_backward(y), ct_tape_message(tape));
    assert_elements(ct_cotangent(v), 0, 0, 12, 16);
    assert_elements(ct_cotangent(x), 0, 0, 13, 16);
}

/* A loop over the rows of one value holds one cotangent of it, not one for each row. */
static void many_slices_take_little(void **state)
{
    (void)state;
    enum { ROWS = 2000, COLS = 64 };
    ct_tensor *t = ct_full(device, CT_F64, ct_shape2(ROWS, COLS), 0.5);
    ct_var x = leaf(t), y = ct_scalar(tape, CT_F64, 0);
    for (int i = 0; i < ROWS; i++) y = ct_add(y, ct_sum(ct_square(ct_row(x, i)), 0, false));
    ct_memory_mark(device);
    const uint64_t before = ct_memory(device).bytes_now;
    assert_ok(ct_backward(y), ct_tape_message(tape));
    assert_true(ct_memory(device).bytes_peak - before < 2 * ROWS * COLS * 8);
    double row[COLS];
    ct_tensor *last = ct_tensor_slice(ct_cotangent(x), 0, ROWS - 1, ROWS, 1);
    assert_ok(ct_read(last, row, sizeof row), ct_message(device));
    for (int i = 0; i < COLS; i++) assert_close(row[i], 1, 0, 0);
    ct_release(last);
}

static void fan_out_adds(void **state)
{
    (void)state;
    ct_var x = leaf(tensor0(device, 3)), y = ct_add(ct_add(x, x), ct_mul(x, x)); /* 2x + x² */
    assert_ok(ct_backward(y), ct_tape_message(tape));
    assert_elements(ct_cotangent(x), 0, 0, 8);
}

static void broadcasting_is_summed_back(void **state)
{
    (void)state;
    ct_var a = leaf(tensor2(device, 2, 1, 1, 2)), b = leaf(tensor1(device, 3, 3, 4, 5)),
           s = leaf(tensor0(device, 2));
    assert_ok(ct_backward(ct_sum(ct_mul(s, ct_mul(a, b)), CT_ALL, false)), ct_tape_message(tape));
    assert_elements(ct_cotangent(a), 0, 0, 24, 24);
    assert_elements(ct_cotangent(b), 0, 0, 6, 6, 6);
    assert_elements(ct_cotangent(s), 0, 0, 36);
}

static void constants_get_no_cotangent(void **state)
{
    (void)state;
    ct_var x = leaf(tensor0(device, 3)), c = constant(tensor0(device, 5));
    ct_var y = ct_add(ct_mul(x, c), ct_stop_gradient(ct_square(x)));
    assert_ok(ct_backward(y), ct_tape_message(tape));
    assert_elements(ct_cotangent(x), 0, 0, 5);
    assert_null(ct_cotangent(c));
    assert_false(ct_var_needs_grad(c));
}

static void no_grad_regions_nest(void **state)
{
    (void)state;
    ct_var x = leaf(tensor0(device, 3));
    ct_no_grad_begin(tape);
    ct_no_grad_begin(tape);
    ct_no_grad_end(tape);
    ct_var c = ct_square(x);
    ct_no_grad_end(tape);
    assert_false(ct_var_needs_grad(c));
    assert_ok(ct_backward(ct_mul(x, c)), ct_tape_message(tape));
    assert_elements(ct_cotangent(x), 0, 0, 9);
    ct_no_grad_end(tape);
    assert_status(ct_tape_status(tape), CT_EINVAL, ct_tape_message(tape));
}

static void sweeps_free_what_they_pass(void **state)
{
    (void)state;
    ct_tensor *big = assert_tensor(ct_full(device, CT_F64, ct_shape1(10000), 0.5), device);
    ct_var x = leaf(big), h = ct_exp(x), k = ct_keep(ct_sin(h)), y = ct_sum(ct_square(k), CT_ALL, false);
    uint64_t before = ct_memory(device).bytes_now;
    assert_ok(ct_backward(y), ct_tape_message(tape));
    assert_true(ct_memory(device).bytes_now <= before + 100000); /* + two cotangents, - two values */
    assert_non_null(ct_value(k));
    assert_non_null(ct_cotangent(k));
    assert_null(ct_cotangent(h));
    assert_null(ct_value(h));
    assert_status(ct_tape_status(tape), CT_ESTALE, ct_tape_message(tape));
    assert_non_null(strstr(ct_tape_message(tape), "freed"));
}

static void a_second_sweep_adds_or_says_why_not(void **state)
{
    (void)state;
    ct_var x = leaf(tensor0(device, 3)), a = ct_square(x), b = ct_scale(x, 4);
    assert_ok(ct_backward(a), ct_tape_message(tape));
    assert_ok(ct_backward(b), ct_tape_message(tape));
    assert_elements(ct_cotangent(x), 0, 0, 10);
    ct_var trunk = ct_exp(x), y = ct_square(trunk), z = ct_scale(trunk, 2);
    assert_ok(ct_backward(y), ct_tape_message(tape));
    assert_status(ct_backward(z), CT_ESTALE, ct_tape_message(tape));
    assert_non_null(strstr(ct_tape_message(tape), "CT_GRAD_KEEP"));
}

static void chosen_inputs(void **state)
{
    (void)state;
    ct_var x = leaf(tensor0(device, 3)), z = leaf(tensor0(device, 2)), h = ct_mul(x, z), y = ct_square(h),
           g[3];
    ct_var in[] = { h, x, z };
    assert_ok(ct_grad(y, (ct_var){ 0 }, in, g, 3, CT_GRAD_KEEP), ct_tape_message(tape));
    assert_close(ct_item(g[0]), 12, 0, 0);
    assert_close(ct_item(g[1]), 24, 0, 0);
    assert_close(ct_item(g[2]), 36, 0, 0);
    assert_null(ct_cotangent(x));
    ct_var other = leaf(tensor0(device, 7));
    assert_ok(ct_grad(y, (ct_var){ 0 }, &other, g, 1, CT_GRAD_KEEP), ct_tape_message(tape));
    assert_close(ct_item(g[0]), 0, 0, 0); /* independent: zeros */
    assert_ok(ct_grad(y, ct_scalar(tape, CT_F64, 10), &x, g, 1, CT_GRAD_FREE), ct_tape_message(tape));
    assert_close(ct_item(g[0]), 240, 0, 0);
    assert_status(ct_grad(y, ct_scalar(tape, CT_F32, 10), &x, g, 1, CT_GRAD_FREE), CT_ESHAPE, "");
}

/* y = x⁴: every derivative by recording the sweeps. */
static void higher_orders(void **state)
{
    (void)state;
    ct_var x = leaf(tensor0(device, 2)), y = ct_square(ct_square(x));
    const double expected[] = { 32, 48, 48, 24, 0 };
    for (int order = 0; order < 5; order++) {
        assert_ok(ct_grad(y, (ct_var){ 0 }, &x, &y, 1, CT_GRAD_RECORD), ct_tape_message(tape));
        assert_close(ct_item(y), expected[order], 1e-14, 0);
    }
}

static void hessian_vector_products(void **state)
{
    (void)state;
    /* y = Σ x³ z: H = [6xz, 3x²; 3x², 0] */
    ct_var x = leaf(tensor1(device, 2, 1, 2)), z = leaf(tensor1(device, 2, 3, 4));
    ct_var y = ct_sum(ct_mul(ct_pow(x, 3), z), CT_ALL, false);
    ct_var in[] = { x, z }, v[] = { constant(tensor1(device, 2, 1, 0)), constant(tensor1(device, 2, 0, 1)) },
           hv[2];
    assert_ok(ct_hvp(y, in, v, hv, 2), ct_tape_message(tape));
    assert_elements(ct_value(hv[0]), 1e-14, 0, 18, 12);
    assert_elements(ct_value(hv[1]), 1e-14, 0, 3, 0);
    assert_ok(ct_hvp(y, in, v, v, 2), ct_tape_message(tape)); /* in the place of v, and of x */
    assert_elements(ct_value(v[0]), 1e-14, 0, 18, 12);
    ct_var place[] = { x, z };
    assert_ok(ct_grad(y, (ct_var){ 0 }, place, place, 2, CT_GRAD_KEEP), ct_tape_message(tape));
    assert_elements(ct_value(place[1]), 1e-14, 0, 1, 8);
    ct_var bad = constant(tensor0(device, 1));
    assert_status(ct_hvp(y, &x, &bad, hv, 1), CT_ESHAPE, "");
}

/* -- errors ---------------------------------------------------------------------------------------------- */

static void the_first_error_sticks(void **state)
{
    (void)state;
    ct_var a = leaf(assert_tensor(ct_zeros(device, CT_F64, ct_shape2(30, 1)), device));
    (void)ct_square(a);
    ct_var bad = ct_matmul(a, a), worse = ct_add(bad, ct_reshape(bad, ct_shape1(7)));
    assert_true(isnan(ct_item(worse)));
    assert_null(ct_value(worse));
    assert_status(ct_backward(ct_sum(worse, CT_ALL, false)), CT_ESHAPE, "");
    const char *m = ct_tape_message(tape);
    assert_non_null(strstr(m, "op #2 matmul(30x1, 30x1): "));
    assert_non_null(strstr(m, "(1 vs 30)"));
    assert_status(ct_check(worse), CT_ESHAPE, m);
    assert_string_equal(ct_tape_reason(tape), strstr(m, "): ") + 3); /* without the place */
    ct_tape_reset(tape);
    assert_string_equal(ct_tape_reason(tape), "");
    ct_tape_fail(tape, CT_EINVAL, "backward of op #1 f: op #2 g(3): op #");
    assert_string_equal(ct_tape_reason(tape), "op #");
    ct_tape_reset(tape);
    assert_ok(ct_tape_status(tape), "");
    assert_string_equal(ct_tape_message(tape), "");
}

static void stale_and_foreign_handles(void **state)
{
    (void)state;
    ct_var old = leaf(tensor0(device, 1));
    ct_tape_reset(tape);
    assert_true(isnan(ct_item(ct_square(old))));
    assert_status(ct_tape_status(tape), CT_ESTALE, "");
    ct_tape_reset(tape);
    ct_tape *other = ct_tape_new(device);
    ct_tensor *one = tensor0(device, 1);
    ct_var here = ct_leaf(tape, one), there = ct_leaf(other, one);
    ct_release(one);
    (void)ct_add(here, there);
    assert_status(ct_tape_status(tape), CT_EINVAL, "");
    assert_non_null(strstr(ct_tape_message(tape), "another tape"));
    ct_tape_free(other);
    ct_tape_reset(tape);
    ct_var none = { 0 };
    assert_true(isnan(ct_item(none)));
    assert_null(ct_value(none));
    assert_int_equal(ct_backward(none), CT_EINVAL);
    assert_int_equal(ct_check(ct_exp(none)), CT_EINVAL);
    assert_int_equal(ct_check(ct_add(ct_scalar(tape, CT_F64, 1), none)), CT_EINVAL);
    assert_null(ct_tape_new(NULL));
    ct_tape_free(NULL);
    ct_tape_reset(NULL);
}

/* y = x² by an op that keeps 2x for its rule */
static ct_shape kept_shape(ct_call *c)
{
    if (ct_call_recorded(c)) ct_save_for_vjp(c, 1, CT_F64, ct_arg_shape(c, 0));
    return ct_arg_shape(c, 0);
}

static void kept_forward(ct_call *c)
{
    const double x = *(const double *)ct_arg(c, 0).data;
    ct_prim_fill(c, ct_result(c), x * x);
    if (ct_call_recorded(c)) ct_prim_fill(c, ct_result_at(c, 1), 2 * x);
}

static void kept_vjp(ct_rule *g)
{
    assert_int_equal(ct_rule_outs(g), 2);
    assert_false(ct_var_needs_grad(ct_out_at(g, 1)));
    ct_in_bar(g, 0, ct_mul(ct_out_bar(g), ct_out_at(g, 1)));
}

static void outputs_for_the_rule(void **state)
{
    (void)state;
    const ct_op op = {
        .name = "kept", .n_in = 1, .shape = kept_shape, .forward = kept_forward, .vjp = kept_vjp
    };
    ct_var x = leaf(tensor0(device, 3)), y = ct_apply(&op, &x, 1, NULL, 0);
    assert_true(ct_var_needs_grad(y));
    assert_ok(ct_backward(ct_scale(y, 2)), ct_tape_message(tape));
    assert_elements(ct_cotangent(x), 0, 0, 12);
    ct_no_grad_begin(tape);
    ct_var z = ct_apply(&op, &x, 1, NULL, 0);
    ct_no_grad_end(tape);
    assert_close(ct_item(z), 9, 0, 0);
    ct_output(z, 1);
    assert_non_null(strstr(ct_tape_message(tape), "1 outputs"));
}

/* y = 0 x_0 + 0 x_1; its rule notes which cotangents are asked for */
static unsigned wanted;

static ct_shape asking_shape(ct_call *c)
{
    wanted = 0;
    for (int i = -1; i < 3; i++) wanted |= (unsigned)ct_call_wants(c, i) << (i + 1);
    return ct_shape0();
}

static void asking_forward(ct_call *c) { ct_prim_fill(c, ct_result(c), 0); }
static void asking_vjp(ct_rule *g) { ct_in_bar(g, 0, ct_scale(ct_out_bar(g), 0)); }

static void a_call_knows_which_cotangents_are_wanted(void **state)
{
    (void)state;
    ct_op op = {
        .name = "asking", .n_in = 2, .shape = asking_shape, .forward = asking_forward, .vjp = asking_vjp
    };
    ct_var x = leaf(tensor0(device, 3)), c = ct_scalar(tape, CT_F64, 2);
    const ct_var in[][2] = { { c, c }, { x, c }, { c, x }, { x, ct_exp(x) } };
    for (unsigned k = 0; k < 4; k++) {
        assert_ok(ct_check(ct_apply(&op, in[k], 2, NULL, 0)), ct_tape_message(tape));
        assert_int_equal(wanted, k << 1);
    }
    ct_no_grad_begin(tape);
    ct_apply(&op, in[3], 2, NULL, 0);
    ct_no_grad_end(tape);
    assert_int_equal(wanted, 0);
    op.vjp = NULL;
    ct_apply(&op, in[3], 2, NULL, 0);
    assert_int_equal(wanted, 0);
}

static void misuse_is_named(void **state)
{
    (void)state;
    ct_var x = leaf(tensor1(device, 3, 1, 2, 3));
    assert_status(ct_backward(x), CT_ESHAPE, ct_tape_message(tape));
    ct_tape_reset(tape);
    assert_status(ct_backward(ct_scalar(tape, CT_F64, 1)), CT_EINVAL, "");
    assert_non_null(strstr(ct_tape_message(tape), "ct_leaf"));
    ct_tape_reset(tape);
    assert_status(ct_check(ct_leaf(tape, NULL)), CT_EINVAL, "");
    ct_tape_reset(tape);
    ct_tensor *i = ct_zeros(device, CT_I64, ct_shape1(2));
    assert_status(ct_check(ct_leaf(tape, i)), CT_EDTYPE, "");
    ct_release(i);
    ct_tape_reset(tape);
    ct_var f32 = ct_scalar(tape, CT_F32, 1), f64 = ct_scalar(tape, CT_F64, 1);
    assert_status(ct_check(ct_add(f32, f64)), CT_EDTYPE, "");
    assert_non_null(strstr(ct_tape_message(tape), "ct_cast"));
}

/* -- an own op's outputs ---- */

static ct_shape claimed; /* what the rule below says */
static int part;

static ct_shape claim(ct_call *c)
{
    ct_more_out(c, 1, CT_F64, ct_shape2(2, 3));
    return claimed;
}

static void view(ct_call *c) { ct_set_result(c, part, ct_view_transpose(ct_arg(c, 0))); }

static void a_view_needs_a_shape_by_the_rule(void **state)
{
    (void)state;
    const ct_op op = { .name = "view", .n_in = 1, .shape = claim, .forward = view };
    ct_tensor *t = tensor2(device, 3, 2, 1, 2, 3, 4, 5, 6), *single = ct_tensor_cast(t, CT_F32);
    ct_shape invalid = ct_shape0(), negative = ct_shape2(2, -3);
    invalid.ndim = -1;
    const struct {
        ct_shape shape;
        int part;
        const char *text; /* NULL: fine */
    } cases[] = { { ct_shape2(2, 3), 0, NULL },         { invalid, 0, "output 0 no shape" },
                  { negative, 0, "output 0 no shape" }, { ct_shape2(2, 3), 1, NULL },
                  { ct_shape2(2, 3), 2, "output 2" },   { ct_shape2(2, 3), -1, "output -1" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ct_tape_reset(tape);
        claimed = cases[i].shape, part = cases[i].part;
        ct_var x = ct_constant(tape, t), y = ct_apply(&op, &x, 1, NULL, 0);
        assert_status(ct_tape_status(tape), cases[i].text ? ct_tape_status(tape) : CT_OK,
                      ct_tape_message(tape));
        assert_true(!ct_value(y) == (cases[i].text != NULL));
        if (cases[i].text && !strstr(ct_tape_message(tape), cases[i].text))
            fail_msg("%s", ct_tape_message(tape));
    }
    ct_tape_reset(tape);
    claimed = ct_shape2(2, 3), part = 1; /* f32 where f64 was declared */
    ct_var x = ct_constant(tape, single);
    ct_apply(&op, &x, 1, NULL, 0);
    assert_status(ct_tape_status(tape), CT_EDTYPE, ct_tape_message(tape));
    ct_tape_reset(tape);
    ct_release(t);
    ct_release(single);
}

static void a_failed_factorisation_leaves_the_others_right(void **state)
{
    (void)state;
    ct_var A = leaf(tensor3(device, 2, 2, 2, 4, 0, 2, 5, 1, 0, 2, 1)), L = ct_cholesky(A);
    double l[8], bar[8];
    (void)ct_read(ct_value(L), l, sizeof l); /* and says that a member failed */
    assert_close(l[0], 2, 1e-15, 0);
    assert_close(l[3], 2, 1e-15, 0);
    assert_true(isnan(l[4]) && isnan(l[7]));
    ct_status swept =
        ct_backward(ct_sum(L, CT_ALL, false)); /* a device that computes late may not know yet */
    assert_status(swept ? swept : ct_tape_status(tape), CT_ENUMERIC, "");
    assert_non_null(strstr(ct_tape_message(tape), "op #1 cholesky(2x2x2)"));
    assert_non_null(strstr(ct_tape_message(tape), "minor 2 of batch member 1"));
    (void)ct_read(ct_cotangent(A), bar, sizeof bar);
    assert_true(isfinite(bar[0]) && isnan(bar[4]));
}

/* -- looking, and steady state --------------------------------------------------------------------------- */

static void prints_itself(void **state)
{
    (void)state;
    ct_var x = leaf(tensor1(device, 2, 1, 2));
    (void)ct_sum(ct_square(x), CT_ALL, false);
    char text[2000], tiny[5];
    size_t n = ct_tape_print(tape, text, sizeof text);
    assert_int_equal(n, strlen(text));
    assert_non_null(strstr(text, "square"));
    assert_int_equal(ct_tape_print(tape, tiny, sizeof tiny), n);
    assert_int_equal(strlen(tiny), 4);
    assert_int_equal(ct_tape_print(tape, NULL, 0), n);
    ct_tape_dot(tape, text, sizeof text);
    assert_non_null(strstr(text, "n0 -> n1"));
    assert_int_equal(ct_tape_length(tape), 3);
}

static double step(ct_tensor *a)
{
    ct_tape_reset(tape);
    ct_var x = ct_leaf(tape, a), y = x;
    for (int i = 0; i < 50; i++) y = ct_tanh(ct_add(ct_matmul(y, x), x));
    y = ct_mean(y, CT_ALL, false);
    assert_ok(ct_backward(y), ct_tape_message(tape));
    return ct_item(y);
}

static void steady_state_allocates_nothing(void **state)
{
    (void)state;
    ct_tensor *a = ct_rand_normal(device, CT_F64, ct_shape2(20, 20), 1, 1);
    double first = step(a);
    step(a);
    ct_memory_info before = ct_memory(device);
    alloc_watch();
    assert_close(step(a), first, 0, 0); /* and equal bits */
    assert_int_equal(alloc_calls(), 0);
    alloc_unwatch();
    ct_memory_info after = ct_memory(device);
    assert_int_equal(after.requests - before.requests, after.from_pool - before.from_pool);
    ct_release(a);
}

static void a_long_tape(void **state)
{
    (void)state;
    ct_var x = leaf(tensor0(device, 1)), y = x;
    for (int i = 0; i < 100000; i++) y = ct_shift(y, 1);
    assert_close(ct_item(y), 100001, 0, 0);
    assert_ok(ct_backward(y), ct_tape_message(tape));
    assert_elements(ct_cotangent(x), 0, 0, 1);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    bool refused = true;
    for (int64_t k = 1; refused; k++) {
        alloc_fail_at(k);
        ct_device *d = ct_device_open(check_device());
        ct_tape *t = ct_tape_new(d);
        ct_tensor *a = ct_full(d, CT_F64, ct_shape2(2, 2), 0.5);
        ct_var x = ct_leaf(t, a), y = ct_sum(ct_tanh(ct_matmul(x, ct_t(x))), CT_ALL, false), hv;
        ct_status s = ct_hvp(y, &x, &x, &hv, 1);
        if (!s) s = ct_backward(y);
        refused = alloc_refused();
        if (s) assert_true(refused);
        ct_release(a);
        ct_tape_free(t);
        ct_device_close(d);
        assert_int_equal(alloc_live(), 0);
        alloc_unwatch();
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_tape, close_tape)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_gradient),
        TEST(rows_and_scalars),
        TEST(fan_out_adds),
        TEST(slices_add),
        TEST(many_slices_take_little),
        TEST(broadcasting_is_summed_back),
        TEST(constants_get_no_cotangent),
        TEST(no_grad_regions_nest),
        TEST(sweeps_free_what_they_pass),
        TEST(a_second_sweep_adds_or_says_why_not),
        TEST(chosen_inputs),
        TEST(higher_orders),
        TEST(hessian_vector_products),
        TEST(the_first_error_sticks),
        TEST(stale_and_foreign_handles),
        TEST(misuse_is_named),
        TEST(a_view_needs_a_shape_by_the_rule),
        TEST(a_failed_factorisation_leaves_the_others_right),
        TEST(prints_itself),
        TEST(steady_state_allocates_nothing),
        TEST(a_long_tape),
        TEST(every_allocation_may_fail),
        check_test_if(check_at_once(), TEST(outputs_for_the_rule)),
        TEST(a_call_knows_which_cotangents_are_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
