/* The factorisation of a model. */
#ifndef CT_GP_FACTORISE_H
#define CT_GP_FACTORISE_H

#include "gp/model/model.h"

/* Computes L and alpha at the present values, unless the model has them. */
ct_status ct__gp_factorise(ct_gp *gp);
/* Computes alpha and the likelihood for an existing L and its jitter. CT_ENUMERIC if they are nothing but
 * rounding. */
ct_status ct__gp_complete(ct_gp *gp);

#endif
