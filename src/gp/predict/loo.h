/* Leave-one-out prediction. */
#ifndef CT_GP_LOO_H
#define CT_GP_LOO_H

#include "gp/model/model.h"

/* Σ_i (y_i - mean_i)² / variance_i, predicted as in ct_gp_loo. */
ct_status ct__gp_loo_squares(ct_gp *gp, double *sum);

#endif
