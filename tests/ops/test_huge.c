/* Results that no memory holds, and extents whose product overflows, are refused with a message before
 * anything is written. The inputs are broadcast views of one number. */
#include "one_tape.h"

static ct_var spread(ct_shape shape)
{
    ct_tensor *one = tensor0(device, 1), *wide = assert_tensor(ct_tensor_broadcast(one, shape), device);
    ct_var v = ct_leaf(tape, wide);
    ct_release(one);
    ct_release(wide);
    return v;
}

static void refused(ct_var y, const char *op)
{
    ct_status status = ct_check(y);
    if (status != CT_ENOMEM && status != CT_ESHAPE) print_error("%s: %s\n", op, ct_status_name(status));
    assert_true(status == CT_ENOMEM || status == CT_ESHAPE);
    assert_null(ct_value(y));
    assert_non_null(strstr(ct_tape_message(tape), op));
    ct_tape_reset(tape);
}

static const int64_t MANY = (int64_t)1 << 40, MOST = (int64_t)1 << 61;

static void test_too_much(void **state)
{
    (void)state;
    refused(ct_exp(spread(ct_shape1(MANY))), "exp");
    refused(ct_exp(spread(ct_shape1(MOST))), "exp");
    refused(ct_add(spread(ct_shape2(MANY, 1)), spread(ct_shape2(1, MANY))), "add");
    refused(ct_where(spread(ct_shape2(MANY, 1)), spread(ct_shape2(1, MANY)), spread(ct_shape0())), "where");
    refused(ct_matmul(spread(ct_shape2(MANY, 1)), spread(ct_shape2(1, MANY))), "matmul");
    refused(ct_sqdist(spread(ct_shape2(MANY, 1)), spread(ct_shape2(MANY, 1))), "sqdist");
    refused(ct_diag_embed(spread(ct_shape1(MANY))), "diag_embed");
    refused(ct_diag_embed(spread(ct_shape1((int64_t)1 << 32))), "diag_embed");
    refused(ct_concat((ct_var[]){ spread(ct_shape1(MOST)), spread(ct_shape1(MOST)) }, 2, 0), "concat");
    refused(ct_unslice(spread(ct_shape1(1)), 0, MOST, 0, 1), "unslice");
    refused(ct_unslice(spread(ct_shape2(MANY, 1)), 1, MANY, 0, 1), "unslice");
    refused(ct_cholesky(spread(ct_shape2((int64_t)1 << 30, (int64_t)1 << 30))), "cholesky");
    refused(ct_tril(spread(ct_shape2((int64_t)1 << 30, (int64_t)1 << 30)), 0), "tril");
    refused(ct_broadcast_to(spread(ct_shape1(1)), ct_shape2(MANY, MANY)), "broadcast_to");
    refused(ct_reshape(spread(ct_shape1(1)), ct_shape2(MANY, MANY)), "reshape");
    assert_null(ct_zeros(device, CT_F64, ct_shape3(0, MOST, 2))); /* strides beyond any memory */
    assert_int_equal(ct_last_status(device), CT_ESHAPE);
}

static void test_rows(void **state)
{
    (void)state;
    ct_tensor *zero = ct_zeros(device, CT_I64, ct_shape1(1));
    ct_var index = ct_constant(tape, zero);
    refused(ct_scatter_add(spread(ct_shape2(1, 3)), index, MOST), "scatter_add");
    ct_tensor *many = assert_tensor(ct_tensor_broadcast(zero, ct_shape1(MANY)), device);
    refused(ct_gather(spread(ct_shape2(1, MANY)), ct_constant(tape, many)), "gather");
    ct_release(zero);
    ct_release(many);
}

/* Views of that size are fine: nothing is allocated. */
static void test_views(void **state)
{
    (void)state;
    ct_var x = spread(ct_shape2(MANY, 3)), y = ct_slice(ct_t(x), 1, MANY - 1, MANY, 1);
    assert_ok(ct_check(y), ct_tape_message(tape));
    assert_true(ct_shape_equal(ct_var_shape(y), ct_shape2(3, 1)));
    assert_close(ct_item(ct_sum(y, CT_ALL, false)), 3, 0, 0);
    ct_tape_reset(tape);
}

/* A sum over nothing, a product without elements and triangles without rows take no time, however large the
 * other extents. */
static void test_nothing(void **state)
{
    (void)state;
    ct_tensor *none = ct_zeros(device, CT_F64, ct_shape3(2, 1, 0)),
              *wide = assert_tensor(ct_tensor_broadcast(none, ct_shape3(2, MANY, 0)), device);
    ct_var y = ct_sum_to(ct_constant(tape, wide), ct_shape3(2, 1, 1));
    assert_ok(ct_check(y), ct_tape_message(tape));
    assert_elements(ct_value(y), 0, 0, 0, 0);
    ct_var T = ct_reshape(ct_constant(tape, wide), ct_shape3(MANY, 0, 0)); /* MANY triangles of 0 × 0 */
    assert_int_equal(ct_var_shape(ct_tri_solve(T, ct_reshape(T, ct_shape2(0, 3)), 0)).dim[0], MANY);
    ct_var x = ct_sum(ct_constant(tape, wide), 0, false); /* MANY × 0 */
    assert_true(ct_shape_equal(ct_var_shape(ct_matmul(x, ct_matmul(ct_t(x), x))), ct_shape2(MANY, 0)));
    assert_ok(ct_check(x), ct_tape_message(tape));
    ct_release(none);
    ct_release(wide);
    ct_tape_reset(tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests_name("huge", tests, open_tape, close_tape);
}
