#include "graph.h"

#include "gp/data/numbers.h"
#include "gp/data/trend.h"

ct_var ct__gp_input(ct_tape *tape, ct_tensor *t, bool leaf)
{
    ct_device *device = ct_tape_device(tape);
    if (!t) ct_tape_fail(tape, ct_last_status(device), "%s", ct_message(device));
    ct_var v = leaf ? ct_leaf(tape, t) : ct_constant(tape, t);
    ct_release(t);
    return v;
}

ct_var ct__gp_vector(const ct_gp *gp, ct_tape *tape, const double *s, int64_t n, bool leaf)
{
    return ct__gp_input(tape, ct__gp_tensor(gp->device, gp->rows.dtype, ct_shape1(n), s), leaf);
}

/* The mean's parameters among s. */
static ct_var of_mean(const ct_gp *gp, ct_tape *tape, const double *s, bool leaf)
{
    const ct__params *p = &gp->params;
    return ct__gp_vector(gp, tape, s + p->mean_at, p->count - p->mean_at, leaf);
}

ct__graph ct__graph_of(const ct_gp *gp, const double *s, double jitter, bool leaves)
{
    ct_tape *tape = gp->tape;
    ct_tensor *y = gp->mean.trend ? gp->mean.trend->detrended : gp->target.y;
    ct__graph g = { .X = ct_constant(tape, gp->rows.X),
                    .residual = ct_constant(tape, y),
                    .theta = ct__gp_vector(gp, tape, s, gp->params.n_kernel, leaves),
                    .variance = ct__gp_vector(gp, tape, &jitter, 1, false),
                    .jitter = jitter };
    if (gp->noise.given && ct__noise_has_variances(&gp->noise))
        g.variance = ct_add(ct_constant(tape, gp->noise.given), g.variance);
    if (gp->params.n_noise) {
        g.noise = ct__gp_vector(gp, tape, s + gp->params.noise_at, gp->params.n_noise, leaves);
        g.variance = ct_add(g.variance, ct__noise_learned(&gp->noise, g.noise, g.X));
    }
    if (gp->params.mean_at >= 0) {
        g.mean = of_mean(gp, tape, s, leaves);
        g.residual = ct_sub(g.residual, ct__mean_on(&gp->mean, g.mean, g.X));
    }
    return g;
}

ct__graph ct__gp_present(const ct_gp *gp, double jitter)
{
    return ct__graph_of(gp, gp->params.s, jitter, false);
}

ct_var ct__gp_theta(const ct_gp *gp, ct_tape *tape)
{
    return ct__gp_vector(gp, tape, gp->params.s, gp->params.n_kernel, false);
}

ct_var ct__gp_mean_at(const ct_gp *gp, ct_tape *tape, ct_var X)
{
    if (gp->params.mean_at < 0) return ct_scalar(tape, gp->rows.dtype, 0);
    return ct__mean_on(&gp->mean, of_mean(gp, tape, gp->params.s, false), X);
}

ct_var ct__graph_diagonal(const ct_gp *gp, const ct__graph *g)
{
    return ct_add(ct_cov_diag(gp->kernel, g->theta, g->X), g->variance);
}
