/* Predictions of z = g(y), converted to the units of y. */
#include <stdlib.h>

#include <cotangent/gp/predict.h>

#include "gp/data/numbers.h"
#include "gp/model/exchange.h"
#include "gp/model/model.h"

ct_status ct_gp_untransform(ct_gp *gp, ct_tensor *z)
{
    if (!gp) return CT_EINVAL;
    if (!z) return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_untransform: z is NULL");
    ct__gp_enter(gp);
    ct_status s = ct__gp_check_numbers(gp, z, "z");
    double *y = s ? NULL : ct__gp_doubles(z);
    if (!s && !y) s = ct_last_status(gp->device);
    for (int64_t i = 0; i < ct_tensor_count(z) && !s; i++)
        y[i] = ct_transform_inverse(gp->target.transform, y[i]);
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
        ct_transform_moments(gp->target.transform, of[i], spread[i], &of[i], &spread[i]);
    }
    if (!s) s = ct__gp_check_results(gp, of, mean);
    if (!s) s = ct__gp_check_results(gp, spread, variance);
    if (!s) s = ct__gp_deliver(gp, of, mean);
    if (!s) s = ct__gp_deliver(gp, spread, variance);
    free(of);
    free(spread);
    return ct__gp_leave(gp, s);
}
