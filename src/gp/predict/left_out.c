#include "left_out.h"

#include <math.h>
#include <stdlib.h>

#include "gp/data/numbers.h"
#include "gp/kernel/prior.h"
#include "gp/likelihood/factorise.h"
#include "gp/model/exchange.h"

ct_status ct__left_out(ct_gp *gp, ct__leave_out *leave, const int64_t *fold, double *part[CT__LEFT_PARTS])
{
    const ct__target *t = &gp->target;
    double *alpha, *y = part[0] = NULL;
    ct_status s = ct__gp_factorise(gp);
    if (!s)
        s = ct__gp_arrays(gp->device, (uint64_t)gp->rows.n,
                          (double **[]){ &part[0], &part[1], &part[2], &part[3], &alpha, &y }, 6);
    if (!s) s = ct__gp_read(gp->factor.alpha, alpha);
    if (!s) s = ct__gp_read(t->y, y);
    if (!s) s = leave(gp, fold, alpha, part[CT__LEFT_MEAN], part[CT__LEFT_VARIANCE]);
    for (int64_t i = 0; i < gp->rows.n && !s; i++) {
        const double e = part[CT__LEFT_MEAN][i], v = part[CT__LEFT_VARIANCE][i], square = e * e / v;
        part[CT__LEFT_MEAN][i] = t->shift + t->scale * (y[i] - e);
        part[CT__LEFT_VARIANCE][i] = t->scale * t->scale * v;
        part[CT__LEFT_DENSITY][i] =
            -0.5 * (CT__LOG_2PI + log(v) + square) - log(t->scale) + ct__target_slope(t, y[i]);
        part[CT__LEFT_SQUARE][i] = square;
    }
    for (int k = 0; k < CT__LEFT_PARTS && !s; k++) ct__one_output_pick(gp->one_output, part[k], 1);
    return s;
}

ct_status ct__left_out_into(ct_gp *gp, ct__leave_out *leave, const int64_t *fold, ct_tensor *const out[3])
{
    static const char *const what[] = { "mean", "variance", "log_density" };
    double *part[CT__LEFT_PARTS] = { NULL };
    ct_status s = CT_OK;
    ct__gp_enter(gp);
    for (int k = 0; k < 3 && !s; k++) s = ct__gp_check_out(gp, out[k], ct__gp_rows(gp), what[k]);
    if (!s) s = ct__left_out(gp, leave, fold, part);
    for (int k = 0; k < 3 && !s; k++)
        if (out[k]) s = ct__gp_deliver(gp, part[k], out[k]);
    free(part[0]);
    return ct__gp_leave(gp, s);
}
