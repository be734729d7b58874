/* The rows that a model knows. */
#include <stdlib.h>

#include "gp/model/model.h"

static ct_status give_X(ct_gp *gp, ct_tensor *out)
{
    double *x = ct__gp_doubles(gp->X);
    for (int64_t i = 0; x && i < gp->n * gp->d; i++)
        x[i] = gp->shift[i % gp->d] + gp->scale[i % gp->d] * x[i];
    ct_status s = x ? ct__gp_deliver(gp, x, out) : ct_last_status(gp->device);
    free(x);
    return s;
}

static ct_status give_y(ct_gp *gp, ct_tensor *out)
{
    double *y = ct__gp_doubles(gp->y);
    for (int64_t i = 0; y && i < gp->n; i++) y[i] = ct__target_at(gp, y[i]);
    ct_status s = y ? ct__gp_deliver(gp, y, out) : ct_last_status(gp->device);
    free(y);
    return s;
}

ct_status ct_gp_data(ct_gp *gp, ct_tensor *X, ct_tensor *y)
{
    if (!gp) return CT_EINVAL;
    ct__gp_enter(gp);
    ct_status s = X ? ct__gp_check_inputs(gp, X, "X") : CT_OK;
    if (!s && X && ct_tensor_dim(X, 0) != gp->n)
        s = ct_device_fail(gp->device, CT_ESHAPE, "X: %lld rows, the model has %lld",
                           (long long)ct_tensor_dim(X, 0), (long long)gp->n);
    if (!s) s = ct__gp_check_out(gp, y, gp->n, "y");
    if (!s && X) s = give_X(gp, X);
    if (!s && y) s = give_y(gp, y);
    return ct__gp_leave(gp, s);
}
