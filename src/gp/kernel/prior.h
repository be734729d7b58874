/* Setting a parameter; the log density of its prior. */
#ifndef CT_GP_PRIOR_H
#define CT_GP_PRIOR_H

#include <cotangent/gp/kernel.h>

#include <math.h>

#define CT__LOG_2PI 1.8378770664093454835606594728112

static inline bool ct__positive(double x) { return x > 0 && isfinite(x); }
/* Whether x is finite and, unless p has any sign, positive. */
static inline bool ct__param_valid(const ct_param *p, double x)
{
    return isfinite(x) && (x > 0 || p->any_sign);
}

/* Copies to p what a caller may set: value, bounds, fixed, prior, and start_given, which a new value also
 * sets. */
void ct__param_set(ct_param *p, const ct_param *from);
bool ct__prior_valid(const ct_prior *prior, bool positive);
/* log p(v); *slope = d log p / dv */
double ct__prior_log_density(const ct_prior *prior, double v, double *slope);

#endif
