/* Vector code: the loops of maps.h's elementwise functions. Each is a ct__kernel whose context is the
 * parameters p. A result's bits depend neither on strides nor on its position, because all loops over a
 * formula do the same operations. */
#include "map_rows.h"
#include "kernel/vector.h"

/* -- the functions that maps.h names --------------------------------------------------------------------- */

#define FUNCTION(f, value) \
    CT__INLINE T map_##f(T x) { return (T)(value); }
#define FUNCTION2(f, S, value) \
    CT__INLINE T map_##f(S a, T x) { return (T)(value); }

FUNCTION(fabs, FN(fabs)(x))
FUNCTION(sqrt, FN(sqrt)(x))
FUNCTION(exp, FN(ct__exp)(x, FUSED))
FUNCTION(expm1, FN(ct__expm1)(x, FUSED))
FUNCTION(log, FN(ct__log)(x, FUSED))
FUNCTION(log1p, FN(ct__log1p)(x, FUSED))
FUNCTION(sin, FN(ct__sine)(x, 0, FUSED))
FUNCTION(cos, FN(ct__sine)(x, 1, FUSED))
FUNCTION(tanh, FN(ct__tanh)(x, FUSED))
FUNCTION(erf, FN(ct__erf)(x, FUSED))
FUNCTION(ct__gaussian, FN(ct__gaussian)(x, FUSED))
FUNCTION(ct__sigmoid, FN(ct__sigmoid)(x, FUSED))
FUNCTION(ct__sech2, FN(ct__sech2)(x, FUSED))
FUNCTION(ct__softplus, FN(ct__softplus)(x, FUSED))
FUNCTION(ct__lgamma, FN(ct__lgamma)(x))
FUNCTION2(ct__polygamma, int, FN(ct__polygamma)(a, x))
FUNCTION2(fmax, T, a > x || a != a ? a : x)
FUNCTION2(pow, T, FN(pow)(a, x))
FUNCTION(library_sin, FN(sin)(x))
FUNCTION(library_cos, FN(cos)(x))

#undef FN
#define FN(f) map_##f

/* -- loops ----------------------------------------------------------------------------------------------- */

/* clang-format off */
#define KERNEL(name) static void name(int64_t n1, int64_t n0, void *const *data, \
                                                   const int64_t *s1, const int64_t *s0, const void *context)

/* Defines the kernel out = formula of n - 1 operands u, v, w (those past n are not read), and its loop over a
 * row. The loop is inlined with constant strides for the usual cases: all are 1, one of two operands is a
 * scalar, or the last of three is. For n0 = 1 there is no loop. */
#define LOOP(name, n, u, v, w, formula)                                                                    \
    CT__INLINE void row_##name(                                                               \
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
            row_##name(1, out, 1, us, 1, vs, 1, ws, 1, context);                                     \
            return;                                                                                        \
        }                                                                                                  \
        const int64_t so = s0[0], su = s0[1], sv = s0[V], sw = s0[W];                                      \
        for (int64_t j = 0; j < n1; j++) {                                                                 \
            if (so == 1 && su == 1 && sv == 1 && sw == 1)                                                  \
                row_##name(n0, out, 1, us, 1, vs, 1, ws, 1, context);                                \
            else if (n == 3 && so == 1 && su == 1 && sv == 0)                                              \
                row_##name(n0, out, 1, us, 1, vs, 0, ws, 1, context);                                \
            else if (n == 3 && so == 1 && su == 0 && sv == 1)                                              \
                row_##name(n0, out, 1, us, 0, vs, 1, ws, 0, context);                                \
            else if (n == 4 && so == 1 && su == 1 && sv == 1 && sw == 0)                                   \
                row_##name(n0, out, 1, us, 1, vs, 1, ws, 0, context);                                \
            else                                                                                           \
                row_##name(n0, out, so, us, su, vs, sv, ws, sw, context);                            \
            out += s1[0], us += s1[1], vs += s1[V], ws += s1[W];                                           \
        }                                                                                                  \
    }

/* The functions of two operands wait for memory, and with strided operands gathers are slower than loads one
 * by one: they only have code for any machine. */
#define VALUE1(name, value, derivative, vjp)                  LOOP(value_##name, 2, x, y_, g_, value)
#define BAR1(name, value, derivative, vjp)                    LOOP(bar_##name, 4, x, y, g, g * (derivative))
#define VALUE2(name, value, derivative_a, derivative_b, vjp_a, vjp_b) LOOP(value_##name, 3, a, b, g_, value)
#define BARS2(name, value, derivative_a, derivative_b, vjp_a, vjp_b)  \
    LOOP(bar_a_##name, 4, a, b, g, g * (derivative_a))                \
    LOOP(bar_b_##name, 4, a, b, g, g * (derivative_b))
/* clang-format on */

CT_MAPS1(VALUE1)
CT_MAPS1(BAR1)
#if ISA == 0
CT_MAPS2(VALUE2)
CT_MAPS2(BARS2)
LOOP(axpby, 3, x, y, g_, (T)p[0] * x + (T)p[1] * y)
#endif

/* -- sines of any x -------------------------------------------------------------------------------------- */

/* Whether all |x_i| <= CT__SINE_MOST */
static bool near(int64_t n, const T *x, int64_t step)
{
    int far = 0;
    for (int64_t i = 0; i < n; i++) far |= !(FN(fabs)(x[i * step]) <= (T)CT__SINE_MOST);
    return !far;
}

/* The kernel `name` for rows within CT__SINE_MOST. In others each |x| beyond gets the C library's function,
 * times g if there are four operands. */
#define ANY(name, n, within, beyond)                                                                \
    KERNEL(any_##name)                                                                              \
    {                                                                                               \
        for (int64_t j = 0; j < n1; j++) {                                                          \
            void *row[CT__OPERANDS];                                                                \
            for (int k = 0; k < n; k++) row[k] = (T *)data[k] + j * s1[k];                          \
            const T *xs = row[1], *gs = row[n - 1];                                                 \
            if (near(n0, xs, s0[1])) {                                                              \
                name(1, n0, row, s1, s0, context);                                                  \
                continue;                                                                           \
            }                                                                                       \
            for (int64_t i = 0; i < n0; i++) {                                                      \
                const T x = xs[i * s0[1]], g = n > 3 ? gs[i * s0[n - 1]] : 1;                       \
                ((T *)row[0])[i * s0[0]] = g * (FN(fabs)(x) <= (T)CT__SINE_MOST ? within : beyond); \
            }                                                                                       \
        }                                                                                           \
    }
ANY(value_sin, 2, FN(sin)(x), FN(library_sin)(x))
ANY(value_cos, 2, FN(cos)(x), FN(library_cos)(x))
ANY(bar_sin, 4, FN(cos)(x), FN(library_cos)(x))
ANY(bar_cos, 4, -FN(sin)(x), -FN(library_sin)(x))

/* -- the tables ------------------------------------------------------------------------------------------ */

#define VALUE_ENTRY1(name, value, derivative, vjp)                          value_##name,
#define BAR_ENTRY1(name, value, derivative, vjp)                            bar_##name,
#define VALUE_ENTRY2(name, value, derivative_a, derivative_b, vjp_a, vjp_b) value_##name,
#define BAR_ENTRY2(name, value, derivative_a, derivative_b, vjp_a, vjp_b)   { bar_a_##name, bar_b_##name },
const ct__maps NAME(ct__maps) = {
    .value1 = { CT_MAPS1(VALUE_ENTRY1) },
    .bar1 = { CT_MAPS1(BAR_ENTRY1) },
#if ISA == 0
    .value2 = { CT_MAPS2(VALUE_ENTRY2) },
    .bar2 = { CT_MAPS2(BAR_ENTRY2) },
    .axpby = axpby,
#endif
    .any_value = { [CT_MAP_sin] = any_value_sin, [CT_MAP_cos] = any_value_cos },
    .any_bar = { [CT_MAP_sin] = any_bar_sin, [CT_MAP_cos] = any_bar_cos },
};
