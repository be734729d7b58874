/* Prediction:  mean* = m(x*) + k*ᵀ α,  variance* = k(x*, x*) - |L⁻¹ k*|²
 *                                                              [Rasmussen & Williams 2006, alg. 2.1] */
#include <math.h>
#include <stdlib.h>

#include <cotangent/covariance.h>

#include "gp/factor/packed.h"
#include "gp/infer/density.h"
#include "gp/model/model.h"

/* A tape value as doubles; CT_ENUMERIC where one is not finite. */
static ct_status fetch(ct_gp *gp, ct_var v, double *out, int64_t count)
{
    ct_status s = ct__gp_fetch(gp, v, "the prediction", out);
    for (int64_t i = 0; i < count && !s; i++)
        if (!isfinite(out[i]))
            s = ct_device_fail(gp->device, CT_ENUMERIC,
                               "the prediction of row %lld is not finite: it lies too far from the data",
                               (long long)i);
    return s;
}

/* -- on a tape ------------------------------------------------------------------------------------------- */

typedef struct posterior {
    ct_var theta, Xs; /* (m, d), standardised */
    ct_var mean;      /* (m, 1), standardised */
    ct_var taken;     /* (m), |L⁻¹k*|²        */
} posterior;

static posterior at(ct_gp *gp, ct_var Xs, bool variance)
{
    ct_tape *tape = Xs.tape;
    posterior p = { .theta = ct__gp_theta(gp, tape), .Xs = Xs };
    ct_var in[] = { p.theta, Xs, ct_constant(tape, gp->X), ct_constant(tape, gp->factor.alpha),
                    ct_constant(tape, gp->factor.L) };
    ct_var added = ct__gp_posterior_at(ct_kernel_program(gp->kernel), in, variance);
    p.mean = ct_add(ct_unsqueeze(added, 1), ct__gp_mean_at(gp, tape, Xs));
    if (variance) p.taken = ct_output(added, 1);
    return p;
}

static double noise_at_new_points(const ct_gp *gp)
{
    return ct_gp_noise_variance(gp) + gp->given_mean * gp->y_scale * gp->y_scale;
}

/* x[0..d) of the model's dtype as a constant, for broadcasting over rows. */
static ct_var row(const ct_gp *gp, ct_tape *tape, const double *x)
{
    ct_tensor *t = ct__gp_tensor(gp->device, gp->dtype, ct_shape1(gp->d), x);
    if (!t) ct_tape_fail(tape, CT_ENOMEM, "ct_gp_posterior: no memory for %lld numbers", (long long)gp->d);
    ct_var v = ct_constant(tape, t);
    ct_release(t);
    return v;
}

static ct_status usable(ct_gp *gp, ct_var Xs)
{
    ct_tape *tape = Xs.tape;
    ct_shape shape = ct_var_shape(Xs);
    if (ct_tape_status(tape)) return ct_tape_status(tape);
    if (ct_tape_device(tape) != gp->device)
        ct_tape_fail(tape, CT_EDEVICE, "ct_gp_posterior: Xs lives on another device than the model");
    else if (shape.ndim != 2 || shape.dim[1] != gp->d)
        ct_tape_fail(
            tape, CT_ESHAPE,
            "ct_gp_posterior: Xs has %lld columns in %d dimensions, must be (m, %lld) as in training",
            (long long)(shape.ndim ? shape.dim[shape.ndim - 1] : 1), shape.ndim, (long long)gp->d);
    else if (ct_var_dtype(Xs) != gp->dtype)
        ct_tape_fail(tape, CT_EDTYPE, "ct_gp_posterior: Xs is %s, the model %s: convert with ct_cast",
                     ct_dtype_name(ct_var_dtype(Xs)), ct_dtype_name(gp->dtype));
    else if (ct__gp_factorise(gp))
        ct_tape_fail(tape, ct_last_status(gp->device), "ct_gp_posterior: %.400s", ct_message(gp->device));
    return ct_tape_status(tape);
}

void ct_gp_posterior(ct_gp *gp, ct_var Xs, bool noisy, ct_var *mean, ct_var *variance)
{
    ct_var poisoned = { Xs.tape, UINT32_MAX, 0 };
    if (mean) *mean = poisoned;
    if (variance) *variance = poisoned;
    if (!Xs.tape) return;
    if (!gp) ct_tape_fail(Xs.tape, CT_EINVAL, "ct_gp_posterior: the model is NULL");
    if (!gp || usable(gp, Xs)) return;
    ct_var standardised = ct_div(ct_sub(Xs, row(gp, Xs.tape, gp->shift)), row(gp, Xs.tape, gp->scale));
    posterior p = at(gp, standardised, variance != NULL);
    if (mean)
        *mean = ct__finite(ct_shift(ct_scale(ct_squeeze(p.mean, 1), gp->y_scale), gp->y_shift),
                           "element %lld of the posterior mean");
    if (!variance) return;
    ct_var left = ct_sub(ct_cov_diag(gp->kernel, p.theta, standardised), p.taken);
    ct_var scaled = ct_scale(ct_clamp(left, 0, INFINITY), gp->y_scale * gp->y_scale);
    *variance = ct__finite(ct_shift(scaled, noisy ? noise_at_new_points(gp) : 0),
                           "element %lld of the posterior variance");
}

/* -- into tensors ---------------------------------------------------------------------------------------- */

/* The same at the points x (m, d), in the data's units, on the model's own tape. */
static posterior at_points(ct_gp *gp, const double *x, int64_t m, bool variance)
{
    ct_tape_reset(gp->tape);
    ct_tensor *t = ct__gp_standardised(gp->device, gp->dtype, ct_shape2(m, gp->d), x, gp->shift, gp->scale);
    if (!t) ct_tape_fail(gp->tape, CT_ENOMEM, "no memory for %lld points", (long long)m);
    ct_var Xs = ct_constant(gp->tape, t);
    ct_release(t);
    Xs.tape = gp->tape;
    return at(gp, Xs, variance);
}

static ct_status moments(ct_gp *gp, const double *x, int64_t m, double noise, double *mean, double *variance)
{
    double unit = gp->y_scale * gp->y_scale;
    posterior p = at_points(gp, x, m, variance != NULL);
    ct_status s = mean ? fetch(gp, p.mean, mean, m) : CT_OK;
    for (int64_t i = 0; mean && i < m; i++) mean[i] = gp->y_shift + gp->y_scale * mean[i];
    if (!s && variance) {
        s = fetch(gp, ct_sub(ct_cov_diag(gp->kernel, p.theta, p.Xs), p.taken), variance, m);
        for (int64_t i = 0; i < m; i++) variance[i] = fmax(unit * variance[i], 0) + noise;
    }
    ct_tape_reset(gp->tape);
    return s;
}

static ct_status predict(ct_gp *gp, const ct_tensor *Xs, bool noisy, ct_tensor *mean, ct_tensor *variance)
{
    if (!gp) return CT_EINVAL;
    int64_t m = 0;
    double *x = ct__gp_read_inputs(gp, Xs, &m);
    if (!x) return ct_last_status(gp->device);
    double noise = noisy ? noise_at_new_points(gp) : 0;
    double *out = ct__gp_alloc(gp->device, 2 * (uint64_t)m, sizeof *out);
    ct_status s = out ? ct__gp_check_out(gp, mean, m, "mean") : CT_ENOMEM;
    if (!s) s = ct__gp_check_out(gp, variance, m, "variance");
    if (!s) s = ct__gp_factorise(gp);
    if (!s) s = moments(gp, x, m, noise, mean ? out : NULL, variance ? out + m : NULL);
    if (!s && mean) s = ct__gp_deliver(gp, out, mean);
    if (!s && variance) s = ct__gp_deliver(gp, out + m, variance);
    free(out);
    free(x);
    return s;
}

ct_status ct_gp_predict(ct_gp *gp, const ct_tensor *Xs, ct_tensor *mean, ct_tensor *variance)
{
    return predict(gp, Xs, false, mean, variance);
}

ct_status ct_gp_predict_noisy(ct_gp *gp, const ct_tensor *Xs, ct_tensor *mean, ct_tensor *variance)
{
    return predict(gp, Xs, true, mean, variance);
}

/* -- joint ----------------------------------------------------------------------------------------------- */

/* Whether `out` is a matrix of m columns that can take numbers. */
static bool takes_columns(const ct_gp *gp, const ct_tensor *out, int64_t m)
{
    return out && ct_tensor_ndim(out) == 2 && ct_tensor_dim(out, 1) == m && ct_tensor_dtype(out) != CT_I64 &&
           ct_tensor_device(out) == gp->device;
}

static ct_status reserve_joint(ct_gp *gp, int64_t m, int64_t draws)
{
    double size = (double)ct_dtype_size(gp->dtype), wide = (double)m;
    double bytes =
        size * (3 * (double)gp->n * wide + 5 * wide * wide) + 8 * wide * (wide + 3 * (double)draws);
    return ct__gp_reserve(gp->device, bytes < 1e18 ? (uint64_t)bytes : UINT64_MAX, false,
                          "the joint distribution of the points", "take fewer points at a time");
}

/* Of the standardised problem, on the tape; the noise is left out. */
typedef struct distribution {
    posterior at;
    ct_var covariance; /* (m, m), its lower triangle: k(x*, x*) - V Vᵀ, V = k(x*, X) L⁻ᵀ */
} distribution;

static distribution joint(ct_gp *gp, const double *x, int64_t m)
{
    distribution d = { .at = at_points(gp, x, m, false) };
    const ct_cov_program *k = ct_kernel_program(gp->kernel);
    ct_view theta = ct_view_of(ct_value(d.at.theta)), Xs = ct_view_of(ct_value(d.at.Xs));
    ct_call *c = ct_scope_open(gp->tape, "the covariance of the points");
    ct_view V = ct_scratch(c, gp->dtype, ct_shape2(m, gp->n)), C = ct_scratch(c, gp->dtype, ct_shape2(m, m));
    ct__packed L = ct__packed_of(ct_view_of(gp->factor.L), gp->n);
    ct_prim_covariance(c, k, theta, Xs, ct_view_of(gp->X), V);
    ct__packed_solve(c, &L, 0, V);
    ct_prim_covariance(c, k, theta, Xs, ct_no_view(), C);
    ct_prim_syrk(c, -1, V, 1, C);
    ct_tensor *covariance = ct_tensor_of(c, C);
    ct_scope_close(c);
    d.covariance = ct_constant(gp->tape, covariance);
    ct_release(covariance);
    return d;
}

ct_status ct_gp_predict_full(ct_gp *gp, const ct_tensor *Xs, bool noisy, ct_tensor *mean,
                             ct_tensor *covariance)
{
    if (!gp) return CT_EINVAL;
    int64_t m = 0;
    double *x = ct__gp_read_inputs(gp, Xs, &m), *out = NULL, unit = gp->y_scale * gp->y_scale;
    if (!x) return ct_last_status(gp->device);
    ct_status s = ct__gp_check_out(gp, mean, m, "mean");
    if (!s && (!takes_columns(gp, covariance, m) || ct_tensor_dim(covariance, 0) != m))
        s = ct_device_fail(gp->device, CT_ESHAPE,
                           "covariance must be (%lld, %lld), f64 or f32, on the model's device", (long long)m,
                           (long long)m);
    if (!s) s = reserve_joint(gp, m, 0);
    if (!s) s = ct__gp_factorise(gp);
    if (!s && !(out = ct__gp_alloc(gp->device, (uint64_t)m * (uint64_t)(m + 1), sizeof *out))) s = CT_ENOMEM;
    if (!s) {
        distribution d = joint(gp, x, m);
        s = fetch(gp, d.at.mean, out + m * m, m);
        if (!s) s = fetch(gp, d.covariance, out, m * m);
        ct_tape_reset(gp->tape);
    }
    for (int64_t i = 0; i < m && !s; i++) {
        out[m * m + i] = gp->y_shift + gp->y_scale * out[m * m + i];
        for (int64_t j = 0; j < i; j++) out[i * m + j] = out[j * m + i] = unit * out[i * m + j];
        out[i * m + i] = fmax(unit * out[i * m + i], 0) + (noisy ? noise_at_new_points(gp) : 0);
    }
    if (!s && mean) s = ct__gp_deliver(gp, out + m * m, mean);
    if (!s) s = ct__gp_deliver(gp, out, covariance);
    free(out);
    free(x);
    return s;
}

/* mean + Z Lᵀ of the standardised problem into z (s, m), L Lᵀ the covariance plus the least jitter that will
 * do. */
static ct_status draw(ct_gp *gp, const double *x, int64_t m, double noise, int64_t draws, double *z)
{
    ct_status s = CT_ENUMERIC;
    double first = gp->dtype == CT_F32 ? 1e-7 : 1e-14;
    for (double jitter = 0; s == CT_ENUMERIC && jitter <= 1e-3; jitter = jitter > 0 ? 10 * jitter : first) {
        distribution d = joint(gp, x, m);
        double size = ct_item(ct_mean(ct_cov_diag(gp->kernel, d.at.theta, d.at.Xs), CT_ALL, false));
        ct_tensor *t = ct__gp_tensor(gp->device, gp->dtype, ct_shape2(draws, m), z);
        if (!t) ct_tape_fail(gp->tape, CT_ENOMEM, "no memory for %lld draws", (long long)draws);
        ct_var Z = ct_constant(gp->tape, t);
        ct_release(t);
        ct_var added = ct_scalar(gp->tape, gp->dtype, noise + jitter * size);
        ct_var L = ct_cholesky(ct_add_diag(d.covariance, added));
        ct_var samples = ct_add(ct_matmul(Z, ct_t(L)), ct_t(d.at.mean));
        s = ct_tape_status(gp->tape);
        if (!s) s = fetch(gp, samples, z, draws * m);
    }
    if (s) s = ct_tape_status(gp->tape) ? ct__gp_tape_failed(gp, "the covariance of the points") : s;
    ct_tape_reset(gp->tape);
    return s;
}

ct_status ct_gp_sample(ct_gp *gp, const ct_tensor *Xs, bool noisy, uint64_t seed, ct_tensor *samples)
{
    if (!gp) return CT_EINVAL;
    int64_t m = 0;
    double *x = ct__gp_read_inputs(gp, Xs, &m), *z = NULL;
    if (!x) return ct_last_status(gp->device);
    ct_status s = CT_OK;
    if (!takes_columns(gp, samples, m))
        s = ct_device_fail(gp->device, CT_ESHAPE,
                           "samples must be (s, %lld), f64 or f32, on the model's device", (long long)m);
    int64_t draws = s ? 0 : ct_tensor_dim(samples, 0);
    if (!s) s = reserve_joint(gp, m, draws);
    if (!s) s = ct__gp_factorise(gp);
    if (!s && !(z = ct__gp_alloc(gp->device, (uint64_t)draws * (uint64_t)m, sizeof *z))) s = CT_ENOMEM;
    for (int64_t i = 0; i < draws && !s; i++) s = ct__gp_normal(gp->device, seed, (uint64_t)i, m, z + i * m);
    double noise = noisy ? noise_at_new_points(gp) / (gp->y_scale * gp->y_scale) : 0;
    if (!s && draws * m > 0) s = draw(gp, x, m, noise, draws, z);
    for (int64_t i = 0; i < draws * m && !s; i++) z[i] = gp->y_shift + gp->y_scale * z[i];
    if (!s) s = ct__gp_deliver(gp, z, samples);
    free(z);
    free(x);
    return s;
}
