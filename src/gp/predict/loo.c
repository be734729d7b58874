/* Leave-one-out prediction from one factorisation. With r = y - m(X), α = C⁻¹r, q_i = (C⁻¹)_ii
 *     mean_i = y_i - α_i/q_i,   variance_i = 1/q_i,
 *     log p(y_i | X, y without i) = ½ log q_i - ½ α_i²/q_i - ½ log 2π
 * With a basis in the mean P (likelihood/restricted.c) replaces C⁻¹, so that each row's β is estimated without it.
 * [Rasmussen & Williams 2006, eqs 5.10-5.12; Sundararajan & Keerthi 2001; Dubrule 1983] */
#include "loo.h"

#include <math.h>
#include <stdlib.h>

#include "gp/data/numbers.h"
#include "gp/data/trend.h"
#include "gp/factor/inverse_diagonal.h"
#include "gp/kernel/prior.h"
#include "gp/likelihood/factorise.h"
#include "gp/likelihood/table.h"
#include "gp/model/exchange.h"
#include "trend_posterior.h"

/* y, α and q, n numbers each, in part[0..3). Free part[0]. */
static ct_status parts_of(ct_gp *gp, double *part[3])
{
    part[0] = NULL;
    ct_status s = ct__gp_factorise(gp);
    if (!s)
        s = ct__gp_arrays(gp->device, (uint64_t)gp->rows.n, (double **[]){ &part[0], &part[1], &part[2] }, 3);
    if (s) return s;
    s = ct__gp_fetch_line(gp, ct__inverse_diagonal, "the leave-one-out prediction", part[2]);
    if (!s && gp->mean.trend) s = ct__trend_leave_out(gp, part[2]);
    if (!s) s = ct__gp_read(gp->target.y, part[0]);
    if (!s) s = ct__gp_read(gp->factor.alpha, part[1]);
    for (int64_t i = 0; i < gp->rows.n && !s; i++)
        if (!(part[2][i] > 0 && isfinite(part[2][i])))
            s = ct_device_fail(gp->device, CT_ENUMERIC,
                               "row %lld cannot be left out: its variance given the others is not a number, "
                               "raise the noise",
                               (long long)i);
    return s;
}

/* Replaces y, α and q by mean and variance of g(y) and log density of y, in the units of the data. */
static void predict(const ct_gp *gp, double *const part[3])
{
    double *y = part[0], *alpha = part[1], *q = part[2];
    for (int64_t i = 0; i < gp->rows.n; i++) {
        double error = alpha[i] / q[i], variance = gp->target.scale * gp->target.scale / q[i];
        q[i] = 0.5 * (log(q[i]) - alpha[i] * error - CT__LOG_2PI) - log(gp->target.scale) +
               ct__target_slope(&gp->target, y[i]);
        y[i] = gp->target.shift + gp->target.scale * (y[i] - error);
        alpha[i] = variance;
    }
}

ct_status ct_gp_loo(ct_gp *gp, ct_tensor *mean, ct_tensor *variance, ct_tensor *log_density)
{
    static const char *const what[] = { "mean", "variance", "log_density" };
    ct_tensor *out[] = { mean, variance, log_density };
    double *part[3] = { NULL };
    ct_status s = CT_OK;
    if (!gp) return CT_EINVAL;
    ct__gp_enter(gp);
    for (int k = 0; k < 3 && !s; k++) s = ct__gp_check_out(gp, out[k], ct__gp_rows(gp), what[k]);
    if (!s) s = parts_of(gp, part);
    if (!s) predict(gp, part);
    for (int k = 0; k < 3 && !s; k++) ct__lens_pick(gp->lens, part[k], 1);
    for (int k = 0; k < 3 && !s; k++)
        if (out[k]) s = ct__gp_deliver(gp, part[k], out[k]);
    free(part[0]);
    return ct__gp_leave(gp, s);
}

ct_status ct__gp_loo_sum(ct_gp *gp, bool densities, double *sum)
{
    double *part[3];
    ct_status s = parts_of(gp, part);
    if (!s && densities) predict(gp, part);
    for (int k = 0; k < 3 && !s && densities; k++) ct__lens_pick(gp->lens, part[k], 1);
    *sum = 0;
    for (int64_t i = 0; i < (densities ? ct__gp_rows(gp) : gp->rows.n) && !s; i++)
        *sum += densities ? part[2][i] : part[1][i] / part[2][i] * part[1][i];
    free(part[0]);
    if (s || isfinite(*sum)) return s;
    return ct_device_fail(gp->device, CT_ENUMERIC,
                          densities ? "ct_gp_loo_without: the sum of the log densities is not finite: bring "
                                      "the data to a scale near 1"
                                    : "some leave-one-out residuals are not finite: look for a y far from "
                                      "all others");
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

ct_status ct_gp_loo_without(ct_gp *gp, const int64_t *columns, int64_t count, double *log_density)
{
    if (!gp) return CT_EINVAL;
    if (!log_density || count < 0 || (count && !columns))
        return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_loo_without: an argument is NULL or negative");
    *log_density = NAN;
    for (int64_t k = 0; k < count; k++)
        if (columns[k] < 0 || columns[k] >= ct__gp_cols(gp))
            return ct_device_fail(gp->device, CT_EINDEX, "ct_gp_loo_without: column %lld of %lld",
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
    if (!s) s = ct__gp_loo_sum(without, true, log_density);
    ct_gp_free(without);
    s = ct__gp_leave(gp, s);
    if (s) *log_density = NAN;
    return s;
}
