/* A model of z = g(y) for the target y: y becomes z on input, and the likelihood is that of y. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "gp/model/model.h"

ct_transform ct_gp_transform(const ct_gp *gp) { return gp ? gp->transform : (ct_transform){ 0 }; }

/* Sets the constant of √y: a quarter of the smallest positive number, or of 1 (transform.h). */
static void measure(ct_gp *gp, const double *y, int64_t n)
{
    double least = INFINITY;
    for (int64_t i = 0; i < n; i++)
        if (y[i] > 0) least = fmin(least, y[i]);
    gp->transform.least = 0.25 * (isfinite(least) ? least : 1);
}

/* A y that is not finite is left to the check of all numbers. */
static ct_status transform(const ct_gp *gp, double *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double z = ct_transform_value(gp->transform, y[i]);
        if (isnan(z) && isfinite(y[i]))
            return ct_device_fail(gp->device, CT_EINVAL,
                                  "y: row %lld is %g, and the transform %s takes %s: leave such rows out, or "
                                  "take another transform",
                                  (long long)i, y[i], ct_transform_name(gp->transform.kind),
                                  ct_transform_domain(gp->transform.kind));
        if (isfinite(y[i])) y[i] = z;
    }
    return CT_OK;
}

ct_tensor *ct__target_of(ct_gp *gp, const ct_tensor *y, bool first)
{
    if (gp->transform.kind == CT_TRANSFORM_NONE) return ct_retain((ct_tensor *)(uintptr_t)y);
    const int64_t n = ct_tensor_count(y);
    double *z = ct__gp_doubles(y);
    if (z && first && gp->transform.kind == CT_TRANSFORM_SQRT) measure(gp, z, n);
    ct_tensor *t = z && !transform(gp, z, n) ? ct__gp_tensor(gp->device, CT_F64, ct_shape2(n, 1), z) : NULL;
    free(z);
    return t;
}

double ct__target_at(const ct_gp *gp, double s)
{
    return ct_transform_inverse(gp->transform, gp->y_shift + gp->y_scale * s);
}

double ct__target_slope(const ct_gp *gp, double s)
{
    if (gp->transform.kind == CT_TRANSFORM_NONE) return 0;
    return ct_transform_log_slope(gp->transform, ct__target_at(gp, s));
}

ct_status ct__target_sum_slopes(ct_gp *gp)
{
    gp->log_slopes = 0;
    if (gp->transform.kind == CT_TRANSFORM_NONE) return CT_OK;
    double *s = ct__gp_doubles(gp->y);
    ct_status status = s ? CT_OK : ct_last_status(gp->device);
    for (int64_t i = 0; i < gp->n && !status; i++) {
        const double slope = ct__target_slope(gp, s[i]);
        gp->log_slopes += slope;
        if (!isfinite(slope))
            status = ct_device_fail(
                gp->device, CT_EINVAL,
                "y: row %lld is too near the end of the domain of the transform %s, %s: leave "
                "such rows out",
                (long long)i, ct_transform_name(gp->transform.kind), ct_transform_domain(gp->transform.kind));
    }
    free(s);
    return status;
}

/* -- predictions in the units of y ----------------------------------------------------------------------- */

ct_status ct_gp_untransform(ct_gp *gp, ct_tensor *z)
{
    if (!gp) return CT_EINVAL;
    if (!z) return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_untransform: z is NULL");
    ct__gp_enter(gp);
    ct_status s = ct__gp_check_numbers(gp, z, "z");
    double *y = s ? NULL : ct__gp_doubles(z);
    if (!s && !y) s = ct_last_status(gp->device);
    for (int64_t i = 0; i < ct_tensor_count(z) && !s; i++) y[i] = ct_transform_inverse(gp->transform, y[i]);
    if (!s) s = ct__gp_deliver(gp, y, z);
    free(y);
    return ct__gp_leave(gp, s);
}

ct_status ct_gp_untransform_moments(ct_gp *gp, ct_tensor *mean, ct_tensor *variance)
{
    if (!gp) return CT_EINVAL;
    if (!mean || !variance)
        return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_untransform_moments: an argument is NULL");
    ct__gp_enter(gp);
    const int64_t m = ct_tensor_count(mean);
    ct_status s = ct__gp_check_out(gp, mean, ct_tensor_dim(mean, 0), "mean");
    if (!s) s = ct__gp_check_out(gp, variance, m, "variance");
    double *of = s ? NULL : ct__gp_doubles(mean), *spread = of ? ct__gp_doubles(variance) : NULL;
    if (!s && !spread) s = ct_last_status(gp->device);
    for (int64_t i = 0; i < m && !s; i++) {
        if (!(spread[i] >= 0))
            s = ct_device_fail(gp->device, CT_EINVAL, "variance: row %lld is %g, which is not a variance",
                               (long long)i, spread[i]);
        ct_transform_moments(gp->transform, of[i], spread[i], &of[i], &spread[i]);
    }
    if (!s) s = ct__gp_check_results(gp, of, mean);
    if (!s) s = ct__gp_check_results(gp, spread, variance);
    if (!s) s = ct__gp_deliver(gp, of, mean);
    if (!s) s = ct__gp_deliver(gp, spread, variance);
    free(of);
    free(spread);
    return ct__gp_leave(gp, s);
}
