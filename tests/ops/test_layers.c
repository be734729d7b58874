/* gather_matmul and blockdiag_linear beyond the matrix's sizes: groups kept across steps, indices out of
 * range, memory, several threads, a layer without a bias. */
#include "check.h"

#include <cotangent/cotangent.h>

enum { N = 3000, M = 37, I = 2, J = 40, K = 24 };

typedef struct step {
    double out, A_bar, C_bar; /* checksums */
    uint64_t beyond;          /* bytes held at once beside inputs, outputs and cotangents */
} step;

static double checksum(const ct_tensor *t)
{
    int64_t n = ct_tensor_count(t);
    double *x = malloc((size_t)(n + 1) * sizeof *x), sum = 0;
    if (!x || ct_read(t, x, (size_t)n * sizeof *x)) sum = NAN;
    for (int64_t i = 0; x && i < n; i++) sum = 0.75 * sum + x[i] * (double)(1 + i % 97);
    free(x);
    return sum;
}

static uint64_t bytes_of(const ct_tensor *t)
{
    return (uint64_t)ct_tensor_count(t) * ct_dtype_size(ct_tensor_dtype(t));
}

/* The groups are made from q where `groups` is NULL. */
static step run(ct_tape *tape, ct_tensor *A, ct_tensor *C, ct_tensor *q, ct_tensor *groups)
{
    ct_device *dev = ct_tape_device(tape);
    ct_tape_reset(tape);
    ct_memory_mark(dev);
    uint64_t before = ct_memory(dev).bytes_now;
    ct_var a = ct_leaf(tape, A), c = ct_leaf(tape, C), bar[2];
    ct_var out = groups ? ct_grouped_matmul(a, c, ct_constant(tape, groups))
                        : ct_gather_matmul(a, c, ct_constant(tape, q));
    assert_int_equal(ct_grad(out, out, (ct_var[]){ a, c }, bar, 2, CT_GRAD_KEEP), CT_OK);
    step s = { checksum(ct_value(out)), checksum(ct_value(bar[0])), checksum(ct_value(bar[1])), 0 };
    s.beyond = ct_memory(dev).bytes_peak - before - bytes_of(ct_value(out)) - bytes_of(A) - bytes_of(C);
    return s;
}

static ct_tensor *indices(ct_device *dev, int64_t n, int64_t below)
{
    static int64_t q[N];
    for (int64_t i = 0; i < n; i++) q[i] = i * i * 7919 % below;
    return ct_from(dev, CT_I64, ct_shape1(n), q);
}

static void test_groups_kept(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        ct_device *dev = ct_device_open_with(check_device(), &(ct_device_options){ .threads = threads });
        ct_tape *tape = ct_tape_new(dev);
        ct_tensor *A = ct_rand_normal(dev, CT_F64, ct_shape3(N, I, J), 1, 0),
                  *C = ct_rand_normal(dev, CT_F64, ct_shape3(M, J, K), 1, 1), *q = indices(dev, N, M);
        ct_tensor *groups = ct_retain(ct_value(ct_group_by(ct_constant(tape, q), M)));
        assert_non_null(groups);
        step fresh = run(tape, A, C, q, NULL), kept = run(tape, A, C, q, groups),
             again = run(tape, A, C, q, groups);
        assert_true(fresh.out == kept.out && fresh.A_bar == kept.A_bar && fresh.C_bar == kept.C_bar);
        assert_true(again.out == kept.out && again.A_bar == kept.A_bar && again.C_bar == kept.C_bar);
        assert_true(fresh.beyond < 1 << 20); /* an N x J x K array has 23 MB */
        ct_tape_free(tape);
        ct_release(A), ct_release(C), ct_release(q), ct_release(groups);
        ct_device_close(dev);
    }
}

/* The usual composition: gather C's matrices, then a batched product. */
static void test_against_gather(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(dev);
    ct_tensor *A = ct_rand_normal(dev, CT_F64, ct_shape3(500, I, J), 2, 0),
              *C = ct_rand_normal(dev, CT_F64, ct_shape3(M, J, K), 2, 1), *q = indices(dev, 500, M);
    ct_var a = ct_leaf(tape, A), c = ct_leaf(tape, C), index = ct_constant(tape, q), bar[2][2];
    ct_var y[2] = { ct_gather_matmul(a, c, index), ct_matmul(a, ct_gather(c, index)) };
    for (int k = 0; k < 2; k++)
        assert_int_equal(ct_grad(y[k], y[0], (ct_var[]){ a, c }, bar[k], 2, CT_GRAD_KEEP), CT_OK);
    ct_var difference[] = { ct_sub(y[0], y[1]), ct_sub(bar[0][0], bar[1][0]), ct_sub(bar[0][1], bar[1][1]) };
    for (int k = 0; k < 3; k++) assert_true(ct_item(ct_max(ct_abs(difference[k]), CT_ALL, false)) < 1e-10);
    ct_tape_free(tape);
    ct_release(A), ct_release(C), ct_release(q);
    ct_device_close(dev);
}

static void test_bad_index(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(dev);
    ct_tensor *A = ct_zeros(dev, CT_F32, ct_shape3(4, 1, 2)), *C = ct_zeros(dev, CT_F32, ct_shape3(3, 2, 2));
    for (int64_t bad = -1; bad <= 3; bad += 4) {
        ct_tape_reset(tape);
        ct_tensor *q = ct_from(dev, CT_I64, ct_shape1(4), (int64_t[]){ 0, 2, bad, 1 });
        ct_var y = ct_gather_matmul(ct_leaf(tape, A), ct_leaf(tape, C), ct_constant(tape, q));
        assert_int_equal(ct_check(y), CT_EINDEX);
        assert_non_null(strstr(ct_tape_message(tape), bad < 0 ? "index[2] = -1" : "index[2] = 3"));
        assert_non_null(strstr(ct_tape_message(tape), "[0, 3)"));
        ct_release(q);
    }
    ct_tape_reset(tape); /* groups of other extents */
    ct_tensor *q = ct_from(dev, CT_I64, ct_shape1(4), (int64_t[]){ 0, 1, 1, 0 });
    ct_var groups = ct_group_by(ct_constant(tape, q), 2);
    ct_var y = ct_grouped_matmul(ct_leaf(tape, A), ct_leaf(tape, C), groups);
    assert_int_equal(ct_check(y), CT_ESHAPE);
    assert_non_null(strstr(ct_tape_message(tape), "ct_group_by(q, 3)"));
    ct_tape_reset(tape);
    assert_int_equal(ct_check(ct_group_by(ct_constant(tape, q), -1)), CT_EINVAL);
    ct_tape_reset(tape);
    assert_int_equal(ct_check(ct_group_by(ct_constant(tape, q), INT64_MAX)), CT_EINVAL);
    ct_tape_reset(tape);
    assert_int_equal(ct_check(ct_group_by(ct_constant(tape, q), (int64_t)1 << 40)), CT_ENOMEM);
    ct_tape_free(tape);
    ct_release(A), ct_release(C), ct_release(q);
    ct_device_close(dev);
}

/* y_m = x_m W_mᵀ + b_m beside slices, products and a concatenation, with and without a bias. */
static void test_blockdiag(void **state)
{
    (void)state;
    enum { ROWS = 70, BLOCKS = 5, F = 33, G = 48 };
    for (int threads = 1; threads <= 2; threads++) {
        ct_device *dev = ct_device_open_with(check_device(), &(ct_device_options){ .threads = threads });
        ct_tape *tape = ct_tape_new(dev);
        ct_tensor *t[] = { ct_rand_normal(dev, CT_F64, ct_shape2(ROWS, BLOCKS * F), 3, 0),
                           ct_rand_normal(dev, CT_F64, ct_shape3(BLOCKS, G, F), 3, 1),
                           ct_rand_normal(dev, CT_F64, ct_shape1(BLOCKS * G), 3, 2) };
        for (int biased = 0; biased < 2; biased++) {
            ct_tape_reset(tape);
            ct_var in[3], part[BLOCKS], bar[2][3];
            for (int i = 0; i < 3; i++) in[i] = ct_leaf(tape, t[i]);
            for (int m = 0; m < BLOCKS; m++) {
                ct_var x = ct_slice(in[0], 1, m * F, (m + 1) * F, 1),
                       W = ct_squeeze(ct_slice(in[1], 0, m, m + 1, 1), 0);
                part[m] = ct_matmul(x, ct_t(W));
            }
            ct_var y[2] = { ct_blockdiag_linear(in[0], in[1], biased ? in[2] : (ct_var){ NULL, 0, 0 }),
                            ct_concat(part, BLOCKS, 1) };
            if (biased) y[1] = ct_add(y[1], in[2]);
            for (int k = 0; k < 2; k++)
                assert_int_equal(ct_grad(y[k], y[0], in, bar[k], 2 + biased, CT_GRAD_KEEP), CT_OK);
            assert_true(ct_item(ct_max(ct_abs(ct_sub(y[0], y[1])), CT_ALL, false)) < 1e-12);
            for (int i = 0; i < 2 + biased; i++)
                assert_true(ct_item(ct_max(ct_abs(ct_sub(bar[0][i], bar[1][i])), CT_ALL, false)) < 1e-11);
        }
        ct_tape_free(tape);
        for (int i = 0; i < 3; i++) ct_release(t[i]);
        ct_device_close(dev);
    }
}

static void test_blockdiag_refusals(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(dev);
    const struct {
        ct_shape x, W, bias;
        const char *told;
    } bad[] = { { ct_shape2(2, 7), ct_shape3(2, 3, 4), ct_shape1(6), "x has 7 columns" },
                { ct_shape2(2, 8), ct_shape3(2, 3, 4), ct_shape1(8), "M G = 6" },
                { ct_shape1(8), ct_shape3(2, 3, 4), ct_shape1(6), "wanted x (B, M F)" },
                { ct_shape2(2, 8), ct_shape2(3, 4), ct_shape1(6), "wanted x (B, M F)" } };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        ct_tape_reset(tape);
        ct_tensor *x = ct_zeros(dev, CT_F64, bad[k].x), *W = ct_zeros(dev, CT_F64, bad[k].W),
                  *b = ct_zeros(dev, CT_F64, bad[k].bias);
        ct_var y = ct_blockdiag_linear(ct_leaf(tape, x), ct_leaf(tape, W), ct_leaf(tape, b));
        assert_int_equal(ct_check(y), CT_ESHAPE);
        assert_non_null(strstr(ct_tape_message(tape), bad[k].told));
        ct_release(x), ct_release(W), ct_release(b);
    }
    ct_tape_free(tape);
    ct_device_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_groups_kept),
                                        cmocka_unit_test(test_against_gather),
                                        cmocka_unit_test(test_bad_index), cmocka_unit_test(test_blockdiag),
                                        cmocka_unit_test(test_blockdiag_refusals) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
