#include "find_seasons.h"

#include <math.h>
#include <stdlib.h>

#include "numbers.h"
#include "season.h"

static ct_status check(ct_device *device, const ct_tensor *X, int64_t column, const ct_tensor *y)
{
    if (!y) return ct_device_fail(device, CT_EINVAL, "ct_find_seasons: y is NULL");
    if (ct_tensor_device(y) != device)
        return ct_device_fail(device, CT_EDEVICE, "ct_find_seasons: X and y live on different devices");
    if (ct_tensor_dtype(X) > CT_F32 || ct_tensor_dtype(y) > CT_F32)
        return ct_device_fail(device, CT_EDTYPE,
                              "ct_find_seasons: X and y must be f64 or f32: convert with ct_tensor_cast");
    const int64_t n = ct_tensor_dim(X, 0);
    if (ct_tensor_ndim(X) != 2 || ct_tensor_dim(y, 0) != n || ct_tensor_count(y) != n)
        return ct_device_fail(
            device, CT_ESHAPE,
            "ct_find_seasons: X must be (n, d) and y (n) or (n, 1); they have %lld and %lld "
            "rows",
            (long long)n, (long long)ct_tensor_dim(y, 0));
    if (column < 0 || column >= ct_tensor_dim(X, 1))
        return ct_device_fail(device, CT_EINVAL, "ct_find_seasons: column %lld of %lld", (long long)column,
                              (long long)ct_tensor_dim(X, 1));
    return CT_OK;
}

/* Moves column `column` of x (n, d) to the front, and transforms y. CT_EINVAL if a number is then not
 * finite. */
static ct_status gather(ct_device *device, double *x, double *y, int64_t n, int64_t d, int64_t column,
                        ct_transform_kind transform)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] = x[i * d + column];
        y[i] = ct_transform_value((ct_transform){ .kind = transform }, y[i]);
        if (!isfinite(x[i]) || !isfinite(y[i]))
            return ct_device_fail(device, CT_EINVAL,
                                  "ct_find_seasons: row %lld is not finite: leave such rows out",
                                  (long long)i);
    }
    return CT_OK;
}

ct_status ct_find_seasons(const ct_tensor *X, int64_t column, const ct_tensor *y,
                          ct_season season[CT_SEASONS], int *count)
{
    return ct__find_seasons_of(X, column, y, CT_TRANSFORM_NONE, season, count);
}

ct_status ct__find_seasons_of(const ct_tensor *X, int64_t column, const ct_tensor *y,
                              ct_transform_kind transform, ct_season season[CT_SEASONS], int *count)
{
    ct_device *device = X ? ct_tensor_device(X) : y ? ct_tensor_device(y) : NULL;
    if (count) *count = 0;
    if (!X || !season || !count)
        return ct_device_fail(device, CT_EINVAL, "ct_find_seasons: X, season or count is NULL");
    ct_status s = check(device, X, column, y);
    double *x = s ? NULL : ct__gp_doubles(X), *v = x ? ct__gp_doubles(y) : NULL;
    const int64_t n = ct_tensor_dim(X, 0);
    if (!s && !v) s = ct_last_status(device);
    if (!s) s = gather(device, x, v, n, ct_tensor_dim(X, 1), column, transform);
    if (!s) s = ct__find_seasons(device, n, x, v, season, count);
    free(x);
    free(v);
    return s;
}
