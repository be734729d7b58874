/* Numbers on the host and in tensors: to and from doubles, checks of what a model is given,
 * standardisation. */
#include <math.h>
#include <stdio.h>
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

ct_status ct__gp_normal(ct_device *device, uint64_t seed, uint64_t stream, int64_t count, double *out)
{
    ct_tensor *t = ct_rand_normal(device, CT_F64, ct_shape1(count), seed, stream);
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

ct_status ct__gp_check_variances(ct_device *device, const double *x, int64_t n)
{
    ct_status s = ct__gp_check_finite(device, x, n, 1, "noise_variances");
    for (int64_t i = 0; i < n && !s; i++)
        if (x[i] < 0)
            s = ct_device_fail(device, CT_EINVAL,
                               "noise_variances: row %lld is %g, a variance is not negative", (long long)i,
                               x[i]);
    return s;
}

ct_status ct__gp_check_scale(ct_device *device, double deviation, const char *what, int64_t column)
{
    char at[48] = "";
    if (deviation >= 1e-150 && deviation <= 1e150) return CT_OK;
    if (column >= 0) snprintf(at, sizeof at, ", column %lld", (long long)column);
    return ct_device_fail(device, CT_EINVAL,
                          "%s%s: its standard deviation of %.3g has no square within 1e-300 to "
                          "1e300: multiply it by a power of ten",
                          what, at, deviation);
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

ct_tensor *ct__gp_standardised(ct_device *device, ct_dtype dtype, ct_shape shape, const double *x,
                               const double *shift, const double *scale)
{
    int64_t count = ct_shape_count(shape), cols = shape.ndim > 1 ? shape.dim[1] : 1;
    double *s = ct__gp_alloc(device, (uint64_t)count, sizeof *s);
    for (int64_t i = 0; i < count && s; i++) s[i] = (x[i] - shift[i % cols]) / scale[i % cols];
    ct_tensor *result = ct__gp_tensor(device, dtype, shape, s);
    free(s);
    return result;
}
