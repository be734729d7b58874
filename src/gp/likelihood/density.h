/* A log density of r under C = k(X, X) + diag(noise) whose forward pass also computes the gradient. Shared by
 * ct_gp_nlml, ct_gp_loo_nlpd and ct_gp_nlml_mixed. */
#ifndef CT_GP_DENSITY_H
#define CT_GP_DENSITY_H

#include "gp/factor/system.h"
#include "gp/kernel/cov_call.h"

/* ct_gp_nlml, ct_gp_loo_nlpd, ct_outputs_nlml_shared and ct_outputs_nlml_kronecker; all but the last have the
 * kernel's program as attribute. */
extern const ct_op ct__op_gp_nlml, ct__op_gp_loo_nlpd, ct__op_nlml_shared, ct__op_nlml_kronecker;

/* Inputs: theta (..., P), X (..., n, d), r (..., n) or a column (n, 1), noise (..., n) or (..., 1). Output 0
 * is the value v (...). Output ct__bar(i), which only the rule reads, is the derivative of each member's v by
 * its input i, for the noise (..., n). */
enum { CT__THETA, CT__POINTS, CT__RESIDUAL, CT__NOISE, CT__DENSITY_INPUTS };
static inline int ct__bar(int i) { return 1 + i; }

/* Calls forward(member) for each member (ct_each_member). */
void ct__density_forward(ct_call *c, void (*forward)(ct_call *member));
/* The shape rule. With `columns` r has columns (n, p) in any case. In a recorded call X's derivatives have no
 * elements unless they are requested; without `slopes`, those of theta and the noise have none. */
ct_shape ct__density_shape(ct_call *c, bool columns, bool slopes);
/* ct__system_of for the inputs of a member. */
ct__system ct__density_system(ct_call *c, ct_view alpha, bool square, ct__grid grid);
/* The output for X's derivatives; no view if they are not requested. */
ct_view ct__density_X_bar(ct_call *c);
/* v (...) = ½ Σ terms + Σ logs + n/2 log 2π; terms (..., n), logs (..., n) or no view. */
void ct__density_value(ct_call *c, ct_view terms, ct_view logs, ct_view v);
/* Makes all outputs NaN, after a known failure. */
void ct__density_fail(ct_call *c);
/* Whether r is one column (n, 1); else only its last dimension is a member's. */
bool ct__is_column(ct_shape r, int64_t n);
/* Flags the value if it is not finite. */
void ct__density_flag(ct_call *c);
/* The rule: multiplies the derivatives by v̄; the gradient must be finite. A recorded sweep differentiates
 * `compose` instead. */
void ct__density_vjp(ct_rule *g, ct__composition *compose);
/* The cotangents of the four inputs: bar[i] or, if bar is NULL, the derivatives times v̄; `what` names those
 * that are not finite. */
void ct__density_give(ct_rule *g, const char *const what[CT__DENSITY_INPUTS], const ct_var *bar);
/* For a composition: L (..., n, n) with L Lᵀ = C; r as a column (..., n, 1). */
ct_var ct__density_factor(const ct_cov_program *program, const ct_var *in);
ct_var ct__density_column(const ct_var *in);
/* Samples for the op. */
void ct__density_sample(ct_sample *s);

/* Returns x unchanged. If an element of x or of its cotangent is not finite, the tape fails with `what`, a
 * static format for the element's number. */
ct_var ct__finite(ct_var x, const char *what);

#endif
