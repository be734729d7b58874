/* Cross-validation from one factorisation. With r = y - m(X), α = C⁻¹r, and Q = (C⁻¹)_II for the rows I of a
 * fold,
 *     mean_I = y_I - Q⁻¹ α_I,   covariance_I = Q⁻¹
 * With a basis in the mean P (likelihood/restricted.c) replaces C⁻¹, so that β is estimated without the fold.
 * [Rasmussen & Williams 2006, §5.4.2; Ginsbourger & Schärer 2021, "Fast calculation of Gaussian process
 * multiple-fold cross-validation residuals and their covariances"] */
#include <math.h>
#include <stdlib.h>

#include <cotangent/gp/loo.h>
#include <cotangent/ops.h>

#include "gp/data/numbers.h"
#include "gp/data/trend.h"
#include "gp/model/exchange.h"
#include "gp/model/graph.h"
#include "left_out.h"

typedef struct member {
    int64_t fold, row;
} member;

typedef struct folds {
    ct_gp *gp;
    member *member; /* [n], fold by fold, each fold's rows in ascending order */
    int64_t *place; /* [n], a row's position among the members */
    int64_t *end;   /* [n], where the fold of member k ends */
    int64_t *start; /* [n], where member k's part of Q begins: (C⁻¹)_kj for j = k, ..., end - 1 */
    double *Q, *G;  /* G: of the trend, (p, n + p + 1), or NULL */
    int64_t largest;
} folds;

static int by_fold(const void *a, const void *b)
{
    const member *x = a, *y = b;
    return x->fold != y->fold ? (x->fold > y->fold) - (x->fold < y->fold)
                              : (x->row > y->row) - (x->row < y->row);
}

/* Sorts the rows by fold, and allocates the blocks' lower triangles. */
static ct_status sort_rows(folds *f, const int64_t *fold)
{
    const int64_t n = f->gp->rows.n;
    uint64_t entries = 0;
    f->member = ct__gp_alloc(f->gp->device, (uint64_t)n, sizeof *f->member);
    f->place = ct__gp_alloc(f->gp->device, 3 * (uint64_t)n, sizeof *f->place);
    if (!f->member || !f->place) return CT_ENOMEM;
    f->end = f->place + n;
    f->start = f->end + n;
    for (int64_t i = 0; i < n; i++) f->member[i] = (member){ fold[i], i };
    qsort(f->member, (size_t)n, sizeof *f->member, by_fold);
    for (int64_t k = n - 1; k >= 0; k--) {
        const bool last = k + 1 == n || f->member[k + 1].fold != f->member[k].fold;
        f->end[k] = last ? k + 1 : f->end[k + 1];
        f->place[f->member[k].row] = k;
        if (f->end[k] - k > f->largest) f->largest = f->end[k] - k;
    }
    for (int64_t k = 0; k < n; k++) {
        f->start[k] = (int64_t)entries;
        entries += (uint64_t)(f->end[k] - k);
    }
    f->Q = ct__gp_alloc(f->gp->device, entries, sizeof *f->Q);
    return f->Q ? CT_OK : CT_ENOMEM;
}

/* -- the blocks of the inverse --------------------------------------------------------------------------- */

/* out = rows i, i + 1, ... of C⁻¹, columns from `first` on. Column j of B L⁻¹ depends only on the columns
 * from j on. */
static ct_status inverse_rows(ct_gp *gp, int64_t i, int64_t rows, int64_t first, double *out)
{
    ct_tape_reset(gp->tape);
    ct_call *c = ct_scope_open(gp->tape, "ct_gp_cross_validate");
    const ct__factor L = ct__gp_factor_of(gp);
    ct_view B = ct_scratch(c, gp->rows.dtype, ct_shape2(rows, gp->rows.n - first));
    ct_prim_fill(c, B, 0);
    ct_prim_fill(c, ct_view_diagonal(ct__cols(B, i - first, i - first + rows)), 1);
    ct__factor_solve(c, &L, first, B);
    ct__factor_solve_trans(c, &L, first, B);
    return ct__gp_close_with(gp, c, B, "the cross-validation", out);
}

/* Q from panels of rows of C⁻¹: 2n³/3 operations, on a grid 2n³. */
static ct_status fill_blocks(folds *f)
{
    ct_gp *gp = f->gp;
    const int64_t n = gp->rows.n, panel = ct__packed_panel(n, gp->rows.dtype), most = panel < n ? panel : n;
    const bool any_row = ct__gp_factor_of(gp).unit == 1;
    double *rows = ct__gp_alloc(gp->device, (uint64_t)most * (uint64_t)n, sizeof *rows);
    ct_status s = rows ? CT_OK : CT_ENOMEM;
    for (int64_t i = 0, count; i < n && !s; i += count) {
        const int64_t first = any_row ? i : 0;
        count = most < n - i ? most : n - i;
        s = inverse_rows(gp, i, count, first, rows);
        for (int64_t r = 0; r < count && !s; r++) {
            const int64_t k = f->place[i + r];
            for (int64_t j = k; j < f->end[k]; j++)
                f->Q[f->start[k] + j - k] = rows[r * (n - first) + f->member[j].row - first];
        }
    }
    free(rows);
    return s;
}

/* P_ij = (C⁻¹)_ij - Σ_t G_ti G_tj for the members i <= j of a fold. */
static double entry(const folds *f, int64_t i, int64_t j)
{
    const int64_t p = ct__trend_size(f->gp->mean.trend), width = f->gp->rows.n + p + 1;
    double sum = f->Q[f->start[i] + j - i];
    for (int64_t t = 0; t < p; t++)
        sum -= f->G[t * width + f->member[i].row] * f->G[t * width + f->member[j].row];
    return sum;
}

/* -- the folds ------------------------------------------------------------------------------------------- */

/* error = Q⁻¹ α_I and the diagonal of Q⁻¹ for the members k, ..., k + b - 1. work: 2b² numbers. */
static ct_status solve_block(const folds *f, int64_t k, const double *alpha, double *work, double *error,
                             double *variance)
{
    ct_gp *gp = f->gp;
    const int64_t b = f->end[k] - k;
    double *covariance = work + b * b;
    const double most =
        gp->rows.dtype == CT_F32 ? 1e5 : 1e10; /* beyond this is rounding: nothing determines β */
    for (int64_t j = 0; j < b; j++)
        for (int64_t i = j; i < b; i++) work[i * b + j] = work[j * b + i] = entry(f, k + j, k + i);
    ct_tape_reset(gp->tape);
    ct_var Q = ct__gp_input(gp->tape, ct__gp_tensor(gp->device, CT_F64, ct_shape2(b, b), work), false);
    ct_status s = ct__gp_fetch(gp, ct_inverse_spd(Q), "the inverse covariance of a fold", covariance);
    for (int64_t i = 0; i < b && !s; i++) {
        const int64_t row = f->member[k + i].row;
        error[row] = 0;
        for (int64_t j = 0; j < b; j++) error[row] += covariance[i * b + j] * alpha[f->member[k + j].row];
        variance[row] = covariance[i * b + i];
        if (gp->mean.trend && !(variance[row] * work[i * b + i] <= most))
            s = ct_device_fail(
                gp->device, CT_ENUMERIC,
                "row %lld cannot be left out with its fold, which alone determines a coefficient of "
                "the mean",
                (long long)row);
        else if (!(variance[row] > 0 && isfinite(variance[row]) && isfinite(error[row])))
            s = ct_device_fail(gp->device, CT_ENUMERIC,
                               "row %lld cannot be left out with its fold: its variance given the others is "
                               "not a number, raise the noise",
                               (long long)row);
    }
    ct_tape_reset(gp->tape);
    return s;
}

static ct_status leave_fold(ct_gp *gp, const int64_t *fold, const double *alpha, double *error,
                            double *variance)
{
    folds f = { .gp = gp };
    double *work = NULL;
    ct_status s = sort_rows(&f, fold);
    if (!s) s = fill_blocks(&f);
    if (!s && gp->mean.trend && !(f.G = ct__gp_doubles(gp->factor.trend))) s = CT_ENOMEM;
    if (!s && !(work = ct__gp_alloc(gp->device, 2 * (uint64_t)f.largest * (uint64_t)f.largest, sizeof *work)))
        s = CT_ENOMEM;
    for (int64_t k = 0; k < gp->rows.n && !s; k = f.end[k])
        s = solve_block(&f, k, alpha, work, error, variance);
    free(work);
    free(f.Q);
    free(f.G);
    free(f.place);
    free(f.member);
    return s;
}

ct_status ct_gp_cross_validate(ct_gp *gp, const int64_t *fold, ct_tensor *mean, ct_tensor *variance,
                               ct_tensor *log_density)
{
    ct_tensor *const out[] = { mean, variance, log_density };
    if (!gp) return CT_EINVAL;
    if (!fold) return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_cross_validate: fold is NULL");
    if (gp->one_output)
        return ct__one_output_refuse(gp->device, "ct_gp_cross_validate",
                                     "its rows are left out one by one (ct_gp_loo)");
    return ct__left_out_into(gp, leave_fold, fold, out);
}
