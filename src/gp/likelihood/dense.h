/* The marginal likelihood of a model in one process, and what other likelihoods take from it. */
#ifndef CT_GP_DENSE_H
#define CT_GP_DENSE_H

#include "density.h"
#include "likelihood.h"

/* v (...) = ½ rᵀα + Σ log L_ii + n/2 log 2π; diagonal (..., n) of L; r with n elements; alpha of r's
 * elements. For r and alpha (n, p) the sum over the p columns. */
void ct__nlml_value(ct_call *c, ct_view r, ct_view alpha, ct_view diagonal, ct_view v);
/* Whether the gradient needs C⁻¹. The gradient by r does not: it is α, which the value also needs. */
bool ct__nlml_wants_inverse(const ct_call *c);
/* Replaces diag M in noise_bar (n) by weight diag (M - uuᵀ); u (n), or no view for zero; work (n). */
void ct__nlml_noise_bar(ct_call *c, double weight, ct_view u, ct_view work, ct_view noise_bar);
/* The derivatives at v̄ = 1 for C̄ = weight (M - uuᵀ), where the system holds M. Overwrites its diagonal. */
void ct__nlml_slopes(ct_call *c, const ct__system *s, double weight, ct_view u);
/* C⁻¹r as a column (n, 1): the rule's output, or scratch. */
ct_view ct__nlml_alpha(ct_call *c);
/* The forward pass, alone or on a grid, where X gets no gradient and r is one column. */
void ct__nlml_compute(ct_call *c, ct__grid grid);
/* The value in differentiable ops; the same for columns r (..., n, p) and L (..., n, n). */
ct_var ct__nlml_composed(const ct_cov_program *program, const ct_var *in);
ct_var ct__nlml_of(ct_var r, ct_var L);
/* The bytes of any likelihood with a factor. */
uint64_t ct__nlml_bytes(const ct_gp *gp, int64_t d, bool fitting);

#endif
