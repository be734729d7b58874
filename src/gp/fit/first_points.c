/* The likelihood of few rows has several optima, which differ above all in the lengthscales: all of the data
 * is noise, all is a smooth function, or both. docs/notebook.md evaluates the numbers below. */
#include "first_points.h"

#include <math.h>
#include <string.h>

#include "gp/data/numbers.h"
#include "gp/kernel/kernel_tree.h"
#include "gp/model/param_units.h"

/* -- how many -------------------------------------------------------------------------------------------- */

/* A search takes time in proportion to n² (n + PER_PARAMETER p), with n rows and p parameters: an evaluation
 * takes n³ operations and some more for each parameter, and more parameters need more evaluations. On one
 * core searches of AFFORDABLE in all take about a second. */
#define AFFORDABLE 1e9
enum { PER_PARAMETER = 50 };

/* The node of parameter i, if this is a lengthscale in the units of X that a search may move; else NULL. */
static const kernel_node *node_of_length(const ct_gp *gp, int64_t i)
{
    const ct_param *p = &gp->params.param[i];
    const kernel_node *n = i < gp->params.n_kernel ? ct__kernel_node_of(gp->kernel, &i) : NULL;
    return n && i < n->n_length && p->unit == CT_UNIT_INPUT && !p->fixed ? n : NULL;
}

/* Whether a lengthscale starts from the data, and not from a given value or the end of a fit. */
static bool begins_anew(const ct_gp *gp)
{
    if (gp->report.end != CT_FIT_UNKNOWN && gp->report.end != CT_FIT_FAILED) return false;
    for (int64_t i = 0; i < gp->params.n_kernel; i++)
        if (node_of_length(gp, i) && !gp->params.param[i].start_given) return true;
    return false;
}

int ct__restarts(const ct_gp *gp, const ct_fit_options *options)
{
    if (options->restarts) return options->restarts < 0 ? 0 : options->restarts;
    const double n = (double)gp->rows.n, p = (double)gp->params.count;
    return begins_anew(gp) ? (int)fmin(CT_FIT_RESTARTS, AFFORDABLE / (n * n * (n + PER_PARAMETER * p))) : 0;
}

/* -- where ----------------------------------------------------------------------------------------------- */

bool ct__neighbour(const ct_gp *gp, int k, const double *point, double *z)
{
    const double factor[] = { 1.0 / 3, 3 };
    if (k >= (int)(sizeof factor / sizeof *factor) || !begins_anew(gp)) return false;
    for (int64_t i = 0; i < gp->params.count; i++)
        z[i] = point[i] + (node_of_length(gp, i) && !gp->params.param[i].start_given ? log(factor[k]) : 0);
    return true;
}

/* Number k of a sequence that fills [0, 1) evenly [van der Corput 1935]. */
static double spread(int k, int base)
{
    double value = 0, digit = 1;
    for (; k; k /= base) value += (digit /= base) * (k % base);
    return value;
}

/* Each parameter is drawn for itself; in addition the lengthscales of a profile move together. */
ct_status ct__draw_start(const ct_gp *gp, uint64_t seed, int index, const double *point, double *z)
{
    static const int primes[] = { 2, 3, 5, 7, 11 };
    const double least = -2, most = 1; /* of the common shift of the logs */
    const kernel_node *last = NULL;
    int nodes = 0;
    int64_t drawn = 0;
    for (int64_t i = 0; i < gp->params.count; i++) drawn += !gp->params.param[i].fixed;
    ct_status s =
        ct__gp_unload(ct_rand_normal(gp->device, CT_F64, ct_shape1(drawn), seed, (uint64_t)index), z);
    for (int64_t i = gp->params.count; i-- > 0 && !s;) /* from the end: z has the draws in front */
        z[i] = point[i] + (gp->params.param[i].fixed ? 0 : ct__gp_draw_width(gp, i) * z[--drawn]);
    for (int64_t i = 0; i < gp->params.count && !s; i++) {
        const kernel_node *n = node_of_length(gp, i);
        if (!n) continue;
        nodes += n != last;
        last = n;
        z[i] += least + (most - least) * spread(index, primes[(nodes - 1) % 5]);
    }
    return s;
}
