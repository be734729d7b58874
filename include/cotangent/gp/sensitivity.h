/* Which inputs a model depends on. */
#ifndef COTANGENT_GP_SENSITIVITY_H
#define COTANGENT_GP_SENSITIVITY_H

#include <cotangent/gp/model.h>

CT_BEGIN_DECLS

/* Sobol indices of the posterior mean f for each of the d input columns, with V = Var f:
 *     first[j] = Var(E[f | x_j]) / V, the share that column j explains alone,
 *     total[j] = E(Var[f | all but x_j]) / V, the share in which it takes part at all.
 * The columns are treated as independent, each distributed as in the data. Estimated from `samples` random
 * pairs of points, (d + 2) samples predicted means, to about 1/√samples; a small index may come out a little
 * below 0. The same seed gives the same numbers. Takes 3 samples (d + 1) numbers. With a transform f is the
 * mean of z. CT_ENUMERIC if f is constant. [Saltelli et al. 2010, "Variance based sensitivity analysis of
 * model output"; Jansen 1999] */
CT_API ct_status ct_gp_sobol(ct_gp *gp, int64_t samples, uint64_t seed, double *first, double *total);

CT_END_DECLS
#endif
