/* How much each feature matters to a model. */
#ifndef CTGP_SENSITIVITY_H
#define CTGP_SENSITIVITY_H

#include "result.h"

/* Sobol indices of the mean, and how far the leave-one-out NLPD rises if the feature is held at its mean:
 * "sensitivity": [{"feature": "a", "first": 0.7, "total": 0.8, "loo_nlpd_without": 0.5}, ...] */
void write_sensitivity(writer *w, ct_gp *gp, uint64_t seed);

#endif
