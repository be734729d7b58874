/* gemm, syrk, potrf, trsm, trmm, triangle against naive loops, over layouts, batches, flags and
 * empties; qr. */
#include "cpu_support.h"

#include <cotangent/op.h>

static const ct_backend *const cpu = &ct__cpu_backend;

static double rounded(ct_dtype dtype, double x) { return dtype == CT_F32 ? (double)(float)x : x; }

static void set_entry(ct_tensor *t, int64_t b, int64_t i, int64_t j, double value)
{
    int64_t offset = i * t->view.stride[t->view.ndim - 2] + j * t->view.stride[t->view.ndim - 1];
    for (int d = t->view.ndim - 2; d-- > 0;) {
        offset += b % t->view.dim[d] * t->view.stride[d];
        b /= t->view.dim[d];
    }
    if (t->view.dtype == CT_F64)
        ((double *)t->view.data)[offset] = value;
    else
        ((float *)t->view.data)[offset] = (float)value;
}

/* (rows, cols) after no, one or two batch dimensions of 0, 1, 3 or 2x3 members */
static ct_shape batched(int batch, int64_t rows, int64_t cols)
{
    switch (batch) {
    case 0: return ct_shape2(rows, cols);
    case 1: return ct_shape3(1, rows, cols);
    case 2: return ct_shape3(3, rows, cols);
    case 3: return ct_shape_of(4, (int64_t[]){ 2, 3, rows, cols });
    default: return ct_shape3(0, rows, cols);
    }
}

static int64_t members(int batch) { return (int64_t[]){ 1, 1, 3, 6, 0 }[batch]; }

/* A layout of the whole, or a member shared by the batch. */
enum { SHARED = LAYOUTS, INPUT_LAYOUTS };

static ct_tensor *input(ct_device *dev, ct_dtype dtype, ct_shape shape, int layout, uint64_t seed)
{
    if (layout < LAYOUTS) return sample(dev, dtype, shape, layout, seed);
    ct_shape one = ct_shape2(shape.dim[shape.ndim - 2], shape.dim[shape.ndim - 1]);
    ct_tensor *t = sample(dev, dtype, one, CONTIGUOUS, seed), *all = ct_tensor_broadcast(t, shape);
    ct_release(t);
    return all;
}

static void check_gemm(ct_device *dev, ct_dtype dtype, int batch, const int64_t size[3], const int layout[3],
                       double alpha, double beta)
{
    int64_t m = size[0], n = size[1], k = size[2];
    ct_tensor *a = input(dev, dtype, batched(batch, m, k), layout[0], 1);
    ct_tensor *b = input(dev, dtype, batched(batch, k, n), layout[1], 2);
    ct_tensor *c = beta == 0 ? blank(dev, dtype, batched(batch, m, n), layout[2])
                             : sample(dev, dtype, batched(batch, m, n), layout[2], 3);
    ct_tensor *before = ct_tensor_clone(c);
    assert_ok(cpu->gemm(dev, alpha, &a->view, &b->view, beta, &c->view), ct_message(dev));
    double *x = numbers(a), *y = numbers(b);
    for (int64_t l = 0; l < members(batch); l++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                double sum = beta == 0 ? 0 : beta * entry(before, l, i, j);
                for (int64_t p = 0; p < k; p++)
                    sum += alpha * x[(l * m + i) * k + p] * y[(l * k + p) * n + j];
                if (!check_close(entry(c, l, i, j), sum, tolerance(dtype),
                                 tolerance(dtype) * (double)(k + 1)))
                    fail_msg(
                        "gemm %dx%dx%d batch %d layouts %d %d %d alpha %g beta %g at %d,%d,%d: %g is not %g",
                        (int)m, (int)n, (int)k, batch, layout[0], layout[1], layout[2], alpha, beta, (int)l,
                        (int)i, (int)j, entry(c, l, i, j), sum);
            }
    if (layout[2] == SLICED) assert_contained(c);
    free(x);
    free(y);
    ct_release(a);
    ct_release(b);
    ct_release(c);
    ct_release(before);
}

static void gemm_of_every_size_layout_and_batch(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = { { 1, 1, 1 }, { 2, 3, 4 },  { 8, 8, 8 },   { 9, 1, 9 },   { 1, 9, 9 },
                                        { 9, 9, 1 }, { 17, 5, 9 }, { 12, 13, 0 }, { 0, 3, 3 },   { 3, 0, 9 },
                                        { 1, 1, 9 }, { 1, 10, 1 }, { 10, 1, 1 },  { 33, 20, 11 } };
    for (int threads = 1; threads <= 2; threads++) {
        ct_device *dev = open_cpu(threads);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int batch = 0; batch <= 4; batch++)
                for (int la = 0; la < INPUT_LAYOUTS; la++)
                    for (int lb = 0; lb < INPUT_LAYOUTS; lb++)
                        for (int lc = 0; lc < OUT_LAYOUTS; lc++) {
                            if (threads == 1 && la != lb) continue;
                            int kind = (la + lb + lc + batch) % 3;
                            check_gemm(dev, (la + lb + lc) % 2 ? CT_F32 : CT_F64, batch, sizes[s],
                                       (int[]){ la, lb, lc }, kind == 1 ? -0.5 : 1, kind == 2 ? 0.75 : 0);
                        }
        check_gemm(dev, CT_F64, 2, (int64_t[]){ 9, 9, 9 }, (int[]){ 0, 0, 2 }, 0, 0);
        check_gemm(dev, CT_F64, 2, (int64_t[]){ 9, 9, 9 }, (int[]){ 0, 0, 2 }, 0, 2);
        check_gemm(dev, CT_F64, 2, (int64_t[]){ 150, 140, 160 }, (int[]){ 1, 2, 1 }, 1, 0);
        ct_device_close(dev);
    }
}

/* Our own products: AᵀB of few rows each, and A B with a small B, where rows of B and C are contiguous. They
 * are divided among threads by members or by rows of C, with the same bits. */
static void gemm_of_our_own(void **state)
{
    (void)state;
    static const struct {
        int left;
        int64_t size[3];
    } cases[] = {
        { TRANSPOSED, { 96, 100, 128 } },  { TRANSPOSED, { 130, 97, 128 } }, { TRANSPOSED, { 64, 140, 140 } },
        { TRANSPOSED, { 200, 160, 33 } },  { CONTIGUOUS, { 259, 33, 47 } },  { CONTIGUOUS, { 300, 16, 128 } },
        { CONTIGUOUS, { 1001, 127, 17 } }, { SLICED, { 257, 100, 100 } },
    };
    for (int kind = 0; kind < 12; kind++)
        for (size_t s = 0; s < sizeof cases / sizeof *cases; s++) {
            const ct_dtype dtype = kind & 1 ? CT_F32 : CT_F64;
            const int64_t *size = cases[s].size;
            void *bits = NULL;
            for (int threads = 1; threads <= 3; threads++) {
                ct_device *dev = open_cpu(threads);
                const int batch = kind / 2 % 3, left = cases[s].left, right = kind % 3,
                          out = kind & 8 ? SLICED : CONTIGUOUS;
                const double alpha = kind & 4 ? -1 : 1, beta = kind / 3 % 2;
                check_gemm(dev, dtype, batch, size, (int[]){ left, right, out }, alpha, beta);
                ct_tensor *a = sample(dev, dtype, ct_shape2(size[0], size[2]), left, 1),
                          *b = sample(dev, dtype, ct_shape2(size[2], size[1]), right, 2),
                          *c = ct_zeros(dev, dtype, ct_shape2(size[0], size[1]));
                assert_ok(cpu->gemm(dev, alpha, &a->view, &b->view, 0, &c->view), ct_message(dev));
                const size_t bytes = (size_t)ct_tensor_count(c) * ct_dtype_size(dtype);
                const bool even = left == CONTIGUOUS
                                      ? right != SLICED && dev->isa
                                      : left == TRANSPOSED && threads < 3 && right == CONTIGUOUS;
                if (!bits) bits = memcpy(malloc(bytes), c->view.data, bytes);
                if (even) assert_memory_equal(bits, c->view.data, bytes);
                ct_release(a);
                ct_release(b);
                ct_release(c);
                ct_device_close(dev);
            }
            free(bits);
        }
}

static void gemm_passes_nan_on(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(1);
    for (int64_t n = 1; n < 40; n = 2 * n + 1)
        for (int shape = 0; shape < 3; shape++) {
            ct_tensor *a = ct_zeros(dev, CT_F64, ct_shape2(shape == 1 ? 1 : n, n));
            ct_tensor *b = ct_zeros(dev, CT_F64, ct_shape2(n, shape == 2 ? 1 : n));
            ct_tensor *c = ct_zeros(dev, CT_F64, ct_shape2(a->view.dim[0], b->view.dim[1]));
            set_entry(a, 0, 0, n / 2, NAN);
            assert_ok(cpu->gemm(dev, 1, &a->view, &b->view, 0, &c->view), "");
            assert_true(isnan(entry(c, 0, 0, 0)));
            set_entry(a, 0, 0, n / 2, 0);
            set_entry(b, 0, n / 2, 0, NAN);
            assert_ok(cpu->gemm(dev, 1, &a->view, &b->view, 0, &c->view), "");
            assert_true(isnan(entry(c, 0, 0, 0)));
            ct_release(a);
            ct_release(b);
            ct_release(c);
        }
    ct_device_close(dev);
}

static void syrk_touches_the_lower_triangle_alone(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = { { 1, 1 },   { 5, 3 },  { 8, 8 }, { 9, 1 }, { 1, 9 },
                                        { 20, 30 }, { 12, 0 }, { 3, 0 }, { 0, 3 } };
    ct_device *dev = open_cpu(2);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int batch = 0; batch <= 4; batch++)
            for (int la = 0; la < INPUT_LAYOUTS; la++)
                for (int lc = 0; lc < 2 * OUT_LAYOUTS; lc++) {
                    ct_dtype dtype = lc % 2 ? CT_F32 : CT_F64;
                    int64_t n = sizes[s][0], k = sizes[s][1];
                    double alpha = -0.5, beta = la % 2 ? 1 : 0;
                    ct_tensor *a = input(dev, dtype, batched(batch, n, k), la, 1);
                    ct_tensor *c = sample(dev, dtype, batched(batch, n, n), lc / 2, 3);
                    if (beta == 0)
                        for (int64_t l = 0; l < members(batch); l++)
                            for (int64_t i = 0; i < n; i++)
                                for (int64_t j = 0; j <= i; j++) set_entry(c, l, i, j, NAN);
                    ct_tensor *before = ct_tensor_clone(c);
                    assert_ok(cpu->syrk(dev, alpha, &a->view, beta, &c->view), ct_message(dev));
                    for (int64_t l = 0; l < members(batch); l++)
                        for (int64_t i = 0; i < n; i++)
                            for (int64_t j = 0; j < n; j++) {
                                double sum = beta == 0 ? 0 : beta * entry(before, l, i, j);
                                for (int64_t p = 0; p < k; p++)
                                    sum += alpha * entry(a, l, i, p) * entry(a, l, j, p);
                                if (j > i) sum = entry(before, l, i, j);
                                if (!check_close(entry(c, l, i, j), sum, tolerance(dtype),
                                                 tolerance(dtype) * (double)(k + 1)))
                                    fail_msg("syrk %dx%d batch %d layouts %d %d at %d,%d", (int)n, (int)k,
                                             batch, la, lc, (int)i, (int)j);
                            }
                    if (lc / 2 == SLICED) assert_contained(c);
                    ct_release(a);
                    ct_release(c);
                    ct_release(before);
                }
    ct_device_close(dev);
}

/* A Aᵀ/n + I of every member into the lower triangle; NaN above. */
static ct_tensor *spd(ct_device *dev, ct_dtype dtype, int batch, int64_t n, int layout)
{
    ct_tensor *a = sample(dev, dtype, batched(batch, n, n), CONTIGUOUS, 11);
    ct_tensor *c = blank(dev, dtype, batched(batch, n, n), layout);
    for (int64_t l = 0; l < members(batch); l++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++) {
                double sum = i == j;
                for (int64_t p = 0; p < n; p++) sum += entry(a, l, i, p) * entry(a, l, j, p) / (double)n;
                set_entry(c, l, i, j, sum);
            }
    ct_release(a);
    return c;
}

static void potrf_of_every_size_layout_and_batch(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 0, 1, 2, 5, 16, 17, 40, 130 };
    ct_device *dev = open_cpu(2);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int batch = 0; batch <= 4; batch++)
            for (int layout = 0; layout < 2 * OUT_LAYOUTS; layout++) {
                ct_dtype dtype = layout % 2 ? CT_F32 : CT_F64;
                int64_t n = sizes[s];
                if (n > 100 && batch) continue;
                ct_failure failure = { .set = false };
                ct_tensor *a = spd(dev, dtype, batch, n, layout / 2), *before = ct_tensor_clone(a);
                assert_ok(cpu->potrf(dev, &a->view, &failure), ct_message(dev));
                assert_false(failure.set);
                for (int64_t l = 0; l < members(batch); l++)
                    for (int64_t i = 0; i < n; i++)
                        for (int64_t j = 0; j < n; j++) {
                            double sum = 0;
                            for (int64_t p = 0; p <= j && j <= i; p++)
                                sum += entry(a, l, i, p) * entry(a, l, j, p);
                            if (j > i)
                                assert_true(entry(a, l, i, j) == 0);
                            else
                                assert_close(sum, entry(before, l, i, j), tolerance(dtype),
                                             tolerance(dtype) * (double)n);
                        }
                if (layout / 2 == SLICED) assert_contained(a);
                ct_release(a);
                ct_release(before);
            }
    ct_device_close(dev);
}

/* Puts each bad value into each place of the lower triangle. */
static void potrf_never_hides_a_bad_matrix(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 1, 2, 5, 16, 17, 33 };
    static const double values[] = { NAN, INFINITY, -INFINITY, -1 };
    ct_device *dev = open_cpu(2);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int layout = 0; layout < OUT_LAYOUTS; layout++)
            for (int v = 0; v < 4; v++)
                for (int64_t i = 0; i<sizes[s]; i += sizes[s]> 20 ? 7 : 1)
                    for (int64_t j = v == 3 ? i : 0; j <= i; j += sizes[s] > 6 ? 4 : 1) {
                        int64_t n = sizes[s];
                        ct_failure failure = { .set = false };
                        ct_tensor *a = spd(dev, v % 2 ? CT_F32 : CT_F64, 2, n, layout);
                        set_entry(a, 1, i, j, values[v]);
                        assert_ok(cpu->potrf(dev, &a->view, &failure), ct_message(dev));
                        assert_true(failure.set);
                        assert_int_equal(failure.member, 1);
                        assert_int_equal(failure.detail, i + 1);
                        assert_string_equal(failure.what, "leading minor %lld");
                        for (int64_t p = 0; p < n * n; p++) {
                            assert_true(isnan(entry(a, 1, p / n, p % n)));
                            assert_false(isnan(entry(a, 0, p / n, p % n)) ||
                                         isnan(entry(a, 2, p / n, p % n)));
                        }
                        ct_release(a);
                    }
    ct_device_close(dev);
}

static void potrf_keeps_the_first_failure(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    for (int64_t n = 4; n < 40; n += 30) {
        ct_failure failure = { .set = false };
        ct_tensor *a = spd(dev, CT_F64, 3, n, REVERSED_DIMS);
        set_entry(a, 5, 0, 0, -1);
        set_entry(a, 2, 3, 3, -1);
        set_entry(a, 4, 1, 1, -1);
        assert_ok(cpu->potrf(dev, &a->view, NULL), "");
        ct_release(a);
        a = spd(dev, CT_F64, 3, n, REVERSED_DIMS);
        set_entry(a, 5, 0, 0, -1);
        set_entry(a, 2, 3, 3, -1);
        set_entry(a, 4, 1, 1, -1);
        assert_ok(cpu->potrf(dev, &a->view, &failure), "");
        assert_int_equal(failure.member, 2);
        assert_int_equal(failure.detail, 4);
        ct_release(a);
        a = spd(dev, CT_F64, 0, n, CONTIGUOUS);
        set_entry(a, 0, 0, 0, 0);
        assert_ok(cpu->potrf(dev, &a->view, &failure), "");
        assert_int_equal(failure.member, 2);
        assert_true(isnan(entry(a, 0, n - 1, 0)));
        ct_release(a);
    }
    ct_device_close(dev);
}

/* A well-conditioned triangle with NaN wherever the flags say that nothing is read. */
static ct_tensor *triangle(ct_device *dev, ct_dtype dtype, int batch, int64_t n, int layout, unsigned flags)
{
    ct_shape shape = layout == SHARED ? ct_shape2(n, n) : batched(batch, n, n);
    ct_tensor *t = sample(dev, dtype, shape, layout == SHARED ? CONTIGUOUS : layout, 21);
    for (int64_t l = 0; l < (layout == SHARED ? 1 : members(batch)); l++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                double x = rounded(dtype, entry(t, l, i, j) / (double)(n + 1));
                if (i == j) x = flags & CT_UNIT ? NAN : 1.5 + x;
                if (flags & CT_UPPER ? i > j : i < j) x = NAN;
                set_entry(t, l, i, j, x);
            }
    if (layout != SHARED) return t;
    ct_tensor *all = ct_tensor_broadcast(t, batched(batch, n, n));
    ct_release(t);
    return all;
}

/* op(T) at (i, j), zero in the other triangle. */
static double op_entry(const ct_tensor *t, unsigned flags, int64_t l, int64_t i, int64_t j)
{
    if (flags & CT_TRANS) {
        int64_t swap = i;
        i = j, j = swap;
    }
    if (i == j && flags & CT_UNIT) return 1;
    return (flags & CT_UPPER ? i > j : i < j) ? 0 : entry(t, l, i, j);
}

static double triangular_product(const ct_tensor *t, const ct_tensor *b, unsigned flags, int64_t l, int64_t i,
                                 int64_t j, int64_t n)
{
    double sum = 0;
    for (int64_t p = 0; p < n; p++)
        sum += flags & CT_RIGHT ? entry(b, l, i, p) * op_entry(t, flags, l, p, j)
                                : op_entry(t, flags, l, i, p) * entry(b, l, p, j);
    return sum;
}

static void triangles_solve_and_multiply_with_all_flags(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = { { 1, 1 },  { 3, 2 },   { 8, 8 }, { 9, 1 },
                                        { 3, 12 }, { 20, 11 }, { 0, 3 }, { 3, 0 } };
    ct_device *dev = open_cpu(2);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int batch = 0; batch <= 4; batch++)
            for (unsigned flags = 0; flags < 16; flags++)
                for (int lt = 0; lt < INPUT_LAYOUTS; lt++)
                    for (int lb = 0; lb < OUT_LAYOUTS; lb++) {
                        if (lt == BROADCAST) continue;
                        ct_dtype dtype = (lt + lb + (int)flags / 2) % 2 ? CT_F32 : CT_F64;
                        int64_t n = sizes[s][0], m = sizes[s][1], rows = flags & CT_RIGHT ? m : n;
                        ct_tensor *t = triangle(dev, dtype, batch, n, lt, flags);
                        ct_shape shape = batched(batch, rows, n + m - rows);
                        ct_tensor *x = sample(dev, dtype, shape, lb, 5),
                                  *y = sample(dev, dtype, shape, lb, 5);
                        ct_tensor *b = ct_tensor_clone(x);
                        double alpha = lt % 2 ? -2 : 1;
                        assert_ok(cpu->trsm(dev, flags, alpha, &t->view, &x->view), ct_message(dev));
                        assert_ok(cpu->trmm(dev, flags, alpha, &t->view, &y->view), ct_message(dev));
                        for (int64_t l = 0; l < members(batch); l++)
                            for (int64_t i = 0; i < rows; i++)
                                for (int64_t j = 0; j < n + m - rows; j++) {
                                    double back = triangular_product(t, x, flags, l, i, j, n);
                                    double there = alpha * triangular_product(t, b, flags, l, i, j, n);
                                    if (!check_close(back, alpha * entry(b, l, i, j), tolerance(dtype),
                                                     tolerance(dtype)))
                                        fail_msg("trsm %dx%d flags %u batch %d layouts %d %d", (int)n, (int)m,
                                                 flags, batch, lt, lb);
                                    if (!check_close(there, entry(y, l, i, j), tolerance(dtype),
                                                     tolerance(dtype)))
                                        fail_msg("trmm %dx%d flags %u batch %d layouts %d %d", (int)n, (int)m,
                                                 flags, batch, lt, lb);
                                }
                        if (lb == SLICED) assert_contained(x);
                        if (lb == SLICED) assert_contained(y);
                        ct_release(t);
                        ct_release(x);
                        ct_release(y);
                        ct_release(b);
                    }
    ct_device_close(dev);
}

/* Sizes on both sides of those of tiles and strips, in which a batch is substituted; rows to the left of a
 * small triangle. */
static void many_right_hand_sides(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = { { 9, 8 },   { 31, 17 },  { 33, 9 },   { 64, 33 },
                                        { 70, 65 }, { 40, 130 }, { 48, 387 }, { 97, 256 } };
    static const int layouts[] = { CONTIGUOUS, TRANSPOSED, SLICED };
    ct_device *dev = open_cpu(2);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (unsigned flags = 0; flags < 16; flags++)
            for (int l = 0; l < 3; l++) {
                const int lt = layouts[l], lb = layouts[(l + (int)flags / 4) % 3];
                const ct_dtype dtype = (l + (int)flags / 2) % 2 ? CT_F32 : CT_F64;
                const int64_t n = sizes[s][0], m = sizes[s][1], rows = flags & CT_RIGHT ? m : n;
                const int batch = m < 256 ? 2 : 0;
                ct_tensor *t = triangle(dev, dtype, batch, n, lt, flags),
                          *x = sample(dev, dtype, batched(batch, rows, n + m - rows), lb, 5),
                          *b = ct_tensor_clone(x);
                assert_ok(cpu->trsm(dev, flags, 1, &t->view, &x->view), ct_message(dev));
                for (int64_t i = 0; i < rows; i++)
                    for (int64_t j = i % 7; j < n + m - rows; j += 7)
                        if (!check_close(triangular_product(t, x, flags, (i + j) % members(batch), i, j, n),
                                         entry(b, (i + j) % members(batch), i, j), tolerance(dtype),
                                         tolerance(dtype)))
                            fail_msg("trsm %dx%d flags %u layouts %d %d", (int)n, (int)m, flags, lt, lb);
                if (lb == SLICED) assert_contained(x);
                ct_release(t);
                ct_release(x);
                ct_release(b);
            }
    ct_device_close(dev);
}

/* A diagonal whose reciprocal overflows, and a zero one: x = b / d. */
static void a_diagonal_without_an_inverse(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    ct_tensor *t = ct_zeros(dev, CT_F64, ct_shape3(2, 33, 33)),
              *x = ct_full(dev, CT_F64, ct_shape3(2, 33, 9), 0x1p-1070);
    for (int64_t i = 0; i < 33; i++) set_entry(t, 0, i, i, 0x1p-1050), set_entry(t, 1, i, i, i == 32 ? 0 : 4);
    assert_ok(cpu->trsm(dev, CT_LOWER, 1, &t->view, &x->view), "");
    for (int64_t i = 0; i < 33; i++)
        for (int64_t j = 0; j < 9; j++) {
            assert_true(entry(x, 0, i, j) == 0x1p-20);
            assert_true(entry(x, 1, i, j) == (i == 32 ? INFINITY : 0x1p-1072));
        }
    ct_release(t);
    ct_release(x);
    ct_device_close(dev);
}

static void triangle_keeps_one_side_of_a_diagonal(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = { { 1, 1 }, { 3, 5 }, { 5, 3 }, { 0, 2 }, { 2, 0 } };
    ct_device *dev = open_cpu(2);
    for (int s = 0; s < 5; s++)
        for (int batch = 0; batch <= 4; batch++)
            for (int layout = 0; layout < OUT_LAYOUTS; layout++)
                for (int64_t k = -7; k <= 7; k++)
                    for (int upper = 0; upper < 2; upper++) {
                        int64_t rows = sizes[s][0], cols = sizes[s][1];
                        ct_dtype dtype = (ct_dtype)((k + 7) % 2);
                        ct_shape shape = batched(batch, rows, cols);
                        ct_tensor *x = sample(dev, dtype, shape, (layout + 1) % OUT_LAYOUTS, 4);
                        ct_tensor *y = blank(dev, dtype, shape, layout);
                        ct_tensor *z = ct_tensor_clone(x);
                        assert_ok(cpu->triangle(dev, &x->view, upper, k, &y->view), "");
                        assert_ok(cpu->triangle(dev, &z->view, upper, k, &z->view), "");
                        for (int64_t l = 0; l < members(batch); l++)
                            for (int64_t i = 0; i < rows; i++)
                                for (int64_t j = 0; j < cols; j++) {
                                    bool inside = upper ? j - i >= k : j - i <= k;
                                    assert_true(entry(y, l, i, j) == (inside ? entry(x, l, i, j) : 0));
                                    assert_true(entry(y, l, i, j) == entry(z, l, i, j));
                                }
                        if (layout == SLICED) assert_contained(y);
                        ct_release(x);
                        ct_release(y);
                        ct_release(z);
                    }
    ct_device_close(dev);
}

/* The last column is the first one, once more. */
static void qr_of_a_dependent_column_is_nan_in_every_layout(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open("cpu");
    for (int layout = 0; layout < OUT_LAYOUTS; layout++)
        for (int dtype = CT_F64; dtype <= CT_F32; dtype++) {
            ct_tensor *a = sample(dev, (ct_dtype)dtype, ct_shape2(6, 3), layout, 5);
            ct_tensor *tau = ct_zeros(dev, (ct_dtype)dtype, ct_shape2(1, 3));
            for (int64_t i = 0; i < 6; i++) set_entry(a, 0, i, 2, entry(a, 0, i, 0));
            ct_failure failure = { .set = false };
            assert_ok(cpu->qr(dev, 1e-4, &a->view, &tau->view, &failure), ct_message(dev));
            assert_true(failure.set && failure.detail == 3);
            for (int64_t i = 0; i < 18; i++) assert_true(isnan(element(a, i)));
            ct_release(a);
            ct_release(tau);
        }
    ct_device_close(dev);
}

/* A = Σ_k w_k v_k v_kᵀ with orthonormal rows v_k, to LAPACK's ratio; the upper triangle is not read. */
static void eigenvectors_rebuild_the_matrix(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 0, 1, 2, 3, 17, 64 };
    ct_device *dev = open_cpu(2);
    for (int s = 0; s < 6; s++)
        for (int kind = 0; kind < 4; kind++) {
            const int64_t n = sizes[s], batch = kind / 2 ? 3 : 1;
            const ct_dtype dtype = (ct_dtype)(kind % 2);
            ct_tensor *a = ct_rand_normal(dev, dtype, ct_shape3(batch, n, n), 3, (uint64_t)s),
                      *was = ct_tensor_clone(a), *w = ct_zeros(dev, dtype, ct_shape3(batch, 1, n));
            for (int64_t l = 0; l < batch; l++)
                for (int64_t i = 0; i < n; i++)
                    for (int64_t j = i + 1; j < n; j++) set_entry(a, l, i, j, NAN);
            assert_ok(cpu->eigen(dev, &a->view, &w->view, NULL), ct_message(dev));
            const double most = (dtype == CT_F32 ? 1.2e-7 : 2.3e-16) * 8 * (double)(n + 1) * (double)(n + 1);
            for (int64_t l = 0; l < batch; l++)
                for (int64_t i = 0; i < n; i++)
                    for (int64_t j = 0; j <= i; j++) {
                        double sum = 0, product = 0;
                        for (int64_t k = 0; k < n; k++) {
                            sum += entry(w, l, 0, k) * entry(a, l, k, i) * entry(a, l, k, j);
                            product += entry(a, l, i, k) * entry(a, l, j, k);
                        }
                        assert_true(fabs(sum - entry(was, l, i, j)) <= most);
                        assert_true(fabs(product - (i == j)) <= most);
                        assert_true(i == 0 || entry(w, l, 0, i - 1) <= entry(w, l, 0, i));
                    }
            ct_release(a);
            ct_release(was);
            ct_release(w);
        }
    ct_device_close(dev);
}

static void eigenvectors_of_nan_are_flagged(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    ct_tensor *a = ct_zeros(dev, CT_F64, ct_shape3(2, 3, 3)), *w = ct_zeros(dev, CT_F64, ct_shape3(2, 1, 3));
    for (int64_t i = 0; i < 3; i++) set_entry(a, 0, i, i, 2), set_entry(a, 1, i, i, i == 1 ? NAN : 2);
    ct_failure failure = { .set = false };
    assert_ok(cpu->eigen(dev, &a->view, &w->view, &failure), ct_message(dev));
    assert_true(failure.set && failure.member == 1);
    for (int64_t i = 0; i < 3; i++) assert_true(entry(w, 0, 0, i) == 2 && isnan(entry(w, 1, 0, i)));
    assert_true(isnan(entry(a, 1, 0, 0)));
    ct_release(a);
    ct_release(w);
    ct_device_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_of_every_size_layout_and_batch),
        cmocka_unit_test(gemm_of_our_own),
        cmocka_unit_test(gemm_passes_nan_on),
        cmocka_unit_test(syrk_touches_the_lower_triangle_alone),
        cmocka_unit_test(potrf_of_every_size_layout_and_batch),
        cmocka_unit_test(potrf_never_hides_a_bad_matrix),
        cmocka_unit_test(potrf_keeps_the_first_failure),
        cmocka_unit_test(triangles_solve_and_multiply_with_all_flags),
        cmocka_unit_test(many_right_hand_sides),
        cmocka_unit_test(a_diagonal_without_an_inverse),
        cmocka_unit_test(triangle_keeps_one_side_of_a_diagonal),
        cmocka_unit_test(qr_of_a_dependent_column_is_nan_in_every_layout),
        cmocka_unit_test(eigenvectors_rebuild_the_matrix),
        cmocka_unit_test(eigenvectors_of_nan_are_flagged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
