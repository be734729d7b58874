#include "target.h"

#include <stdint.h>
#include <stdlib.h>

#include "numbers.h"

/* Sets the constant of √y: a quarter of the smallest positive number, or of 1 (transform.h). */
static void measure(ct__target *t, const double *y, int64_t n)
{
    double least = INFINITY;
    for (int64_t i = 0; i < n; i++)
        if (y[i] > 0) least = fmin(least, y[i]);
    t->transform.least = 0.25 * (isfinite(least) ? least : 1);
}

/* The largest power of ten of which each y is a multiple; 0 if it is below a ten-thousandth of the range. */
static double step_of(const double *y, int64_t n)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < n; i++) low = fmin(low, y[i]), high = fmax(high, y[i]);
    for (double step = pow(10, ceil(log10(high - low))); step > 1e-4 * (high - low); step /= 10) {
        int64_t i = 0;
        while (i < n && fabs(y[i] / step - round(y[i] / step)) < 1e-3) i++;
        if (i == n) return step;
    }
    return 0;
}

/* A y that is not finite is left to the check of all numbers. */
static ct_status transform(const ct__target *t, ct_device *device, double *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double z = ct_transform_value(t->transform, y[i]);
        if (isnan(z) && isfinite(y[i]))
            return ct_device_fail(device, CT_EINVAL,
                                  "y: row %lld is %g, and the transform %s takes %s: leave such rows out, or "
                                  "take another transform",
                                  (long long)i, y[i], ct_transform_name(t->transform.kind),
                                  ct_transform_domain(t->transform.kind));
        if (isfinite(y[i])) y[i] = z;
    }
    return CT_OK;
}

ct_tensor *ct__target_of(ct__target *t, const ct_tensor *y, bool first)
{
    const bool same = t->transform.kind == CT_TRANSFORM_NONE;
    if (same && !first) return ct_retain((ct_tensor *)(uintptr_t)y);
    const int64_t n = ct_tensor_count(y);
    ct_device *device = ct_tensor_device(y);
    ct_tensor *of = NULL;
    double *z = ct__gp_doubles(y);
    if (z && first && t->transform.kind == CT_TRANSFORM_SQRT) measure(t, z, n);
    if (z && same) {
        t->step = step_of(z, n);
        of = ct_retain((ct_tensor *)(uintptr_t)y);
    } else if (z && !transform(t, device, z, n)) {
        of = ct__gp_tensor(device, CT_F64, ct_shape2(n, 1), z);
    }
    free(z);
    return of;
}

double ct__target_at(const ct__target *t, double s)
{
    return ct_transform_inverse(t->transform, t->shift + t->scale * s);
}

double ct__target_slope(const ct__target *t, double s)
{
    if (t->transform.kind == CT_TRANSFORM_NONE) return 0;
    return ct_transform_log_slope(t->transform, ct__target_at(t, s));
}

ct_status ct__target_sum_slopes(ct__target *t)
{
    t->log_slopes = 0;
    if (t->transform.kind == CT_TRANSFORM_NONE) return CT_OK;
    ct_device *device = ct_tensor_device(t->y);
    double *s = ct__gp_doubles(t->y);
    ct_status status = s ? CT_OK : ct_last_status(device);
    for (int64_t i = 0; i < ct_tensor_count(t->y) && !status; i++) {
        const double slope = ct__target_slope(t, s[i]);
        t->log_slopes += slope;
        if (!isfinite(slope))
            status = ct_device_fail(
                device, CT_EINVAL,
                "y: row %lld is too near the end of the domain of the transform %s, %s: leave "
                "such rows out",
                (long long)i, ct_transform_name(t->transform.kind), ct_transform_domain(t->transform.kind));
    }
    free(s);
    return status;
}
