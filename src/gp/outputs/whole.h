/* The one model of outputs that share their covariance or are coregionalised. */
#ifndef CT_GP_OUTPUTS_WHOLE_H
#define CT_GP_OUTPUTS_WHOLE_H

#include "answers.h"

/* Gives `whole`, the whole of o or one that will replace it, its likelihood and the units of its values.
 * Shared outputs become those of o->whole, if it has any, with the standardised answers below; a = NULL: they
 * are set. CT_EINVAL, without a message, if an output has no value. */
ct_status ct__whole_complete(const ct_outputs *o, ct_gp *whole, const ct__answers *a);

#endif
