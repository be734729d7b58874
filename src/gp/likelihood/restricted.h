/* The restricted likelihood of a model with a trend. */
#ifndef CT_GP_RESTRICTED_H
#define CT_GP_RESTRICTED_H

#include "likelihood.h"

/* theta (P), X (n, d), r (n, 1), noise (n) or (1), H (n, p) -> the restricted likelihood
 *     ½ rᵀP r + ½ log det C + ½ log det A + (n-p)/2 log 2π,  A = HᵀC⁻¹H,  P = C⁻¹ - C⁻¹H A⁻¹ HᵀC⁻¹
 * with gradients in theta, r and noise. */
ct_var ct__gp_restricted(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise, ct_var H);
/* Sets factor.trend and factor.restricted from the factor L. With `correct`, alpha = C⁻¹r becomes P r, and
 * nlml the restricted likelihood. CT_ENUMERIC if A is not positive definite. */
ct_status ct__gp_restrict(ct_gp *gp, bool correct);

#endif
