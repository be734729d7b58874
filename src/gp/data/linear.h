/* A linear function of the standardised inputs: c + Σ_j b_j s_j. */
#ifndef CT_GP_LINEAR_H
#define CT_GP_LINEAR_H

#include <cotangent/gp/kernel.h>

/* Its parameter k: `constant` first, then the slopes "slope[0]", "slope[1]", ... */
ct_param ct__linear_param(const char *constant, const char *slope, int64_t k);
/* Its values (m, 1) at X (m, d), from its parameters (1 + d). */
ct_var ct__linear_on(ct_var parameters, ct_var X);

#endif
