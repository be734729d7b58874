/* Ops on bf16 and f16: which ops take them and which refuse, values and gradients against f32 on the same
 * numbers, training in mixed precision, failing allocations. */
#include "alloc.h"
#include "check.h"

#include <cotangent/cotangent.h>
#include <cotangent/gp.h>

#include "autograd/check/sample.h"
#include "tensor/half.h"

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

/* The elements as f32, in memory that the caller frees. */
static float *floats(const ct_tensor *t)
{
    ct_tensor *wide = ct_tensor_cast(t, CT_F32);
    const size_t bytes = (size_t)ct_tensor_count(t) * sizeof(float);
    float *x = malloc(bytes + 1);
    assert_ok(ct_read(wide, x, bytes), ct_message(ct_tensor_device(t)));
    ct_release(wide);
    return x;
}

/* |a - b| / |b| over all elements */
static double distance(const ct_tensor *a, const ct_tensor *b)
{
    float *p = floats(a), *q = floats(b);
    double off = 0, all = 0;
    for (int64_t i = 0; i < ct_tensor_count(a); i++)
        off += pow((double)p[i] - (double)q[i], 2), all += pow((double)q[i], 2);
    free(p), free(q);
    assert_true(all > 0);
    return sqrt(off / all);
}

/* Each element of a is that of b rounded once to t, where f32 itself may be off by 1e-5 of the largest. */
static void assert_rounded(const ct_tensor *a, const ct_tensor *b, ct_dtype t, const char *what)
{
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(ct_tensor_dtype(a), t);
    assert_true(ct_shape_equal(ct_tensor_shape(a), ct_tensor_shape(b)));
    int64_t n = ct_tensor_count(a);
    float *x = floats(a), *y = floats(b);
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        if (fabs((double)y[i]) > largest)
            largest = fabs((double)y[i]); /* gcc 12 for arm64 fails on fmax here */
    for (int64_t i = 0; i < n; i++) {
        const double p = (double)x[i], q = (double)y[i];
        if (!(fabs(p - q) <= unit(t) * fabs(q) + 1e-5 * largest))
            fail_msg("%s in %s: element %lld is %.9g, not %.9g", what, ct_dtype_name(t), (long long)i, p, q);
    }
    free(x), free(y);
}

/* Converts from every dtype to every other and compares number by number: the bits are the same on every
 * device. */
static void conversions(void **state)
{
    (void)state;
    static const double numbers[] = {
        0,      -0.0,    1,        -2.5,         1.0 / 3,      257,   259,    65519,    65520, 1e-7,
        -3e-8,  6e-8,    1e300,    1e-40,        1e-300,       -7e9,  1e19,   INFINITY, -1e30, NAN,
        2049.5, 2050.25, 0x1.01p0, 0x1.010001p0, 0x1.ffffffp9, 65504, 0x1p62, -0x1p63
    };
    enum { N = sizeof numbers / sizeof *numbers };
    ct_device *dev = ct_device_open(check_device());
    ct_tensor *exact = ct_from(dev, CT_F64, ct_shape1(N), numbers);
    for (int from = 0; from <= CT_F16; from++)
        for (int to = 0; to <= CT_F16; to++) {
            ct_tensor *x = ct_tensor_cast(exact, (ct_dtype)from), *y = ct_tensor_cast(x, (ct_dtype)to);
            union {
                double f64[N];
                float f32[N];
                int64_t i64[N];
                uint16_t half[N];
            } a, b;
            assert_ok(ct_read(x, &a, N * ct_dtype_size((ct_dtype)from)), ct_message(dev));
            assert_ok(ct_read(y, &b, N * ct_dtype_size((ct_dtype)to)), ct_message(dev));
            for (int i = 0; i < N; i++) {
                const bool integral = from == CT_I64;
                const double v = from == CT_F64   ? a.f64[i]
                                 : from == CT_F32 ? (double)a.f32[i]
                                 : integral       ? ct__odd_f64(a.i64[i])
                                                  : (double)ct__from_half((ct_dtype)from, a.half[i]);
                bool same;
                if (to == CT_F64)
                    same = integral ? b.f64[i] == (double)a.i64[i] : b.f64[i] == v || isnan(v);
                else if (to == CT_F32)
                    same = integral ? b.f32[i] == (float)a.i64[i] : b.f32[i] == (float)v || isnan(v);
                else if (to == CT_I64)
                    same = b.i64[i] == (integral                     ? a.i64[i]
                                        : isnan(v)                   ? 0
                                        : v >= 9223372036854775808.0 ? INT64_MAX
                                        : v < -9223372036854775808.0 ? INT64_MIN
                                                                     : (int64_t)v);
                else
                    same = b.half[i] == ct__to_half((ct_dtype)to, ct__odd_f32(v)) || isnan(v);
                if (isnan(v) && to != CT_I64)
                    same = to == CT_F64   ? isnan(b.f64[i])
                           : to == CT_F32 ? isnan(b.f32[i])
                                          : isnan(ct__from_half((ct_dtype)to, b.half[i]));
                if (!same)
                    fail_msg("%s to %s: element %d, %.17g", ct_dtype_name((ct_dtype)from),
                             ct_dtype_name((ct_dtype)to), i, v);
            }
            ct_release(x), ct_release(y);
        }
    ct_tensor *full = ct_full(dev, CT_F16, ct_shape1(3), 1.0 / 3);
    uint16_t third[3];
    assert_ok(ct_read(full, third, sizeof third), ct_message(dev));
    assert_int_equal(third[2], 0x3555);
    ct_tensor *one = ct_tensor_slice(full, 0, 1, 2, 1);
    assert_true(ct_tensor_item(one) == (double)ct__from_f16(0x3555));
    ct_release(full), ct_release(one), ct_release(exact);
    ct_device_close(dev);
}

/* Every op of the list either computes its sample in half, or refuses it and names the remedy. */
static void taken_or_refused(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open(check_device());
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
    bool exact; /* one product each way: gradients are f32's rounded once, too */
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
        ct_device *dev = ct_device_open_with(check_device(), &(ct_device_options){ .threads = threads });
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
                    /* Three roundings, whose errors matrices multiply; so the comparison is by the norm. */
                    assert_true(distance(p, q) <= 3 * unit(t));
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
    ct_device *dev = ct_device_open(check_device());
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
        assert_true(distance(second[0], second[1]) <= 8 * unit(halves[h]));
        ct_release(second[0]), ct_release(second[1]);
        clear(&x, 1);
    }
    ct_device_close(dev);
}

/* t -= rate g, by the host. */
static void descend(ct_tensor *t, const ct_tensor *g, float rate)
{
    float *x = floats(t), *slope = floats(g);
    const int64_t n = ct_tensor_count(t);
    for (int64_t i = 0; i < n; i++) x[i] -= rate * slope[i];
    assert_ok(ct_write(t, x, (size_t)n * sizeof *x), ct_message(ct_tensor_device(t)));
    free(x), free(slope);
}

/* f32 weights, a layer in half, a loss in f32: the gradient arrives in f32, and steps along it reach the
 * target. */
static void mixed_precision_training(void **state)
{
    (void)state;
    enum { STEPS = 60, B = 64, M = 3, F = 8 };
    ct_device *dev = ct_device_open(check_device());
    for (int h = 0; h < 3; h++) { /* bf16, f16, and f32 throughout */
        const ct_dtype t = h < 2 ? halves[h] : CT_F32;
        ct_tape *tape = ct_tape_new(dev);
        ct_tensor *x = ct_rand_normal(dev, CT_F32, ct_shape2(B, M * F), 1, 0),
                  *W = ct_rand_normal(dev, CT_F32, ct_shape3(M, F, F), 1, 1), *truth = ct_tensor_clone(W),
                  *bias = ct_zeros(dev, CT_F32, ct_shape1(M * F));
        descend(W, truth, 0.9f);
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
            assert_int_equal(ct_tensor_dtype(ct_cotangent(w)), CT_F32);
            descend(W, ct_cotangent(w), 10);
            descend(bias, ct_cotangent(b), 10);
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
    ct_device *dev = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(dev);
    uint16_t x[] = { 0x3f80, 0x4040 }, got[2]; /* 1 and 3 in bf16 */
    ct_tensor *t = ct_from(dev, CT_BF16, ct_shape2(1, 2), x);
    ct_var a = ct_leaf(tape, t);
    ct_var y = ct_sum(ct_add(ct_scale(a, 257.0 / 256), ct_scale(a, 2)), CT_ALL, false);
    assert_ok(ct_backward(y), ct_tape_message(tape));
    assert_ok(ct_read(ct_cotangent(a), got, sizeof got), ct_message(dev));
    assert_int_equal(got[0], 0x4040); /* 257/256 is rounded to 1, and 1 + 2 = 3 */
    assert_int_equal(got[1], 0x4040);
    ct_release(t);
    ct_tape_free(tape);
    ct_device_close(dev);
}

static void errors(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open(check_device());
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
            ct_device *dev = ct_device_open_with(check_device(), &(ct_device_options){ .threads = 2 });
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
    const struct CMUnitTest tests[] = { cmocka_unit_test(conversions),
                                        cmocka_unit_test(taken_or_refused),
                                        cmocka_unit_test(values_and_gradients),
                                        cmocka_unit_test(second_order),
                                        cmocka_unit_test(mixed_precision_training),
                                        cmocka_unit_test(cotangents_accumulate),
                                        cmocka_unit_test(errors),
                                        cmocka_unit_test(no_memory) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
