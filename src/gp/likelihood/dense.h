/* The marginal likelihood of a model in one process, and what other likelihoods take from it. */
#ifndef CT_GP_DENSE_H
#define CT_GP_DENSE_H

#include "density.h"
#include "gp/factor/grid.h"
#include "likelihood.h"

extern const ct__likelihood ct__dense;
/* theta (P), X (n, d), r of n elements, noise (n) or (1) -> ½ rᵀC⁻¹r + ½ log det C + n/2 log 2π. The attribute
 * is the kernel's program. */
extern const struct ct_op ct__op_gp_nlml;

/* v (...) = ½ rᵀα + Σ log L_ii + n/2 log 2π; diagonal (..., n) of L; r with n elements; alpha contiguous. */
void ct__nlml_value(ct_call *c, ct_view r, ct_view alpha, ct_view diagonal, ct_view v);
/* Whether the gradient needs C⁻¹. The gradient by r does not: it is α, which the value also needs. */
bool ct__nlml_wants_inverse(const ct_call *c);
/* Replaces diag C⁻¹ in noise_bar (n) by ½ diag (C⁻¹ - ααᵀ); alpha (n), room (n). */
void ct__nlml_noise_bar(ct_call *c, ct_view alpha, ct_view room, ct_view noise_bar);
/* The forward pass, alone or on a grid, where X gets no gradient. */
void ct__nlml_compute(ct_call *c, ct__grid grid);
/* The value in differentiable ops. */
ct_var ct__nlml_composed(const ct_cov_program *program, const ct_var *in);
/* The bytes of any likelihood with a factor. */
uint64_t ct__nlml_bytes(const ct_gp *gp, int64_t d, bool fitting);

#endif
