#include "answers.h"

#include <math.h>
#include <stdlib.h>

#include "gp/data/numbers.h"
#include "gp/data/rows.h"
#include "gp/data/table.h"

static ct_status check_shape(ct_device *device, const ct_tensor *Y, int64_t n, int64_t p, const char *what)
{
    if (!Y) return ct_device_fail(device, CT_EINVAL, "%s is NULL", what);
    if (ct_tensor_device(Y) != device)
        return ct_device_fail(device, CT_EDEVICE, "%s lives on another device", what);
    if (ct_tensor_dtype(Y) > CT_F32)
        return ct_device_fail(device, CT_EDTYPE, "%s must be f64 or f32: convert with ct_tensor_cast", what);
    const int ndim = ct_tensor_ndim(Y);
    const bool fits =
        ct_tensor_dim(Y, 0) == n && (ndim == 2 ? ct_tensor_dim(Y, 1) == p : ndim == 1 && p == 1);
    if (fits) return CT_OK;
    return ct_device_fail(
        device, CT_ESHAPE, "%s must be (%lld, %lld); it has %d dimensions, %lld rows, %lld columns", what,
        (long long)n, (long long)p, ndim, (long long)ct_tensor_dim(Y, 0), (long long)ct_tensor_dim(Y, 1));
}

ct_status ct__answers_read(ct_device *device, const ct_tensor *Y, int64_t n, int64_t p, bool missing,
                           const char *what, ct__answers *a)
{
    *a = (ct__answers){ .n = n, .p = p };
    ct_status s = check_shape(device, Y, n, p, what);
    if (!s && !(a->y = ct__gp_doubles(Y))) s = ct_last_status(device);
    for (int64_t i = 0; i < n * p && !s; i++)
        if (isinf(a->y[i]) || (isnan(a->y[i]) && !missing))
            s = ct_device_fail(device, CT_EINVAL,
                               "%s: row %lld, column %lld is %s: leave such rows out or fill them in", what,
                               (long long)(i / p), (long long)(i % p), isnan(a->y[i]) ? "NaN" : "infinite");
    return s;
}

void ct__answers_scale(const ct_outputs *o, ct__answers *a)
{
    for (int64_t i = 0; i < a->n * a->p; i++) a->y[i] = (a->y[i] - o->shift[i % a->p]) / o->scale[i % a->p];
}

/* Copies the values of output j to v. Returns their number. */
static int64_t values_of(const ct__answers *a, int64_t j, double *v)
{
    int64_t count = 0;
    for (int64_t i = 0; i < a->n; i++)
        if (!isnan(a->y[i * a->p + j])) v[count++] = a->y[i * a->p + j];
    return count;
}

ct_status ct__answers_standardize(ct_outputs *o, ct__answers *a)
{
    double *v = ct__gp_alloc(o->device, (uint64_t)a->n, sizeof *v);
    ct_status s = v ? CT_OK : CT_ENOMEM;
    for (int64_t j = 0; j < a->p && !s; j++) {
        const int64_t count = values_of(a, j, v);
        if (count < 2)
            s = ct_device_fail(o->device, CT_EINVAL, "output '%.64s' has %lld values: it needs at least 2",
                               o->column[j].name, (long long)count);
        if (!s) ct__gp_column_moments(v, count, 1, &o->shift[j], &o->scale[j]);
        if (!s) s = ct__check_spread(o->device, o->scale[j], "Y", j);
    }
    free(v);
    if (!s) ct__answers_scale(o, a);
    return s;
}

ct_status ct__answers_rows(ct_device *device, const ct__answers *a, int64_t j, const ct_tensor *X,
                           const ct_tensor *noise, ct_tensor *rows[3])
{
    int64_t count = 0, *row = ct__gp_alloc(device, (uint64_t)a->n, sizeof *row);
    double *v = ct__gp_alloc(device, (uint64_t)a->n, sizeof *v);
    rows[0] = rows[1] = rows[2] = NULL;
    for (int64_t i = 0; i < a->n && row; i++)
        if (!isnan(a->y[i * a->p + j])) row[count++] = i;
    bool taken = row && v && (rows[0] = ct__gp_take_rows(X, a->n, row, count));
    if (taken) values_of(a, j, v);
    taken = taken && (rows[1] = ct_from(device, CT_F64, ct_shape1(count), v)) &&
            (!noise || (rows[2] = ct__gp_take_rows(noise, a->n, row, count)));
    free(row);
    free(v);
    return taken ? CT_OK : ct_last_status(device);
}
