/* The condition of C = k(X, X) + diag(noise) and its causes: condition number, pivots, similar rows,
 * bounds. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cotangent/gp/numerics.h>

#include "gp/data/numbers.h"
#include "gp/kernel/prior.h"
#include "gp/likelihood/factorise.h"
#include "gp/model/exchange.h"
#include "gp/model/graph.h"
#include "gp/model/memory.h"
#include "gp/model/param_units.h"
#include "posterior_op.h"

/* Bytes of a chunk of rows of k(X, X), as doubles. */
#define CHUNK_BYTES (16u << 20)
/* Rows with a correlation of at least 1 - NEAR are alike; f64 and f32 both resolve it. */
#define NEAR 1e-6
/* A parameter this close to its bound, in z, counts as held by it. */
#define AT_BOUND 1e-3

enum { MOST_STEPS = 5 };

typedef struct inspection {
    ct_gp *gp;
    ct_gp_numerics *report;
    double *diagonal, *root, *sum; /* [n]: of C; √k(x_i, x_i) without white; Σ_j |C_ij| */
    double *v, *sign, *chunk;      /* [n]; [n]; [rows][n]                               */
    double logs;                   /* Σ log L_ii                                        */
    int64_t rows;
} inspection;

/* -- the matrix ------------------------------------------------------------------------------------------ */

static ct_status read_diagonal(inspection *q)
{
    ct_tape_reset(q->gp->tape);
    ct__graph g = ct__gp_present(q->gp, q->gp->factor.jitter);
    ct_status s = ct__gp_fetch(q->gp, ct__graph_diagonal(q->gp, &g), "the covariance", q->diagonal);
    memcpy(q->sum, q->diagonal, (size_t)q->gp->rows.n * sizeof *q->sum);
    return s;
}

/* Adds row i of k(X, X), up to the diagonal, to the sums of both triangles, and finds the row most like
 * it. */
static void take_row(inspection *q, int64_t i, const double *row)
{
    ct_gp_near near = { .row = ct__one_output_row(q->gp->one_output, i) };
    q->root[i] = sqrt(row[i]);
    for (int64_t j = 0; j < i; j++) {
        double size = fabs(row[j]), scale = q->root[i] * q->root[j];
        q->sum[i] += size;
        q->sum[j] += size;
        const int64_t like =
            scale > 0 && row[j] > near.correlation * scale ? ct__one_output_row(q->gp->one_output, j) : -1;
        if (like < 0 || near.row < 0) continue;
        near.correlation = fmin(row[j] / scale, 1);
        near.like = like;
    }
    if (near.correlation < 1 - NEAR) return;
    int64_t k = q->report->near_rows++;
    if (k < CT_GP_NEAR_SHOWN) q->report->near[k] = near;
}

/* Uses two handles for the same points, so that white is left out. */
static ct_status read_rows(inspection *q)
{
    ct_gp *gp = q->gp;
    ct_status s = CT_OK;
    for (int64_t first = 0; first < gp->rows.n && !s; first += q->rows) {
        int64_t rows = gp->rows.n - first < q->rows ? gp->rows.n - first : q->rows;
        ct_tape_reset(gp->tape);
        ct_var X = ct_constant(gp->tape, gp->rows.X), all = ct_slice(X, 0, 0, first + rows, 1);
        ct_var some = ct_slice(X, 0, first, first + rows, 1);
        ct_var K = ct_cov(gp->kernel, ct__gp_theta(gp, gp->tape), some, all);
        s = ct__gp_fetch(gp, K, "the covariance", q->chunk);
        for (int64_t i = 0; i < rows && !s; i++) take_row(q, first + i, q->chunk + i * (first + rows));
    }
    return s;
}

static double largest(const double *x, int64_t n, int64_t *at)
{
    *at = 0;
    for (int64_t i = 1; i < n; i++)
        if (fabs(x[i]) > fabs(x[*at])) *at = i;
    return fabs(x[*at]);
}

/* -- from the factor ------------------------------------------------------------------------------------- */

/* v = C⁻¹v; *norm = |C⁻¹v|₁ */
static ct_status solve(inspection *q, double *v, double *norm)
{
    ct_gp *gp = q->gp;
    const ct__grid grid = ct__gp_grid(gp);
    ct_tape_reset(gp->tape);
    ct_var B = ct_unsqueeze(ct__gp_vector(gp, gp->tape, v, gp->rows.n, false), 0);
    ct_status s =
        ct__gp_fetch(gp, ct__gp_solve(&grid, ct_constant(gp->tape, gp->factor.L), B), "the factor", v);
    *norm = 0;
    for (int64_t i = 0; i < gp->rows.n && !s; i++) *norm += fabs(v[i]);
    return s;
}

/* -- the inverse's norm ---------------------------------------------------------------------------------- */

/* v and sign = the signs ±1 of v; returns whether a sign changed. */
static bool take_signs(inspection *q)
{
    bool changed = false;
    for (int64_t i = 0; i < q->gp->rows.n; i++) {
        double sign = q->v[i] < 0 ? -1 : 1;
        changed |= sign != q->sign[i];
        q->v[i] = q->sign[i] = sign;
    }
    return changed;
}

/* Climbs from vertex to vertex of the unit ball of |.|₁ towards the column of C⁻¹ with the largest sum;
 * finally tries a vector of alternating signs. [Higham 1988, "FORTRAN codes for estimating the one-norm",
 * alg. 4.1] */
static ct_status inverse_norm(inspection *q, double *estimate)
{
    int64_t n = q->gp->rows.n, at = -1, next;
    double norm;
    for (int64_t i = 0; i < n; i++) q->v[i] = 1 / (double)n;
    ct_status s = solve(q, q->v, estimate);
    for (int step = 0; step < MOST_STEPS && n > 1 && !s; step++) {
        if (!take_signs(q)) break;
        s = solve(q, q->v, &norm);
        double top = largest(q->v, n, &next);
        if (s || (at >= 0 && top <= fabs(q->v[at]))) break;
        at = next;
        memset(q->v, 0, (size_t)n * sizeof *q->v);
        q->v[at] = 1;
        s = solve(q, q->v, &norm);
        if (!(norm > *estimate)) break;
        *estimate = norm;
    }
    if (s || n == 1) return s;
    for (int64_t i = 0; i < n; i++) q->v[i] = (i % 2 ? -1 : 1) * (1 + (double)i / (double)(n - 1));
    s = solve(q, q->v, &norm);
    *estimate = fmax(*estimate, 2 * norm / (3 * (double)n));
    return s;
}

/* -- pivots and bounds ----------------------------------------------------------------------------------- */

static ct_status read_pivots(inspection *q)
{
    ct_status s = ct__gp_fetch_line(q->gp, ct__factor_diagonal, "the factor", q->v);
    q->report->smallest_pivot = INFINITY;
    for (int64_t i = 0; i < q->gp->rows.n && !s; i++) {
        double pivot = q->v[i] * q->v[i] / q->diagonal[i];
        const int64_t row = ct__one_output_row(q->gp->one_output, i);
        q->logs += log(q->v[i]);
        if (row < 0 || pivot >= q->report->smallest_pivot) continue;
        q->report->smallest_pivot = pivot;
        q->report->pivot_row = row;
    }
    return s;
}

int ct_gp_at_bound(const ct_gp *gp, int64_t i)
{
    if (!gp || i < 0 || i >= gp->params.count || gp->params.param[i].fixed) return 0;
    double lower, upper, z = ct__gp_z_of(gp, i, gp->params.param[i].value);
    ct__gp_bounds(gp, i, &lower, &upper);
    return z <= lower + AT_BOUND ? -1 : z >= upper - AT_BOUND ? 1 : 0;
}

/* -- the whole report ------------------------------------------------------------------------------------ */

static ct_status inspect(inspection *q)
{
    ct_gp *gp = q->gp;
    double inverse = 0, epsilon = gp->rows.dtype == CT_F32 ? FLT_EPSILON : DBL_EPSILON;
    ct_status s = read_diagonal(q);
    if (!s) s = read_rows(q);
    if (!s) s = read_pivots(q);
    if (!s) s = inverse_norm(q, &inverse);
    if (s) return s;
    int64_t at;
    q->report->condition = fmax(largest(q->sum, gp->rows.n, &at) * inverse, 1);
    q->report->digits = fmax(-log10(epsilon * q->report->condition), 0);
    double n = (double)gp->rows.n, fit = 2 * (gp->factor.nlml - gp->factor.restricted -
                                              ct__target_volume(&gp->target, gp->rows.n) - q->logs) -
                                         n * CT__LOG_2PI;
    q->report->gradient_error = (n + fmax(fit, 0)) * epsilon * q->report->condition;
    q->report->jitter = gp->factor.jitter * gp->target.scale * gp->target.scale;
    for (int64_t i = 0; i < gp->params.count; i++) q->report->at_bounds += ct_gp_at_bound(gp, i) != 0;
    return CT_OK;
}

ct_status ct_gp_inspect(ct_gp *gp, ct_gp_numerics *numerics)
{
    if (numerics) *numerics = (ct_gp_numerics){ 0 };
    if (!gp) return CT_EINVAL;
    ct__gp_enter(gp);
    ct_status s = numerics ? ct__gp_factorise(gp)
                           : ct_device_fail(gp->device, CT_EINVAL, "ct_gp_inspect: the report is NULL");
    if (s) return ct__gp_leave(gp, s);
    const uint64_t n = (uint64_t)gp->rows.n,
                   rows = (uint64_t)ct__rows_within(CHUNK_BYTES, gp->rows.n, CT_F64, 16, gp->rows.n);
    s = ct__gp_reserve(gp->device, 2 * rows * n * sizeof(double), false, "ct_gp_inspect",
                       "free what else the device holds");
    inspection q = { .gp = gp, .report = numerics, .rows = (int64_t)rows };
    if (!s) s = ct__gp_arrays(gp->device, n, (double **[]){ &q.diagonal, &q.root, &q.sum, &q.v, &q.sign }, 5);
    if (!s && !(q.chunk = ct__gp_alloc(gp->device, rows * n, sizeof *q.chunk))) s = CT_ENOMEM;
    if (!s) s = inspect(&q);
    ct_tape_reset(gp->tape);
    free(q.diagonal);
    free(q.chunk);
    s = ct__gp_leave(gp, s);
    if (s) *numerics = (ct_gp_numerics){ 0 };
    return s;
}
