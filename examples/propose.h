/* Where Bayesian optimisation looks next: the maximum over the unit cube of the log of expected improvement
 *     EI(x) = s h(z),  h(z) = φ(z) + z Φ(z),  z = (b - m)/s                           [Jones & al. 1998]
 * for the least value b so far and the posterior's mean m and variance s² at x. */
#include <cotangent/cotangent.h>
#include <cotangent/gp.h>
#include <math.h>

enum { CLIMBERS = 32, CLIMBS = 60, MOST = 16 };

/* A model of the values so far. Its lengthscales grow with √d: log l ~ N(√2 + log √d, √3)
 * [Hvarfner & al. 2024]. NULL with the message on the device of X. */
static ct_gp *model_of(const ct_tensor *X, const ct_tensor *y)
{
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("scale * matern52(ard)"), NULL);
    for (int64_t d = ct_gp_dims(gp), i = 1; i <= d; i++) {
        ct_param p = *ct_gp_param(gp, i);
        p.prior = (ct_prior){ CT_PRIOR_LOG_NORMAL, sqrt(2) + 0.5 * log((double)d), sqrt(3) };
        ct_gp_set_param(gp, i, &p);
    }
    return gp;
}

/* log h(z). For t = -z > 5 it is log φ(t) - log(1 + t r) with r = t + 2/(t + 3/(t + ...)), which cancels
 * nothing. [Ament & al. 2023] */
static ct_var log_h(ct_var z)
{
    ct_var near = ct_clamp(z, -5, INFINITY), t = ct_neg(ct_clamp(z, -INFINITY, -5)), r = t;
    ct_var bell = ct_exp(ct_scale(ct_square(near), -0.5)), erf = ct_erf(ct_scale(near, sqrt(0.5)));
    ct_var above = ct_log(ct_add(bell, ct_scale(ct_mul(near, ct_shift(erf, 1)), sqrt(acos(0)))));
    for (int k = 6; k > 1; k--) r = ct_add(t, ct_scale(ct_reciprocal(r), k));
    ct_var below = ct_neg(ct_add(ct_scale(ct_square(t), 0.5), ct_log1p(ct_mul(t, r))));
    return ct_shift(ct_where(ct_less(z, near), below, above), -0.5 * log(2 * acos(-1)));
}

static ct_var log_ei(ct_gp *gp, ct_var x, double best)
{
    ct_var m, v;
    ct_gp_posterior(gp, x, false, &m, &v);
    ct_var s = ct_sqrt(ct_clamp(v, 1e-12, INFINITY));
    return ct_add(log_h(ct_div(ct_shift(ct_neg(m), best), s)), ct_log(s));
}

/* Sets u to the highest of many points that climb from random places, `draw` of the random stream. Each
 * coordinate has its own step, which grows while the slope keeps its sign [Riedmiller & Braun 1993]. At most
 * MOST dimensions. Returns log EI at u; NaN with the message on the tape's device. */
static double propose(ct_gp *gp, ct_tape *tape, double best, uint64_t draw, double *u)
{
    const int64_t d = ct_gp_dims(gp);
    ct_tensor *X = ct_rand_uniform(ct_gp_device(gp), CT_F64, ct_shape2(CLIMBERS, d), 2, draw);
    double *p = X ? ct_tensor_data(X) : NULL, top = NAN, step[CLIMBERS * MOST], before[CLIMBERS * MOST];
    for (int k = 0; p && k <= CLIMBS; k++) {
        ct_var x = ct_leaf(tape, X), value = ct_keep(log_ei(gp, x, best));
        if (ct_backward(ct_sum(value, CT_ALL, false))) break;
        const double *slope = ct_tensor_data(ct_cotangent(x)), *height = ct_tensor_data(ct_value(value));
        for (int64_t i = 0; i < CLIMBERS; i++)
            if (!(top >= height[i])) {
                top = height[i];
                for (int64_t j = 0; j < d; j++) u[j] = p[i * d + j];
            }
        for (int64_t i = 0; i < CLIMBERS * d; i++) {
            step[i] = k ? step[i] * (slope[i] * before[i] < 0 ? 0.5 : 1.2) : 0.1;
            p[i] = fmin(fmax(p[i] + copysign(step[i], slope[i]), 0), 1), before[i] = slope[i];
        }
        ct_tape_reset(tape);
    }
    ct_tape_reset(tape);
    ct_release(X);
    return top;
}
