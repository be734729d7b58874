/* The noise of new observations. */
#ifndef CT_GP_NOISE_AT_H
#define CT_GP_NOISE_AT_H

#include "gp/model/model.h"

/* The variance in units of y²: the average over the data; or at each row of Xs, from `noise`, whose shape the
 * caller has checked, or if that is NULL from the inputs or the average. */
ct_status ct__noise_average(const ct_gp *gp, double *variance);
ct_status ct__noise_at(const ct_gp *gp, const ct_tensor *Xs, const ct_tensor *noise, double *variance);

#endif
