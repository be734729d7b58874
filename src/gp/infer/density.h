/* A log density whose gradient was computed with it, as the last op of its making: what ct_gp_nlml and
 * ct_gp_loo_nlpd share. */
#ifndef CT_GP_DENSITY_H
#define CT_GP_DENSITY_H

#include <cotangent/covariance.h>
#include <cotangent/op.h>

/* The inputs of such an op, whose attribute is the kernel's program. The first five are constants, for
 * v̄ = 1; one that nobody wants may be anything. R_BAR and RESIDUAL (n, 1), NOISE_BAR (n). */
enum {
    CT__VALUE,
    CT__THETA_BAR,
    CT__X_BAR,
    CT__NOISE_BAR,
    CT__R_BAR,
    CT__THETA,
    CT__POINTS,
    CT__RESIDUAL,
    CT__NOISE,
    CT__DENSITY_INPUTS
};

/* x as it is. An element that is not finite is a failure of the tape, in the words of `what`, a static format
 * of its number; so is one of its cotangent. */
ct_var ct__finite(ct_var x, const char *what);

ct_shape ct__density_shape(ct_call *c);
/* The value, which has to be finite. */
void ct__density_forward(ct_call *c);
/* Backward multiplies by v̄, and the gradient has to be finite. A recorded sweep differentiates `value`
 * instead, the same density in differentiable ops, from L Lᵀ = k(X, X) + diag(noise) and r (n, 1). */
void ct__density_vjp(ct_vjp *g, ct_var (*value)(ct_var L, ct_var r));

#endif
