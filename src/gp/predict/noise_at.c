#include "noise_at.h"

#include <math.h>
#include <stdlib.h>

#include <cotangent/gp/predict.h>

#include "gp/data/numbers.h"
#include "gp/model/exchange.h"

/* The present value of the noise's parameter k. */
static double value_of(const ct_gp *gp, int64_t k) { return gp->params.param[gp->params.noise_at + k].value; }

double ct_gp_noise_variance(const ct_gp *gp)
{
    if (gp && gp->lens) return value_of(gp, gp->lens->code);
    if (!gp || (gp->noise.kind != CT_NOISE_LEARNED && gp->noise.kind != CT_NOISE_GIVEN_PLUS)) return 0;
    return value_of(gp, 0);
}

ct_status ct__noise_average(const ct_gp *gp, double *variance)
{
    const bool by_level = gp->noise.kind == CT_NOISE_BY_LEVEL;
    double *given = NULL, sum = 0;
    *variance = ct_gp_noise_variance(gp);
    if (!gp->noise.given || gp->lens) return CT_OK;
    if (!(given = ct__gp_doubles(gp->noise.given))) return ct_last_status(gp->device);
    for (int64_t i = 0; i < gp->rows.n; i++)
        sum += by_level ? value_of(gp, (int64_t)given[i]) : given[i] * gp->target.scale * gp->target.scale;
    *variance += sum / (double)gp->rows.n;
    free(given);
    return CT_OK;
}

/* CT_NOISE_LOG_LINEAR at the m rows of Xs. */
static ct_status at_inputs(const ct_gp *gp, const ct_tensor *Xs, int64_t m, double *variance)
{
    const int64_t d = gp->rows.d;
    double *x = ct__gp_doubles(Xs);
    if (!x) return ct_last_status(gp->device);
    for (int64_t i = 0; i < m; i++) {
        double log_variance = value_of(gp, 0);
        for (int64_t j = 0; j < d; j++)
            log_variance += value_of(gp, 1 + j) * (x[i * d + j] - gp->rows.shift[j]);
        variance[i] = exp(log_variance);
    }
    free(x);
    return CT_OK;
}

/* Replaces the level v[i] by its variance, and NaN by the average; or adds the learned variance to the given
 * v[i]. */
static ct_status complete(const ct_gp *gp, double *v, int64_t i, double average)
{
    const bool by_level = gp->noise.kind == CT_NOISE_BY_LEVEL, known = !isnan(v[i]);
    if (by_level && known && ct__noise_find_level(&gp->noise, gp->device, v, i, "noise")) return CT_EINVAL;
    if (!by_level && !(v[i] >= 0 && isfinite(v[i])))
        return ct_device_fail(gp->device, CT_EINVAL, "noise: row %lld is %g, which is not a variance",
                              (long long)i, v[i]);
    v[i] = !by_level ? v[i] + ct_gp_noise_variance(gp) : known ? value_of(gp, (int64_t)v[i]) : average;
    return CT_OK;
}

ct_status ct__noise_at(const ct_gp *gp, const ct_tensor *Xs, const ct_tensor *noise, double *variance)
{
    const int64_t m = ct_tensor_dim(Xs, 0);
    double average;
    if (!noise && gp->noise.kind == CT_NOISE_LOG_LINEAR) return at_inputs(gp, Xs, m, variance);
    ct_status s = ct__noise_average(gp, &average);
    if (!s && noise) s = ct__gp_read(noise, variance);
    for (int64_t i = 0; i < m && !s; i++)
        if (noise)
            s = complete(gp, variance, i, average);
        else
            variance[i] = average;
    return s;
}

static ct_status noise_at(ct_gp *gp, const ct_tensor *Xs, const ct_tensor *noise, ct_tensor *variance)
{
    ct_status s = ct__gp_check_inputs(gp, Xs, "Xs");
    if (s) return s;
    const int64_t m = ct_tensor_dim(Xs, 0);
    if (!variance) s = ct_device_fail(gp->device, CT_EINVAL, "ct_gp_noise_at: variance is NULL");
    if (!s) s = ct__gp_check_out(gp, variance, m, "variance");
    if (!s && noise && (!gp->noise.given || gp->lens))
        s = ct_device_fail(gp->device, CT_EINVAL, "ct_gp_noise_at: this model's noise is not given by row");
    if (!s) s = ct__gp_check_noise(gp, noise, m, "noise");
    double *v = s ? NULL : ct__gp_alloc(gp->device, (uint64_t)m, sizeof *v);
    if (!s && !v) s = CT_ENOMEM;
    if (!s) s = ct__noise_at(gp, Xs, noise, v);
    if (!s) s = ct__gp_deliver(gp, v, variance);
    free(v);
    return s;
}

ct_status ct_gp_noise_at(ct_gp *gp, const ct_tensor *Xs, const ct_tensor *noise, ct_tensor *variance)
{
    if (!gp) return CT_EINVAL;
    ct__gp_enter(gp);
    return ct__gp_leave(gp, noise_at(gp, Xs, noise, variance));
}
