/* Mean, variance and covariance at points of a tape, as functions of the points:
 *     m(x*) + k*ᵀ α,   k(x*, x*) - |L⁻¹ k*|²,   k(X*, X*) - V Vᵀ with V = k(X*, X) L⁻ᵀ
 *                                                              [Rasmussen & Williams 2006, alg. 2.1] */
#include "posterior.h"

#include <math.h>

#include <cotangent/gp/predict.h>

#include "gp/likelihood/density.h"
#include "gp/likelihood/factorise.h"
#include "gp/model/graph.h"
#include "noise_at.h"
#include "posterior_op.h"
#include "trend_posterior.h"

ct__posterior ct__posterior_of(ct_gp *gp, ct_var Xs, bool variance)
{
    ct_tape *tape = Xs.tape;
    ct__posterior p = { .theta = ct__gp_theta(gp, tape), .Xs = Xs };
    ct_var in[] = { p.theta, Xs, ct_constant(tape, gp->rows.X), ct_constant(tape, gp->factor.alpha),
                    ct_constant(tape, gp->factor.L) };
    const ct__grid grid = ct__gp_grid(gp);
    ct_var added = ct__gp_posterior_at(ct_kernel_program(gp->kernel), &grid, in, variance);
    p.mean = ct_add(ct_unsqueeze(added, 1), ct__gp_mean_at(gp, tape, Xs));
    if (variance) p.taken = ct_output(added, 1);
    if (!gp->mean.trend) return p;
    p.mean = ct_add(p.mean, ct__trend_mean_at(gp, Xs));
    if (variance)
        p.taken = ct_sub(p.taken, ct_sum(ct_square(ct__trend_spread_at(gp, p.theta, Xs)), 1, false));
    return p;
}

/* x[0..d) as a constant, for broadcasting over rows. */
static ct_var row(const ct_gp *gp, ct_tape *tape, const double *x)
{
    return ct__gp_vector(gp, tape, x, ct__gp_cols(gp), false);
}

static ct_status usable(ct_gp *gp, ct_var Xs)
{
    ct_tape *tape = Xs.tape;
    ct_shape shape = ct_var_shape(Xs);
    if (ct_tape_status(tape)) return ct_tape_status(tape);
    if (!gp)
        ct_tape_fail(tape, CT_EINVAL, "ct_gp_posterior: the model is NULL");
    else if (ct_tape_device(tape) != gp->device)
        ct_tape_fail(tape, CT_EDEVICE, "ct_gp_posterior: Xs lives on another device than the model");
    else if (shape.ndim != 2 || shape.dim[1] != ct__gp_cols(gp))
        ct_tape_fail(
            tape, CT_ESHAPE,
            "ct_gp_posterior: Xs has %lld columns in %d dimensions, must be (m, %lld) as in training",
            (long long)(shape.ndim ? shape.dim[shape.ndim - 1] : 1), shape.ndim, (long long)ct__gp_cols(gp));
    else if (ct_var_dtype(Xs) != gp->rows.dtype)
        ct_tape_fail(tape, CT_EDTYPE, "ct_gp_posterior: Xs is %s, the model %s: convert with ct_cast",
                     ct_dtype_name(ct_var_dtype(Xs)), ct_dtype_name(gp->rows.dtype));
    else if (ct__gp_factorise(gp))
        ct_tape_fail(tape, ct_last_status(gp->device), "ct_gp_posterior: %.400s", ct_message(gp->device));
    return ct_tape_status(tape);
}

/* Computes `covariance` or else `variance`, if one is requested. */
static void on_tape(ct_gp *gp, ct_var Xs, bool noisy, ct_var *mean, ct_var *variance, ct_var *covariance)
{
    if (usable(gp, Xs)) return;
    const double unit = gp->target.scale * gp->target.scale;
    ct_var at = ct_div(ct_sub(Xs, row(gp, Xs.tape, gp->rows.shift)), row(gp, Xs.tape, gp->rows.scale));
    if (gp->one_output) {
        ct_var code = ct_scalar(Xs.tape, gp->rows.dtype, (double)gp->one_output->code);
        at = ct_concat((ct_var[]){ at, ct_broadcast_to(code, ct_shape2(ct_var_shape(Xs).dim[0], 1)) }, 2, 1);
    }
    ct__posterior p = ct__posterior_of(gp, at, variance != NULL);
    if (mean)
        *mean = ct__finite(ct_shift(ct_scale(ct_squeeze(p.mean, 1), gp->target.scale), gp->target.shift),
                           "element %lld of the posterior mean");
    if (variance) {
        ct_var left = ct_clamp(ct_sub(ct_cov_diag(gp->kernel, p.theta, at), p.taken), 0, INFINITY);
        left = ct_scale(left, unit);
        *variance = ct__finite(noisy ? ct_add(left, ct__noise_on(gp, at)) : left,
                               "element %lld of the posterior variance");
    }
    if (covariance) {
        const ct__grid grid = ct__gp_grid(gp);
        ct_var K = ct_cov(gp->kernel, p.theta, at, ct_constant(Xs.tape, gp->rows.X));
        ct_var V = ct__gp_half_solve(&grid, ct_constant(Xs.tape, gp->factor.L), K, false);
        ct_var C = ct_sub(ct_cov(gp->kernel, p.theta, at, at), ct_matmul(V, ct_t(V)));
        if (gp->mean.trend) {
            ct_var U = ct__trend_spread_at(gp, p.theta, at);
            C = ct_add(C, ct_matmul(U, ct_t(U)));
        }
        C = ct_scale(ct_add(C, ct_t(C)), 0.5 * unit); /* a product is symmetric only up to rounding */
        ct_var diagonal = ct_diag(C), lost = ct_sub(ct_clamp(diagonal, 0, INFINITY), diagonal);
        *covariance = ct__finite(ct_add_diag(C, noisy ? ct_add(lost, ct__noise_on(gp, at)) : lost),
                                 "element %lld of the posterior covariance");
    }
}

/* A collective call. */
static void run(ct_gp *gp, ct_var Xs, bool noisy, ct_var *mean, ct_var *variance, ct_var *covariance)
{
    ct_var *out[] = { mean, variance, covariance };
    for (int i = 0; i < 3; i++)
        if (out[i]) *out[i] = (ct_var){ Xs.tape, UINT32_MAX, 0 };
    if (!Xs.tape) return;
    if (gp) ct__gp_enter(gp);
    on_tape(gp, Xs, noisy, mean, variance, covariance);
    if (gp && ct__gp_leave(gp, ct_tape_status(Xs.tape)))
        ct_tape_fail(Xs.tape, ct_last_status(gp->device), "ct_gp_posterior: %.400s", ct_message(gp->device));
}

void ct_gp_posterior(ct_gp *gp, ct_var Xs, bool noisy, ct_var *mean, ct_var *variance)
{
    run(gp, Xs, noisy, mean, variance, NULL);
}

void ct_gp_posterior_full(ct_gp *gp, ct_var Xs, bool noisy, ct_var *mean, ct_var *covariance)
{
    run(gp, Xs, noisy, mean, NULL, covariance);
}
