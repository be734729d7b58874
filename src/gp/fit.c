/* Fits of one model and of many: their starts, side by side where the data are small, and what becomes of
 * them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit.h"

/* Up to so many rows one thread a start is faster than all threads on one after the other. */
enum { SMALL = 1000 };

/* -- one model ------------------------------------------------------------------------------------------- */

static ct_status check(ct_gp *gp, const ct_fit_options *o)
{
    ct_device *device = gp->device;
    if ((unsigned)o->optimizer > CT_OPTIMIZER_ADAM || (unsigned)o->objective > CT_OBJECTIVE_LOO ||
        (unsigned)o->precision > CT_PRECISION_MIXED || o->restarts < 0 || o->restarts > 100000 ||
        o->max_iterations < 0 || !(o->tolerance >= 0) || !(o->learning_rate >= 0) ||
        !isfinite(o->learning_rate))
        return ct_device_fail(device, CT_EINVAL,
                              "ct_gp_fit: an option is negative, not a number, or unknown");
    if (o->optimizer == CT_OPTIMIZER_LBFGS && !ct__has_lbfgs)
        return ct_device_fail(device, CT_EUNSUPPORTED,
                              "ct_gp_fit: this build has no L-BFGS (it needs NLopt): use CT_OPTIMIZER_ADAM");
    if (o->precision == CT_PRECISION_MIXED &&
        (gp->dtype != CT_F64 || o->objective != CT_OBJECTIVE_LIKELIHOOD))
        return ct_device_fail(device, CT_EUNSUPPORTED,
                              "ct_gp_fit: mixed precision is for the likelihood of models in f64");
    if (gp->n < 2)
        return ct_device_fail(device, CT_EINVAL,
                              "ct_gp_fit: one row cannot tell the parameters: give at least 2");
    return CT_OK;
}

/* The leave-one-out density can be highest for a level thousands of deviations away from the data, where new
 * rows are predicted badly. So the level stays within a standard deviation of the average, unless it has
 * bounds or a start of its own. In z coordinates y is as the model has it. */
static ct_status hold_level(ct__fit *f, int64_t i, double *lower, double *upper)
{
    double average, deviation, *z = &f->first[i], *y = ct__gp_doubles(f->gp->y);
    if (!y) return CT_ENOMEM;
    ct__gp_column_moments(y, f->gp->n, 1, &average, &deviation);
    free(y);
    if (!f->gp->param[i].start_given) *z = fmin(fmax(*z, average - deviation), average + deviation);
    if (isinf(*lower)) *lower = fmin(*z, average - deviation);
    if (isinf(*upper)) *upper = fmax(*z, average + deviation);
    return CT_OK;
}

/* All working memory is one block of doubles and one of indices. */
static ct_status allocate(ct__fit *f)
{
    ct_gp *gp = f->gp;
    uint64_t p = (uint64_t)gp->n_params;
    free(gp->starts);
    f->before = ct__gp_alloc(gp->device, 5 * p, sizeof *f->before);
    f->free_index = ct__gp_alloc(gp->device, p, sizeof *f->free_index);
    f->report.start = gp->starts = ct__gp_alloc(gp->device, (uint64_t)f->report.starts, sizeof *gp->starts);
    if (!f->before || !f->free_index || !gp->starts) return CT_ENOMEM;
    for (int k = 0; k < f->report.starts; k++) gp->starts[k] = (ct_fit_start){ .objective = INFINITY };
    double **part[] = { &f->first, &f->lower, &f->upper, &f->winner };
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) *part[i] = f->before + (i + 1) * p;
    for (int64_t i = 0; i < gp->n_params; i++) {
        f->before[i] = gp->param[i].value;
        f->first[i] = ct__gp_z_of(gp, i, f->before[i]);
        if (gp->param[i].fixed) continue;
        double *lower = &f->lower[f->n_free], *upper = &f->upper[f->n_free];
        ct__gp_bounds(gp, i, lower, upper);
        bool held = i == gp->mean_at && gp->options.mean == CT_MEAN_CONSTANT &&
                    f->options->objective == CT_OBJECTIVE_LOO;
        ct_status s = held ? hold_level(f, i, lower, upper) : CT_OK;
        if (s) return s;
        f->free_index[f->n_free++] = i;
    }
    memcpy(f->winner, f->first, (size_t)p * sizeof *f->winner);
    return CT_OK;
}

/* The most that the objective of a fit holds at once, with d columns of data or, where they are there
 * already, none. */
static uint64_t bytes_needed(const ct_gp *gp, const ct_fit_options *options, int64_t d)
{
    if (options->precision == CT_PRECISION_MIXED) return ct__gp_mixed_bytes(gp->n, gp->d);
    if (options->objective == CT_OBJECTIVE_LOO) return ct__gp_loo_bytes(gp->n, d, gp->dtype);
    return ct_gp_bytes_needed(gp->n, d, gp->dtype, true);
}

/* Into *f, an empty one; release with conclude. */
static ct_status prepare(ct__fit *f, ct_gp *gp, int index, const ct_fit_options *options, ct__gate *gate)
{
    f->gp = gp;
    ct_status s = check(gp, options);
    if (s) return s;
    ct__gp_drop_factor(gp);
    bool mixed = options->precision == CT_PRECISION_MIXED;
    s = ct__gp_reserve(gp->device, bytes_needed(gp, options, 0), gp->dtype == CT_F64 && !mixed, "ct_gp_fit",
                       "use fewer rows");
    if (s) return s;
    ct_optimizer optimizer = options->optimizer;
    if (optimizer == CT_OPTIMIZER_DEFAULT) optimizer = ct__has_lbfgs ? CT_OPTIMIZER_LBFGS : CT_OPTIMIZER_ADAM;
    int iterations = optimizer == CT_OPTIMIZER_ADAM ? 1000 : 200;
    bool narrow = gp->dtype == CT_F32;
    f->options = options;
    f->gate = gate;
    f->index = index;
    f->report = (ct_fit_report){ .optimizer = optimizer,
                                 .objective = INFINITY,
                                 .objective_of = options->objective,
                                 .starts = 1 + options->restarts,
                                 .precision = options->precision };
    f->begun = ct__now();
    f->tolerance = options->tolerance > 0 ? options->tolerance : narrow ? 1e-4 : mixed ? 1e-5 : 1e-6;
    f->flat = narrow ? 1e-3 : mixed ? 1e-4 : 1e-6;
    f->max_iterations = options->max_iterations ? options->max_iterations : iterations;
    f->failed_start = -1;
    return allocate(f);
}

/* Of many values, each with an error, the lowest is too low: so the winner's, once more, apart from the
 * search. Where that is refused, at the limit of what is not, the search's stays. */
static ct_status value_winner(ct__fit *f)
{
    const ct__goal goal = { .objective = f->options->objective, .precision = CT_PRECISION_MIXED, .draw = 1 };
    double objective, jitter;
    ct_status s = ct__gp_evaluate(f->gp, goal, f->winner, &objective, NULL, &jitter);
    if (s) return s == CT_ENUMERIC ? CT_OK : s;
    f->report.objective = objective;
    f->report.objective_error = f->gp->mixed.error;
    return CT_OK;
}

/* The winner becomes the model; without one the model stays as it was. */
static ct_status keep_winner(ct__fit *f)
{
    ct_gp *gp = f->gp;
    bool stopped = f->gate->stopped;
    if (f->status) return ct_device_fail(gp->device, f->status, "%s", f->message);
    if (isinf(f->report.objective))
        return stopped ? ct_device_fail(gp->device, CT_ESTOPPED, "ct_gp_fit: stopped by the caller")
                       : ct_device_fail(gp->device, CT_ENUMERIC, "%s", f->message);
    double *v = f->first; /* no longer needed */
    for (int64_t i = 0; i < gp->n_params; i++)
        v[i] = gp->param[i].fixed ? gp->param[i].value : ct__gp_v_of(gp, i, f->winner[i]);
    ct_status s = ct__gp_set_values(gp, v);
    if (!s) s = f->options->precision == CT_PRECISION_FULL ? ct__gp_factorise(gp) : value_winner(f);
    f->report.jitter = gp->factor.jitter * gp->y_scale * gp->y_scale;
    if (s) {
        ct__gp_set_values(gp, f->before);
        return s;
    }
    return stopped ? ct_device_fail(gp->device, CT_ESTOPPED, "ct_gp_fit: stopped by the caller") : CT_OK;
}

/* Starts that the end of the whole fit came before. */
static void mark_the_unbegun(ct__fit *f, ct_status s)
{
    if (!s) s = f->status ? f->status : CT_ESTOPPED;
    for (int k = 0; f->gp->starts && k < f->report.starts; k++) {
        ct_fit_start *start = &f->gp->starts[k];
        if (start->end) continue;
        start->status = s;
        start->end = CT_FIT_UNBEGUN;
    }
}

static ct_status conclude(ct__fit *f, ct_status s)
{
    if (f->gate) mark_the_unbegun(f, s);
    if (!s) s = keep_winner(f);
    if (f->gate) {
        for (int k = 0; f->gp->starts && k < f->report.starts; k++)
            if (f->gp->starts[k].status == CT_ESTOPPED) f->report.end = CT_FIT_STOPPED;
        f->report.seconds = ct__now() - f->begun;
        f->report.start = f->gp->starts;
        f->gp->report = f->report;
    }
    free(f->before);
    free(f->free_index);
    return s;
}

/* -- many ------------------------------------------------------------------------------------------------ */

typedef struct task {
    ct__fit *fit;
    int start;
} task;

/* One start on one thread, on a twin of the model: what it computes does not depend on how many run at a
 * time. */
static void run_beside(void *context, int64_t k)
{
    const task *t = (const task *)context + k;
    ct__fit *f = t->fit;
    pthread_mutex_lock(&f->gate->lock);
    bool skip = f->gate->stopped || f->status;
    ct_device *device = skip ? NULL : ct_device_open_beside(f->gp->device);
    ct_gp *twin = skip ? NULL : ct__gp_twin(f->gp, device);
    if (!skip && !twin) ct__fit_fail(f, t->start, ct_last_status(device), ct_message(device));
    pthread_mutex_unlock(&f->gate->lock);
    if (twin) ct__fit_run_start(f, twin, t->start);
    ct_gp_free(twin);
    ct_device_close(device);
}

static bool beside(const ct__fit *f, int64_t models)
{
    return f->gp->n <= SMALL && (f->report.starts > 1 || models > 1) &&
           !strcmp(ct_device_name(f->gp->device), "cpu");
}

/* The starts of all small models side by side, then each of the others with all threads. */
static ct_status run_all(ct__fit *fits, const ct_status *status, int64_t count)
{
    ct_device *device = NULL;
    int64_t tasks = 0, room = 0;
    uint64_t bytes = 0;
    for (int64_t i = 0; i < count; i++)
        if (!status[i]) device = fits[i].gp->device, room += fits[i].report.starts;
    task *list = device ? ct__gp_alloc(device, (uint64_t)room, sizeof *list) : NULL;
    if (device && !list) return CT_ENOMEM;
    for (int64_t i = 0; i < count; i++) {
        if (status[i] || !beside(&fits[i], count)) continue;
        for (int k = 0; k < fits[i].report.starts; k++) list[tasks++] = (task){ &fits[i], k };
        uint64_t needed = bytes_needed(fits[i].gp, fits[i].options, fits[i].gp->d);
        if (needed > bytes) bytes = needed;
    }
    int64_t threads = ct_device_threads(device);
    ct_status s =
        tasks ? ct__gp_reserve(device, bytes * (uint64_t)(tasks < threads ? tasks : threads), false,
                               "ct_gp_fit: its starts side by side", "open the device with fewer threads")
              : CT_OK;
    if (!s && tasks) ct_device_spread(device, tasks, run_beside, list);
    free(list);
    for (int64_t i = 0; i < count && !s; i++) {
        if (status[i] || beside(&fits[i], count)) continue;
        for (int k = 0; k < fits[i].report.starts && !fits[i].status && !fits[i].gate->stopped; k++)
            ct__fit_run_start(&fits[i], fits[i].gp, k);
    }
    return s;
}

static ct_status check_list(ct_gp *const *models, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (!models[i]) return CT_EINVAL;
        for (int64_t j = 0; j < i; j++)
            if (models[i] == models[j])
                return ct_device_fail(models[i]->device, CT_EINVAL,
                                      "ct_gp_fit_many: models %lld and %lld are the same", (long long)j,
                                      (long long)i);
    }
    return CT_OK;
}

/* None of the fits is begun. */
static ct_status refuse_all(ct_status *status, int64_t count, ct_status s)
{
    for (int64_t i = 0; status && i < count; i++) status[i] = s;
    return s;
}

ct_status ct_gp_fit_many(ct_gp *const *models, int64_t count, const ct_fit_options *options,
                         ct_status *status)
{
    static const ct_fit_options defaults = { 0 };
    if (!options) options = &defaults;
    if (count < 0 || (count > 0 && !models)) return refuse_all(status, count, CT_EINVAL);
    ct_status s = check_list(models, count), *each = NULL;
    if (s || count == 0) return refuse_all(status, count, s);
    ct_device *device = models[0]->device;
    ct__fit *fits = ct__gp_alloc(device, (uint64_t)count, sizeof *fits);
    ct__gate gate = { .stopped = false };
    if (fits) each = ct__gp_alloc(device, (uint64_t)count, sizeof *each);
    if (!each || pthread_mutex_init(&gate.lock, NULL)) {
        free(fits);
        free(each);
        return refuse_all(status, count, ct_device_fail(device, CT_ENOMEM, "ct_gp_fit: out of memory"));
    }
    for (int64_t i = 0; i < count; i++) each[i] = prepare(&fits[i], models[i], (int)i, options, &gate);
    ct_status all = run_all(fits, each, count);
    for (int64_t i = 0; i < count; i++) {
        each[i] = conclude(&fits[i], each[i] ? each[i] : all);
        if (!s) s = each[i];
        if (status) status[i] = each[i];
    }
    pthread_mutex_destroy(&gate.lock);
    free(fits);
    free(each);
    return s;
}

ct_status ct_gp_fit(ct_gp *gp, const ct_fit_options *options)
{
    return gp ? ct_gp_fit_many(&gp, 1, options, NULL) : CT_EINVAL;
}
