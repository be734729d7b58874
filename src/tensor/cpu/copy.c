/* fill, copy between all dtypes, where. */
#include "cpu.h"
#include "half.h"

/* clang-format off */
#define CT_DTYPES(M) M(f64, double) M(f32, float) M(i64, int64_t)
/* clang-format on */

/* Rounds towards zero; saturates; NaN becomes 0. */
static inline int64_t integer(double x)
{
    if (x != x) return 0;
    if (x >= 9223372036854775808.0) return INT64_MAX;
    if (x < -9223372036854775808.0) return INT64_MIN;
    return (int64_t)x;
}

#define SAME(x)         (x)
#define INTEGER(x)      integer((double)(x))
#define BF16_F64(x)     ct__to_bf16(ct__odd_f32(x))
#define BF16_I64(x)     BF16_F64(ct__odd_f64(x))
#define BF16_F16(x)     ct__to_bf16(ct__from_f16(x))
#define F16_F64(x)      ct__to_f16(ct__odd_f32(x))
#define F16_I64(x)      F16_F64(ct__odd_f64(x))
#define F16_BF16(x)     ct__to_f16(ct__from_bf16(x))
#define INTEGER_BF16(x) INTEGER(ct__from_bf16(x))
#define INTEGER_F16(x)  INTEGER(ct__from_f16(x))

/* name, type of out, type of x, conversion; ordered as a matrix over enum ct_dtype */
#define CONVERSIONS(M)                           \
    M(f64_f64, double, double, SAME)             \
    M(f64_f32, double, float, (double))          \
    M(f64_i64, double, int64_t, (double))        \
    M(f64_bf16, double, uint16_t, ct__from_bf16) \
    M(f64_f16, double, uint16_t, ct__from_f16)   \
    M(f32_f64, float, double, (float))           \
    M(f32_f32, float, float, SAME)               \
    M(f32_i64, float, int64_t, (float))          \
    M(f32_bf16, float, uint16_t, ct__from_bf16)  \
    M(f32_f16, float, uint16_t, ct__from_f16)    \
    M(i64_f64, int64_t, double, INTEGER)         \
    M(i64_f32, int64_t, float, INTEGER)          \
    M(i64_i64, int64_t, int64_t, SAME)           \
    M(i64_bf16, int64_t, uint16_t, INTEGER_BF16) \
    M(i64_f16, int64_t, uint16_t, INTEGER_F16)   \
    M(bf16_f64, uint16_t, double, BF16_F64)      \
    M(bf16_f32, uint16_t, float, ct__to_bf16)    \
    M(bf16_i64, uint16_t, int64_t, BF16_I64)     \
    M(bf16_bf16, uint16_t, uint16_t, SAME)       \
    M(bf16_f16, uint16_t, uint16_t, BF16_F16)    \
    M(f16_f64, uint16_t, double, F16_F64)        \
    M(f16_f32, uint16_t, float, ct__to_f16)      \
    M(f16_i64, uint16_t, int64_t, F16_I64)       \
    M(f16_bf16, uint16_t, uint16_t, F16_BF16)    \
    M(f16_f16, uint16_t, uint16_t, SAME)

#define COPY(name, O, I, convert)                                                                            \
    static void copy_##name(int64_t n1, int64_t n0, void *const *data, const int64_t *s1, const int64_t *s0, \
                            const void *context)                                                             \
    {                                                                                                        \
        (void)context;                                                                                       \
        for (int64_t j = 0; j < n1; j++) {                                                                   \
            O *restrict out = (O *)data[0] + j * s1[0];                                                      \
            const I *restrict x = (const I *)data[1] + j * s1[1];                                            \
            const int64_t so = s0[0], sx = s0[1];                                                            \
            const O first = convert(x[0]);                                                                   \
            if (so == 1 && sx == 0)                                                                          \
                for (int64_t i = 0; i < n0; i++) out[i] = first;                                             \
            else if (so == 1 && sx == 1)                                                                     \
                for (int64_t i = 0; i < n0; i++) out[i] = convert(x[i]);                                     \
            else                                                                                             \
                for (int64_t i = 0; i < n0; i++) out[i * so] = convert(x[i * sx]);                           \
        }                                                                                                    \
    }
CONVERSIONS(COPY)

#define COPY_ENTRY(name, O, I, convert) copy_##name,
static const ct__kernel copies[] = { CONVERSIONS(COPY_ENTRY) };
enum { DTYPES = CT_F16 + 1 };

typedef struct conversion {
    ct_dtype out, x;
    int isa;
} conversion;

/* Converts between f32 and bf16 or f16, with vectors if both sides are contiguous. */
static void copy_half(int64_t n1, int64_t n0, void *const *data, const int64_t *s1, const int64_t *s0,
                      const void *context)
{
    const conversion *c = context;
    if (s0[0] != 1 || s0[1] != 1) {
        copies[c->out * DTYPES + c->x](n1, n0, data, s1, s0, NULL);
        return;
    }
    for (int64_t j = 0; j < n1; j++) {
        void *out = ct__at(data[0], c->out, j * s1[0]), *x = ct__at(data[1], c->x, j * s1[1]);
        if (c->out == CT_F32)
            ct__widen(c->isa, c->x, n0, x, out);
        else
            ct__narrow(c->isa, c->out, n0, x, out);
    }
}

/* out = cond ? a : b over out, cond, a, b */
#define WHERE(name, O, C)                                                                  \
    static void where_##name(int64_t n1, int64_t n0, void *const *data, const int64_t *s1, \
                             const int64_t *s0, const void *context)                       \
    {                                                                                      \
        (void)context;                                                                     \
        for (int64_t j = 0; j < n1; j++) {                                                 \
            O *out = (O *)data[0] + j * s1[0];                                             \
            const C *cond = (const C *)data[1] + j * s1[1];                                \
            const O *a = (const O *)data[2] + j * s1[2];                                   \
            const O *b = (const O *)data[3] + j * s1[3];                                   \
            for (int64_t i = 0; i < n0; i++)                                               \
                out[i * s0[0]] = cond[i * s0[1]] != 0 ? a[i * s0[2]] : b[i * s0[3]];       \
        }                                                                                  \
    }
#define WHERE_OF(name, C) \
    WHERE(f64_##name, double, C) WHERE(f32_##name, float, C) WHERE(i64_##name, int64_t, C)
CT_DTYPES(WHERE_OF)

#define WHERE_ROW(name, O) { where_##name##_f64, where_##name##_f32, where_##name##_i64 },
static const ct__kernel wheres[3][3] = { CT_DTYPES(WHERE_ROW) };

ct_status ct__cpu_copy(ct_device *dev, const ct_view *x, ct_view *out)
{
    const ct_view *t[] = { out, x };
    const conversion c = { out->dtype, x->dtype, dev->isa };
    bool half =
        ct__is_half(out->dtype) != ct__is_half(x->dtype) && (out->dtype == CT_F32 || x->dtype == CT_F32);
    ct__loop(dev, 2, t, half ? copy_half : copies[out->dtype * DTYPES + x->dtype], &c, dev->tuning->grain);
    return CT_OK;
}

ct_status ct__cpu_fill(ct_device *dev, ct_view *out, double value)
{
    ct_view one = *out;
    one.dtype = CT_F64;
    one.data = &value;
    memset(one.stride, 0, sizeof one.stride);
    return ct__cpu_copy(dev, &one, out);
}

ct_status ct__cpu_where(ct_device *dev, const ct_view *cond, const ct_view *a, const ct_view *b, ct_view *out)
{
    const ct_view *t[] = { out, cond, a, b };
    ct__loop(dev, 4, t, wheres[out->dtype][cond->dtype], NULL, dev->tuning->grain);
    return CT_OK;
}

void ct__copy_matrix(ct_device *dev, ct_dtype dtype, int64_t rows, int64_t cols, const void *x, int64_t x_rs,
                     int64_t x_cs, void *y, int64_t y_rs, int64_t y_cs)
{
    const ct_view from = { .data = (void *)(uintptr_t)x,
                           .dtype = dtype,
                           .ndim = 2,
                           .dim = { rows, cols },
                           .stride = { x_rs, x_cs } };
    const ct_view to = {
        .data = y, .dtype = dtype, .ndim = 2, .dim = { rows, cols }, .stride = { y_rs, y_cs }
    };
    const ct_view *t[] = { &to, &from };
    ct__loop(dev, 2, t, copies[dtype * DTYPES + dtype], NULL, dev->tuning->grain);
}
