/* Tensors and views against index arithmetic written out. */
#include "check.h"

#include "tensor/internal.h"

static ct_device *dev;

static int open_device(void **state)
{
    (void)state;
    dev = ct_device_open("cpu");
    return ct_device_status(dev);
}

static int close_device(void **state)
{
    (void)state;
    uint64_t held = ct_memory(dev).bytes_now;
    ct_device_close(dev);
    return held ? -1 : 0;
}

/* 0, 1, 2, ... in the given shape */
static ct_tensor *iota(ct_shape shape)
{
    ct_tensor *t = assert_tensor(ct_empty(dev, CT_F64, shape), dev);
    for (int64_t i = 0; i < ct_tensor_count(t); i++) ((double *)ct_tensor_data(t))[i] = (double)i;
    return t;
}

static void shapes(void **state)
{
    (void)state;
    assert_int_equal(ct_shape_count(ct_shape0()), 1);
    assert_int_equal(ct_shape_count(ct_shape3(2, 0, 1)), 0);
    assert_int_equal(ct_shape_count(ct_shape2(-1, 3)), -1);
    assert_int_equal(ct_shape_count(ct_shape2(INT64_MAX, 3)), -1);
    assert_int_equal(ct_shape_count(ct_shape_of(9, (int64_t[9]){ 0 })), -1);
    ct_shape b = ct_shape_broadcast(ct_shape3(4, 1, 5), ct_shape2(3, 1));
    assert_true(ct_shape_equal(b, ct_shape3(4, 3, 5)));
    assert_int_equal(ct_shape_broadcast(ct_shape1(2), ct_shape1(3)).ndim, -1);
    assert_int_equal(ct_shape_broadcast(ct_shape1(0), ct_shape1(1)).dim[0], 0);
    char text[16];
    assert_string_equal(ct__shape_text(ct_shape2(30, 4), text, sizeof text), "30x4");
    assert_string_equal(ct__shape_text(ct_shape0(), text, sizeof text), "scalar");
    ct__shape_text(ct_shape3(1000000000, 1000000000, 7), text, sizeof text); /* cut, not overrun */
    assert_int_equal(strlen(text), 15);
}

static void impossible_shapes_are_refused(void **state)
{
    (void)state;
    assert_null(ct_empty(dev, CT_F64, ct_shape2(-1, 2)));
    assert_int_equal(ct_last_status(dev), CT_ESHAPE);
    assert_null(ct_empty(dev, CT_F64, ct_shape2(INT64_MAX / 4, 3)));
    assert_null(ct_empty(dev, CT_F64, ct_shape1(INT64_MAX / 8)));
    assert_null(ct_empty(dev, CT_F64, ct_shape_of(-1, NULL)));
    assert_null(ct_empty(dev, (ct_dtype)77, ct_shape1(1)));
    assert_int_equal(ct_last_status(dev), CT_EDTYPE);
    assert_null(ct_empty(dev, CT_F64, ct_shape1(INT64_MAX / 64))); /* fits 63 bits, fits no memory */
    assert_int_equal(ct_last_status(dev), CT_ENOMEM);
    assert_null(ct_empty(dev, CT_F64, (ct_shape){ .ndim = CT_MAX_DIMS + 4 }));
    assert_non_null(strstr(ct_message(dev), "the shape no shape"));
}

static void reads_and_writes(void **state)
{
    (void)state;
    ct_tensor *t = iota(ct_shape2(2, 3)), *u = ct_tensor_transpose(t);
    assert_elements(u, 0, 0, 0, 3, 1, 4, 2, 5);
    double back[6], more[6] = { 10, 11, 12, 13, 14, 15 };
    assert_ok(ct_read(u, back, sizeof back), ct_message(dev));
    assert_close(back[1], 3, 0, 0);
    assert_ok(ct_write(u, more, sizeof more), ct_message(dev));
    assert_elements(t, 0, 0, 10, 12, 14, 11, 13, 15);
    assert_int_equal(ct_read(u, back, sizeof back - 8), CT_ESHAPE);
    assert_int_equal(ct_read(u, NULL, sizeof back), CT_EINVAL);
    assert_true(isnan(ct_tensor_item(t)));
    ct_release(u);
    ct_release(t);
}

static void views_share_and_refuse(void **state)
{
    (void)state;
    ct_tensor *t = iota(ct_shape3(2, 3, 4));
    ct_tensor *s = ct_tensor_slice(t, 1, 0, 3, 2), *p = ct_tensor_permute(t, (int[]){ 2, 0, 1 });
    assert_elements(s, 0, 0, 0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 20, 21, 22, 23);
    ct_tensor *n = ct_tensor_slice(t, 1, -2, CT_END, 1), *m = ct_tensor_slice(t, -1, -4, -1, 2);
    assert_elements(n, 0, 0, 4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23);
    assert_elements(m, 0, 0, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22);
    assert_elements(p, 0, 0, 0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19,
                    23);
    assert_false(ct_tensor_is_contiguous(p));
    ct_tensor *r = ct_tensor_reshape(t, ct_shape2(-1, 8));
    assert_int_equal(ct_tensor_dim(r, 0), 3);
    assert_ptr_equal(ct_tensor_data(r), ct_tensor_data(t));
    ct_tensor *q = ct_tensor_reshape(s, ct_shape_of(4, (int64_t[]){ 2, 2, 2, 2 })); /* splits a strided run */
    assert_int_equal(ct_tensor_stride(q, 1), 8);
    assert_int_equal(ct_tensor_stride(q, 2), 2);
    assert_null(ct_tensor_reshape(s, ct_shape2(2, 8 + 1)));
    assert_null(ct_tensor_reshape(p, ct_shape1(24))); /* needs a copy */
    assert_non_null(strstr(ct_message(dev), "clone"));
    assert_null(ct_tensor_reshape(t, ct_shape2(-1, -1)));
    assert_null(ct_tensor_reshape(t, ct_shape2(-1, 5)));
    assert_null(ct_tensor_slice(t, 3, 0, 1, 1));
    assert_null(ct_tensor_slice(t, 0, 0, 3, 1));
    assert_null(ct_tensor_slice(t, 0, 1, 0, 1));
    assert_null(ct_tensor_slice(t, 0, 0, 1, 0));
    assert_null(ct_tensor_slice(t, 0, -9, CT_END, 1));
    assert_null(ct_tensor_permute(t, (int[]){ 0, 0, 1 }));
    assert_null(ct_tensor_squeeze(t, 0));
    assert_null(ct_tensor_transpose(NULL));
    ct_tensor *e = ct_tensor_slice(t, -1, 4, 4, 1);
    assert_int_equal(ct_tensor_count(e), 0);
    ct_tensor *u = ct_tensor_unsqueeze(t, -1), *v = ct_tensor_squeeze(u, 3);
    assert_int_equal(ct_tensor_ndim(u), 4);
    assert_true(ct_shape_equal(ct_tensor_shape(v), ct_tensor_shape(t)));
    ct_tensor *b = ct_tensor_slice(t, 0, 1, 2, 1), *w = ct_tensor_broadcast(b, ct_shape3(5, 3, 4));
    assert_int_equal(ct_tensor_stride(w, 0), 0);
    assert_int_equal(ct_copy(t, w), CT_EINVAL);
    ct_tensor *d = ct_tensor_diagonal(t);
    assert_elements(d, 0, 0, 0, 5, 10, 12, 17, 22);
    ct_tensor *all[] = { t, s, n, m, p, r, q, e, u, v, b, w, d };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ct_release(all[i]);
}

static int released;
static void count_release(void *context, void *data)
{
    (void)context, (void)data;
    released++;
}

static void wraps_without_a_copy(void **state)
{
    (void)state;
    double data[6] = { 1, 2, 3, 4, 5, 6 };
    ct_tensor *t = ct_wrap(dev, CT_F64, ct_shape2(2, 3), data, count_release, NULL),
              *v = ct_tensor_transpose(t);
    data[5] = 7;
    assert_elements(v, 0, 0, 1, 4, 2, 5, 3, 7);
    ct_release(t);
    assert_int_equal(released, 0);
    ct_release(v);
    assert_int_equal(released, 1);
    assert_int_equal(ct_memory(dev).bytes_now, 0);
    t = ct_wrap_strided(dev, CT_F64, ct_shape2(2, 2), (int64_t[]){ 1, 2 }, data, NULL, NULL);
    assert_elements(t, 0, 0, 1, 3, 2, 4);
    ct_release(t);
    assert_null(ct_wrap(dev, CT_F64, ct_shape1(1), NULL, NULL, NULL));
    assert_null(ct_wrap(dev, CT_F64, ct_shape1(1), (char *)data + 4, NULL, NULL));
    assert_null(ct_wrap_strided(dev, CT_F64, ct_shape1(2), (int64_t[]){ -1 }, data, NULL, NULL));
    const int64_t far = INT64_MAX / 16;
    assert_null(ct_wrap_strided(dev, CT_F64, ct_shape2(3, 2), (int64_t[]){ far, 1 }, data, NULL, NULL));
    assert_null(ct_wrap_strided(dev, CT_F64, ct_shape2(2, 2), (int64_t[]){ far, far }, data, NULL, NULL));
    /* strides that nothing reads */
    t = ct_wrap_strided(dev, CT_F64, ct_shape3(1, 2, 1), (int64_t[]){ INT64_MIN, 3, far }, data, NULL, NULL);
    assert_elements(t, 0, 0, 1, 4);
    ct_release(t);
    t = ct_wrap_strided(dev, CT_F64, ct_shape2(100, 0), (int64_t[]){ far, -1 }, data, NULL, NULL);
    v = ct_tensor_slice(t, 0, 50, 60, 7);
    assert_true(ct_tensor_dim(v, 0) == 2 && ct_tensor_count(v) == 0);
    ct_release(v), ct_release(t);
}

static void converts_and_copies(void **state)
{
    (void)state;
    ct_tensor *t = iota(ct_shape2(3, 2)), *f = ct_tensor_cast(t, CT_F32), *i = ct_tensor_cast(f, CT_I64);
    assert_elements(i, 0, 0, 0, 1, 2, 3, 4, 5);
    ct_tensor *row = tensor1(dev, 2, 8, 9);
    assert_ok(ct_copy(row, f), ct_message(dev)); /* broadcast and converted */
    assert_elements(f, 0, 0, 8, 9, 8, 9, 8, 9);
    assert_int_equal(ct_copy(t, row), CT_ESHAPE);
    assert_int_equal(ct_copy(NULL, row), CT_EINVAL);
    ct_device *other = ct_device_open("cpu");
    ct_tensor *there = ct_tensor_to(t, other);
    assert_ptr_equal(ct_tensor_device(there), other);
    assert_int_equal(ct_copy(t, there), CT_EDEVICE);
    assert_elements(there, 0, 0, 0, 1, 2, 3, 4, 5);
    ct_device_close(other);
    ct_tensor *all[] = { t, f, i, row, there };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) ct_release(all[k]);
}

static void random_draws_are_a_function_of_seed_stream_and_index(void **state)
{
    (void)state;
    ct_tensor *a = ct_rand_normal(dev, CT_F64, ct_shape1(20000), 7, 1);
    ct_tensor *b = ct_rand_normal(dev, CT_F64, ct_shape1(5), 7, 1),
              *c = ct_rand_normal(dev, CT_F64, ct_shape1(5), 7, 2);
    const double *x = ct_tensor_data(a), *y = ct_tensor_data(b), *z = ct_tensor_data(c);
    assert_memory_equal(x, y, 40);
    assert_memory_not_equal(y, z, 40);
    double mean = 0, square = 0;
    for (int i = 0; i < 20000; i++) mean += x[i] / 20000, square += x[i] * x[i] / 20000;
    assert_close(mean, 0, 0, 0.03);
    assert_close(square, 1, 0, 0.05);
    ct_tensor *u = ct_rand_uniform(dev, CT_F32, ct_shape1(20000), 1, 0);
    const float *v = ct_tensor_data(u);
    for (int i = 0; i < 20000; i++) assert_true(v[i] > 0 && v[i] < 1);
    assert_null(ct_rand_uniform(dev, CT_I64, ct_shape1(3), 1, 0));
    ct_release(a);
    ct_release(b);
    ct_release(c);
    ct_release(u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shapes, open_device, close_device),
        cmocka_unit_test_setup_teardown(impossible_shapes_are_refused, open_device, close_device),
        cmocka_unit_test_setup_teardown(reads_and_writes, open_device, close_device),
        cmocka_unit_test_setup_teardown(views_share_and_refuse, open_device, close_device),
        cmocka_unit_test_setup_teardown(wraps_without_a_copy, open_device, close_device),
        cmocka_unit_test_setup_teardown(converts_and_copies, open_device, close_device),
        cmocka_unit_test_setup_teardown(random_draws_are_a_function_of_seed_stream_and_index, open_device,
                                        close_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
