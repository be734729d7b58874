/* Checking and setting a parameter; the log density of its prior. */
#ifndef CT_GP_PRIOR_H
#define CT_GP_PRIOR_H

#include <cotangent/gp/kernel.h>

#include <math.h>

#define CT__LOG_2PI 1.8378770664093454835606594728112

static inline bool ct__positive(double x) { return x > 0 && isfinite(x); }
/* A parameter without bounds, prior, unit and name. */
static inline ct_param ct__param_default(double value, bool any_sign)
{
    return (ct_param){ .value = value,
                       .lower = any_sign ? -INFINITY : 0,
                       .upper = INFINITY,
                       .column = -1,
                       .any_sign = any_sign };
}
/* Whether x is finite and, unless p has any sign, positive. */
static inline bool ct__param_valid(const ct_param *p, double x)
{
    return isfinite(x) && (x > 0 || p->any_sign);
}

#define CT__PARAM_FINITE   "a parameter is finite"
#define CT__PARAM_POSITIVE "a parameter is positive and finite"

/* Copies to p what a caller may set: value, bounds, fixed, prior, and start_given, which a new value also
 * sets. */
void ct__param_set(ct_param *p, const ct_param *from);
/* Why p cannot have the value, the bounds and the prior of `to`: static; NULL: it can. The message has all of
 * them. */
const char *ct__param_fault(const ct_param *p, const ct_param *to);
#define CT__PARAM_MESSAGE(p, to, fault)                                                           \
    "%s = %g in bounds [%g, %g] with prior %d (%g, %g): %s", (p)->name, (to)->value, (to)->lower, \
        (to)->upper, (int)(to)->prior.kind, (to)->prior.a, (to)->prior.b, fault
/* log p(v); *slope = d log p / dv */
double ct__prior_log_density(const ct_prior *prior, double v, double *slope);

#endif
