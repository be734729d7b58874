/* The leave-one-out density as an objective. */
#ifndef CT_GP_LEAVE_ONE_OUT_H
#define CT_GP_LEAVE_ONE_OUT_H

#include "likelihood.h"

/* ct_gp_bytes_needed for a fit by this density. */
uint64_t ct__gp_loo_bytes(const ct_device *device, int64_t n, int64_t d, ct_dtype dtype);

#endif
