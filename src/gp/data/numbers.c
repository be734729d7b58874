/* Numbers of tensors as doubles on the host, checks of input, standardisation. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gp/model/model.h"

/* -- doubles --------------------------------------------------------------------------------------------- */

ct_status ct__gp_read(const ct_tensor *t, double *out)
{
    if (ct_tensor_dtype(t) != CT_F64) return ct__gp_unload(ct_tensor_cast(t, CT_F64), out);
    return ct_read(t, out, (size_t)ct_tensor_count(t) * sizeof *out);
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

static ct_status check_finite(ct_device *device, const double *x, int64_t rows, int64_t cols,
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

ct_status ct__gp_check_spread(ct_device *device, double deviation, const char *what, int64_t column)
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

ct_tensor *ct__gp_table(const ct_gp *gp, const ct_tensor *t, ct_shape shape, const char *what, double *shift,
                        double *scale, double *spread, bool standardize)
{
    int64_t rows = shape.dim[0], cols = shape.ndim > 1 ? shape.dim[1] : 1;
    double *x = ct__gp_doubles(t);
    ct_status s = x ? check_finite(gp->device, x, rows, cols, what) : CT_ENOMEM;
    for (int64_t i = 0; i < rows && shape.ndim == 1 && !s; i++)
        if (x[i] < 0)
            s = ct_device_fail(gp->device, CT_EINVAL, "%s: row %lld is %g, a variance is not negative", what,
                               (long long)i, x[i]);
    for (int64_t j = 0; j < cols && spread && !s; j++) {
        ct__gp_column_moments(x + j, rows, cols, &shift[j], &spread[j]);
        s = ct__gp_check_spread(gp->device, spread[j], what, spread == gp->spread ? j : -1);
        const bool codes = spread == gp->spread && ct_cov_reads_codes(ct_kernel_program(gp->kernel), j);
        if (codes) spread[j] = 1;
        scale[j] = standardize ? spread[j] : 1;
        if (!standardize || codes) shift[j] = 0;
    }
    for (int64_t i = 0; i < rows * cols && !s; i++) x[i] = (x[i] - shift[i % cols]) / scale[i % cols];
    ct_tensor *table = s ? NULL : ct__gp_tensor(gp->device, gp->dtype, shape, x);
    free(x);
    return table;
}
