/* The rows that a model knows. */
#include <stdlib.h>

#include "gp/model/model.h"

/* shift + scale t by column, into `out`, which has the shape of t. */
static ct_status give(ct_gp *gp, const ct_tensor *t, int64_t cols, const double *shift, const double *scale,
                      ct_tensor *out)
{
    double *x = ct__gp_doubles(t);
    for (int64_t i = 0; x && i < gp->n; i++)
        for (int64_t j = 0; j < cols; j++) x[i * cols + j] = shift[j] + scale[j] * x[i * cols + j];
    ct_status s = x ? ct__gp_deliver(gp, x, out) : ct_last_status(gp->device);
    free(x);
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
    if (!s && X) s = give(gp, gp->X, gp->d, gp->shift, gp->scale, X);
    if (!s && y) s = give(gp, gp->y, 1, &gp->y_shift, &gp->y_scale, y);
    return ct__gp_leave(gp, s);
}
