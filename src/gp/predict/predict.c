/* Prediction:  mean* = m(x*) + k*ᵀ α,  variance* = k(x*, x*) - |L⁻¹ k*|²
 *                                                              [Rasmussen & Williams 2006, alg. 2.1] */
#include <math.h>
#include <stdlib.h>

#include <cotangent/gp/predict.h>

#include "gp/data/numbers.h"
#include "gp/likelihood/factorise.h"
#include "gp/model/exchange.h"
#include "gp/model/graph.h"
#include "gp/model/memory.h"
#include "noise_at.h"
#include "posterior.h"
#include "trend_posterior.h"

/* Reads a tape value as doubles; CT_ENUMERIC if one is not finite. */
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

/* -- into tensors ---------------------------------------------------------------------------------------- */

enum kind { EACH, JOINT, DRAWS };

/* A prediction at m points. */
typedef struct request {
    ct_gp *gp;
    enum kind kind;
    bool noisy;
    uint64_t seed;
    ct_tensor *points; /* (m, d), standardised */
    int64_t m, rows;
    double *noise;       /* [m], of new observations, in units of y², or zeros */
    double *mean, *more; /* NULL: not requested. more (rows, m): variances, the covariance or draws */
} request;

static void to_units_of_y(const ct_gp *gp, double *y, int64_t count)
{
    for (int64_t i = 0; i < count; i++) y[i] = gp->target.shift + gp->target.scale * y[i];
}

static ct__posterior at_points(const request *r, bool variance)
{
    ct_tape_reset(r->gp->tape);
    return ct__posterior_of(r->gp, ct_constant(r->gp->tape, r->points), variance);
}

static ct__posterior joint(const request *r)
{
    ct_gp *gp = r->gp;
    ct__posterior p = at_points(r, false);
    const ct_cov_program *k = ct_kernel_program(gp->kernel);
    ct_view theta = ct_view_of(ct_value(p.theta)), Xs = ct_view_of(r->points);
    ct_call *c = ct_scope_open(gp->tape, "the covariance of the points");
    ct_view V = ct_scratch(c, gp->rows.dtype, ct_shape2(r->m, gp->rows.n));
    ct_view C = ct_scratch(c, gp->rows.dtype, ct_shape2(r->m, r->m));
    ct__factor L = ct__gp_factor_of(gp);
    ct_prim_covariance(c, k, theta, Xs, ct_view_of(gp->rows.X), false, V);
    ct__factor_solve(c, &L, 0, V);
    ct_prim_covariance(c, k, theta, Xs, ct_no_view(), false, C);
    ct_prim_syrk(c, -1, V, 1, C);
    ct_tensor *covariance = ct_tensor_of(c, C);
    ct_scope_close(c);
    p.covariance = ct__gp_input(gp->tape, covariance, false);
    if (!gp->mean.trend) return p;
    ct_var U = ct__trend_spread_at(gp, p.theta, p.Xs);
    p.covariance = ct_add(p.covariance, ct_matmul(U, ct_t(U)));
    return p;
}

static ct_status predict_each(const request *r)
{
    ct__posterior p = at_points(r, r->more != NULL);
    ct_status s = r->mean ? fetch(r->gp, p.mean, r->mean, r->m) : CT_OK;
    if (s || !r->more) return s;
    s = fetch(r->gp, ct_sub(ct_cov_diag(r->gp->kernel, p.theta, p.Xs), p.taken), r->more, r->m);
    for (int64_t i = 0; i < r->m; i++)
        r->more[i] = fmax(r->gp->target.scale * r->gp->target.scale * r->more[i], 0) + r->noise[i];
    return s;
}

static ct_status predict_jointly(const request *r)
{
    double unit = r->gp->target.scale * r->gp->target.scale, *C = r->more;
    int64_t m = r->m;
    ct__posterior p = joint(r);
    ct_status s = r->mean ? fetch(r->gp, p.mean, r->mean, m) : CT_OK;
    if (!s) s = fetch(r->gp, p.covariance, C, m * m);
    for (int64_t i = 0; i < m && !s; i++) {
        for (int64_t j = 0; j < i; j++) C[i * m + j] = C[j * m + i] = unit * C[i * m + j];
        C[i * m + i] = fmax(unit * C[i * m + i], 0) + r->noise[i];
    }
    return s;
}

/* mean + Z Lᵀ of the standardised problem, where L Lᵀ is the covariance plus the smallest jitter that gives a
 * factor. */
static ct_status draw(const request *r)
{
    ct_gp *gp = r->gp;
    ct_status s = CT_OK;
    for (int64_t i = 0; i < r->rows && !s; i++)
        s = ct__gp_unload(ct_rand_normal(gp->device, CT_F64, ct_shape1(r->m), r->seed, (uint64_t)i),
                          r->more + i * r->m);
    if (s || r->rows * r->m == 0) return s;
    ct_var samples = { 0 };
    double unit = gp->target.scale * gp->target.scale, *added = r->mean,
           first = gp->rows.dtype == CT_F32 ? 1e-7 : 1e-14;
    s = CT_ENUMERIC;
    for (double jitter = 0; s == CT_ENUMERIC && jitter <= 1e-3; jitter = jitter > 0 ? 10 * jitter : first) {
        ct__posterior p = joint(r);
        double size = ct_item(ct_mean(ct_cov_diag(gp->kernel, p.theta, p.Xs), CT_ALL, false));
        ct_tensor *normal = ct__gp_tensor(gp->device, gp->rows.dtype, ct_shape2(r->rows, r->m), r->more);
        ct_var Z = ct__gp_input(gp->tape, normal, false);
        for (int64_t i = 0; i < r->m; i++) added[i] = r->noise[i] / unit + jitter * size;
        ct_tensor *diagonal = ct__gp_tensor(gp->device, gp->rows.dtype, ct_shape1(r->m), added);
        ct_var L = ct_cholesky(ct_add_diag(p.covariance, ct__gp_input(gp->tape, diagonal, false)));
        samples = ct_add(ct_matmul(Z, ct_t(L)), ct_t(p.mean));
        s = ct_tape_status(gp->tape);
    }
    if (s) return ct__gp_tape_failed(gp, "the covariance of the points");
    s = fetch(gp, samples, r->more, r->rows * r->m);
    to_units_of_y(gp, r->more, r->rows * r->m);
    return s;
}

/* Checks the shape of `out`, and that there is memory for it. */
static ct_status check_joint(const request *r, const ct_tensor *out)
{
    ct_gp *gp = r->gp;
    bool square = r->kind == JOINT;
    bool fits = out && ct_tensor_ndim(out) == 2 && ct_tensor_dim(out, 1) == r->m &&
                (!square || ct_tensor_dim(out, 0) == r->m) && ct_tensor_dtype(out) != CT_I64 &&
                ct_tensor_device(out) == gp->device;
    if (!fits)
        return square ? ct_device_fail(gp->device, CT_ESHAPE,
                                       "covariance must be (%lld, %lld), f64 or f32, on the model's device",
                                       (long long)r->m, (long long)r->m)
                      : ct_device_fail(gp->device, CT_ESHAPE,
                                       "samples must be (s, %lld), f64 or f32, on the model's device",
                                       (long long)r->m);
    double size = (double)ct_dtype_size(gp->rows.dtype), m = (double)r->m, n = (double)gp->rows.n;
    double draws = square ? 0 : (double)ct_tensor_dim(out, 0);
    double bytes = size * (3 * n * m + 5 * m * m) + 8 * m * (m + 3 * draws);
    return ct__gp_reserve(gp->device, bytes < 1e18 ? (uint64_t)bytes : UINT64_MAX, false,
                          "the joint distribution of the points", "take fewer points at a time");
}

/* Common to all predictions: checks, factor, memory, the units of y, the caller's tensors. */
static ct_status run(request r, const ct_tensor *Xs, ct_tensor *mean, ct_tensor *more)
{
    static ct_status (*const of_kind[])(const request *) = { predict_each, predict_jointly, draw };
    ct_gp *gp = r.gp;
    ct_status s = ct__gp_check_inputs(gp, Xs, "Xs");
    if (s) return s;
    r.m = ct_tensor_dim(Xs, 0);
    r.points = ct__gp_points(gp, Xs);
    s = r.points ? ct__gp_check_out(gp, mean, r.m, "mean") : ct_last_status(gp->device);
    if (!s) s = r.kind == EACH ? ct__gp_check_out(gp, more, r.m, "variance") : check_joint(&r, more);
    r.rows = r.kind == EACH || s ? 1 : ct_tensor_dim(more, 0);
    if (!s) s = ct__gp_factorise(gp);
    double *room = s ? NULL : ct__gp_alloc(gp->device, (uint64_t)(2 + r.rows) * (uint64_t)r.m, sizeof *room);
    if (!s && !room) s = CT_ENOMEM;
    r.noise = room;
    if ((mean || r.kind == DRAWS) && room) r.mean = room + r.m;
    if (more && room) r.more = room + 2 * r.m;
    if (!s && r.noisy) s = ct__noise_at(gp, Xs, NULL, r.noise);
    if (!s) s = of_kind[r.kind](&r);
    ct_tape_reset(gp->tape);
    if (!s && mean) to_units_of_y(gp, r.mean, r.m);
    if (!s && mean) s = ct__gp_deliver(gp, r.mean, mean);
    if (!s && more) s = ct__gp_deliver(gp, r.more, more);
    ct_release(r.points);
    free(room);
    return s;
}

static ct_status predict(request r, const ct_tensor *Xs, ct_tensor *mean, ct_tensor *more)
{
    if (!r.gp) return CT_EINVAL;
    ct__gp_enter(r.gp);
    return ct__gp_leave(r.gp, run(r, Xs, mean, more));
}

ct_status ct_gp_predict(ct_gp *gp, const ct_tensor *Xs, ct_tensor *mean, ct_tensor *variance)
{
    return predict((request){ .gp = gp, .kind = EACH }, Xs, mean, variance);
}

ct_status ct_gp_predict_noisy(ct_gp *gp, const ct_tensor *Xs, ct_tensor *mean, ct_tensor *variance)
{
    return predict((request){ .gp = gp, .kind = EACH, .noisy = true }, Xs, mean, variance);
}

ct_status ct_gp_predict_full(ct_gp *gp, const ct_tensor *Xs, bool noisy, ct_tensor *mean,
                             ct_tensor *covariance)
{
    return predict((request){ .gp = gp, .kind = JOINT, .noisy = noisy }, Xs, mean, covariance);
}

ct_status ct_gp_sample(ct_gp *gp, const ct_tensor *Xs, bool noisy, uint64_t seed, ct_tensor *samples)
{
    return predict((request){ .gp = gp, .kind = DRAWS, .noisy = noisy, .seed = seed }, Xs, NULL, samples);
}
