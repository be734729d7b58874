/* Bayesian optimisation. Each next point maximises the expected improvement by gradient ascent:
 *     EI(x) = (b - m) Φ(z) + s φ(z),  z = (b - m)/s                                    [Jones & al. 1998]
 * for the least value b so far and the posterior's mean m and variance s² at x. */
#include <cotangent/cotangent.h>
#include <math.h>
#include <stdio.h>

enum { FIRST = 8, CLIMBERS = 32 };

/* Branin's function on the unit square; its minimum is 0.397887. */
static double branin(const double *u)
{
    double pi = acos(-1), a = 15 * u[0] - 5, t = 15 * u[1] - 5.1 / (4 * pi * pi) * a * a + 5 / pi * a - 6;
    return t * t + 10 * (1 - 1 / (8 * pi)) * cos(a) + 10;
}

/* Moves each climber one step up within the unit square; returns the climber that stood highest. */
static int climb(ct_gp *gp, ct_tape *tape, ct_tensor *X, double best, double step)
{
    int high = 0;
    ct_var m, v, x = ct_leaf(tape, X);
    ct_gp_posterior(gp, x, false, &m, &v);
    ct_var s = ct_sqrt(ct_shift(v, 1e-9)), gain = ct_shift(ct_neg(m), best), z = ct_div(gain, s);
    ct_var Phi = ct_scale(ct_shift(ct_erf(ct_scale(z, sqrt(0.5))), 1), 0.5);
    ct_var phi = ct_scale(ct_exp(ct_scale(ct_square(z), -0.5)), sqrt(0.5 / acos(-1)));
    ct_var ei = ct_keep(ct_add(ct_mul(gain, Phi), ct_mul(s, phi)));
    if (!ct_backward(ct_sum(ei, CT_ALL, false))) {
        double *g = ct_tensor_data(ct_cotangent(x)), *h = ct_tensor_data(ct_value(ei)),
               *u = ct_tensor_data(X);
        for (int i = 0; i < CLIMBERS; i++) high = h[i] > h[high] ? i : high;
        for (int i = 0; i < 2 * CLIMBERS; i++)
            u[i] = fmin(fmax(u[i] + step * g[i] / (hypot(g[i & ~1], g[i | 1]) + 1e-300), 0), 1);
    }
    ct_tape_reset(tape);
    return high;
}

int main(void)
{
    double y[FIRST], best = INFINITY;
    ct_device *device = ct_device_open("cpu");
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *X = ct_rand_uniform(device, CT_F64, ct_shape2(FIRST, 2), 1, 0), *Y;
    for (int i = 0; i < FIRST; i++) best = fmin(best, y[i] = branin((double *)ct_tensor_data(X) + 2 * i));
    Y = ct_from(device, CT_F64, ct_shape1(FIRST), y);
    ct_gp *gp = ct_gp_new(X, Y, ct_kernel_parse("scale * matern52(ard)"), NULL);
    for (int step = 0, at = 0; step < 32 && !ct_gp_fit(gp, NULL); step++) {
        ct_tensor *many = ct_rand_uniform(device, CT_F64, ct_shape2(CLIMBERS, 2), 2, (uint64_t)step);
        for (int k = 0; k < 60; k++) at = climb(gp, tape, many, best, 0.1 * pow(0.93, k));
        ct_tensor *next = ct_tensor_slice(many, 0, at, at + 1, 1);
        double *u = ct_tensor_data(next), value = branin(u);
        ct_tensor *seen = ct_from(device, CT_F64, ct_shape1(1), &value);
        printf("%2d: f(%.4f, %.4f) = %7.4f, best %.4f\n", step, u[0], u[1], value, best = fmin(best, value));
        if (ct_gp_append(gp, next, seen, NULL)) step = 32;
        ct_release(many), ct_release(next), ct_release(seen);
    }
    ct_gp_free(gp), ct_tape_free(tape), ct_release(X), ct_release(Y), ct_device_close(device);
    return best > 0.4;
}
