/* ctgp fit: fits a model of a kernel that is given, or chooses one. */
#include "progress.h"

#include <stdlib.h>
#include <string.h>

/* With fewer rows for each parameter intervals of 95 % held some 80 % of new rows, or less (docs/gp.md). */
enum { FEW_ROWS = 4 };

static void tell_many_parameters(const ct_gp *gp, ct_fit_objective objective)
{
    bool loo = objective == CT_OBJECTIVE_LOO;
    long long n = ct_gp_points(gp), k = 0;
    for (int64_t i = 0; i < ct_gp_params(gp); i++) k += !ct_gp_param(gp, i)->fixed;
    if (n >= FEW_ROWS * k * (loo ? 2 : 1)) return;
    note("%lld parameters from %lld rows%s: expect intervals that are too narrow; `ard` and --mean "
         "linear have one for each column, without --kernel few are chosen",
         k, n, loo ? " by leave-one-out" : "");
}

static void fail_fit(ctgp *c, const ct_device *device)
{
    const char *message = ct_message(device);
    if (ct_last_status(device) == CT_ENOMEM && strstr(message, "use fewer rows"))
        fail(c, CODE_MEMORY, "%s; --max-rows draws them", message);
    else
        fail_device(c, device, NULL);
}

/* Fails unless there is a model to keep. */
static void conclude(ctgp *c, const watch *w, ct_status status, const ct_device *device, bool kept)
{
    if (!going(c)) return;
    if (!status) return;
    if (status != CT_ESTOPPED)
        fail_fit(c, device);
    else if (!kept)
        fail(c, CODE_STOPPED, "stopped before the first iteration: no model is written");
    else if (w->late)
        note("the %ld s of --time-limit are over; the best model so far is kept", w->most.seconds);
    else
        note("stopped; the best model so far is kept");
}

static effort effort_of(const watch *w, const ct_gp *gp)
{
    const ct_fit_report r = ct_gp_report(gp);
    return (effort){
        .iterations = r.iterations, .evaluations = r.evaluations, .starts = w->starts, .seconds = r.seconds
    };
}

/* -- one output ------------------------------------------------------------------------------------------ */

static void fit_given(ctgp *c, watch *w, ct_gp *gp, const bounds *limits, const ct_fit_options *how,
                      effort *e)
{
    if (!going(c)) return;
    set_bounds(c, gp, limits);
    if (!going(c)) return;
    const ct_status status = ct_gp_fit(gp, how);
    watch_end_line(w);
    *e = effort_of(w, gp);
    if (!status || status == CT_ESTOPPED) tell_many_parameters(gp, how->objective);
    conclude(c, w, status, ct_gp_device(gp), e->iterations);
}

static void tell_widening(const ct_gp_choice *choice, bool given, const ct_device *device)
{
    if (given)
        note("variances are those of the likelihood: noise that is given is not widened");
    else if (choice->widening)
        note("variances are those of the likelihood: there are no leave-one-out residuals (%s)",
             ct_message(device));
    else if (choice->widened > 1)
        note("all variances times %.4g, the mean square of the standardised leave-one-out residuals",
             choice->widened);
}

static void choose(ctgp *c, watch *w, const ct_tensor *X, const ct_tensor *y, const ct_gp_options *options,
                   const ct_gp_choose_options *how, ct_gp **gp, effort *e)
{
    if (!going(c)) return;
    const ct_device *device = ct_tensor_device(X);
    ct_gp_choice choice;
    w->choice = &choice;
    w->season_column = &options->inputs[how->season ? how->season_column : 0];
    w->season_asked = how->season == CT_GP_SEASON_OF_COLUMN;
    const ct_status status = ct_gp_choose(X, y, options, how, gp, &choice);
    watch_end_line(w);
    *e = (effort){ .iterations = choice.iterations,
                   .evaluations = choice.evaluations,
                   .starts = choice.starts,
                   .seconds = choice.seconds,
                   .seasons = choice.seasons };
    memcpy(e->season, choice.season, sizeof e->season);
    if (!status || status == CT_ESTOPPED) {
        watch_criteria(w);
        tell_widening(&choice, options->noise_variances, device);
    }
    w->choice = NULL;
    conclude(c, w, status, device, *gp && e->iterations);
}

void train(ctgp *c, ct_tensor *X, ct_tensor *y, ct_kernel *kernel, const bounds *limits,
           const ct_gp_options *options, const ct_gp_choose_options *how, patience most, ct_gp **gp,
           effort *e)
{
    watch w;
    ct_gp_choose_options watched = *how;
    *e = (effort){ 0 };
    *gp = NULL;
    watch_begin(c, &w, &watched.fit, most, X, kernel ? 1 : CT_GP_CANDIDATES + 1);
    if (!going(c))
        ct_kernel_free(kernel);
    else if (!kernel)
        choose(c, &w, X, y, options, &watched, gp, e);
    else if ((*gp = ct_gp_new(X, y, kernel, options)) != NULL)
        fit_given(c, &w, *gp, limits, &watched.fit, e);
    else
        fail_fit(c, ct_tensor_device(X));
}

/* -- outputs with one model ------------------------------------------------------------------------------ */

void train_outputs(ctgp *c, ct_tensor *X, ct_tensor *Y, ct_kernel *kernel, const bounds *limits,
                   const ct_outputs_options *options, const ct_fit_options *how, patience most,
                   ct_outputs **o, effort *e)
{
    watch w;
    ct_fit_options watched = *how;
    *e = (effort){ 0 };
    watch_begin(c, &w, &watched, most, X, 1);
    if (!going(c)) {
        ct_kernel_free(kernel);
        return;
    }
    *o = ct_outputs_new(X, Y, kernel, options);
    ct_gp *whole = ct_outputs_joint_model(*o);
    if (whole)
        set_bounds(c, whole, limits);
    else
        fail_fit(c, ct_tensor_device(X));
    if (!going(c)) return;
    const ct_status status = ct_outputs_fit(*o, &watched);
    watch_end_line(&w);
    *e = effort_of(&w, whole);
    conclude(c, &w, status, ct_tensor_device(X), e->iterations);
}
