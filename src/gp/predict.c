/* Prediction:  mean* = m(x*) + k*ᵀ α,  variance* = k(x*, x*) - |L⁻¹ k*|²     [Rasmussen & Williams 2006, alg. 2.1]
 * The points go through in chunks, so that the memory is bounded whatever their number. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cotangent/op.h>

#include "model.h"
#include "packed.h"

/* Bytes of k* and L⁻¹k* together in one chunk. */
#define CHUNK_BYTES (32u << 20)

int64_t ct__gp_chunk_rows(int64_t n, ct_dtype dtype)
{
    int64_t rows = n > 0 ? (int64_t)(CHUNK_BYTES / (2 * ct_dtype_size(dtype))) / n : 16;
    int64_t most = n > 256 ? n / 4 : 64;
    return rows < 16 ? 16 : rows > most ? most : rows;
}

static ct_status check_out(ct_gp *gp, const ct_tensor *out, int64_t m, const char *what)
{
    if (!out) return CT_OK;
    int ndim = ct_tensor_ndim(out);
    bool fits = (ndim == 1 || (ndim == 2 && ct_tensor_dim(out, 1) == 1)) && ct_tensor_dim(out, 0) == m;
    if (!fits)
        return ct_device_fail(gp->device, CT_ESHAPE,
                              "%s: %lld elements in %d dimensions, must be (%lld) or (%lld, 1)", what,
                              (long long)ct_tensor_count(out), ndim, (long long)m, (long long)m);
    if (ct_tensor_dtype(out) == CT_I64)
        return ct_device_fail(gp->device, CT_EDTYPE, "%s must be f64 or f32", what);
    if (ct_tensor_device(out) != gp->device)
        return ct_device_fail(gp->device, CT_EDEVICE, "%s lives on another device than the model", what);
    return CT_OK;
}

/* Checks Xs and reads it; *m rows. NULL with the reason on the device. */
static double *points(ct_gp *gp, const ct_tensor *Xs, int64_t *m)
{
    if (!Xs) {
        ct_device_fail(gp->device, CT_EINVAL, "Xs is NULL");
        return NULL;
    }
    *m = ct_tensor_dim(Xs, 0);
    if (ct_tensor_ndim(Xs) != 2 || ct_tensor_dim(Xs, 1) != gp->d) {
        ct_device_fail(gp->device, CT_ESHAPE,
                       "Xs: %lld columns in %d dimensions, must be (m, %lld) as in training",
                       (long long)ct_tensor_dim(Xs, 1), ct_tensor_ndim(Xs), (long long)gp->d);
        return NULL;
    }
    if (ct_tensor_device(Xs) != gp->device) {
        ct_device_fail(gp->device, CT_EDEVICE, "Xs lives on another device than the model");
        return NULL;
    }
    if (ct_tensor_dtype(Xs) == CT_I64) {
        ct_device_fail(gp->device, CT_EDTYPE, "Xs must be f64 or f32: convert with ct_tensor_cast");
        return NULL;
    }
    double *x = ct__gp_doubles(Xs);
    if (x && ct__gp_check_finite(gp->device, x, *m, gp->d, "Xs")) {
        free(x);
        return NULL;
    }
    return x;
}

/* host[0..count) into out, whatever its dtype, shape and strides. */
static ct_status deliver(ct_gp *gp, const double *host, ct_tensor *out)
{
    ct_tensor *t = ct_from(gp->device, CT_F64, ct_tensor_shape(out), host);
    ct_status s = t ? ct_copy(t, out) : CT_ENOMEM;
    ct_release(t);
    return s;
}

/* A tape value as doubles; CT_ENUMERIC where one is not finite. */
static ct_status fetch(ct_gp *gp, ct_var v, double *out, int64_t count)
{
    ct_tensor *t = ct_value(v);
    if (!t) return ct__gp_tape_failed(gp, "the prediction");
    ct_tensor *f64 = ct_tensor_cast(t, CT_F64);
    ct_status s = f64 ? ct_read(f64, out, (size_t)count * sizeof *out) : CT_ENOMEM;
    ct_release(f64);
    for (int64_t i = 0; i < count && !s; i++)
        if (!isfinite(out[i]))
            s = ct_device_fail(gp->device, CT_ENUMERIC,
                               "the prediction of row %lld is not finite: it lies too far from the data",
                               (long long)i);
    return s;
}

/* What the tape holds at the points Xs (m, d), standardised. */
typedef struct posterior {
    ct_var theta, Xs, mean; /* mean: (m, 1) */
    ct_var V;               /* L⁻¹ k(X, Xs): (n, m) */
} posterior;

static posterior at(ct_gp *gp, const double *x, int64_t m, bool spread)
{
    posterior p = { .theta = ct__gp_theta(gp) };
    ct_tensor *t = ct__gp_standardised(gp->device, gp->dtype, x, m, gp->d, gp->shift, gp->scale);
    if (!t) ct_tape_fail(gp->tape, CT_ENOMEM, "no memory for %lld points", (long long)m);
    p.Xs = t ? ct_constant(gp->tape, t) : (ct_var){ NULL, 0, 0 };
    ct_release(t);
    ct_var Ks = ct_cov(gp->kernel, p.theta, p.Xs, ct_constant(gp->tape, gp->X));
    ct_var fit = ct_matmul(Ks, ct_constant(gp->tape, gp->factor.alpha));
    p.mean = ct_add(fit, ct__gp_mean_at(gp, p.Xs));
    ct_var L = ct_constant(gp->tape, gp->factor.L);
    if (spread) p.V = ct_apply(&ct__op_packed_solve, (ct_var[]){ L, ct_t(Ks) }, 2, NULL, 0);
    return p;
}

static double noise_at_new_points(const ct_gp *gp)
{
    return ct_gp_noise_variance(gp) + gp->given_mean * gp->y_scale * gp->y_scale;
}

static ct_status chunk(ct_gp *gp, const double *x, int64_t m, double noise, double *mean, double *variance)
{
    double unit = gp->y_scale * gp->y_scale;
    ct_tape_reset(gp->tape);
    posterior p = at(gp, x, m, variance != NULL);
    ct_status s = mean ? fetch(gp, p.mean, mean, m) : CT_OK;
    for (int64_t i = 0; mean && i < m; i++) mean[i] = gp->y_shift + gp->y_scale * mean[i];
    if (!s && variance) {
        ct_var explained = ct_sum(ct_square(p.V), 0, false);
        s = fetch(gp, ct_sub(ct_cov_diag(gp->kernel, p.theta, p.Xs), explained), variance, m);
        for (int64_t i = 0; i < m; i++) variance[i] = fmax(unit * variance[i], 0) + noise;
    }
    ct_tape_reset(gp->tape);
    return s;
}

static ct_status predict(ct_gp *gp, const ct_tensor *Xs, bool noisy, ct_tensor *mean, ct_tensor *variance)
{
    if (!gp) return CT_EINVAL;
    int64_t m = 0;
    double *x = points(gp, Xs, &m);
    if (!x) return ct_last_status(gp->device);
    double noise = noisy ? noise_at_new_points(gp) : 0;
    double *out = ct__gp_alloc(gp->device, 2 * (uint64_t)m, sizeof *out);
    ct_status s = out ? check_out(gp, mean, m, "mean") : CT_ENOMEM;
    if (!s) s = check_out(gp, variance, m, "variance");
    if (!s) s = ct__gp_factorise(gp);
    int64_t most = ct__gp_chunk_rows(gp->n, gp->dtype);
    for (int64_t i = 0; i < m && !s; i += most) {
        int64_t rows = m - i < most ? m - i : most;
        s = chunk(gp, x + i * gp->d, rows, noise, mean ? out + i : NULL, variance ? out + m + i : NULL);
    }
    if (!s && mean) s = deliver(gp, out, mean);
    if (!s && variance) s = deliver(gp, out + m, variance);
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

/* -- joint -------------------------------------------------------------------------------------------------------------- */

static ct_status reserve_joint(ct_gp *gp, int64_t m, int64_t draws)
{
    double size = (double)ct_dtype_size(gp->dtype), wide = (double)m;
    double bytes =
        size * (3 * (double)gp->n * wide + 5 * wide * wide) + 8 * wide * (wide + 3 * (double)draws);
    return ct__gp_reserve(gp->device, bytes < 1e18 ? (uint64_t)bytes : UINT64_MAX,
                          "the joint distribution of the points");
}

/* Mean (m, 1) and covariance (m, m) of the standardised problem on the tape; the noise is left out. */
static posterior joint(ct_gp *gp, const double *x, int64_t m, ct_var *covariance)
{
    ct_tape_reset(gp->tape);
    posterior p = at(gp, x, m, true);
    ct_var prior = ct_cov(gp->kernel, p.theta, p.Xs, p.Xs);
    *covariance = ct_sub(prior, ct_matmul(ct_t(p.V), p.V));
    return p;
}

ct_status ct_gp_predict_full(ct_gp *gp, const ct_tensor *Xs, bool noisy, ct_tensor *mean,
                             ct_tensor *covariance)
{
    if (!gp) return CT_EINVAL;
    int64_t m = 0;
    double *x = points(gp, Xs, &m), *out = NULL, unit = gp->y_scale * gp->y_scale;
    if (!x) return ct_last_status(gp->device);
    ct_status s = check_out(gp, mean, m, "mean");
    if (!s && (!covariance || ct_tensor_ndim(covariance) != 2 || ct_tensor_dim(covariance, 0) != m ||
               ct_tensor_dim(covariance, 1) != m || ct_tensor_dtype(covariance) == CT_I64 ||
               ct_tensor_device(covariance) != gp->device))
        s = ct_device_fail(gp->device, CT_ESHAPE,
                           "covariance must be (%lld, %lld), f64 or f32, on the model's device", (long long)m,
                           (long long)m);
    if (!s) s = reserve_joint(gp, m, 0);
    if (!s) s = ct__gp_factorise(gp);
    if (!s && !(out = ct__gp_alloc(gp->device, (uint64_t)m * (uint64_t)(m + 1), sizeof *out))) s = CT_ENOMEM;
    if (!s) {
        ct_var C;
        posterior p = joint(gp, x, m, &C);
        s = fetch(gp, p.mean, out + m * m, m);
        if (!s) s = fetch(gp, C, out, m * m);
        ct_tape_reset(gp->tape);
    }
    for (int64_t i = 0; i < m && !s; i++) {
        out[m * m + i] = gp->y_shift + gp->y_scale * out[m * m + i];
        for (int64_t j = 0; j < i; j++)
            out[i * m + j] = out[j * m + i] = 0.5 * unit * (out[i * m + j] + out[j * m + i]);
        out[i * m + i] = fmax(unit * out[i * m + i], 0) + (noisy ? noise_at_new_points(gp) : 0);
    }
    if (!s && mean) s = deliver(gp, out + m * m, mean);
    if (!s) s = deliver(gp, out, covariance);
    free(out);
    free(x);
    return s;
}

/* Draws Z (s, m), row i from stream i of the seed, as doubles. */
static ct_status normal_rows(ct_gp *gp, uint64_t seed, int64_t draws, int64_t m, double *z)
{
    ct_status s = CT_OK;
    for (int64_t i = 0; i < draws && !s; i++) {
        ct_tensor *t = ct_rand_normal(gp->device, CT_F64, ct_shape1(m), seed, (uint64_t)i);
        s = t ? ct_read(t, z + i * m, (size_t)m * sizeof *z) : CT_ENOMEM;
        ct_release(t);
    }
    return s;
}

/* mean + Z Lᵀ of the standardised problem into z (s, m), L Lᵀ the covariance plus the least jitter that will do. */
static ct_status draw(ct_gp *gp, const double *x, int64_t m, double noise, int64_t draws, double *z)
{
    ct_status s = CT_ENUMERIC;
    double first = gp->dtype == CT_F32 ? 1e-7 : 1e-14;
    for (double jitter = 0; s == CT_ENUMERIC && jitter <= 1e-3; jitter = jitter > 0 ? 10 * jitter : first) {
        ct_var C;
        posterior p = joint(gp, x, m, &C);
        double size = ct_item(ct_mean(ct_cov_diag(gp->kernel, p.theta, p.Xs), CT_ALL, false));
        ct_tensor *t = ct_from(gp->device, CT_F64, ct_shape2(draws, m), z);
        ct_tensor *cast = t ? ct_tensor_cast(t, gp->dtype) : NULL;
        if (!cast) ct_tape_fail(gp->tape, CT_ENOMEM, "no memory for %lld draws", (long long)draws);
        ct_var Z = cast ? ct_constant(gp->tape, cast) : (ct_var){ NULL, 0, 0 };
        ct_release(cast);
        ct_release(t);
        ct_var L = ct_cholesky(ct_add_diag(C, ct_scalar(gp->tape, gp->dtype, noise + jitter * size)));
        ct_var samples = ct_add(ct_matmul(Z, ct_t(L)), ct_t(p.mean));
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
    double *x = points(gp, Xs, &m), *z = NULL;
    if (!x) return ct_last_status(gp->device);
    ct_status s = CT_OK;
    if (!samples || ct_tensor_ndim(samples) != 2 || ct_tensor_dim(samples, 1) != m ||
        ct_tensor_dtype(samples) == CT_I64 || ct_tensor_device(samples) != gp->device)
        s = ct_device_fail(gp->device, CT_ESHAPE,
                           "samples must be (s, %lld), f64 or f32, on the model's device", (long long)m);
    int64_t draws = s ? 0 : ct_tensor_dim(samples, 0);
    if (!s) s = reserve_joint(gp, m, draws);
    if (!s) s = ct__gp_factorise(gp);
    if (!s && !(z = ct__gp_alloc(gp->device, (uint64_t)draws * (uint64_t)m, sizeof *z))) s = CT_ENOMEM;
    if (!s) s = normal_rows(gp, seed, draws, m, z);
    double noise = noisy ? noise_at_new_points(gp) / (gp->y_scale * gp->y_scale) : 0;
    if (!s && draws * m > 0) s = draw(gp, x, m, noise, draws, z);
    for (int64_t i = 0; i < draws * m && !s; i++) z[i] = gp->y_shift + gp->y_scale * z[i];
    if (!s) s = deliver(gp, z, samples);
    free(z);
    free(x);
    return s;
}
