/* The objective of the fit and the factorisation, both with the jitter ladder. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cotangent/outputs.h>

#include "gp/data/trend.h"
#include "gp/factor/system.h"
#include "gp/likelihood/density.h"

/* Jitter relative to the mean diagonal of k(X, X). */
static const double ladder[] = { 0, 1e-10, 1e-8, 1e-6, 1e-4 };
enum { RUNGS = sizeof ladder / sizeof *ladder };

/* -- the model on the tape ------------------------------------------------------------------------------- */

ct_var ct__gp_input(ct_tape *tape, ct_tensor *t, bool leaf)
{
    ct_device *device = ct_tape_device(tape);
    if (!t) ct_tape_fail(tape, ct_last_status(device), "%s", ct_message(device));
    ct_var v = leaf ? ct_leaf(tape, t) : ct_constant(tape, t);
    ct_release(t);
    return v;
}

static ct_var vector(const ct_gp *gp, ct_tape *tape, const double *s, int64_t n, bool leaf)
{
    return ct__gp_input(tape, ct__gp_tensor(gp->device, gp->dtype, ct_shape1(n), s), leaf);
}

static ct_var mean_of(const ct_gp *gp, ct_var mean, ct_var X)
{
    ct_var c = ct_slice(mean, 0, 0, 1, 1);
    if (gp->options.mean == CT_MEAN_CONSTANT) return c;
    ct_var slopes = ct_reshape(ct_slice(mean, 0, 1, 1 + gp->d, 1), ct_shape2(gp->d, 1));
    return ct_add(ct_matmul(X, slopes), c);
}

/* Builds the graph from s, with `jitter` on the diagonal. */
static ct__graph build(const ct_gp *gp, const double *s, double jitter, bool leaves)
{
    ct__graph g = { .X = ct_constant(gp->tape, gp->X),
                    .residual = ct_constant(gp->tape, gp->trend ? gp->detrended : gp->y) };
    g.theta = vector(gp, gp->tape, s, gp->n_kernel, leaves);
    g.variance = vector(gp, gp->tape, &jitter, 1, false);
    if (gp->given && gp->options.noise != CT_NOISE_BY_LEVEL)
        g.variance = ct_add(ct_constant(gp->tape, gp->given), g.variance);
    if (gp->noise_at >= 0) {
        g.noise = vector(gp, gp->tape, s + gp->noise_at, ct__noise_params(gp), leaves);
        g.variance = ct_add(g.variance, ct__noise_learned(gp, g.noise, g.X));
    }
    if (gp->mean_at >= 0) {
        g.mean = vector(gp, gp->tape, s + gp->mean_at, gp->n_params - gp->mean_at, leaves);
        g.residual = ct_sub(g.residual, mean_of(gp, g.mean, g.X));
    }
    return g;
}

ct__graph ct__gp_present(const ct_gp *gp, double jitter) { return build(gp, gp->s, jitter, false); }

ct_var ct__gp_theta(const ct_gp *gp, ct_tape *tape) { return vector(gp, tape, gp->s, gp->n_kernel, false); }

ct_var ct__gp_mean_at(const ct_gp *gp, ct_tape *tape, ct_var X)
{
    if (gp->mean_at < 0) return ct_scalar(tape, gp->dtype, 0);
    return mean_of(gp, vector(gp, tape, gp->s + gp->mean_at, gp->n_params - gp->mean_at, false), X);
}

ct_var ct__graph_diagonal(const ct_gp *gp, const ct__graph *g)
{
    return ct_add(ct_cov_diag(gp->kernel, g->theta, g->X), g->variance);
}

/* -- the jitter ladder ----------------------------------------------------------------------------------- */

static ct_status mean_diagonal(ct_gp *gp, const double *s, double *result)
{
    ct_tape_reset(gp->tape);
    ct_var theta = vector(gp, gp->tape, s, gp->n_kernel, false), X = ct_constant(gp->tape, gp->X);
    *result = ct_item(ct_mean(ct_cov_diag(gp->kernel, theta, X), CT_ALL, false));
    if (ct_tape_status(gp->tape)) return ct__gp_tape_failed(gp, "the kernel");
    ct_tape_reset(gp->tape);
    if (*result == 0)
        return ct_device_fail(gp->device, CT_ENUMERIC,
                              "the covariance is 0 at every row: learn a noise, or take another kernel");
    return isfinite(*result) ? CT_OK : ct__gp_tape_failed(gp, "the diagonal of the covariance matrix");
}

/* The likelihood; stores L and alpha in the model. */
static double factorise(ct_gp *gp, const ct__graph *g)
{
    const ct_view in[] = { ct_view_of(ct_value(g->theta)), ct_view_of(ct_value(g->X)),
                           ct_view_of(ct_value(g->residual)), ct_view_of(ct_value(g->variance)) };
    ct_call *c = ct_scope_open(gp->tape, "factorisation");
    ct_view alpha = ct_scratch(c, gp->dtype, ct_shape2(gp->n, 1));
    ct_view nlml = ct_scratch(c, gp->dtype, ct_shape0());
    ct__system system = ct__system_of(c, ct_kernel_program(gp->kernel), in, alpha, false, ct__gp_grid(gp));
    ct_prim_fill(c, nlml, NAN);
    if (ct__system_solve(c, &system, false)) ct__nlml_value(c, in[2], alpha, system.diagonal, nlml);
    double value = ct_call_item(c, nlml);
    gp->factor = (ct__gp_factor){ .L = ct_tensor_of(c, system.matrix), .alpha = ct_tensor_of(c, alpha) };
    ct_scope_close(c);
    if (ct_tape_status(gp->tape) || !isfinite(value)) ct__gp_drop_factor(gp);
    return value;
}

static ct_status read_bar(ct_var v, double *out)
{
    ct_tensor *bar = ct_cotangent(v);
    return bar ? ct__gp_read(bar, out) : CT_OK;
}

/* The objective of the standardised problem, without priors. */
static ct_var objective(ct_gp *gp, ct__goal goal, const ct__graph *g, double jitter)
{
    const ct_kernel *k = gp->kernel;
    const ct__grid grid = ct__gp_grid(gp);
    const ct_var theta = g->theta, X = g->X, r = g->residual, noise = g->variance;
    if (gp->trend) return ct__gp_restricted(k, theta, X, r, noise, ct_constant(gp->tape, gp->H));
    if (gp->shared) return ct_outputs_nlml_shared(k, theta, X, ct_constant(gp->tape, gp->shared), noise);
    if (goal.precision == CT_PRECISION_MIXED)
        return ct__gp_nlml_mixed(k, theta, X, r, noise, goal.draw, &gp->mixed);
    if (goal.objective == CT_OBJECTIVE_LOO) return ct_gp_loo_nlpd(k, theta, X, r, noise);
    if (gp->in_grid) return ct__joint_nlml(gp, theta, r, g->noise, jitter);
    return grid.group ? ct__gp_nlml_on(&grid, k, theta, X, r, noise) : ct_gp_nlml(k, theta, X, r, noise);
}

/* One rung: the objective and its gradient in s. CT_ENUMERIC if there is no factor. */
static ct_status attempt(ct_gp *gp, ct__goal goal, const double *s, double jitter, double *value,
                         double *gradient)
{
    ct_tape_reset(gp->tape);
    ct__graph g = build(gp, s, jitter, gradient != NULL);
    const ct_var v = goal.factor ? (ct_var){ 0 } : objective(gp, goal, &g, jitter);
    *value = goal.factor ? factorise(gp, &g) : ct_item(v);
    ct_status status = ct_tape_status(gp->tape);
    if (!status && !isfinite(*value)) return CT_ENUMERIC;
    if (status || !gradient) return status;
    status = ct_backward(v);
    memset(gradient, 0, (size_t)gp->n_params * sizeof *gradient);
    if (!status) status = read_bar(g.theta, gradient);
    if (!status && gp->noise_at >= 0) status = read_bar(g.noise, gradient + gp->noise_at);
    if (!status && gp->mean_at >= 0) status = read_bar(g.mean, gradient + gp->mean_at);
    for (int64_t i = 0; i < gp->n_params && !status; i++)
        if (!isfinite(gradient[i])) status = CT_ENUMERIC;
    return status;
}

/* Climbs the ladder until `attempt` is not CT_ENUMERIC. Mixed precision has its own remedy, which a jitter
 * would hide. */
static ct_status climb(ct_gp *gp, ct__goal goal, const double *s, double *value, double *gradient,
                       double *jitter)
{
    double diagonal = 0;
    bool mixed = goal.precision == CT_PRECISION_MIXED;
    for (int i = 0; i < (mixed ? 1 : RUNGS); i++) {
        ct_status status = i == 1 ? mean_diagonal(gp, s, &diagonal) : CT_OK;
        if (status) return status;
        *jitter = ladder[i] * diagonal;
        status = attempt(gp, goal, s, *jitter, value, gradient);
        if (!status) return CT_OK;
        if (mixed && ct_tape_status(gp->tape))
            return ct_device_fail(gp->device, ct_tape_status(gp->tape), "%.480s", ct_tape_reason(gp->tape));
        if (status != CT_ENUMERIC)
            return ct_tape_status(gp->tape) ? ct__gp_tape_failed(gp, "the likelihood") : status;
    }
    return ct__gp_tape_failed(gp,
                              ct_tape_status(gp->tape)
                                  ? "the covariance matrix, even with a jitter of 1e-4 of its mean diagonal"
                                  : "the likelihood");
}

/* Makes all processes of a group have a factor of the same values, or none. */
static ct_status agree(ct_gp *gp)
{
    ct_group *group = gp->options.group;
    int64_t missing = !gp->factor.ready;
    if (ct__group_is_one(group)) return CT_OK;
    ct_status s = ct__group_meet(group, gp->device, CT_OK, &missing);
    if (!s && missing) ct__gp_drop_factor(gp);
    if (s) return s;
    return ct__group_same(group, gp->device, gp->s, (size_t)gp->n_params * sizeof *gp->s, "the parameters");
}

ct_status ct__gp_factorise(ct_gp *gp)
{
    ct_status status = agree(gp);
    if (status || gp->factor.ready) return status;
    status = ct__gp_reserve(gp->device,
                            ct__gp_bytes(gp->options.group, gp->n, 0, gp->dtype, false) + ct__trend_bytes(gp),
                            gp->dtype == CT_F64, "a factorisation", "use fewer rows");
    if (status) return status;
    double nlml, jitter;
    status = climb(gp, (ct__goal){ .factor = true }, gp->s, &nlml, NULL, &jitter);
    ct_tape_reset(gp->tape);
    status = ct__group_meet(gp->options.group, gp->device, status, NULL);
    if (!status) gp->factor.jitter = jitter;
    if (!status) gp->factor.nlml = nlml + ct__target_volume(gp);
    if (!status && gp->trend) status = ct__gp_restrict(gp, true);
    if (status) ct__gp_drop_factor(gp);
    if (status) return status;
    gp->factor.ready = true;
    return CT_OK;
}

/* -- the objective --------------------------------------------------------------------------------------- */

/* Makes all processes of a group continue with the numbers of process 0, however their processors round. */
static ct_status as_process_0(ct_gp *gp, ct_status status, double *x, int64_t count)
{
    return ct__group_take(gp->options.group, gp->device, status, x, (size_t)count * sizeof *x);
}

ct_status ct__gp_evaluate(ct_gp *gp, ct__goal goal, const double *z, double *value, double *gradient,
                          double *jitter)
{
    double *s = ct__gp_alloc(gp->device, (uint64_t)gp->n_params, sizeof *s);
    if (!s) return CT_ENOMEM;
    memcpy(s, z, (size_t)gp->n_params * sizeof *s);
    ct_status status = as_process_0(gp, CT_OK, s, gp->n_params);
    for (int64_t i = 0; i < gp->n_params; i++)
        if (ct__gp_positive(gp, i)) s[i] = exp(s[i]);
    if (!status) status = climb(gp, goal, s, value, gradient, jitter);
    ct_tape_reset(gp->tape);
    for (int64_t i = 0; i < gp->n_params && !status; i++) {
        double slope, unit = ct__gp_unit(gp, i), v = ct__gp_origin(gp, i) + s[i] * unit;
        *value -= ct__prior_log_density(&gp->param[i].prior, v, &slope);
        if (!gradient) continue;
        gradient[i] -= slope * unit;
        if (ct__gp_positive(gp, i)) gradient[i] *= s[i];
    }
    *value += ct__target_volume(gp) + ct__trend_constant(gp);
    free(s);
    status = as_process_0(gp, status, value, 1);
    if (!status) status = as_process_0(gp, CT_OK, jitter, 1);
    if (!status && gradient) status = as_process_0(gp, CT_OK, gradient, gp->n_params);
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
    double *z = ct__gp_alloc(gp->device, (uint64_t)gp->n_params, sizeof *z), jitter;
    if (!z) return ct__gp_leave(gp, CT_ENOMEM);
    for (int64_t i = 0; i < gp->n_params; i++)
        z[i] = ct__gp_positive(gp, i) ? u[i] - log(ct__gp_unit(gp, i)) : ct__gp_z_of(gp, i, u[i]);
    ct_status status = ct__gp_reserve(gp->device,
                                      ct__gp_bytes(gp->options.group, gp->n, 0, gp->dtype, gradient != NULL) +
                                          ct__trend_bytes(gp),
                                      gp->dtype == CT_F64, "the likelihood", "use fewer rows");
    if (!status) status = ct__gp_evaluate(gp, (ct__goal){ 0 }, z, value, gradient, &jitter);
    for (int64_t i = 0; gradient && i < gp->n_params; i++)
        if (!ct__gp_positive(gp, i)) gradient[i] /= ct__gp_unit(gp, i);
    free(z);
    status = ct__gp_leave(gp, status);
    if (status) *value = NAN;
    return status;
}
