/* Joint outputs: one model of pairs (x, output). Its last column is the output's code. It has a row for each
 * value present, first those of output 0, then those of output 1, ... */
#include "joint.h"

#include <math.h>
#include <stdlib.h>

#include "gp/data/columns.h"
#include "gp/data/numbers.h"
#include "gp/kernel/kernel_tree.h"
#include "gp/likelihood/joint.h"
#include "gp/likelihood/table.h"

/* -- rows ------------------------------------------------------------------------------------------------ */

typedef struct pairs {
    int64_t n;
    double *x, *y, *code; /* (n, d + 1), (n), (n); one block, freed as x */
} pairs;

/* The values present, with their points. */
static ct_status pair_up(const ct_outputs *o, const ct_tensor *X, const ct__answers *a, pairs *q)
{
    const int64_t d = o->d, all = a->n * a->p;
    double *points = ct__gp_doubles(X);
    *q = (pairs){ .x = points ? ct__gp_alloc(o->device, (uint64_t)(all * (d + 3)), sizeof *q->x) : NULL };
    q->y = q->x ? q->x + all * (d + 1) : NULL;
    q->code = q->x ? q->y + all : NULL;
    for (int64_t k = 0; k < all && q->x; k++) {
        const int64_t j = k / a->n, i = k % a->n;
        if (isnan(a->y[i * a->p + j])) continue;
        for (int64_t c = 0; c < d; c++) q->x[q->n * (d + 1) + c] = points[i * d + c];
        q->x[q->n * (d + 1) + d] = q->code[q->n] = (double)j;
        q->y[q->n++] = a->y[i * a->p + j];
    }
    free(points);
    return q->x ? CT_OK : ct_last_status(o->device);
}

/* t = X, y and codes as tensors. */
static ct_status tensors_of(const ct_outputs *o, const pairs *q, ct_dtype dtype, ct_tensor *t[3])
{
    t[0] = ct__gp_tensor(o->device, dtype, ct_shape2(q->n, o->d + 1), q->x);
    t[1] = t[0] ? ct__gp_tensor(o->device, dtype, ct_shape1(q->n), q->y) : NULL;
    t[2] = t[1] ? ct__gp_tensor(o->device, CT_F64, ct_shape1(q->n), q->code) : NULL;
    return t[2] ? CT_OK : ct_last_status(o->device);
}

static void release(ct_tensor *t[3])
{
    for (int k = 0; k < 3; k++) ct_release(t[k]);
}

/* -- the kernel ------------------------------------------------------------------------------------------ */

static bool looks_at(const ct_kernel *k, int column)
{
    for (int i = 0; i < k->nodes; i++)
        for (int c = 0; c < k->node[i].n_dims; c++)
            if (k->node[i].dims[c] == column) return true;
    return false;
}

/* The kernel on pairs, for columns [d + 1], the last of which is the output's. Profiles without active
 * columns see the inputs. A kernel that does not read the output is multiplied by `index`. */
static ct_kernel *on_pairs(ct_kernel *k, const ct_column *columns, int64_t d, int rank)
{
    bool codes = false;
    for (int64_t j = 0; j < d; j++) codes |= columns[j].kind == CT_COLUMN_CATEGORY;
    if (codes) ct__kernel_choose_columns(k, columns, d);
    ct__kernel_choose_columns(k, columns, d + 1);
    if (ct_kernel_status(k) || looks_at(k, (int)d)) return k;
    ct_kernel *index = ct_kernel_index((int)columns[d].n_levels, rank);
    return ct_kernel_product(ct_kernel_active(index, (int[]){ (int)d }, 1), k);
}

/* -- the model ------------------------------------------------------------------------------------------- */

ct_status ct__joint_make(ct_outputs *o, const ct_tensor *X, const ct__answers *a, ct_kernel *kernel,
                         const ct_outputs_options *options, ct_gp_options model)
{
    ct_tensor *t[3] = { NULL };
    pairs q = { 0 };
    const char **levels = ct__gp_alloc(o->device, (uint64_t)o->p, sizeof *levels);
    ct_column *columns = ct__columns_copy(o->device, &model, o->d), /* the output's column is the last */
        *own = columns ? ct__gp_alloc(o->device, (uint64_t)o->d + 1, sizeof *own) : NULL;
    ct_status s = levels && own ? pair_up(o, X, a, &q) : CT_ENOMEM;
    if (!s) s = tensors_of(o, &q, ct_tensor_dtype(X), t);
    if (!s) {
        for (int64_t j = 0; j < o->p; j++) levels[j] = o->column[j].name;
        for (int64_t j = 0; j < o->d; j++) own[j] = columns[j];
        own[o->d] = (ct_column){ "output", CT_COLUMN_CATEGORY, levels, o->p };
        model.inputs = own;
        model.noise = CT_NOISE_BY_LEVEL;
        model.noise_levels = t[2];
        model.noise_column = &own[o->d];
        kernel = on_pairs(kernel, own, o->d, options->rank ? options->rank : 1);
        o->whole = ct_gp_new(t[0], t[1], kernel, &model);
        kernel = NULL;
        s = o->whole ? ct__joint_find_grid(o->whole) : ct_last_status(o->device);
    }
    if (!s) ct__likelihood_take(o->whole, CT__JOINT_OUTPUTS);
    if (!s) o->whole->target.log_units = ct__answers_log_units(o, a);
    ct_kernel_free(kernel);
    release(t);
    free(q.x);
    free(own);
    ct__columns_free(columns, o->d + 1);
    free(levels);
    return s;
}

ct_status ct__joint_append(ct_outputs *o, const ct_tensor *X, const ct__answers *a)
{
    ct_tensor *t[3] = { NULL };
    pairs q;
    ct_status s = pair_up(o, X, a, &q);
    if (!s) s = tensors_of(o, &q, o->whole->rows.dtype, t);
    ct_gp *fresh = s ? NULL : ct_gp_copy(o->whole);
    if (!s) s = fresh ? ct_gp_append(fresh, t[0], t[1], t[2]) : ct_last_status(o->device);
    release(t);
    free(q.x);
    if (s) {
        ct_gp_free(fresh);
        return s;
    }
    const double more = ct__answers_log_units(o, a);
    fresh->target.log_units += more;
    fresh->factor.nlml += more;
    ct__outputs_replace(o, fresh);
    return CT_OK;
}

/* -- predictions ----------------------------------------------------------------------------------------- */

/* (m p, d + 1): each point with each output. */
static ct_tensor *all_pairs(const ct_outputs *o, const ct_tensor *Xs, int64_t m)
{
    const int64_t d = o->d, p = o->p;
    double *x = ct__gp_doubles(Xs),
           *all = x ? ct__gp_alloc(o->device, (uint64_t)(m * p * (d + 1)), sizeof *all) : NULL;
    for (int64_t k = 0; k < m * p && all; k++) {
        for (int64_t c = 0; c < d; c++) all[k * (d + 1) + c] = x[k / p * d + c];
        all[k * (d + 1) + d] = (double)(k % p);
    }
    ct_tensor *t = all ? ct_from(o->device, CT_F64, ct_shape2(m * p, d + 1), all) : NULL;
    free(x);
    free(all);
    return t;
}

ct_status ct__joint_predict(ct_outputs *o, const ct_tensor *Xs, bool noisy, int64_t m, double *mean,
                            double *C)
{
    const int64_t p = o->p, mp = m * p;
    ct_tensor *at = all_pairs(o, Xs, m), *of_mean = at ? ct_empty(o->device, CT_F64, ct_shape1(mp)) : NULL,
              *of_C = of_mean ? ct_empty(o->device, CT_F64, ct_shape2(mp, mp)) : NULL;
    ct_status s = of_C ? ct_gp_predict_full(o->whole, at, false, of_mean, of_C) : ct_last_status(o->device);
    if (!s) s = ct__gp_read(of_mean, mean);
    if (!s) s = ct__gp_read(of_C, C);
    const ct_param *noise = &o->whole->params.param[o->whole->params.noise_at];
    for (int64_t k = 0; k < mp && !s; k++) {
        const double unit = o->scale[k % p];
        mean[k] = o->shift[k % p] + unit * mean[k];
        if (noisy) C[k * mp + k] += noise[k % p].value;
        for (int64_t l = 0; l < mp; l++) C[k * mp + l] *= unit * o->scale[l % p];
    }
    ct_release(at);
    ct_release(of_mean);
    ct_release(of_C);
    return s;
}
