/* Makes outputs from data. */
#include <stdlib.h>
#include <string.h>

#include "gp/data/numbers.h"
#include "gp/likelihood/table.h"
#include "joint.h"

static ct_status check(ct_device *device, const ct_tensor *X, const ct_tensor *Y, const ct_outputs_options *o)
{
    const ct_gp_options *m = &o->model;
    if (!Y) return ct_device_fail(device, CT_EINVAL, "ct_outputs_new: Y is NULL");
    if (ct_tensor_ndim(X) != 2 || ct_tensor_dim(X, 0) < 1 || ct_tensor_dim(X, 1) < 1)
        return ct_device_fail(device, CT_ESHAPE,
                              "ct_outputs_new: X must be (n, d), with at least one row and one column");
    const int64_t p = ct_tensor_ndim(Y) == 1 ? 1 : ct_tensor_dim(Y, 1);
    if (p < 1 || p > CT_OUTPUTS_MOST)
        return ct_device_fail(device, CT_ESHAPE, "ct_outputs_new: Y has %lld columns, it takes 1 to %d",
                              (long long)p, CT_OUTPUTS_MOST);
    if ((unsigned)o->kind > CT_OUTPUTS_COREGIONALISED)
        return ct_device_fail(device, CT_EINVAL, "ct_outputs_new: there is no kind %d of outputs",
                              (int)o->kind);
    for (int64_t j = 0; j < p && o->outputs; j++) {
        const ct_column *c = &o->outputs[j];
        bool good = c->name && c->kind != CT_COLUMN_CATEGORY;
        for (int64_t i = 0; i < j && good; i++) good = strcmp(o->outputs[i].name, c->name) != 0;
        if (!good)
            return ct_device_fail(device, CT_EINVAL,
                                  "ct_outputs_new: output %lld has no unique name, or is a category",
                                  (long long)j);
    }
    const unsigned kind[] = { 0, CT__SHARED_OUTPUTS, CT__JOINT_OUTPUTS };
    const unsigned features = ct__features_of(m, ct_tensor_dtype(X)) | CT__SEVERAL_OUTPUTS | kind[o->kind];
    if (!ct__likelihood_for(device, features, NULL, "ct_outputs_new")) return ct_last_status(device);
    if (o->kind == CT_OUTPUTS_EACH) return ct__noise_check(device, m, ct_tensor_dim(X, 0));
    if (o->kind == CT_OUTPUTS_SHARED) return CT_OK;
    if (o->rank < 0 || o->rank > p || o->rank > CT_COV_MOST_RANK)
        return ct_device_fail(device, CT_EINVAL, "ct_outputs_new: a rank of %d for %lld outputs", o->rank,
                              (long long)p);
    return CT_OK;
}

/* The whole's options: a zero mean, its own output column, and only the inputs standardised. */
static ct_gp_options of_whole(const ct_outputs_options *options, const ct_column *output)
{
    ct_gp_options model = options->model;
    const bool inputs =
        model.standardize == CT_STANDARDIZE_BOTH || model.standardize == CT_STANDARDIZE_INPUTS;
    model.mean = CT_MEAN_ZERO;
    model.standardize = inputs ? CT_STANDARDIZE_INPUTS : CT_STANDARDIZE_NONE;
    model.output = output;
    return model;
}

static ct_status make_each(ct_outputs *o, const ct_tensor *X, const ct__answers *a, const ct_kernel *kernel,
                           const ct_outputs_options *options)
{
    ct_status s = CT_OK;
    const ct_gp_options *m = &options->model;
    const bool levels = m->noise == CT_NOISE_BY_LEVEL;
    for (int64_t j = 0; j < o->p && !s; j++) {
        ct_tensor *part[3];
        ct_gp_options own = *m;
        own.output = &o->column[j];
        s = ct__answers_take(o->device, a, j, X, levels ? m->noise_levels : m->noise_variances, part);
        *(levels ? &own.noise_levels : &own.noise_variances) = part[2];
        if (!s) o->model[j] = ct_gp_new(part[0], part[1], ct_kernel_copy(kernel), &own);
        if (!s && !o->model[j]) s = ct_last_status(o->device);
        for (int k = 0; k < 3; k++) ct_release(part[k]);
    }
    return s;
}

/* Takes ownership of the kernel. The first output serves as y. */
static ct_status make_shared(ct_outputs *o, const ct_tensor *X, ct__answers *a, ct_kernel *kernel,
                             const ct_outputs_options *options)
{
    const ct_dtype dtype = ct_tensor_dtype(X);
    const ct_gp_options model = of_whole(options, &o->column[0]);
    ct_tensor *shared = ct__gp_tensor(o->device, dtype, ct_shape2(a->n, a->p), a->y),
              *y = shared ? ct_tensor_slice(shared, 1, 0, 1, 1) : NULL;
    if (y)
        o->whole = ct_gp_new(X, y, kernel, &model);
    else
        ct_kernel_free(kernel);
    ct_release(y);
    if (o->whole) {
        o->whole->likelihood.outputs = shared;
        o->whole->target.log_units = ct__answers_log_units(o, a);
        ct__likelihood_take(o->whole, CT__SHARED_OUTPUTS);
        return CT_OK;
    }
    ct_release(shared);
    return ct_last_status(o->device);
}

/* Takes ownership of the kernel. */
static ct_status make(ct_outputs *o, const ct_tensor *X, const ct_tensor *Y, ct_kernel *kernel,
                      const ct_outputs_options *options)
{
    ct__answers a;
    const bool missing = o->kind != CT_OUTPUTS_SHARED;
    ct_status s = ct__answers_read(o->device, Y, ct_tensor_dim(X, 0), o->p, missing, "Y", &a);
    if (!s && o->kind != CT_OUTPUTS_EACH) s = ct__answers_standardize(o, &a);
    if (s || o->kind == CT_OUTPUTS_EACH) {
        if (!s) s = make_each(o, X, &a, kernel, options);
        ct_kernel_free(kernel);
    } else if (o->kind == CT_OUTPUTS_SHARED) {
        s = make_shared(o, X, &a, kernel, options);
    } else {
        s = ct__joint_make(o, X, &a, kernel, options, of_whole(options, &o->column[0]));
    }
    free(a.y);
    return s;
}

ct_outputs *ct_outputs_new(const ct_tensor *X, const ct_tensor *Y, ct_kernel *kernel,
                           const ct_outputs_options *options)
{
    ct_device *device = X ? ct_tensor_device(X) : Y ? ct_tensor_device(Y) : NULL;
    options = options ? options : &(ct_outputs_options){ 0 };
    if (!X) ct_device_fail(device, CT_EINVAL, "ct_outputs_new: X is NULL");
    if (!X || ct_device_status(device) || check(device, X, Y, options)) {
        ct_kernel_free(kernel);
        return NULL;
    }
    ct_outputs *o = ct__outputs_blank(device, options->kind, ct_tensor_ndim(Y) == 1 ? 1 : ct_tensor_dim(Y, 1),
                                      ct_tensor_dim(X, 1), options->outputs);
    if (!o) ct_kernel_free(kernel);
    if (!o || !make(o, X, Y, kernel, options)) return o;
    ct_outputs_free(o);
    return NULL;
}

/* -- from models ----------------------------------------------------------------------------------------- */

static ct_status check_models(ct_gp *const *models, int64_t count)
{
    for (int64_t j = 0; j < count; j++)
        if (!models[j]) return CT_EINVAL;
    const ct_gp *first = models[0];
    if (count > CT_OUTPUTS_MOST)
        return ct_device_fail(first->device, CT_EINVAL, "ct_outputs_of: %lld models, it takes at most %d",
                              (long long)count, CT_OUTPUTS_MOST);
    for (int64_t j = 0; j < count; j++) {
        const ct_gp *gp = models[j];
        bool same =
            gp->device == first->device && gp->rows.dtype == first->rows.dtype && gp->rows.d == first->rows.d;
        for (int64_t k = 0; k < gp->rows.d && same; k++)
            same = !strcmp(gp->rows.column[k].name, first->rows.column[k].name);
        for (int64_t i = 0; i < j && same; i++)
            same = gp != models[i] && strcmp(ct_gp_output(gp)->name, ct_gp_output(models[i])->name) != 0;
        if (!same)
            return ct_device_fail(first->device, CT_EINVAL,
                                  "ct_outputs_of: model %lld has other inputs, dtype or device, or another "
                                  "model's output",
                                  (long long)j);
        const unsigned features = gp->likelihood.features | CT__SEVERAL_OUTPUTS;
        if (!ct__likelihood_for(first->device, features, NULL, "ct_outputs_of"))
            return ct_last_status(first->device);
    }
    return CT_OK;
}

ct_outputs *ct_outputs_of(ct_gp *const *models, int64_t count)
{
    if (!models || count < 1 || check_models(models, count)) return NULL;
    ct_device *device = models[0]->device;
    ct_column *columns = ct__gp_alloc(device, (uint64_t)count, sizeof *columns);
    for (int64_t j = 0; j < count && columns; j++) columns[j] = *ct_gp_output(models[j]);
    ct_outputs *o =
        columns ? ct__outputs_blank(device, CT_OUTPUTS_EACH, count, models[0]->rows.d, columns) : NULL;
    for (int64_t j = 0; j < count && o; j++) o->model[j] = models[j];
    free(columns);
    return o;
}
