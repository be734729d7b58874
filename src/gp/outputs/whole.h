/* The one model of outputs that share their covariance or are coregionalised. */
#ifndef CT_GP_OUTPUTS_WHOLE_H
#define CT_GP_OUTPUTS_WHOLE_H

#include "answers.h"

/* Gives `whole`, which has the rows of o->whole and those of the standardised answers, its likelihood, and
 * counts the answers' units. It may be o->whole itself, when that is new. */
ct_status ct__whole_complete(const ct_outputs *o, ct_gp *whole, const ct__answers *a);

#endif
