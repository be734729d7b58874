/* Elementwise functions: each line of the tables in maps.h becomes one loop per dtype. */
#include "cpu.h"
#include "half.h"
#include "map_vector.h"

#include <math.h>

#if defined(__clang__)
#    pragma clang diagnostic ignored "-Wpass-failed" /* loops around libm calls stay scalar */
#endif

enum { COSTLY_GRAIN = 8192 };

/* clang-format off */
#define KERNEL(name) static void NAME(name)(int64_t n1, int64_t n0, void *const *data, const int64_t *s1, \
                                            const int64_t *s0, const void *context)

#define VALUE1(name, value, derivative, vjp)                                                \
    KERNEL(value_##name)                                                                    \
    {                                                                                       \
        const double *p = context;                                                          \
        (void)p;                                                                            \
        if (n1 == 1 && n0 == 1) {                                                           \
            const T x = *(const T *)data[1];                                                \
            *(T *)data[0] = value;                                                          \
            return;                                                                         \
        }                                                                                   \
        for (int64_t j = 0; j < n1; j++) {                                                  \
            T *out = (T *)data[0] + j * s1[0];                                              \
            const T *in = (const T *)data[1] + j * s1[1];                                   \
            const int64_t so = s0[0], si = s0[1];                                           \
            if (so == 1 && si == 1) {                                                       \
                _Pragma("omp simd")                                                         \
                for (int64_t i = 0; i < n0; i++) { const T x = in[i]; out[i] = value; }     \
            } else {                                                                        \
                for (int64_t i = 0; i < n0; i++) { const T x = in[i * si]; out[i * so] = value; } \
            }                                                                               \
        }                                                                                   \
    }

/* out = g f'(x) over out, x, y, g */
#define BAR1(name, value, derivative, vjp)                                                  \
    KERNEL(bar_##name)                                                                      \
    {                                                                                       \
        const double *p = context;                                                          \
        (void)p;                                                                            \
        if (n1 == 1 && n0 == 1) {                                                           \
            const T x = *(const T *)data[1], y = *(const T *)data[2], g = *(const T *)data[3]; \
            (void)x, (void)y;                                                               \
            *(T *)data[0] = g * (derivative);                                               \
            return;                                                                         \
        }                                                                                   \
        for (int64_t j = 0; j < n1; j++) {                                                  \
            T *out = (T *)data[0] + j * s1[0];                                              \
            const T *xs = (const T *)data[1] + j * s1[1];                                   \
            const T *ys = (const T *)data[2] + j * s1[2];                                   \
            const T *gs = (const T *)data[3] + j * s1[3];                                   \
            const int64_t so = s0[0], sx = s0[1], sy = s0[2], sg = s0[3];                   \
            if (so == 1 && sx == 1 && sy == 1 && sg == 1) {                                 \
                _Pragma("omp simd")                                                         \
                for (int64_t i = 0; i < n0; i++) {                                          \
                    const T x = xs[i], y = ys[i], g = gs[i];                                \
                    (void)x, (void)y;                                                       \
                    out[i] = g * (derivative);                                              \
                }                                                                           \
            } else {                                                                        \
                for (int64_t i = 0; i < n0; i++) {                                          \
                    const T x = xs[i * sx], y = ys[i * sy], g = gs[i * sg];                 \
                    (void)x, (void)y;                                                       \
                    out[i * so] = g * (derivative);                                         \
                }                                                                           \
            }                                                                               \
        }                                                                                   \
    }

#define VALUE2(name, value, derivative_a, derivative_b, vjp_a, vjp_b)                       \
    KERNEL(value_##name)                                                                    \
    {                                                                                       \
        (void)context;                                                                      \
        if (n1 == 1 && n0 == 1) {                                                           \
            const T a = *(const T *)data[1], b = *(const T *)data[2];                       \
            *(T *)data[0] = value;                                                          \
            return;                                                                         \
        }                                                                                   \
        for (int64_t j = 0; j < n1; j++) {                                                  \
            T *out = (T *)data[0] + j * s1[0];                                              \
            const T *as = (const T *)data[1] + j * s1[1];                                   \
            const T *bs = (const T *)data[2] + j * s1[2];                                   \
            const int64_t so = s0[0], sa = s0[1], sb = s0[2];                               \
            if (so == 1 && sa == 1 && sb == 1) {                                            \
                _Pragma("omp simd")                                                         \
                for (int64_t i = 0; i < n0; i++) { const T a = as[i], b = bs[i]; out[i] = value; } \
            } else if (so == 1 && sa == 1 && sb == 0) {                                     \
                const T b = *bs;                                                            \
                _Pragma("omp simd")                                                         \
                for (int64_t i = 0; i < n0; i++) { const T a = as[i]; out[i] = value; }     \
            } else if (so == 1 && sa == 0 && sb == 1) {                                     \
                const T a = *as;                                                            \
                _Pragma("omp simd")                                                         \
                for (int64_t i = 0; i < n0; i++) { const T b = bs[i]; out[i] = value; }     \
            } else {                                                                        \
                for (int64_t i = 0; i < n0; i++) {                                          \
                    const T a = as[i * sa], b = bs[i * sb];                                 \
                    out[i * so] = value;                                                    \
                }                                                                           \
            }                                                                               \
        }                                                                                   \
    }

/* out = g derivative over out, a, b, g */
#define BAR2(name, derivative)                                                              \
    KERNEL(name)                                                                            \
    {                                                                                       \
        (void)context;                                                                      \
        if (n1 == 1 && n0 == 1) {                                                           \
            const T a = *(const T *)data[1], b = *(const T *)data[2], g = *(const T *)data[3]; \
            (void)a, (void)b;                                                               \
            *(T *)data[0] = g * (derivative);                                               \
            return;                                                                         \
        }                                                                                   \
        for (int64_t j = 0; j < n1; j++) {                                                  \
            T *out = (T *)data[0] + j * s1[0];                                              \
            const T *as = (const T *)data[1] + j * s1[1];                                   \
            const T *bs = (const T *)data[2] + j * s1[2];                                   \
            const T *gs = (const T *)data[3] + j * s1[3];                                   \
            const int64_t so = s0[0], sa = s0[1], sb = s0[2], sg = s0[3];                   \
            if (so == 1 && sa == 1 && sb == 1 && sg == 1) {                                 \
                _Pragma("omp simd")                                                         \
                for (int64_t i = 0; i < n0; i++) {                                          \
                    const T a = as[i], b = bs[i], g = gs[i];                                \
                    (void)a, (void)b;                                                       \
                    out[i] = g * (derivative);                                              \
                }                                                                           \
            } else {                                                                        \
                for (int64_t i = 0; i < n0; i++) {                                          \
                    const T a = as[i * sa], b = bs[i * sb], g = gs[i * sg];                 \
                    (void)a, (void)b;                                                       \
                    out[i * so] = g * (derivative);                                         \
                }                                                                           \
            }                                                                               \
        }                                                                                   \
    }
#define BARS2(name, value, derivative_a, derivative_b, vjp_a, vjp_b) \
    BAR2(bar_a_##name, derivative_a)                                 \
    BAR2(bar_b_##name, derivative_b)

#define VALUE_ENTRY1(name, value, derivative, vjp) NAME(value_##name),
#define BAR_ENTRY1(name, value, derivative, vjp)   NAME(bar_##name),
#define VALUE_ENTRY2(name, value, derivative_a, derivative_b, vjp_a, vjp_b) NAME(value_##name),
#define BAR_ENTRY2(name, value, derivative_a, derivative_b, vjp_a, vjp_b)   { NAME(bar_a_##name), NAME(bar_b_##name) },
/* clang-format on */

#define T       double
#define FN(F)   F
#define NAME(F) F##_f64
CT_MAPS1(VALUE1)
CT_MAPS1(BAR1)
CT_MAPS2(VALUE2)
CT_MAPS2(BARS2)
static const ct__kernel values1_f64[] = { CT_MAPS1(VALUE_ENTRY1) };
static const ct__kernel bars1_f64[] = { CT_MAPS1(BAR_ENTRY1) };
static const ct__kernel values2_f64[] = { CT_MAPS2(VALUE_ENTRY2) };
static const ct__kernel bars2_f64[][2] = { CT_MAPS2(BAR_ENTRY2) };
#undef T
#undef FN
#undef NAME

#define T       float
#define FN(F)   F##f
#define NAME(F) F##_f32
CT_MAPS1(VALUE1)
CT_MAPS1(BAR1)
CT_MAPS2(VALUE2)
CT_MAPS2(BARS2)
static const ct__kernel values1_f32[] = { CT_MAPS1(VALUE_ENTRY1) };
static const ct__kernel bars1_f32[] = { CT_MAPS1(BAR_ENTRY1) };
static const ct__kernel values2_f32[] = { CT_MAPS2(VALUE_ENTRY2) };
static const ct__kernel bars2_f32[][2] = { CT_MAPS2(BAR_ENTRY2) };
#undef T
#undef FN
#undef NAME

/* bf16 and f16: strips of the operands become f32, go through its kernel, and the result is rounded. */
typedef struct half_map {
    ct__kernel kernel;
    const void *context;
    ct_dtype dtype;
    int operands;
} half_map;

static void run_half(int64_t n1, int64_t n0, void *const *data, const int64_t *s1, const int64_t *s0,
                     const void *context)
{
    enum { STRIP = 256 };
    static const int64_t zero[CT__OPERANDS] = { 0 }, one[CT__OPERANDS] = { 1, 1, 1, 1 };
    const half_map *h = context;
    float strip[CT__OPERANDS][STRIP];
    void *const at[] = { strip[0], strip[1], strip[2], strip[3] };
    for (int64_t j = 0; j < n1; j++)
        for (int64_t i = 0; i < n0; i += STRIP) {
            int64_t n = n0 - i < STRIP ? n0 - i : STRIP;
            for (int k = 1; k < h->operands; k++)
                ct__widen_tile(h->dtype, 1, n, (const uint16_t *)data[k] + j * s1[k] + i * s0[k], 0, s0[k],
                               strip[k], 0);
            h->kernel(1, n, at, zero, one, h->context);
            ct__narrow_tile(h->dtype, 1, n, strip[0], 0, (uint16_t *)data[0] + j * s1[0] + i * s0[0], 0,
                            s0[0]);
        }
}

/* The kernel for t[0]'s dtype over n operands. */
static ct_status run(ct_device *dev, int n, const ct_tensor *const *t, ct__kernel f64, ct__kernel f32,
                     const void *context, int64_t grain)
{
    const ct_dtype dtype = t[0]->dtype;
    if (ct__is_half(dtype))
        ct__loop(dev, n, t, run_half, &(half_map){ f32, context, dtype, n }, grain);
    else
        ct__loop(dev, n, t, dtype == CT_F32 ? f32 : f64, context, grain);
    return CT_OK;
}

ct_status ct__cpu_map1(ct_device *dev, ct_map1 f, const double p[2], const ct_tensor *x, ct_tensor *out)
{
    const ct_tensor *t[] = { out, x };
    ct__kernel f64 = ct__vector_map(dev->isa, f, false), f32 = ct__vector_map(dev->isa, f, true);
    return run(dev, 2, t, f64 ? f64 : values1_f64[f], f32 ? f32 : values1_f32[f], p, COSTLY_GRAIN);
}

ct_status ct__cpu_map1_bar(ct_device *dev, ct_map1 f, const double p[2], const ct_tensor *x,
                           const ct_tensor *y, const ct_tensor *g, ct_tensor *out)
{
    const ct_tensor *t[] = { out, x, y, g };
    return run(dev, 4, t, bars1_f64[f], bars1_f32[f], p, COSTLY_GRAIN);
}

ct_status ct__cpu_map2(ct_device *dev, ct_map2 f, const ct_tensor *a, const ct_tensor *b, ct_tensor *out)
{
    const ct_tensor *t[] = { out, a, b };
    return run(dev, 3, t, values2_f64[f], values2_f32[f], NULL, CT__GRAIN);
}

ct_status ct__cpu_map2_bar(ct_device *dev, ct_map2 f, int side, const ct_tensor *a, const ct_tensor *b,
                           const ct_tensor *g, ct_tensor *out)
{
    const ct_tensor *t[] = { out, a, b, g };
    return run(dev, 4, t, bars2_f64[f][side], bars2_f32[f][side], NULL, CT__GRAIN);
}
