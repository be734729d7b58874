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
    double value, *gradient; /* in s; NULL: not wanted */
} evaluation;

static ct_status read_bar(ct_var v, double *out)
{
    ct_tensor *bar = ct_cotangent(v);
    return bar ? ct__gp_read(bar, out) : CT_OK;
}

/* The objective of the standardised problem, without priors, and its gradient. */
static ct_status attempt(ct_gp *gp, const double *s, double jitter, void *context)
{
    evaluation *e = context;
    const ct__params *p = &gp->params;
    ct__graph g = ct__graph_of(gp, s, jitter, e->gradient != NULL);
    g.draw = e->draw;
    const ct_var v = e->by->objective(gp, &g);
    e->value = ct_item(v);
    ct_status status = ct_tape_status(gp->tape);
    if (!status && !isfinite(e->value)) return CT_ENUMERIC;
    if (status || !e->gradient) return status;
    status = ct_backward(v);
    memset(e->gradient, 0, (size_t)p->count * sizeof *e->gradient);
    if (!status) status = read_bar(g.theta, e->gradient);
    if (!status && p->noise_at >= 0) status = read_bar(g.noise, e->gradient + p->noise_at);
    if (!status && p->mean_at >= 0) status = read_bar(g.mean, e->gradient + p->mean_at);
    for (int64_t i = 0; i < p->count && !status; i++)
        if (!isfinite(e->gradient[i])) status = CT_ENUMERIC;
    return status;
}

/* Makes all processes of a communicator continue with the numbers of process 0, however their processors
 * round. */
static ct_status as_process_0(ct_gp *gp, ct_status status, double *x, int64_t count)
{
    return ct__comm_agree_broadcast(gp->options.comm, gp->device, status, x, (size_t)count * sizeof *x);
}

ct_status ct__gp_evaluate(ct_gp *gp, const ct__likelihood *by, uint64_t draw, const double *z, double *value,
                          double *gradient, double *jitter)
{
    const int64_t count = gp->params.count;
    evaluation e = { by, draw, NAN, gradient };
    double *s = ct__gp_alloc(gp->device, (uint64_t)count, sizeof *s);
    if (!s) return CT_ENOMEM;
    memcpy(s, z, (size_t)count * sizeof *s);
    ct_status status = as_process_0(gp, CT_OK, s, count);
    for (int64_t i = 0; i < count; i++)
        if (ct__gp_positive(gp, i)) s[i] = exp(s[i]);
    gp->likelihood.error = 0;
    if (!status) status = ct__ladder(gp, s, by->noisy, attempt, &e, jitter);
    ct_tape_reset(gp->tape);
    *value = e.value;
    for (int64_t i = 0; i < count && !status; i++) {
        double slope, unit = ct__gp_unit(gp, i), v = ct__gp_origin(gp, i) + s[i] * unit;
        *value -= ct__prior_log_density(&gp->params.param[i].prior, v, &slope);
        if (!gradient) continue;
        gradient[i] -= slope * unit;
        if (ct__gp_positive(gp, i)) gradient[i] *= s[i];
    }
    *value += ct__target_volume(&gp->target, gp->rows.n);
    free(s);
    status = as_process_0(gp, status, value, 1);
    if (!status) status = as_process_0(gp, CT_OK, jitter, 1);
    if (!status && gradient) status = as_process_0(gp, CT_OK, gradient, count);
    if (!status && !isfinite(*value))
        status = ct_device_fail(gp->device, CT_ENUMERIC,
                                "the objective is not finite: a prior excludes this point");
    return status;
}

ct_status ct_gp_objective(ct_gp *gp, const double *u, double *value, double *gradient)
{
    if (!gp) return CT_EINVAL;
    if (!u || !value) return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_objective: an argument is NULL");
    ct__gp_enter(gp);
    double *z = ct__gp_alloc(gp->device, (uint64_t)gp->params.count, sizeof *z), jitter;
    if (!z) return ct__gp_leave(gp, CT_ENOMEM);
    for (int64_t i = 0; i < gp->params.count; i++)
        z[i] = ct__gp_positive(gp, i) ? u[i] - log(ct__gp_unit(gp, i)) : ct__gp_z_of(gp, i, u[i]);
    const ct__likelihood *by = gp->likelihood.row;
    ct_status status = ct__gp_reserve(gp->device, by->bytes(gp, 0, gradient != NULL),
                                      gp->rows.dtype == CT_F64, "the likelihood", "use fewer rows");
    if (!status) status = ct__gp_evaluate(gp, by, 0, z, value, gradient, &jitter);
    for (int64_t i = 0; gradient && i < gp->params.count; i++)
        if (!ct__gp_positive(gp, i)) gradient[i] /= ct__gp_unit(gp, i);
    free(z);
    status = ct__gp_leave(gp, status);
    if (status) *value = NAN;
    return status;
}
