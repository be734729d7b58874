/* The rows that a model knows. */
#include <stdlib.h>

#include "gp/model/model.h"

/* shift + scale t by column, into `out`: the rows and columns that callers meet. */
static ct_status give(ct_gp *gp, const ct_tensor *t, int64_t cols, const double *shift, const double *scale,
                      ct_tensor *out)
{
    double *x = ct__gp_doubles(t);
    const int64_t all = ct_tensor_dim(t, 1);
    if (x) ct__lens_pick(gp, x, all);
    for (int64_t i = 0; x && i < ct__gp_rows(gp); i++)
        for (int64_t j = 0; j < cols; j++) x[i * cols + j] = shift[j] + scale[j] * x[i * all + j];
    ct_status s = x ? ct__gp_deliver(gp, x, out) : ct_last_status(gp->device);
    free(x);
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
    if (!s && X) s = give(gp, gp->X, ct__gp_cols(gp), gp->shift, gp->scale, X);
    if (!s && y) s = give(gp, gp->y, 1, &gp->y_shift, &gp->y_scale, y);
    return ct__gp_leave(gp, s);
}
