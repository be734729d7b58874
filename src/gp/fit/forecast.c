#include "forecast.h"

#include <math.h>
#include <stdlib.h>

#include <cotangent/gp/loo.h>

#include "gp/data/numbers.h"
#include "gp/model/model.h"

/* The rows of the last tenth are fold -1, each other row is one of its own. */
static ct_status fold_of(const ct_gp *gp, int64_t column, int64_t *fold)
{
    const int64_t n = gp->rows.n;
    double *x = ct__gp_column(gp->rows.X, column), *sorted = x ? ct__gp_column(gp->rows.X, column) : NULL;
    if (sorted) qsort(sorted, (size_t)n, sizeof *sorted, ct__rising);
    for (int64_t i = 0; i < n && sorted; i++) fold[i] = x[i] >= sorted[n - n / 10] ? -1 : i;
    const ct_status s = sorted ? CT_OK : CT_ENOMEM;
    free(x);
    free(sorted);
    return s;
}

/* *loss: the mean of -log p(y_i) over the last tenth of the rows along a column of X, given the others and
 * the present parameters. +inf where the others do not determine it. */
static ct_status forecast(ct_gp *gp, int64_t column, double *loss)
{
    const int64_t n = gp->rows.n;
    double sum = 0, count = 0;
    int64_t *fold = ct__gp_alloc(gp->device, (uint64_t)n, sizeof *fold);
    ct_tensor *density = ct_empty(gp->device, CT_F64, ct_shape1(n));
    ct_status s = fold && density ? fold_of(gp, column, fold) : CT_ENOMEM;
    if (!s) s = ct_gp_cross_validate(gp, fold, NULL, NULL, density);
    double *each = s ? NULL : ct__gp_doubles(density);
    for (int64_t i = 0; i < n && each; i++)
        if (fold[i] < 0) sum -= each[i], count++;
    *loss = each && isfinite(sum) ? sum / count : INFINITY;
    free(each);
    free(fold);
    ct_release(density);
    return s == CT_ENOMEM ? s : CT_OK;
}

/* Half of AICc over n, and the loss of a forecast. */
static double loss_of(const ct_gp_choice *c, int k)
{
    return c->tried[k].criterion / (2 * (double)c->rows) + c->tried[k].forecast;
}

ct_status ct__choose_best(ct_gp_choice *c, ct_gp *const *gp, bool forecasts)
{
    ct_status s = CT_OK;
    for (int k = 0; k < c->count && !s; k++) {
        if (!isfinite(c->tried[k].objective)) continue;
        if (forecasts) s = forecast(gp[k], c->season_column, &c->tried[k].forecast);
        if (c->best < 0 || loss_of(c, k) < loss_of(c, c->best)) c->best = k;
    }
    return s;
}
