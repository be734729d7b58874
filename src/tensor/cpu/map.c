/* Elementwise functions: each line of the tables in maps.h becomes one loop per dtype. */
#include "cpu.h"
#include "half.h"
#include "map_vector.h"

#include <math.h>

#if defined(__clang__)
#    pragma clang diagnostic ignored "-Wpass-failed" /* loops around libm calls stay scalar */
#endif

/* clang-format off */
#define KERNEL(name) static void NAME(name)(int64_t n1, int64_t n0, void *const *data, const int64_t *s1, \
                                            const int64_t *s0, const void *context)

/* Defines the kernel out = formula of n - 1 operands u, v, w (those past n are not read), and its loop over a
 * row. The loop is inlined with constant strides, so that the compiler vectorises it: all strides 1, or one
 * of two operands a scalar. For n0 = 1 there is no loop. */
#define LOOP(name, n, u, v, w, formula)                                                                    \
    static inline __attribute__((always_inline)) void NAME(row_##name)(                                    \
        int64_t n0, T *out, int64_t so, const T *us, int64_t su, const T *vs, int64_t sv, const T *ws,     \
        int64_t sw, const double *p)                                                                       \
    {                                                                                                      \
        (void)p;                                                                                           \
        _Pragma("omp simd")                                                                                \
        for (int64_t i = 0; i < n0; i++) {                                                                 \
            const T u = us[i * su], v = vs[i * sv], w = ws[i * sw];                                        \
            (void)u, (void)v, (void)w;                                                                     \
            out[i * so] = formula;                                                                         \
        }                                                                                                  \
    }                                                                                                      \
    KERNEL(name)                                                                                           \
    {                                                                                                      \
        enum { V = n > 2 ? 2 : 1, W = n > 3 ? 3 : 1 };                                                     \
        const T *us = data[1], *vs = data[V], *ws = data[W];                                               \
        T *out = data[0];                                                                                  \
        if (n1 == 1 && n0 == 1) {                                                                          \
            NAME(row_##name)(1, out, 1, us, 1, vs, 1, ws, 1, context);                                     \
            return;                                                                                        \
        }                                                                                                  \
        const int64_t so = s0[0], su = s0[1], sv = s0[V], sw = s0[W];                                      \
        for (int64_t j = 0; j < n1; j++) {                                                                 \
            if (so == 1 && su == 1 && sv == 1 && sw == 1)                                                  \
                NAME(row_##name)(n0, out, 1, us, 1, vs, 1, ws, 1, context);                                \
            else if (n == 3 && so == 1 && su == 1 && sv == 0)                                              \
                NAME(row_##name)(n0, out, 1, us, 1, vs, 0, ws, 1, context);                                \
            else if (n == 3 && so == 1 && su == 0 && sv == 1)                                              \
                NAME(row_##name)(n0, out, 1, us, 0, vs, 1, ws, 0, context);                                \
            else                                                                                           \
                NAME(row_##name)(n0, out, so, us, su, vs, sv, ws, sw, context);                            \
            out += s1[0], us += s1[1], vs += s1[V], ws += s1[W];                                           \
        }                                                                                                  \
    }

#define VALUE1(name, value, derivative, vjp)                  LOOP(value_##name, 2, x, y_, g_, value)
#define BAR1(name, value, derivative, vjp)                    LOOP(bar_##name, 4, x, y, g, g * (derivative))
#define VALUE2(name, value, derivative_a, derivative_b, vjp_a, vjp_b) LOOP(value_##name, 3, a, b, g_, value)
#define BARS2(name, value, derivative_a, derivative_b, vjp_a, vjp_b)  \
    LOOP(bar_a_##name, 4, a, b, g, g * (derivative_a))                \
    LOOP(bar_b_##name, 4, a, b, g, g * (derivative_b))

#define VALUE_ENTRY1(name, value, derivative, vjp) NAME(value_##name),
#define BAR_ENTRY1(name, value, derivative, vjp)   NAME(bar_##name),
#define VALUE_ENTRY2(name, value, derivative_a, derivative_b, vjp_a, vjp_b) NAME(value_##name),
#define BAR_ENTRY2(name, value, derivative_a, derivative_b, vjp_a, vjp_b) \
    { NAME(bar_a_##name), NAME(bar_b_##name) },
#define TABLES                                                              \
    static const ct__kernel NAME(values1)[] = { CT_MAPS1(VALUE_ENTRY1) };   \
    static const ct__kernel NAME(bars1)[] = { CT_MAPS1(BAR_ENTRY1) };       \
    static const ct__kernel NAME(values2)[] = { CT_MAPS2(VALUE_ENTRY2) };   \
    static const ct__kernel NAME(bars2)[][2] = { CT_MAPS2(BAR_ENTRY2) };
/* clang-format on */

#define T       double
#define FN(F)   F
#define NAME(F) F##_f64
CT_MAPS1(VALUE1)
CT_MAPS1(BAR1)
CT_MAPS2(VALUE2)
CT_MAPS2(BARS2)
TABLES
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
TABLES
#undef T
#undef FN
#undef NAME

/* bf16 and f16: strips of the operands are converted to f32, the f32 kernel runs on them, and the result is
 * rounded. */
typedef struct half_map {
    ct__kernel kernel;
    const void *context;
    ct_dtype dtype;
    int isa, operands;
} half_map;

static void run_half(int64_t n1, int64_t n0, void *const *data, const int64_t *s1, const int64_t *s0,
                     const void *context)
{
    static const int64_t zero[CT__OPERANDS] = { 0 }, one[CT__OPERANDS] = { 1, 1, 1, 1 };
    const half_map *h = context;
    float strip[CT__OPERANDS][CT__MAP_STRIP];
    void *const at[] = { strip[0], strip[1], strip[2], strip[3] };
    for (int64_t j = 0; j < n1; j++)
        for (int64_t i = 0; i < n0; i += CT__MAP_STRIP) {
            int64_t n = n0 - i < CT__MAP_STRIP ? n0 - i : CT__MAP_STRIP;
            for (int k = 1; k < h->operands; k++)
                ct__widen_tile(h->isa, h->dtype, 1, n, (const uint16_t *)data[k] + j * s1[k] + i * s0[k], 0,
                               s0[k], strip[k], 0);
            h->kernel(1, n, at, zero, one, h->context);
            ct__narrow_tile(h->isa, h->dtype, 1, n, strip[0], 0, (uint16_t *)data[0] + j * s1[0] + i * s0[0],
                            0, s0[0]);
        }
}

/* Runs a kernel over n operands of t[0]'s dtype; for bf16 and f16 it is the f32 kernel. */
static ct_status run(ct_device *dev, int n, const ct_view *const *t, ct__kernel kernel, const void *context,
                     int64_t grain)
{
    const ct_dtype dtype = t[0]->dtype;
    if (ct__is_half(dtype))
        ct__loop(dev, n, t, run_half, &(half_map){ kernel, context, dtype, dev->isa, n }, grain);
    else
        ct__loop(dev, n, t, kernel, context, grain);
    return CT_OK;
}

static bool in_f32(const ct_view *v) { return v->dtype != CT_F64; }

ct_status ct__cpu_map1(ct_device *dev, ct_map1 f, const double p[2], const ct_view *x, ct_view *out)
{
    const ct_view *t[] = { out, x };
    ct__kernel vector = ct__vector_map(dev->isa, f, in_f32(out));
    return run(dev, 2, t, vector ? vector : (in_f32(out) ? values1_f32 : values1_f64)[f], p, CT__MAP_GRAIN);
}

ct_status ct__cpu_map1_bar(ct_device *dev, ct_map1 f, const double p[2], const ct_view *x, const ct_view *y,
                           const ct_view *g, ct_view *out)
{
    const ct_view *t[] = { out, x, y, g };
    ct__kernel vector = ct__vector_map_bar(dev->isa, f, in_f32(out));
    return run(dev, 4, t, vector ? vector : (in_f32(out) ? bars1_f32 : bars1_f64)[f], p, CT__MAP_GRAIN);
}

ct_status ct__cpu_map2(ct_device *dev, ct_map2 f, const ct_view *a, const ct_view *b, ct_view *out)
{
    const ct_view *t[] = { out, a, b };
    return run(dev, 3, t, (in_f32(out) ? values2_f32 : values2_f64)[f], NULL, CT__GRAIN);
}

ct_status ct__cpu_map2_bar(ct_device *dev, ct_map2 f, int side, const ct_view *a, const ct_view *b,
                           const ct_view *g, ct_view *out)
{
    const ct_view *t[] = { out, a, b, g };
    return run(dev, 4, t, (in_f32(out) ? bars2_f32 : bars2_f64)[f][side], NULL, CT__GRAIN);
}
