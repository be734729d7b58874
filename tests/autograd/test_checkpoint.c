/* Checkpoints: the same values and derivatives as without, in less memory. */
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

/* A step of a rotation with friction: (p, q) -> (p - h sin q, q + h p exp(-c)). */
static void step(ct_tape *t, const ct_var *in, ct_var *out, void *context)
{
    (void)t;
    const double h = *(const double *)context;
    out[0] = ct_sub(in[0], ct_scale(ct_sin(in[1]), h));
    out[1] = ct_add(in[1], ct_scale(ct_mul(out[0], ct_exp(ct_neg(in[2]))), h));
}

enum { STEPS = 8 };

static void many_steps(ct_tape *t, const ct_var *in, ct_var *out, void *context)
{
    ct_var x[3] = { in[0], in[1], in[2] };
    for (int i = 0; i < STEPS; i++) step(t, x, out, context), x[0] = out[0], x[1] = out[1];
}

/* The same, each step in a block of its own. */
static void many_blocks(ct_tape *t, const ct_var *in, ct_var *out, void *context)
{
    (void)t;
    ct_var x[3] = { in[0], in[1], in[2] };
    for (int i = 0; i < STEPS; i++) ct_checkpoint(x, 3, x, 2, step, context);
    out[0] = x[0], out[1] = x[1];
}

static double h = 0.1;

/* y, its gradient, a Hessian-vector product by both orders of sweeps, in three ways of recording. */
static void same_derivatives(void **state)
{
    (void)state;
    const ct_var none = { NULL, 0, 0 };
    double first[10];
    for (int way = 0; way < 4; way++) {
        ct_var x[] = { leaf(tensor0(device, 0.4)), leaf(tensor0(device, 1.1)), leaf(tensor0(device, 0.2)) };
        ct_var v[] = { constant(tensor0(device, 1)), constant(tensor0(device, -2)),
                       constant(tensor0(device, 3)) };
        ct_var out[2], g[3], hv[3], dot[3];
        if (way == 0) many_steps(tape, x, out, &h);
        if (way == 1) ct_checkpoint(x, 3, out, 2, many_steps, &h);
        if (way == 2) ct_checkpoint(x, 3, out, 2, many_blocks, &h);
        if (way == 3) many_blocks(tape, x, out, &h);
        ct_var y = ct_add(ct_square(out[0]), ct_cos(out[1]));
        ct_grad(y, none, x, g, 3, CT_GRAD_RECORD);
        ct_hvp(y, x, v, hv, 3);
        ct_jvp(g, dot, 3, x, v, 3, CT_GRAD_FREE);
        assert_ok(ct_tape_status(tape), ct_tape_message(tape));
        double values[10] = { ct_item(y) };
        for (int i = 0; i < 3; i++)
            values[1 + i] = ct_item(g[i]), values[4 + i] = ct_item(hv[i]), values[7 + i] = ct_item(dot[i]);
        for (int i = 0; i < 10; i++) {
            if (way == 0)
                first[i] = values[i];
            else if (i < 4)
                assert_true(values[i] == first[i]); /* to the bit */
            else
                assert_close(values[i], first[i], 1e-13, 1e-14);
        }
        ct_tape_reset(tape);
    }
}

static void large_step(ct_tape *t, const ct_var *in, ct_var *out, void *context)
{
    (void)t, (void)context;
    out[0] = in[0];
    for (int i = 0; i < 32; i++) out[0] = ct_sin(out[0]);
}

/* 32 blocks of 32 steps hold 64 steps and a few in place of 1024. */
static void less_memory(void **state)
{
    (void)state;
    enum { N = 1000 };
    const uint64_t before = ct_memory(device).bytes_now;
    ct_var x = leaf(ct_full(device, CT_F64, ct_shape1(N), 0.5)), y = x;
    for (int i = 0; i < 32; i++) ct_checkpoint(&y, 1, &y, 1, large_step, NULL);
    assert_ok(ct_backward(ct_sum(y, CT_ALL, false)), ct_tape_message(tape));
    assert_non_null(ct_cotangent(x));
    assert_true(ct_memory(device).bytes_peak - before < 80 * N * sizeof(double));
}

static void of_two_ranks(ct_tape *t, const ct_var *in, ct_var *out, void *context)
{
    (void)t, (void)context;
    out[0] = ct_sin(ct_mul(in[0], in[1]));
    out[1] = ct_sum(ct_mul(in[1], out[0]), 0, false);
}

/* Three tangents of a number and a matrix, at a time and one by one; of the outputs and of a gradient. */
static void several_tangents(void **state)
{
    (void)state;
    enum { T = 3 };
    ct_tensor *X = ct_rand_normal(device, CT_F64, ct_shape2(2, 4), 1, 0),
              *X_dot = ct_rand_normal(device, CT_F64, ct_shape3(T, 2, 4), 1, 1);
    ct_var x[] = { leaf(tensor0(device, 0.4)), leaf(X) }, out[2], y[4], dot[4], alone[4];
    ct_var v[] = { constant(tensor1(device, T, 1, 2, -3)), constant(X_dot) };
    ct_checkpoint(x, 2, out, 2, of_two_ranks, NULL);
    y[0] = out[0], y[1] = out[1];
    ct_grad(ct_sum(ct_square(out[1]), CT_ALL, false), ct_none(), x, y + 2, 2, CT_GRAD_RECORD);
    assert_ok(ct_jvp(y, dot, 4, x, v, 2, CT_GRAD_FREE), ct_tape_message(tape));
    for (int t = 0; t < T; t++) {
        ct_var one[] = { ct_row(v[0], t), ct_row(v[1], t) };
        assert_ok(ct_jvp(y, alone, 4, x, one, 2, CT_GRAD_FREE), ct_tape_message(tape));
        for (int k = 0; k < 4; k++) {
            const ct_var difference = ct_sub(ct_row(dot[k], t), alone[k]);
            assert_true(ct_shape_equal(ct_var_shape(alone[k]), ct_var_shape(y[k])));
            assert_close(ct_item(ct_sum(ct_square(difference), CT_ALL, false)), 0, 0, 1e-26);
        }
    }
    ct_tape_reset(tape);
}

/* -- ct_scan --------------------------------------------------------------------------------------------- */

static void numbered_step(ct_tape *t, int64_t number, const ct_var *in, ct_var *out, void *context)
{
    const double length = *(const double *)context / (1 + (double)number);
    step(t, in, out, (void *)(uintptr_t)&length);
}

/* A scan is its steps, one after the other: to the bit, and in every derivative. */
static void scans(void **state)
{
    (void)state;
    for (int64_t steps = 0; steps < 12; steps++) {
        double values[2][10];
        for (int scan = 0; scan < 2; scan++) {
            ct_var x[] = { leaf(tensor0(device, 0.4)), leaf(tensor0(device, 1.1)),
                           leaf(tensor0(device, 0.2)) };
            ct_var v[] = { constant(tensor0(device, 1)), constant(tensor0(device, -2)),
                           constant(tensor0(device, 3)) };
            ct_var at[] = { x[0], x[1], x[2] }, next[2], g[3], hv[3], dot;
            for (int64_t t = 0; t < steps && !scan; t++) {
                numbered_step(tape, t, at, next, &h);
                at[0] = next[0], at[1] = next[1];
            }
            if (scan) assert_ok(ct_scan(at, 3, at, 2, steps, numbered_step, &h), ct_tape_message(tape));
            ct_var y = ct_add(ct_square(at[0]), ct_cos(at[1]));
            ct_jvp(&y, &dot, 1, x, v, 3, CT_GRAD_FREE);
            ct_grad(y, ct_none(), x, g, 3, CT_GRAD_RECORD);
            ct_hvp(y, x, v, hv, 3);
            assert_ok(ct_tape_status(tape), ct_tape_message(tape));
            values[scan][0] = ct_item(y), values[scan][1] = ct_item(dot);
            for (int i = 0; i < 3; i++)
                values[scan][2 + i] = ct_item(g[i]), values[scan][5 + i] = ct_item(hv[i]);
            ct_tape_reset(tape);
        }
        assert_true(values[0][0] == values[1][0]);
        for (int i = 1; i < 8; i++) assert_close(values[0][i], values[1][i], 1e-13, 1e-14);
    }
}

static void sine(ct_tape *t, int64_t number, const ct_var *in, ct_var *out, void *context)
{
    (void)t, (void)number, (void)context;
    out[0] = ct_sin(in[0]);
}

/* 1024 steps hold two times 32 values of x, and a few. */
static void a_scan_takes_little(void **state)
{
    (void)state;
    enum { N = 1000 };
    const uint64_t before = ct_memory(device).bytes_now;
    ct_var x = leaf(ct_full(device, CT_F64, ct_shape1(N), 0.5)), y;
    assert_ok(ct_scan(&x, 1, &y, 1, 1024, sine, NULL), ct_tape_message(tape));
    assert_ok(ct_backward(ct_sum(y, CT_ALL, false)), ct_tape_message(tape));
    assert_non_null(ct_cotangent(x));
    assert_true(ct_memory(device).bytes_peak - before < 80 * N * sizeof(double));
}

static void third_is_missing(ct_tape *t, int64_t number, const ct_var *in, ct_var *out, void *context)
{
    (void)t, (void)context;
    if (number < 3) out[0] = ct_sin(in[0]);
}

static void refused_scans(void **state)
{
    (void)state;
    static const struct {
        int n, m;
        int64_t steps;
        ct_scan_fn *f;
        const char *message;
    } wrong[] = { { 0, 1, 1, sine, NULL },        { 1, 2, 1, sine, "1 inputs, 2 of them carried" },
                  { 1, 0, 1, sine, "0 of them" }, { 1, 1, -1, sine, "-1 steps" },
                  { 1, 1, 1, NULL, "f is NULL" }, { 1, 1, 20, third_is_missing, "output 0 in step 3" },
                  { 65, 1, 1, sine, "65 inputs" } };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ct_var x = leaf(tensor0(device, 1)), in[65], y[CT_MAX_OUTPUTS] = { x };
        for (int k = 0; k < 65; k++) in[k] = x;
        assert_status(ct_scan(in, wrong[i].n, y, wrong[i].m, wrong[i].steps, wrong[i].f, NULL), CT_EINVAL,
                      ct_tape_message(tape));
        if (wrong[i].message) assert_non_null(strstr(ct_tape_message(tape), wrong[i].message));
        ct_tape_reset(tape);
    }
    assert_status(ct_scan(NULL, 1, NULL, 1, 1, sine, NULL), CT_EINVAL, "no tape");
}

static void captures(ct_tape *t, const ct_var *in, ct_var *out, void *context)
{
    (void)t;
    out[0] = ct_mul(in[0], *(ct_var *)context);
}

static void gives_another(ct_tape *t, const ct_var *in, ct_var *out, void *context)
{
    (void)t, (void)in;
    out[0] = *(ct_var *)context;
}

static void sets_nothing(ct_tape *t, const ct_var *in, ct_var *out, void *context)
{
    (void)t, (void)in, (void)out, (void)context;
}

static void identity(ct_tape *t, const ct_var *in, ct_var *out, void *context)
{
    (void)t, (void)context;
    out[0] = in[0];
}

static void refused(ct_status s, const char *message, ct_var out)
{
    assert_int_not_equal(s, CT_OK);
    if (!strstr(ct_tape_message(tape), message)) print_error("%s\n", ct_tape_message(tape));
    assert_non_null(strstr(ct_tape_message(tape), message));
    assert_int_equal(out.index, UINT32_MAX);
    ct_tape_reset(tape);
}

static void refusals(void **state)
{
    (void)state;
    ct_var x = leaf(tensor0(device, 2)), w = leaf(tensor0(device, 3)), out = x;
    refused(ct_checkpoint(&x, 1, &out, 1, captures, &w), "reads #1, which is not among its inputs", out);
    x = leaf(tensor0(device, 2)), w = leaf(tensor0(device, 3)), out = x;
    refused(ct_checkpoint(&x, 1, &out, 1, gives_another, &w), "reads #1, which is not among its inputs", out);
    x = leaf(tensor0(device, 2)), w = constant(tensor0(device, 3)), out = x;
    assert_ok(ct_checkpoint(&x, 1, &out, 1, captures, &w), "a constant");
    assert_ok(ct_backward(out), ct_tape_message(tape));
    assert_close(ct_tensor_item(ct_cotangent(x)), 3, 0, 0);
    refused(ct_checkpoint(&x, 1, &out, 1, sets_nothing, NULL), "has not set output 0", out);
    x = leaf(tensor0(device, 2));
    refused(ct_checkpoint(&x, 1, &out, 1, NULL, NULL), "f is NULL", out);
    x = leaf(tensor0(device, 2));
    refused(ct_checkpoint(&x, 65, &out, 1, identity, NULL), "65 inputs and 1 outputs, of at most 64 and 6",
            out);
    assert_int_equal(ct_checkpoint(NULL, 1, &out, 1, identity, NULL), CT_EINVAL);
    ct_var nothing = { NULL, 0, 0 };
    assert_int_equal(ct_checkpoint(&nothing, 1, &out, 1, identity, NULL), CT_EINVAL);
}

/* An output may be an input; without a gradient the outputs are constants. */
static void plain_outputs(void **state)
{
    (void)state;
    ct_var x = leaf(tensor0(device, 2)), c = constant(tensor0(device, 5)), y;
    assert_ok(ct_checkpoint(&x, 1, &y, 1, identity, NULL), ct_tape_message(tape));
    assert_ok(ct_backward(ct_square(y)), ct_tape_message(tape));
    assert_close(ct_tensor_item(ct_cotangent(x)), 4, 0, 0);
    assert_ok(ct_checkpoint(&c, 1, &y, 1, identity, NULL), ct_tape_message(tape));
    assert_false(ct_var_needs_grad(y));
    ct_no_grad_begin(tape);
    ct_checkpoint(&x, 1, &y, 1, identity, NULL);
    ct_no_grad_end(tape);
    assert_false(ct_var_needs_grad(y));
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
        ct_var x[] = { ct_leaf(t, a), ct_leaf(t, a), ct_leaf(t, a) }, y[2];
        ct_status s = ct_checkpoint(x, 3, y, 2, many_blocks, &h);
        if (!s) s = ct_backward(ct_sum(ct_add(y[0], y[1]), CT_ALL, false));
        if (!s) s = ct_scan(x, 3, y, 2, 5, numbered_step, &h);
        if (!s) s = ct_backward(ct_sum(ct_add(y[0], y[1]), CT_ALL, false));
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
        TEST(same_derivatives),    TEST(less_memory),      TEST(refusals),
        TEST(plain_outputs),       TEST(several_tangents), TEST(scans),
        TEST(a_scan_takes_little), TEST(refused_scans),    TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
