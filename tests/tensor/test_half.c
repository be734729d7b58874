/* bf16 and f16: every number both ways, every tie, the same bits from every instruction set. Then products
 * and other computations against f64, with the one rounding that is allowed. The file under test is included,
 * as its variants are static. */
#include "cpu_support.h"

#include "../../src/tensor/cpu/half.c"

#include <cotangent/io.h>
#include <math.h>

static const ct_dtype halves[] = { CT_BF16, CT_F16 };
static const ct_backend *const cpu = &ct__cpu_backend;

/* The value by the definition of the format: exponent bits e with their bias, fraction bits. */
static double by_definition(ct_dtype dtype, unsigned h)
{
    int fraction = dtype == CT_BF16 ? 7 : 10, bias = dtype == CT_BF16 ? 127 : 15;
    int top = dtype == CT_BF16 ? 255 : 31, e = (int)(h >> fraction) & top;
    double m = (double)(h & ((1u << fraction) - 1)) / (double)(1u << fraction), sign = h & 0x8000 ? -1 : 1;
    if (e == top) return m != 0 ? NAN : sign * INFINITY;
    return sign * (e ? ldexp(1 + m, e - bias) : ldexp(m, 1 - bias));
}

static uint16_t from_f64(ct_dtype dtype, double x) { return ct__to_half(dtype, ct__odd_f32(x)); }

static void every_number_goes_both_ways(void **state)
{
    (void)state;
    for (int d = 0; d < 2; d++)
        for (unsigned h = 0; h < 65536; h++) {
            double wanted = by_definition(halves[d], h);
            float x = ct__from_half(halves[d], (uint16_t)h);
            if (isnan(wanted)) {
                assert_true(isnan(x));
                assert_true(isnan(ct__from_half(halves[d], ct__to_half(halves[d], x))));
                continue;
            }
            assert_true((double)x == wanted && !signbit(x) == !(h & 0x8000));
            assert_int_equal(ct__to_half(halves[d], x), h);
            assert_int_equal(from_f64(halves[d], wanted), h);
        }
}

/* Between neighbours the middle rounds to the even one and any other number to the nearer, from f32 and from
 * f64. */
static void ties_go_to_even(void **state)
{
    (void)state;
    for (int d = 0; d < 2; d++) {
        const ct_dtype t = halves[d];
        const unsigned infinite = t == CT_BF16 ? 0x7f80 : 0x7c00;
        for (unsigned h = 0; h < infinite; h++)
            for (int sign = 0; sign < 2; sign++) {
                unsigned low = h | (sign ? 0x8000u : 0), high = low + 1, even = low & 1 ? high : low;
                double a = by_definition(t, low),
                       b = h + 1 == infinite ? 2 * a - by_definition(t, low - 1) : by_definition(t, high);
                double middle = 0.5 * (a + b);
                assert_int_equal(from_f64(t, middle), even);
                assert_int_equal(from_f64(t, nextafter(middle, a)), low);
                assert_int_equal(from_f64(t, nextafter(middle, b)), high);
                assert_int_equal(ct__to_half(t, (float)middle), even);
                assert_int_equal(ct__to_half(t, nextafterf((float)middle, (float)a)), low);
                if (isfinite(b) && b < 3e38 && b > -3e38)
                    assert_int_equal(ct__to_half(t, nextafterf((float)middle, (float)b)), high);
            }
        assert_int_equal(from_f64(t, 1e300), infinite);
        assert_int_equal(from_f64(t, -INFINITY), infinite | 0x8000);
        assert_int_equal(from_f64(t, 5e-324), 0);
        assert_int_equal(from_f64(t, -5e-324), 0x8000);
        assert_true(isnan(ct__from_half(t, from_f64(t, NAN))));
    }
}

/* Integers around the ties of 8 and 11 bits, where a detour over f64 or f32 would round twice. */
static void integers_round_once(void **state)
{
    (void)state;
    for (int shift = 12; shift < 62; shift++)
        for (int64_t off = -2; off <= 2; off++) {
            int64_t x = ((int64_t)0x101 << (shift - 8)) + off;
            long double wide = (long double)x;
            /* the exact neighbours of x among numbers of 8 bits */
            int e = ilogbl(wide) - 7;
            long double low = ldexpl(floorl(ldexpl(wide, -e)), e), high = low + ldexpl(1, e);
            long double nearest = wide - low < high - wide         ? low
                                  : wide - low > high - wide       ? high
                                  : fmodl(ldexpl(low, -e), 2) == 0 ? low
                                                                   : high;
            uint16_t got = ct__to_bf16(ct__odd_f32(ct__odd_f64(x))),
                     minus = ct__to_bf16(ct__odd_f32(ct__odd_f64(-x)));
            assert_true((long double)ct__from_bf16(got) == nearest);
            assert_int_equal(minus, got | 0x8000);
        }
    assert_true(ct__from_bf16(ct__to_bf16(ct__odd_f32(ct__odd_f64(INT64_MAX)))) == 0x1p63f);
    assert_true(ct__from_bf16(ct__to_bf16(ct__odd_f32(ct__odd_f64(INT64_MIN)))) == -0x1p63f);
    assert_int_equal(ct__to_f16(ct__odd_f32(ct__odd_f64(65519))), 0x7bff);
    assert_int_equal(ct__to_f16(ct__odd_f32(ct__odd_f64(65520))), 0x7c00);
}

static void every_instruction_set_gives_the_same_bits(void **state)
{
    (void)state;
    enum { N = 1 << 16 };
    static uint16_t x[N], narrowed[N], wanted[N];
    static float y[N], wide[N];
    for (int isa = 0; isa <= (int)ct__best_isa(); isa++)
        for (int d = 0; d < 2; d++) {
            for (int i = 0; i < N; i++) x[i] = (uint16_t)i, y[i] = ct__from_half(halves[d], x[i]);
            widen[d][isa](N, x, wide);
            assert_memory_equal(wide, y, sizeof y);
            for (uint32_t round = 0; round < 64; round++) { /* 2^22 of the 2^32 bit patterns, any length */
                const size_t n = N - round % 33;
                for (uint32_t i = 0; i < N; i++) {
                    y[i] = ct__of_bits32((i << 16) + round * 0x03fdu + (i & 7));
                    wanted[i] = ct__to_half(halves[d], y[i]);
                }
                narrow[d][isa]((int64_t)n, y, narrowed);
                assert_memory_equal(narrowed, wanted, n * sizeof *wanted);
            }
        }
}

/* u: half a unit in the last place of 1. */
static double unit(ct_dtype t) { return t == CT_BF16 ? 0x1p-8 : 0x1p-11; }

/* C = alpha A B + beta C for every layout: each element within one rounding of the result and f32's own of
 * the sum. */
static void products_round_once(void **state)
{
    (void)state;
    static const int64_t sizes[][4] = {
        /* members, m, n, k */
        { 1, 3, 4, 5 },    { 1, 1, 1, 1 },    { 1, 5, 7, 0 },       { 3, 17, 33, 9 },   { 2, 70, 1, 300 },
        { 1, 1, 90, 600 }, { 0, 4, 4, 4 },    { 1, 150, 170, 270 }, { 1, 0, 4, 4 },     { 5, 64, 128, 64 },
        { 1, 600, 3, 2 },  { 2, 9, 700, 20 }, { 2, 47, 75, 96 },    { 1, 300, 310, 64 }
    };
    static const double factors[][2] = { { 1, 0 }, { 1, 1 }, { -2, 1 }, { 0.5, -0.25 }, { 0, 1 } };
    for (int threads = 1; threads <= 2; threads++) {
        ct_device *dev = open_cpu(threads);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int point = 0; point < 2 * 5 * 3; point++) {
                const ct_dtype t = halves[point % 2];
                const double alpha = factors[point / 2 % 5][0], beta = factors[point / 2 % 5][1];
                const int layout = point / 10;
                const int64_t *z = sizes[s], m = z[1], n = z[2], k = z[3];
                ct_tensor *a = sample(dev, t, ct_shape3(z[0], m, k), layout, 1);
                ct_tensor *b = sample(dev, t, ct_shape3(z[0], k, n), (layout + 1) % 3, 2);
                ct_tensor *c = sample(dev, t, ct_shape3(z[0], m, n), layout, 3);
                ct_tensor *before = ct_tensor_cast(c, CT_F64), *A = ct_tensor_cast(a, CT_F64),
                          *B = ct_tensor_cast(b, CT_F64);
                const double *x = A->view.data, *y = B->view.data;
                assert_int_equal(cpu->gemm(dev, alpha, &a->view, &b->view, beta, &c->view), CT_OK);
                for (int64_t i = 0; i < ct_tensor_count(c); i++) {
                    const int64_t member = i / (m * n), row = i / n % m, col = i % n;
                    double sum = beta * element(before, i), size = fabs(sum);
                    for (int64_t l = 0; l < k; l++) {
                        double p = alpha * x[(member * m + row) * k + l] * y[(member * k + l) * n + col];
                        sum += p, size += fabs(p);
                    }
                    const double got = element(c, i);
                    const double bound = unit(t) * fabs(sum) + (double)(k + 4) * 0x1p-23 * size + 0x1p-24;
                    if (!(fabs(got - sum) <= bound))
                        fail_msg("%s %lldx%lldx%lld layout %d: %.9g, not %.9g", ct_dtype_name(t),
                                 (long long)m, (long long)n, (long long)k, layout, got, sum);
                }
                if (layout == SLICED) assert_contained(c);
                ct_release(a), ct_release(b), ct_release(c), ct_release(before), ct_release(A), ct_release(B);
            }
        assert_int_equal(ct_memory(dev).bytes_now, 0);
        ct_device_close(dev);
    }
}

/* c: what gemm makes of a and b of bf16 (m x k and k x n, in two layouts); the sums of products, exact to
 * f64, and of their sizes. */
static void check_product(ct_device *dev, int64_t m, int64_t n, int64_t k, const ct_tensor *a,
                          const ct_tensor *b, double smallest)
{
    ct_tensor *c = ct_empty(dev, CT_BF16, ct_shape2(m, n)), *A = ct_tensor_cast(a, CT_F64),
              *B = ct_tensor_cast(b, CT_F64);
    const double *x = A->view.data, *y = B->view.data;
    assert_int_equal(cpu->gemm(dev, 1, &a->view, &b->view, 0, &c->view), CT_OK);
    for (int64_t i = 0; i < m * n; i++) {
        double sum = 0, size = 0;
        for (int64_t l = 0; l < k; l++) {
            const double p = x[i / n * k + l] * y[l * n + i % n];
            sum += p, size += fabs(p);
        }
        const double bound = 0x1p-8 * fabs(sum) + (1 + 0x1p-8) * (double)k * 0x1p-24 * size + smallest;
        if (!(fabs(element(c, i) - sum) <= bound))
            fail_msg("%lldx%lldx%lld: [%lld] is %.9g, not %.9g within %.3g", (long long)m, (long long)n,
                     (long long)k, (long long)i, element(c, i), sum, bound);
    }
    ct_release(c), ct_release(A), ct_release(B);
}

/* A dense t in any order times a power of two; its first element becomes zero. */
static void rescale(ct_tensor *t, double scale)
{
    uint16_t *x = t->view.data;
    for (int64_t i = 0; i < ct_tensor_count(t); i++)
        x[i] = i ? from_f64(CT_BF16, scale * (double)ct__from_bf16(x[i])) : 0;
}

static bool has_amx(void) { return ct__has_amx() && ct__ask_for_amx(); }

/* C = A B in f32, of which that many columns are done. */
static int64_t by_dots(bool amx, const ct_tensor *a, const ct_tensor *b, float *c)
{
    const int64_t m = a->view.dim[0], k = a->view.dim[1], n = b->view.dim[1];
    uint32_t *strips = malloc((size_t)((m + 15) / 16 * 16 * (k + 1)) * sizeof *strips);
    assert_true(strips && c);
    const ct__dots q = { .isa = ct__best_isa(),
                         .amx = amx,
                         .dtype = a->view.dtype,
                         .f32 = { .m = m,
                                  .n = n,
                                  .k = k,
                                  .a = a->view.data,
                                  .a_rs = a->view.stride[0],
                                  .a_cs = a->view.stride[1],
                                  .b = b->view.data,
                                  .b_rs = b->view.stride[0],
                                  .b_cs = b->view.stride[1],
                                  .c = c,
                                  .ldc = n },
                         .strips = strips };
    const int64_t done = ct__bf16_multiply(&q);
    free(strips);
    return done;
}

/* The columns that the CPU's dot products compute: if all or none, the same with AMX and without. */
static int64_t done_by_dots(const ct_tensor *a, const ct_tensor *b)
{
    float *c = malloc((size_t)(a->view.dim[0] * b->view.dim[1]) * sizeof *c);
    const int64_t done = by_dots(false, a, b, c);
    assert_int_equal(by_dots(has_amx(), a, b, c), done);
    free(c);
    return done;
}

/* The CPU's dot products of bf16, where it has them: in every layout, at the borders of their tiles, within
 * f32's bound on a sum (docs/half.md). Subnormal operands and results are kept; zeros do not count as the
 * smallest element. */
static void products_of_bf16_sum_in_f32(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {
        { 16, 48, 64 },   { 1, 48, 65 },   { 17, 49, 257 },  { 130, 95, 512 },
        { 23, 97, 300 },  { 17, 600, 66 }, { 128, 47, 100 }, { 37, 97, 320 },
        { 60, 200, 130 }, { 37, 97, 96 },  { 17, 49, 256 },  { 33, 70, 2080 }
    };
    ct_device *dev = open_cpu(2);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int point = 0; point < 4 * 5; point++) {
            const int64_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
            ct_tensor *a = sample(dev, CT_BF16, ct_shape2(m, k), point % 2 ? TRANSPOSED : 0, 1),
                      *b = sample(dev, CT_BF16, ct_shape2(k, n), point / 2 % 2 ? TRANSPOSED : 0, 2);
            static const double scales[][2] = {
                { 1, 1 }, { 1, 0 }, { 0x1p-130, 0x1p100 }, { 0x1p-64, 0x1p-64 }, { 0x1p-55, 0x1p-60 }
            };
            const double *scale = scales[point / 4];
            rescale(a, scale[0]), rescale(b, scale[1]);
            check_product(dev, m, n, k, a, b, 0x1p-134 + 0x1p-149 * (double)k);
            const bool dots = m >= 16 && n >= 48 && k <= 256 && ct__has_bf16(ct__best_isa());
            if (scale[1] != 0) assert_int_equal(done_by_dots(a, b), dots && scale[0] == 1 ? n : 0);
            ct_release(a), ct_release(b);
        }
    assert_int_equal(ct_memory(dev).bytes_now, 0);
    ct_device_close(dev);
}

/* From the first panel with a subnormal on, f32 is used. */
static void products_of_bf16_change_over(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    for (int point = 0; point < 4; point++) {
        const int64_t m = 40, n = 200, k = point < 2 ? 130 : 128;
        const bool layout = point % 2, amx = has_amx() && k % 32 == 0; /* AMX's panels have 64 columns */
        ct_tensor *a = sample(dev, CT_BF16, ct_shape2(m, k), 0, 1),
                  *b = sample(dev, CT_BF16, ct_shape2(k, n), layout ? TRANSPOSED : 0, 2);
        ((uint16_t *)b->view.data)[7 * b->view.stride[0] + 100 * b->view.stride[1]] = 0x0013;
        check_product(dev, m, n, k, a, b, 0x1p-134 + 0x1p-149 * (double)k);
        float *c = malloc((size_t)(m * n) * sizeof *c);
        assert_int_equal(by_dots(false, a, b, c), ct__has_bf16(ct__best_isa()) ? 96 : 0);
        assert_int_equal(by_dots(has_amx(), a, b, c), amx ? 64 : ct__has_bf16(ct__best_isa()) ? 96 : 0);
        free(c);
        ((uint16_t *)a->view.data)[k] = 0x8001;
        assert_int_equal(done_by_dots(a, b), 0);
        ct_release(a), ct_release(b);
    }
    assert_int_equal(ct_memory(dev).bytes_now, 0);
    ct_device_close(dev);
}

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
    if (!has_amx()) skip();
    static const int64_t sizes[][3] = { { 16, 32, 64 },   { 17, 33, 96 },   { 47, 75, 96 }, { 33, 70, 2080 },
                                        { 300, 310, 64 }, { 40, 200, 128 }, { 32, 64, 320 } };
    ct_device *dev = open_cpu(2);
    for (size_t point = 0; point < 4 * (sizeof sizes / sizeof *sizes); point++) {
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
    if (!has_amx()) skip();
    enum { MEMBERS = 2, M = 140, N = 150, K = 512 };
    ct_device *dev[] = { open_cpu(1), open_cpu(2), open_cpu(3) };
    ct_tensor *a = sample(*dev, CT_BF16, ct_shape3(MEMBERS, 2 * M + 1, K + 5), 0, 1),
              *b = sample(*dev, CT_BF16, ct_shape3(MEMBERS, 2 * N + 1, K + 5), 0, 2),
              *d = sample(*dev, CT_BF16, ct_shape3(MEMBERS, M, N), 0, 3),
              *nan = blank(*dev, CT_BF16, ct_shape3(MEMBERS, M, N), 0), *c[2];
    for (int i = 0; i < 2; i++) c[i] = blank(*dev, CT_BF16, ct_shape3(MEMBERS, M + 1, N + 1), 0);
    for (int point = 0; point < 3 * 3 * 3; point++) {
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
    ct_device *dev = open_cpu(2);
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

/* (1 + 2^-7)² v - (1 + 2^-6) v = 2^-14 v, if that is the smallest normal number of f32, and if it is half of
 * it, which the dot products would flush to zero. */
static void products_cancel_to_their_last_bit(void **state)
{
    (void)state;
    enum { M = 160, N = 200, K = 672 };
    ct_device *dev = open_cpu(2);
    for (int point = 0; point < 4; point++) {
        ct_tensor *a = ct_full(dev, CT_BF16, ct_shape2(M, K), 1),
                  *b = blank(dev, CT_BF16, ct_shape2(K, N), point % 2 ? TRANSPOSED : 0),
                  *c = ct_empty(dev, CT_BF16, ct_shape2(M, N));
        const double v = point < 2 ? 0x1p-112 : 0x1p-113;
        memset(b->view.data, 0, sizeof(uint16_t[K][N]));
        for (int64_t i = 0; i < M; i++) ((uint16_t *)a->view.data)[i * K + 7] = from_f64(CT_BF16, 1 + 0x1p-7);
        for (int64_t j = 0; j < N; j++) {
            uint16_t *y = (uint16_t *)b->view.data + 7 * b->view.stride[0] + j * b->view.stride[1];
            y[0] = from_f64(CT_BF16, v * (1 + 0x1p-7));
            y[b->view.stride[0]] = from_f64(CT_BF16, -v * (1 + 0x1p-6));
        }
        assert_int_equal(cpu->gemm(dev, 1, &a->view, &b->view, 0, &c->view), CT_OK);
        for (int64_t i = 0; i < M * N; i++) assert_true(element(c, i) == v * 0x1p-14);
        ct_release(a), ct_release(b), ct_release(c);
    }
    assert_int_equal(ct_memory(dev).bytes_now, 0);
    ct_device_close(dev);
}

/* Numbers of f16 with some of their bits set at random. */
static void scatter(ct_tensor *t, unsigned always, unsigned maybe)
{
    uint32_t seed = always + maybe;
    for (int64_t i = 0; i < ct_tensor_count(t); i++) {
        seed = seed * 1664525u + 1013904223u;
        ((uint16_t *)t->view.data)[i] = (uint16_t)(always | (seed >> 16 & maybe));
    }
}

/* AMX computes products of f16 from two bf16 for each: within f32's bound on a sum for all finite numbers, to
 * the largest and the least. From the first panel with another on, f32 is used. */
static void products_of_f16_in_two_parts(void **state)
{
    (void)state;
    static const unsigned bits[][2] = { { 0, 0xbfff },     { 0x4000, 0xbbff }, { 0, 0x83ff },
                                        { 1, 0x8000 },     { 0x7bff, 0x8000 }, { 0x7800, 0x83ff },
                                        { 0x3c00, 0x8007 } };
    enum { M = 40, N = 200, K = 96, POINTS = 7 * 7 * 4 };
    static float c[M * N];
    ct_device *dev = open_cpu(2);
    for (int point = 0; point < POINTS; point++) {
        ct_tensor *a = sample(dev, CT_F16, ct_shape2(M, K), point % 2 ? TRANSPOSED : 0, 1),
                  *b = sample(dev, CT_F16, ct_shape2(K, N), point / 2 % 2 ? TRANSPOSED : 0, 2);
        scatter(a, bits[point / 4 % 7][0], bits[point / 4 % 7][1]);
        scatter(b, bits[point / 28][0], bits[point / 28][1]);
        assert_int_equal(by_dots(false, a, b, c), 0);
        const int64_t done = by_dots(has_amx(), a, b, c);
        assert_int_equal(done, has_amx() ? N : 0);
        double *x = numbers(a), *y = numbers(b);
        for (int64_t i = 0; i < M * N && done; i++) {
            double sum = 0, size = 0;
            for (int64_t l = 0; l < K; l++) {
                const double p = x[i / N * K + l] * y[l * N + i % N];
                sum += p, size += fabs(p);
            }
            if (!(fabs((double)c[i] - sum) <= K * 0x1p-24 * size))
                fail_msg("point %d, [%lld] is %.9g, not %.9g", point, (long long)i, (double)c[i], sum);
        }
        free(x), free(y);
        ct_release(a), ct_release(b);
    }
    for (int k = 0; k < 4; k++) { /* infinity or NaN, in B or A */
        ct_tensor *a = sample(dev, CT_F16, ct_shape2(M, K), 0, 1),
                  *b = sample(dev, CT_F16, ct_shape2(K, N), 0, 2),
                  *y = ct_empty(dev, CT_F16, ct_shape2(M, N));
        ((uint16_t *)(k < 2 ? b : a)->view.data)[k < 2 ? 7 * N + 100 : 3 * K + 5] = k % 2 ? 0x7e01 : 0xfc00;
        assert_int_equal(by_dots(has_amx(), a, b, c), k < 2 && has_amx() ? 96 : 0);
        assert_int_equal(cpu->gemm(dev, 1, &a->view, &b->view, 0, &y->view), CT_OK);
        for (int64_t i = 0; i < M * N; i++) {
            const double got = element(y, i);
            const bool hit = k < 2 ? i % N == 100 : i / N == 3;
            assert_true(!hit ? isfinite(got) : k % 2 ? isnan(got) : isinf(got));
        }
        ct_release(a), ct_release(b), ct_release(y);
    }
    assert_int_equal(ct_memory(dev).bytes_now, 0);
    ct_device_close(dev);
}

/* Of a product with a large weight only tiles exist in f32. */
static void no_whole_copy_in_f32(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    ct_tensor *x = sample(dev, CT_BF16, ct_shape2(8, 2048), 0, 1),
              *w = ct_zeros(dev, CT_BF16, ct_shape2(2048, 4096));
    ct_tensor *y = ct_empty(dev, CT_BF16, ct_shape2(8, 4096));
    ct_memory_mark(dev);
    const uint64_t held = ct_memory(dev).bytes_now;
    assert_int_equal(cpu->gemm(dev, 1, &x->view, &w->view, 0, &y->view), CT_OK);
    assert_true(ct_memory(dev).bytes_peak - held < 4 * 2048 * 4096 / 8);
    assert_true(element(y, 77) == 0);
    ct_release(x), ct_release(w), ct_release(y);
    ct_device_close(dev);
}

/* Of a batch whose A is packed, only some members are packed at a time. */
static void no_packed_copy_of_a_batch(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
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

static void maps_and_sums(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    static const int64_t rows[] = { 1, 7, 300, 0 }, cols[] = { 1, 129, 700, 3 };
    for (int k = 0; k < 4; k++)
        for (int layout = 0; layout < OUT_LAYOUTS; layout++)
            for (int d = 0; d < 2; d++) {
                const ct_dtype t = halves[d];
                const ct_shape shape = ct_shape2(rows[k], cols[k]);
                ct_tensor *a = sample(dev, t, shape, layout, 1), *b = sample(dev, t, shape, BROADCAST, 2);
                ct_tensor *y = blank(dev, t, shape, layout), *z = blank(dev, t, shape, layout);
                const double none[2] = { 0, 0 };
                assert_int_equal(cpu->map2(dev, CT_MAP_add, &a->view, &b->view, &y->view), CT_OK);
                assert_int_equal(
                    cpu->map1_bar(dev, CT_MAP_relu, none, &a->view, &a->view, &b->view, &z->view), CT_OK);
                for (int64_t i = 0; i < ct_tensor_count(y); i++) {
                    double exact = element(a, i) + element(b, i);
                    assert_true(element(y, i) == (double)ct__from_half(t, from_f64(t, (double)(float)exact)));
                    assert_true(element(z, i) == (element(a, i) > 0 ? element(b, i) : 0));
                }
                ct_tensor *sum = ct_empty(dev, t, ct_shape2(1, cols[k]));
                assert_int_equal(cpu->reduce(dev, CT_REDUCE_SUM, &a->view, &sum->view), CT_OK);
                for (int64_t j = 0; j < cols[k]; j++) {
                    double exact = 0, size = 0;
                    for (int64_t i = 0; i < rows[k]; i++)
                        exact += element(a, i * cols[k] + j), size += fabs(element(a, i * cols[k] + j));
                    assert_true(fabs(element(sum, j) - exact) <= unit(t) * fabs(exact) + 1e-14 * size);
                }
                ct_release(a), ct_release(b), ct_release(y), ct_release(z), ct_release(sum);
            }
    ct_device_close(dev);
}

static void tensors_of_half(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(1);
    assert_int_equal(ct_dtype_size(CT_BF16), 2);
    assert_int_equal(ct_dtype_size(CT_F16), 2);
    assert_string_equal(ct_dtype_name(CT_BF16), "bf16");
    assert_string_equal(ct_dtype_name(CT_F16), "f16");
    assert_int_equal(ct_dtype_size((ct_dtype)5), 0);
    uint16_t bits[6] = { 0x3f80, 0xc000, 0x7f80, 0x0001, 0x8000, 0x4049 }, back[6] = { 0 };
    ct_tensor *t = ct_wrap(dev, CT_BF16, ct_shape2(2, 3), bits, NULL, NULL), *v = ct_tensor_transpose(t);
    assert_non_null(v);
    assert_int_equal(ct_read(v, back, sizeof back), CT_OK);
    assert_int_equal(back[1], 0x0001);
    ct_tensor *one = ct_tensor_slice(v, 0, 1, 2, 1), *item = ct_tensor_slice(one, 1, 0, 1, 1);
    assert_true(ct_tensor_item(item) == -2);
    ct_tensor *copy = ct_tensor_clone(v), *full = ct_full(dev, CT_F16, ct_shape1(3), 1.0 / 3);
    assert_non_null(copy);
    assert_int_equal(ct_write(copy, bits, sizeof bits), CT_OK);
    assert_int_equal(((uint16_t *)ct_tensor_data(full))[2], 0x3555);
    assert_int_equal(ct_write(copy, bits, 24), CT_ESHAPE);
    assert_null(ct_wrap(dev, CT_F16, ct_shape1(1), (char *)bits + 1, NULL, NULL));
    assert_non_null(strstr(ct_message(dev), "not aligned to its f16"));
    assert_null(ct_rand_normal(dev, CT_BF16, ct_shape1(3), 1, 0));
    assert_non_null(strstr(ct_message(dev), "not bf16: ct_tensor_cast"));
    assert_int_equal(ct_npy_save(t, "never-written.npy"), CT_EDTYPE);
    assert_non_null(strstr(ct_message(dev), "ct_tensor_cast"));
    ct_tensor *all[] = { t, v, one, item, copy, full };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ct_release(all[i]);
    ct_device_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_number_goes_both_ways),
                                        cmocka_unit_test(ties_go_to_even),
                                        cmocka_unit_test(integers_round_once),
                                        cmocka_unit_test(every_instruction_set_gives_the_same_bits),
                                        cmocka_unit_test(products_round_once),
                                        cmocka_unit_test(products_of_bf16_sum_in_f32),
                                        cmocka_unit_test(products_of_bf16_change_over),
                                        cmocka_unit_test(columns_in_place),
                                        cmocka_unit_test(columns_of_a_batch),
                                        cmocka_unit_test(columns_with_extremes),
                                        cmocka_unit_test(products_cancel_to_their_last_bit),
                                        cmocka_unit_test(products_of_f16_in_two_parts),
                                        cmocka_unit_test(no_whole_copy_in_f32),
                                        cmocka_unit_test(no_packed_copy_of_a_batch),
                                        cmocka_unit_test(maps_and_sums),
                                        cmocka_unit_test(tensors_of_half) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
