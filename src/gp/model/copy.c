#include "copy.h"

#include <string.h>

#include <cotangent/gp/update.h>

#include "gp/data/numbers.h"
#include "gp/data/trend.h"
#include "param_values.h"

/* Copies the ideas of gp to the blank clone; CT_ENOMEM. */
static ct_status fill(ct_gp *clone, const ct_gp *gp, ct_device *device)
{
    const size_t count = (size_t)gp->params.count;
    memcpy(clone->rows.shift, gp->rows.shift, 3 * (size_t)gp->rows.d * sizeof *gp->rows.shift);
    clone->rows.X = ct__tensor_on(device, gp->rows.X);
    clone->target = gp->target;
    clone->target.y = ct__tensor_on(device, gp->target.y);
    clone->likelihood = gp->likelihood;
    clone->likelihood.outputs = ct__tensor_on(device, gp->likelihood.outputs);
    if (!clone->rows.X || !clone->target.y || !clone->likelihood.outputs != !gp->likelihood.outputs ||
        ct__noise_copy(&clone->noise, device, &gp->noise) || ct__gp_list_params(clone))
        return CT_ENOMEM;
    if (gp->one_output && !(clone->one_output = ct__one_output_new(clone->noise.given, gp->one_output->code)))
        return CT_ENOMEM;
    memcpy(clone->params.param, gp->params.param, count * sizeof *gp->params.param);
    memcpy(clone->params.s, gp->params.s, count * sizeof *gp->params.s);
    if (!gp->mean.basis) return CT_OK;
    const ct_status s = ct__trend_read(&clone->mean, device, gp->mean.basis, NULL, gp->rows.d);
    return s ? s : ct__trend_make(&clone->mean, &clone->rows, clone->target.y, false);
}

ct_gp *ct__gp_clone(const ct_gp *gp, ct_device *device)
{
    if (ct_device_status(device)) return NULL;
    ct_kernel *kernel = ct_kernel_copy(gp->kernel);
    if (ct_kernel_status(kernel)) {
        ct_device_fail(device, CT_ENOMEM, "out of memory: a copy of the kernel");
        ct_kernel_free(kernel);
        return NULL;
    }
    ct_gp_options options = ct_gp_get_options(gp);
    options.noise = gp->noise.kind;
    options.noise_column = gp->noise.column;
    ct_gp *clone = ct__gp_blank(device, kernel, gp->rows.n, gp->rows.d, gp->rows.dtype, &options);
    if (!clone || !fill(clone, gp, device)) return clone;
    ct_gp_free(clone);
    return NULL;
}

ct_gp *ct_gp_copy(const ct_gp *gp)
{
    ct_gp *copy = gp ? ct__gp_clone(gp, gp->device) : NULL;
    if (!copy) return NULL;
    const size_t starts = gp->starts ? (size_t)gp->report.starts : 0;
    if (starts) copy->starts = ct__gp_alloc(gp->device, starts, sizeof *copy->starts);
    if (starts && !copy->starts) {
        ct_gp_free(copy);
        return NULL;
    }
    if (starts) memcpy(copy->starts, gp->starts, starts * sizeof *gp->starts);
    copy->report = gp->report;
    copy->report.start = copy->starts;
    copy->factor = ct__kept_copy(&gp->factor);
    return copy;
}
