/* Rows predicted without them: what leave-one-out and cross-validation share. */
#ifndef CT_GP_LEFT_OUT_H
#define CT_GP_LEFT_OUT_H

#include "gp/model/model.h"

/* error (n) = y - mean, and variance (n), of each row, standardised, predicted without its fold. alpha (n) is
 * C⁻¹r. */
typedef ct_status ct__leave_out(ct_gp *gp, const int64_t *fold, const double *alpha, double *error,
                                double *variance);

/* Of the rows that callers see: mean and variance of g(y) and log density of y, in the units of the data, and
 * the square of the standardised residual. */
enum { CT__LEFT_MEAN, CT__LEFT_VARIANCE, CT__LEFT_DENSITY, CT__LEFT_SQUARE, CT__LEFT_PARTS };
/* Free part[0]. */
ct_status ct__left_out(ct_gp *gp, ct__leave_out *leave, const int64_t *fold, double *part[CT__LEFT_PARTS]);
/* The same into the caller's tensors, which may be NULL. A collective call. */
ct_status ct__left_out_into(ct_gp *gp, ct__leave_out *leave, const int64_t *fold, ct_tensor *const out[3]);

#endif
