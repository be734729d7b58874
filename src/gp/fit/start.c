/* One search from one start. */
#include "start.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate.h"
#include "first_points.h"
#include "gp/data/numbers.h"
#include "gp/model/param_units.h"
#include "optimize.h"

/* Moves x into the bounds. */
static void hold(const ct__fit *f, double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) x[i] = fmin(fmax(x[i], f->lower[i]), f->upper[i]);
}

/* Start 0 is at the current values, the others at draws around them. */
static ct_status place(ct__start *t)
{
    const ct__fit *f = t->fit;
    memcpy(t->best, f->first, (size_t)t->at.n * sizeof *t->best);
    memcpy(t->x, f->first, (size_t)t->at.n * sizeof *t->x);
    ct_status s = t->index ? ct__draw_start(t->gp, f->options->seed, t->index, f->first, t->x) : CT_OK;
    hold(f, t->x, t->at.n);
    return s;
}

/* Evaluates the first point, of start 0 its neighbours, too, and moves to the lowest. Nonzero: the start ends
 * here. */
static int look_around(ct__start *t)
{
    const ct__fit *f = t->fit;
    double value; /* which, with the gradient, is kept in t->lowest */
    t->begun = INT_MAX;
    int ended = ct__start_evaluate(t, t->x, &value, t->v);
    for (int k = 0; !ended && !t->index && ct__neighbour(t->gp, k, f->first, t->x); k++) {
        hold(f, t->x, t->at.n);
        ended = ct__start_evaluate(t, t->x, &value, t->v) && !ct_fit_converged(t->report.end);
    }
    memcpy(t->x, t->best, (size_t)t->at.n * sizeof *t->x);
    t->begun = t->report.evaluations;
    t->idle = 0;
    t->known = true;
    return ended;
}

static void search(ct__start *t)
{
    const ct__fit *f = t->fit;
    ct__search search = { .n = (int)t->at.n,
                          .x = t->x,
                          .lower = f->lower,
                          .upper = f->upper,
                          .max_evaluations = f->optimizer->evaluations(f->max_iterations),
                          .flat = f->flat * (f->options->flat > 0 ? 0.01 : 1) / (double)t->gp->rows.n,
                          .learning_rate = f->options->learning_rate > 0 ? f->options->learning_rate : 0.1,
                          .evaluate = ct__start_evaluate,
                          .best = t->best,
                          .context = t };
    if (f->n_free == 0) {
        double value; /* and a gradient that nobody reads */
        if (!ct__start_evaluate(t, t->x, &value, t->v) || ct_fit_converged(t->report.end))
            ct__start_end(t, CT_FIT_FIXED, CT_OK);
        return;
    }
    if (look_around(t)) return;
    ct_fit_end end = f->optimizer->run(&search);
    if (end == CT_FIT_FAILED)
        ct__start_end(t, end, ct_device_fail(t->gp->device, CT_ENOMEM, "the optimiser has no memory"));
    else if (end != CT_FIT_STOPPED) /* stopped by ct__start_evaluate, which has set the message */
        ct__start_end(t, end, CT_OK);
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
static void conclude(const ct__start *t)
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
    ct__start t = { .fit = f,
                    .gp = gp,
                    .index = index,
                    .report = { .objective = INFINITY, .end = CT_FIT_FAILED },
                    .at = { .model = f->print, .start = index, .n = gp->params.count } };
    t.status = ct__gp_arrays(gp->device, (uint64_t)gp->params.count + CT__GRADIENT,
                             (double **[]){ &t.at.z, &t.v, &t.best, &t.x, &t.lowest, &t.at.number }, 6);
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
