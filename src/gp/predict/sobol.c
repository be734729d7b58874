/* Sobol indices of the posterior mean f by sampling. A and B are N points whose columns are drawn
 * independently of each other from the data's; A_j is A with column j of B. With V = Var f and f₀ = E f,
 *     S_j = Σ_i (f(B_i) - f₀) (f(A_ji) - f(A_i)) / N V,   T_j = Σ_i (f(A_i) - f(A_ji))² / 2 N V
 * [Saltelli et al. 2010, "Variance based sensitivity analysis of model output", table 2 b and f;
 * Jansen 1999] */
#include <math.h>
#include <stdlib.h>

#include <cotangent/gp/predict.h>
#include <cotangent/gp/sensitivity.h>

#include "gp/data/numbers.h"
#include "gp/model/model.h"

/* N points and f at them, in one block that begins at A. */
typedef struct sample {
    ct_gp *gp;
    int64_t n;                 /* N */
    double *A, *B, *mixed;     /* (N, d) */
    double *fA, *fB, *f_mixed; /* (N)    */
} sample;

static ct_status make_room(sample *s)
{
    const uint64_t n = (uint64_t)s->n, d = (uint64_t)ct__gp_cols(s->gp);
    double *all = n < INT64_MAX / 64 / d ? ct__gp_alloc(s->gp->device, 3 * n * (d + 1), sizeof *all) : NULL;
    if (!all)
        return ct_device_fail(s->gp->device, CT_ENOMEM, "ct_gp_sobol: no memory for %lld points",
                              (long long)s->n);
    s->A = all, s->B = s->A + n * d, s->mixed = s->B + n * d;
    s->fA = s->mixed + n * d, s->fB = s->fA + n, s->f_mixed = s->fB + n;
    return CT_OK;
}

/* Column j of each point is taken from a random row of the data, in their units. x: (n, d) of the model. */
static ct_status draw(const sample *s, const double *x, uint64_t seed, uint64_t stream, double *points)
{
    const ct_gp *gp = s->gp;
    const int64_t d = ct__gp_cols(gp);
    ct_status status =
        ct__gp_unload(ct_rand_uniform(gp->device, CT_F64, ct_shape2(s->n, d), seed, stream), points);
    for (int64_t i = 0; i < s->n * d && !status; i++) {
        int64_t row = (int64_t)(points[i] * (double)gp->rows.n);
        if (row > gp->rows.n - 1) row = gp->rows.n - 1;
        points[i] = gp->rows.shift[i % d] + gp->rows.scale[i % d] * x[row * gp->rows.d + i % d];
    }
    return status;
}

/* f at points (N, d) */
static ct_status evaluate(const sample *s, const double *points, double *f)
{
    ct_gp *gp = s->gp;
    ct_tensor *X = ct_from(gp->device, CT_F64, ct_shape2(s->n, ct__gp_cols(gp)), points),
              *mean = ct_empty(gp->device, CT_F64, ct_shape1(s->n));
    ct_status status = X && mean ? ct_gp_predict(gp, X, mean, NULL) : CT_ENOMEM;
    if (!status) status = ct__gp_read(mean, f);
    ct_release(X);
    ct_release(mean);
    return status;
}

/* Mean and variance of f over A and B. */
static void moments(const sample *s, double *mean, double *variance)
{
    double sum = 0, squares = 0, n = 2 * (double)s->n;
    for (int64_t i = 0; i < s->n; i++) sum += s->fA[i] + s->fB[i];
    *mean = sum / n;
    for (int64_t i = 0; i < s->n; i++) {
        const double a = s->fA[i] - *mean, b = s->fB[i] - *mean;
        squares += a * a + b * b;
    }
    *variance = squares / n;
}

/* S_j and T_j. */
static ct_status index_of(const sample *s, int64_t j, double mean, double variance, double *first,
                          double *total)
{
    const int64_t d = ct__gp_cols(s->gp);
    for (int64_t i = 0; i < s->n * d; i++) s->mixed[i] = i % d == j ? s->B[i] : s->A[i];
    const ct_status status = evaluate(s, s->mixed, s->f_mixed);
    double products = 0, squares = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const double step = s->f_mixed[i] - s->fA[i];
        products += (s->fB[i] - mean) * step;
        squares += step * step;
    }
    *first = products / ((double)s->n * variance);
    *total = squares / (2 * (double)s->n * variance);
    return status;
}

static ct_status indices(ct_gp *gp, int64_t samples, uint64_t seed, double *first, double *total)
{
    sample s = { .gp = gp, .n = samples };
    double mean = 0, variance = 0, *x = ct__gp_doubles(gp->rows.X);
    ct_status status = x ? make_room(&s) : ct_last_status(gp->device);
    if (!status) status = draw(&s, x, seed, 0, s.A);
    if (!status) status = draw(&s, x, seed, 1, s.B);
    if (!status) status = evaluate(&s, s.A, s.fA);
    if (!status) status = evaluate(&s, s.B, s.fB);
    if (!status) moments(&s, &mean, &variance);
    if (!status && !(variance > 1e-20 * gp->target.spread * gp->target.spread && isfinite(variance)))
        status = ct_device_fail(gp->device, CT_ENUMERIC,
                                "ct_gp_sobol: the posterior mean is the same everywhere: no input matters");
    for (int64_t j = 0; j < ct__gp_cols(gp) && !status; j++)
        status = index_of(&s, j, mean, variance, &first[j], &total[j]);
    free(s.A);
    free(x);
    return status;
}

ct_status ct_gp_sobol(ct_gp *gp, int64_t samples, uint64_t seed, double *first, double *total)
{
    if (!gp) return CT_EINVAL;
    if (!first || !total || samples < 2)
        return ct_device_fail(gp->device, CT_EINVAL,
                              "ct_gp_sobol: an output is NULL, or there are not 2 samples");
    ct__gp_enter(gp);
    const ct_status status = ct__gp_leave(gp, indices(gp, samples, seed, first, total));
    for (int64_t j = 0; j < ct__gp_cols(gp) && status; j++) first[j] = total[j] = NAN;
    return status;
}
