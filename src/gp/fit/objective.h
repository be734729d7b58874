/* The objective of a fit. */
#ifndef CT_GP_OBJECTIVE_H
#define CT_GP_OBJECTIVE_H

#include "gp/likelihood/likelihood.h"
#include "gp/model/model.h"

/* By this likelihood, minus Σ log prior, of y as given, at z; its gradient (NULL: not wanted) in z; *jitter
 * standardised. CT_ENUMERIC if no jitter of the ladder helps, or if the likelihood takes none. `draw`: the
 * stream of random signs. Sets gp->likelihood.error. */
ct_status ct__gp_evaluate(ct_gp *gp, const ct__likelihood *by, uint64_t draw, const double *z, double *value,
                          double *gradient, double *jitter);

#endif
