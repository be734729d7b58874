#include "evaluate.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "gp/model/param_units.h"

enum { IDLE = 5 };

double ct__now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The largest gradient entry of the free parameters that no bound holds. */
static double projected_norm(const ct__start *t, const double *x)
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
static bool report(ct__start *t, double value, double norm, double jitter)
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
                                .ahead = t->took,
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

int ct__start_end(ct__start *t, ct_fit_end end, ct_status status)
{
    t->report.end = end;
    t->status = status;
    return 1;
}

/* A point without a factor. Returns a quadratic penalty centred at the best point, which leads the line
 * search back. */
static int outside(ct__start *t, const double *x, double *value, double *g)
{
    t->report.failed++;
    report(t, INFINITY, NAN, 0);
    if (isinf(t->report.objective)) return ct__start_end(t, CT_FIT_FAILED, CT_ENUMERIC);
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
static ct_status obtain(ct__start *t)
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

/* The optimiser's objective and gradient are per data point, so that the first step has a sensible length. */
static void pass(const ct__start *t, const double *number, double *value, double *g)
{
    const double points = (double)t->gp->rows.n;
    *value = number[CT__VALUE] / points;
    for (int64_t i = 0; i < t->at.n; i++) g[i] = number[CT__GRADIENT + i] / points;
}

/* A point with a value. The error is three deviations, and a change within one is none. A point that the
 * callback has not seen is not kept. */
static double inside(ct__start *t, const double *x, double *value, double *g)
{
    const ct__fit *f = t->fit;
    const double *number = t->at.number, objective = number[CT__VALUE];
    const double norm = projected_norm(t, x);
    const ct_fit_report before = t->report;
    const bool lower = objective < before.objective;
    pass(t, number, value, g);
    t->idle = fabs(objective - before.objective) <= fmax(f->flat, number[CT__ERROR] / 3) ? t->idle + 1 : 0;
    t->report.jittered += number[CT__JITTER] > 0;
    if (lower) {
        t->report.iterations += t->report.evaluations > t->begun && !f->optimizer->counts_all;
        t->report.objective = objective;
        t->report.gradient_norm = norm;
        t->report.objective_error = number[CT__ERROR];
    }
    if (!report(t, objective, norm, number[CT__JITTER]))
        t->report = before;
    else if (lower) {
        memcpy(t->best, t->at.z, (size_t)t->at.n * sizeof *t->best);
        memcpy(t->lowest, number, (size_t)(CT__GRADIENT + t->at.n) * sizeof *number);
    }
    return norm / (double)t->gp->rows.n;
}

int ct__start_evaluate(void *context, const double *x, double *value, double *g)
{
    ct__start *t = context;
    const ct__fit *f = t->fit;
    double norm = INFINITY;
    if (t->known && !memcmp(x, t->best, (size_t)t->at.n * sizeof *x)) {
        t->known = false;
        pass(t, t->lowest, value, g);
        return 0;
    }
    memcpy(t->at.z, x, (size_t)t->at.n * sizeof *x);
    t->report.iterations += t->report.evaluations++ >= t->begun && f->optimizer->counts_all;
    const double begun = ct__now();
    const ct_status s = obtain(t);
    t->took = ct__now() - begun;
    if (s && s != CT_ENUMERIC) return ct__start_end(t, CT_FIT_FAILED, s);
    if (s && outside(t, x, value, g)) return 1;
    if (!s) norm = inside(t, x, value, g);
    if (t->stopped) return ct__start_end(t, CT_FIT_STOPPED, CT_ESTOPPED);
    if (norm <= f->tolerance) return ct__start_end(t, CT_FIT_GRADIENT, CT_OK);
    if (t->idle >= IDLE) return ct__start_end(t, CT_FIT_FLAT, CT_OK);
    return t->report.iterations >= f->max_iterations ? ct__start_end(t, CT_FIT_ITERATIONS, CT_OK) : 0;
}
