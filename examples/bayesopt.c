/* Bayesian optimisation: fit a model to the values so far, look where it proposes (propose.h), and append. */
#include <stdio.h>

#include "propose.h"

enum { FIRST = 8, STEPS = 32 };

/* Branin's function on the unit square; its minimum is 0.397887. */
static double branin(const double *u)
{
    double pi = acos(-1), a = 15 * u[0] - 5, t = 15 * u[1] - 5.1 / (4 * pi * pi) * a * a + 5 / pi * a - 6;
    return t * t + 10 * (1 - 1 / (8 * pi)) * cos(a) + 10;
}

int main(void)
{
    double y[FIRST], u[2], best = INFINITY;
    ct_device *device = ct_device_open("cpu");
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *X = ct_rand_uniform(device, CT_F64, ct_shape2(FIRST, 2), 1, 0), *Y;
    for (int i = 0; i < FIRST; i++) best = fmin(best, y[i] = branin((double *)ct_tensor_data(X) + 2 * i));
    Y = ct_from(device, CT_F64, ct_shape1(FIRST), y);
    ct_gp *gp = model_of(X, Y);
    for (int step = 0; step < STEPS && !ct_gp_fit(gp, NULL); step++) {
        if (isnan(propose(gp, tape, best, (uint64_t)step, u))) break;
        double value = branin(u);
        ct_tensor *at = ct_from(device, CT_F64, ct_shape2(1, 2), u),
                  *seen = ct_from(device, CT_F64, ct_shape1(1), &value);
        printf("%2d: f(%.4f, %.4f) = %7.4f, best %.4f\n", step, u[0], u[1], value, best = fmin(best, value));
        if (ct_gp_append(gp, at, seen, NULL)) step = STEPS;
        ct_release(at), ct_release(seen);
    }
    ct_gp_free(gp), ct_tape_free(tape), ct_release(X), ct_release(Y), ct_device_close(device);
    return best > 0.4;
}
