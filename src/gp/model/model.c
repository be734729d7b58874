/* A model: made from data and a kernel, its parameters, its memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gp/factor/packed.h"
#include "model.h"

void *ct__gp_alloc(ct_device *device, uint64_t count, size_t size)
{
    void *p = count < SIZE_MAX / 2 / size ? calloc(count ? (size_t)count : 1, size) : NULL;
    if (!p) ct_device_fail(device, CT_ENOMEM, "out of memory: %llu numbers", (unsigned long long)count);
    return p;
}

static char *copy_text(ct_device *device, const char *text)
{
    size_t length = strlen(text) + 1;
    char *copy = ct__gp_alloc(device, length, 1);
    if (copy) memcpy(copy, text, length);
    return copy;
}

/* -- memory ---------------------------------------------------------------------------------------------- */

uint64_t ct_gp_bytes_needed(int64_t n, int64_t d, ct_dtype dtype, bool fitting)
{
    if (n < 0 || d < 0 || n > INT32_MAX || d > INT32_MAX) return UINT64_MAX;
    uint64_t size = dtype == CT_F32 ? 4 : 8, rows = (uint64_t)n, cols = (uint64_t)d;
    if (rows && (cols + 64) > UINT64_MAX / 64 / rows) return UINT64_MAX;
    /* one packed triangle, and beside it a panel: of the sweep, then of the contraction or the prediction */
    ct_shape packed = ct__packed_shape(n);
    uint64_t triangle = (uint64_t)packed.dim[0] * (uint64_t)packed.dim[1];
    uint64_t pivots = rows <= 1500 ? 128 : 384, sweep = (rows + 4 * pivots) * pivots;
    uint64_t panel = fitting ? 0 : rows * (uint64_t)ct__packed_panel(n, dtype);
    return size * (triangle + (sweep > panel ? sweep : panel) + rows * (2 * cols + 64)) + (1u << 20);
}

ct_status ct__gp_reserve(ct_device *device, uint64_t bytes, bool narrower, const char *what,
                         const char *remedy)
{
    ct_memory_info memory = ct_memory(device);
    uint64_t room = memory.limit > memory.bytes_now ? memory.limit - memory.bytes_now : 0;
    if (bytes <= room) return CT_OK;
    narrower = narrower && bytes / 2 + (1u << 20) <= room;
    return ct_device_fail(device, CT_ENOMEM,
                          "%s needs %llu bytes (%.3g GB), the device may hold %llu more: %s%s", what,
                          (unsigned long long)bytes, (double)bytes * 1e-9, (unsigned long long)room, remedy,
                          narrower ? ", or f32" : "");
}

/* -- failures -------------------------------------------------------------------------------------------- */

ct_status ct__gp_tape_failed(ct_gp *gp, const char *what)
{
    ct_status status = ct_tape_status(gp->tape);
    if (!status)
        ct_device_fail(gp->device, status = CT_ENUMERIC,
                       "%s is not finite: look for a y far from all others, or bring the parameters nearer "
                       "to the data's scale",
                       what);
    else if (status == CT_ENUMERIC)
        ct_device_fail(
            gp->device, status,
            "%s is not positive definite (%.200s): learn a noise, raise it, or drop duplicate rows", what,
            ct_tape_reason(gp->tape));
    else
        ct_device_fail(gp->device, status, "%s: %.400s", what, ct_tape_reason(gp->tape));
    ct_tape_reset(gp->tape);
    return status;
}

static void *refuse(ct_device *device, ct_status status, const char *text)
{
    ct_device_fail(device, status, "ct_gp_new: %s", text);
    return NULL;
}

/* -- building -------------------------------------------------------------------------------------------- */

static bool default_names(ct_gp *gp)
{
    gp->name = ct__gp_alloc(gp->device, (uint64_t)gp->d + 1, sizeof *gp->name);
    for (int64_t j = 0; gp->name && j <= gp->d; j++) {
        char text[32];
        snprintf(text, sizeof text, "x%lld", (long long)j);
        gp->name[j] = copy_text(gp->device, j < gp->d ? text : "y");
        if (!gp->name[j]) return false;
    }
    return gp->name != NULL;
}

ct_gp *ct__gp_blank(ct_device *device, ct_kernel *kernel, int64_t n, int64_t d, ct_dtype dtype,
                    const ct_gp_options *options)
{
    ct_gp *gp = ct__gp_alloc(device, 1, sizeof *gp);
    if (!gp) {
        ct_kernel_free(kernel);
        return NULL;
    }
    gp->kernel = kernel;
    gp->device = device;
    gp->n = n;
    gp->d = d;
    gp->dtype = dtype;
    gp->options = *options;
    gp->options.noise_variances = NULL;
    gp->y_scale = gp->y_spread = 1;
    gp->noise_at = gp->mean_at = -1;
    gp->tape = ct_tape_new(device);
    gp->shift = ct__gp_alloc(device, 3 * (uint64_t)d, sizeof *gp->shift);
    if (!gp->tape) ct_device_fail(device, CT_ENOMEM, "no memory for a tape");
    if (!gp->tape || !gp->shift || !default_names(gp)) {
        ct_gp_free(gp);
        return NULL;
    }
    gp->scale = gp->shift + d;
    gp->spread = gp->scale + d;
    return gp;
}

void ct__gp_drop_factor(ct_gp *gp)
{
    ct_release(gp->factor.L);
    ct_release(gp->factor.alpha);
    gp->factor = (ct__gp_factor){ 0 };
}

void ct_gp_free(ct_gp *gp)
{
    if (!gp) return;
    ct__gp_drop_factor(gp);
    ct_release(gp->X);
    ct_release(gp->y);
    ct_release(gp->given);
    for (int64_t j = 0; gp->name && j <= gp->d; j++) free(gp->name[j]);
    free(gp->name);
    free(gp->shift);
    free(gp->param);
    free(gp->starts);
    ct_kernel_free(gp->kernel);
    ct_tape_free(gp->tape);
    free(gp);
}

ct_status ct__gp_list_params(ct_gp *gp)
{
    const ct_gp_options *o = &gp->options;
    bool noise = o->noise == CT_NOISE_LEARNED || o->noise == CT_NOISE_GIVEN_PLUS;
    int64_t means = o->mean == CT_MEAN_ZERO ? 0 : o->mean == CT_MEAN_CONSTANT ? 1 : 1 + gp->d;
    gp->n_kernel = ct_kernel_params(gp->kernel);
    gp->n_params = gp->n_kernel + noise + means;
    gp->noise_at = noise ? gp->n_kernel : -1;
    gp->mean_at = means ? gp->n_kernel + noise : -1;
    gp->param = ct__gp_alloc(gp->device, (uint64_t)gp->n_params, sizeof *gp->param);
    if (!gp->param) return CT_ENOMEM;
    for (int64_t i = 0; i < gp->n_kernel; i++) gp->param[i] = *ct_kernel_param(gp->kernel, i);
    for (int64_t i = gp->n_kernel; i < gp->n_params; i++) {
        ct_param *p = &gp->param[i];
        *p = (ct_param){ .upper = INFINITY, .column = -1 };
        if (i == gp->noise_at) {
            p->unit = CT_UNIT_VARIANCE;
            snprintf(p->name, sizeof p->name, "noise.variance");
        } else if (i == gp->mean_at) {
            p->lower = -INFINITY;
            snprintf(p->name, sizeof p->name, "mean.constant");
        } else {
            p->lower = -INFINITY;
            snprintf(p->name, sizeof p->name, "mean.slope[%lld]", (long long)(i - gp->mean_at - 1));
        }
    }
    return CT_OK;
}

/* What can be refused before anything is allocated. */
static bool acceptable(ct_device *device, const ct_tensor *X, const ct_tensor *y, const ct_kernel *kernel,
                       const ct_gp_options *o)
{
    if (ct_device_status(device)) return false;
    if (!y) return refuse(device, CT_EINVAL, "y is NULL");
    if (ct_tensor_device(y) != device) return refuse(device, CT_EDEVICE, "X and y live on different devices");
    if (ct_tensor_dtype(X) > CT_F32 || ct_tensor_dtype(y) > CT_F32)
        return refuse(device, CT_EDTYPE, "X and y must be f64 or f32: convert with ct_tensor_cast");
    int64_t n = ct_tensor_dim(X, 0), d = ct_tensor_dim(X, 1);
    bool vector = ct_tensor_ndim(y) == 1 || (ct_tensor_ndim(y) == 2 && ct_tensor_dim(y, 1) == 1);
    if (ct_tensor_ndim(X) != 2 || !vector || ct_tensor_dim(y, 0) != n) {
        ct_device_fail(device, CT_ESHAPE,
                       "ct_gp_new: X must be (n, d) and y (n) or (n, 1); they have %d and %d dimensions, "
                       "%lld and %lld rows",
                       ct_tensor_ndim(X), ct_tensor_ndim(y), (long long)n, (long long)ct_tensor_dim(y, 0));
        return false;
    }
    if (n < 1 || d < 1) return refuse(device, CT_ESHAPE, "X needs at least one row and one column");
    if (ct_kernel_status(kernel)) {
        ct_device_fail(device, ct_kernel_status(kernel), "%s", ct_kernel_message(kernel));
        return false;
    }
    bool given = o->noise == CT_NOISE_GIVEN || o->noise == CT_NOISE_GIVEN_PLUS;
    if ((unsigned)o->mean > CT_MEAN_LINEAR || (unsigned)o->noise > CT_NOISE_NONE ||
        (unsigned)o->standardize > CT_STANDARDIZE_OUTPUTS || (unsigned)o->priors > CT_PRIORS_WEAK)
        return refuse(device, CT_EINVAL, "an option has no such value");
    if (given != (o->noise_variances != NULL))
        return refuse(device, CT_EINVAL,
                      "noise_variances belong with CT_NOISE_GIVEN and CT_NOISE_GIVEN_PLUS");
    if (given && (ct_tensor_count(o->noise_variances) != n || ct_tensor_dtype(o->noise_variances) == CT_I64 ||
                  ct_tensor_device(o->noise_variances) != device))
        return refuse(device, CT_ESHAPE, "noise_variances must be n numbers on the device of X");
    return !ct__gp_reserve(device, ct_gp_bytes_needed(n, d, ct_tensor_dtype(X), false),
                           ct_tensor_dtype(X) == CT_F64, "ct_gp_new: the model", "use fewer rows");
}

static ct_status take_inputs(ct_gp *gp, const ct_tensor *X)
{
    double *x = ct__gp_doubles(X);
    if (!x) return CT_ENOMEM;
    ct_status s = ct__gp_check_finite(gp->device, x, gp->n, gp->d, "X");
    bool standardize =
        gp->options.standardize == CT_STANDARDIZE_BOTH || gp->options.standardize == CT_STANDARDIZE_INPUTS;
    for (int64_t j = 0; j < gp->d && !s; j++) {
        ct__gp_moments(x + j, gp->n, gp->d, &gp->shift[j], &gp->spread[j]);
        char column[48];
        snprintf(column, sizeof column, "X, column %lld", (long long)j);
        s = ct__gp_check_scale(gp->device, gp->spread[j], column);
        gp->scale[j] = standardize ? gp->spread[j] : 1;
        if (!standardize) gp->shift[j] = 0;
    }
    if (!s) gp->X = ct__gp_standardised(gp->device, gp->dtype, x, gp->n, gp->d, gp->shift, gp->scale);
    free(x);
    return s ? s : gp->X ? CT_OK : CT_ENOMEM;
}

static ct_status take_outputs(ct_gp *gp, const ct_tensor *y)
{
    double *x = ct__gp_doubles(y);
    if (!x) return CT_ENOMEM;
    ct_status s = ct__gp_check_finite(gp->device, x, gp->n, 1, "y");
    bool standardize =
        gp->options.standardize == CT_STANDARDIZE_BOTH || gp->options.standardize == CT_STANDARDIZE_OUTPUTS;
    if (!s) {
        ct__gp_moments(x, gp->n, 1, &gp->y_shift, &gp->y_spread);
        s = ct__gp_check_scale(gp->device, gp->y_spread, "y");
    }
    if (!s) {
        gp->y_scale = standardize ? gp->y_spread : 1;
        if (!standardize) gp->y_shift = 0;
        gp->y = ct__gp_standardised(gp->device, gp->dtype, x, gp->n, 1, &gp->y_shift, &gp->y_scale);
        if (!gp->y) s = CT_ENOMEM;
    }
    free(x);
    return s;
}

static ct_status take_noise(ct_gp *gp, const ct_tensor *variances)
{
    if (!variances) return CT_OK;
    double *x = ct__gp_doubles(variances), zero = 0, scale = gp->y_scale * gp->y_scale, sum = 0;
    if (!x) return CT_ENOMEM;
    ct_status s = ct__gp_check_finite(gp->device, x, gp->n, 1, "noise_variances");
    for (int64_t i = 0; i < gp->n && !s; i++) {
        sum += x[i] / scale;
        if (x[i] < 0)
            s = ct_device_fail(gp->device, CT_EINVAL,
                               "noise_variances: row %lld is %g, a variance is not negative", (long long)i,
                               x[i]);
    }
    ct_tensor *column = s ? NULL : ct__gp_standardised(gp->device, gp->dtype, x, gp->n, 1, &zero, &scale);
    if (column) gp->given = ct_tensor_reshape(column, ct_shape1(gp->n));
    ct_release(column);
    free(x);
    gp->given_mean = sum / (double)gp->n;
    return s ? s : gp->given ? CT_OK : CT_ENOMEM;
}

/* Starts and priors from the data wherever the kernel brings none. */
static ct_status first_values(ct_gp *gp)
{
    double *v = ct__gp_alloc(gp->device, (uint64_t)gp->n_params, sizeof *v);
    if (!v) return CT_ENOMEM;
    ct_status s = CT_OK;
    for (int64_t i = 0; i < gp->n_params; i++) {
        const ct_param *p = &gp->param[i];
        v[i] = p->start_given ? p->value : ct__gp_start_value(gp, i);
        if (p->lower > -INFINITY) v[i] = fmax(v[i], p->lower);
        v[i] = fmin(v[i], p->upper);
        gp->param[i].prior = ct__gp_first_prior(gp, i);
    }
    s = ct__gp_set_values(gp, v);
    free(v);
    return s;
}

ct_gp *ct_gp_new(const ct_tensor *X, const ct_tensor *y, ct_kernel *kernel, const ct_gp_options *options)
{
    static const ct_gp_options defaults = { 0 };
    if (!options) options = &defaults;
    ct_device *device = X ? ct_tensor_device(X) : y ? ct_tensor_device(y) : NULL;
    if (!X) ct_device_fail(device, CT_EINVAL, "ct_gp_new: X is NULL");
    if (!X || !acceptable(device, X, y, kernel, options)) {
        ct_kernel_free(kernel);
        return NULL;
    }
    ct_gp *gp =
        ct__gp_blank(device, kernel, ct_tensor_dim(X, 0), ct_tensor_dim(X, 1), ct_tensor_dtype(X), options);
    if (!gp) return NULL;
    ct_status s = ct_kernel_bind(kernel, gp->d);
    if (s) ct_device_fail(device, s, "%s", ct_kernel_message(kernel));
    if (!s) s = take_inputs(gp, X);
    if (!s) s = take_outputs(gp, y);
    if (!s) s = take_noise(gp, options->noise_variances);
    if (!s) s = ct__gp_list_params(gp);
    if (!s) s = first_values(gp);
    if (!s) return gp;
    ct_gp_free(gp);
    return NULL;
}

/* -- what a model is ------------------------------------------------------------------------------------- */

int64_t ct_gp_points(const ct_gp *gp) { return gp ? gp->n : 0; }
int64_t ct_gp_dims(const ct_gp *gp) { return gp ? gp->d : 0; }
ct_dtype ct_gp_dtype(const ct_gp *gp) { return gp ? gp->dtype : CT_F64; }
ct_device *ct_gp_device(const ct_gp *gp) { return gp ? gp->device : NULL; }
ct_gp_options ct_gp_get_options(const ct_gp *gp) { return gp ? gp->options : (ct_gp_options){ 0 }; }
const ct_kernel *ct_gp_kernel(const ct_gp *gp) { return gp ? gp->kernel : NULL; }
ct_fit_report ct_gp_report(const ct_gp *gp) { return gp ? gp->report : (ct_fit_report){ 0 }; }

ct_status ct_gp_set_names(ct_gp *gp, const char *const *inputs, const char *output)
{
    if (!gp) return CT_EINVAL;
    char **name = ct__gp_alloc(gp->device, (uint64_t)gp->d + 1, sizeof *name);
    if (!name) return CT_ENOMEM;
    ct_status s = CT_OK;
    for (int64_t j = 0; j <= gp->d && !s; j++) {
        const char *text = j < gp->d ? (inputs ? inputs[j] : gp->name[j]) : (output ? output : gp->name[j]);
        if (!text)
            s = ct_device_fail(gp->device, CT_EINVAL, "ct_gp_set_names: name %lld is NULL", (long long)j);
        else if (!(name[j] = copy_text(gp->device, text)))
            s = CT_ENOMEM;
    }
    char **unused = s ? name : gp->name;
    if (!s) gp->name = name;
    for (int64_t j = 0; j <= gp->d; j++) free(unused[j]);
    free(unused);
    return s;
}

const char *ct_gp_input_name(const ct_gp *gp, int64_t column)
{
    return gp && column >= 0 && column < gp->d ? gp->name[column] : NULL;
}

const char *ct_gp_output_name(const ct_gp *gp) { return gp ? gp->name[gp->d] : NULL; }

double ct_gp_nlml_value(ct_gp *gp) { return gp && !ct__gp_factorise(gp) ? gp->factor.nlml : NAN; }

double ct_gp_jitter(ct_gp *gp)
{
    return gp && !ct__gp_factorise(gp) ? gp->factor.jitter * gp->y_scale * gp->y_scale : NAN;
}
