/* The contribution of a trend to predictions. With b and H of the standardised problem, A = M Mᵀ and
 * G = M⁻¹HᵀC⁻¹:
 *     γ̂ = M⁻ᵀw + level,   mean* = b(x*)ᵀγ̂ + k*ᵀα,   variance* = k(x*, x*) - k*ᵀC⁻¹k* + |u|²
 *     u = M⁻¹ b(x*) - G k*
 *     β̂ = R⁻¹γ̂,   cov β̂ = R⁻¹A⁻¹R⁻ᵀ                    [Rasmussen & Williams 2006, eqs 2.41, 2.42] */
#include "trend_posterior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gp/data/numbers.h"
#include "gp/data/trend.h"
#include "gp/likelihood/factorise.h"
#include "gp/model/graph.h"
#include "posterior_op.h"

/* [M w] of the factor, (p, p + 1); NULL with the reason on the device. Free with free. */
static double *ends_of(const ct_gp *gp)
{
    ct_tensor *part = ct_tensor_slice(gp->factor.trend, 1, gp->rows.n, ct_tensor_dim(gp->factor.trend, 1), 1);
    double *ends = part ? ct__gp_doubles(part) : NULL;
    ct_release(part);
    return ends;
}

/* x = M⁻¹x and x = M⁻ᵀx, with M in rows of p + 1 numbers */
static void solve_lower(const double *M, int64_t p, double *x)
{
    for (int64_t i = 0; i < p; i++) {
        for (int64_t j = 0; j < i; j++) x[i] -= M[i * (p + 1) + j] * x[j];
        x[i] /= M[i * (p + 1) + i];
    }
}

static void solve_lower_trans(const double *M, int64_t p, double *x)
{
    for (int64_t i = p; i-- > 0;) {
        for (int64_t j = i + 1; j < p; j++) x[i] -= M[j * (p + 1) + i] * x[j];
        x[i] /= M[i * (p + 1) + i];
    }
}

/* x = R⁻¹x */
static void solve_upper(const double *R, int64_t p, double *x)
{
    for (int64_t i = p; i-- > 0;) {
        for (int64_t j = i + 1; j < p; j++) x[i] -= R[i * p + j] * x[j];
        x[i] /= R[i * p + i];
    }
}

/* γ̂ (p) */
static void estimate(const ct__trend *t, const double *ends, double *gamma)
{
    const int64_t p = t->basis.count;
    for (int64_t k = 0; k < p; k++) gamma[k] = ends[k * (p + 1) + p];
    solve_lower_trans(ends, p, gamma);
    for (int64_t k = 0; k < p; k++) gamma[k] += t->level[k];
}

/* -- on a tape ------------------------------------------------------------------------------------------- */

/* (m, 1) for each monomial */
static ct_var monomial(const ct__term *m, ct_var Xs)
{
    const int64_t rows = ct_var_shape(Xs).dim[0];
    ct_var product = ct_broadcast_to(ct_scalar(Xs.tape, ct_var_dtype(Xs), 1), ct_shape2(rows, 1));
    for (int f = 0; f < m->degree; f++) {
        ct_var column = ct_slice(Xs, 1, m->column[f], m->column[f] + 1, 1);
        product = f ? ct_mul(product, column) : column;
    }
    return product;
}

/* mono(Xs) W for W (monomials, cols): (m, cols) */
static ct_var combination(const ct_gp *gp, ct_var Xs, const double *W, int64_t cols)
{
    const ct__trend *t = gp->mean.trend;
    ct_var *mono = malloc((size_t)t->mono.count * sizeof *mono);
    if (!mono) {
        ct_device_fail(gp->device, CT_ENOMEM, "out of memory: %lld numbers", (long long)t->mono.count);
        ct_tape_fail(Xs.tape, CT_ENOMEM, "%s", ct_message(gp->device));
        return Xs;
    }
    for (int64_t k = 0; k < t->mono.count; k++) mono[k] = monomial(&t->mono.term[k], Xs);
    ct_var all = t->mono.count > 1 ? ct_concat(mono, (int)t->mono.count, 1) : mono[0];
    free(mono);
    return ct_matmul(
        all,
        ct__gp_input(Xs.tape, ct__gp_tensor(gp->device, gp->rows.dtype, ct_shape2(t->mono.count, cols), W),
                     false));
}

ct_var ct__trend_mean_at(const ct_gp *gp, ct_var Xs)
{
    const ct__trend *t = gp->mean.trend;
    const int64_t p = t->basis.count, M = t->mono.count;
    double *ends = ends_of(gp), *gamma = ct__gp_alloc(gp->device, (uint64_t)(p + M), sizeof *gamma);
    ct_var mean = Xs;
    if (ends && gamma) {
        double *W = gamma + p; /* mapᵀγ̂ */
        estimate(t, ends, gamma);
        for (int64_t k = 0; k < p; k++)
            for (int64_t i = 0; i < M; i++) W[i] += t->map[k * M + i] * gamma[k];
        mean = combination(gp, Xs, W, 1);
    } else {
        ct_tape_fail(Xs.tape, CT_ENOMEM, "%s", ct_message(gp->device));
    }
    free(ends);
    free(gamma);
    return mean;
}

/* M⁻¹ b(Xs): (m, p) */
static ct_var whitened(const ct_gp *gp, ct_var Xs)
{
    const ct__trend *t = gp->mean.trend;
    const int64_t p = t->basis.count, M = t->mono.count;
    double *ends = ends_of(gp), *W = ct__gp_alloc(gp->device, (uint64_t)(M * p), sizeof *W);
    ct_var b = Xs;
    if (ends && W) {
        for (int64_t i = 0; i < M; i++) {
            for (int64_t k = 0; k < p; k++) W[i * p + k] = t->map[k * M + i];
            solve_lower(ends, p, W + i * p);
        }
        b = combination(gp, Xs, W, p);
    } else {
        ct_tape_fail(Xs.tape, CT_ENOMEM, "%s", ct_message(gp->device));
    }
    free(ends);
    free(W);
    return b;
}

ct_var ct__trend_spread_at(const ct_gp *gp, ct_var theta, ct_var Xs)
{
    const int64_t p = gp->mean.trend->basis.count;
    const ct__grid grid = ct__gp_grid(gp);
    ct_var all = ct_slice(ct_constant(Xs.tape, gp->factor.trend), 1, 0, gp->rows.n, 1), Gk[CT__BASIS_TERMS];
    ct_var in[] = { theta, Xs, ct_constant(Xs.tape, gp->rows.X), all, all };
    for (int64_t k = 0; k < p; k++) {
        in[3] = ct_t(ct_slice(all, 0, k, k + 1, 1));
        Gk[k] = ct_unsqueeze(ct__gp_posterior_at(ct_kernel_program(gp->kernel), &grid, in, false), 1);
    }
    return ct_sub(whitened(gp, Xs), p > 1 ? ct_concat(Gk, (int)p, 1) : Gk[0]);
}

/* -- leave-one-out --------------------------------------------------------------------------------------- */

ct_status ct__trend_leave_out(ct_gp *gp, double *q)
{
    const int64_t p = gp->mean.trend->basis.count, n = gp->rows.n, width = n + p + 1;
    const double same = gp->rows.dtype == CT_F32 ? 1e-5 : 1e-10;
    double *G = ct__gp_doubles(gp->factor.trend);
    ct_status s = G ? CT_OK : CT_ENOMEM;
    for (int64_t i = 0; i < n && !s; i++) {
        const double whole = q[i];
        for (int64_t k = 0; k < p; k++) q[i] -= G[k * width + i] * G[k * width + i];
        if (!(q[i] > same * whole))
            s = ct_device_fail(gp->device, CT_ENUMERIC,
                               "row %lld cannot be left out: it alone determines a coefficient of the mean",
                               (long long)i);
    }
    free(G);
    return s;
}

/* -- the coefficients ------------------------------------------------------------------------------------ */

int64_t ct_gp_functions(const ct_gp *gp) { return gp ? ct__trend_size(gp->mean.trend) : 0; }

size_t ct_gp_function(const ct_gp *gp, int64_t i, char *text, size_t size)
{
    if (i < 0 || i >= ct_gp_functions(gp)) return 0;
    return ct__term_print(&gp->mean.trend->basis.term[i], gp->rows.column, text, size);
}

/* x: room for p numbers. */
static void coefficients(const ct_gp *gp, const double *ends, double *x, double *value, double *error)
{
    const ct__trend *t = gp->mean.trend;
    const int64_t p = t->basis.count;
    estimate(t, ends, x);
    solve_upper(t->R, p, x);
    for (int64_t k = 0; value && k < p; k++)
        value[k] = gp->target.scale * x[k] + (t->basis.term[k].degree ? 0 : gp->target.shift);
    if (error) memset(error, 0, (size_t)p * sizeof *error);
    for (int64_t j = 0; error && j < p; j++) { /* R⁻¹M⁻ᵀ, column by column */
        for (int64_t k = 0; k < p; k++) x[k] = k == j;
        solve_lower_trans(ends, p, x);
        solve_upper(t->R, p, x);
        for (int64_t k = 0; k < p; k++) error[k] = hypot(error[k], gp->target.scale * x[k]);
    }
}

ct_status ct_gp_coefficients(ct_gp *gp, double *value, double *error)
{
    if (!gp) return CT_EINVAL;
    ct_status s = gp->mean.trend ? ct__gp_factorise(gp)
                                 : ct_device_fail(gp->device, CT_EINVAL,
                                                  "ct_gp_coefficients: the model's mean has no basis");
    if (s) return s;
    const int64_t p = gp->mean.trend->basis.count;
    double *ends = ends_of(gp), *x = ct__gp_alloc(gp->device, (uint64_t)p, sizeof *x);
    if (ends && x)
        coefficients(gp, ends, x, value, error);
    else
        s = CT_ENOMEM;
    free(ends);
    free(x);
    for (int64_t k = 0; k < p && !s; k++)
        if ((value && !isfinite(value[k])) || (error && !isfinite(error[k])))
            s = ct_device_fail(gp->device, CT_ENUMERIC,
                               "ct_gp_coefficients: coefficient %lld leaves the range of numbers: bring the "
                               "columns to a scale near 1",
                               (long long)k);
    return s;
}
