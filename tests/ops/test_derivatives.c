/* The first and second derivative of every smooth elementwise function, over its whole range and in every
 * dtype, against long double, in units in the last place. By the fused rules and by those in ops.
 * CT_SHOW=1 prints the largest errors. */
#include "one_tape.h"
#include "reference/reference.h"

#include <cotangent/op.h>

#include <float.h>

typedef long double wide;

enum { N = 900, LOG_SMALLEST = -30 };

/* -- what is right: f'(x) and f''(x) --------------------------------------------------------------------- */

#define TWO_OVER_ROOT_PI 1.12837916709551257389615890312154517L

static wide logistic(wide x) { return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)); }
static wide square_of_sech(wide x) { return 4 * expl(-2 * fabsl(x)) / powl(1 + expl(-2 * fabsl(x)), 2); }

#define DERIVATIVES(name, first, second) \
    static wide name##_(int order, wide x) { return order == 1 ? (first) : (second); }
DERIVATIVES(neg, -1, 0 * x)
DERIVATIVES(exp, expl(x), expl(x))
DERIVATIVES(log, 1 / x, -1 / x / x)
DERIVATIVES(log1p, 1 / (1 + x), -1 / (1 + x) / (1 + x))
DERIVATIVES(sqrt, 0.5L / sqrtl(x), -0.25L / sqrtl(x) / x)
DERIVATIVES(square, 2 * x, 2)
DERIVATIVES(reciprocal, -1 / x / x, 2 / x / x / x)
DERIVATIVES(sin, cosl(x), -sinl(x))
DERIVATIVES(cos, -sinl(x), -cosl(x))
DERIVATIVES(tanh, square_of_sech(x), -2 * tanhl(x) * square_of_sech(x))
DERIVATIVES(sech2, -2 * tanhl(x) * square_of_sech(x),
            square_of_sech(x) * (4 * tanhl(x) * tanhl(x) - 2 * square_of_sech(x)))
DERIVATIVES(sigmoid, square_of_sech(x / 2) / 4, -tanhl(x / 2) * square_of_sech(x / 2) / 4)
DERIVATIVES(softplus, logistic(x), square_of_sech(x / 2) / 4)
DERIVATIVES(erf, TWO_OVER_ROOT_PI *expl(-x *x), -2 * x * TWO_OVER_ROOT_PI * expl(-x * x))
DERIVATIVES(gaussian, -2 * x * expl(-x * x), (4 * x * x - 2) * expl(-x * x))
DERIVATIVES(lgamma, ref_polygamma(0, x), ref_polygamma(1, x))
DERIVATIVES(polygamma, ref_polygamma(2, x), ref_polygamma(3, x))
DERIVATIVES(pow, 2.5L * powl(x, 1.5L), 3.75L * sqrtl(x))
DERIVATIVES(scale, 1.5L, 0 * x)
DERIVATIVES(shift, 1, 0 * x)

/* -- the functions --------------------------------------------------------------------------------------- */

/* lo, hi: the smallest and the largest x, whose derivatives are tiny, infinite, or no longer change. limit:
 * the largest errors of f' and f'', in f64 and f32, then in bf16 and f16, where each op of a rule rounds;
 * INFINITY near a root of the derivative. from: a smaller derivative is not compared, in units of the
 * smallest normal number, because a factor of it is subnormal. */
static const struct function {
    const char *name;
    wide (*derivative)(int order, wide x);
    double lo, hi, p[2], from, limit[2][2];
} functions[] = {
    { "neg", neg_, -1e300, 1e300, { 0 }, 0, { { 0, 0 }, { 0, 0 } } },
    { "exp", exp_, -750, 709, { 0 }, 0, { { 1, 1 }, { 0.51, 0.51 } } },
    { "expm1", exp_, -750, 709, { 0 }, 0, { { 1, 1 }, { 0.51, 0.51 } } },
    { "log", log_, 0, 1e300, { 0 }, 0, { { 0.51, 1.5 }, { 0.51, 1.5 } } },
    { "log1p", log1p_, -1, 1e300, { 0 }, 0, { { 1.5, 3 }, { 1.5, 3 } } },
    { "sqrt", sqrt_, 0, 1e300, { 0 }, 0, { { 1.5, 4.5 }, { 1.5, 4.5 } } },
    { "square", square_, -1e300, 1e300, { 0 }, 0, { { 0, 0 }, { 0, 0 } } },
    { "reciprocal", reciprocal_, -1e300, 1e300, { 0 }, 0, { { 2, 3 }, { 2, 3 } } },
    { "sin", sin_, -1e6, 1e6, { 0 }, 0, { { 1, 1 }, { 0.51, 0.51 } } },
    { "cos", cos_, -1e6, 1e6, { 0 }, 0, { { 1, 1 }, { 0.51, 0.51 } } },
    { "tanh", tanh_, -375, 375, { 0 }, 0, { { 3, 4 }, { 1, 1.5 } } },
    { "sech2", sech2_, -375, 375, { 0 }, 0, { { 4, INFINITY }, { 1.5, INFINITY } } },
    { "sigmoid", sigmoid_, -750, 750, { 0 }, 0, { { 3, 4 }, { 1, 2 } } },
    { "softplus", softplus_, -750, 750, { 0 }, 0, { { 2, 3 }, { 0.51, 1 } } },
    { "erf", erf_, -28, 28, { 0 }, 64, { { 2, 3 }, { 1.5, 2.5 } } },
    { "gaussian", gaussian_, -28, 28, { 0 }, 64, { { 3, INFINITY }, { 2, INFINITY } } },
    { "lgamma", lgamma_, 0.01, 1.3, { 0 }, 0, { { 32, 8 }, { 0.51, 0.51 } } },
    { "lgamma", lgamma_, 1.7, 1e6, { 0 }, 0, { { 32, 8 }, { 0.51, 0.51 } } },
    { "polygamma", polygamma_, 0.01, 1e3, { 1 }, 0, { { 8, 8 }, { 0.51, 0.51 } } },
    { "pow", pow_, 0, 1e100, { 2.5 }, 0, { { 2, 3 }, { 2, 3 } } },
    { "scale", scale_, -1e300, 1e300, { 1.5 }, 0, { { 0, 0 }, { 0, 0 } } },
    { "shift", shift_, -1e300, 1e300, { 0.7 }, 0, { { 0, 0 }, { 0, 0 } } },
};

static const struct dtype {
    ct_dtype id;
    int digits, least; /* bits of precision; log2 of the smallest number */
    double most;       /* beyond it, and beyond its negative, nothing is compared */
} dtypes[] = { { CT_F64, 53, -1074, DBL_MAX },
               { CT_F32, 24, -149, FLT_MAX },
               { CT_BF16, 8, -133, 0x1p127 },
               { CT_F16, 11, -24, 32768 } };

/* The distance of y from `wanted`, in units in the last place. */
static double units(const struct dtype *d, double y, wide wanted)
{
    int e;
    frexpl(wanted, &e);
    return (double)(fabsl(y - wanted) / ldexpl(1, e - d->digits > d->least ? e - d->digits : d->least));
}

/* The largest error that is right. A GPU's elementary functions may be a unit further off. */
static double limit(const struct function *f, const struct dtype *d, int order)
{
    return f->limit[ct_dtype_size(d->id) == 2][order - 1] + (check_at_once() ? 0 : 1);
}

/* -- points ---------------------------------------------------------------------------------------------- */

/* A third each between lo and hi, between -20 and 20, and of any magnitude. */
static void points(const struct function *f, double *x)
{
    for (int i = 0; i < N; i++) {
        const double at = fmod((i + 0.5) * 0.6180339887498949, 1), lo = i % 3 ? -20 : f->lo,
                     hi = i % 3 ? 20 : f->hi, most = log10(fmax(f->hi, -f->lo));
        x[i] = lo + (hi - lo) * at;
        if (i % 3 == 2) x[i] = (i % 2 ? 1 : -1) * pow(10, LOG_SMALLEST + (most - LOG_SMALLEST) * at);
        if (x[i] < f->lo) x[i] = -x[i];
        if (x[i] < f->lo || x[i] > f->hi) x[i] = f->lo + (f->hi - f->lo) * at;
    }
}

static void read(const ct_tensor *t, double *x)
{
    ct_tensor *f64 = assert_tensor(ct_tensor_cast(t, CT_F64), device);
    assert_ok(ct_read(f64, x, N * sizeof *x), ct_message(device));
    ct_release(f64);
}

/* -- the test -------------------------------------------------------------------------------------------- */

/* way: bit 0, f' by the rule in ops; bit 1, f'' too. Without bit 0 f' is the fused rule's. */
static double largest_error(const struct function *f, const struct dtype *d, int order, int way)
{
    double x[N], y[N], worst = 0;
    points(f, x);
    ct_tensor *t = ct_from(device, CT_F64, ct_shape1(N), x), *rounded = ct_tensor_cast(t, d->id);
    const ct_grad_flags first = order == 2 || way & 1 ? CT_GRAD_RECORD : CT_GRAD_KEEP;
    ct_var v = ct_leaf(tape, rounded), none = { NULL, 0, 0 }, bar;
    ct_var value = ct_apply(ct_op_find(f->name), &v, 1, f->p, sizeof f->p);
    assert_ok(ct_grad(ct_sum(value, CT_ALL, false), none, &v, &bar, 1, first), ct_tape_message(tape));
    if (order == 2)
        assert_ok(
            ct_grad(ct_sum(bar, CT_ALL, false), none, &v, &bar, 1, way & 2 ? CT_GRAD_RECORD : CT_GRAD_KEEP),
            ct_tape_message(tape));
    read(rounded, x);
    read(ct_value(bar), y);
    for (int i = 0; i < N; i++) {
        const wide wanted = f->derivative(order, x[i]);
        if (!(fabsl(wanted) <= d->most) || !(fabs(x[i]) <= d->most) || x[i] <= f->lo) continue;
        if (fabsl(wanted) < f->from * ldexpl(1, d->least + d->digits - 1)) continue;
        const double off = units(d, y[i], wanted);
        if (!(off <= worst)) worst = off;
        if (!(off <= limit(f, d, order)))
            print_error("%s: derivative %d of %s at %.9g is %.9g, not %.9Lg: %.3g units\n",
                        ct_dtype_name(d->id), order, f->name, x[i], y[i], wanted, off);
    }
    ct_tape_reset(tape);
    ct_release(t), ct_release(rounded);
    return worst;
}

static void over_the_range(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        for (size_t n = 0; n < sizeof dtypes / sizeof *dtypes; n++)
            for (int order = 1; order <= 2; order++) {
                const struct function *f = &functions[k];
                double worst = 0;
                for (int way = 0; way < 2; way++) {
                    const double off = largest_error(f, &dtypes[n], order, order == 1 ? way : 1 + 2 * way);
                    if (!(off <= worst)) worst = off;
                }
                wrong += !(worst <= limit(f, &dtypes[n], order));
                if (getenv("CT_SHOW"))
                    print_message("%-10s %-4s derivative %d: %.3g\n", f->name, ct_dtype_name(dtypes[n].id),
                                  order, worst);
            }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(over_the_range) };
    return cmocka_run_group_tests_name("derivatives", tests, open_tape, close_tape);
}
