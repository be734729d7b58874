/* The caller's tensors: what is read and written is checked, and numbers are converted on the way. */
#include <math.h>
#include <stdlib.h>

#include "gp/model/model.h"

ct_status ct__gp_check_out(ct_gp *gp, const ct_tensor *out, int64_t m, const char *what)
{
    if (!out) return CT_OK;
    int ndim = ct_tensor_ndim(out);
    bool fits = (ndim == 1 || (ndim == 2 && ct_tensor_dim(out, 1) == 1)) && ct_tensor_dim(out, 0) == m;
    if (!fits)
        return ct_device_fail(gp->device, CT_ESHAPE,
                              "%s: %lld elements in %d dimensions, must be (%lld) or (%lld, 1)", what,
                              (long long)ct_tensor_count(out), ndim, (long long)m, (long long)m);
    if (ct_tensor_dtype(out) == CT_I64)
        return ct_device_fail(gp->device, CT_EDTYPE, "%s must be f64 or f32", what);
    if (ct_tensor_device(out) != gp->device)
        return ct_device_fail(gp->device, CT_EDEVICE, "%s lives on another device than the model", what);
    return CT_OK;
}

double *ct__gp_points(ct_gp *gp, const ct_tensor *Xs, int64_t *m)
{
    double *x = NULL;
    *m = Xs ? ct_tensor_dim(Xs, 0) : 0;
    if (!Xs)
        ct_device_fail(gp->device, CT_EINVAL, "Xs is NULL");
    else if (ct_tensor_ndim(Xs) != 2 || ct_tensor_dim(Xs, 1) != gp->d)
        ct_device_fail(gp->device, CT_ESHAPE,
                       "Xs: %lld columns in %d dimensions, must be (m, %lld) as in training",
                       (long long)ct_tensor_dim(Xs, 1), ct_tensor_ndim(Xs), (long long)gp->d);
    else if (ct_tensor_device(Xs) != gp->device)
        ct_device_fail(gp->device, CT_EDEVICE, "Xs lives on another device than the model");
    else if (ct_tensor_dtype(Xs) == CT_I64)
        ct_device_fail(gp->device, CT_EDTYPE, "Xs must be f64 or f32: convert with ct_tensor_cast");
    else
        x = ct__gp_doubles(Xs);
    if (!x || !ct__gp_check_finite(gp->device, x, *m, gp->d, "Xs")) return x;
    free(x);
    return NULL;
}

ct_status ct__gp_deliver(ct_gp *gp, const double *host, ct_tensor *out)
{
    bool narrow = ct_tensor_dtype(out) == CT_F32;
    for (int64_t i = 0; i < ct_tensor_count(out); i++)
        if (!isfinite(narrow ? (float)host[i] : host[i]))
            return ct_device_fail(gp->device, CT_ENUMERIC,
                                  "element %lld of the result is %g, which %s does not hold: %s",
                                  (long long)i, host[i], ct_dtype_name(ct_tensor_dtype(out)),
                                  narrow ? "take f64" : "bring the data to a scale near 1");
    ct_tensor *t = ct_from(gp->device, CT_F64, ct_tensor_shape(out), host);
    ct_status s = t ? ct_copy(t, out) : CT_ENOMEM;
    ct_release(t);
    return s;
}

ct_status ct__gp_fetch(ct_gp *gp, ct_var v, const char *what, double *out, int64_t count)
{
    ct_tensor *t = ct_value(v);
    if (!t) return ct__gp_tape_failed(gp, what);
    ct_tensor *f64 = ct_tensor_cast(t, CT_F64);
    ct_status s = f64 ? ct_read(f64, out, (size_t)count * sizeof *out) : ct_last_status(gp->device);
    ct_release(f64);
    return s;
}
