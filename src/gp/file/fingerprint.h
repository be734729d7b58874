/* A number that represents what a fit of a model depends on. */
#ifndef CT_GP_FINGERPRINT_H
#define CT_GP_FINGERPRINT_H

#include <cotangent/gp/model.h>

/* CRC-64 of the model's data, kernel and parameters, with their starts, bounds and priors. */
ct_status ct__gp_fingerprint(ct_gp *gp, uint64_t *print);
/* Fails unless all processes of the communicator have the same model. Collective. */
ct_status ct__gp_compare(ct_gp *gp);

#endif
