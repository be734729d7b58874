/* Mistakes of whoever writes an op: samples that cannot be drawn, cotangents that do not fit, and more inputs
 * than an op has. */
#include "one_tape.h"

#include <cotangent/gradcheck.h>
#include <cotangent/op.h>

static int mistake;
static ct_tensor *narrow, *longer;

/* y = 2 x, for any number of inputs */
static ct_shape shape(ct_call *c) { return ct_arg_shape(c, 0); }
static void forward(ct_call *c)
{
    ct_prim_map1(c, CT_MAP_scale, (double[]){ 2, 0 }, ct_arg(c, 0), ct_result(c));
}
static void vjp(ct_rule *g) { ct_in_bar(g, 0, ct_scale(ct_out_bar(g), 2)); }

/* -- samples --------------------------------------------------------------------------------------------- */

static void sample(ct_sample *s)
{
    static const char large[1024];
    static const double values[17];
    const ct_shape one = ct_shape1(2);
    ct_sample_unbatched(s);
    switch (mistake) {
    case 0: ct_sample_normal(s, -1, one); break;
    case 1: ct_sample_normal(s, CT_MAX_INPUTS, one); break;
    case 2: ct_sample_normal(s, 0, (ct_shape){ .ndim = CT_MAX_DIMS + 1 }); break;
    case 3: ct_sample_normal(s, 0, (ct_shape){ .ndim = -1 }); break;
    case 4: ct_sample_normal(s, 0, ct_shape2(INT64_MAX, 2)); break;
    case 5: ct_sample_normal(s, 0, ct_shape1(-2)); break;
    case 6: ct_sample_variant(s, 0); break;
    case 7: ct_sample_attr(s, large, sizeof large); break;
    case 8: ct_sample_attr(s, NULL, 8); break;
    case 9: ct_sample_among(s, 0, one, values, 0); break;
    case 10: ct_sample_among(s, 0, one, values, 17); break;
    case 11: ct_sample_among(s, 0, one, NULL, 2); break;
    case 12: ct_sample_index(s, 0, one, 0); break;
    case 13: ct_sample_normal(s, 0, one), ct_sample_normal(s, 1, one); break;
    case 14: ct_sample_normal(s, 1, one); break;
    case 15: ct_sample_fail(s, CT_EINVAL, "there is nothing to draw"); break;
    }
    if (mistake < 9 && mistake > 5) ct_sample_normal(s, 0, one);
}

static void samples(void **state)
{
    (void)state;
    static const struct {
        ct_status status;
        const char *says;
    } wanted[] = {
        { CT_EINVAL, "sample: input -1 is outside 0..63" },
        { CT_EINVAL, "sample: input 64 is outside 0..63" },
        { CT_ESHAPE, "sample: input 0 would have 9 dimensions, at most 8" },
        { CT_ESHAPE, "sample: input 0 would have -1 dimensions" },
        { CT_ESHAPE, "sample: the shape of input 0 is too large or negative" },
        { CT_ESHAPE, "sample: the shape of input 0 is too large or negative" },
        { CT_EINVAL, "sample: 0 variants declared, at least 1" },
        { CT_EINVAL, "sample: attributes of 1024 bytes, at most" },
        { CT_EINVAL, "sample: attributes of 8 bytes, at most" },
        { CT_EINVAL, "sample: input 0 is drawn among 0 values, 1 to 16 are possible" },
        { CT_EINVAL, "sample: input 0 is drawn among 17 values, 1 to 16 are possible" },
        { CT_EINVAL, "sample: input 0 is drawn among 2 values" },
        { CT_EINVAL, "sample: input 0 has no integer in [0, 0) to draw" },
        { CT_EINVAL, "sample of twice draws 2 inputs, the op has 1" },
        { CT_EINVAL, "sample of twice draws input 1, but not input 0" },
        { CT_EINVAL, "there is nothing to draw" },
    };
    const ct_op op = {
        .name = "twice", .n_in = 1, .shape = shape, .forward = forward, .vjp = vjp, .sample = sample
    };
    for (mistake = 0; mistake < (int)(sizeof wanted / sizeof *wanted); mistake++) {
        char report[1000];
        assert_status(ct_gradcheck_op(device, &op, NULL, report, sizeof report), wanted[mistake].status,
                      report);
        if (!strstr(ct_message(device), wanted[mistake].says)) fail_msg("message: %s", ct_message(device));
    }
}

/* -- cotangents ------------------------------------------------------------------------------------------ */

static void wrong_vjp(ct_rule *g)
{
    ct_give_in_bar(g, 0, ct_constant(ct_rule_tape(g), mistake ? longer : narrow));
}

static void cotangents(void **state)
{
    (void)state;
    static const char *const says[] = { "the cotangent of input 0 is f32, the input f64",
                                        "the cotangent of input 0 is 3, the input 2" };
    const ct_op op = { .name = "twice", .n_in = 1, .shape = shape, .forward = forward, .vjp = wrong_vjp };
    ct_tensor *x = tensor1(device, 2, 1, 2);
    narrow = ct_zeros(device, CT_F32, ct_shape1(2));
    longer = ct_zeros(device, CT_F64, ct_shape1(3));
    for (mistake = 0; mistake < 2; mistake++) {
        ct_var leaf = ct_leaf(tape, x), y = ct_apply(&op, &leaf, 1, NULL, 0);
        assert_int_equal(ct_backward(ct_sum(y, CT_ALL, false)), mistake ? CT_ESHAPE : CT_EDTYPE);
        if (!strstr(ct_tape_message(tape), says[mistake])) fail_msg("message: %s", ct_tape_message(tape));
        ct_tape_reset(tape);
    }
    ct_release(x), ct_release(narrow), ct_release(longer);
}

/* -- inputs ---------------------------------------------------------------------------------------------- */

/* An op takes 64 inputs; ct_concat takes more, in parts, and the gradient reaches each. */
static void many_inputs(void **state)
{
    (void)state;
    enum { N = 150 };
    ct_tensor *x[N];
    ct_var leaf[N];
    double weight[N];
    const ct_op any = { .name = "any", .n_in = -1, .shape = shape, .forward = forward };
    for (int i = 0; i < N; i++) {
        x[i] = tensor1(device, 1, i);
        leaf[i] = ct_leaf(tape, x[i]);
        weight[i] = 2 * i + 1;
    }
    assert_true(isnan(ct_item(ct_apply(&any, leaf, CT_MAX_INPUTS + 1, NULL, 0))));
    assert_int_equal(ct_tape_status(tape), CT_EINVAL);
    ct_tape_reset(tape);
    for (int i = 0; i < N; i++) leaf[i] = ct_leaf(tape, x[i]);
    ct_tensor *w = ct_from(device, CT_F64, ct_shape1(N), weight);
    ct_var all = ct_concat(leaf, N, 0);
    double got[N];
    assert_ok(ct_read(ct_value(all), got, sizeof got), ct_message(device));
    assert_int_equal(ct_backward(ct_sum(ct_mul(all, ct_constant(tape, w)), CT_ALL, false)), CT_OK);
    for (int i = 0; i < N; i++) {
        assert_true(got[i] == i);
        assert_elements(ct_cotangent(leaf[i]), 0, 0, 2 * i + 1);
    }
    ct_tape_reset(tape);
    for (int i = 0; i < N; i++) ct_release(x[i]);
    ct_release(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples),
        cmocka_unit_test(cotangents),
        cmocka_unit_test(many_inputs),
    };
    return cmocka_run_group_tests_name("mistakes", tests, open_tape, close_tape);
}
