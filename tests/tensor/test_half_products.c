/* Products of bf16 and f16 against f64: one rounding of a sum in f32, by every way to compute them. */
#include "half_support.h"

#include "tensor/cpu/gemm_bf16.h"

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
        ct_device *dev = open_with_amx(threads);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int point = 0; point < 2 * 5 * 3; point += check_quick() ? 7 : 1) {
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

/* C = A B + D, from a copy of D or from D itself, on that many threads. Returns C's elements, to be freed. */
static uint16_t *sum_of(int isa, int threads, bool copied, const ct_view *a, const ct_view *b,
                        const ct_view *d)
{
    ct_device *dev = open_with_amx(threads);
    dev->isa = isa, dev->amx = false;
    ct_shape shape = { .ndim = a->ndim };
    for (int i = 0; i < a->ndim; i++) shape.dim[i] = i == a->ndim - 1 ? b->dim[b->ndim - 1] : a->dim[i];
    ct_tensor *c = ct_empty(dev, a->dtype, shape);
    if (copied) {
        assert_int_equal(cpu->copy(dev, d, &c->view), CT_OK);
        assert_int_equal(cpu->gemm(dev, 1, a, b, 1, &c->view), CT_OK);
    } else {
        assert_int_equal(cpu->affine(dev, a, b, d, &c->view), CT_OK);
    }
    const size_t bytes = (size_t)ct_tensor_count(c) * sizeof(uint16_t);
    uint16_t *out = malloc(bytes);
    assert_non_null(out);
    memcpy(out, c->view.data, bytes);
    ct_release(c);
    ct_device_close(dev);
    return out;
}

/* Without the CPU's dot products of bf16 an element has the same bits wherever it lies in its tile: for any
 * number of threads, member by member or as a batch that shares B, and however C starts. */
static void bits_do_not_depend_on_the_tiles(void **state)
{
    (void)state;
    enum { MEMBERS = 3, M = 45, N = 150, K = 300 };
    ct_device *dev = open_with_amx(1);
    for (int point = 0; point < CT__ISA_COUNT * 2 * 2 * 2; point++) {
        const int isa = point / 8;
        const ct_dtype t = halves[point % 2];
        if (isa > (int)ct__best_isa() || (t == CT_BF16 && ct__has_bf16(isa))) continue;
        ct_tensor *a = sample(dev, t, ct_shape3(MEMBERS, M, K), point / 2 % 2 ? TRANSPOSED : CONTIGUOUS, 1),
                  *b = sample(dev, t, ct_shape3(1, K, N), point / 4 % 2 ? TRANSPOSED : CONTIGUOUS, 2),
                  *d = sample(dev, t, ct_shape3(MEMBERS, M, N), CONTIGUOUS, 3);
        ct_view B = b->view;
        B.dim[0] = MEMBERS, B.stride[0] = 0;
        uint16_t *wanted = sum_of(isa, 1, true, &a->view, &B, &d->view);
        for (int way = 0; way < 4 * 2; way++) {
            uint16_t *got =
                sum_of(isa, (const int[]){ 1, 2, 3, 16 }[way / 2], way % 2, &a->view, &B, &d->view);
            assert_memory_equal(got, wanted, sizeof(uint16_t[MEMBERS][M][N]));
            free(got);
        }
        for (int i = 0; i < MEMBERS; i++) {
            const ct_view x = ct_view_slice(a->view, 0, i, i + 1, 1),
                          start = ct_view_slice(d->view, 0, i, i + 1, 1);
            uint16_t *got = sum_of(isa, 2, false, &x, &b->view, &start);
            assert_memory_equal(got, wanted + i * M * N, sizeof(uint16_t[M][N]));
            free(got);
        }
        free(wanted);
        ct_release(a), ct_release(b), ct_release(d);
    }
    ct_device_close(dev);
}

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

/* AMX belongs to the best instruction set, and tests may ask for less. */
static bool may_use_amx(void) { return has_amx() && ct__best_isa() == CT__ISA_AVX512; }

/* The columns that the CPU's dot products compute: if all or none, the same with AMX and without. */
static int64_t done_by_dots(const ct_tensor *a, const ct_tensor *b)
{
    float *c = malloc((size_t)(a->view.dim[0] * b->view.dim[1]) * sizeof *c);
    const int64_t done = by_dots(false, a, b, c);
    assert_int_equal(by_dots(may_use_amx(), a, b, c), done);
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
    ct_device *dev = open_with_amx(2);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int point = 0; point < 4 * 5; point += check_quick() ? 3 : 1) {
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
    ct_device *dev = open_with_amx(2);
    for (int point = 0; point < 4; point++) {
        const int64_t m = 40, n = 200, k = point < 2 ? 130 : 128;
        const bool layout = point % 2, amx = may_use_amx() && k % 32 == 0; /* AMX's panels have 64 columns */
        ct_tensor *a = sample(dev, CT_BF16, ct_shape2(m, k), 0, 1),
                  *b = sample(dev, CT_BF16, ct_shape2(k, n), layout ? TRANSPOSED : 0, 2);
        ((uint16_t *)b->view.data)[7 * b->view.stride[0] + 100 * b->view.stride[1]] = 0x0013;
        check_product(dev, m, n, k, a, b, 0x1p-134 + 0x1p-149 * (double)k);
        float *c = malloc((size_t)(m * n) * sizeof *c);
        assert_int_equal(by_dots(false, a, b, c), ct__has_bf16(ct__best_isa()) ? 96 : 0);
        assert_int_equal(by_dots(may_use_amx(), a, b, c), amx ? 64 : ct__has_bf16(ct__best_isa()) ? 96 : 0);
        free(c);
        ((uint16_t *)a->view.data)[k] = 0x8001;
        assert_int_equal(done_by_dots(a, b), 0);
        ct_release(a), ct_release(b);
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
    ct_device *dev = open_with_amx(2);
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
    ct_device *dev = open_with_amx(2);
    for (int point = 0; point < POINTS; point++) {
        ct_tensor *a = sample(dev, CT_F16, ct_shape2(M, K), point % 2 ? TRANSPOSED : 0, 1),
                  *b = sample(dev, CT_F16, ct_shape2(K, N), point / 2 % 2 ? TRANSPOSED : 0, 2);
        scatter(a, bits[point / 4 % 7][0], bits[point / 4 % 7][1]);
        scatter(b, bits[point / 28][0], bits[point / 28][1]);
        assert_int_equal(by_dots(false, a, b, c), 0);
        const int64_t done = by_dots(may_use_amx(), a, b, c);
        assert_int_equal(done, may_use_amx() ? N : 0);
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
        assert_int_equal(by_dots(may_use_amx(), a, b, c), k < 2 && may_use_amx() ? 96 : 0);
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
    ct_device *dev = open_with_amx(2);
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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(bits_do_not_depend_on_the_tiles),
                                        cmocka_unit_test(products_round_once),
                                        cmocka_unit_test(products_of_bf16_sum_in_f32),
                                        cmocka_unit_test(products_of_bf16_change_over),
                                        cmocka_unit_test(products_cancel_to_their_last_bit),
                                        cmocka_unit_test(products_of_f16_in_two_parts),
                                        cmocka_unit_test(no_whole_copy_in_f32) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
