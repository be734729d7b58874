#include "exchange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gp/data/numbers.h"
#include "gp/data/table.h"

ct_status ct__gp_check_numbers(ct_gp *gp, const ct_tensor *t, const char *what)
{
    if (ct_tensor_dtype(t) == CT_I64)
        return ct_device_fail(gp->device, CT_EDTYPE, "%s must be f64 or f32: convert with ct_tensor_cast",
                              what);
    if (ct_tensor_device(t) != gp->device)
        return ct_device_fail(gp->device, CT_EDEVICE, "%s lives on another device than the model", what);
    return CT_OK;
}

ct_status ct__gp_check_out(ct_gp *gp, const ct_tensor *out, int64_t m, const char *what)
{
    if (!out) return CT_OK;
    int ndim = ct_tensor_ndim(out);
    if (ct_tensor_dim(out, 0) != m || !(ndim == 1 || (ndim == 2 && ct_tensor_dim(out, 1) == 1)))
        return ct_device_fail(gp->device, CT_ESHAPE,
                              "%s: %lld elements in %d dimensions, must be (%lld) or (%lld, 1)", what,
                              (long long)ct_tensor_count(out), ndim, (long long)m, (long long)m);
    return ct__gp_check_numbers(gp, out, what);
}

ct_status ct__gp_check_inputs(ct_gp *gp, const ct_tensor *X, const char *what)
{
    if (!X) return ct_device_fail(gp->device, CT_EINVAL, "%s is NULL", what);
    if (ct_tensor_ndim(X) != 2 || ct_tensor_dim(X, 1) != ct__gp_cols(gp))
        return ct_device_fail(gp->device, CT_ESHAPE,
                              "%s: %lld columns in %d dimensions, must be (rows, %lld) as in training", what,
                              (long long)ct_tensor_dim(X, 1), ct_tensor_ndim(X), (long long)ct__gp_cols(gp));
    return ct__gp_check_numbers(gp, X, what);
}

/* Levels may also be i64. */
ct_status ct__gp_check_noise(ct_gp *gp, const ct_tensor *noise, int64_t rows, const char *what)
{
    const bool whole = gp->noise.kind == CT_NOISE_BY_LEVEL && noise && ct_tensor_dtype(noise) == CT_I64;
    if (whole && ct_tensor_device(noise) == gp->device && ct_tensor_count(noise) == rows) return CT_OK;
    return ct__gp_check_out(gp, noise, rows, what);
}

ct_status ct__gp_check_results(ct_gp *gp, const double *host, const ct_tensor *out)
{
    bool narrow = ct_tensor_dtype(out) == CT_F32;
    for (int64_t i = 0; i < ct_tensor_count(out); i++)
        if (!isfinite(narrow ? (float)host[i] : host[i]))
            return ct_device_fail(gp->device, CT_ENUMERIC,
                                  "element %lld of the result is %g, which %s does not hold: %s",
                                  (long long)i, host[i], ct_dtype_name(ct_tensor_dtype(out)),
                                  narrow ? "take f64" : "bring the data to a scale near 1");
    return CT_OK;
}

ct_tensor *ct__gp_points(const ct_gp *gp, const ct_tensor *Xs)
{
    const int64_t m = ct_tensor_dim(Xs, 0), d = ct__gp_cols(gp), all = gp->rows.d;
    ct_tensor *points = ct__table(gp->device, gp->rows.dtype, Xs, ct_shape2(m, d), "Xs",
                                  (ct__units){ .shift = gp->rows.shift, .scale = gp->rows.scale });
    if (!gp->one_output || !points) return points;
    double *x = ct__gp_alloc(gp->device, (uint64_t)(m * all), sizeof *x);
    const bool read = x && !ct__gp_read(points, x);
    for (int64_t i = m; i-- > 0 && read;) {
        memmove(x + i * all, x + i * d, (size_t)d * sizeof *x);
        x[i * all + d] = (double)gp->one_output->code;
    }
    ct_release(points);
    points = read ? ct__gp_tensor(gp->device, gp->rows.dtype, ct_shape2(m, all), x) : NULL;
    free(x);
    return points;
}

ct_status ct__gp_deliver(ct_gp *gp, double *host, ct_tensor *out)
{
    const size_t bytes = (size_t)ct_tensor_count(out) * sizeof *host;
    ct_status s = ct__comm_agree_broadcast(gp->options.comm, gp->device, CT_OK, host, bytes);
    if (!s) s = ct__gp_check_results(gp, host, out);
    if (s) return s;
    ct_tensor *t = ct_from(gp->device, CT_F64, ct_tensor_shape(out), host);
    s = t ? ct_copy(t, out) : CT_ENOMEM;
    ct_release(t);
    return s;
}

ct_status ct__gp_fetch(ct_gp *gp, ct_var v, const char *what, double *out)
{
    ct_tensor *t = ct_value(v);
    return t ? ct__gp_read(t, out) : ct__gp_tape_failed(gp, what);
}

ct_status ct__gp_close_with(ct_gp *gp, ct_call *c, ct_view x, const char *what, double *out)
{
    ct_tensor *t = ct_tensor_of(c, x);
    if (!ct_scope_close(c)) return ct__gp_unload(t, out);
    ct_release(t);
    return ct__gp_tape_failed(gp, what);
}

ct_status ct__gp_fetch_line(ct_gp *gp, void (*line_of)(ct_call *c, const ct__factor *L, ct_view line),
                            const char *what, double *out)
{
    ct_tape_reset(gp->tape);
    ct_call *c = ct_scope_open(gp->tape, what);
    ct__factor L = ct__gp_factor_of(gp);
    ct_view line = ct_scratch(c, gp->rows.dtype, ct_shape1(gp->rows.n));
    line_of(c, &L, line);
    return ct__gp_close_with(gp, c, line, what, out);
}
