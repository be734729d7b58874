/* From the periodograms of their columns; the rows bound them from below. */
#include "periods.h"

#include <math.h>
#include <stdlib.h>

#include "gp/data/numbers.h"
#include "gp/data/season.h"
#include "gp/data/trend.h"
#include "gp/kernel/kernel_tree.h"

/* Whether parameter i of the kernel is a period of this column alone. */
static bool is_period(const ct_gp *gp, int64_t i, int64_t column)
{
    const ct_param *p = &gp->params.param[i];
    const kernel_node *n = ct__kernel_node_of(gp->kernel, &i);
    return p->unit == CT_UNIT_INPUT && p->column == column && i >= n->n_length;
}

static bool is_set(const ct_param *p)
{
    return p->start_given || p->fixed || p->lower > 0 || isfinite(p->upper);
}

/* Whether it may get a lower bound. */
static bool is_open(const ct_param *p) { return !p->fixed && !(p->lower > 0); }

/* The shortest period that the rows of input `column` can resolve, in its units, and with `seasons` its
 * seasons. */
static ct_status find(const ct_gp *gp, int64_t column, bool seasons, ct_season season[CT_SEASONS], int *count,
                      double *shortest)
{
    double *x = ct__gp_column(gp->rows.X, column),
           *y = x ? ct__gp_doubles(gp->mean.trend ? gp->mean.trend->detrended : gp->target.y) : NULL;
    ct_status s = y ? CT_OK : ct_last_status(gp->device);
    if (!s && seasons) s = ct__find_seasons(gp->device, gp->rows.n, x, y, season, count);
    for (int k = 0; k < *count; k++) season[k].period *= gp->rows.scale[column];
    if (!s) ct__shortest_period(gp->rows.n, x, shortest);
    *shortest *= gp->rows.scale[column];
    free(x);
    free(y);
    return s;
}

/* Starts each period of the column that has no start or bound at a season that no other period has. The lower
 * bound of one without is what the rows can resolve: a shorter period would be an alias. A start or an upper
 * bound below that is left as it is. */
static ct_status begin(ct_gp *gp, int64_t column)
{
    ct_param *period[CT__KERNEL_MAX_NODES];
    ct_season season[CT_SEASONS];
    bool taken[CT_SEASONS] = { false };
    int periods = 0, open = 0, unset = 0, count = 0;
    double shortest = 0;
    for (int64_t i = 0; i < gp->params.n_kernel; i++)
        if (is_period(gp, i, column)) period[periods++] = &gp->params.param[i];
    for (int i = 0; i < periods; i++) {
        open += is_open(period[i]);
        unset += !is_set(period[i]);
    }
    const ct_status s = open ? find(gp, column, unset > 0, season, &count, &shortest) : CT_OK;
    for (int i = 0; i < periods; i++)
        for (int k = 0; k < count && is_set(period[i]); k++)
            taken[k] = taken[k] || fabs(log(period[i]->value / season[k].period)) < log(CT__SEASONS_APART);
    for (int i = 0, k = 0; i < periods; i++) {
        ct_param *p = period[i];
        if (!is_open(p)) continue;
        while (k < count && taken[k]) k++;
        if (!is_set(p) && k < count) p->value = season[k++].period;
        if (shortest > fmin(p->start_given ? p->value : INFINITY, p->upper)) continue;
        p->value = fmax(p->value, p->lower = shortest);
    }
    return s;
}

ct_status ct__gp_begin_periods(ct_gp *gp)
{
    ct_status s = CT_OK;
    for (int64_t j = 0; j < gp->rows.d && !s; j++) s = begin(gp, j);
    return s;
}
