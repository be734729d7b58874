/* The contribution of a trend to predictions. With b and H of the standardised problem, A = M Mᵀ and
 * G = M⁻¹HᵀC⁻¹:
 *     γ̂ = M⁻ᵀw + level,   mean* = b(x*)ᵀγ̂ + k*ᵀα,   variance* = k(x*, x*) - k*ᵀC⁻¹k* + |u|²
 *     u = M⁻¹ b(x*) - G k*
 *     β̂ = R⁻¹γ̂,   cov β̂ = R⁻¹A⁻¹R⁻ᵀ                    [Rasmussen & Williams 2006, eqs 2.41, 2.42] */
#include "trend_posterior.h"

#include <math.h>
#include <stdlib.h>

#include "gp/data/numbers.h"
#include "gp/data/trend.h"
#include "gp/likelihood/factorise.h"
#include "gp/model/exchange.h"
#include "gp/model/graph.h"
#include "posterior_op.h"

/* -- small matrices, in f64 ------------------------------------------------------------------------------ */

/* Columns first..end of [M w] (p, p + 1). */
static ct_var of_factor(const ct_gp *gp, ct_tape *tape, int64_t first, int64_t end)
{
    const int64_t n = gp->rows.n;
    return ct_cast(ct_slice(ct_constant(tape, gp->factor.trend), 1, n + first, n + end, 1), CT_F64);
}

/* A matrix of the trend's. */
static ct_var of_trend(const ct_gp *gp, ct_tape *tape, const double *x, int64_t rows, int64_t cols)
{
    return ct__gp_input(tape, ct__gp_tensor(gp->device, CT_F64, ct_shape2(rows, cols), x), false);
}

/* γ̂ (p, 1) */
static ct_var estimate(const ct_gp *gp, ct_tape *tape)
{
    const ct__trend *t = gp->mean.trend;
    const int64_t p = t->basis.count;
    ct_var M = of_factor(gp, tape, 0, p), w = of_factor(gp, tape, p, p + 1);
    return ct_add(ct_tri_solve(M, w, CT_LOWER | CT_TRANS), of_trend(gp, tape, t->level, p, 1));
}

/* -- at points ------------------------------------------------------------------------------------------- */

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

/* mono(Xs) mapᵀ A for A (p, cols): (m, cols) */
static ct_var combination(const ct_gp *gp, ct_var Xs, ct_var A)
{
    const ct__trend *t = gp->mean.trend;
    const int64_t M = t->mono.count;
    ct_var mono[CT__MOST_MONOMIALS], map = of_trend(gp, Xs.tape, t->map, t->basis.count, M);
    for (int64_t k = 0; k < M; k++) mono[k] = monomial(&t->mono.term[k], Xs);
    ct_var all = M > 1 ? ct_concat(mono, (int)M, 1) : mono[0];
    return ct_matmul(all, ct_cast(ct_matmul(ct_t(map), A), gp->rows.dtype));
}

ct_var ct__trend_mean_at(const ct_gp *gp, ct_var Xs) { return combination(gp, Xs, estimate(gp, Xs.tape)); }

/* M⁻ᵀ (p, p) */
static ct_var inverse(const ct_gp *gp, ct_tape *tape)
{
    const int64_t p = gp->mean.trend->basis.count;
    ct_var ones = ct_broadcast_to(ct_scalar(tape, CT_F64, 1), ct_shape1(p));
    return ct_tri_solve(of_factor(gp, tape, 0, p), ct_diag_embed(ones), CT_LOWER | CT_TRANS);
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
    return ct_sub(combination(gp, Xs, inverse(gp, Xs.tape)), p > 1 ? ct_concat(Gk, (int)p, 1) : Gk[0]);
}

/* -- leave-one-out --------------------------------------------------------------------------------------- */

ct_status ct__trend_leave_out(ct_gp *gp, double *q)
{
    const int64_t n = gp->rows.n;
    const double same = gp->rows.dtype == CT_F32 ? 1e-5 : 1e-10;
    double *taken = ct__gp_alloc(gp->device, (uint64_t)n, sizeof *taken);
    if (!taken) return CT_ENOMEM;
    ct_tape_reset(gp->tape);
    ct_var G = ct_cast(ct_slice(ct_constant(gp->tape, gp->factor.trend), 1, 0, n, 1), CT_F64);
    ct_status s = ct__gp_fetch(gp, ct_sum(ct_square(G), 0, false), "the basis of the mean", taken);
    for (int64_t i = 0; i < n && !s; i++) {
        if (!(q[i] - taken[i] > same * q[i]))
            s = ct_device_fail(gp->device, CT_ENUMERIC,
                               "row %lld cannot be left out: it alone determines a coefficient of the mean",
                               (long long)i);
        q[i] -= taken[i];
    }
    free(taken);
    return s;
}

/* -- the coefficients ------------------------------------------------------------------------------------ */

int64_t ct_gp_functions(const ct_gp *gp) { return gp ? ct__trend_size(gp->mean.trend) : 0; }

size_t ct_gp_function(const ct_gp *gp, int64_t i, char *text, size_t size)
{
    if (i < 0 || i >= ct_gp_functions(gp)) return 0;
    return ct__term_print(&gp->mean.trend->basis.term[i], gp->rows.column, text, size);
}

ct_status ct_gp_coefficients(ct_gp *gp, double *value, double *error)
{
    if (!gp) return CT_EINVAL;
    const ct__trend *t = gp->mean.trend;
    ct_status s =
        t ? ct__gp_factorise(gp)
          : ct_device_fail(gp->device, CT_EINVAL, "ct_gp_coefficients: the model's mean has no basis");
    if (s) return s;
    const int64_t p = t->basis.count;
    double *x = ct__gp_alloc(gp->device, (uint64_t)(p * (p + 1)), sizeof *x);
    if (!x) return CT_ENOMEM;
    ct_tape_reset(gp->tape);
    ct_var both[] = { estimate(gp, gp->tape), inverse(gp, gp->tape) };
    s = ct__gp_fetch(gp, ct_tri_solve(of_trend(gp, gp->tape, t->R, p, p), ct_concat(both, 2, 1), CT_UPPER),
                     "the coefficients of the mean", x);
    ct_tape_reset(gp->tape);
    for (int64_t k = 0; k < p && !s; k++) {
        const double *row = x + k * (p + 1), unit = gp->target.scale; /* β̂_k, then row k of R⁻¹M⁻ᵀ */
        double size = 0;
        for (int64_t j = 1; j <= p; j++) size = hypot(size, unit * row[j]);
        if (value) value[k] = unit * row[0] + (t->basis.term[k].degree ? 0 : gp->target.shift);
        if (error) error[k] = size;
        if ((value && !isfinite(value[k])) || (error && !isfinite(size)))
            s = ct_device_fail(gp->device, CT_ENUMERIC,
                               "ct_gp_coefficients: coefficient %lld leaves the range of numbers: bring the "
                               "columns to a scale near 1",
                               (long long)k);
    }
    free(x);
    return s;
}
