/* The rows of a model. */
#include <stdlib.h>

#include "exchange.h"
#include "gp/data/numbers.h"

/* The rows and columns of X that callers see (ct__lens). */
static ct_status give_X(ct_gp *gp, ct_tensor *out)
{
    double *x = ct__gp_doubles(gp->rows.X);
    const int64_t d = ct__gp_cols(gp);
    if (x) ct__lens_pick(gp->lens, x, gp->rows.d);
    for (int64_t i = 0; x && i < ct__gp_rows(gp); i++)
        for (int64_t j = 0; j < d; j++)
            x[i * d + j] = gp->rows.shift[j] + gp->rows.scale[j] * x[i * gp->rows.d + j];
    ct_status s = x ? ct__gp_deliver(gp, x, out) : ct_last_status(gp->device);
    free(x);
    return s;
}

static ct_status give_y(ct_gp *gp, ct_tensor *out)
{
    double *y = ct__gp_doubles(gp->target.y);
    if (y) ct__lens_pick(gp->lens, y, 1);
    for (int64_t i = 0; y && i < ct__gp_rows(gp); i++) y[i] = ct__target_at(&gp->target, y[i]);
    ct_status s = y ? ct__gp_deliver(gp, y, out) : ct_last_status(gp->device);
    free(y);
    return s;
}

ct_status ct_gp_data(ct_gp *gp, ct_tensor *X, ct_tensor *y)
{
    if (!gp) return CT_EINVAL;
    ct__gp_enter(gp);
    ct_status s = X ? ct__gp_check_inputs(gp, X, "X") : CT_OK;
    if (!s && X && ct_tensor_dim(X, 0) != ct__gp_rows(gp))
        s = ct_device_fail(gp->device, CT_ESHAPE, "X: %lld rows, the model has %lld",
                           (long long)ct_tensor_dim(X, 0), (long long)ct__gp_rows(gp));
    if (!s) s = ct__gp_check_out(gp, y, ct__gp_rows(gp), "y");
    if (!s && X) s = give_X(gp, X);
    if (!s && y) s = give_y(gp, y);
    return ct__gp_leave(gp, s);
}
