/* The two ways to factorise a batch give the same factors, the same row exchanges and the same failing
 * members. */
#include "check_sim.h"

#include <cotangent/ops.h>

#include "tensor/cuda/batch.cuh"
#include "tensor/cuda/loop.cuh"

#include <vector>

enum { MEMBERS = 4 }; /* one of them singular, one with NaN */

struct result {
    double *factors;
    int64_t *pivots, failed[MEMBERS];
};

static result factor(ct_device *dev, const ct_tensor *A, bool lu, bool looped)
{
    const int64_t n = A->view.dim[1];
    ct_tensor *copy = ct_tensor_clone(A), *pivots = ct_zeros(dev, CT_I64, ct_shape2(MEMBERS, n)),
              *failed = ct_full(dev, CT_I64, ct_shape1(MEMBERS), 77);
    const ct_view *t = &copy->view;
    ct__matrix m;
    ct__job b = ct__make_job(dev, 1, &t, &m);
    ct_status s =
        lu ? (looped ? ct__lu_looped : ct__lu_batched)(b, ct__transposed(m), (int64_t *)pivots->view.data,
                                                       (int64_t *)failed->view.data)
           : (looped ? ct__cholesky_looped : ct__cholesky_blocked)(b, m, (int64_t *)failed->view.data);
    assert_ok(s, ct_message(dev));
    ct_tensor *wide = ct_tensor_cast(copy, CT_F64);
    result r;
    r.factors = (double *)malloc((size_t)(MEMBERS * n * n) * sizeof(double));
    r.pivots = (int64_t *)malloc((size_t)(MEMBERS * n) * sizeof(int64_t));
    assert_ok(ct_read(wide, r.factors, (size_t)(MEMBERS * n * n) * sizeof(double)), ct_message(dev));
    assert_ok(ct_read(pivots, r.pivots, (size_t)(MEMBERS * n) * sizeof(int64_t)), ct_message(dev));
    assert_ok(ct_read(failed, r.failed, sizeof r.failed), ct_message(dev));
    for (ct_tensor *x : { copy, pivots, failed, wide }) ct_release(x);
    return r;
}

static void two_ways(void **)
{
    for (ct_dtype dtype : { CT_F64, CT_F32 })
        for (int64_t n : { 1, 5, 33, 70 })
            for (int lu = 0; lu < 2; lu++) {
                ct_device *dev = ct_device_open("cuda:0");
                const int64_t size = n * n;
                double *x = (double *)malloc((size_t)(MEMBERS * size) * sizeof(double));
                uint64_t state = 1;
                for (int64_t e = 0; e < MEMBERS * size;
                     e++) { /* its lower triangle is that of an SPD matrix, too */
                    state = state * 6364136223846793005u + 1442695040888963407u;
                    x[e] = (double)(state >> 11) / 9007199254740992. - .5;
                    if (!lu && e % size % (n + 1) == 0) x[e] += (double)n;
                }
                for (int64_t j = 0; j < n; j++) x[size + (n - 1) * n + j] = x[size + j * n + n - 1] = 0;
                x[2 * size + (n - 1) * n + n / 2] = NAN;
                ct_tensor *wide = ct_from(dev, CT_F64, ct_shape3(MEMBERS, n, n), x),
                          *A = ct_tensor_cast(wide, dtype);
                result a = factor(dev, A, lu, false), b = factor(dev, A, lu, true);
                assert_int_equal(a.failed[0], 0);
                assert_int_equal(a.failed[1], n);
                assert_true(a.failed[2] || lu); /* LU with NaN is tested separately */
                for (int k = 0; k < MEMBERS; k++) {
                    if (k == 2) continue;
                    assert_int_equal(a.failed[k], b.failed[k]);
                    for (int64_t i = 0; i < n && k != 1; i++) {
                        if (lu) assert_int_equal(a.pivots[k * n + i], b.pivots[k * n + i]);
                        for (int64_t j = 0; j < (lu ? n : i + 1); j++)
                            assert_close(a.factors[k * size + i * n + j], b.factors[k * size + i * n + j],
                                         dtype == CT_F64 ? 1e-9 : 1e-2, dtype == CT_F64 ? 1e-10 : 1e-3);
                    }
                }
                assert_true(b.failed[2] || lu);
                free(x), free(a.factors), free(a.pivots), free(b.factors), free(b.pivots);
                ct_release(wide), ct_release(A);
                ct_device_close(dev);
            }
    assert_int_equal(cudasim_live(), 0);
}

/* R, the reflectors and tau, of tall, square and wide matrices. */
static void two_ways_of_qr(void **)
{
    ct_device *dev = ct_device_open("cuda:0");
    for (ct_dtype dtype : { CT_F64, CT_F32 })
        for (int64_t m : { 3, 40 })
            for (int64_t n : { 1, 3, 17 }) {
                const int64_t count = m < n ? m : n, size = MEMBERS * (m * n + count);
                double x[2][MEMBERS * (40 * 17 + 17)];
                for (int looped = 0; looped < 2; looped++) {
                    ct_tensor *A = ct_rand_normal(dev, dtype, ct_shape3(MEMBERS, n, m), 1, 0),
                              *tau = ct_zeros(dev, dtype, ct_shape3(MEMBERS, 1, count));
                    const ct_view *t[] = { &A->view, &tau->view };
                    ct__matrix M[2];
                    const ct__job b = ct__make_job(dev, 2, t, M);
                    assert_ok((looped ? ct__qr_looped : ct__qr_batched)(b, ct__transposed(M[0]), M[1]),
                              ct_message(dev));
                    ct_tensor *wide[] = { ct_tensor_cast(A, CT_F64), ct_tensor_cast(tau, CT_F64) };
                    assert_ok(ct_read(wide[0], x[looped], (size_t)(MEMBERS * m * n) * sizeof(double)), "");
                    assert_ok(ct_read(wide[1], x[looped] + MEMBERS * m * n,
                                      (size_t)(MEMBERS * count) * sizeof(double)),
                              "");
                    for (ct_tensor *y : { A, tau, wide[0], wide[1] }) ct_release(y);
                }
                for (int64_t e = 0; e < size; e++)
                    assert_close(x[0][e], x[1][e], dtype == CT_F64 ? 1e-12 : 1e-4,
                                 dtype == CT_F64 ? 1e-12 : 1e-4);
            }
    ct_device_close(dev);
    assert_int_equal(cudasim_live(), 0);
}

/* 2³² + 1 members must not be taken for 1 by cuBLAS, which counts matrices in 32 bits, nor by a grid of
 * blocks. */
static void more_members_than_32_bits_count(void **)
{
    ct_device *dev = ct_device_open("cuda:0");
    ct_tensor *A = ct_full(dev, CT_F64, ct_shape2(1, 1), 4);
    const ct_view *t = &A->view;
    ct__matrix m; /* each member the same: a step of 0 */
    ct__job b = ct__make_job(dev, 1, &t, &m);
    b.ndim = 1;
    b.members = b.dim[0] = ((int64_t)1 << 32) + 1;
    ct__addresses(b, m);
    assert_int_equal(b.status, CT_EUNSUPPORTED);
    assert_true(strstr(ct_message(dev), "split the batch") != NULL);
    assert_int_equal(ct__blocks(b.members), 0); /* which a launch refuses */
    ct_release(A);
    ct_device_close(dev);
}

/* More rows than a block has threads. The rows of 2 I + small numbers are permuted, so that all are
 * exchanged. */
static void orders_of_many_rows(void **)
{
    enum { N = 600 };
    ct_device *dev = ct_device_open("cuda:0");
    double *A = (double *)calloc(N * N, sizeof *A), b[N], x[N], det[2];
    uint64_t state = 3;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            A[i * 7 % N * N + j] = (i == j ? 2. : 0) + ((double)(state >> 11) / 9007199254740992. - .5) / N;
        }
    for (int i = 0; i < N; i++) {
        b[i] = 0;
        for (int j = 0; j < N; j++) b[i] += A[i * N + j] * (j + 1);
    }
    ct_tensor *A_ = ct_from(dev, CT_F64, ct_shape2(N, N), A), *b_ = ct_from(dev, CT_F64, ct_shape2(N, 1), b);
    ct_tape *tape = ct_tape_new(dev);
    ct_var a = ct_leaf(tape, A_), solution = ct_solve(a, ct_leaf(tape, b_)), sign, expected_sign,
           log_det = ct_slogdet(a, &sign);
    assert_ok(ct_read(ct_value(solution), x, sizeof x), ct_tape_message(tape));
    for (int i = 0; i < N; i++) assert_close(x[i], i + 1, 1e-10, 1e-10);
    assert_ok(ct_read(ct_value(log_det), &det[0], sizeof *det), ct_tape_message(tape));
    assert_ok(ct_read(ct_value(sign), &det[1], sizeof *det), ct_tape_message(tape));
    ct_device *cpu = ct_device_open("cpu");
    ct_tensor *there = ct_from(cpu, CT_F64, ct_shape2(N, N), A);
    ct_tape *other = ct_tape_new(cpu);
    ct_var expected = ct_slogdet(ct_leaf(other, there), &expected_sign);
    assert_close(det[0], ct_item(expected), 1e-12, 0);
    assert_close(det[1], ct_item(expected_sign), 0, 0);
    ct_tape_free(tape), ct_tape_free(other);
    ct_release(A_), ct_release(b_), ct_release(there);
    free(A);
    ct_device_close(dev), ct_device_close(cpu);
    assert_int_equal(cudasim_live(), 0);
}

/* Random matrices need nearly all exchanges. */
static void orders_of_a_batch(void **)
{
    enum { BATCH = 3, N = 33 };
    int64_t order[2][BATCH * N];
    const char *const names[] = { "cpu", "cuda:0" };
    for (int k = 0; k < 2; k++) {
        ct_device *dev = ct_device_open(names[k]);
        ct_tape *tape = ct_tape_new(dev);
        ct_tensor *A = ct_rand_normal(dev, CT_F64, ct_shape3(BATCH, N, N), 1, 0);
        ct_var rows;
        ct_lu(ct_constant(tape, A), &rows);
        assert_ok(ct_read(ct_value(rows), order[k], sizeof order[k]), ct_tape_message(tape));
        ct_release(A);
        ct_tape_free(tape);
        ct_device_close(dev);
    }
    assert_memory_equal(order[0], order[1], sizeof order[0]);
}

/* A batch that is not one dimension in memory takes as many products as its smaller dimension has members,
 * whichever that is. */
static void products_of_a_batch(void **)
{
    enum { MANY = 50, FEW = 3, SIZE = 2 };
    ct_device *dev = ct_device_open("cuda:0");
    for (int64_t rows : { MANY, FEW }) {
        const int64_t cols = MANY + FEW - rows, shape[] = { rows, cols + 1, SIZE, SIZE },
                      count = rows * (cols + 1) * SIZE * SIZE;
        std::vector<double> x((size_t)count), y((size_t)(rows * cols * SIZE * SIZE));
        for (int64_t i = 0; i < count; i++) x[(size_t)i] = (double)(i % 17);
        ct_tensor *all = ct_from(dev, CT_F64, ct_shape_of(4, shape), x.data()),
                  *part = ct_tensor_slice(all, 1, 0, cols, 1);
        ct_tape *tape = ct_tape_new(dev);
        ct_var a = ct_leaf(tape, part);
        cudasim_watch();
        ct_var product = ct_matmul(a, a);
        assert_in_range(cudasim_calls(), FEW, FEW + 5);
        assert_ok(ct_read(ct_value(product), y.data(), y.size() * sizeof y[0]), ct_tape_message(tape));
        for (int64_t i = 0; i < rows * cols; i++) {
            const double *m = &x[(size_t)((i / cols * (cols + 1) + i % cols) * SIZE * SIZE)];
            for (int e = 0; e < SIZE * SIZE; e++)
                assert_true(y[(size_t)(i * SIZE * SIZE + e)] ==
                            m[e / 2 * 2] * m[e % 2] + m[e / 2 * 2 + 1] * m[2 + e % 2]);
        }
        ct_tape_free(tape);
        ct_release(part), ct_release(all);
    }
    ct_device_close(dev);
    assert_int_equal(cudasim_live(), 0);
}

/* -- indices --------------------------------------------------------------------------------------------- */

/* Where the elements of tensors with more than 2³¹ and 2³² of them lie: the places alone, without memory. */
static void indices_from_2_to_the_31_on(void **)
{
    const int64_t far = (int64_t)1 << 31;
    ct__span s = { 3, 6 * far, { { 2, { 5 } }, { far + 3, { 7 } }, { 3, { 11 } } }, {}, {} };
    ct__batch b = { CT_F64, 3, 6 * (far + 3), { 2, far + 3, 3 } };
    ct__matrix m = { NULL, 1, 1, 1, 1, 0, { 5, 7, 11 } };
    for (int64_t i : { far - 1, far, far + 7, 2 * far - 1, 2 * far, 3 * far + 5, 6 * far - 1 }) {
        const int64_t wanted = i / 3 / (far + 3) * 5 + i / 3 % (far + 3) * 7 + i % 3 * 11;
        assert_int_equal(ct__located<1>(s, i)[0], wanted);
        assert_int_equal(ct__member_at(b, m, i), wanted);
        assert_int_equal(ct__quotient(i, 3), i / 3);
    }
}

/* An order in which one number takes the place of another is found, however far apart they are. */
static void an_index_twice(void **)
{
    enum { N = 600 };
    int64_t order[N];
    ct_device *dev = ct_device_open("cuda:0");
    for (uint64_t seed = 0; seed < 16; seed++) {
        cudasim_seed(seed);
        for (int64_t i = 0; i < N; i++) order[i] = i * 7 % N;
        order[N - 1] = order[(int)seed];
        ct_tensor *t = ct_from(dev, CT_I64, ct_shape2(N, 1), order),
                  *x = ct_zeros(dev, CT_F64, ct_shape2(N, 1)), *out = ct_zeros(dev, CT_F64, ct_shape2(N, 1));
        assert_ok(ct__cuda_permute_rows(dev, &x->view, &t->view, false, &out->view), ct_message(dev));
        assert_status(ct_read(t, order, sizeof order), CT_EINDEX, ct_message(dev));
        ct_release(t), ct_release(x), ct_release(out);
    }
    cudasim_seed(0);
    ct_device_close(dev);
    assert_int_equal(cudasim_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(two_ways),
                                        cmocka_unit_test(two_ways_of_qr),
                                        cmocka_unit_test(products_of_a_batch),
                                        cmocka_unit_test(orders_of_many_rows),
                                        cmocka_unit_test(orders_of_a_batch),
                                        cmocka_unit_test(more_members_than_32_bits_count),
                                        cmocka_unit_test(indices_from_2_to_the_31_on),
                                        cmocka_unit_test(an_index_twice) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
