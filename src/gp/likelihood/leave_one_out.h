/* The leave-one-out density as an objective. */
#ifndef CT_GP_LEAVE_ONE_OUT_H
#define CT_GP_LEAVE_ONE_OUT_H

#include "likelihood.h"

extern const ct__likelihood ct__leave_one_out;
/* From the inputs of ct__op_gp_nlml: -Σ log p(y_i | the others). */
extern const struct ct_op ct__op_gp_loo_nlpd;
/* ct_gp_bytes_needed for a fit by this density. */
uint64_t ct__gp_loo_bytes(const ct_device *device, int64_t n, int64_t d, ct_dtype dtype);

#endif
