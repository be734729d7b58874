#include "param_values.h"

#include <math.h>
#include <string.h>

#include "gp/data/numbers.h"
#include "gp/kernel/prior.h"
#include "param_units.h"

/* -- the list -------------------------------------------------------------------------------------------- */

ct_status ct__gp_list_params(ct_gp *gp)
{
    const int64_t kernel = ct_kernel_params(gp->kernel), noise = ct__noise_params(&gp->noise, gp->rows.d),
                  mean = ct__mean_params(&gp->mean, gp->rows.d), count = kernel + noise + mean;
    ct__params *p = &gp->params;
    *p = (ct__params){ .count = count,
                       .n_kernel = kernel,
                       .n_noise = noise,
                       .noise_at = noise ? kernel : -1,
                       .mean_at = mean ? kernel + noise : -1,
                       .param = ct__gp_alloc(gp->device, (uint64_t)count, sizeof *p->param),
                       .s = ct__gp_alloc(gp->device, (uint64_t)count, sizeof *p->s) };
    for (int64_t i = 0; i < count && p->param; i++)
        p->param[i] = i < kernel           ? *ct_kernel_param(gp->kernel, i)
                      : i < kernel + noise ? ct__noise_param(&gp->noise, i - kernel)
                                           : ct__mean_param(i - kernel - noise);
    return p->param && p->s ? CT_OK : CT_ENOMEM;
}

/* -- values ---------------------------------------------------------------------------------------------- */

int64_t ct_gp_params(const ct_gp *gp) { return gp ? gp->params.count : 0; }

const ct_param *ct_gp_param(const ct_gp *gp, int64_t i)
{
    return gp && i >= 0 && i < gp->params.count ? &gp->params.param[i] : NULL;
}

int64_t ct_gp_find(const ct_gp *gp, const char *name)
{
    for (int64_t i = 0; gp && name && i < gp->params.count; i++)
        if (!strcmp(gp->params.param[i].name, name)) return i;
    return -1;
}

ct_status ct__gp_check_param(ct_gp *gp, int64_t i, const ct_param *to)
{
    const ct_param *p = &gp->params.param[i];
    const char *fault = ct__param_fault(p, to);
    return fault ? ct_device_fail(gp->device, CT_EINVAL, CT__PARAM_MESSAGE(p, to, fault)) : CT_OK;
}

ct_status ct__gp_pass_on(ct_gp *gp, int64_t i)
{
    ct_status s = i < gp->params.n_kernel ? ct_kernel_set(gp->kernel, i, &gp->params.param[i]) : CT_OK;
    if (s) return ct_device_fail(gp->device, s, "%s", ct_kernel_message(gp->kernel));
    gp->params.s[i] = (gp->params.param[i].value - ct__gp_origin(gp, i)) / ct__gp_unit(gp, i);
    return CT_OK;
}

ct_status ct_gp_set_param(ct_gp *gp, int64_t i, const ct_param *param)
{
    if (!gp) return CT_EINVAL;
    if (!param || i < 0 || i >= gp->params.count)
        return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_set_param: parameter %lld of %lld", (long long)i,
                              (long long)gp->params.count);
    ct_param *p = &gp->params.param[i], to = *param;
    if (!p->any_sign && to.lower < 0) to.lower = 0;
    ct_status s = ct__gp_check_param(gp, i, &to);
    if (s) return s;
    if (to.value != p->value) ct__kept_drop(&gp->factor);
    ct__param_set(p, &to);
    return ct__gp_pass_on(gp, i);
}

ct_status ct__gp_set_values(ct_gp *gp, const double *v)
{
    ct__kept_drop(&gp->factor);
    for (int64_t i = 0; i < gp->params.count; i++) {
        ct_param *p = &gp->params.param[i];
        p->value = fmin(fmax(v[i], p->lower), p->upper); /* rounding may exceed a bound */
        ct_status s = ct__gp_pass_on(gp, i);
        if (s) return s;
    }
    return CT_OK;
}

/* Sets parameter i to a value, clipped to its bounds. */
static ct_status move(ct_gp *gp, int64_t i, double value)
{
    ct_param p = gp->params.param[i];
    if (p.fixed) return CT_OK;
    p.value = fmin(fmax(value, p.lower), p.upper);
    return ct_gp_set_param(gp, i, &p);
}

int64_t ct__gp_free_params(const ct_gp *gp)
{
    int64_t count = 0;
    for (int64_t i = 0; i < gp->params.count; i++) count += !gp->params.param[i].fixed;
    return count;
}

ct_status ct__gp_begin_from(ct_gp *gp, const ct_gp *from)
{
    double first = 0;
    for (int64_t i = from->params.n_kernel; i-- > 0;)
        if (from->params.param[i].unit == CT_UNIT_VARIANCE) first = from->params.param[i].value;
    ct_status s = CT_OK;
    for (int64_t i = 0; i < gp->params.count && !s; i++) {
        int64_t k = ct_gp_find(from, gp->params.param[i].name);
        if (k >= 0)
            s = move(gp, i, from->params.param[k].value);
        else if (first > 0 && i < gp->params.n_kernel && gp->params.param[i].unit == CT_UNIT_VARIANCE)
            s = move(gp, i, first / 10);
    }
    return s;
}
