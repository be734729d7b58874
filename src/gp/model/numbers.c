/* Numbers on the host and in tensors: to and from doubles, checks of what a model is given,
 * standardisation. */
#include <math.h>
#include <stdlib.h>

#include "model.h"

/* -- doubles --------------------------------------------------------------------------------------------- */

ct_status ct__gp_read(const ct_tensor *t, double *out)
{
    size_t bytes = (size_t)ct_tensor_count(t) * sizeof *out;
    if (ct_tensor_dtype(t) == CT_F64) return ct_read(t, out, bytes);
    ct_tensor *f64 = ct_tensor_cast(t, CT_F64);
    ct_status s = f64 ? ct_read(f64, out, bytes) : CT_ENOMEM;
    ct_release(f64);
    return s;
}

double *ct__gp_doubles(const ct_tensor *t)
{
    double *x = ct__gp_alloc(ct_tensor_device(t), (uint64_t)ct_tensor_count(t), sizeof *x);
    if (!x || !ct__gp_read(t, x)) return x;
    free(x);
    return NULL;
}

ct_tensor *ct__gp_tensor(ct_device *device, ct_dtype dtype, ct_shape shape, const double *x)
{
    ct_tensor *f64 = x ? ct_from(device, CT_F64, shape, x) : NULL;
    if (!f64 || dtype == CT_F64) return f64;
    ct_tensor *t = ct_tensor_cast(f64, dtype);
    ct_release(f64);
    return t;
}

ct_status ct__gp_unload(ct_tensor *t, double *out)
{
    ct_status s = t ? ct__gp_read(t, out) : CT_ENOMEM;
    ct_release(t);
    return s;
}

/* -- checks ---------------------------------------------------------------------------------------------- */

ct_status ct__gp_check_finite(ct_device *device, const double *x, int64_t rows, int64_t cols,
                              const char *what)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            if (!isfinite(x[i * cols + j]))
                return ct_device_fail(
                    device, CT_EINVAL, "%s: row %lld, column %lld is %s: leave such rows out or fill them in",
                    what, (long long)i, (long long)j, isnan(x[i * cols + j]) ? "NaN" : "infinite");
    return CT_OK;
}

/* -- standardisation ------------------------------------------------------------------------------------- */

void ct__gp_column_moments(const double *x, int64_t n, int64_t stride, double *mean, double *deviation)
{
    double largest = 0, sum = 0, square = 0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(x[i * stride]));
    double unit = largest > 0 ? largest : 1; /* so that no sum overflows */
    for (int64_t i = 0; i < n; i++) sum += x[i * stride] / unit;
    double average = sum / (double)n;
    for (int64_t i = 0; i < n; i++) {
        double t = x[i * stride] / unit - average;
        square += t * t;
    }
    double relative = sqrt(square / (double)n);
    *mean = average * unit;
    /* A constant column is left with rounding. */
    *deviation = relative > 1e-14 ? relative * unit : 1;
}

ct_tensor *ct__gp_standardised(const ct_gp *gp, double *x, ct_shape shape, const double *shift,
                               const double *scale)
{
    int64_t cols = shape.ndim > 1 ? shape.dim[1] : 1;
    for (int64_t i = 0; i < shape.dim[0] * cols; i++) x[i] = (x[i] - shift[i % cols]) / scale[i % cols];
    return ct__gp_tensor(gp->device, gp->dtype, shape, x);
}

ct_tensor *ct__gp_table(const ct_gp *gp, const ct_tensor *t, ct_shape shape, const double *shift,
                        const double *scale, const char *what)
{
    double *x = ct__gp_doubles(t);
    ct_status s =
        x ? ct__gp_check_finite(gp->device, x, shape.dim[0], shape.ndim > 1 ? shape.dim[1] : 1, what)
          : CT_ENOMEM;
    for (int64_t i = 0; i < shape.dim[0] && shape.ndim == 1 && !s; i++)
        if (x[i] < 0)
            s = ct_device_fail(gp->device, CT_EINVAL, "%s: row %lld is %g, a variance is not negative", what,
                               (long long)i, x[i]);
    ct_tensor *table = s ? NULL : ct__gp_standardised(gp, x, shape, shift, scale);
    free(x);
    return table;
}

ct_status ct__gp_average_given(ct_gp *gp)
{
    if (!gp->given) return CT_OK;
    double *v = ct__gp_doubles(gp->given), sum = 0;
    if (!v) return CT_ENOMEM;
    for (int64_t i = 0; i < gp->n; i++) sum += v[i];
    gp->given_mean = sum / (double)gp->n;
    free(v);
    return CT_OK;
}
