/* The objective of a fit. */
#ifndef CT_GP_OBJECTIVE_H
#define CT_GP_OBJECTIVE_H

#include "gp/likelihood/likelihood.h"
#include "gp/model/model.h"

/* An evaluation's numbers: the value, the jitter, standardised, and the value's error (likelihood_of.h); then
 * the gradient [n] in z. */
enum { CT__VALUE, CT__JITTER, CT__ERROR, CT__GRADIENT };

/* By this likelihood, minus Σ log prior, of y as given, at z: the numbers, with `slopes` including the
 * gradient. CT_ENUMERIC if no jitter of the ladder helps, or if the likelihood takes none. `draw`: the stream
 * of random signs. */
ct_status ct__gp_evaluate(ct_gp *gp, const ct__likelihood *by, uint64_t draw, const double *z, bool slopes,
                          double *number);

#endif
