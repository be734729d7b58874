/* Leave-one-out prediction from one factorisation: with r = y - m(X), α = C⁻¹r, q_i = (C⁻¹)_ii
 *     mean_i = y_i - α_i/q_i,   variance_i = 1/q_i,   log p(y_i | X, y without i) = ½ log q_i - ½ α_i²/q_i - ½ log 2π
 * [Rasmussen & Williams 2006, eqs 5.10-5.12; Sundararajan & Keerthi 2001] */
#include <math.h>
#include <stdlib.h>

#include "model.h"
#include "packed.h"

/* y, α and q as doubles, one after another. */
static ct_status parts(ct_gp *gp, double *y, double *alpha, double *q)
{
    size_t bytes = (size_t)gp->n * sizeof *q;
    ct_tape_reset(gp->tape);
    ct_var in[] = { ct_constant(gp->tape, gp->factor.L), ct_constant(gp->tape, gp->factor.alpha) };
    ct_tensor *diagonal = ct_value(ct_apply(&ct__op_packed_inverse_diag, in, 2, NULL, 0));
    ct_tensor *source[] = { gp->y, gp->factor.alpha, diagonal };
    double *target[] = { y, alpha, q };
    ct_status s = diagonal ? CT_OK : ct__gp_tape_failed(gp, "the leave-one-out prediction");
    for (int k = 0; k < 3 && !s; k++) {
        ct_tensor *f64 = ct_tensor_cast(source[k], CT_F64);
        s = f64 ? ct_read(f64, target[k], bytes) : CT_ENOMEM;
        ct_release(f64);
    }
    ct_tape_reset(gp->tape);
    for (int64_t i = 0; i < gp->n && !s; i++)
        if (!(q[i] > 0 && isfinite(q[i])))
            s = ct_device_fail(gp->device, CT_ENUMERIC,
                               "row %lld cannot be left out: its variance given the others is not a number, "
                               "raise the noise",
                               (long long)i);
    return s;
}

ct_status ct_gp_loo(ct_gp *gp, ct_tensor *mean, ct_tensor *variance, ct_tensor *log_density)
{
    if (!gp) return CT_EINVAL;
    int64_t n = gp->n;
    ct_status s = ct__gp_check_out(gp, mean, n, "mean");
    if (!s) s = ct__gp_check_out(gp, variance, n, "variance");
    if (!s) s = ct__gp_check_out(gp, log_density, n, "log_density");
    if (!s) s = ct__gp_factorise(gp);
    if (s) return s;
    double *y = ct__gp_alloc(gp->device, 3 * (uint64_t)n, sizeof *y);
    if (!y) return CT_ENOMEM;
    double *alpha = y + n, *q = alpha + n;
    s = parts(gp, y, alpha, q);
    for (int64_t i = 0; i < n && !s; i++) {
        double error = alpha[i] / q[i], variance_i = gp->y_scale * gp->y_scale / q[i];
        double density = 0.5 * (log(q[i]) - alpha[i] * error - CT__LOG_2PI) - log(gp->y_scale);
        y[i] = gp->y_shift + gp->y_scale * (y[i] - error);
        alpha[i] = variance_i;
        q[i] = density;
    }
    if (!s && mean) s = ct__gp_deliver(gp, y, mean);
    if (!s && variance) s = ct__gp_deliver(gp, alpha, variance);
    if (!s && log_density) s = ct__gp_deliver(gp, q, log_density);
    free(y);
    return s;
}
