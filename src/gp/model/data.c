/* The rows of a model. */
#include <stdlib.h>

#include "exchange.h"
#include "gp/data/numbers.h"

/* Gives the rows that callers see of X, without the columns that they do not see, or of y. */
static ct_status give(ct_gp *gp, bool of_X, ct_tensor *out)
{
    const int64_t all = of_X ? gp->rows.d : 1, cols = of_X ? ct__gp_cols(gp) : 1;
    double *x = ct__gp_doubles(of_X ? gp->rows.X : gp->target.y);
    if (!x) return ct_last_status(gp->device);
    ct__one_output_pick(gp->one_output, x, all);
    for (int64_t i = 0; i < ct__gp_rows(gp); i++)
        for (int64_t j = 0; j < cols; j++)
            x[i * cols + j] = of_X ? gp->rows.shift[j] + gp->rows.scale[j] * x[i * all + j]
                                   : ct__target_at(&gp->target, x[i]);
    ct_status s = ct__gp_deliver(gp, x, out);
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
    if (!s && X) s = give(gp, true, X);
    if (!s && y) s = give(gp, false, y);
    return ct__gp_leave(gp, s);
}
