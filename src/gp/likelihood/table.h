/* The likelihoods, and which of them a model has. */
#ifndef CT_GP_LIKELIHOOD_TABLE_H
#define CT_GP_LIKELIHOOD_TABLE_H

#include "gp/model/model.h"
#include "likelihood.h"

/* The features that a model of these options asks for, and those of a fit. */
unsigned ct__features_of(const ct_gp_options *o, ct_dtype dtype);
unsigned ct__features_of_fit(const ct_fit_options *o);
/* The row for these features; gp is NULL if the model is not made yet. If two of them do not go together, they
 * are refused here: NULL with the reason on the device, in a message that begins with `who`. */
const ct__likelihood *ct__likelihood_for(ct_device *device, unsigned features, const ct_gp *gp,
                                         const char *who);
/* Gives gp its row, by its options and these further features, which go together. Call it again when its data
 * have changed. */
void ct__likelihood_take(ct_gp *gp, unsigned more);

#endif
