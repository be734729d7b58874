/* Copies of a model that share its data. */
#include <string.h>

#include "gp/data/trend.h"

/* t on that device: t itself, or a view of its elements; NULL for NULL. */
static ct_tensor *shared(ct_device *device, ct_tensor *t)
{
    if (!t || ct_tensor_device(t) == device) return ct_retain(t);
    return ct_wrap(device, ct_tensor_dtype(t), ct_tensor_shape(t), ct_tensor_data(t), NULL, NULL);
}

ct_gp *ct__gp_twin(const ct_gp *gp, ct_device *device)
{
    if (ct_device_status(device)) return NULL;
    ct_kernel *kernel = ct_kernel_copy(gp->kernel);
    if (ct_kernel_status(kernel)) {
        ct_device_fail(device, CT_ENOMEM, "out of memory: a copy of the kernel");
        ct_kernel_free(kernel);
        return NULL;
    }
    ct_gp *twin = ct__gp_blank(device, kernel, gp->n, gp->d, gp->dtype, &gp->options);
    if (!twin) return NULL;
    memcpy(twin->shift, gp->shift, 3 * (size_t)gp->d * sizeof *gp->shift);
    twin->y_shift = gp->y_shift;
    twin->y_scale = gp->y_scale;
    twin->y_spread = gp->y_spread;
    twin->transform = gp->transform;
    twin->log_slopes = gp->log_slopes;
    twin->X = shared(device, gp->X);
    twin->y = shared(device, gp->y);
    twin->given = shared(device, gp->given);
    twin->given_mean = gp->given_mean;
    twin->shared = shared(device, gp->shared);
    twin->log_units = gp->log_units;
    twin->in_grid = gp->in_grid;
    twin->pivot = gp->pivot;
    twin->n_levels = gp->n_levels;
    if (gp->level && (twin->level = ct__gp_alloc(device, (uint64_t)gp->n_levels, sizeof *gp->level)))
        memcpy(twin->level, gp->level, (size_t)gp->n_levels * sizeof *gp->level);
    if ((gp->lens && ct__lens_set(twin, gp->lens->code)) || !twin->X || !twin->y ||
        !twin->given != !gp->given || !twin->shared != !gp->shared || !twin->level != !gp->level ||
        ct__gp_list_params(twin) ||
        (gp->basis && (ct__trend_read(twin, gp->basis, NULL) || ct__trend_make(twin, false)))) {
        ct_gp_free(twin);
        return NULL;
    }
    memcpy(twin->param, gp->param, (size_t)gp->n_params * sizeof *gp->param);
    memcpy(twin->s, gp->s, (size_t)gp->n_params * sizeof *gp->s);
    return twin;
}

ct_gp *ct_gp_copy(const ct_gp *gp)
{
    ct_gp *copy = gp ? ct__gp_twin(gp, gp->device) : NULL;
    if (!copy) return NULL;
    size_t starts = gp->starts ? (size_t)gp->report.starts : 0;
    ct_status s = CT_OK;
    if (starts && !(copy->starts = ct__gp_alloc(gp->device, starts, sizeof *copy->starts))) s = CT_ENOMEM;
    if (s) {
        ct_gp_free(copy);
        return NULL;
    }
    if (starts) memcpy(copy->starts, gp->starts, starts * sizeof *gp->starts);
    copy->report = gp->report;
    copy->report.start = copy->starts;
    copy->factor = gp->factor;
    ct_retain(copy->factor.L);
    ct_retain(copy->factor.alpha);
    ct_retain(copy->factor.trend);
    return copy;
}
