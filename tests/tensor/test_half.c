/* bf16 and f16: every number both ways, every tie, the same bits from every instruction set. Then elementwise
 * ops and sums against f64, with the one rounding that is allowed. */
#include "half_support.h"

#include "tensor/cpu/kernel/isa.h"

#include <cotangent/io.h>

/* The value by the definition of the format: exponent bits e with their bias, fraction bits. */
static double by_definition(ct_dtype dtype, unsigned h)
{
    int fraction = dtype == CT_BF16 ? 7 : 10, bias = dtype == CT_BF16 ? 127 : 15;
    int top = dtype == CT_BF16 ? 255 : 31, e = (int)(h >> fraction) & top;
    double m = (double)(h & ((1u << fraction) - 1)) / (double)(1u << fraction), sign = h & 0x8000 ? -1 : 1;
    if (e == top) return m != 0 ? NAN : sign * INFINITY;
    return sign * (e ? ldexp(1 + m, e - bias) : ldexp(m, 1 - bias));
}

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
            ct__widen(isa, halves[d], N, x, wide);
            assert_memory_equal(wide, y, sizeof y);
            for (uint32_t round = 0; round < 64; round++) { /* 2^22 of the 2^32 bit patterns, any length */
                const size_t n = N - round % 33;
                for (uint32_t i = 0; i < N; i++) {
                    y[i] = ct__of_bits32((i << 16) + round * 0x03fdu + (i & 7));
                    wanted[i] = ct__to_half(halves[d], y[i]);
                }
                ct__narrow(isa, halves[d], (int64_t)n, y, narrowed);
                assert_memory_equal(narrowed, wanted, n * sizeof *wanted);
            }
        }
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
                                        cmocka_unit_test(maps_and_sums),
                                        cmocka_unit_test(tensors_of_half) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
