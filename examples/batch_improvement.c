/* Several experiments at once: the q points of the unit square that together promise the largest expected
 * improvement on the least value b so far,
 *     qEI(X) = E max(0, b - min_j f(x_j)) ≈ 1/S Σ_s max(0, b + max_j -(m + L z_s)_j),   L Lᵀ = C(X),
 * with mean m and covariance C of the posterior at X and S fixed draws z, so that X can climb along the
 * gradient. The covariance keeps the points apart. [Wilson & al. 2018] */
#include <cotangent/cotangent.h>
#include <cotangent/gp.h>
#include <math.h>
#include <stdio.h>

enum { SEEN = 16, POINTS = 4, DRAWS = 256, CLIMBS = 60, STARTS = 8 };

static double target(const double *u) { return cos(7 * u[0]) * sin(5 * u[1]) + u[0]; }

static ct_var expected_improvement(ct_gp *gp, ct_var X, ct_var Z, double best)
{
    ct_var m, C;
    ct_gp_posterior_full(gp, X, false, &m, &C);
    ct_var L = ct_cholesky(ct_add_diag(C, ct_scalar(X.tape, CT_F64, 1e-9)));
    ct_var f = ct_add(ct_matmul(Z, ct_t(L)), ct_unsqueeze(m, 0)); /* (DRAWS, POINTS) */
    ct_var gain = ct_shift(ct_max(ct_neg(f), 1, false), best);
    return ct_mean(ct_clamp(gain, 0, INFINITY), CT_ALL, false);
}

/* X climbs [Riedmiller & Braun 1993]; its value at the end, NaN with the message on the tape. */
static double climb(ct_gp *gp, ct_tape *tape, ct_tensor *X, ct_tensor *Z, double best)
{
    double *p = ct_tensor_data(X), step[2 * POINTS], before[2 * POINTS];
    for (int k = 0;; k++) {
        ct_tape_reset(tape);
        ct_var x = ct_leaf(tape, X), gain = ct_keep(expected_improvement(gp, x, ct_constant(tape, Z), best));
        if (ct_backward(gain) || k == CLIMBS) return ct_item(gain);
        const double *slope = ct_tensor_data(ct_cotangent(x));
        for (int i = 0; i < 2 * POINTS; i++) {
            step[i] = k ? step[i] * (slope[i] * before[i] < 0 ? 0.5 : 1.2) : 0.05;
            p[i] = fmin(fmax(p[i] + copysign(step[i], slope[i]), 0), 1), before[i] = slope[i];
        }
    }
}

int main(void)
{
    double y[SEEN], best = INFINITY, most = -INFINITY, found = INFINITY, u[2 * POINTS] = { 0 };
    ct_device *device = ct_device_open("cpu");
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *seen = ct_rand_uniform(device, CT_F64, ct_shape2(SEEN, 2), 1, 0),
              *Z = ct_rand_normal(device, CT_F64, ct_shape2(DRAWS, POINTS), 2, 0);
    for (int i = 0; i < SEEN; i++) best = fmin(best, y[i] = target((double *)ct_tensor_data(seen) + 2 * i));
    ct_tensor *Y = ct_from(device, CT_F64, ct_shape1(SEEN), y);
    ct_gp *gp = ct_gp_new(seen, Y, ct_kernel_parse("scale * matern52(ard)"), NULL);
    for (int start = 0; start < STARTS && (start || !ct_gp_fit(gp, NULL)); start++) {
        ct_tensor *X = ct_rand_uniform(device, CT_F64, ct_shape2(POINTS, 2), 3, (uint64_t)start);
        double gain = climb(gp, tape, X, Z, best);
        if (gain > most && !ct_read(X, u, sizeof u)) most = gain;
        ct_release(X);
    }
    for (int j = 0; j < POINTS; j++) {
        printf("try (%.3f, %.3f): f = %.4f\n", u[2 * j], u[2 * j + 1], target(u + 2 * j));
        found = fmin(found, target(u + 2 * j));
    }
    printf("best %.4f, expected to fall by %.4f, is now %.4f\n", best, most, found);
    ct_gp_free(gp), ct_tape_free(tape), ct_release(seen), ct_release(Z), ct_release(Y),
        ct_device_close(device);
    return !(found < best);
}
