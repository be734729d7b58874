/* What the data add to the mean, and take from the variance, at points of a tape. */
#ifndef CT_GP_POSTERIOR_OP_H
#define CT_GP_POSTERIOR_OP_H

#include "gp/factor/grid.h"

/* theta, points (m, d), X (n, d), alpha (n, 1), L packed, or on a grid this process's tiles -> kᵀα (m), and
 * with `variance`, as output 1, kᵀC⁻¹k (m), where k = k(X, point) and C = L Lᵀ. Gradients flow into the
 * points. */
ct_var ct__gp_posterior_at(const ct_cov_program *program, const ct__grid *grid, const ct_var in[5],
                           bool variance);
/* B L⁻ᵀ, with `trans` B L⁻¹, and B (L Lᵀ)⁻¹, for B (m, n) and the model's factor; differentiable in B. */
ct_var ct__gp_half_solve(const ct__grid *grid, ct_var L, ct_var B, bool trans);
ct_var ct__gp_solve(const ct__grid *grid, ct_var L, ct_var B);

#endif
