/* The public access to a model's parameters. */
#include <math.h>
#include <string.h>

#include "model.h"

int64_t ct_gp_params(const ct_gp *gp) { return gp ? gp->n_params : 0; }

const ct_param *ct_gp_param(const ct_gp *gp, int64_t i)
{
    return gp && i >= 0 && i < gp->n_params ? &gp->param[i] : NULL;
}

int64_t ct_gp_find(const ct_gp *gp, const char *name)
{
    for (int64_t i = 0; gp && name && i < gp->n_params; i++)
        if (!strcmp(gp->param[i].name, name)) return i;
    return -1;
}

ct_status ct__gp_check_param(ct_gp *gp, int64_t i, const ct_param *p)
{
    const char *name = gp->param[i].name;
    bool positive = ct__gp_positive(gp, i);
    if (!isfinite(p->value) || (positive && !(p->value > 0)))
        return ct_device_fail(gp->device, CT_EINVAL, "%s = %g: it must be %s", name, p->value,
                              positive ? "positive and finite" : "finite");
    if (!(p->lower <= p->value && p->value <= p->upper))
        return ct_device_fail(gp->device, CT_EINVAL, "%s = %g lies outside its bounds [%g, %g]", name,
                              p->value, p->lower, p->upper);
    if (!ct__prior_valid(&p->prior, positive))
        return ct_device_fail(gp->device, CT_EINVAL, "%s: no prior of kind %d has a = %g, b = %g here", name,
                              (int)p->prior.kind, p->prior.a, p->prior.b);
    return CT_OK;
}

ct_status ct__gp_pass_on(ct_gp *gp, int64_t i)
{
    ct_status s = i < gp->n_kernel ? ct_kernel_set(gp->kernel, i, &gp->param[i]) : CT_OK;
    if (s) return ct_device_fail(gp->device, s, "%s", ct_kernel_message(gp->kernel));
    gp->s[i] = (gp->param[i].value - ct__gp_origin(gp, i)) / ct__gp_unit(gp, i);
    return CT_OK;
}

ct_status ct_gp_set_param(ct_gp *gp, int64_t i, const ct_param *param)
{
    if (!gp) return CT_EINVAL;
    if (!param || i < 0 || i >= gp->n_params)
        return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_set_param: parameter %lld of %lld", (long long)i,
                              (long long)gp->n_params);
    ct_status s = ct__gp_check_param(gp, i, param);
    if (s) return s;
    ct_param *p = &gp->param[i], before = *p;
    ct__param_set(p, param);
    if (ct__gp_positive(gp, i)) p->lower = fmax(p->lower, 0);
    s = ct__gp_pass_on(gp, i);
    if (s)
        *p = before;
    else if (p->value != before.value)
        ct__gp_drop_factor(gp);
    return s;
}

ct_status ct__gp_set_values(ct_gp *gp, const double *v)
{
    ct__gp_drop_factor(gp);
    for (int64_t i = 0; i < gp->n_params; i++) {
        ct_param *p = &gp->param[i];
        p->value = fmin(fmax(v[i], p->lower), p->upper); /* rounding may exceed a bound */
        ct_status s = ct__gp_pass_on(gp, i);
        if (s) return s;
    }
    return CT_OK;
}

/* Sets parameter i to a value, clipped to its bounds. */
static ct_status move(ct_gp *gp, int64_t i, double value)
{
    ct_param p = gp->param[i];
    if (p.fixed) return CT_OK;
    p.value = fmin(fmax(value, p.lower), p.upper);
    return ct_gp_set_param(gp, i, &p);
}

ct_status ct__gp_begin_from(ct_gp *gp, const ct_gp *from)
{
    double first = 0;
    for (int64_t i = from->n_kernel; i-- > 0;)
        if (from->param[i].unit == CT_UNIT_VARIANCE) first = from->param[i].value;
    ct_status s = CT_OK;
    for (int64_t i = 0; i < gp->n_params && !s; i++) {
        int64_t k = ct_gp_find(from, gp->param[i].name);
        if (k >= 0)
            s = move(gp, i, from->param[k].value);
        else if (first > 0 && i < gp->n_kernel && gp->param[i].unit == CT_UNIT_VARIANCE)
            s = move(gp, i, first / 10);
    }
    return s;
}
