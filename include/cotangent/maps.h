/* The elementwise functions, one row each. Every backend and the elementwise ops read these rows.
 *
 * Unary:  M(name, value, derivative, vjp)
 *     value, derivative: C expressions in x, the parameters p[0], p[1] and the type T; derivative also in
 *                        y = f(x). Integer literals and (T)... keep f32 arithmetic in f32. FN(exp) is exp for
 *                        double and expf for float; in C++ it is the overloaded exp, so cast arguments to T.
 *     vjp:               the product x_bar = g f'(x) as an expression in ops over the vars x, y, g and the
 *                        parameters p. A recorded sweep uses it.
 *     y is rounded: a derivative or a rule in which digits of y would cancel is written in x instead.
 * Binary: M(name, value, derivative_a, derivative_b, vjp_a, vjp_b) likewise, in a and b; the rules are in the
 *     vars a, b, y, g.
 * ct_none() says that no gradient flows. */
#ifndef COTANGENT_MAPS_H
#define COTANGENT_MAPS_H

/* From here on e^(-x²) is 0 in every dtype. Its rule clips x there, because 0 · ∞ is NaN. */
#define CT_GAUSSIAN_FAR 40

/* clang-format off */
#define CT_MAPS1(M)                                                                                          \
    M(neg,        -x,                        -(T)1,                    ct_neg(g))                            \
    M(abs,        FN(fabs)(x),                                                                               \
                  x != x ? x : (T)((x > 0) - (x < 0)),                                                       \
                  ct_mul(g, ct_sign(x)))                                                                     \
    M(sign,       x != x ? x : (T)((x > 0) - (x < 0)),                                                       \
                                             (T)0,                     ct_none())                            \
    M(exp,        FN(exp)(x),                y,                        ct_mul(g, y))                         \
    M(expm1,      FN(expm1)(x),              FN(exp)(x),               ct_mul(g, ct_exp(x)))                 \
    M(log,        FN(log)(x),                1 / x,                    ct_div(g, x))                         \
    M(log1p,      FN(log1p)(x),              1 / (1 + x),              ct_div(g, ct_shift(x, 1)))            \
    M(sqrt,       FN(sqrt)(x),               1 / (2 * y),              ct_div(g, ct_scale(y, 2)))            \
    M(square,     x * x,                     2 * x,                    ct_mul(g, ct_scale(x, 2)))            \
    M(reciprocal, 1 / x,                     -y * y,                   ct_neg(ct_mul(g, ct_square(y))))      \
    M(sin,        FN(sin)(x),                FN(cos)(x),               ct_mul(g, ct_cos(x)))                 \
    M(cos,        FN(cos)(x),                -FN(sin)(x),              ct_neg(ct_mul(g, ct_sin(x))))         \
    M(tanh,       FN(tanh)(x),               FN(ct__sech2)(x),         ct_mul(g, ct_sech2(x)))               \
    M(sech2,      FN(ct__sech2)(x),          -2 * FN(ct__sech2)(x) * FN(tanh)(x),                            \
                  ct_mul(g, ct_scale(ct_mul(y, ct_tanh(x)), -2)))                                            \
    M(sigmoid,    FN(ct__sigmoid)(x),        FN(ct__sech2)(x / 2) / 4,                                       \
                  ct_mul(g, ct_scale(ct_sech2(ct_scale(x, 0.5)), 0.25)))                                     \
    M(softplus,   FN(ct__softplus)(x),       FN(ct__sigmoid)(x),       ct_mul(g, ct_sigmoid(x)))             \
    M(relu,       x > 0 || x != x ? x : 0,   x != x ? x : (T)(x > 0),  ct_mul(g, step_of(x)))                \
    M(erf,        FN(erf)(x),                (T)1.1283791670955126 * FN(ct__gaussian)(x),                    \
                  ct_mul(g, ct_scale(ct_gaussian(x), 1.1283791670955126)))                                   \
    M(gaussian,   FN(ct__gaussian)(x),                                                                       \
                  FN(ct__gaussian)(x) == 0 ? 0 : -2 * x * FN(ct__gaussian)(x),                               \
                  ct_mul(g, ct_mul(ct_scale(ct_clamp(x, -CT_GAUSSIAN_FAR, CT_GAUSSIAN_FAR), -2), y)))        \
    M(lgamma,     FN(ct__lgamma)(x),         FN(ct__polygamma)(0, x),  ct_mul(g, ct_polygamma(x, 0)))        \
    M(polygamma,  FN(ct__polygamma)((int)p[0], x),                                                           \
                  FN(ct__polygamma)((int)p[0] + 1, x),                                                       \
                  ct_mul(g, ct_polygamma(x, (int)p[0] + 1)))                                                 \
    M(pow,        FN(pow)(x, (T)p[0]),                                                                       \
                  p[0] == 0 ? 0 : (T)p[0] * FN(pow)(x, (T)(p[0] - 1)),                                       \
                  p[0] == 0 ? ct_none() : ct_mul(g, ct_scale(ct_pow(x, p[0] - 1), p[0])))                    \
    M(scale,      (T)p[0] * x,               (T)p[0],                  ct_scale(g, p[0]))                    \
    M(shift,      x + (T)p[0],               (T)1,                     g)                                    \
    M(clamp,      x != x ? x : x < (T)p[0] ? (T)p[0] : x > (T)p[1] ? (T)p[1] : x,                            \
                  x != x ? x : (T)(x >= (T)p[0] && x <= (T)p[1]),                                            \
                  ct_mul(g, inside_of(x, p[0], p[1])))

/* 1 where a < b, ½ where a = b, else 0; NaN if either is NaN */
#define CT_SHARE(a, b) (a != a || b != b ? a + b : (T)(a < b) + (T)0.5 * (T)(a == b))

#define CT_MAPS2(M)                                                                                          \
    M(add,      a + b,                                    (T)1,             (T)1,                            \
                g,                                        g)                                                 \
    M(sub,      a - b,                                    (T)1,             -(T)1,                           \
                g,                                        ct_neg(g))                                         \
    M(mul,      a * b,                                    b,                a,                               \
                ct_mul(g, b),                             ct_mul(g, a))                                      \
    M(div,      a / b,                                    1 / b,            -(a / b) / b,                    \
                ct_div(g, b),                             ct_neg(ct_mul(g, ct_div(y, b))))                   \
    M(maximum,  a > b || a != a ? a : b,                  CT_SHARE(b, a),   CT_SHARE(a, b),                  \
                ct_mul(g, share_of(b, a)),                ct_mul(g, share_of(a, b)))                         \
    M(minimum,  a < b || a != a ? a : b,                  CT_SHARE(a, b),   CT_SHARE(b, a),                  \
                ct_mul(g, share_of(a, b)),                ct_mul(g, share_of(b, a)))                         \
    M(less,     a != a || b != b ? a + b : (T)(a < b),    (T)0,             (T)0,                            \
                ct_none(),                                ct_none())                                         \
    M(equal,    a != a || b != b ? a + b : (T)(a == b),   (T)0,             (T)0,                            \
                ct_none(),                                ct_none())
/* clang-format on */

/* CT_MAP_exp, CT_MAP_add, ...: the functions of ct_prim_map1 and ct_prim_map2 (op.h). */
#define CT_MAP1_NAME(name, value, derivative, vjp) CT_MAP_##name,
typedef enum ct_map1 { CT_MAPS1(CT_MAP1_NAME) CT_MAP1_COUNT } ct_map1;
#undef CT_MAP1_NAME

#define CT_MAP2_NAME(name, value, derivative_a, derivative_b, vjp_a, vjp_b) CT_MAP_##name,
typedef enum ct_map2 { CT_MAPS2(CT_MAP2_NAME) CT_MAP2_COUNT } ct_map2;
#undef CT_MAP2_NAME

/* NORM is √Σx². ARGMAX and ARGMIN are the first position of the largest and of the smallest element. */
typedef enum ct_reduction {
    CT_REDUCE_SUM,
    CT_REDUCE_MAX,
    CT_REDUCE_LOGSUMEXP,
    CT_REDUCE_MIN,
    CT_REDUCE_NORM,
    CT_REDUCE_ARGMAX,
    CT_REDUCE_ARGMIN,
    CT_REDUCE_COUNT
} ct_reduction;

#endif
