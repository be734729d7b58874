/* What the tests of bf16 and f16 share. */
#ifndef CT_TEST_HALF_SUPPORT_H
#define CT_TEST_HALF_SUPPORT_H

#include "cpu_support.h"

#include "tensor/cpu/half.h"
#include "tensor/cpu/kernel/isa.h"

#include <math.h>

static const ct_dtype halves[] = { CT_BF16, CT_F16 };
static const ct_backend *const cpu = &ct__cpu_backend;

static inline uint16_t from_f64(ct_dtype dtype, double x) { return ct__to_half(dtype, ct__odd_f32(x)); }

/* u: half a unit in the last place of 1. */
static inline double unit(ct_dtype t) { return t == CT_BF16 ? 0x1p-8 : 0x1p-11; }

/* c: what gemm makes of a and b of bf16 (m x k and k x n, in two layouts); the sums of products, exact to
 * f64, and of their sizes. */
static inline void check_product(ct_device *dev, int64_t m, int64_t n, int64_t k, const ct_tensor *a,
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
static inline void rescale(ct_tensor *t, double scale)
{
    uint16_t *x = t->view.data;
    for (int64_t i = 0; i < ct_tensor_count(t); i++)
        x[i] = i ? from_f64(CT_BF16, scale * (double)ct__from_bf16(x[i])) : 0;
}

static inline bool has_amx(void)
{
    const bool has = ct__has_amx() && ct__ask_for_amx();
#ifdef CT_TEST_SIMULATED_IMMINTRIN_H
    assert_true(has); /* the simulated CPU has it, else these tests show nothing */
#endif
    return has;
}

/* A device with AMX if the CPU has it; a simulated one (simulated/) has it beside any instruction set. */
static inline ct_device *open_with_amx(int threads)
{
    ct_device *dev = open_cpu(threads);
    dev->amx = has_amx();
    return dev;
}

#endif
