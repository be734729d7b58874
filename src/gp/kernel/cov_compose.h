/* Covariance matrices as compositions of public ops. */
#ifndef CT_GP_COV_COMPOSE_H
#define CT_GP_COV_COMPOSE_H

#include <cotangent/gp/kernel.h>

/* K as a composition of public ops. A Z without a tape means the symmetric case. With `slopes`, profiles of a
 * distance are differentiated by the formulas of profiles.h, which are right at s = 0, too; else by
 * differentiating the ops of their values. */
ct_var ct__cov_compose(const ct_cov_program *program, ct_var theta, ct_var X, ct_var Z, bool slopes);

#endif
