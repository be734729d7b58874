/* Rows predicted without them: what leave-one-out and cross-validation share. */
#ifndef CT_GP_LEFT_OUT_H
#define CT_GP_LEFT_OUT_H

#include "gp/model/model.h"

/* error (n) = y - mean, and variance (n), of each row, standardised, predicted without its fold. alpha (n) is
 * C⁻¹r. */
typedef ct_status ct__leave_out(ct_gp *gp, const int64_t *fold, const double *alpha, double *error,
                                double *variance);

/* part = mean and variance of g(y) and log density of y, in the units of the data, of the rows that callers
 * see. Free part[0]. */
ct_status ct__left_out(ct_gp *gp, ct__leave_out *leave, const int64_t *fold, double *part[3]);
/* The same into the caller's tensors, which may be NULL. A collective call. */
ct_status ct__left_out_into(ct_gp *gp, ct__leave_out *leave, const int64_t *fold, ct_tensor *const out[3]);

#endif
