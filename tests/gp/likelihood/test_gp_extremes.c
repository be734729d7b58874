/* The likelihood, the leave-one-out density and the likelihood in mixed precision at extremes of every
 * parameter and of the data. CT_OK never comes with a value or gradient that is not finite or is wrong, and
 * results that can be represented are not refused. The reference is quadruple precision, whose exponents have
 * room for all of it. */
#include "gp_device.h"

#include <float.h>

#include "quad_density.h"

#ifdef QUAD

enum { N = 3, D = 2 };
enum { LOO, NLML, MIXED, OBJECTIVES };

static const char *const kernels[] = {
    "rbf",
    "rbf(ard)",
    "matern12",
    "matern32(ard)",
    "matern52",
    "rq",
    "rq(ard)",
    "periodic",
    "periodic(ard)",
    "cosine(dims=0)",
    "linear",
    "linear(ard)",
    "poly(degree=3)",
    "scale * rbf",
    "scale * rq + linear",
    "scale * matern52 * periodic + constant",
    "(linear + constant) * rbf + white",
};

typedef struct point {
    const ct_cov_program *program;
    ct_dtype dtype;
    double theta[QUAD_MOST], X[N * D], r[N], noise;
} point;

static double rounded(const point *p, double x)
{
    volatile float narrow = (float)x; /* compilers may compute subnormal numbers with more digits */
    return p->dtype == CT_F32 ? (double)narrow : x;
}
static double greatest(const point *p) { return p->dtype == CT_F32 ? FLT_MAX : DBL_MAX; }
static double smallest(const point *p) { return p->dtype == CT_F32 ? FLT_MIN : DBL_MIN; }

/* Everything near 1. */
static point ordinary(const ct_cov_program *program, ct_dtype dtype)
{
    static const double X[] = { 0.31, -0.72, 1.13, 0.21, -0.55, 0.93 }, r[] = { 0.83, -0.47, 1.21 };
    point p = { .program = program, .dtype = dtype };
    for (int i = 0; i < program->n_params; i++) p.theta[i] = 1.3 - 0.17 * i;
    memcpy(p.X, X, sizeof X);
    memcpy(p.r, r, sizeof r);
    return p;
}

/* A case in the dtype's range, with a noise that keeps the condition small. */
static quad_density reference(point *p, bool loo)
{
    for (int i = 0; i < p->program->n_params; i++) p->theta[i] = rounded(p, p->theta[i]);
    for (int i = 0; i < N * D; i++) p->X[i] = rounded(p, p->X[i]);
    for (int i = 0; i < N; i++) p->r[i] = rounded(p, p->r[i]);
    quad_density q = { .n = N, .d = D, .theta = p->theta, .X = p->X, .r = p->r };
    quad most = 0;
    for (int i = 0; i < N; i++) {
        quad k = quad_k(p->program, &q, i, i, -1).v;
        if (k > most) most = k;
    }
    p->noise = rounded(p, most > 0 && most < greatest(p) ? 0.3 * (double)most : 0.3);
    if (p->noise == 0) p->noise = 0.3;
    q.noise = p->noise;
    quad_density_of(p->program, loo, &q);
    return q;
}

/* The op's value and gradient, in the order of quad_density. */
static ct_status evaluate(const ct_kernel *k, const point *p, int objective, double *value, double *gradient,
                          char message[256])
{
    const struct {
        ct_shape shape;
        const double *data;
    } in[] = { { ct_shape1(p->program->n_params), p->theta },
               { ct_shape2(N, D), p->X },
               { ct_shape1(N), p->r },
               { ct_shape1(1), &p->noise } };
    ct_tape *tape = ct_tape_new(device);
    ct_var v[4];
    for (int i = 0; i < 4; i++) {
        ct_tensor *f64 = assert_tensor(ct_from(device, CT_F64, in[i].shape, in[i].data), device);
        ct_tensor *t = assert_tensor(ct_tensor_cast(f64, p->dtype), device);
        v[i] = ct_leaf(tape, t);
        ct_release(f64);
        ct_release(t);
    }
    ct_var y = objective == MIXED ? ct_gp_nlml_mixed(k, v[0], v[1], v[2], v[3], NULL)
               : objective == LOO ? ct_gp_loo_nlpd(k, v[0], v[1], v[2], v[3])
                                  : ct_gp_nlml(k, v[0], v[1], v[2], v[3]);
    *value = ct_item(y);
    ct_status status = ct_check(y);
    if (!status) status = ct_backward(y);
    if (!status) status = ct_check(y);
    for (int i = 0, at = 0; i < 4 && !status; i++) {
        double *bar = gp_host(ct_cotangent(v[i]));
        for (int64_t j = 0; j < ct_shape_count(in[i].shape); j++) gradient[at++] = bar[j];
        free(bar);
    }
    snprintf(message, 256, "%.255s", ct_tape_message(tape));
    ct_tape_free(tape);
    return status;
}

/* Whether all intermediate numbers fit the dtype's range. */
static bool representable(const point *p, const quad_density *q, int objective)
{
    double most = objective == MIXED ? 1e30 : greatest(p) * 1e-9,
           least = objective == MIXED ? 1e-30 : smallest(p) * 1e9;
    bool fits = q->largest < most && q->least > least && q->size < most;
    for (int i = 0; i < p->program->n_params + N * D + N + 1; i++) fits &= q->bar_size[i] < most;
    return fits;
}

/* A gradient in a parameter or a coordinate u that is smaller than this changes the value by less than the
 * value's rounding error when u changes by u. */
static quad unfelt(const point *p, const quad_density *q, int i)
{
    int P = p->program->n_params;
    double u = i < P ? p->theta[i] : i < P + N * D ? p->X[i - P] : i < P + N * D + N ? INFINITY : p->noise;
    return q->size / quad_abs(u);
}

/* A profile whose tail is still heavy at the largest distance is refused. */
static bool heavy(const ct_kernel *k, const point *p)
{
    for (int64_t i = 0; i < ct_kernel_params(k); i++)
        if (strstr(ct_kernel_param(k, i)->name, "alpha") && p->theta[i] < 0.3) return true;
    return false;
}

static const char *what;
static int counted, refused, unknown, failures;

static void judge(const ct_kernel *k, point p)
{
    quad_density q = { .n = 0 };
    quad_turns = p.dtype == CT_F32 ? 30 : 1e5;
    for (int objective = 0; objective < OBJECTIVES - (p.dtype == CT_F32); objective++) {
        if (objective != MIXED) q = reference(&p, objective == LOO);
        double value, gradient[QUAD_MOST], narrow = objective == MIXED || p.dtype == CT_F32;
        char message[256];
        int count = p.program->n_params + N * D + N + 1;
        ct_status s = evaluate(k, &p, objective, &value, gradient, message);
        bool known = q.value == q.value;
        double tolerance = narrow ? 1e-3 : 1e-9, tiny = smallest(&p) * 1e12, bad = NAN;
        int wrong = -2;
        counted++, refused += s != CT_OK, unknown += !known;
        if (s) {
            assert_status(s, CT_ENUMERIC, message);
            if (!known || heavy(k, &p) || !representable(&p, &q, objective)) continue;
            wrong = -3;
        } else if (!isfinite(value) ||
                   (known && fabs(value - (double)q.value) > tolerance * (double)q.size)) {
            wrong = -1, bad = value;
        }
        for (int i = 0; i < count && !s; i++) {
            if (isfinite(gradient[i]) &&
                (!known || q.bar[i] != q.bar[i] ||
                 quad_abs(gradient[i] - q.bar[i]) <= tolerance * (q.bar_size[i] + unfelt(&p, &q, i)) + tiny))
                continue;
            wrong = i, bad = gradient[i];
            break;
        }
        if (wrong == -2) continue;
        if (++failures > 12 && !getenv("CT_SHOW")) continue;
        print_error("%s, objective %d, %s: ", what, objective, p.dtype == CT_F32 ? "f32" : "f64");
        if (wrong == -3)
            print_error("refused: %s\n", message);
        else if (wrong == -1)
            print_error("value %g, is %g\n", bad, (double)q.value);
        else
            print_error("gradient %d %g, is %g of %g\n", wrong, bad, (double)q.bar[wrong],
                        (double)q.bar_size[wrong]);
    }
}

static void each(void (*vary)(const ct_kernel *k, const point *p, double extreme))
{
    static const double wide[] = { 1e-320, 1e-300, 1e-200, 1e-160, 1e-100, 1e-30, 1e-9,
                                   1,      1e9,    1e30,   1e100,  1e160,  1e200, 1e300 };
    static const double narrow[] = {
        1e-44, 1e-38, 1e-30, 1e-20, 1e-14, 1e-7, 1, 1e7, 1e14, 1e20, 1e30, 1e38
    };
    counted = refused = unknown = failures = 0;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        ct_kernel *k = ct_kernel_parse(kernels[i]);
        assert_ok(ct_kernel_bind(k, D), ct_kernel_message(k));
        for (int f32 = 0; f32 < 2; f32++) {
            point p = ordinary(ct_kernel_program(k), f32 ? CT_F32 : CT_F64);
            size_t n = f32 ? sizeof narrow / sizeof *narrow : sizeof wide / sizeof *wide;
            for (size_t e = 0; e < n; e++) {
                char text[128];
                snprintf(text, sizeof text, "%s at %g", kernels[i], f32 ? narrow[e] : wide[e]);
                what = text;
                vary(k, &p, f32 ? narrow[e] : wide[e]);
            }
        }
        ct_kernel_free(k);
    }
    if (getenv("CT_SHOW"))
        print_message("%d evaluations, %d refused, %d without reference, %d wrong\n", counted, refused,
                      unknown, failures);
    assert_int_equal(failures, 0);
}

static void vary_parameters(const ct_kernel *k, const point *p, double extreme)
{
    for (int i = 0; i < p->program->n_params; i++) {
        point q = *p;
        q.theta[i] = extreme;
        judge(k, q);
    }
}

static void vary_all_parameters(const ct_kernel *k, const point *p, double extreme)
{
    point q = *p;
    for (int i = 0; i < p->program->n_params; i++) q.theta[i] *= extreme;
    judge(k, q);
}

static void vary_residual(const ct_kernel *k, const point *p, double extreme)
{
    point q = *p;
    for (int i = 0; i < N; i++) q.r[i] *= extreme;
    judge(k, q);
}

static void vary_points(const ct_kernel *k, const point *p, double extreme)
{
    point q = *p;
    for (int i = 0; i < N * D; i++) q.X[i] *= extreme;
    judge(k, q);
}

/* ... and the lengthscales and periods with them. */
static void vary_units(const ct_kernel *k, const point *p, double extreme)
{
    point q = *p;
    for (int i = 0; i < N * D; i++) q.X[i] *= extreme;
    for (int i = 0; i < p->program->n_params; i++)
        if (ct_kernel_param(k, i)->unit == CT_UNIT_INPUT) q.theta[i] *= extreme;
    judge(k, q);
}

#    define TEST(name)                 \
        static void name(void **state) \
        {                              \
            (void)state;               \
            each(vary_##name);         \
        }
TEST(parameters)
TEST(all_parameters)
TEST(residual)
TEST(points)
TEST(units)

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef QUAD
        cmocka_unit_test(parameters), cmocka_unit_test(all_parameters), cmocka_unit_test(residual),
        cmocka_unit_test(points),     cmocka_unit_test(units),
#endif
    };
    return cmocka_run_group_tests(tests, open_check_device, close_device);
}
