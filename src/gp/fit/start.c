/* One search from one start: the objective as the optimiser sees it. */
#include "start.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gp/data/numbers.h"
#include "gp/model/param_units.h"
#include "optimize.h"

enum { IDLE = 5 };

/* Arrays over all parameters are in z coordinates. */
typedef struct start {
    ct__fit *fit;
    ct_gp *gp;            /* the model of the fit, or its clone on another device */
    int index, idle;      /* idle: evaluations in a row that changed the objective by no more than rounding */
    ct_fit_report report; /* of this start alone */
    ct_status status;
    ct__evaluation at;    /* the present point */
    int64_t logged;       /* the last record found in the checkpoint */
    bool stopped;         /* the caller asked this start, or another, to stop */
    double *v, *best, *x; /* the present point in v; the best point; that of the search */
} start;

double ct__now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* -- one evaluation -------------------------------------------------------------------------------------- */

/* The largest gradient entry of the free parameters that no bound holds. */
static double projected_norm(const start *t, const double *x)
{
    const ct__fit *f = t->fit;
    double norm = 0;
    for (int64_t i = 0; i < t->at.n; i++) {
        double g = t->at.number[CT__GRADIENT + i];
        bool held = (x[i] <= f->lower[i] && g > 0) || (x[i] >= f->upper[i] && g < 0);
        if (!held) norm = fmax(norm, fabs(g));
    }
    return norm;
}

/* Calls the progress callback. False: not called, because another start was asked to stop before. */
static bool report(start *t, double value, double norm, double jitter)
{
    ct__fit *f = t->fit;
    ct_gp *gp = t->gp;
    for (int64_t i = 0; i < gp->params.count; i++) t->v[i] = ct__gp_v_of(gp, i, t->at.z[i]);
    const ct_fit_progress p = { .model = f->index,
                                .start = t->index,
                                .starts = f->report.starts,
                                .iteration = t->report.iterations,
                                .evaluation = t->report.evaluations,
                                .logged = f->lock->checkpoint ? (int)f->lock->checkpoint->count : 0,
                                .objective = value,
                                .best = t->report.objective,
                                .gradient_norm = norm,
                                .jitter = jitter * gp->target.scale * gp->target.scale,
                                .seconds = ct__now() - f->begun,
                                .parameters = t->v,
                                .n_parameters = gp->params.count };
    pthread_mutex_lock(&f->lock->mutex);
    bool reported = !f->lock->stopped;
    if (reported && f->options->progress)
        f->lock->stopped = f->options->progress(f->options->context, &p) != 0;
    int64_t stopped = f->lock->stopped;
    pthread_mutex_unlock(&f->lock->mutex);
    if (!ct__comm_is_one(gp->options.comm)) { /* the next agreement repeats a failure */
        ct__comm_agree(gp->options.comm, gp->device, CT_OK, &stopped);
        f->lock->stopped = stopped;
    }
    t->stopped = stopped;
    return reported;
}

/* Ends the search. An error or a request to stop ends the whole fit; without a point there is no model. */
static int stop(start *t, ct_fit_end end, ct_status status)
{
    t->report.end = end;
    t->status = status;
    return 1;
}

/* A point without a factor. Returns a quadratic penalty centred at the best point, which leads the line
 * search back. */
static int outside(start *t, const double *x, double *value, double *g)
{
    t->report.failed++;
    report(t, INFINITY, NAN, 0);
    if (isinf(t->report.objective)) return stop(t, CT_FIT_FAILED, CT_ENUMERIC);
    *value = t->report.objective / (double)t->gp->rows.n + 1;
    for (int64_t i = 0; i < t->at.n; i++) {
        double away = x[i] - t->best[i];
        *value += away * away;
        g[i] = 2 * away;
    }
    return 0;
}

/* The evaluation at t->at.z, taken from the checkpoint or computed and added to it. In a communicator process
 * 0 has the checkpoint and shares it with all. */
static ct_status obtain(start *t)
{
    const ct__fit *f = t->fit;
    ct__checkpoint *c = f->lock->checkpoint;
    ct__evaluation *e = &t->at;
    ct_comm *comm = t->gp->options.comm;
    ct_device *device = t->gp->device;
    e->step = t->report.evaluations;
    int64_t found = c && ct__checkpoint_find(c, &t->logged, e) ? 1 + e->failed : 0;
    ct_status s = f->options->checkpoint ? ct__comm_agree(comm, device, CT_OK, &found) : CT_OK;
    if (!s && found)
        s = ct__comm_agree_broadcast(comm, device, CT_OK, e->number,
                                     (size_t)(CT__GRADIENT + e->n) * sizeof *e->number);
    t->report.replayed += !s && found;
    if (s || found) return s ? s : found > 1 ? CT_ENUMERIC : CT_OK;
    s = ct__gp_evaluate(t->gp, f->by, 0, e->z, true, e->number);
    e->failed = s == CT_ENUMERIC;
    if (!c || (s && !e->failed)) return s;
    pthread_mutex_lock(&f->lock->mutex);
    ct_status added = ct__checkpoint_add(c, device, e);
    pthread_mutex_unlock(&f->lock->mutex);
    return added ? added : s;
}

/* A point with a value. The error is three deviations, and a change within one is none. A point that the
 * callback has not seen is not kept. */
static double inside(start *t, const double *x, double *value, double *g)
{
    const ct__fit *f = t->fit;
    const double points = (double)t->gp->rows.n, *number = t->at.number, objective = number[CT__VALUE];
    const double norm = projected_norm(t, x);
    const ct_fit_report before = t->report;
    const bool lower = objective < before.objective;
    *value = objective / points;
    for (int64_t i = 0; i < t->at.n; i++) g[i] = number[CT__GRADIENT + i] / points;
    t->idle = fabs(objective - before.objective) <= fmax(f->flat, number[CT__ERROR] / 3) ? t->idle + 1 : 0;
    t->report.jittered += number[CT__JITTER] > 0;
    if (lower) {
        t->report.iterations += t->report.evaluations > 1 && !f->optimizer->counts_all;
        t->report.objective = objective;
        t->report.gradient_norm = norm;
        t->report.objective_error = number[CT__ERROR];
    }
    if (!report(t, objective, norm, number[CT__JITTER]))
        t->report = before;
    else if (lower)
        memcpy(t->best, t->at.z, (size_t)t->at.n * sizeof *t->best);
    return norm / points;
}

/* The optimiser's objective and gradient are per data point, so that the first step has a sensible length. */
static int evaluate(void *context, const double *x, double *value, double *g)
{
    start *t = context;
    const ct__fit *f = t->fit;
    double norm = INFINITY;
    memcpy(t->at.z, x, (size_t)t->at.n * sizeof *x);
    t->report.iterations += t->report.evaluations++ && f->optimizer->counts_all;
    const ct_status s = obtain(t);
    if (s && s != CT_ENUMERIC) return stop(t, CT_FIT_FAILED, s);
    if (s && outside(t, x, value, g)) return 1;
    if (!s) norm = inside(t, x, value, g);
    if (t->stopped) return stop(t, CT_FIT_STOPPED, CT_ESTOPPED);
    if (norm <= f->tolerance) return stop(t, CT_FIT_GRADIENT, CT_OK);
    if (t->idle >= IDLE) return stop(t, CT_FIT_FLAT, CT_OK);
    return t->report.iterations >= f->max_iterations ? stop(t, CT_FIT_ITERATIONS, CT_OK) : 0;
}

/* -- the search ------------------------------------------------------------------------------------------ */

/* Start 0 is at the current values, the others at draws around them. */
static ct_status place(start *t)
{
    const ct__fit *f = t->fit;
    ct_status s = CT_OK;
    if (t->index > 0)
        s = ct__gp_unload(
            ct_rand_normal(t->gp->device, CT_F64, ct_shape1(f->n_free), f->options->seed, (uint64_t)t->index),
            t->v);
    for (int64_t i = 0, drawn = 0; i < t->at.n && !s; i++) {
        double x = t->best[i] = f->first[i];
        if (!t->gp->params.param[i].fixed) x += ct__gp_draw_width(t->gp, i) * t->v[drawn++];
        t->x[i] = fmin(fmax(x, f->lower[i]), f->upper[i]);
    }
    return s;
}

static void search(start *t)
{
    const ct__fit *f = t->fit;
    ct__search search = { .n = (int)t->at.n,
                          .x = t->x,
                          .lower = f->lower,
                          .upper = f->upper,
                          .max_evaluations = f->optimizer->evaluations(f->max_iterations),
                          .flat = f->flat / (double)t->gp->rows.n,
                          .learning_rate = f->options->learning_rate > 0 ? f->options->learning_rate : 0.1,
                          .evaluate = evaluate,
                          .best = t->best,
                          .context = t };
    if (f->n_free == 0) {
        double value; /* and a gradient that nobody reads */
        if (!evaluate(t, t->x, &value, t->v) || ct_fit_converged(t->report.end)) stop(t, CT_FIT_FIXED, CT_OK);
        return;
    }
    ct_fit_end end = f->optimizer->run(&search);
    if (end == CT_FIT_FAILED)
        stop(t, end, ct_device_fail(t->gp->device, CT_ENOMEM, "the optimiser has no memory"));
    else if (end != CT_FIT_STOPPED) /* stopped by `evaluate`, which has set the message */
        stop(t, end, CT_OK);
}

void ct__fit_fail(ct__fit *f, int index, ct_status status, const char *message)
{
    bool kept = f->failed_start >= 0, same = !f->status == !status;
    if (kept && (same ? f->failed_start <= index : !status)) return;
    snprintf(f->message, sizeof f->message, "%s", message);
    f->failed_start = index;
    f->status = status;
}

/* Merges the result into the fit. Independent of the order in which starts end: of two equally good starts,
 * or of two errors, the first start counts. */
static void conclude(const start *t)
{
    ct__fit *f = t->fit;
    ct_fit_report *r = &f->report;
    const ct_fit_report *own = &t->report;
    pthread_mutex_lock(&f->lock->mutex);
    r->iterations += own->iterations;
    r->evaluations += own->evaluations;
    r->replayed += own->replayed;
    r->jittered += own->jittered;
    r->failed += own->failed;
    if (!r->end) r->end = own->end;
    if (own->objective < r->objective || (own->objective == r->objective && t->index < r->best)) {
        r->objective = own->objective;
        r->gradient_norm = own->gradient_norm;
        r->objective_error = own->objective_error;
        r->best = t->index;
        r->end = own->end;
        memcpy(f->winner, t->best, (size_t)t->gp->params.count * sizeof *f->winner);
    }
    if (t->status && t->status != CT_ESTOPPED)
        ct__fit_fail(f, t->index, t->status == CT_ENUMERIC ? CT_OK : t->status, ct_message(t->gp->device));
    f->gp->starts[t->index] = (ct_fit_start){ .status = t->status,
                                              .end = own->end,
                                              .objective = own->objective,
                                              .iterations = own->iterations,
                                              .evaluations = own->evaluations,
                                              .seconds = own->seconds };
    pthread_mutex_unlock(&f->lock->mutex);
}

void ct__fit_run_start(ct__fit *f, ct_gp *gp, int index)
{
    const double begun = ct__now();
    start t = { .fit = f,
                .gp = gp,
                .index = index,
                .report = { .objective = INFINITY, .end = CT_FIT_FAILED },
                .at = { .model = f->print, .start = index, .n = gp->params.count } };
    t.status = ct__gp_arrays(gp->device, (uint64_t)gp->params.count + CT__GRADIENT,
                             (double **[]){ &t.at.z, &t.v, &t.best, &t.x, &t.at.number }, 5);
    if (!t.status && f->lock->checkpoint &&
        !(t.at.record = ct__gp_alloc(gp->device, f->lock->checkpoint->size, 1)))
        t.status = CT_ENOMEM;
    if (!t.status) t.status = place(&t);
    if (!t.status) search(&t);
    t.report.seconds = ct__now() - begun;
    conclude(&t);
    free(t.at.record);
    free(t.at.z);
}
