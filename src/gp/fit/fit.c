/* Fits of one model or many: their starts, in parallel for small data, and their results. */
#include "fit.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "first_points.h"
#include "gp/data/numbers.h"
#include "gp/data/table.h"
#include "gp/file/fingerprint.h"
#include "gp/kernel/cov_call.h"
#include "gp/likelihood/factorise.h"
#include "gp/likelihood/table.h"
#include "gp/model/copy.h"
#include "gp/model/memory.h"
#include "gp/model/options.h"
#include "gp/model/param_units.h"
#include "gp/model/param_values.h"
#include "start.h"

/* Ends of searches this close are the same optimum. */
#define AGREED 0.1

/* -- one model ------------------------------------------------------------------------------------------- */

/* The leave-one-out density may be highest for a level thousands of deviations away from the data, where new
 * rows are predicted badly. So the level is bounded to a standard deviation around the mean, unless it has
 * bounds or a start of its own. In z coordinates y is that of the standardised model. */
static ct_status hold_level(ct__fit *f, int64_t i)
{
    double average, deviation, *z = &f->first[i], *y = ct__gp_doubles(f->gp->target.y);
    if (!y) return CT_ENOMEM;
    ct__gp_column_moments(y, f->gp->rows.n, 1, &average, &deviation);
    free(y);
    if (!f->gp->params.param[i].start_given) *z = fmin(fmax(*z, average - deviation), average + deviation);
    if (isinf(f->lower[i])) f->lower[i] = fmin(*z, average - deviation);
    if (isinf(f->upper[i])) f->upper[i] = fmax(*z, average + deviation);
    return CT_OK;
}

static ct_status allocate(ct__fit *f)
{
    ct_gp *gp = f->gp;
    ct_status s = ct__gp_arrays(gp->device, (uint64_t)gp->params.count,
                                (double **[]){ &f->before, &f->first, &f->lower, &f->upper, &f->winner }, 5);
    free(gp->starts);
    gp->starts = ct__gp_alloc(gp->device, (uint64_t)f->report.starts, sizeof *gp->starts);
    gp->report.start = gp->starts;
    f->report.start = gp->starts;
    for (int k = 0; k < f->report.starts && gp->starts; k++)
        gp->starts[k] =
            (ct_fit_start){ .status = CT_ESTOPPED, .end = CT_FIT_NOT_STARTED, .objective = INFINITY };
    if (s || !gp->starts) return CT_ENOMEM;
    for (int64_t i = 0; i < gp->params.count && !s; i++) {
        f->before[i] = gp->params.param[i].value;
        f->first[i] = f->lower[i] = f->upper[i] = ct__gp_z_of(gp, i, f->before[i]);
        if (gp->params.param[i].fixed) continue;
        f->n_free++;
        ct__gp_bounds(gp, i, &f->lower[i], &f->upper[i]);
        if (i == gp->params.mean_at && gp->mean.kind == CT_MEAN_CONSTANT && f->by->holds_level)
            s = hold_level(f, i);
    }
    return s;
}

/* Prepares *f; release it with conclude. A failure is the fit's. */
static void prepare(ct__fit *f, ct_gp *gp, int index, const ct_fit_options *options, ct__fit_lock *lock)
{
    const bool narrow = gp->rows.dtype == CT_F32;
    const unsigned features = gp->likelihood.features | ct__features_of_fit(options);
    const ct__likelihood *by = ct__likelihood_for(gp->device, features, gp, "ct_gp_fit");
    const bool noisy = by && by->noisy;
    const bool adam = options->optimizer == CT_OPTIMIZER_ADAM || !ct__lbfgs.run;
    const ct__optimizer *optimizer = adam ? &ct__adam : &ct__lbfgs;
    const double tolerance = narrow ? 1e-4 : noisy ? 1e-5 : 1e-6;
    *f = (ct__fit){
        .gp = gp,
        .options = options,
        .by = by,
        .optimizer = optimizer,
        .lock = lock,
        .index = index,
        .tolerance = options->tolerance > 0 ? options->tolerance : tolerance,
        .flat = options->flat > 0 ? options->flat
                : narrow          ? 1e-3
                : noisy           ? 1e-4
                                  : 1e-6,
        .begun = ct__now(),
        .max_iterations = options->max_iterations ? options->max_iterations : optimizer->iterations,
        .report = { .optimizer = adam ? CT_OPTIMIZER_ADAM : CT_OPTIMIZER_LBFGS,
                    .objective = INFINITY,
                    .objective_of = options->objective,
                    .starts = 1 + ct__restarts(gp, options),
                    .precision = options->precision },
        .failed_start = -1,
    };
    ct_status s = by ? CT_OK : ct_last_status(gp->device);
    if (!s && gp->rows.n < 2)
        s = ct_device_fail(gp->device, CT_EINVAL,
                           "ct_gp_fit: one row does not determine the parameters: give at least 2");
    if (!s && lock->checkpoint) s = ct__gp_fingerprint(gp, &f->print);
    if (!s) {
        ct__kept_drop(&gp->factor);
        s = ct__gp_reserve(gp->device, by->bytes(gp, 0, true), !narrow && !noisy, "ct_gp_fit",
                           "use fewer rows");
    }
    if (!s) s = allocate(f);
    if (s) ct__fit_fail(f, 0, s, ct_message(gp->device));
}

/* The search keeps the smallest of many noisy values, which is biased low. The winner is evaluated again with
 * fresh signs. If that is refused, the search's value stays. */
static ct_status value_winner(ct__fit *f)
{
    double number[CT__GRADIENT];
    ct_status s = ct__gp_evaluate(f->gp, f->by, 1, f->winner, false, number);
    if (s) return s == CT_ENUMERIC ? CT_OK : s;
    f->report.objective = number[CT__VALUE];
    f->report.objective_error = number[CT__ERROR];
    return CT_OK;
}

/* Stores the winner in the model; without a winner the model is unchanged. */
static ct_status keep_winner(ct__fit *f)
{
    ct_gp *gp = f->gp;
    bool stopped = f->lock->stopped, found = isfinite(f->report.objective);
    if (f->status || (!found && !stopped))
        return ct_device_fail(gp->device, f->status ? f->status : CT_ENUMERIC, "%s", f->message);
    double *v = f->first; /* free to overwrite: the starts are over */
    for (int64_t i = 0; i < gp->params.count; i++)
        v[i] = gp->params.param[i].fixed ? gp->params.param[i].value : ct__gp_v_of(gp, i, f->winner[i]);
    ct_status s = found ? ct__gp_set_values(gp, v) : CT_OK;
    if (found && !s) s = f->by->noisy ? value_winner(f) : ct__gp_factorise(gp);
    s = ct__comm_agree(gp->options.comm, gp->device, s, NULL);
    f->report.jitter = gp->factor.jitter * gp->target.scale * gp->target.scale;
    if (s) ct__gp_set_values(gp, f->before);
    if (s || !stopped) return s;
    return ct_device_fail(gp->device, CT_ESTOPPED, "ct_gp_fit: stopped by the caller");
}

static ct_status conclude(ct__fit *f)
{
    ct_status s = keep_winner(f);
    for (int k = 0; f->report.start && !f->status && k < f->report.starts; k++)
        if (f->report.start[k].status == CT_ESTOPPED) f->report.end = CT_FIT_STOPPED;
    for (int k = 0; f->report.start && k < f->report.starts; k++)
        f->report.agreed +=
            f->report.start[k].objective <= f->report.start[f->report.best].objective + AGREED;
    f->report.seconds = ct__now() - f->begun;
    if (f->report.start) f->gp->report = f->report;
    free(f->before);
    return s;
}

/* -- many models ----------------------------------------------------------------------------------------- */

/* One start on one thread, on a clone of the model, so its result does not depend on how many run at a
 * time. */
static void run_beside(void *context, int64_t k)
{
    ct__fit *f = context;
    for (; !f->beside || k >= f->report.starts; f++) k -= f->beside ? f->report.starts : 0;
    const int start = (int)k;
    pthread_mutex_lock(&f->lock->mutex);
    bool skip = f->lock->stopped || f->status;
    ct_device *device = skip ? NULL : ct_device_open_worker(f->gp->device);
    ct_gp *clone = skip ? NULL : ct__gp_clone(f->gp, device);
    if (!skip && !clone) ct__fit_fail(f, start, ct_last_status(device), ct_message(device));
    pthread_mutex_unlock(&f->lock->mutex);
    if (clone) ct__fit_run_start(f, clone, start);
    ct_gp_free(clone);
    ct_device_close(device);
}

/* If a fit of a communicator has failed, fails all fits, because the processes must not continue with
 * different ones. Returns whether one has failed. */
static bool fail_together(ct__fit *fits, int64_t count)
{
    ct__fit *lost = NULL;
    for (int64_t i = 0; i < count && !lost; i++)
        if (fits[i].status && !ct__comm_is_one(fits[i].gp->options.comm)) lost = &fits[i];
    for (int64_t i = 0; i < count && lost; i++)
        if (!fits[i].status) ct__fit_fail(&fits[i], 0, lost->status, lost->message);
    return lost;
}

/* Runs the starts of all small models in parallel, then each of the others with all threads. */
static void run_all(ct__fit *fits, int64_t count)
{
    ct_device *device = NULL;
    int64_t tasks = 0;
    uint64_t bytes = 0;
    for (int64_t i = 0; i < count; i++) {
        ct__fit *f = &fits[i];
        f->beside = !f->status && f->gp->rows.n <= CT__SMALL && ct__comm_is_one(f->gp->options.comm) &&
                    (f->report.starts > 1 || count > 1) && !strcmp(ct_device_name(f->gp->device), "cpu");
        if (!f->beside) continue;
        uint64_t needed = f->by->bytes(f->gp, f->gp->rows.d, true);
        bytes = needed > bytes ? needed : bytes;
        device = f->gp->device;
        tasks += f->report.starts;
    }
    int64_t threads = ct_device_threads(device);
    ct_status s = ct__gp_reserve(device, bytes * (uint64_t)(tasks < threads ? tasks : threads), false,
                                 "ct_gp_fit: its starts side by side", "open the device with fewer threads");
    for (int64_t i = 0; i < count && s; i++) ct__fit_fail(&fits[i], 0, s, ct_message(device));
    if (tasks && !s) ct_device_parallel_for(device, tasks, run_beside, fits);
    for (int64_t i = 0; i < count; i++)
        for (int k = 0; k < fits[i].report.starts && !fits[i].beside; k++) {
            if (fail_together(fits, count) || fits[i].status || fits[i].lock->stopped) break;
            ct__fit_run_start(&fits[i], fits[i].gp, k);
        }
}

static ct_status check(ct_gp *const *models, int64_t count, const ct_fit_options *o)
{
    if (count < 0 || (count > 0 && !models)) return CT_EINVAL;
    for (int64_t i = 0; i < count; i++) {
        if (!models[i]) return CT_EINVAL;
        if (models[i]->options.comm != models[0]->options.comm)
            return ct_device_fail(models[i]->device, CT_EINVAL,
                                  "ct_gp_fit_many: models 0 and %lld belong to different communicators",
                                  (long long)i);
        for (int64_t j = 0; j < i; j++)
            if (models[i] == models[j])
                return ct_device_fail(models[i]->device, CT_EINVAL,
                                      "ct_gp_fit_many: models %lld and %lld are the same", (long long)j,
                                      (long long)i);
    }
    ct_device *device = count ? models[0]->device : NULL;
    const ct__option range[] = { { "optimizer", o->optimizer, 0, CT_OPTIMIZER_ADAM },
                                 { "objective", o->objective, 0, CT_OBJECTIVE_LOO },
                                 { "precision", o->precision, 0, CT_PRECISION_MIXED },
                                 { "restarts", o->restarts, CT_FIT_NO_RESTARTS, 100000 },
                                 { "max_iterations", o->max_iterations, 0, INT_MAX },
                                 { "tolerance", o->tolerance, 0, INFINITY },
                                 { "flat", o->flat, 0, DBL_MAX },
                                 { "learning_rate", o->learning_rate, 0, DBL_MAX } };
    if (ct__options_check(device, "ct_gp_fit", range, sizeof range / sizeof *range)) return CT_EINVAL;
    if (o->optimizer == CT_OPTIMIZER_LBFGS && !ct__lbfgs.run)
        return ct_device_fail(device, CT_EUNSUPPORTED,
                              "ct_gp_fit: this build has no L-BFGS (it needs NLopt): use CT_OPTIMIZER_ADAM");
    return CT_OK;
}

ct_status ct__fit_many(ct_gp *const *models, int64_t count, const ct_fit_options *options, ct_status *status,
                       ct__checkpoint *checkpoint)
{
    ct__checkpoint *own = NULL;
    ct_status s = check(models, count, options), first = CT_OK;
    ct_device *device = s || !count ? NULL : models[0]->device;
    ct__fit *fits = device ? ct__gp_alloc(device, (uint64_t)count, sizeof *fits) : NULL;
    if (device && options->checkpoint && !checkpoint && !ct_comm_rank(models[0]->options.comm))
        s = ct__checkpoint_open(&own, options->checkpoint, models, count, options, 0);
    ct__fit_lock lock = { .checkpoint = own ? own : checkpoint };
    if (device && !s && (!fits || pthread_mutex_init(&lock.mutex, NULL)))
        s = ct_device_fail(device, CT_ENOMEM, "ct_gp_fit: out of memory");
    for (int64_t i = 0; i < count && s && status; i++) status[i] = s;
    if (s || !count) {
        ct__checkpoint_close(own);
        free(fits);
        return s;
    }
    for (int64_t i = 0; i < count; i++) prepare(&fits[i], models[i], (int)i, options, &lock);
    run_all(fits, count);
    fail_together(fits, count);
    char message[512]; /* the first failure's, whatever fails after it */
    for (int64_t i = 0; i < count; i++) {
        s = conclude(&fits[i]);
        if (status) status[i] = s;
        if (!s || first) continue;
        first = s;
        device = models[i]->device;
        snprintf(message, sizeof message, "%s", ct_message(device));
    }
    pthread_mutex_destroy(&lock.mutex);
    ct__checkpoint_close(own);
    free(fits);
    return first ? ct_device_fail(device, first, "%s", message) : CT_OK;
}

ct_status ct_gp_fit_many(ct_gp *const *models, int64_t count, const ct_fit_options *options,
                         ct_status *status)
{
    const ct_gp *gp = count > 0 && models ? models[0] : NULL;
    options = options ? options : &(ct_fit_options){ 0 };
    if (!gp) return ct__fit_many(models, count, options, status, NULL);
    ct__gp_enter(gp);
    return ct__gp_leave(gp, ct__fit_many(models, count, options, status, NULL));
}

ct_status ct_gp_fit(ct_gp *gp, const ct_fit_options *options)
{
    return gp ? ct_gp_fit_many(&gp, 1, options, NULL) : CT_EINVAL;
}
