/* A log density of r under C = k(X, X) + diag(noise), whose forward pass computes the gradient with it: what
 * ct_gp_nlml, ct_gp_loo_nlpd and ct_gp_nlml_mixed share. */
#ifndef CT_GP_DENSITY_H
#define CT_GP_DENSITY_H

#include <cotangent/covariance.h>
#include <cotangent/op.h>

/* Inputs: theta (P), X (n, d), r of n elements, noise (n) or (1). Output 0 is the value v, a scalar; output
 * ct__bar(i), for the rule alone, is ∂v/∂ of input i, for the noise (n). */
enum { CT__THETA, CT__POINTS, CT__RESIDUAL, CT__NOISE, CT__DENSITY_INPUTS };
static inline int ct__bar(int i) { return 1 + i; }

/* The shape rule. Of a recorded call X's slopes have no elements where nobody wants them, and, without
 * `slopes`, theta's and the noise's have none. */
ct_shape ct__density_shape(ct_call *c, const ct_cov_program *program, bool slopes);
/* All outputs become NaN, for a failure that is known. */
void ct__density_fail(ct_call *c);
/* Flags the value where it is not finite. */
void ct__density_flag(ct_call *c);
/* Backward multiplies the slopes by v̄, and the gradient has to be finite. A recorded sweep differentiates
 * `value` instead, the same density in differentiable ops, from L Lᵀ = C and r (n, 1). */
void ct__density_vjp(ct_vjp *g, const ct_cov_program *program, ct_var (*value)(ct_var L, ct_var r));

/* x as it is. An element that is not finite is a failure of the tape, in the words of `what`, a static format
 * of its number; so is one of its cotangent. */
ct_var ct__finite(ct_var x, const char *what);

/* -- nlml.c ---------------------------------------------------------------------------------------------- */

/* v = ½ rᵀα + Σ log L_ii + n/2 log 2π, of one element; r (n elements), alpha (n, 1), diagonal (n) of L. */
void ct__nlml_value(ct_call *c, ct_view r, ct_view alpha, ct_view diagonal, ct_view v);
/* Whether the gradient needs C⁻¹: that in r is α, which the value needs. */
bool ct__nlml_wants_inverse(const ct_call *c);
/* noise_bar (n), which holds diag C⁻¹, becomes ½ diag (C⁻¹ - ααᵀ); alpha (n), room (n). */
void ct__nlml_noise_bar(ct_call *c, ct_view alpha, ct_view room, ct_view noise_bar);
/* The value in differentiable ops, for ct__density_vjp. */
ct_var ct__nlml_composed(ct_var L, ct_var r);

#endif
