#include "whole.h"

#include <stdlib.h>
#include <string.h>

#include "gp/data/numbers.h"
#include "gp/likelihood/joint.h"
#include "gp/likelihood/table.h"

/* The shared outputs of o->whole, if it has any, with the new ones below: (n, p). */
static ct_tensor *extended(const ct_outputs *o, const ct__answers *a)
{
    const ct_tensor *before = o->whole->likelihood.outputs;
    const int64_t old = before ? ct_tensor_count(before) : 0, more = a->n * o->p;
    double *all = ct__gp_alloc(o->device, (uint64_t)(old + more), sizeof *all);
    ct_tensor *t = NULL;
    if (all && (!before || !ct__gp_read(before, all))) {
        memcpy(all + old, a->y, (size_t)more * sizeof *all);
        t = ct__gp_tensor(o->device, o->whole->rows.dtype, ct_shape2(old / o->p + a->n, o->p), all);
    }
    free(all);
    return t;
}

ct_status ct__whole_complete(const ct_outputs *o, ct_gp *whole, const ct__answers *a)
{
    const bool shared = o->kind == CT_OUTPUTS_SHARED;
    const double units = ct__answers_log_units(o, a);
    ct_tensor *outputs = shared ? extended(o, a) : NULL;
    if (shared ? !outputs : ct__joint_find_grid(whole) != CT_OK) return ct_last_status(o->device);
    whole->likelihood.outputs = outputs;
    whole->target.log_units += units;
    if (whole->factor.ready) whole->factor.nlml += units;
    ct__likelihood_take(whole, shared ? CT__SHARED_OUTPUTS : CT__JOINT_OUTPUTS);
    return CT_OK;
}
