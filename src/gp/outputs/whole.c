#include "whole.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gp/data/numbers.h"
#include "gp/likelihood/joint.h"
#include "gp/likelihood/table.h"

/* (n, p) */
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

/* Σ log scale over all values; CT_EINVAL if an output has none. */
static ct_status units_of(const ct_outputs *o, const ct_gp *whole, double *units)
{
    const bool shared = o->kind == CT_OUTPUTS_SHARED;
    int64_t values[CT_OUTPUTS_MOST] = { 0 };
    double *level = shared ? NULL : ct__gp_doubles(whole->noise.given);
    if (!shared && !level) return CT_ENOMEM;
    for (int64_t i = 0; i < whole->rows.n && level; i++) values[(int64_t)level[i]]++;
    free(level);
    *units = 0;
    for (int64_t j = 0; j < o->p; j++) {
        const int64_t count = shared ? whole->rows.n : values[j];
        if (!count) return CT_EINVAL;
        *units += (double)count * log(o->scale[j]);
    }
    return CT_OK;
}

ct_status ct__whole_complete(const ct_outputs *o, ct_gp *whole, const ct__answers *a)
{
    const bool shared = o->kind == CT_OUTPUTS_SHARED;
    double units;
    ct_status s = units_of(o, whole, &units);
    if (!s && !shared) s = ct__joint_find_grid(whole);
    if (!s && shared && a && !(whole->likelihood.outputs = extended(o, a))) s = ct_last_status(o->device);
    if (s) return s;
    if (whole->factor.ready) whole->factor.nlml += units - whole->target.log_units;
    whole->target.log_units = units;
    ct__likelihood_take(whole, shared ? CT__SHARED_OUTPUTS : CT__JOINT_OUTPUTS);
    return CT_OK;
}
