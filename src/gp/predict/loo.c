/* Leave-one-out prediction from one factorisation. With r = y - m(X), α = C⁻¹r, q_i = (C⁻¹)_ii
 *     mean_i = y_i - α_i/q_i,   variance_i = 1/q_i,
 *     log p(y_i | X, y without i) = ½ log q_i - ½ α_i²/q_i - ½ log 2π
 * With a basis in the mean P (likelihood/restricted.c) replaces C⁻¹, so that each row's β is estimated
 * without it. [Rasmussen & Williams 2006, eqs 5.10-5.12; Sundararajan & Keerthi 2001; Dubrule 1983] */
#include "loo.h"

#include <math.h>
#include <stdlib.h>

#include <cotangent/gp/loo.h>
#include <cotangent/gp/update.h>

#include "gp/data/numbers.h"
#include "gp/data/trend.h"
#include "gp/factor/inverse_diagonal.h"
#include "gp/likelihood/factorise.h"
#include "gp/likelihood/table.h"
#include "gp/model/exchange.h"
#include "left_out.h"
#include "trend_posterior.h"

static ct_status leave_one(ct_gp *gp, const int64_t *fold, const double *alpha, double *error,
                           double *variance)
{
    (void)fold;
    double *q = variance;
    ct_status s = ct__gp_fetch_line(gp, ct__inverse_diagonal, "the leave-one-out prediction", q);
    if (!s && gp->mean.trend) s = ct__trend_leave_out(gp, q);
    for (int64_t i = 0; i < gp->rows.n && !s; i++) {
        if (!(q[i] > 0 && isfinite(q[i])))
            s = ct_device_fail(gp->device, CT_ENUMERIC,
                               "row %lld cannot be left out: its variance given the others is not a number, "
                               "raise the noise",
                               (long long)i);
        error[i] = alpha[i] / q[i];
        variance[i] = 1 / q[i];
    }
    return s;
}

ct_status ct_gp_loo(ct_gp *gp, ct_tensor *mean, ct_tensor *variance, ct_tensor *log_density)
{
    ct_tensor *const out[] = { mean, variance, log_density };
    return gp ? ct__left_out_into(gp, leave_one, NULL, out) : CT_EINVAL;
}

ct_status ct__gp_loo_squares(ct_gp *gp, double *sum)
{
    double *error = NULL, *variance, *alpha;
    ct_status s = ct__gp_factorise(gp);
    if (!s)
        s = ct__gp_arrays(gp->device, (uint64_t)gp->rows.n, (double **[]){ &error, &variance, &alpha }, 3);
    if (!s) s = ct__gp_read(gp->factor.alpha, alpha);
    if (!s) s = leave_one(gp, NULL, alpha, error, variance);
    *sum = 0;
    for (int64_t i = 0; i < gp->rows.n && !s; i++) *sum += error[i] * alpha[i]; /* e²/v */
    free(error);
    if (s || isfinite(*sum)) return s;
    return ct_device_fail(gp->device, CT_ENUMERIC,
                          "some leave-one-out residuals are not finite: look for a y far from all others");
}

static ct_status density(ct_gp *gp, double *sum)
{
    double *part[3];
    ct_status s = ct__left_out(gp, leave_one, NULL, part);
    *sum = 0;
    for (int64_t i = 0; i < ct__gp_rows(gp) && !s; i++) *sum += part[2][i];
    free(part[0]);
    if (s || isfinite(*sum)) return s;
    return ct_device_fail(
        gp->device, CT_ENUMERIC,
        "ct_gp_loo_ablation: the sum of the log densities is not finite: bring the data to a "
        "scale near 1");
}

/* -- without some columns -------------------------------------------------------------------------------- */

/* A copy of gp->rows.X with these columns set to their means. */
static ct_tensor *held(ct_gp *gp, const int64_t *columns, int64_t count)
{
    double *x = ct__gp_doubles(gp->rows.X);
    for (int64_t k = 0; k < count && x; k++) {
        double *column = x + columns[k], sum = 0;
        for (int64_t i = 0; i < gp->rows.n; i++) sum += column[i * gp->rows.d];
        for (int64_t i = 0; i < gp->rows.n; i++) column[i * gp->rows.d] = sum / (double)gp->rows.n;
    }
    ct_tensor *X = ct__gp_tensor(gp->device, gp->rows.dtype, ct_shape2(gp->rows.n, gp->rows.d), x);
    free(x);
    return X;
}

ct_status ct_gp_loo_ablation(ct_gp *gp, const int64_t *columns, int64_t count, double *log_density)
{
    if (!gp) return CT_EINVAL;
    if (!log_density || count < 0 || (count && !columns))
        return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_loo_ablation: an argument is NULL or negative");
    *log_density = NAN;
    for (int64_t k = 0; k < count; k++)
        if (columns[k] < 0 || columns[k] >= ct__gp_cols(gp))
            return ct_device_fail(gp->device, CT_EINDEX, "ct_gp_loo_ablation: column %lld of %lld",
                                  (long long)columns[k], (long long)ct__gp_cols(gp));
    ct__gp_enter(gp);
    ct_gp *without = ct_gp_copy(gp);
    if (!without) return ct__gp_leave(gp, ct_last_status(gp->device));
    if (count) {
        ct__kept_drop(&without->factor);
        ct_release(without->rows.X);
        without->rows.X = held(gp, columns, count);
    }
    ct_status s = without->rows.X ? CT_OK : ct_last_status(gp->device);
    if (!s && count && gp->mean.basis) {
        ct__trend_drop(&without->mean);
        s = ct__trend_make(&without->mean, &without->rows, without->target.y, true);
        ct__likelihood_take(without, 0);
    }
    if (!s) s = density(without, log_density);
    ct_gp_free(without);
    s = ct__gp_leave(gp, s);
    if (s) *log_density = NAN;
    return s;
}
