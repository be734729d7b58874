/* Ops on bf16 and f16: who takes them and who refuses, values and gradients against f32 on the same numbers, training in
 * mixed precision, no memory. */
#include "alloc.h"
#include "check.h"

#include <cotangent/cotangent.h>

#include "autograd/sample.h"

static const ct_dtype halves[] = { CT_BF16, CT_F16 };

/* Half a unit in the last place of 1. */
static double unit(ct_dtype t) { return t == CT_BF16 ? 0x1p-8 : 0x1p-11; }

/* Normal numbers that both dtypes hold exactly: rounded to t, in t and in f32. */
typedef struct twin {
    ct_tensor *half, *wide;
} twin;

static twin drawn(ct_device *dev, ct_dtype t, ct_shape shape, uint64_t stream)
{
    ct_tensor *x = ct_rand_normal(dev, CT_F32, shape, 5, stream), *half = ct_tensor_cast(x, t);
    twin both = { half, ct_tensor_cast(half, CT_F32) };
    assert_non_null(both.wide);
    ct_release(x);
    return both;
}

static void clear(twin *x, int n)
{
    for (int i = 0; i < n; i++) ct_release(x[i].half), ct_release(x[i].wide);
}

/* Each element of a is b's, rounded once to t; f32 itself may be off by 1e-5 of the largest. */
static void assert_rounded(const ct_tensor *a, const ct_tensor *b, ct_dtype t, const char *what)
{
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(ct_tensor_dtype(a), t);
    assert_true(ct_shape_equal(ct_tensor_shape(a), ct_tensor_shape(b)));
    int64_t n = ct_tensor_count(a);
    ct_tensor *x = ct_tensor_cast(a, CT_F64), *y = ct_tensor_cast(b, CT_F64);
    const double *p = ct_tensor_data(x), *q = ct_tensor_data(y);
    double largest = 0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(q[i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(p[i] - q[i]) <= unit(t) * fabs(q[i]) + 1e-5 * largest))
            fail_msg("%s in %s: element %lld is %.9g, not %.9g", what, ct_dtype_name(t), (long long)i, p[i],
                     q[i]);
    ct_release(x), ct_release(y);
}

/* Every op of the list: its sample in half either computes, or is refused with the remedy. */
static void taken_or_refused(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open("cpu");
    ct_tape *tape = ct_tape_new(dev);
    int n, taken = 0;
    const ct_op *const *list = ct_op_list(&n);
    for (int i = 0; i < n; i++)
        for (int h = 0; h < 2; h++) {
            ct_sample s = { .device = dev, .dtype = CT_F64, .size = 3, .seed = 7 };
            ct_var v[CT_MAX_INPUTS];
            assert_int_equal(ct__sample_draw(&s, list[i]), CT_OK);
            ct_tape_reset(tape);
            bool floating = false;
            for (int k = 0; k < s.n_in; k++) {
                bool index = ct_tensor_dtype(s.in[k]) == CT_I64;
                ct_tensor *t = index ? ct_retain(s.in[k]) : ct_tensor_cast(s.in[k], halves[h]);
                v[k] = index ? ct_constant(tape, t) : ct_leaf(tape, t);
                floating |= !index;
                ct_release(t);
            }
            ct_var y = ct_apply_on(tape, list[i], v, s.n_in, s.attr_size ? s.attr : NULL, s.attr_size);
            if (list[i]->half || !floating) {
                assert_int_equal(ct_check(y), CT_OK);
                taken++;
            } else {
                assert_int_equal(ct_tape_status(tape), CT_EDTYPE);
                assert_non_null(strstr(ct_tape_message(tape), "ct_cast(x, CT_F32)"));
                assert_non_null(strstr(ct_tape_message(tape), ct_dtype_name(halves[h])));
            }
            ct__sample_clear(&s);
        }
    assert_true(taken > 2 * 40 && taken < 2 * n);
    ct_tape_free(tape);
    ct_device_close(dev);
}

typedef ct_var layer(ct_tape *tape, const ct_var *in);

static ct_var plain(ct_tape *tape, const ct_var *in) { return (void)tape, ct_matmul(in[0], in[1]); }
static ct_var turned(ct_tape *tape, const ct_var *in)
{
    return (void)tape, ct_t(ct_matmul(ct_t(in[1]), ct_t(in[0])));
}
static ct_var twice(ct_tape *tape, const ct_var *in)
{
    return (void)tape, ct_matmul(ct_matmul(in[0], in[1]), ct_t(in[1]));
}
static ct_var blocks(ct_tape *tape, const ct_var *in)
{
    return (void)tape, ct_blockdiag_linear(in[0], in[1], in[2]);
}
static ct_var blocks_without(ct_tape *tape, const ct_var *in)
{
    return (void)tape, ct_blockdiag_linear(in[0], in[1], (ct_var){ 0 });
}
static ct_var gathered(ct_tape *tape, const ct_var *in)
{
    int64_t q[90];
    for (int i = 0; i < 90; i++) q[i] = i * i * 7 % 11;
    ct_tensor *index = ct_from(ct_tape_device(tape), CT_I64, ct_shape1(90), q);
    ct_var y = ct_gather_matmul(in[0], in[1], ct_constant(tape, index));
    ct_release(index);
    return y;
}

static const struct {
    const char *name;
    layer *run;
    int n;
    ct_shape in[3];
    bool exact; /* one product each way: gradients, too, are f32's rounded once */
} layers[] = {
    { "matmul", plain, 2, { { { 40, 70 }, 2 }, { { 70, 33 }, 2 } }, true },
    { "matmul, shared weight", plain, 2, { { { 3, 20, 9 }, 3 }, { { 9, 33 }, 2 } }, true },
    { "matmul, batched", plain, 2, { { { 5, 2, 9 }, 3 }, { { 5, 9, 4 }, 3 } }, true },
    { "matmul, turned", turned, 2, { { { 40, 70 }, 2 }, { { 70, 33 }, 2 } }, true },
    { "matmul, twice", twice, 2, { { { 40, 70 }, 2 }, { { 70, 33 }, 2 } }, false },
    { "blockdiag", blocks, 3, { { { 30, 60 }, 2 }, { { 4, 20, 15 }, 3 }, { { 80 }, 1 } }, true },
    { "blockdiag, no bias", blocks_without, 2, { { { 30, 60 }, 2 }, { { 4, 20, 15 }, 3 } }, true },
    { "gather", gathered, 2, { { { 90, 2, 30 }, 3 }, { { 11, 30, 20 }, 3 } }, true },
};

static ct_status pass(ct_tape *tape, size_t l, ct_tensor *const *in, ct_tensor *seed, ct_var *y, ct_var *bar)
{
    ct_var v[3];
    ct_tape_reset(tape);
    for (int i = 0; i < layers[l].n; i++) v[i] = ct_leaf(tape, in[i]);
    *y = layers[l].run(tape, v);
    return ct_grad(*y, ct_constant(tape, seed), v, bar, layers[l].n, CT_GRAD_KEEP);
}

static void values_and_gradients(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .threads = threads });
        ct_tape *half = ct_tape_new(dev), *wide = ct_tape_new(dev);
        for (size_t l = 0; l < sizeof layers / sizeof *layers; l++)
            for (int h = 0; h < 2; h++) {
                const ct_dtype t = halves[h];
                twin x[3], seed;
                ct_tensor *a[3], *b[3];
                for (int i = 0; i < layers[l].n; i++)
                    x[i] = drawn(dev, t, layers[l].in[i], (uint64_t)i), a[i] = x[i].half, b[i] = x[i].wide;
                ct_var v[3], y_half, y_wide, bar_half[3], bar_wide[3];
                for (int i = 0; i < layers[l].n; i++) v[i] = ct_constant(half, a[i]);
                seed = drawn(dev, t, ct_var_shape(layers[l].run(half, v)), 9);
                assert_ok(pass(half, l, a, seed.half, &y_half, bar_half), ct_tape_message(half));
                assert_ok(pass(wide, l, b, seed.wide, &y_wide, bar_wide), ct_tape_message(wide));
                for (int i = -1; i < layers[l].n; i++) {
                    const ct_tensor *p = ct_value(i < 0 ? y_half : bar_half[i]),
                                    *q = ct_value(i < 0 ? y_wide : bar_wide[i]);
                    if (layers[l].exact) {
                        assert_rounded(p, q, t, layers[l].name);
                        continue;
                    }
                    /* Three roundings, their errors multiplied by matrices: relative in the norm. */
                    ct_tensor *f = ct_tensor_cast(p, CT_F32);
                    const float *r = ct_tensor_data(f), *s = ct_tensor_data(q);
                    double off = 0, all = 0;
                    for (int64_t e = 0; e < ct_tensor_count(f); e++)
                        off += pow((double)r[e] - (double)s[e], 2), all += pow((double)s[e], 2);
                    assert_true(sqrt(off) <= 3 * unit(t) * sqrt(all));
                    ct_release(f);
                }
                clear(x, layers[l].n);
                clear(&seed, 1);
            }
        ct_tape_free(half), ct_tape_free(wide);
        assert_int_equal(ct_memory(dev).bytes_now, 0);
        ct_device_close(dev);
    }
}

/* The second order of a product in half, against f32. */
static void second_order(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open("cpu");
    for (int h = 0; h < 2; h++) {
        twin x = drawn(dev, halves[h], ct_shape2(12, 12), 1);
        ct_tensor *second[2];
        for (int k = 0; k < 2; k++) {
            ct_tape *tape = ct_tape_new(dev);
            ct_var a = ct_leaf(tape, k ? x.wide : x.half), bar, again;
            ct_var y = ct_sum(ct_matmul(ct_relu(a), ct_matmul(a, a)), CT_ALL, false);
            assert_ok(ct_grad(y, (ct_var){ 0 }, &a, &bar, 1, CT_GRAD_RECORD), ct_tape_message(tape));
            ct_var z = ct_sum(ct_mul(bar, bar), CT_ALL, false);
            assert_ok(ct_grad(z, (ct_var){ 0 }, &a, &again, 1, CT_GRAD_KEEP), ct_tape_message(tape));
            second[k] = ct_tensor_cast(ct_value(again), CT_F32);
            ct_tape_free(tape);
        }
        const float *p = ct_tensor_data(second[0]), *q = ct_tensor_data(second[1]);
        double off = 0, all = 0;
        for (int i = 0; i < 144; i++) off += pow((double)p[i] - (double)q[i], 2), all += pow((double)q[i], 2);
        assert_true(all > 0 && sqrt(off) <= 8 * unit(halves[h]) * sqrt(all));
        ct_release(second[0]), ct_release(second[1]);
        clear(&x, 1);
    }
    ct_device_close(dev);
}

/* f32 weights, a layer in half, a loss in f32: the gradient arrives in f32, and steps along it reach the target. */
static void mixed_precision_training(void **state)
{
    (void)state;
    enum { STEPS = 60, B = 64, M = 3, F = 8 };
    ct_device *dev = ct_device_open("cpu");
    for (int h = 0; h < 3; h++) { /* bf16, f16, and f32 throughout */
        const ct_dtype t = h < 2 ? halves[h] : CT_F32;
        ct_tape *tape = ct_tape_new(dev);
        ct_tensor *x = ct_rand_normal(dev, CT_F32, ct_shape2(B, M * F), 1, 0),
                  *W = ct_rand_normal(dev, CT_F32, ct_shape3(M, F, F), 1, 1), *truth = ct_tensor_clone(W),
                  *bias = ct_zeros(dev, CT_F32, ct_shape1(M * F));
        for (int i = 0; i < M * F * F; i++) ((float *)ct_tensor_data(W))[i] *= 0.1f;
        double first = 0, last = 0;
        for (int step = 0; step < STEPS; step++) {
            ct_tape_reset(tape);
            ct_var w = ct_leaf(tape, W), b = ct_leaf(tape, bias), in = ct_constant(tape, x);
            ct_var wanted = ct_blockdiag_linear(in, ct_constant(tape, truth), (ct_var){ 0 });
            ct_var y = ct_blockdiag_linear(ct_cast(in, t), ct_cast(w, t), ct_cast(b, t));
            ct_var loss = ct_mse(ct_cast(y, CT_F32), wanted);
            assert_ok(ct_backward(loss), ct_tape_message(tape));
            last = ct_item(loss);
            if (!step) first = last;
            const ct_tensor *bar = ct_cotangent(w);
            assert_int_equal(ct_tensor_dtype(bar), CT_F32);
            const float *g = ct_tensor_data(bar), *g_b = ct_tensor_data(ct_cotangent(b));
            for (int i = 0; i < M * F * F; i++) ((float *)ct_tensor_data(W))[i] -= 10.0f * g[i];
            for (int i = 0; i < M * F; i++) ((float *)ct_tensor_data(bias))[i] -= 10.0f * g_b[i];
        }
        assert_true(first > 1 && last < 1e-3 * first);
        ct_release(x), ct_release(W), ct_release(truth), ct_release(bias);
        ct_tape_free(tape);
    }
    ct_device_close(dev);
}

/* Two cotangents of one leaf are added in half: the sum of what either gives, rounded. */
static void cotangents_accumulate(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open("cpu");
    ct_tape *tape = ct_tape_new(dev);
    uint16_t x[] = { 0x3f80, 0x4040 }, got[2]; /* 1 and 3 in bf16 */
    ct_tensor *t = ct_wrap(dev, CT_BF16, ct_shape2(1, 2), x, NULL, NULL);
    ct_var a = ct_leaf(tape, t);
    ct_var y = ct_sum(ct_add(ct_scale(a, 257.0 / 256), ct_scale(a, 2)), CT_ALL, false);
    assert_ok(ct_backward(y), ct_tape_message(tape));
    assert_ok(ct_read(ct_cotangent(a), got, sizeof got), ct_message(dev));
    assert_int_equal(got[0], 0x4040); /* 257/256 became 1, and 1 + 2 = 3 */
    assert_int_equal(got[1], 0x4040);
    ct_release(t);
    ct_tape_free(tape);
    ct_device_close(dev);
}

static void errors(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open("cpu");
    ct_tape *tape = ct_tape_new(dev);
    ct_tensor *a = ct_zeros(dev, CT_BF16, ct_shape2(2, 2)), *b = ct_zeros(dev, CT_F16, ct_shape2(2, 2)),
              *c = ct_zeros(dev, CT_F32, ct_shape2(2, 2)), *v = ct_zeros(dev, CT_BF16, ct_shape1(2));
    ct_matmul(ct_constant(tape, a), ct_constant(tape, b));
    assert_int_equal(ct_tape_status(tape), CT_EDTYPE);
    assert_non_null(
        strstr(ct_tape_message(tape), "input 1 is f16 where the others are bf16: convert with ct_cast"));
    ct_tape_reset(tape);
    ct_matmul(ct_constant(tape, a), ct_constant(tape, c));
    assert_int_equal(ct_tape_status(tape), CT_EDTYPE);
    ct_tape_reset(tape);
    ct_cast(ct_constant(tape, a), CT_I64);
    assert_int_equal(ct_tape_status(tape), CT_EDTYPE);
    ct_tape_reset(tape);
    ct_mse(ct_constant(tape, a), ct_constant(tape, a));
    assert_non_null(strstr(ct_tape_message(tape), "mse: input 0 is bf16"));
    ct_gp *gp = ct_gp_new(a, v, ct_kernel_parse("rbf"), NULL);
    assert_null(gp);
    assert_int_equal(ct_last_status(dev), CT_EDTYPE);
    ct_release(a), ct_release(b), ct_release(c), ct_release(v);
    ct_tape_free(tape);
    ct_device_close(dev);
}

/* The k-th allocation fails, for every k: a status, no leak. */
static void no_memory(void **state)
{
    (void)state;
    for (size_t l = 0; l < sizeof layers / sizeof *layers; l++) {
        bool refused = true;
        for (int64_t k = 1; refused; k++) {
            ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .threads = 2 });
            twin x[3];
            ct_tensor *in[3];
            for (int i = 0; i < layers[l].n; i++)
                x[i] = drawn(dev, CT_BF16, layers[l].in[i], (uint64_t)i), in[i] = x[i].half;
            ct_memory_trim(dev);
            alloc_fail_at(k);
            ct_tape *tape = ct_tape_new(dev);
            ct_var v[3], bar[3];
            for (int i = 0; tape && i < layers[l].n; i++) v[i] = ct_leaf(tape, in[i]);
            ct_status s = CT_ENOMEM;
            if (tape) {
                ct_var y = layers[l].run(tape, v);
                s = ct_grad(y, y, v, bar, layers[l].n, CT_GRAD_FREE);
            }
            refused = alloc_refused();
            alloc_unwatch();
            if (s != CT_OK && s != CT_ENOMEM && s != CT_EINVAL) fail_msg("%s", ct_tape_message(tape));
            if (!refused) assert_ok(s, ct_tape_message(tape));
            ct_tape_free(tape);
            clear(x, layers[l].n);
            assert_int_equal(ct_memory(dev).bytes_now, 0);
            ct_device_close(dev);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(taken_or_refused),
                                        cmocka_unit_test(values_and_gradients),
                                        cmocka_unit_test(second_order),
                                        cmocka_unit_test(mixed_precision_training),
                                        cmocka_unit_test(cotangents_accumulate),
                                        cmocka_unit_test(errors),
                                        cmocka_unit_test(no_memory) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
