/* Makes outputs from data. */
#include <stdlib.h>
#include <string.h>

#include "gp/likelihood/table.h"
#include "joint.h"
#include "whole.h"

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

/* The options of the models: the whole has a zero mean, and only its inputs are standardised. */
static ct_gp_options of_models(const ct_outputs *o, const ct_outputs_options *options)
{
    ct_gp_options model = options->model;
    const bool inputs =
        model.standardize == CT_STANDARDIZE_BOTH || model.standardize == CT_STANDARDIZE_INPUTS;
    model.output = o->column;
    if (o->kind == CT_OUTPUTS_EACH) return model;
    model.mean = CT_MEAN_ZERO;
    model.standardize = inputs ? CT_STANDARDIZE_INPUTS : CT_STANDARDIZE_NONE;
    return model;
}

/* A model for each output, or the whole with the first output as y. */
static ct_status make_models(ct_outputs *o, const ct_tensor *X, const ct__answers *a, const ct_kernel *kernel,
                             const ct_gp_options *options)
{
    ct_status s = CT_OK;
    ct_gp **model = o->kind == CT_OUTPUTS_SHARED ? &o->whole : o->model;
    const bool levels = options->noise == CT_NOISE_BY_LEVEL;
    for (int64_t j = 0; j < (o->kind == CT_OUTPUTS_SHARED ? 1 : o->p) && !s; j++) {
        ct_tensor *rows[3];
        ct_gp_options own = *options;
        own.output = &o->column[j];
        s = ct__answers_rows(o->device, a, j, X, levels ? own.noise_levels : own.noise_variances, rows);
        *(levels ? &own.noise_levels : &own.noise_variances) = rows[2];
        if (!s) model[j] = ct_gp_new(rows[0], rows[1], ct_kernel_copy(kernel), &own);
        if (!s && !model[j]) s = ct_last_status(o->device);
        for (int k = 0; k < 3; k++) ct_release(rows[k]);
    }
    return s;
}

static ct_status make(ct_outputs *o, const ct_tensor *X, const ct_tensor *Y, const ct_kernel *kernel,
                      const ct_outputs_options *options)
{
    ct__answers a;
    ct_outputs_options own = *options;
    own.model = of_models(o, options);
    ct_status s =
        ct__answers_read(o->device, Y, ct_tensor_dim(X, 0), o->p, o->kind != CT_OUTPUTS_SHARED, "Y", &a);
    if (!s && o->kind != CT_OUTPUTS_EACH) s = ct__answers_standardize(o, &a);
    if (!s)
        s = o->kind == CT_OUTPUTS_COREGIONALISED ? ct__joint_make(o, X, &a, kernel, &own)
                                                 : make_models(o, X, &a, kernel, &own.model);
    if (!s && o->whole) s = ct__whole_complete(o, o->whole, &a);
    free(a.y);
    return s;
}

ct_outputs *ct_outputs_new(const ct_tensor *X, const ct_tensor *Y, ct_kernel *kernel,
                           const ct_outputs_options *options)
{
    ct_device *device = X ? ct_tensor_device(X) : Y ? ct_tensor_device(Y) : NULL;
    options = options ? options : &(ct_outputs_options){ 0 };
    if (!X) ct_device_fail(device, CT_EINVAL, "ct_outputs_new: X is NULL");
    const bool good = X && !ct_device_status(device) && !check(device, X, Y, options);
    ct_outputs *o =
        good ? ct__outputs_blank(device, options->kind, ct_tensor_ndim(Y) == 1 ? 1 : ct_tensor_dim(Y, 1),
                                 ct_tensor_dim(X, 1), options->outputs)
             : NULL;
    if (o && make(o, X, Y, kernel, options)) {
        ct_outputs_free(o);
        o = NULL;
    }
    ct_kernel_free(kernel);
    return o;
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
        bool same = ct__outputs_alike(gp, first);
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
    ct_column columns[CT_OUTPUTS_MOST];
    for (int64_t j = 0; j < count; j++) columns[j] = *ct_gp_output(models[j]);
    ct_outputs *o = ct__outputs_blank(device, CT_OUTPUTS_EACH, count, models[0]->rows.d, columns);
    for (int64_t j = 0; j < count && o; j++) o->model[j] = models[j];
    return o;
}
