/* The likelihood and its gradient against quadruple precision, for well-conditioned and nearly singular C. */
#include "gp_device.h"

#include "quad_nlml.h"

#ifdef QUAD

enum { D = 3 };

typedef struct problem {
    quad_profile profile;
    int n;
    double noise, theta[1 + D], *X, *r;
} problem;

/* Points of the unit cube, a smooth residual with some noise. */
static problem make(quad_profile profile, int n, double noise, double lengthscale)
{
    static const double step[D] = { 0.8191725134, 0.6710436067, 0.5497004779 };
    problem p = { profile,
                  n,
                  noise,
                  { 1.3 },
                  malloc((size_t)(n * D) * sizeof(double)),
                  malloc((size_t)n * sizeof(double)) };
    for (int k = 0; k < D; k++) p.theta[1 + k] = lengthscale * (1 + 0.25 * k);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < D; k++) p.X[i * D + k] = fmod(0.5 + step[k] * (i + 1), 1);
        p.r[i] = sin(4 * p.X[i * D]) + p.X[i * D + 1] + 0.05 * sin(1e3 * (i + 1));
    }
    return p;
}

static void drop(problem *p)
{
    free(p->X);
    free(p->r);
}

/* The op's value; gradients as quad_nlml lays them out. */
static double evaluate(const problem *p, ct_dtype dtype, double *gradient, ct_status *status)
{
    ct_kernel *k = ct_kernel_parse(p->profile == QUAD_RBF ? "scale * rbf(ard)" : "scale * matern32(ard)");
    assert_ok(ct_kernel_bind(k, D), ct_kernel_message(k));
    ct_tape *tape = ct_tape_new(device);
    const struct {
        ct_shape shape;
        const double *data;
    } in[] = { { ct_shape1(1 + D), p->theta },
               { ct_shape1(1), &p->noise },
               { ct_shape1(p->n), p->r },
               { ct_shape2(p->n, D), p->X } };
    ct_var v[4];
    for (int i = 0; i < 4; i++) {
        ct_tensor *f64 = assert_tensor(ct_from(device, CT_F64, in[i].shape, in[i].data), device);
        ct_tensor *t = assert_tensor(ct_tensor_cast(f64, dtype), device);
        v[i] = ct_leaf(tape, t);
        ct_release(f64);
        ct_release(t);
    }
    ct_var nlml = ct_gp_nlml(k, v[0], v[3], v[2], v[1]);
    double value = ct_item(nlml);
    *status = ct_backward(nlml);
    for (int i = 0, at = 0; i < 4 && !*status; i++) {
        double *bar = gp_host(ct_cotangent(v[i]));
        for (int64_t j = 0; j < ct_shape_count(in[i].shape); j++) gradient[at++] = bar[j];
        free(bar);
    }
    ct_tape_free(tape);
    ct_kernel_free(k);
    return value;
}

/* Relative errors of the value and of each hyperparameter's gradient, and of those in r and X relative to
 * their largest element. */
static double worst_error(const problem *p, ct_dtype dtype)
{
    int count = 2 + D + p->n + p->n * D;
    double *a = malloc(2 * (size_t)count * sizeof *a), *b = a + count, worst;
    ct_status status;
    double reference = quad_nlml(p->profile, p->theta, D, p->X, p->r, p->n, p->noise, b);
    worst = fabs(evaluate(p, dtype, a, &status) / reference - 1);
    assert_ok(status, "the likelihood");
    for (int i = 0; i < 2 + D; i++) worst = fmax(worst, fabs(a[i] / b[i] - 1));
    const int part[] = { 2 + D, 2 + D + p->n, count };
    for (int k = 0; k < 2; k++) {
        double size = 0, error = 0;
        for (int i = part[k]; i < part[k + 1]; i++)
            size = fmax(size, fabs(b[i])), error = fmax(error, fabs(a[i] - b[i]));
        worst = fmax(worst, error / size);
    }
    free(a);
    return worst;
}

static void compare(double noise, double tolerance)
{
    for (int n = 20; n <= 100; n += 16)
        for (int profile = QUAD_RBF; profile <= QUAD_MATERN32; profile++) {
            problem p = make(profile, n, noise, 0.4);
            double error = worst_error(&p, CT_F64);
            if (getenv("CT_SHOW")) print_message("%g %d %d: %.2g\n", noise, n, profile, error);
            assert_close(error, 0, 0, tolerance);
            drop(&p);
        }
}

static void large_noise(void **state)
{
    (void)state;
    compare(1e-2, 1e-12);
}

static void small_noise(void **state)
{
    (void)state;
    compare(1e-6, 1e-9);
}

static void tiny_noise(void **state)
{
    (void)state;
    compare(1e-8, 1e-7);
}

/* A model with these parameters, without standardisation, of the data rounded to the dtype. */
static ct_gp *hold(problem *p, ct_dtype dtype)
{
    ct_tensor *X64 = assert_tensor(ct_from(device, CT_F64, ct_shape2(p->n, D), p->X), device);
    ct_tensor *r64 = assert_tensor(ct_from(device, CT_F64, ct_shape1(p->n), p->r), device);
    ct_tensor *X = ct_tensor_cast(X64, dtype), *r = ct_tensor_cast(r64, dtype);
    ct_gp *gp = ct_gp_new(X, r, ct_kernel_parse("scale * rbf(ard)"),
                          &(ct_gp_options){ .mean = CT_MEAN_ZERO, .standardize = CT_STANDARDIZE_NONE });
    assert_gp(gp, device);
    gp_set(gp, "scale.variance", p->theta[0], true);
    for (int k = 0; k < D; k++) {
        char name[40];
        snprintf(name, sizeof name, "rbf.lengthscale[%d]", k);
        gp_set(gp, name, p->theta[1 + k], true);
    }
    gp_set(gp, "noise.variance", p->noise, true);
    double *x = gp_host(X), *y = gp_host(r);
    memcpy(p->X, x, (size_t)(p->n * D) * sizeof *x);
    memcpy(p->r, y, (size_t)p->n * sizeof *y);
    free(x);
    free(y);
    ct_release(X64);
    ct_release(r64);
    ct_release(X);
    ct_release(r);
    return gp;
}

/* The gradient in the logs of the parameters is right as far as the report promises. */
static void slopes_keep_the_promise(const problem *p, ct_gp *gp, const ct_gp_numerics *q,
                                    const double *wanted)
{
    double u[2 + D], value, slope[2 + D], worst = 0;
    for (int i = 0; i < 2 + D; i++) u[i] = log(ct_gp_param(gp, i)->value);
    assert_ok(ct_gp_objective(gp, u, &value, slope), ct_message(device));
    /* Rounding may stop the objective at another jitter than the model's: its slopes are another matrix's. */
    if (ct_gp_jitter(gp) > 0 && fabs(value - ct_gp_nlml_value(gp)) > 0.5 * fabs(value)) return;
    for (int i = 0; i < 2 + D; i++) {
        double scale = i < 1 + D ? p->theta[i] : p->noise;
        worst = fmax(worst, fabs(slope[i] - wanted[i] * scale));
    }
    if (getenv("CT_SHOW")) print_message("slopes off by %.2g, promised %.2g\n", worst, q->gradient_error);
    assert_true(worst <= q->gradient_error + 1e-12);
}

/* The model gives an error status, or the right likelihood for the jitter that it reports, as far as its
 * report promises. */
static void right_or_refused(problem *p, ct_dtype dtype)
{
    ct_gp *gp = hold(p, dtype);
    ct_gp_numerics q;
    double value = ct_gp_nlml_value(gp),
           *gradient = malloc((size_t)(2 + D + p->n * (1 + D)) * sizeof *gradient);
    if (isnan(value)) {
        assert_status(ct_last_status(device), CT_ENUMERIC, ct_message(device));
        assert_non_null(strstr(ct_message(device), "minor"));
        assert_non_null(strstr(ct_message(device), "noise"));
    } else {
        assert_ok(ct_gp_inspect(gp, &q), ct_message(device));
        double wanted = quad_nlml(p->profile, p->theta, D, p->X, p->r, p->n, p->noise + q.jitter, gradient);
        if (getenv("CT_SHOW"))
            print_message("f%d noise %g length %g: %.10g %.10g, jitter %.2g, %.1f digits\n",
                          dtype == CT_F32 ? 32 : 64, p->noise, p->theta[1], value, wanted, q.jitter,
                          q.digits);
        assert_true(isfinite(value));
        assert_close(value, wanted, fmin(3 * pow(10, -q.digits) + 1e-14, 0.5), 0);
        slopes_keep_the_promise(p, gp, &q, gradient);
    }
    free(gradient);
    ct_gp_free(gp);
}

static void ill_conditioned(void **state)
{
    (void)state;
    const ct_dtype dtypes[] = { CT_F64, CT_F32 };
    const double lengthscales[] = { 1e-6, 0.5, 1e6 }, noises[] = { 1e-2, 1e-6, 1e-10 };
    for (int t = 0; t < 2; t++)
        for (int l = 0; l < 3; l++)
            for (int k = 0; k < 3; k++)
                for (int twice = 0; twice < 2; twice++) {
                    problem p = make(QUAD_RBF, 60, noises[k], lengthscales[l]);
                    for (int i = 0; i < 30 && twice; i++)
                        memcpy(p.X + (30 + i) * D, p.X + i * D, D * sizeof *p.X);
                    right_or_refused(&p, dtypes[t]);
                    drop(&p);
                }
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef QUAD
        cmocka_unit_test(large_noise),
        cmocka_unit_test(small_noise),
        cmocka_unit_test(tiny_noise),
        cmocka_unit_test(ill_conditioned),
#endif
    };
    return cmocka_run_group_tests(tests, open_check_device, close_device);
}
