#include "find_seasons.h"

#include <math.h>
#include <stdlib.h>

#include "numbers.h"
#include "season.h"
#include "table.h"

/* y[i] = g(y[i]). CT_EINVAL if it or x[i] is then not finite. */
static ct_status transform(ct_device *device, const double *x, double *y, int64_t n, ct_transform_kind kind)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = ct_transform_value((ct_transform){ .kind = kind }, y[i]);
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

ct_status ct__find_seasons_of(const ct_tensor *X, int64_t column, const ct_tensor *y, ct_transform_kind kind,
                              ct_season season[CT_SEASONS], int *count)
{
    ct_device *device = X ? ct_tensor_device(X) : y ? ct_tensor_device(y) : NULL;
    if (count) *count = 0;
    if (!season || !count)
        return ct_device_fail(device, CT_EINVAL, "ct_find_seasons: season or count is NULL");
    ct_status s = ct__check_data(device, X, y, "ct_find_seasons");
    if (s) return s;
    const int64_t n = ct_tensor_dim(X, 0), d = ct_tensor_dim(X, 1);
    if (column < 0 || column >= d)
        return ct_device_fail(device, CT_EINVAL, "ct_find_seasons: column %lld of %lld", (long long)column,
                              (long long)d);
    double *x = ct__gp_column(X, column), *v = x ? ct__gp_doubles(y) : NULL;
    s = v ? transform(device, x, v, n, kind) : ct_last_status(device);
    if (!s) s = ct__find_seasons(device, n, x, v, season, count);
    free(x);
    free(v);
    return s;
}
