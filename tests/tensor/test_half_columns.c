/* Products of bf16 that AMX computes from B's columns in place. */
#include "half_support.h"

#include "tensor/cpu/gemm_columns.h"

/* A job that AMX computes from B's columns in place: C = A B + D, or A B if D is NULL. Returns the number of
 * columns that are done. */
static int64_t in_place(ct_device *dev, const ct_view *a, const ct_view *b, const ct_view *d,
                        const ct_view *c)
{
    ct__job job = { 0 };
    assert_true(ct__job_init(&job, dev, 3, (const ct_view *[]){ a, b, c }));
    job.alpha = 1;
    if (d) {
        job.m[3] = ct__matrix_of(d, 0);
        job.data[3] = d->data;
        job.n = 4;
        job.beta = 1;
    }
    const ct__tile all = { .rows = job.m[2].rows, .cols = job.m[2].cols };
    ct__columns strips = ct__columns_of(&job);
    assert_int_equal(strips.strips, (all.rows + 15) / 16);
    strips.packed = aligned_alloc(64, (size_t)(strips.strips * strips.words) * sizeof *strips.packed);
    uint16_t *work = malloc(sizeof *work * (size_t)(CT__COLUMNS_STEP * job.m[0].cols));
    assert_true(strips.packed && work);
    for (int64_t i = 0; i < strips.strips; i++) ct__columns_pack(&job, &strips, i);
    const int64_t done = ct__columns_multiply(&job, &strips, &all, work);
    free(strips.packed), free(work);
    return done;
}

/* At the borders of tiles, for every way to broadcast D, with one bit pattern for all of them; and only the
 * columns before the first panel with a subnormal. */
static void columns_in_place(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = { { 16, 32, 64 },   { 17, 33, 96 },   { 47, 75, 96 }, { 33, 70, 2080 },
                                        { 300, 310, 64 }, { 40, 200, 128 }, { 32, 64, 320 } };
    ct_device *dev = open_with_amx(2);
    const size_t every = check_quick() ? 3 : 1;
    for (size_t point = 0; point < 4 * (sizeof sizes / sizeof *sizes); point += every) {
        const int64_t *z = sizes[point / 4], m = z[0], n = z[1], k = z[2];
        ct_tensor *a = sample(dev, CT_BF16, ct_shape2(m, k), point % 2 ? TRANSPOSED : 0, 1),
                  *b = sample(dev, CT_BF16, ct_shape2(k, n), TRANSPOSED, 2),
                  *d = sample(dev, CT_BF16, ct_shape2(m, n), 0, 3),
                  *full = ct_zeros(dev, CT_BF16, ct_shape2(m, n)),
                  *c[2] = { ct_zeros(dev, CT_BF16, ct_shape2(m, n)),
                            ct_zeros(dev, CT_BF16, ct_shape2(m, n)) };
        const bool subnormal = point % 4 > 1;      /* which counts though the products are large */
        const int64_t bad = subnormal ? n / 2 : n; /* a column */
        if (subnormal) rescale(a, 0x1p40);
        if (subnormal) ((uint16_t *)b->view.data)[bad * k + 7] = 0x8013;
        for (int way = 0; way < 5; way++) {
            ct_view some = d->view;
            if (way & 1) some.stride[0] = 0;
            if (way & 2) some.stride[1] = 0;
            assert_int_equal(cpu->copy(dev, &some, &full->view), CT_OK);
            const ct_view *start = way < 4 ? &some : NULL;
            const int64_t done = in_place(dev, &a->view, &b->view, start, &c[0]->view);
            assert_int_equal(done, subnormal ? bad / 32 * 32 : n);
            if (start) assert_int_equal(in_place(dev, &a->view, &b->view, &full->view, &c[1]->view), done);
            double *x = numbers(a), *y = numbers(b);
            for (int64_t i = 0; i < m * n; i++) {
                if (i % n >= done) {
                    assert_true(element(c[0], i) == 0);
                    continue;
                }
                if (start) assert_true(element(c[0], i) == element(c[1], i));
                double sum = start ? element(full, i) : 0, size = fabs(sum);
                for (int64_t l = 0; l < k; l++) {
                    const double p = x[i / n * k + l] * y[l * n + i % n];
                    sum += p, size += fabs(p);
                }
                const double bound = unit(CT_BF16) * fabs(sum) + (double)(k + 1) * 0x1p-24 * size;
                if (!(fabs(element(c[0], i) - sum) <= bound * (1 + 0x1p-8)))
                    fail_msg("%lldx%lldx%lld way %d: [%lld] is %.9g, not %.9g", (long long)m, (long long)n,
                             (long long)k, way, (long long)i, element(c[0], i), sum);
            }
            free(x), free(y);
        }
        rescale(a, subnormal ? 0x1p-104 : 0x1p-64), rescale(b, 0x1p-64);
        assert_int_equal(in_place(dev, &a->view, &b->view, NULL, &c[0]->view), 0);
        rescale(b, 0x1p104);
        ((uint16_t *)a->view.data)[m * k - 1] = 1;
        assert_int_equal(in_place(dev, &a->view, &b->view, NULL, &c[0]->view), 0);
        ct_release(a), ct_release(b), ct_release(d), ct_release(full), ct_release(c[0]), ct_release(c[1]);
    }
    assert_int_equal(ct_memory(dev).bytes_now, 0);
    ct_device_close(dev);
}

/* n of the 2 n + 1 rows of t, with all but 5 of their elements: every `step`-th row, or the first one n
 * times. */
static ct_view some_rows(const ct_tensor *t, int64_t n, int step)
{
    ct_view v = ct_view_slice(ct_view_slice(t->view, 2, 3, t->view.dim[2] - 2, 1), 1, 0, n, 1);
    v.stride[1] *= step;
    return v;
}

static ct_view member(ct_view v, int64_t i) { return ct_view_squeeze(ct_view_slice(v, 0, i, i + 1, 1), 0); }

/* Products that are large enough for B's columns to be read in place. Each member has the bits of in_place,
 * for any number of threads, whichever matrix the members share, and whether C starts from zero, from itself
 * or from a row. Nothing is written beside C. */
static void columns_of_a_batch(void **state)
{
    (void)state;
    enum { MEMBERS = 2, M = 140, N = 150, K = 512 };
    ct_device *dev[] = { open_with_amx(1), open_with_amx(2), open_with_amx(3) };
    ct_tensor *a = sample(*dev, CT_BF16, ct_shape3(MEMBERS, 2 * M + 1, K + 5), 0, 1),
              *b = sample(*dev, CT_BF16, ct_shape3(MEMBERS, 2 * N + 1, K + 5), 0, 2),
              *d = sample(*dev, CT_BF16, ct_shape3(MEMBERS, M, N), 0, 3),
              *nan = blank(*dev, CT_BF16, ct_shape3(MEMBERS, M, N), 0), *c[2];
    for (int i = 0; i < 2; i++) c[i] = blank(*dev, CT_BF16, ct_shape3(MEMBERS, M + 1, N + 1), 0);
    const int every = check_quick() > 1 ? 4 : 1;
    for (int point = 0; point < 3 * 3 * 3; point += every) {
        const int step = point % 3, shared = point / 3 % 3, way = point / 9;
        ct_view x = some_rows(a, M, step), y = ct_view_transpose(some_rows(b, N, step)), start = d->view,
                C[2];
        if (shared) (shared == 1 ? &x : &y)->stride[0] = 0;
        if (way == 2) start.stride[1] = 0;
        for (int i = 0; i < 2; i++) {
            C[i] = ct_view_slice(ct_view_slice(c[i]->view, 1, 0, M, 1), 2, 0, N, 1);
            assert_int_equal(cpu->copy(*dev, way == 1 ? &d->view : &nan->view, &C[i]), CT_OK);
        }
        ct__job job = { 0 };
        assert_true(ct__job_init(&job, *dev, 3, (const ct_view *[]){ &x, &y, &C[0] }));
        assert_int_equal(ct__columns_of(&job).strips, (M + 15) / 16);
        assert_int_equal(ct__columns_of(&job).members, shared == 1 ? 1 : MEMBERS);
        for (int i = 0; i < MEMBERS; i++) {
            const ct_view A = member(x, i), B = member(y, i), D = member(start, i), into = member(C[0], i);
            assert_int_equal(in_place(*dev, &A, &B, way ? &D : NULL, &into), N);
        }
        for (int i = 0; i < 3; i++) {
            assert_int_equal(cpu->copy(*dev, way == 1 ? &d->view : &nan->view, &C[1]), CT_OK);
            if (way == 2)
                assert_int_equal(cpu->affine(dev[i], &x, &y, &start, &C[1]), CT_OK);
            else
                assert_int_equal(cpu->gemm(dev[i], 1, &x, &y, way, &C[1]), CT_OK);
            assert_memory_equal(c[0]->view.data, c[1]->view.data, sizeof(uint16_t[MEMBERS][M + 1][N + 1]));
        }
    }
    ct_tensor *all[] = { a, b, d, nan, c[0], c[1] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ct_release(all[i]);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ct_memory(dev[i]).bytes_now, 0);
        ct_device_close(dev[i]);
    }
}

/* In a large product subnormal elements and results are kept, and a number that is not finite changes its own
 * column only. */
static void columns_with_extremes(void **state)
{
    (void)state;
    enum { M = 160, N = 200, K = 672, BAD = 101 };
    ct_device *dev = open_with_amx(2);
    for (int point = 0; point < 3; point++) {
        ct_tensor *a = sample(dev, CT_BF16, ct_shape2(M, K), 0, 1),
                  *b = sample(dev, CT_BF16, ct_shape2(K, N), TRANSPOSED, 2),
                  *c = ct_empty(dev, CT_BF16, ct_shape2(M, N));
        uint16_t *column = (uint16_t *)b->view.data + BAD * K;
        memset(column, 0, K * sizeof *column);
        column[7] = (const uint16_t[]){ 0x8013, 0x7f80, 0xffc1 }[point];
        if (!point) check_product(dev, M, N, K, a, b, 0x1p-134 + 0x1p-149 * K);
        assert_int_equal(cpu->gemm(dev, 1, &a->view, &b->view, 0, &c->view), CT_OK);
        for (int64_t i = 0; i < M * N && point; i++) {
            const double x = element(c, i);
            assert_true(i % N != BAD ? isfinite(x) : point == 1 ? isinf(x) : isnan(x));
        }
        ct_release(a), ct_release(b), ct_release(c);
    }
    assert_int_equal(ct_memory(dev).bytes_now, 0);
    ct_device_close(dev);
}

/* Of a batch whose A is packed, only some members are packed at a time. */
static void no_packed_copy_of_a_batch(void **state)
{
    (void)state;
    ct_device *dev = open_with_amx(1);
    ct_tensor *x = ct_zeros(dev, CT_BF16, ct_shape3(16, 128, 512)),
              *w = ct_zeros(dev, CT_BF16, ct_shape3(16, 512, 512)),
              *y = ct_empty(dev, CT_BF16, ct_shape3(16, 128, 512));
    const ct_view columns = ct_view_transpose(w->view);
    ct_memory_mark(dev);
    const uint64_t held = ct_memory(dev).bytes_now;
    assert_int_equal(cpu->gemm(dev, 1, &x->view, &columns, 0, &y->view), CT_OK);
    assert_true(ct_memory(dev).bytes_peak - held < (uint64_t)ct_tensor_count(x) * 2);
    assert_true(element(y, 77) == 0);
    ct_release(x), ct_release(w), ct_release(y);
    ct_device_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test_if(has_amx(), cmocka_unit_test(columns_in_place)),
        check_test_if(has_amx(), cmocka_unit_test(columns_of_a_batch)),
        cmocka_unit_test(columns_with_extremes),
        cmocka_unit_test(no_packed_copy_of_a_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
