#include "ladder.h"

#include <math.h>

/* Relative to the mean diagonal. */
static const double ladder[] = { 0, 1e-10, 1e-8, 1e-6, 1e-4 };
enum { RUNGS = sizeof ladder / sizeof *ladder };

static ct_status mean_diagonal(ct_gp *gp, const double *s, double *result)
{
    ct_tape_reset(gp->tape);
    ct_var theta = ct__gp_vector(gp, gp->tape, s, gp->params.n_kernel, false),
           X = ct_constant(gp->tape, gp->rows.X);
    *result = ct_item(ct_mean(ct_cov_diag(gp->kernel, theta, X), CT_ALL, false));
    if (ct_tape_status(gp->tape)) return ct__gp_tape_failed(gp, "the kernel");
    ct_tape_reset(gp->tape);
    if (*result == 0)
        return ct_device_fail(gp->device, CT_ENUMERIC,
                              "the covariance is 0 at every row: learn a noise, or take another kernel");
    return isfinite(*result) ? CT_OK : ct__gp_tape_failed(gp, "the diagonal of the covariance matrix");
}

ct_status ct__ladder(ct_gp *gp, const double *s, bool one_rung, ct__rung *attempt, void *context,
                     double *jitter)
{
    double diagonal = 0;
    for (int i = 0; i < (one_rung ? 1 : RUNGS); i++) {
        ct_status status = i == 1 ? mean_diagonal(gp, s, &diagonal) : CT_OK;
        if (status) return status;
        *jitter = ladder[i] * diagonal;
        ct_tape_reset(gp->tape);
        status = attempt(gp, s, *jitter, context);
        if (!status) return CT_OK;
        if (one_rung && ct_tape_status(gp->tape))
            return ct_device_fail(gp->device, ct_tape_status(gp->tape), "%.480s", ct_tape_reason(gp->tape));
        if (status != CT_ENUMERIC)
            return ct_tape_status(gp->tape) ? ct__gp_tape_failed(gp, "the likelihood") : status;
    }
    return ct__gp_tape_failed(gp,
                              ct_tape_status(gp->tape)
                                  ? "the covariance matrix, even with a jitter of 1e-4 of its mean diagonal"
                                  : "the likelihood");
}
