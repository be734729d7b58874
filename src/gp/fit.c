/* The fit: starts, the objective as the optimiser sees it, the report. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model.h"

enum { IDLE = 5 };

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One call of ct_gp_fit. Arrays over all parameters are in z coordinates. */
typedef struct fit {
    ct_gp *gp;
    const ct_fit_options *options;
    ct_fit_report *report;
    double tolerance, flat, begun; /* flat: a change of the objective that does not matter */
    int max_iterations, n_free;
    int64_t *free_index;               /* [n_free] */
    double *before;                    /* the values that the model came with */
    double *first;                     /* where the first start begins                       */
    double *z, *gradient;              /* the point under evaluation                          */
    double *v;                         /* its values                                           */
    double *best;                      /* of this start                                        */
    double *winner;                    /* of all starts                                        */
    double *x, *lower, *upper, *draws; /* [n_free]                                 */
    ct_fit_start *start;
    int start_index;
    int idle;         /* evaluations in a row that changed the objective by no more than rounding */
    ct_status status; /* of what ends the whole fit */
} fit;

/* -- one evaluation ------------------------------------------------------------------------------------------------ */

/* Largest entry of the gradient over the free parameters that a bound does not hold. */
static double projected_norm(const fit *f, const double *x)
{
    double norm = 0;
    for (int i = 0; i < f->n_free; i++) {
        double g = f->gradient[f->free_index[i]];
        bool held = (x[i] <= f->lower[i] && g > 0) || (x[i] >= f->upper[i] && g < 0);
        if (!held) norm = fmax(norm, fabs(g));
    }
    return norm;
}

static int tell(fit *f, double value, double norm, double jitter)
{
    ct_gp *gp = f->gp;
    if (!f->options->progress) return 0;
    for (int64_t i = 0; i < gp->n_params; i++) f->v[i] = ct__gp_v_of(gp, i, f->z[i]);
    ct_fit_progress p = { .start = f->start_index,
                          .starts = f->report->starts,
                          .iteration = f->start->iterations,
                          .evaluation = f->start->evaluations,
                          .objective = value,
                          .best = f->start->objective,
                          .gradient_norm = norm,
                          .jitter = jitter * gp->y_scale * gp->y_scale,
                          .seconds = now() - f->begun,
                          .parameters = f->v,
                          .n_parameters = gp->n_params };
    return f->options->progress(f->options->context, &p);
}

/* A point that cannot be factorised: a bowl around the best point leads the line search back. */
static int outside(fit *f, const double *x, double *value, double *g)
{
    f->report->failed++;
    if (isinf(f->start->objective)) {
        f->start->status = CT_ENUMERIC;
        f->start->reason = "the covariance cannot be factorised at the start";
        tell(f, INFINITY, NAN, 0);
        return 1;
    }
    *value = f->start->objective / (double)f->gp->n + 1;
    for (int i = 0; i < f->n_free; i++) {
        double away = x[i] - f->best[f->free_index[i]];
        *value += away * away;
        g[i] = 2 * away;
    }
    return 0;
}

static int stop(fit *f, const char *reason)
{
    f->start->reason = reason;
    return 1;
}

/* The optimiser's view: objective and gradient per data point, so that a first step has a sensible length. */
static int evaluate(void *context, const double *x, double *value, double *g)
{
    fit *f = context;
    ct_gp *gp = f->gp;
    double objective, jitter, points = (double)gp->n;
    for (int i = 0; i < f->n_free; i++) f->z[f->free_index[i]] = x[i];
    f->start->evaluations++;
    ct_status s = ct__gp_evaluate(gp, f->z, &objective, f->gradient, &jitter);
    if (s && s != CT_ENUMERIC) {
        f->status = s;
        return stop(f, "an error");
    }
    bool stopped = false;
    double norm = NAN;
    if (s) {
        if (outside(f, x, value, g)) return 1;
        stopped = tell(f, INFINITY, NAN, 0);
    } else {
        f->report->jittered += jitter > 0;
        *value = objective / points;
        for (int i = 0; i < f->n_free; i++) g[i] = f->gradient[f->free_index[i]] / points;
        norm = projected_norm(f, x);
        f->idle = fabs(objective - f->start->objective) <= f->flat ? f->idle + 1 : 0;
        if (objective < f->start->objective) {
            if (f->start->evaluations > 1) f->start->iterations++;
            f->start->objective = objective;
            memcpy(f->best, f->z, (size_t)gp->n_params * sizeof *f->best);
            if (objective < f->report->objective) {
                f->report->objective = objective;
                f->report->best = f->start_index;
                f->report->gradient_norm = norm;
                memcpy(f->winner, f->z, (size_t)gp->n_params * sizeof *f->winner);
            }
        }
        stopped = tell(f, objective, norm, jitter);
    }
    if (stopped) {
        f->status = f->start->status = CT_ESTOPPED;
        return stop(f, "stopped by the caller");
    }
    if (!s && norm / points <= f->tolerance) return stop(f, "gradient below the tolerance");
    if (f->idle >= IDLE) return stop(f, "steps no longer lower the objective");
    return f->start->iterations >= f->max_iterations ? stop(f, "iteration limit") : 0;
}

static void best_point(void *context, double *x)
{
    fit *f = context;
    for (int i = 0; i < f->n_free; i++) x[i] = f->best[f->free_index[i]];
}

/* -- one start -------------------------------------------------------------------------------------------------------- */

/* The k-th start: the present values, or draws around them. */
static ct_status place(fit *f, int k)
{
    for (int i = 0; i < f->n_free; i++) f->draws[i] = 0;
    if (k > 0 && f->n_free > 0) {
        ct_tensor *t =
            ct_rand_normal(f->gp->device, CT_F64, ct_shape1(f->n_free), f->options->seed, (uint64_t)k);
        ct_status s = t ? ct_read(t, f->draws, (size_t)f->n_free * sizeof *f->draws) : CT_ENOMEM;
        ct_release(t);
        if (s) return s;
    }
    memcpy(f->z, f->first, (size_t)f->gp->n_params * sizeof *f->z);
    memcpy(f->best, f->first, (size_t)f->gp->n_params * sizeof *f->best);
    for (int i = 0; i < f->n_free; i++) {
        int64_t p = f->free_index[i];
        double x = f->first[p] + f->draws[i] * ct__gp_draw_width(f->gp, p);
        f->x[i] = fmin(fmax(x, f->lower[i]), f->upper[i]);
    }
    return CT_OK;
}

static void run_start(fit *f, ct_optimizer optimizer)
{
    double begun = now();
    ct__search search = { .n = f->n_free,
                          .x = f->x,
                          .lower = f->lower,
                          .upper = f->upper,
                          .max_evaluations =
                              optimizer == CT_OPTIMIZER_ADAM ? f->max_iterations : 2 * f->max_iterations + 20,
                          .flat = f->flat / (double)f->gp->n,
                          .learning_rate = f->options->learning_rate > 0 ? f->options->learning_rate : 0.1,
                          .evaluate = evaluate,
                          .best = best_point,
                          .context = f };
    ct__search_end end = CT__SEARCH_STOPPED;
    if (f->n_free == 0) {
        double value;
        if (!evaluate(f, f->x, &value, NULL)) stop(f, "nothing to learn: every parameter is fixed");
    } else {
        end = optimizer == CT_OPTIMIZER_ADAM ? ct__search_adam(&search) : ct__search_lbfgs(&search);
    }
    if (end == CT__SEARCH_NO_MEMORY)
        f->status = ct_device_fail(f->gp->device, CT_ENOMEM, "the optimiser has no memory");
    if (end == CT__SEARCH_CONVERGED) f->start->reason = "steps no longer lower the objective";
    if (end == CT__SEARCH_LIMIT) f->start->reason = "evaluation limit";
    f->start->seconds = now() - begun;
    f->report->iterations += f->start->iterations;
    f->report->evaluations += f->start->evaluations;
}

/* -- the whole --------------------------------------------------------------------------------------------------------- */

static ct_status check(ct_gp *gp, const ct_fit_options *o)
{
    ct_device *device = gp->device;
    if ((unsigned)o->optimizer > CT_OPTIMIZER_ADAM || o->restarts < 0 || o->restarts > 100000 ||
        o->max_iterations < 0 || !(o->tolerance >= 0) || !(o->learning_rate >= 0) ||
        !isfinite(o->learning_rate))
        return ct_device_fail(device, CT_EINVAL,
                              "ct_gp_fit: an option is negative, not a number, or unknown");
    if (o->optimizer == CT_OPTIMIZER_LBFGS && !ct__has_lbfgs)
        return ct_device_fail(device, CT_EUNSUPPORTED,
                              "ct_gp_fit: this build has no L-BFGS (it needs NLopt): use CT_OPTIMIZER_ADAM");
    if (gp->n < 2)
        return ct_device_fail(device, CT_EINVAL,
                              "ct_gp_fit: one row cannot tell the parameters: give at least 2");
    return CT_OK;
}

/* All working memory is one block of doubles and one of indices. */
static ct_status prepare(fit *f)
{
    ct_gp *gp = f->gp;
    uint64_t p = (uint64_t)gp->n_params;
    f->before = ct__gp_alloc(gp->device, 11 * p, sizeof *f->before);
    f->free_index = ct__gp_alloc(gp->device, p, sizeof *f->free_index);
    f->report->start = gp->starts = ct__gp_alloc(gp->device, (uint64_t)f->report->starts, sizeof *gp->starts);
    if (!f->before || !f->free_index || !gp->starts) return CT_ENOMEM;
    double **part[] = { &f->first,  &f->z, &f->gradient, &f->v,     &f->best,
                        &f->winner, &f->x, &f->lower,    &f->upper, &f->draws };
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) *part[i] = f->before + (i + 1) * p;
    for (int64_t i = 0; i < gp->n_params; i++) {
        f->before[i] = gp->param[i].value;
        f->first[i] = ct__gp_z_of(gp, i, f->before[i]);
        if (gp->param[i].fixed) continue;
        ct__gp_bounds(gp, i, &f->lower[f->n_free], &f->upper[f->n_free]);
        f->free_index[f->n_free++] = i;
    }
    memcpy(f->winner, f->first, (size_t)p * sizeof *f->winner);
    return CT_OK;
}

/* The winner becomes the model; without one the model stays as it was. */
static ct_status conclude(fit *f)
{
    ct_gp *gp = f->gp;
    if (f->status && f->status != CT_ESTOPPED) return f->status;
    if (isinf(f->report->objective)) return f->status ? f->status : ct_last_status(gp->device);
    for (int64_t i = 0; i < gp->n_params; i++)
        f->v[i] = gp->param[i].fixed ? gp->param[i].value : ct__gp_v_of(gp, i, f->winner[i]);
    ct_status s = ct__gp_set_values(gp, f->v);
    if (!s) s = ct__gp_factorise(gp);
    f->report->jitter = gp->factor.jitter * gp->y_scale * gp->y_scale;
    if (s) {
        ct__gp_set_values(gp, f->before);
        return s;
    }
    return f->status ? ct_device_fail(gp->device, f->status, "ct_gp_fit: stopped by the caller") : CT_OK;
}

ct_status ct_gp_fit(ct_gp *gp, const ct_fit_options *options)
{
    static const ct_fit_options defaults = { 0 };
    if (!options) options = &defaults;
    if (!gp) return CT_EINVAL;
    ct_status s = check(gp, options);
    if (s) return s;
    ct__gp_drop_factor(gp);
    s = ct__gp_reserve(gp->device, ct_gp_bytes_needed(gp->n, 0, gp->dtype, true), "ct_gp_fit");
    if (s) return s;

    ct_optimizer optimizer = options->optimizer;
    if (optimizer == CT_OPTIMIZER_DEFAULT) optimizer = ct__has_lbfgs ? CT_OPTIMIZER_LBFGS : CT_OPTIMIZER_ADAM;
    bool adam = optimizer == CT_OPTIMIZER_ADAM;
    ct_fit_report report = { .optimizer = optimizer, .objective = INFINITY, .starts = 1 + options->restarts };
    free(gp->starts);
    gp->starts = NULL;
    fit f = { .gp = gp,
              .options = options,
              .report = &report,
              .begun = now(),
              .tolerance = options->tolerance > 0 ? options->tolerance
                           : gp->dtype == CT_F32  ? 1e-4
                                                  : 1e-6,
              .flat = gp->dtype == CT_F32 ? 1e-3 : 1e-6,
              .max_iterations = options->max_iterations ? options->max_iterations
                                : adam                  ? 1000
                                                        : 200 };
    f.status = prepare(&f);
    for (int k = 0; k < report.starts && !f.status; k++) {
        f.start_index = k;
        f.idle = 0;
        f.start = &gp->starts[k];
        *f.start = (ct_fit_start){ .objective = INFINITY };
        f.status = place(&f, k);
        if (!f.status) run_start(&f, optimizer);
    }
    s = conclude(&f);
    report.seconds = now() - f.begun;
    free(f.before);
    free(f.free_index);
    gp->report = report;
    return s;
}
