/* A model as an object: its parts and its properties. */
#include "model.h"

#include <stdlib.h>

#include <cotangent/gp/file.h>

#include "gp/data/columns.h"
#include "gp/data/numbers.h"
#include "gp/data/trend.h"

ct_gp *ct__gp_blank(ct_device *device, ct_kernel *kernel, int64_t n, int64_t d, ct_dtype dtype,
                    const ct_gp_options *options)
{
    ct_gp *gp = ct__gp_alloc(device, 1, sizeof *gp);
    const ct_column *of_noise = options->noise_column;
    if (!gp) {
        ct_kernel_free(kernel);
        return NULL;
    }
    *gp = (ct_gp){ .device = device,
                   .tape = ct_tape_new(device),
                   .kernel = kernel,
                   .options = *options,
                   .rows = { .n = n,
                             .d = d,
                             .dtype = dtype,
                             .shift = ct__gp_alloc(device, 3 * (uint64_t)d, sizeof *gp->rows.shift),
                             .column = ct__columns_copy(device, options->inputs, d, options->output) },
                   .target = { .transform.kind = options->transform, .scale = 1, .spread = 1 },
                   .noise = { .kind = options->noise,
                              .column = of_noise ? ct__columns_copy(device, NULL, 0, of_noise) : NULL },
                   .mean.kind = options->mean,
                   .params = { .noise_at = -1, .mean_at = -1 } };
    gp->options.noise_variances = gp->options.noise_levels = NULL;
    gp->options.basis = NULL;
    if (!gp->tape) ct_device_fail(device, CT_ENOMEM, "no memory for a tape");
    if (!gp->tape || !gp->rows.shift || !gp->rows.column || !gp->noise.column != !of_noise) {
        ct_gp_free(gp);
        return NULL;
    }
    gp->rows.scale = gp->rows.shift + d;
    gp->rows.spread = gp->rows.scale + d;
    return gp;
}

void ct__gp_drop_rows(ct_gp *gp)
{
    ct__kept_drop(&gp->factor);
    ct_release(gp->rows.X);
    ct_release(gp->target.y);
    ct_release(gp->noise.given);
    ct_release(gp->likelihood.outputs);
    ct__trend_drop(&gp->mean);
}

void ct_gp_free(ct_gp *gp)
{
    if (!gp) return;
    ct__gp_drop_rows(gp);
    free(gp->noise.level);
    ct__columns_free(gp->noise.column, 1);
    ct__columns_free(gp->rows.column, gp->rows.d + 1);
    free(gp->rows.shift);
    free(gp->one_output);
    free(gp->mean.basis);
    free(gp->params.param);
    free(gp->params.s);
    free(gp->starts);
    ct_kernel_free(gp->kernel);
    ct_tape_free(gp->tape);
    free(gp);
}

/* -- the factor and the tape ----------------------------------------------------------------------------- */

ct__grid ct__gp_grid(const ct_gp *gp) { return ct__grid_of(gp->options.comm, gp->rows.n); }

ct__factor ct__gp_factor_of(const ct_gp *gp)
{
    const ct__grid grid = ct__gp_grid(gp);
    return ct__factor_of(&grid, ct_view_of(gp->factor.L), gp->rows.n);
}

ct_status ct__gp_tape_failed(ct_gp *gp, const char *what)
{
    ct_status status = ct_tape_status(gp->tape);
    if (!status)
        ct_device_fail(gp->device, status = CT_ENUMERIC,
                       "%s is not finite: look for a y far from all others, or bring the parameters nearer "
                       "to the data's scale",
                       what);
    else if (status == CT_ENUMERIC)
        ct_device_fail(
            gp->device, status,
            "%s is not positive definite (%.200s): learn a noise, raise it, or drop duplicate rows", what,
            ct_tape_reason(gp->tape));
    else
        ct_device_fail(gp->device, status, "%s: %.400s", what, ct_tape_reason(gp->tape));
    ct_tape_reset(gp->tape);
    return status;
}

/* -- properties ------------------------------------------------------------------------------------------ */

int64_t ct_gp_points(const ct_gp *gp) { return gp ? ct__gp_rows(gp) : 0; }
bool ct_gp_has_factor(const ct_gp *gp) { return gp && gp->factor.ready; }
int64_t ct_gp_dims(const ct_gp *gp) { return gp ? ct__gp_cols(gp) : 0; }
ct_dtype ct_gp_dtype(const ct_gp *gp) { return gp ? gp->rows.dtype : CT_F64; }
ct_device *ct_gp_device(const ct_gp *gp) { return gp ? gp->device : NULL; }
ct_transform ct_gp_transform(const ct_gp *gp) { return gp ? gp->target.transform : (ct_transform){ 0 }; }
const ct_kernel *ct_gp_kernel(const ct_gp *gp) { return gp ? gp->kernel : NULL; }
ct_fit_report ct_gp_report(const ct_gp *gp) { return gp ? gp->report : (ct_fit_report){ 0 }; }

const ct_column *ct_gp_input(const ct_gp *gp, int64_t column)
{
    return gp && column >= 0 && column < ct__gp_cols(gp) ? &gp->rows.column[column] : NULL;
}

const ct_column *ct_gp_output(const ct_gp *gp) { return gp ? &gp->rows.column[gp->rows.d] : NULL; }

/* The noise of one output is the same in all its rows. */
ct_gp_options ct_gp_get_options(const ct_gp *gp)
{
    ct_gp_options o = gp ? gp->options : (ct_gp_options){ 0 };
    if (!gp) return o;
    o.inputs = gp->rows.column;
    o.output = gp->rows.column + gp->rows.d;
    o.noise_column = gp->one_output ? NULL : gp->noise.column;
    if (gp->one_output) o.noise = CT_NOISE_LEARNED;
    return o;
}
