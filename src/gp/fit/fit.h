/* Fits with a checkpoint that is open already. */
#ifndef CT_GP_FIT_H
#define CT_GP_FIT_H

#include "checkpoint.h"

/* ct_gp_fit_many with an open checkpoint; NULL: that of options->checkpoint, if any. */
ct_status ct__fit_many(ct_gp *const *models, int64_t count, const ct_fit_options *options, ct_status *status,
                       ct__checkpoint *checkpoint);

#endif
