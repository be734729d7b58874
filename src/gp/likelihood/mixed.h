/* The likelihood in mixed precision. */
#ifndef CT_GP_MIXED_H
#define CT_GP_MIXED_H

#include "likelihood.h"

/* The most bytes that ct_gp_nlml_mixed and its gradient hold at once; UINT64_MAX if that overflows. */
uint64_t ct__gp_mixed_bytes(const ct_device *device, int64_t n, int64_t d);

#endif
