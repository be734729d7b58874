#include "reference.h"

#include <math.h>

#define UNARY(name, expression)                      \
    static void name##_(ref_call *c)                 \
    {                                                \
        const long double *in = c->in[0].x;          \
        const double *p = c->attr;                   \
        (void)p;                                     \
        long double *y = ref_out(c, c->in[0].shape); \
        for (int64_t i = 0; i < c->out.n; i++) {     \
            long double x = in[i];                   \
            y[i] = isnan(x) ? x : (expression);      \
        }                                            \
    }

static long double powers(long double x, int n)
{
    long double y = 1;
    for (int i = 0; i < n; i++) y *= x;
    return y;
}

static long double factorial(int n)
{
    long double y = 1;
    for (int i = 2; i <= n; i++) y *= i;
    return y;
}

/* Upward recurrence to x >= 40, then the asymptotic series [DLMF 5.11.2, 5.15.8]. */
long double ref_polygamma(int k, long double x)
{
    static const long double bernoulli[] = { 1.0L / 6,  -1.0L / 30,     1.0L / 42, -1.0L / 30,
                                             5.0L / 66, -691.0L / 2730, 7.0L / 6 };
    long double sum = 0, sign = k % 2 ? 1 : -1;
    for (; x < 40; x++) sum += k == 0 ? -1 / x : sign * factorial(k) / powers(x, k + 1);
    if (k == 0) {
        sum += logl(x) - 1 / (2 * x);
        for (int j = 0; j < 7; j++) sum -= bernoulli[j] / (2 * (j + 1) * powers(x, 2 * (j + 1)));
        return sum;
    }
    sum += sign * (factorial(k - 1) / powers(x, k) + factorial(k) / (2 * powers(x, k + 1)));
    for (int j = 0; j < 7; j++)
        sum += sign * bernoulli[j] * factorial(2 * (j + 1) + k - 1) /
               (factorial(2 * (j + 1)) * powers(x, 2 * (j + 1) + k));
    return sum;
}

UNARY(neg, -x)
UNARY(abs, x < 0 ? -x : x)
UNARY(sign, x > 0 ? 1 : x < 0 ? -1 : 0)
UNARY(exp, expl(x))
UNARY(expm1, expm1l(x))
UNARY(log, logl(x))
UNARY(log1p, log1pl(x))
UNARY(sqrt, sqrtl(x))
UNARY(square, x *x)
UNARY(reciprocal, 1 / x)
UNARY(sin, sinl(x))
UNARY(cos, cosl(x))
UNARY(tanh, tanhl(x))
UNARY(sech2, 1 / (coshl(x) * coshl(x)))
UNARY(sigmoid, 1 / (1 + expl(-x)))
UNARY(softplus, logl(1 + expl(x)))
UNARY(relu, x > 0 ? x : 0)
UNARY(erf, erfl(x))
UNARY(gaussian, expl(-x *x))
UNARY(lgamma, lgammal(x))
UNARY(polygamma, ref_polygamma((int)p[0], x))
UNARY(scale, p[0] * x)
UNARY(shift, x + p[0])
UNARY(clamp, x<p[0] ? p[0] : x> p[1] ? p[1] : x)
UNARY(cast, x)

/* NaN to the power 0 is 1, as IEEE 754 and C have it. */
static void pow_(ref_call *c)
{
    const double *p = c->attr;
    long double *y = ref_out(c, c->in[0].shape);
    for (int64_t i = 0; i < c->out.n; i++) y[i] = powl(c->in[0].x[i], p[0]);
}

#define BINARY(name, expression)                                                                      \
    static void name##_(ref_call *c)                                                                  \
    {                                                                                                 \
        ct_shape shape = ct_shape_broadcast(c->in[0].shape, c->in[1].shape);                          \
        long double *y = ref_out(c, shape);                                                           \
        for (int64_t i = 0; i < c->out.n; i++) {                                                      \
            int64_t at[CT_MAX_DIMS];                                                                  \
            ref_unravel(shape, i, at);                                                                \
            long double a = ref_at(&c->in[0], shape.ndim, at), b = ref_at(&c->in[1], shape.ndim, at); \
            y[i] = isnan(a) ? a : isnan(b) ? b : (expression);                                        \
        }                                                                                             \
    }

BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(mul, a *b)
BINARY(div, a / b)
BINARY(maximum, a > b ? a : b)
BINARY(minimum, a < b ? a : b)
BINARY(less, a < b)
BINARY(equal, a == b)

static void where_(ref_call *c)
{
    ct_shape shape = ct_shape_broadcast(c->in[0].shape, ct_shape_broadcast(c->in[1].shape, c->in[2].shape));
    long double *y = ref_out(c, shape);
    for (int64_t i = 0; i < c->out.n; i++) {
        int64_t at[CT_MAX_DIMS];
        ref_unravel(shape, i, at);
        y[i] = ref_at(&c->in[ref_at(&c->in[0], shape.ndim, at) != 0 ? 1 : 2], shape.ndim, at);
    }
}

const reference reference_elementwise[] = {
    { .name = "neg", .compute = neg_ },
    { .name = "abs", .compute = abs_ },
    { .name = "sign", .compute = sign_ },
    { .name = "exp", .compute = exp_ },
    { .name = "expm1", .compute = expm1_ },
    { .name = "log", .compute = log_ },
    { .name = "log1p", .compute = log1p_ },
    { .name = "sqrt", .compute = sqrt_ },
    { .name = "square", .compute = square_ },
    { .name = "reciprocal", .compute = reciprocal_ },
    { .name = "sin", .compute = sin_ },
    { .name = "cos", .compute = cos_ },
    { .name = "tanh", .compute = tanh_ },
    { .name = "sech2", .compute = sech2_ },
    { .name = "sigmoid", .compute = sigmoid_ },
    { .name = "softplus", .compute = softplus_ },
    { .name = "relu", .compute = relu_ },
    { .name = "erf", .compute = erf_ },
    { .name = "gaussian", .compute = gaussian_ },
    { .name = "lgamma", .compute = lgamma_ },
    { .name = "polygamma", .compute = polygamma_ },
    { .name = "pow", .compute = pow_, .swallows_nan = 1 },
    { .name = "scale", .compute = scale_ },
    { .name = "shift", .compute = shift_ },
    { .name = "clamp", .compute = clamp_ },
    { .name = "cast", .compute = cast_ },
    { .name = "add", .compute = add_ },
    { .name = "sub", .compute = sub_ },
    { .name = "mul", .compute = mul_ },
    { .name = "div", .compute = div_ },
    { .name = "maximum", .compute = maximum_ },
    { .name = "minimum", .compute = minimum_ },
    { .name = "less", .compute = less_ },
    { .name = "equal", .compute = equal_ },
    { .name = "where", .compute = where_, .swallows_nan = 7 },
    { 0 },
};
