#include "objective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gp/data/numbers.h"
#include "gp/kernel/prior.h"
#include "gp/likelihood/ladder.h"
#include "gp/model/memory.h"
#include "gp/model/param_units.h"

typedef struct evaluation {
    const ct__likelihood *by;
    uint64_t draw;
    bool slopes;
    double *number; /* the gradient in s */
} evaluation;

/* The objective of the standardised problem, without priors, and its gradient. */
static ct_status attempt(ct_gp *gp, const double *s, double jitter, void *context)
{
    const evaluation *e = context;
    ct__graph g = ct__graph_of(gp, s, jitter, e->slopes);
    g.draw = e->draw;
    const ct_var v = e->by->objective(gp, &g), leaf[] = { g.theta, g.noise, g.mean };
    const int64_t at[] = { 0, gp->params.noise_at, gp->params.mean_at }, count = gp->params.count;
    double *gradient = e->number + CT__GRADIENT;
    e->number[CT__VALUE] = ct_item(v);
    ct_status status = ct_tape_status(gp->tape);
    if (!status && !isfinite(e->number[CT__VALUE])) return CT_ENUMERIC;
    if (status || !e->slopes) return status;
    status = ct_backward(v);
    memset(gradient, 0, (size_t)count * sizeof *gradient);
    for (int k = 0; k < 3 && !status; k++) {
        ct_tensor *bar = at[k] < 0 ? NULL : ct_cotangent(leaf[k]);
        if (bar) status = ct__gp_read(bar, gradient + at[k]);
    }
    for (int64_t i = 0; i < count && !status; i++)
        if (!isfinite(gradient[i])) status = CT_ENUMERIC;
    return status;
}

/* Makes all processes of a communicator continue with the numbers of process 0, however their processors
 * round. */
static ct_status as_process_0(ct_gp *gp, ct_status status, double *x, int64_t count)
{
    return ct__comm_agree_broadcast(gp->options.comm, gp->device, status, x, (size_t)count * sizeof *x);
}

ct_status ct__gp_evaluate(ct_gp *gp, const ct__likelihood *by, uint64_t draw, const double *z, bool slopes,
                          double *number)
{
    const int64_t count = gp->params.count;
    evaluation e = { by, draw, slopes, number };
    double *s = ct__gp_alloc(gp->device, (uint64_t)count, sizeof *s), *gradient = number + CT__GRADIENT;
    if (!s) return CT_ENOMEM;
    memcpy(s, z, (size_t)count * sizeof *s);
    ct_status status = as_process_0(gp, CT_OK, s, count);
    for (int64_t i = 0; i < count; i++)
        if (ct__gp_positive(gp, i)) s[i] = exp(s[i]);
    gp->likelihood.error = 0;
    number[CT__VALUE] = NAN;
    if (!status) status = ct__ladder(gp, s, by->noisy, attempt, &e, &number[CT__JITTER]);
    ct_tape_reset(gp->tape);
    number[CT__ERROR] = gp->likelihood.error;
    number[CT__VALUE] += ct__target_volume(&gp->target, gp->rows.n);
    for (int64_t i = 0; i < count && !status; i++) {
        double slope, unit = ct__gp_unit(gp, i), v = ct__gp_origin(gp, i) + s[i] * unit;
        number[CT__VALUE] -= ct__prior_log_density(&gp->params.param[i].prior, v, &slope);
        if (!slopes) continue;
        gradient[i] -= slope * unit;
        if (ct__gp_positive(gp, i)) gradient[i] *= s[i];
    }
    free(s);
    status = as_process_0(gp, status, number, CT__GRADIENT + (slopes ? count : 0));
    if (!status && !isfinite(number[CT__VALUE]))
        status = ct_device_fail(gp->device, CT_ENUMERIC,
                                "the objective is not finite: a prior excludes this point");
    return status;
}

ct_status ct_gp_objective(ct_gp *gp, const double *u, double *value, double *gradient)
{
    if (!gp) return CT_EINVAL;
    if (!u || !value) return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_objective: an argument is NULL");
    ct__gp_enter(gp);
    const ct__likelihood *by = gp->likelihood.row;
    double *z, *number;
    ct_status status =
        ct__gp_arrays(gp->device, (uint64_t)gp->params.count + CT__GRADIENT, (double **[]){ &z, &number }, 2);
    if (status) return ct__gp_leave(gp, status);
    for (int64_t i = 0; i < gp->params.count; i++)
        z[i] = ct__gp_positive(gp, i) ? u[i] - log(ct__gp_unit(gp, i)) : ct__gp_z_of(gp, i, u[i]);
    status = ct__gp_reserve(gp->device, by->bytes(gp, 0, gradient != NULL), gp->rows.dtype == CT_F64,
                            "the likelihood", "use fewer rows");
    if (!status) status = ct__gp_evaluate(gp, by, 0, z, gradient != NULL, number);
    for (int64_t i = 0; gradient && i < gp->params.count; i++)
        gradient[i] = number[CT__GRADIENT + i] / (ct__gp_positive(gp, i) ? 1 : ct__gp_unit(gp, i));
    status = ct__gp_leave(gp, status);
    *value = status ? NAN : number[CT__VALUE];
    free(z);
    return status;
}
