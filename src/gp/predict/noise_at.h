/* The noise of new observations. */
#ifndef CT_GP_NOISE_AT_H
#define CT_GP_NOISE_AT_H

#include "gp/model/model.h"

/* The variance at standardised points (m, d), in units of y²: from the points, or the average over the data;
 * on the points' tape, (m) or (), and as numbers. */
ct_var ct__noise_on(const ct_gp *gp, ct_var at);
ct_status ct__noise_at(ct_gp *gp, ct_tensor *points, double *variance);

#endif
