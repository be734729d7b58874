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

/* CT_EINVAL where a standard deviation is too large or too small for the variances that go with it. A column
 * below 0 stays out of the message. */
static ct_status check_scale(ct_device *device, double deviation, const char *what, int64_t column)
{
    char at[48] = "";
    if (deviation >= 1e-150 && deviation <= 1e150) return CT_OK;
    if (column >= 0) snprintf(at, sizeof at, ", column %lld", (long long)column);
    return ct_device_fail(device, CT_EINVAL,
                          "%s%s: its standard deviation of %.3g has no square within 1e-300 to "
                          "1e300: multiply it by a power of ten",
                          what, at, deviation);
}

/* A table of `cols` columns as the model has it, and what its columns' numbers were. NULL with the reason on
 * the device. */
static ct_tensor *take(ct_gp *gp, const ct_tensor *t, const char *what, int64_t cols, bool standardize,
                       double *shift, double *scale, double *spread)
{
    double *x = ct__gp_doubles(t);
    ct_status s = x ? ct__gp_check_finite(gp->device, x, gp->n, cols, what) : CT_ENOMEM;
    for (int64_t j = 0; j < cols && !s; j++) {
        ct__gp_column_moments(x + j, gp->n, cols, &shift[j], &spread[j]);
        s = check_scale(gp->device, spread[j], what, spread == gp->spread ? j : -1);
        scale[j] = standardize ? spread[j] : 1;
        if (!standardize) shift[j] = 0;
    }
    ct_tensor *taken = s ? NULL : ct__gp_standardised(gp, x, ct_shape2(gp->n, cols), shift, scale);
    free(x);
    return taken;
}

static ct_status take_data(ct_gp *gp, const ct_tensor *X, const ct_tensor *y)
{
    ct_gp_standardize how = gp->options.standardize;
    bool inputs = how == CT_STANDARDIZE_BOTH || how == CT_STANDARDIZE_INPUTS;
    bool outputs = how == CT_STANDARDIZE_BOTH || how == CT_STANDARDIZE_OUTPUTS;
    gp->X = take(gp, X, "X", gp->d, inputs, gp->shift, gp->scale, gp->spread);
    if (gp->X) gp->y = take(gp, y, "y", 1, outputs, &gp->y_shift, &gp->y_scale, &gp->y_spread);
    return gp->y ? CT_OK : ct_last_status(gp->device);
}

static ct_status take_noise(ct_gp *gp, const ct_tensor *variances)
{
    if (!variances) return CT_OK;
    const double zero = 0, unit = gp->y_scale * gp->y_scale;
    gp->given = ct__gp_table(gp, variances, ct_shape1(gp->n), &zero, &unit, "noise_variances");
    return gp->given ? ct__gp_average_given(gp) : ct_last_status(gp->device);
}

/* Starts and priors from the data wherever the kernel brings none. */
static ct_status first_values(ct_gp *gp)
{
    double *v = ct__gp_alloc(gp->device, (uint64_t)gp->n_params, sizeof *v);
    if (!v) return CT_ENOMEM;
    for (int64_t i = 0; i < gp->n_params; i++) {
        const ct_param *p = &gp->param[i];
        v[i] = p->start_given ? p->value : ct__gp_start_value(gp, i);
        gp->param[i].prior = ct__gp_first_prior(gp, i);
    }
    ct_status s = ct__gp_set_values(gp, v);
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
    if (!s) s = take_data(gp, X, y);
    if (!s) s = take_noise(gp, options->noise_variances);
    if (!s) s = ct__gp_list_params(gp);
    if (!s) s = first_values(gp);
    if (!s) return gp;
    ct_gp_free(gp);
    return NULL;
}
