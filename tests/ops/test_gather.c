/* gather_matmul, group_by and scatter_add against loops on the host, in sizes around a GPU's tiles, pieces
 * and digits. Groups are longer than a piece, empty, one for all rows, one for each row, or more than rows.
 * Of several bad indices the first is reported. */
#include "check.h"

#include <cotangent/cotangent.h>
#include <cotangent/step.h>

static double next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

enum { ANY, SKEWED, FEW, EACH, KINDS };

/* Skewed: most rows in one group. Few: every fifth group only. Each: a group for each row, where M = N. */
static int64_t *draw(int64_t N, int64_t M, int kind)
{
    int64_t *q = calloc((size_t)N + 1, sizeof *q);
    uint64_t state = 7;
    for (int64_t i = 0; q && i < N; i++) {
        const double u = next(&state);
        q[i] = kind == EACH ? N - 1 - i : (int64_t)(u * (double)M);
        if (kind == SKEWED && u < 0.8) q[i] = M / 2;
        if (kind == FEW) q[i] -= q[i] % 5;
    }
    assert_non_null(q);
    return q;
}

static double *read_all(const ct_tensor *t)
{
    ct_tensor *wide = ct_tensor_cast(t, CT_F64);
    double *x = calloc((size_t)ct_tensor_count(t) + 1, sizeof *x);
    assert_true(wide && x);
    assert_int_equal(ct_read(wide, x, (size_t)ct_tensor_count(t) * sizeof *x), CT_OK);
    ct_release(wide);
    return x;
}

static ct_tensor *drawn(ct_device *dev, ct_dtype dtype, ct_shape shape, uint64_t stream)
{
    ct_tensor *wide = ct_rand_normal(dev, CT_F64, shape, 5, stream), *x = ct_tensor_cast(wide, dtype);
    ct_release(wide);
    return assert_tensor(x, dev);
}

typedef struct sizes {
    int64_t N, M, I, J, K;
    int kind;
} sizes;

static void assert_near(const ct_tensor *t, const double *wanted, const char *what)
{
    static const double eps[] = { [CT_F64] = 1e-13, [CT_F32] = 1e-5, [CT_BF16] = 2e-2, [CT_F16] = 2e-3 };
    double *x = read_all(t), largest = 1;
    for (int64_t i = 0; i < ct_tensor_count(t); i++) largest = fmax(largest, fabs(wanted[i]));
    for (int64_t i = 0; i < ct_tensor_count(t); i++)
        if (!(fabs(x[i] - wanted[i]) <= eps[ct_tensor_dtype(t)] * largest))
            fail_msg("%s: element %lld is %g, not %g", what, (long long)i, x[i], wanted[i]);
    free(x);
}

static void one_product(ct_device *dev, ct_dtype dtype, const sizes *s)
{
    const int64_t I = s->I, J = s->J, K = s->K;
    int64_t *index = draw(s->N, s->M, s->kind);
    ct_tensor *A = drawn(dev, dtype, ct_shape3(s->N, I, J), 0),
              *C = drawn(dev, dtype, ct_shape3(s->M, J, K), 1),
              *G = drawn(dev, dtype, ct_shape3(s->N, I, K), 2),
              *q = ct_from(dev, CT_I64, ct_shape1(s->N), index);
    double *a = read_all(A), *c = read_all(C), *g = read_all(G),
           *out = calloc((size_t)(s->N * I * K) + 1, sizeof *out),
           *A_bar = calloc((size_t)(s->N * I * J) + 1, sizeof *A_bar),
           *C_bar = calloc((size_t)(s->M * J * K) + 1, sizeof *C_bar);
    assert_true(out && A_bar && C_bar);
    for (int64_t r = 0; r < s->N * I; r++)
        for (int64_t j = 0; j < J; j++)
            for (int64_t k = 0; k < K; k++) {
                const int64_t m = (index[r / I] * J + j) * K + k;
                out[r * K + k] += a[r * J + j] * c[m];
                A_bar[r * J + j] += g[r * K + k] * c[m];
                C_bar[m] += a[r * J + j] * g[r * K + k];
            }
    ct_tape *tape = ct_tape_new(dev);
    for (int both = 0; both < 2; both++) { /* the cotangents together, or each alone */
        ct_tape_reset(tape);
        ct_var in[2] = { ct_leaf(tape, A), ct_leaf(tape, C) }, bar[2],
               y = ct_gather_matmul(in[0], in[1], ct_constant(tape, q)), G_var = ct_constant(tape, G);
        if (both) {
            assert_ok(ct_grad(y, G_var, in, bar, 2, CT_GRAD_KEEP), ct_tape_message(tape));
        } else {
            assert_ok(ct_grad(y, G_var, &in[0], &bar[0], 1, CT_GRAD_KEEP), ct_tape_message(tape));
            assert_ok(ct_grad(y, G_var, &in[1], &bar[1], 1, CT_GRAD_KEEP), ct_tape_message(tape));
        }
        assert_near(ct_value(y), out, "out");
        assert_near(ct_value(bar[0]), A_bar, "A_bar");
        assert_near(ct_value(bar[1]), C_bar, "C_bar");
        ct_var again[2], twice = ct_gather_matmul(in[0], in[1], ct_constant(tape, q));
        assert_ok(ct_grad(twice, G_var, in, again, 2, CT_GRAD_KEEP), ct_tape_message(tape));
        double *first = read_all(ct_value(bar[1])), *second = read_all(ct_value(again[1]));
        assert_memory_equal(first, second, (size_t)(s->M * J * K) * sizeof *first); /* the same bits */
        free(first), free(second);
    }
    ct_tape_free(tape);
    ct_release(A), ct_release(C), ct_release(G), ct_release(q);
    free(index), free(a), free(c), free(g), free(out), free(A_bar), free(C_bar);
}

/* A tile has 64 rows and columns, a piece of a sum 256 rows, 1024 where a C_m has four tiles. */
static void test_products(void **state)
{
    (void)state;
    static const sizes all[] = { { 600, 3, 1, 5, 7, SKEWED },    { 257, 1, 1, 4, 64, ANY },
                                 { 140, 2, 4, 64, 66, ANY },     { 1030, 1, 3, 3, 2, ANY },
                                 { 1300, 2, 1, 66, 65, SKEWED }, { 70, 70, 1, 16, 12, EACH },
                                 { 33, 500, 2, 8, 8, FEW },      { 300, 40, 1, 130, 20, FEW },
                                 { 64, 4, 1, 64, 64, ANY },      { 513, 1, 1, 8, 8, ANY },
                                 { 40, 3, 2, 0, 4, ANY },        { 2, 3, 1, 70, 1, ANY },
                                 { 200, 3, 1, 136, 72, ANY },    { 1300, 2, 1, 136, 200, SKEWED } };
    static const ct_dtype dtypes[] = { CT_F64, CT_F32, CT_BF16, CT_F16 };
    ct_device *dev = ct_device_open(check_device());
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        for (int d = 0; d < (check_quick() > 1 ? 2 : 4); d++) one_product(dev, dtypes[d], &all[k]);
    ct_device_close(dev);
}

static void one_order(ct_device *dev, int64_t n, int64_t M, int kind)
{
    ct_tape *tape = ct_tape_new(dev);
    int64_t *q = draw(n, M, kind), *wide = calloc((size_t)(2 * n) + 1, sizeof *wide),
            *got = calloc((size_t)(M + 1 + n), sizeof *got),
            *wanted = calloc((size_t)(M + 1 + n), sizeof *wanted);
    assert_true(wide && got && wanted);
    for (int64_t i = 0; i < n; i++) wide[2 * i] = q[i], wide[2 * i + 1] = -1, wanted[q[i] + 1]++;
    for (int64_t m = 0; m < M; m++) wanted[m + 1] += wanted[m];
    int64_t *place = calloc((size_t)M + 1, sizeof *place);
    assert_non_null(place);
    for (int64_t i = 0; i < n; i++) wanted[M + 1 + wanted[q[i]] + place[q[i]]++] = i;
    ct_tensor *pairs = ct_from(dev, CT_I64, ct_shape2(n, 2), wide),
              *column = ct_tensor_slice(pairs, 1, 0, 1, 1), *flat = ct_tensor_reshape(column, ct_shape1(n));
    ct_var groups = ct_group_by(ct_constant(tape, flat), M);
    assert_ok(ct_check(groups), ct_tape_message(tape));
    assert_ok(ct_read(ct_value(groups), got, (size_t)(M + 1 + n) * sizeof *got), ct_message(dev));
    assert_memory_equal(got, wanted, (size_t)(M + 1 + n) * sizeof *got);
    ct_tape_free(tape);
    ct_release(pairs), ct_release(column), ct_release(flat);
    free(q), free(wide), free(got), free(wanted), free(place);
}

/* A tile of the sort has 1024 elements, a digit 11 bits. */
static void test_orders(void **state)
{
    (void)state;
    static const int64_t n[] = { 0, 1, 1023, 1024, 1025, 3000, 40000 },
                         M[] = { 1, 2, 33, 2048, 2049, 70000, 4194305 };
    ct_device *dev = ct_device_open(check_device());
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        for (size_t k = 0; k < sizeof M / sizeof *M; k++)
            for (int kind = ANY; kind <= (M[k] > 100000 ? ANY : FEW); kind++)
                if (check_quick() < 2 || n[i] < 10000) one_order(dev, n[i], M[k], kind);
    ct_device_close(dev);
}

/* Rows of 3 x 2, and of one number, whose groups are longer than a piece. */
static void test_scatter(void **state)
{
    (void)state;
    static const struct {
        int64_t k, n, a, b;
        int kind;
    } all[] = {
        { 600, 1, 3, 2, ANY }, { 1500, 4, 1, 1, SKEWED }, { 2000, 900, 3, 2, SKEWED }, { 257, 2, 5, 40, FEW }
    };
    ct_device *dev = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(dev);
    for (size_t z = 0; z < 2 * sizeof all / sizeof *all; z++) {
        const int64_t k = all[z / 2].k, n = all[z / 2].n, a = all[z / 2].a, b = all[z / 2].b;
        int64_t *q = draw(k, n, all[z / 2].kind);
        ct_tensor *turned = drawn(dev, z % 2 ? CT_F32 : CT_F64, ct_shape3(b, a, k), z),
                  *x = ct_tensor_permute(turned, (int[]){ 2, 1, 0 }),
                  *index = ct_from(dev, CT_I64, ct_shape1(k), q);
        ct_tape_reset(tape);
        ct_var y = ct_scatter_add(ct_constant(tape, x), ct_constant(tape, index), n),
               twice = ct_scatter_add(ct_constant(tape, x), ct_constant(tape, index), n);
        double *wanted = calloc((size_t)(n * a * b), sizeof *wanted), *from = read_all(x);
        assert_non_null(wanted);
        for (int64_t i = 0; i < k; i++)
            for (int64_t e = 0; e < a * b; e++) wanted[q[i] * a * b + e] += from[i * a * b + e];
        assert_ok(ct_check(y), ct_tape_message(tape));
        assert_near(ct_value(y), wanted, "sums");
        double *first = read_all(ct_value(y)), *second = read_all(ct_value(twice));
        assert_memory_equal(first, second, (size_t)(n * a * b) * sizeof *first);
        free(first), free(second), free(wanted), free(from), free(q);
        ct_release(turned), ct_release(x), ct_release(index);
    }
    ct_tape_free(tape);
    ct_device_close(dev);
}

/* Of several bad indices the first is named, wherever the others are; of several ops, the first that found
 * one. */
static void test_first_bad(void **state)
{
    (void)state;
    enum { N = 40000, M = 50 };
    static const int64_t bad[][3] = { { 39999, 39999, 39999 },
                                      { 20001, 777, 39000 },
                                      { 16384, 16383, 16385 },
                                      { 300, 17000, 299 },
                                      { 33000, 16640, 128 } };
    ct_device *dev = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(dev);
    ct_tensor *x = ct_zeros(dev, CT_F32, ct_shape2(M, 1)), *rows = ct_zeros(dev, CT_F32, ct_shape2(N, 1));
    for (size_t k = 0; k < 3 * sizeof bad / sizeof *bad; k++) {
        const int64_t *at = bad[k / 3];
        int64_t *q = draw(N, M, ANY), first = N;
        for (int b = 0; b < 3; b++) {
            q[at[b]] = b ? M + b : -5;
            if (at[b] < first) first = at[b];
        }
        ct_tape_reset(tape);
        ct_tensor *index = ct_from(dev, CT_I64, ct_shape1(N), q);
        ct_var q_var = ct_constant(tape, index), y = k % 3 == 0 ? ct_gather(ct_constant(tape, x), q_var)
                                                     : k % 3 == 1
                                                         ? ct_group_by(q_var, M)
                                                         : ct_scatter_add(ct_constant(tape, rows), q_var, M);
        int64_t early[2] = { 0, M }; /* a later op's, at an earlier place */
        ct_tensor *other = ct_from(dev, CT_I64, ct_shape1(2), early);
        ct_gather(ct_constant(tape, x), ct_constant(tape, other));
        char wanted[100];
        snprintf(wanted, sizeof wanted, "index[%lld] = %lld", (long long)first, (long long)q[first]);
        assert_int_equal(ct_check(y), CT_EINDEX);
        if (!strstr(ct_tape_message(tape), wanted)) fail_msg("%s: no %s", ct_tape_message(tape), wanted);
        ct_tape_reset(tape);
        float zeros[M];
        assert_ok(ct_read(x, zeros, sizeof zeros), ct_message(dev)); /* said once */
        free(q);
        ct_release(index), ct_release(other);
    }
    ct_tape_free(tape);
    ct_release(x), ct_release(rows);
    ct_device_close(dev);
}

typedef struct lookup {
    ct_tensor *x, *index;
} lookup;

static ct_status look_up(ct_tape *tape, void *context)
{
    const lookup *l = context;
    ct_gather(ct_constant(tape, l->x), ct_constant(tape, l->index));
    return CT_OK;
}

/* A bad index found by replaying an old step comes after those found before the replay. */
static void test_bad_before_replay(void **state)
{
    (void)state;
    enum { N = 30000, M = 50 };
    if (check_at_once()) return; /* every bad index is found by the time the status is asked for */
    ct_device *dev = ct_device_open(check_device());
    int64_t *q = draw(N, M, ANY);
    lookup l = { ct_zeros(dev, CT_F32, ct_shape2(M, 1)), ct_from(dev, CT_I64, ct_shape1(N), q) };
    ct_step *step = ct_step_capture(dev, look_up, &l);
    assert_non_null(step);
    assert_ok(ct_step_replay(step), ct_message(dev));
    ct_tape *tape = ct_tape_new(dev);
    q[N - 1] = M;
    ct_tensor *other = ct_from(dev, CT_I64, ct_shape1(N), q);
    ct_var y = ct_gather(ct_constant(tape, l.x), ct_constant(tape, other));
    q[5] = -1;
    assert_ok(ct_write(l.index, q, N * sizeof *q), ct_message(dev));
    if (!ct_step_replay(step)) assert_int_equal(ct_check(y), CT_EINDEX);
    assert_non_null(strstr(ct_message(dev), "index[29999] = 50"));
    ct_step_free(step);
    ct_tape_free(tape);
    free(q);
    ct_release(l.x), ct_release(l.index), ct_release(other);
    ct_device_close(dev);
}

/* Groups that group_by cannot have made are refused, and nothing is read or written out of bounds. */
/* No groups: there is nothing to add to, and no memory is touched. */
static void test_no_groups(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(dev);
    for (ct_dtype dtype = CT_F64; dtype <= CT_F32; dtype++) {
        ct_tape_reset(tape);
        ct_tensor *A = drawn(dev, dtype, ct_shape3(700, 1, 64), 0),
                  *C = ct_zeros(dev, dtype, ct_shape3(0, 64, 64)), *q = ct_zeros(dev, CT_I64, ct_shape1(700));
        ct_var in[2] = { ct_leaf(tape, A), ct_leaf(tape, C) }, bar[2];
        ct_var out = ct_gather_matmul(in[0], in[1], ct_constant(tape, q));
        ct_grad(out, ct_constant(tape, A), in, bar, 2, 0); /* a cotangent of the result's shape */
        assert_status(ct_tape_status(tape), CT_EINDEX, ct_tape_message(tape));
        ct_release(A), ct_release(C), ct_release(q);
    }
    ct_tape_free(tape);
    ct_device_close(dev);
}

static void test_bad_groups(void **state)
{
    (void)state;
    enum { N = 20000, M = 40 };
    static const struct {
        int64_t at, value;
    } bad[] = { { 0, 1 },      { 0, -1 },     { M, N - 1 },         { M, 1000000 }, { 20, -3 },
                { 21, N + 1 }, { M + 1, -1 }, { M + N, INT64_MAX }, { 9000, N },    { 12, INT64_MAX } };
    ct_device *dev = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(dev);
    ct_tensor *A = ct_zeros(dev, CT_F32, ct_shape3(N, 1, 2)), *C = ct_zeros(dev, CT_F32, ct_shape3(M, 2, 2));
    int64_t *good = calloc(M + 1 + N, sizeof *good), *x = calloc(M + 1 + N, sizeof *x);
    assert_true(good && x);
    for (int64_t m = 0; m <= M; m++) good[m] = m * N / M;
    for (int64_t i = 0; i < N; i++) good[M + 1 + i] = i;
    for (size_t k = 0; k <= sizeof bad / sizeof *bad; k++) {
        const bool none = k == sizeof bad / sizeof *bad;
        memcpy(x, good, (M + 1 + N) * sizeof *x);
        if (!none) x[bad[k].at] = bad[k].value;
        ct_tensor *groups = ct_from(dev, CT_I64, ct_shape1(M + 1 + N), x);
        for (int alone = 0; alone < 2; alone++) {
            ct_tape_reset(tape);
            ct_var in[2] = { ct_leaf(tape, A), ct_leaf(tape, C) }, bar[2],
                   y = ct_grouped_matmul(in[0], in[1], ct_constant(tape, groups));
            ct_grad(y, y, in + alone, bar, 2 - alone, CT_GRAD_KEEP);
            ct_check(y);
            assert_int_equal(ct_tape_status(tape), none ? CT_OK : CT_EINDEX);
        }
        ct_release(groups);
    }
    free(good), free(x);
    ct_tape_free(tape);
    ct_release(A), ct_release(C);
    ct_device_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),          cmocka_unit_test(test_orders),
        cmocka_unit_test(test_scatter),           cmocka_unit_test(test_first_bad),
        cmocka_unit_test(test_bad_before_replay), cmocka_unit_test(test_no_groups),
        cmocka_unit_test(test_bad_groups)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
