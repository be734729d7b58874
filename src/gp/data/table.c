#include "table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "numbers.h"

ct_status ct__check_data(ct_device *device, const ct_tensor *X, const ct_tensor *y, const char *who)
{
    if (!X || !y) return ct_device_fail(device, CT_EINVAL, "%s: %c is NULL", who, X ? 'y' : 'X');
    if (ct_tensor_device(y) != device)
        return ct_device_fail(device, CT_EDEVICE, "%s: X and y live on different devices", who);
    if (ct_tensor_dtype(X) > CT_F32 || ct_tensor_dtype(y) > CT_F32)
        return ct_device_fail(device, CT_EDTYPE,
                              "%s: X and y must be f64 or f32: convert with ct_tensor_cast", who);
    const bool vector = ct_tensor_ndim(y) == 1 || (ct_tensor_ndim(y) == 2 && ct_tensor_dim(y, 1) == 1);
    if (ct_tensor_ndim(X) == 2 && vector && ct_tensor_dim(y, 0) == ct_tensor_dim(X, 0)) return CT_OK;
    return ct_device_fail(
        device, CT_ESHAPE,
        "%s: X must be (n, d) and y (n) or (n, 1); they have %d and %d dimensions, %lld and "
        "%lld rows",
        who, ct_tensor_ndim(X), ct_tensor_ndim(y), (long long)ct_tensor_dim(X, 0),
        (long long)ct_tensor_dim(y, 0));
}

static ct_status check(ct_device *device, const double *x, ct_shape shape, int64_t cols, const char *what)
{
    for (int64_t i = 0; i < shape.dim[0] * cols; i++) {
        if (!isfinite(x[i]))
            return ct_device_fail(
                device, CT_EINVAL, "%s: row %lld, column %lld is %s: leave such rows out or fill them in",
                what, (long long)(i / cols), (long long)(i % cols), isnan(x[i]) ? "NaN" : "infinite");
        if (shape.ndim == 1 && x[i] < 0)
            return ct_device_fail(device, CT_EINVAL, "%s: row %lld is %g, a variance is not negative", what,
                                  (long long)i, x[i]);
    }
    return CT_OK;
}

ct_status ct__check_spread(ct_device *device, double deviation, const char *what, int64_t column)
{
    char at[48] = "";
    if (deviation >= 1e-150 && deviation <= 1e150) return CT_OK;
    if (column >= 0) snprintf(at, sizeof at, ", column %lld", (long long)column);
    return ct_device_fail(device, CT_EINVAL,
                          "%s%s: its standard deviation of %.3g has no square within 1e-300 to "
                          "1e300: multiply it by a power of ten",
                          what, at, deviation);
}

void ct__gp_column_moments(const double *x, int64_t n, int64_t stride, double *mean, double *deviation)
{
    double largest = 0, sum = 0, square = 0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(x[i * stride]));
    double unit = largest > 0 ? largest : 1; /* keeps the sums from overflow */
    for (int64_t i = 0; i < n; i++) sum += x[i * stride] / unit;
    double average = sum / (double)n;
    for (int64_t i = 0; i < n; i++) {
        double t = x[i * stride] / unit - average;
        square += t * t;
    }
    double relative = sqrt(square / (double)n);
    *mean = average * unit;
    /* The deviation of a constant column is rounding. */
    *deviation = relative > 1e-14 ? relative * unit : 1;
}

ct_tensor *ct__table(ct_device *device, ct_dtype dtype, const ct_tensor *t, ct_shape shape, const char *what,
                     ct__units u)
{
    const int64_t rows = shape.dim[0], cols = shape.ndim > 1 ? shape.dim[1] : 1;
    double *x = ct__gp_doubles(t);
    ct_status s = x ? check(device, x, shape, cols, what) : CT_ENOMEM;
    for (int64_t j = 0; j < cols && u.spread && !s; j++) {
        ct__gp_column_moments(x + j, rows, cols, &u.shift[j], &u.spread[j]);
        s = ct__check_spread(device, u.spread[j], what, u.codes ? j : -1);
        const bool codes = u.codes && ct_cov_reads_codes(u.codes, j);
        if (codes) u.spread[j] = 1;
        u.scale[j] = u.standardize ? u.spread[j] : 1;
        if (!u.standardize || codes) u.shift[j] = 0;
    }
    for (int64_t i = 0; i < rows * cols && !s; i++) x[i] = (x[i] - u.shift[i % cols]) / u.scale[i % cols];
    ct_tensor *table = s ? NULL : ct__gp_tensor(device, dtype, shape, x);
    free(x);
    return table;
}
