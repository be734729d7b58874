/* Priors of parameters: their validity and their log density. */
#ifndef CT_GP_PRIOR_H
#define CT_GP_PRIOR_H

#include <cotangent/kernel.h>

#define CT__LOG_2PI 1.8378770664093454835606594728112

bool ct__prior_valid(const ct_prior *prior, bool positive);
/* log p(v); *slope = d log p / dv */
double ct__prior_log_density(const ct_prior *prior, double v, double *slope);

#endif
