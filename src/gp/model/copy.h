/* Copies of a model that share its data. */
#ifndef CT_GP_COPY_H
#define CT_GP_COPY_H

#include "model.h"

/* A model of the same data, kernel and parameters, without fit and factor. On another device, for another
 * thread (CPU only), it reads gp's data and must not outlive gp. NULL with the reason on the device. */
ct_gp *ct__gp_clone(const ct_gp *gp, ct_device *device);

#endif
