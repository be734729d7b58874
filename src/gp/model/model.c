/* A model as an object: its parts, its list of parameters. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

/* -- building -------------------------------------------------------------------------------------------- */

ct_gp *ct__gp_blank(ct_device *device, ct_kernel *kernel, int64_t n, int64_t d, ct_dtype dtype,
                    const ct_gp_options *options)
{
    ct_gp *gp = ct__gp_alloc(device, 1, sizeof *gp);
    if (!gp) {
        ct_kernel_free(kernel);
        return NULL;
    }
    *gp = (ct_gp){ .device = device,
                   .tape = ct_tape_new(device),
                   .kernel = kernel,
                   .options = *options,
                   .n = n,
                   .d = d,
                   .dtype = dtype,
                   .shift = ct__gp_alloc(device, 3 * (uint64_t)d, sizeof *gp->shift),
                   .transform.kind = options->transform,
                   .y_scale = 1,
                   .y_spread = 1,
                   .noise_at = -1,
                   .mean_at = -1 };
    gp->options.noise_variances = gp->options.noise_levels = NULL;
    gp->options.basis = NULL;
    gp->options.noise_column = NULL;
    ct__gp_take_columns(gp, ct__gp_copy_columns(device, options, d));
    if (!gp->tape) ct_device_fail(device, CT_ENOMEM, "no memory for a tape");
    if (!gp->tape || !gp->shift || !gp->column || ct__gp_set_noise_column(gp, options->noise_column)) {
        ct_gp_free(gp);
        return NULL;
    }
    gp->scale = gp->shift + d;
    gp->spread = gp->scale + d;
    return gp;
}

void ct_gp_free(ct_gp *gp)
{
    if (!gp) return;
    ct__gp_drop_rows(gp);
    free(gp->column);
    free(gp->noise_column);
    free(gp->level);
    free(gp->lens);
    free(gp->basis);
    free(gp->shift);
    free(gp->param);
    free(gp->s);
    free(gp->starts);
    ct_kernel_free(gp->kernel);
    ct_tape_free(gp->tape);
    free(gp);
}

ct_status ct__gp_list_params(ct_gp *gp)
{
    const ct_gp_options *o = &gp->options;
    int64_t noise = ct__noise_params(gp);
    int64_t means = o->mean == CT_MEAN_CONSTANT ? 1 : o->mean == CT_MEAN_LINEAR ? 1 + gp->d : 0;
    gp->n_kernel = ct_kernel_params(gp->kernel);
    gp->n_params = gp->n_kernel + noise + means;
    gp->noise_at = noise ? gp->n_kernel : -1;
    gp->mean_at = means ? gp->n_kernel + noise : -1;
    gp->param = ct__gp_alloc(gp->device, (uint64_t)gp->n_params, sizeof *gp->param);
    gp->s = ct__gp_alloc(gp->device, (uint64_t)gp->n_params, sizeof *gp->s);
    if (!gp->param || !gp->s) return CT_ENOMEM;
    for (int64_t i = 0; i < gp->n_kernel; i++) gp->param[i] = *ct_kernel_param(gp->kernel, i);
    const ct_param of_mean = {
        .name = "mean.constant", .lower = -INFINITY, .upper = INFINITY, .column = -1, .any_sign = true
    };
    for (int64_t i = gp->n_kernel; i < gp->n_params; i++) {
        ct_param *p = &gp->param[i];
        *p = ct__gp_is_noise(gp, i) ? ct__noise_param(gp, i - gp->noise_at) : of_mean;
        if (!ct__gp_is_noise(gp, i) && i > gp->mean_at)
            snprintf(p->name, sizeof p->name, "mean.slope[%lld]", (long long)(i - gp->mean_at - 1));
    }
    return CT_OK;
}

/* -- properties ------------------------------------------------------------------------------------------ */

int64_t ct_gp_points(const ct_gp *gp) { return gp ? ct__gp_rows(gp) : 0; }
bool ct_gp_has_factor(const ct_gp *gp) { return gp && gp->factor.ready; }
int64_t ct_gp_dims(const ct_gp *gp) { return gp ? ct__gp_cols(gp) : 0; }
ct_dtype ct_gp_dtype(const ct_gp *gp) { return gp ? gp->dtype : CT_F64; }
ct_device *ct_gp_device(const ct_gp *gp) { return gp ? gp->device : NULL; }
/* The noise of one output is the same in all its rows. */
ct_gp_options ct_gp_get_options(const ct_gp *gp)
{
    ct_gp_options o = gp ? gp->options : (ct_gp_options){ 0 };
    if (gp && gp->lens) o.noise = CT_NOISE_LEARNED;
    if (gp && gp->lens) o.noise_column = NULL;
    return o;
}

const ct_kernel *ct_gp_kernel(const ct_gp *gp) { return gp ? gp->kernel : NULL; }
ct_fit_report ct_gp_report(const ct_gp *gp) { return gp ? gp->report : (ct_fit_report){ 0 }; }

/* Whether the model has a factor now. */
static bool factorised(ct_gp *gp)
{
    if (!gp) return false;
    ct__gp_enter(gp);
    return !ct__gp_leave(gp, ct__gp_factorise(gp));
}

double ct_gp_nlml_value(ct_gp *gp) { return factorised(gp) ? gp->factor.nlml : NAN; }

double ct_gp_jitter(ct_gp *gp)
{
    return factorised(gp) ? gp->factor.jitter * gp->y_scale * gp->y_scale : NAN;
}
