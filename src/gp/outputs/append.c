/* Appends rows to several outputs: to copies of the models, which replace the models if all succeed. */
#include <math.h>
#include <stdlib.h>

#include "joint.h"
#include "whole.h"

static ct_status append(ct_outputs *o, const ct_tensor *X, const ct__answers *a, const ct_tensor *noise)
{
    int64_t count;
    ct_gp *fresh[CT_OUTPUTS_MOST] = { NULL }, **model = ct__outputs_fitted(o, &count);
    ct_status s = CT_OK;
    for (int64_t j = 0; j < count && !s; j++) {
        ct_tensor *rows[3];
        s = o->kind == CT_OUTPUTS_COREGIONALISED ? ct__joint_rows(o, a, X, model[j]->rows.dtype, rows)
                                                 : ct__answers_rows(o->device, a, j, X, noise, rows);
        if (!s && !(fresh[j] = ct_gp_copy(model[j]))) s = ct_last_status(o->device);
        if (!s) s = ct_gp_append(fresh[j], rows[0], rows[1], rows[2]);
        for (int k = 0; k < 3; k++) ct_release(rows[k]);
    }
    if (!s && o->whole) s = ct__whole_complete(o, fresh[0], a);
    if (!s && o->whole) ct__outputs_changed(o);
    for (int64_t j = 0; j < count; j++) {
        ct_gp_free(s ? fresh[j] : model[j]);
        if (!s) model[j] = fresh[j];
    }
    return s;
}

ct_status ct_outputs_append(ct_outputs *o, const ct_tensor *X, const ct_tensor *Y, const ct_tensor *noise)
{
    ct__answers a;
    if (!o) return CT_EINVAL;
    if (!X || !Y) return ct_device_fail(o->device, CT_EINVAL, "ct_outputs_append: X or Y is NULL");
    if (ct_tensor_ndim(X) != 2 || ct_tensor_dim(X, 1) != o->d)
        return ct_device_fail(o->device, CT_ESHAPE, "ct_outputs_append: X must be (k, %lld)",
                              (long long)o->d);
    if (noise && ct_tensor_count(noise) != ct_tensor_dim(X, 0))
        return ct_device_fail(o->device, CT_ESHAPE, "ct_outputs_append: noise must have %lld elements",
                              (long long)ct_tensor_dim(X, 0));
    ct_status s = ct__answers_read(o->device, Y, ct_tensor_dim(X, 0), o->p, o->kind != CT_OUTPUTS_SHARED,
                                   "ct_outputs_append: Y", &a);
    if (!s && o->whole) ct__answers_scale(o, &a);
    if (!s && noise && o->kind == CT_OUTPUTS_COREGIONALISED)
        s = ct_device_fail(o->device, CT_EINVAL, "ct_outputs_append: coregionalised outputs take no noise");
    if (!s && a.n) s = append(o, X, &a, noise);
    free(a.y);
    return s;
}
