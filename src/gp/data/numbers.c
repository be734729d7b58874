#include "numbers.h"

#include <stdlib.h>

void *ct__gp_alloc(ct_device *device, uint64_t count, size_t size)
{
    void *p = count < SIZE_MAX / 2 / size ? calloc(count ? (size_t)count : 1, size) : NULL;
    if (!p) ct_device_fail(device, CT_ENOMEM, "out of memory: %llu numbers", (unsigned long long)count);
    return p;
}

ct_status ct__gp_arrays(ct_device *device, uint64_t n, double **const array[], int count)
{
    double *all = ct__gp_alloc(device, n * (uint64_t)count, sizeof *all);
    for (int k = 0; k < count && all; k++) *array[k] = all + (uint64_t)k * n;
    return all ? CT_OK : CT_ENOMEM;
}

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

double *ct__gp_column(const ct_tensor *t, int64_t column)
{
    const int64_t n = ct_tensor_dim(t, 0), d = ct_tensor_dim(t, 1);
    double *x = ct__gp_doubles(t);
    for (int64_t i = 0; i < n && x; i++) x[i] = x[i * d + column];
    return x;
}

ct_status ct__gp_unload(ct_tensor *t, double *out)
{
    ct_status s = t ? ct__gp_read(t, out) : CT_ENOMEM;
    ct_release(t);
    return s;
}

ct_tensor *ct__gp_tensor(ct_device *device, ct_dtype dtype, ct_shape shape, const double *x)
{
    ct_tensor *f64 = x ? ct_from(device, CT_F64, shape, x) : NULL;
    if (!f64 || dtype == CT_F64) return f64;
    ct_tensor *t = ct_tensor_cast(f64, dtype);
    ct_release(f64);
    return t;
}

ct_tensor *ct__tensor_on(ct_device *device, ct_tensor *t)
{
    if (!t || ct_tensor_device(t) == device) return ct_retain(t);
    return ct_wrap(device, ct_tensor_dtype(t), ct_tensor_shape(t), ct_tensor_data(t), NULL, NULL);
}

int ct__rising(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}
