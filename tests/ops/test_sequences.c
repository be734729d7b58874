/* Cumulative sums, products and recurrences beyond what the op matrix reaches: zeros, long sequences, which a
 * GPU computes in pieces, and factors whose product leaves the range of numbers. Positions and norms at their
 * edges. What all of them refuse. */
#include "one_tape.h"

static ct_var leaf(ct_tensor *t)
{
    ct_var v = ct_leaf(tape, t);
    ct_release(t);
    return v;
}

/* The gradient of Σ w y, and the gradient of Σ v of it: the product of the Hessian with v. */
static void derivatives(ct_var y, ct_var w, ct_var x, ct_var v, ct_var *first, ct_var *second)
{
    ct_var sum = ct_sum(ct_mul(y, w), CT_ALL, false);
    assert_ok(ct_grad(sum, ct_none(), &x, first, 1, CT_GRAD_RECORD), ct_tape_message(tape));
    assert_ok(ct_grad(ct_sum(ct_mul(*first, v), CT_ALL, false), ct_none(), &x, second, 1, CT_GRAD_KEEP),
              ct_tape_message(tape));
}

/* f = x0 + 2 x0 x1 + 3 x0 x1 x2 + 4 x0 x1 x2 x3 with one zero, and with two. */
static void products_with_zeros(void **state)
{
    (void)state;
    ct_var w = leaf(tensor1(device, 4, 1, 2, 3, 4)), v = leaf(tensor1(device, 4, 1, 1, 1, 1)), g, h;
    ct_var x = leaf(tensor1(device, 4, 2, 0, 3, 5));
    derivatives(ct_cumprod(x, 0), w, x, v, &g, &h);
    assert_elements(ct_value(ct_cumprod(x, 0)), 0, 0, 2, 0, 0, 0);
    /* 1; 2 (2 + 9 + 60); 0; 0, and the rows of the Hessian */
    assert_elements(ct_value(g), 1e-15, 0, 1, 142, 0, 0);
    assert_elements(ct_value(h), 1e-15, 0, 71, 71 + 46 + 24, 46, 24);
    x = leaf(tensor1(device, 4, 2, 0, 0, 5));
    derivatives(ct_cumprod(x, -1), w, x, v, &g, &h);
    assert_elements(ct_value(g), 1e-15, 0, 1, 4, 0, 0);
    assert_elements(ct_value(h), 1e-15, 0, 2, 2 + 46, 46, 0);
    ct_tape_reset(tape);
}

enum { LONG = 5003 };

/* y_k = a_{k-1} y_{k-1} + b_k on the host */
static void on_host(const double *a, const double *b, double *y)
{
    for (int k = 0; k < LONG; k++) y[k] = k ? a[k - 1] * y[k - 1] + b[k] : b[0];
}

static void long_sequences(void **state)
{
    (void)state;
    static double a[LONG], b[LONG], y[LONG], backward[2][LONG];
    for (int k = 0; k < LONG; k++) a[k] = 0.7 + 0.35 * sin(k), b[k] = cos(3 * k);
    on_host(a, b, y);
    ct_var va = leaf(ct_from(device, CT_F64, ct_shape1(LONG - 1), a)),
           vb = leaf(ct_from(device, CT_F64, ct_shape1(LONG), b));
    check_elements_at(ct_value(ct_recurrence(va, vb, 0, false)), y, LONG, 1e-12, 1e-12, "y", __FILE__,
                      __LINE__);
    for (int k = 0; k < LONG; k++) {
        backward[1][k] = b[LONG - 1 - k];
        if (k) backward[0][k - 1] = a[LONG - 1 - k];
    }
    on_host(backward[0], backward[1], y);
    for (int k = 0; k < LONG / 2; k++) {
        const double other = y[k];
        y[k] = y[LONG - 1 - k], y[LONG - 1 - k] = other;
    }
    check_elements_at(ct_value(ct_recurrence(va, vb, 0, true)), y, LONG, 1e-12, 1e-12, "y in reverse",
                      __FILE__, __LINE__);
    ct_tape_reset(tape);
}

/* A product of 1e30s after a zero is zero, and one of 1e-30s before 1e30s is 1, however it is divided. */
static void products_beyond_the_range(void **state)
{
    (void)state;
    static double x[LONG], y[LONG];
    for (int k = 0; k < LONG; k++) x[k] = k == 0 ? 0 : 1e30, y[k] = 0;
    check_elements_at(ct_value(ct_cumprod(leaf(ct_from(device, CT_F64, ct_shape1(LONG), x)), 0)), y, LONG, 0,
                      0, "after a zero", __FILE__, __LINE__);
    for (int k = 0; k < LONG; k++) x[k] = k % 20 < 10 ? 1e-30 : 1e30;
    ct_var product = ct_cumprod(leaf(ct_from(device, CT_F64, ct_shape1(LONG), x)), 0);
    assert_close(ct_item(ct_row(product, 4999)), 1, 1e-9, 0);
    ct_tape_reset(tape);
}

/* f32 is summed in f64. */
static void sums_of_f32(void **state)
{
    (void)state;
    ct_tensor *tenth = ct_full(device, CT_F32, ct_shape1(LONG), 0.1);
    ct_var last = ct_row(ct_cumsum(ct_constant(tape, tenth), 0), -1);
    ct_release(tenth);
    assert_close(ct_item(last), LONG * (double)0.1f, 1e-7, 0);
    ct_tape_reset(tape);
}

/* The first of equal elements, the first NaN; of a transposed matrix in its own order. */
static void positions(void **state)
{
    (void)state;
    ct_var x = leaf(tensor2(device, 2, 4, 1, 7, 7, 0, 3, NAN, 9, NAN));
    assert_elements(ct_value(ct_argmax(x, -1, false)), 0, 0, 1, 1);
    assert_elements(ct_value(ct_argmin(x, 1, false)), 0, 0, 3, 1);
    assert_elements(ct_value(ct_argmin(x, 0, false)), 0, 0, 0, 1, 0, 1);
    assert_elements(ct_value(ct_argmax(ct_t(x), CT_ALL, false)), 0, 0, 3);
    assert_elements(ct_value(ct_argmax(ct_scale(leaf(tensor1(device, 2, 1, 2)), -INFINITY), 0, true)), 0, 0,
                    0);
    assert_false(ct_var_needs_grad(ct_argmax(x, 0, false)));
    ct_tape_reset(tape);
}

static void norms(void **state)
{
    (void)state;
    ct_var x = leaf(tensor2(device, 6, 2, 3e200, 4e200, 3e-200, 4e-200, 3e-320, 4e-320, 0, 0, INFINITY, 1,
                            NAN, INFINITY));
    assert_elements(ct_value(ct_norm(x, 1, false)), 1e-15, 5e-324, 5e200, 5e-200, 5e-320, 0, INFINITY, NAN);
    assert_elements(ct_value(ct_norm(ct_t(ct_slice(x, 0, 0, 4, 1)), 0, false)), 1e-15, 5e-324, 5e200, 5e-200,
                    5e-320, 0);
    ct_var g, h, one = leaf(tensor2(device, 4, 1, 1, 1, 1, 1)),
                 some = leaf(tensor2(device, 4, 2, 0, 0, 3, 4, 3e-200, 4e-200, 3e200, 4e200));
    derivatives(ct_norm(some, -1, true), one, some, leaf(tensor2(device, 4, 2, 1, 1, 1, 1, 0, 0, 0, 0)), &g,
                &h);
    assert_elements(ct_value(g), 1e-15, 0, 0, 0, .6, .8, .6, .8, .6, .8);
    assert_elements(ct_value(ct_slice(h, 0, 0, 2, 1)), 1e-14, 1e-16, 0, 0, (1 - .6 * 1.4) / 5,
                    (1 - .8 * 1.4) / 5);
    ct_tape_reset(tape);
}

#define REFUSED(call, status, words)                           \
    do {                                                       \
        ct_var refused = call;                                 \
        assert_status(ct_check(refused), status, #call);       \
        assert_non_null(strstr(ct_tape_message(tape), words)); \
        ct_tape_reset(tape);                                   \
        x = leaf(tensor2(device, 2, 3, 1, 2, 3, 4, 5, 6));     \
    } while (0)

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    ct_var x = leaf(tensor2(device, 2, 3, 1, 2, 3, 4, 5, 6)), many[65];
    static const double ones[65];
    REFUSED(ct_cumsum(x, 2), CT_EINVAL, "cumsum(2x3): no dimension 2");
    REFUSED(ct_cumprod(x, -3), CT_EINVAL, "cumprod(2x3): no dimension -3");
    REFUSED(ct_recurrence(x, x, 0, false), CT_ESHAPE, "a must broadcast to 1x3");
    REFUSED(ct_tril_from(ct_row(x, 0), true), CT_OK, "");
    REFUSED(ct_tril_from(ct_reshape(x, ct_shape1(-1)), true), CT_OK, "");
    REFUSED(ct_tril_from(ct_slice(ct_row(x, 0), 0, 0, 2, 1), true), CT_ESHAPE, "2 numbers fill no triangle");
    REFUSED(ct_tril_pack(x), CT_ESHAPE, "square");
    REFUSED(ct_argmax(ct_slice(x, 0, 0, 0, 1), 0, false), CT_ESHAPE, "nothing to reduce");
    REFUSED(ct_min(ct_slice(x, 0, 0, 0, 1), 0, false), CT_ESHAPE, "nothing to reduce");
    for (int i = 0; i < 65; i++) many[i] = x;
    REFUSED(ct_lincomb(ones, many, 65), CT_EINVAL, "lincomb");
    REFUSED(ct_lincomb(NULL, &x, 1), CT_EINVAL, "lincomb");
    REFUSED(ct_row(x, 2), CT_EINDEX, "slice 2:3:1");
    REFUSED(ct_row(x, -3), CT_EINDEX, "slice -3:-2:1");
    REFUSED(ct_slice(x, 0, -3, CT_END, 1), CT_EINDEX, "slice -3:");
    REFUSED(ct_stack(&x, 1, 4), CT_EINVAL, "no dimension 4");
    assert_null(ct_lincomb(ones, &x, 0).tape);
    assert_null(ct_stack(NULL, 2, 0).tape);
    ct_tape_reset(tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_with_zeros),
        cmocka_unit_test(long_sequences),
        cmocka_unit_test(products_beyond_the_range),
        cmocka_unit_test(sums_of_f32),
        cmocka_unit_test(positions),
        cmocka_unit_test(norms),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests_name("sequences", tests, open_tape, close_tape);
}
