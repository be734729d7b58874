/* Coregionalised outputs: one model of pairs (x, output). Its last column is the output's code. It has a row
 * for each value present, first those of output 0, then those of output 1, ... */
#include "joint.h"

#include <math.h>
#include <stdlib.h>

#include "gp/data/columns.h"
#include "gp/data/numbers.h"
#include "gp/kernel/kernel_tree.h"
#include "gp/predict/predict.h"

/* -- rows ------------------------------------------------------------------------------------------------ */

ct_status ct__joint_rows(const ct_outputs *o, const ct__answers *a, const ct_tensor *X, ct_dtype dtype,
                         ct_tensor *rows[3])
{
    const int64_t d = o->d, all = a->n * a->p;
    double *points = ct__gp_doubles(X),
           *x = points ? ct__gp_alloc(o->device, (uint64_t)(all * (d + 3)), sizeof *x) : NULL;
    double *y = x ? x + all * (d + 1) : NULL, *code = x ? y + all : NULL;
    int64_t n = 0;
    for (int64_t k = 0; k < all && x; k++) {
        const int64_t j = k / a->n, i = k % a->n;
        if (isnan(a->y[i * a->p + j])) continue;
        for (int64_t c = 0; c < d; c++) x[n * (d + 1) + c] = points[i * d + c];
        x[n * (d + 1) + d] = code[n] = (double)j;
        y[n++] = a->y[i * a->p + j];
    }
    rows[0] = ct__gp_tensor(o->device, dtype, ct_shape2(n, d + 1), x);
    rows[1] = rows[0] ? ct__gp_tensor(o->device, dtype, ct_shape1(n), y) : NULL;
    rows[2] = rows[1] ? ct__gp_tensor(o->device, CT_F64, ct_shape1(n), code) : NULL;
    free(points);
    free(x);
    return rows[2] ? CT_OK : ct_last_status(o->device);
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

ct_status ct__joint_make(ct_outputs *o, const ct_tensor *X, const ct__answers *a, const ct_kernel *kernel,
                         const ct_outputs_options *options)
{
    ct_gp_options model = options->model;
    const char *levels[CT_OUTPUTS_MOST];
    ct_tensor *rows[3] = { NULL };
    ct_column *columns =
                  ct__columns_copy(o->device, model.inputs, o->d, NULL), /* the output's column is the last */
        *own = columns ? ct__gp_alloc(o->device, (uint64_t)o->d + 1, sizeof *own) : NULL;
    ct_status s = own ? ct__joint_rows(o, a, X, ct_tensor_dtype(X), rows) : CT_ENOMEM;
    for (int64_t j = 0; j < o->p; j++) levels[j] = o->column[j].name;
    if (!s) {
        for (int64_t j = 0; j < o->d; j++) own[j] = columns[j];
        own[o->d] =
            (ct_column){ .name = "output", .kind = CT_COLUMN_CATEGORY, .levels = levels, .n_levels = o->p };
        model.inputs = own;
        model.noise = CT_NOISE_BY_LEVEL;
        model.noise_levels = rows[2];
        model.noise_column = &own[o->d];
        ct_kernel *k = on_pairs(ct_kernel_copy(kernel), own, o->d, options->rank ? options->rank : 1);
        o->whole = ct_gp_new(rows[0], rows[1], k, &model);
        if (!o->whole) s = ct_last_status(o->device);
    }
    for (int k = 0; k < 3; k++) ct_release(rows[k]);
    free(own);
    ct__columns_free(columns, o->d + 1);
    return s;
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
    ct_tensor *at = all_pairs(o, Xs, m);
    ct_status s = at ? ct__predict(
                           (ct__prediction){
                               .gp = o->whole, .kind = CT__TOGETHER, .rows = mp, .mean = mean, .more = C },
                           at)
                     : ct_last_status(o->device);
    const ct_param *noise = &o->whole->params.param[o->whole->params.noise_at];
    for (int64_t k = 0; k < mp && !s; k++) {
        const double unit = o->scale[k % p];
        mean[k] = o->shift[k % p] + unit * mean[k];
        if (noisy) C[k * mp + k] += noise[k % p].value;
        for (int64_t l = 0; l < mp; l++) C[k * mp + l] *= unit * o->scale[l % p];
    }
    ct_release(at);
    return s;
}
