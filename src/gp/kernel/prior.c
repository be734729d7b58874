/* Checking and setting a parameter; log densities of priors and their slopes. */
#include "prior.h"

void ct__param_set(ct_param *p, const ct_param *from)
{
    bool moved = p->value != from->value;
    p->value = from->value;
    p->lower = from->lower;
    p->upper = from->upper;
    p->fixed = from->fixed;
    p->prior = from->prior;
    p->start_given = from->start_given || moved;
}

static bool prior_valid(const ct_prior *p, bool positive)
{
    switch (p->kind) {
    case CT_PRIOR_NONE: return true;
    case CT_PRIOR_NORMAL: return isfinite(p->a) && ct__positive(p->b);
    case CT_PRIOR_LOG_NORMAL: return positive && isfinite(p->a) && ct__positive(p->b);
    case CT_PRIOR_GAMMA:
    case CT_PRIOR_SOFT_LOWER:
    case CT_PRIOR_CAUCHY_LOWER: return positive && ct__positive(p->a) && ct__positive(p->b);
    case CT_PRIOR_HALF_CAUCHY: return positive && ct__positive(p->a);
    }
    return false;
}

const char *ct__param_fault(const ct_param *p, const ct_param *to)
{
    if (!ct__param_valid(p, to->value)) return p->any_sign ? CT__PARAM_FINITE : CT__PARAM_POSITIVE;
    if (!(to->lower <= to->value && to->value <= to->upper)) return "the bounds must hold it";
    if (!p->any_sign && to->lower < 0) return "the lower bound of a positive parameter is at least 0";
    return prior_valid(&to->prior, !p->any_sign) ? NULL : "it cannot have such a prior";
}

double ct__prior_log_density(const ct_prior *p, double v, double *slope)
{
    double a = p->a, b = p->b, t;
    int sign;
    switch (p->kind) {
    case CT_PRIOR_NORMAL: /* exp(-t²/2) / (b √2π), t = (v - a) / b */
        t = (v - a) / b;
        *slope = -t / b;
        return -0.5 * t * t - log(b) - 0.5 * CT__LOG_2PI;
    case CT_PRIOR_LOG_NORMAL: /* exp(-t²/2) / (v b √2π), t = (log v - a) / b */
        t = (log(v) - a) / b;
        *slope = -(t / b + 1) / v;
        return -0.5 * t * t - log(v) - log(b) - 0.5 * CT__LOG_2PI;
    case CT_PRIOR_GAMMA: /* bᵃ vᵃ⁻¹ exp(-b v) / Γ(a) */
        *slope = (a - 1) / v - b;
        return a * log(b) - lgamma_r(a, &sign) + (a - 1) * log(v) - b * v;
    case CT_PRIOR_HALF_CAUCHY: /* 2 / (π a (1 + v²/a²)) */
        t = v / a;
        *slope = -2 * t / (a * (1 + t * t));
        return log(2 / (CT__PI * a)) - log1p(t * t);
    case CT_PRIOR_SOFT_LOWER: /* exp(-t²/2), t = min(log(v / a) / b, 0) */
        t = fmin(log(v / a) / b, 0);
        *slope = -t / (b * v);
        return -0.5 * t * t;
    case CT_PRIOR_CAUCHY_LOWER: /* 1 / (1 + t²), the same t */
        t = fmin(log(v / a) / b, 0);
        *slope = -2 * t / (b * v * (1 + t * t));
        return -log1p(t * t);
    case CT_PRIOR_NONE: break;
    }
    *slope = 0;
    return 0;
}
