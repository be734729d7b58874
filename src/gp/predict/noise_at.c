#include "noise_at.h"

#include <math.h>
#include <stdlib.h>

#include <cotangent/gp/predict.h>

#include "gp/data/numbers.h"
#include "gp/model/exchange.h"
#include "gp/model/graph.h"

/* The present value of the noise's parameter k. */
static double value_of(const ct_gp *gp, int64_t k) { return gp->params.param[gp->params.noise_at + k].value; }

double ct_gp_noise_variance(const ct_gp *gp)
{
    if (gp && gp->one_output) return value_of(gp, gp->one_output->code);
    if (!gp || (gp->noise.kind != CT_NOISE_LEARNED && gp->noise.kind != CT_NOISE_GIVEN_PLUS)) return 0;
    return value_of(gp, 0);
}

static bool differs_by_point(const ct_gp *gp) { return gp->noise.kind == CT_NOISE_LOG_LINEAR; }

/* The average over the data, in units of y². */
static ct_status average_of(const ct_gp *gp, double *variance)
{
    const bool by_level = gp->noise.kind == CT_NOISE_BY_LEVEL;
    double *given = NULL, sum = 0;
    *variance = ct_gp_noise_variance(gp);
    if (!gp->noise.given || gp->one_output) return CT_OK;
    if (!(given = ct__gp_doubles(gp->noise.given))) return ct_last_status(gp->device);
    for (int64_t i = 0; i < gp->rows.n; i++)
        sum += by_level ? value_of(gp, (int64_t)given[i]) : given[i] * gp->target.scale * gp->target.scale;
    *variance += sum / (double)gp->rows.n;
    free(given);
    return CT_OK;
}

ct_var ct__noise_on(const ct_gp *gp, ct_var at)
{
    double average = 0;
    if (differs_by_point(gp)) {
        ct_var s = ct__gp_vector(gp, at.tape, gp->params.s + gp->params.noise_at, gp->params.n_noise, false);
        return ct_scale(ct__noise_learned(&gp->noise, s, at), gp->target.scale * gp->target.scale);
    }
    if (average_of(gp, &average))
        ct_tape_fail(at.tape, ct_last_status(gp->device), "the noise: %.400s", ct_message(gp->device));
    return ct_scalar(at.tape, gp->rows.dtype, average);
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

ct_status ct__noise_at(ct_gp *gp, ct_tensor *points, double *variance)
{
    double average;
    ct_tape_reset(gp->tape);
    if (differs_by_point(gp))
        return ct__gp_fetch(gp, ct__noise_on(gp, ct_constant(gp->tape, points)), "the noise", variance);
    const ct_status s = average_of(gp, &average);
    for (int64_t i = 0; i < ct_tensor_dim(points, 0) && !s; i++) variance[i] = average;
    return s;
}

/* From the rows' variances or levels. */
static ct_status given_at(ct_gp *gp, const ct_tensor *noise, double *variance)
{
    double average;
    ct_status s = average_of(gp, &average);
    if (!s) s = ct__gp_read(noise, variance);
    for (int64_t i = 0; i < ct_tensor_count(noise) && !s; i++) s = complete(gp, variance, i, average);
    return s;
}

static ct_status noise_at(ct_gp *gp, const ct_tensor *Xs, const ct_tensor *noise, ct_tensor *variance)
{
    ct_status s = ct__gp_check_inputs(gp, Xs, "Xs");
    if (s) return s;
    const int64_t m = ct_tensor_dim(Xs, 0);
    if (!variance) s = ct_device_fail(gp->device, CT_EINVAL, "ct_gp_noise_at: variance is NULL");
    if (!s) s = ct__gp_check_out(gp, variance, m, "variance");
    if (!s && noise && (!gp->noise.given || gp->one_output))
        s = ct_device_fail(gp->device, CT_EINVAL, "ct_gp_noise_at: this model's noise is not given by row");
    if (!s) s = ct__gp_check_noise(gp, noise, m, "noise");
    if (s) return s;
    double *v = ct__gp_alloc(gp->device, (uint64_t)m, sizeof *v);
    ct_tensor *points = v && !noise ? ct__gp_points(gp, Xs) : NULL;
    s = v && (noise || points) ? CT_OK : ct_last_status(gp->device);
    if (!s) s = noise ? given_at(gp, noise, v) : ct__noise_at(gp, points, v);
    if (!s) s = ct__gp_deliver(gp, v, variance);
    ct_release(points);
    free(v);
    return s;
}

ct_status ct_gp_noise_at(ct_gp *gp, const ct_tensor *Xs, const ct_tensor *noise, ct_tensor *variance)
{
    if (!gp) return CT_EINVAL;
    ct__gp_enter(gp);
    return ct__gp_leave(gp, noise_at(gp, Xs, noise, variance));
}
