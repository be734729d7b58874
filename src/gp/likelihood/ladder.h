/* The jitter ladder. */
#ifndef CT_GP_LADDER_H
#define CT_GP_LADDER_H

#include "gp/model/graph.h"

/* One rung: computes with the parameters s and this jitter. CT_ENUMERIC if there is no factor; then the next
 * rung is tried. */
typedef ct_status ct__rung(ct_gp *gp, const double *s, double jitter, void *context);

/* Climbs until `attempt` is not CT_ENUMERIC: no jitter first, then 1e-10 to 1e-4 of the mean diagonal of k(X,
 * X). *jitter: that of the last rung. A likelihood with a remedy of its own has only the first rung. */
ct_status ct__ladder(ct_gp *gp, const double *s, bool one_rung, ct__rung *attempt, void *context,
                     double *jitter);

#endif
