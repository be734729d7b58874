/* Appends rows to several outputs: to copies of the models, which replace the models if all succeed. */
#include <math.h>
#include <stdlib.h>

#include "answers.h"
#include "gp/data/numbers.h"
#include "gp/likelihood/table.h"
#include "joint.h"

static ct_status append_each(ct_outputs *o, const ct_tensor *X, const ct__answers *a, const ct_tensor *noise)
{
    ct_gp **fresh = ct__gp_alloc(o->device, (uint64_t)o->p, sizeof *fresh);
    ct_status s = fresh ? CT_OK : CT_ENOMEM;
    for (int64_t j = 0; j < o->p && !s; j++) {
        ct_tensor *part[3];
        s = ct__answers_take(o->device, a, j, X, noise, part);
        if (!s && !(fresh[j] = ct_gp_copy(o->model[j]))) s = ct_last_status(o->device);
        if (!s) s = ct_gp_append(fresh[j], part[0], part[1], part[2]);
        for (int k = 0; k < 3; k++) ct_release(part[k]);
    }
    for (int64_t j = 0; j < o->p && fresh; j++) {
        ct_gp_free(s ? fresh[j] : o->model[j]);
        if (!s) o->model[j] = fresh[j];
    }
    free(fresh);
    return s;
}

/* The whole's outputs with the new ones below: (n + k, p). */
static ct_tensor *extended(const ct_outputs *o, const ct__answers *a)
{
    const int64_t old = o->whole->rows.n * o->p, more = a->n * o->p;
    double *all = ct__gp_alloc(o->device, (uint64_t)(old + more), sizeof *all);
    ct_tensor *t = NULL;
    if (all && !ct__gp_read(o->whole->likelihood.outputs, all)) {
        for (int64_t i = 0; i < more; i++) all[old + i] = a->y[i];
        t = ct__gp_tensor(o->device, o->whole->rows.dtype, ct_shape2(o->whole->rows.n + a->n, o->p), all);
    }
    free(all);
    return t;
}

static ct_status append_shared(ct_outputs *o, const ct_tensor *X, const ct__answers *a,
                               const ct_tensor *noise)
{
    ct_tensor *shared = extended(o, a), *Y = NULL, *y = NULL;
    if (shared) Y = ct_from(o->device, CT_F64, ct_shape2(a->n, a->p), a->y);
    if (Y) y = ct_tensor_slice(Y, 1, 0, 1, 1);
    ct_gp *fresh = y ? ct_gp_copy(o->whole) : NULL;
    ct_status s = fresh ? ct_gp_append(fresh, X, y, noise) : ct_last_status(o->device);
    ct_release(Y);
    ct_release(y);
    if (s) {
        ct_release(shared);
        ct_gp_free(fresh);
        return s;
    }
    ct_release(fresh->likelihood.outputs);
    fresh->likelihood.outputs = shared;
    fresh->target.log_units += ct__answers_log_units(o, a);
    ct__likelihood_take(fresh, CT__SHARED_OUTPUTS);
    ct__outputs_replace(o, fresh);
    return CT_OK;
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
        s = ct_device_fail(o->device, CT_EINVAL, "ct_outputs_append: joint outputs take no noise");
    if (!s && a.n)
        s = o->kind == CT_OUTPUTS_EACH     ? append_each(o, X, &a, noise)
            : o->kind == CT_OUTPUTS_SHARED ? append_shared(o, X, &a, noise)
                                           : ct__joint_append(o, X, &a);
    free(a.y);
    return s;
}
