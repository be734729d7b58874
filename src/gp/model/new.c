/* A model from data: what is refused, standardisation, starts and priors. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

static void *refuse(ct_device *device, ct_status status, const char *text)
{
    ct_device_fail(device, status, "ct_gp_new: %s", text);
    return NULL;
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
        ct__gp_column_moments(x + j, gp->n, gp->d, &gp->shift[j], &gp->spread[j]);
        char column[48];
        snprintf(column, sizeof column, "X, column %lld", (long long)j);
        s = ct__gp_check_scale(gp->device, gp->spread[j], column);
        gp->scale[j] = standardize ? gp->spread[j] : 1;
        if (!standardize) gp->shift[j] = 0;
    }
    if (!s)
        gp->X = ct__gp_standardised(gp->device, gp->dtype, ct_shape2(gp->n, gp->d), x, gp->shift, gp->scale);
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
        ct__gp_column_moments(x, gp->n, 1, &gp->y_shift, &gp->y_spread);
        s = ct__gp_check_scale(gp->device, gp->y_spread, "y");
    }
    if (!s) {
        gp->y_scale = standardize ? gp->y_spread : 1;
        if (!standardize) gp->y_shift = 0;
        gp->y =
            ct__gp_standardised(gp->device, gp->dtype, ct_shape2(gp->n, 1), x, &gp->y_shift, &gp->y_scale);
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
    ct_status s = ct__gp_check_variances(gp->device, x, gp->n);
    for (int64_t i = 0; i < gp->n; i++) sum += x[i] / scale;
    if (!s) gp->given = ct__gp_standardised(gp->device, gp->dtype, ct_shape1(gp->n), x, &zero, &scale);
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
