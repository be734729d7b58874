/* Fits of one model or many: their starts, in parallel for small data, and their results. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit.h"
#include "gp/data/trend.h"
#include "gp/kernel/cov.h"

/* -- one model ------------------------------------------------------------------------------------------- */

static ct_status check_model(const ct_gp *gp, const ct_fit_options *o)
{
    if (o->precision == CT_PRECISION_MIXED &&
        (gp->dtype != CT_F64 || o->objective != CT_OBJECTIVE_LIKELIHOOD))
        return ct_device_fail(gp->device, CT_EUNSUPPORTED,
                              "ct_gp_fit: mixed precision is for the likelihood of models in f64");
    const bool other = o->precision == CT_PRECISION_MIXED || o->objective != CT_OBJECTIVE_LIKELIHOOD;
    if (other && (gp->basis || !ct__group_is_one(gp->options.group)))
        return ct_device_fail(gp->device, CT_EUNSUPPORTED,
                              "ct_gp_fit: %s there is only the likelihood in full precision",
                              gp->basis ? "with a basis" : "over many processes");
    if (other && gp->shared)
        return ct_device_fail(
            gp->device, CT_EUNSUPPORTED,
            "ct_outputs_fit: outputs that share their covariance are fitted by the likelihood "
            "in full precision");
    if (gp->n < 2)
        return ct_device_fail(gp->device, CT_EINVAL,
                              "ct_gp_fit: one row does not determine the parameters: give at least 2");
    return CT_OK;
}

/* The leave-one-out density may be highest for a level thousands of deviations away from the data, where new
 * rows are predicted badly. So the level is bounded to a standard deviation around the mean, unless it has
 * bounds or a start of its own. In z coordinates y is that of the standardised model. */
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

static ct_status allocate(ct__fit *f)
{
    ct_gp *gp = f->gp;
    ct_status s = ct__gp_arrays(gp->device, (uint64_t)gp->n_params,
                                (double **[]){ &f->before, &f->first, &f->lower, &f->upper, &f->winner }, 5);
    f->free_index = ct__gp_alloc(gp->device, (uint64_t)gp->n_params, sizeof *f->free_index);
    free(gp->starts);
    gp->starts = ct__gp_alloc(gp->device, (uint64_t)f->report.starts, sizeof *gp->starts);
    gp->report.start = gp->starts;
    f->report.start = gp->starts;
    for (int k = 0; k < f->report.starts && gp->starts; k++)
        gp->starts[k] =
            (ct_fit_start){ .status = CT_ESTOPPED, .end = CT_FIT_NOT_STARTED, .objective = INFINITY };
    if (s || !f->free_index || !gp->starts) return CT_ENOMEM;
    for (int64_t i = 0; i < gp->n_params && !s; i++) {
        f->before[i] = gp->param[i].value;
        f->first[i] = ct__gp_z_of(gp, i, f->before[i]);
        if (gp->param[i].fixed) continue;
        double *lower = &f->lower[f->n_free], *upper = &f->upper[f->n_free];
        ct__gp_bounds(gp, i, lower, upper);
        if (i == gp->mean_at && gp->options.mean == CT_MEAN_CONSTANT &&
            f->options->objective == CT_OBJECTIVE_LOO)
            s = hold_level(f, i, lower, upper);
        f->free_index[f->n_free++] = i;
    }
    return s;
}

/* The largest memory of the fit's objective, with d columns of data, or 0 if the data are counted already. */
static uint64_t bytes_needed(const ct_gp *gp, const ct_fit_options *options, int64_t d)
{
    if (options->precision == CT_PRECISION_MIXED) return ct__gp_mixed_bytes(gp->n, gp->d);
    if (options->objective == CT_OBJECTIVE_LOO) return ct__gp_loo_bytes(gp->n, d, gp->dtype);
    const uint64_t outputs =
        gp->shared ? (uint64_t)ct_tensor_count(gp->shared) * ct_dtype_size(gp->dtype) : 0;
    const uint64_t rows = gp->in_grid ? (uint64_t)(gp->n / gp->in_grid) : 0,
                   grid = 12 * rows * rows * ct_dtype_size(gp->dtype);
    return ct__gp_bytes(gp->options.group, gp->n, d, gp->dtype, true) + ct__trend_bytes(gp) + 4 * outputs +
           grid;
}

/* Prepares *f; release it with conclude. A failure is the fit's. */
static void prepare(ct__fit *f, ct_gp *gp, int index, const ct_fit_options *options, ct__gate *gate)
{
    bool mixed = options->precision == CT_PRECISION_MIXED, narrow = gp->dtype == CT_F32;
    ct_optimizer optimizer = options->optimizer;
    if (optimizer == CT_OPTIMIZER_DEFAULT) optimizer = ct__has_lbfgs ? CT_OPTIMIZER_LBFGS : CT_OPTIMIZER_ADAM;
    int iterations = optimizer == CT_OPTIMIZER_ADAM ? 1000 : 200;
    double tolerance = narrow ? 1e-4 : mixed ? 1e-5 : 1e-6, flat = narrow ? 1e-3 : mixed ? 1e-4 : 1e-6;
    *f = (ct__fit){
        .gp = gp,
        .options = options,
        .gate = gate,
        .index = index,
        .tolerance = options->tolerance > 0 ? options->tolerance : tolerance,
        .flat = flat,
        .begun = ct__now(),
        .max_iterations = options->max_iterations ? options->max_iterations : iterations,
        .report = { .optimizer = optimizer,
                    .objective = INFINITY,
                    .objective_of = options->objective,
                    .starts = 1 + options->restarts,
                    .precision = options->precision },
        .failed_start = -1,
    };
    ct_status s = check_model(gp, options);
    if (!s && gate->checkpoint) s = ct__gp_fingerprint(gp, &f->print);
    if (!s) {
        ct__gp_drop_factor(gp);
        s = ct__gp_reserve(gp->device, bytes_needed(gp, options, 0), !narrow && !mixed, "ct_gp_fit",
                           "use fewer rows");
    }
    if (!s) s = allocate(f);
    if (s) ct__fit_fail(f, 0, s, ct_message(gp->device));
}

/* The search keeps the smallest of many noisy values, which is biased low. The winner is evaluated again with
 * fresh signs. If that is refused, the search's value stays. */
static ct_status value_winner(ct__fit *f)
{
    double objective, jitter;
    ct_status s = ct__gp_evaluate(f->gp, (ct__goal){ .precision = CT_PRECISION_MIXED, .draw = 1 }, f->winner,
                                  &objective, NULL, &jitter);
    if (s) return s == CT_ENUMERIC ? CT_OK : s;
    f->report.objective = objective;
    f->report.objective_error = f->gp->mixed.error;
    return CT_OK;
}

/* Stores the winner in the model; without a winner the model is unchanged. */
static ct_status keep_winner(ct__fit *f)
{
    ct_gp *gp = f->gp;
    bool stopped = f->gate->stopped, found = isfinite(f->report.objective);
    if (f->status || (!found && !stopped))
        return ct_device_fail(gp->device, f->status ? f->status : CT_ENUMERIC, "%s", f->message);
    double *v = f->first; /* free to overwrite: the starts are over */
    for (int64_t i = 0; i < gp->n_params; i++)
        v[i] = gp->param[i].fixed ? gp->param[i].value : ct__gp_v_of(gp, i, f->winner[i]);
    ct_status s = found ? ct__gp_set_values(gp, v) : CT_OK;
    if (found && !s) s = f->options->precision == CT_PRECISION_FULL ? ct__gp_factorise(gp) : value_winner(f);
    s = ct__group_meet(gp->options.group, gp->device, s, NULL);
    f->report.jitter = gp->factor.jitter * gp->y_scale * gp->y_scale;
    if (s) ct__gp_set_values(gp, f->before);
    if (s || !stopped) return s;
    return ct_device_fail(gp->device, CT_ESTOPPED, "ct_gp_fit: stopped by the caller");
}

static ct_status conclude(ct__fit *f)
{
    ct_status s = keep_winner(f);
    for (int k = 0; f->report.start && !f->status && k < f->report.starts; k++)
        if (f->report.start[k].status == CT_ESTOPPED) f->report.end = CT_FIT_STOPPED;
    f->report.seconds = ct__now() - f->begun;
    if (f->report.start) f->gp->report = f->report;
    free(f->before);
    free(f->free_index);
    return s;
}

/* -- many models ----------------------------------------------------------------------------------------- */

/* One start on one thread, on a twin of the model, so its result does not depend on how many run at a
 * time. */
static void run_beside(void *context, int64_t k)
{
    ct__fit *f = context;
    int starts = f->report.starts, start = (int)(k % starts);
    f += k / starts;
    if (!f->beside) return;
    pthread_mutex_lock(&f->gate->lock);
    bool skip = f->gate->stopped || f->status;
    ct_device *device = skip ? NULL : ct_device_open_beside(f->gp->device);
    ct_gp *twin = skip ? NULL : ct__gp_twin(f->gp, device);
    if (!skip && !twin) ct__fit_fail(f, start, ct_last_status(device), ct_message(device));
    pthread_mutex_unlock(&f->gate->lock);
    if (twin) ct__fit_run_start(f, twin, start);
    ct_gp_free(twin);
    ct_device_close(device);
}

/* If a fit of a group has failed, fails all fits, because the processes must not continue with different
 * ones. Returns whether one has failed. */
static bool fail_together(ct__fit *fits, int64_t count)
{
    ct__fit *lost = NULL;
    for (int64_t i = 0; i < count && !lost; i++)
        if (fits[i].status && !ct__group_is_one(fits[i].gp->options.group)) lost = &fits[i];
    for (int64_t i = 0; i < count && lost; i++)
        if (!fits[i].status) ct__fit_fail(&fits[i], 0, lost->status, lost->message);
    return lost;
}

/* Runs the starts of all small models in parallel, then each of the others with all threads. */
static void run_all(ct__fit *fits, int64_t count)
{
    const int starts = fits[0].report.starts;
    ct_device *device = NULL;
    int64_t tasks = 0;
    uint64_t bytes = 0;
    for (int64_t i = 0; i < count; i++) {
        ct__fit *f = &fits[i];
        f->beside = !f->status && f->gp->n <= CT__SMALL && ct__group_is_one(f->gp->options.group) &&
                    (starts > 1 || count > 1) && !strcmp(ct_device_name(f->gp->device), "cpu");
        if (!f->beside) continue;
        uint64_t needed = bytes_needed(f->gp, f->options, f->gp->d);
        bytes = needed > bytes ? needed : bytes;
        device = f->gp->device;
        tasks += starts;
    }
    int64_t threads = ct_device_threads(device);
    ct_status s = ct__gp_reserve(device, bytes * (uint64_t)(tasks < threads ? tasks : threads), false,
                                 "ct_gp_fit: its starts side by side", "open the device with fewer threads");
    for (int64_t i = 0; i < count && s; i++) ct__fit_fail(&fits[i], 0, s, ct_message(device));
    if (tasks && !s) ct_device_spread(device, count * starts, run_beside, fits);
    for (int64_t i = 0; i < count; i++)
        for (int k = 0; k < starts && !fits[i].beside; k++) {
            if (fail_together(fits, count) || fits[i].status || fits[i].gate->stopped) break;
            ct__fit_run_start(&fits[i], fits[i].gp, k);
        }
}

static ct_status check(ct_gp *const *models, int64_t count, const ct_fit_options *o)
{
    if (count < 0 || (count > 0 && !models)) return CT_EINVAL;
    for (int64_t i = 0; i < count; i++) {
        if (!models[i]) return CT_EINVAL;
        if (models[i]->options.group != models[0]->options.group)
            return ct_device_fail(models[i]->device, CT_EINVAL,
                                  "ct_gp_fit_many: models 0 and %lld belong to different groups",
                                  (long long)i);
        for (int64_t j = 0; j < i; j++)
            if (models[i] == models[j])
                return ct_device_fail(models[i]->device, CT_EINVAL,
                                      "ct_gp_fit_many: models %lld and %lld are the same", (long long)j,
                                      (long long)i);
    }
    ct_device *device = count ? models[0]->device : NULL;
    if ((unsigned)o->optimizer > CT_OPTIMIZER_ADAM || (unsigned)o->objective > CT_OBJECTIVE_LOO ||
        (unsigned)o->precision > CT_PRECISION_MIXED || o->restarts < 0 || o->restarts > 100000 ||
        o->max_iterations < 0 || !(o->tolerance >= 0) || !(o->learning_rate >= 0) ||
        !isfinite(o->learning_rate))
        return ct_device_fail(device, CT_EINVAL,
                              "ct_gp_fit: an option is negative, not a number, or unknown");
    if (o->optimizer == CT_OPTIMIZER_LBFGS && !ct__has_lbfgs)
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
    if (device && options->checkpoint && !checkpoint && !ct_group_rank(models[0]->options.group))
        s = ct__checkpoint_open(&own, options->checkpoint, models, count, options, 0);
    ct__gate gate = { .checkpoint = own ? own : checkpoint };
    if (device && !s && (!fits || pthread_mutex_init(&gate.lock, NULL)))
        s = ct_device_fail(device, CT_ENOMEM, "ct_gp_fit: out of memory");
    for (int64_t i = 0; i < count && s && status; i++) status[i] = s;
    if (s || !count) {
        ct__checkpoint_close(own);
        free(fits);
        return s;
    }
    for (int64_t i = 0; i < count; i++) prepare(&fits[i], models[i], (int)i, options, &gate);
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
    pthread_mutex_destroy(&gate.lock);
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
