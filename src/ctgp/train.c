/* ctgp fit: fits a model of a kernel that is given, or chooses one. */
#include "train.h"

#include <string.h>

#include "bounds.h"
#include "context.h"
#include "failure.h"
#include "open.h"
#include "progress.h"
#include "text.h"

/* With fewer rows for each parameter intervals of 95 % held some 80 % of new rows, or less (docs/gp.md). */
enum { FEW_ROWS = 4 };

static void warn_many_parameters(const ct_gp *gp, ct_fit_objective objective)
{
    bool loo = objective == CT_OBJECTIVE_LOO;
    long long n = ct_gp_points(gp), k = 0;
    for (int64_t i = 0; i < ct_gp_params(gp); i++) k += !ct_gp_param(gp, i)->fixed;
    if (n >= FEW_ROWS * k * (loo ? 2 : 1)) return;
    note("%lld parameters from %lld rows%s: expect intervals that are too narrow; `ard` and --mean "
         "linear have one for each column, without --kernel few are chosen",
         k, n, loo ? " by leave-one-out" : "");
}

static void release_kernel(void *kernel) { ct_kernel_free(kernel); }

/* `options`: NULL for outputs with one model. */
_Noreturn static void fail_fit(ctgp *c, const ct_gp_options *options)
{
    const ct_status status = ct_last_status(c->device);
    const char *message = ct_message(c->device);
    if (status == CT_ENOMEM && strstr(message, "use fewer rows"))
        fail(c, CODE_MEMORY, "%s; --max-rows draws them", message);
    if (status == CT_EFORMAT && options && options->basis) fail_message(c, CODE_USAGE, message); /* --mean */
    fail_device(c);
}

/* Fails unless there is a model to keep. */
static void conclude(ctgp *c, const watch *w, ct_status status, bool kept, const ct_gp_options *options)
{
    const bool tried = options && options->transform && w->s->any_transform; /* there is another model */
    if (!status || tried) return;
    if (status != CT_ESTOPPED) fail_fit(c, options);
    if (!kept) fail(c, CODE_STOPPED, "stopped before the first iteration: no model is written");
    if (w->late)
        note("the %ld s of --time-limit %s; the best model so far is kept", w->s->time_limit, w->late);
    else
        note("stopped; the best model so far is kept");
}

ct_kernel *parse_kernel(ctgp *c, const char *text, const ct_column *inputs, int64_t d)
{
    ct_kernel *kernel = own(c, ct_kernel_parse_named(text, inputs, d), release_kernel);
    const ct_status status = ct_kernel_status(kernel);
    if (status) fail_message(c, status == CT_ENOMEM ? CODE_MEMORY : CODE_USAGE, ct_kernel_message(kernel));
    return kernel;
}

/* -- a kernel that is given ------------------------------------------------------------------------------ */

/* Searches the parameters of `gp`, of a model or of all outputs `o`. */
static void search(ctgp *c, watch *w, ct_gp *gp, ct_outputs *o, const ct_fit_options *how,
                   ct_gp_choice *choice)
{
    set_bounds(c, gp, w->s);
    const ct_status status = o ? ct_outputs_fit(o, how) : ct_gp_fit(gp, how);
    watch_end_line(w);
    const ct_fit_report r = ct_gp_report(gp);
    *choice = (ct_gp_choice){
        .iterations = r.iterations, .evaluations = r.evaluations, .starts = r.starts, .seconds = r.seconds
    };
    if (!o && (!status || status == CT_ESTOPPED)) warn_many_parameters(gp, how->objective);
    conclude(c, w, status, r.iterations, NULL);
}

ct_outputs *train_outputs(ctgp *c, const settings *s, const ct_tensor *X, const ct_tensor *Y,
                          ct_kernel *kernel, const ct_outputs_options *options, const ct_fit_options *how,
                          ct_gp_choice *choice)
{
    watch w;
    ct_fit_options watched = *how;
    watch_begin(c, &w, s, &watched, X, 1);
    ct_outputs *o = ct_outputs_new(X, Y, disown(c, kernel), options);
    if (!o) fail_fit(c, NULL);
    own_outputs(c, o);
    search(c, &w, ct_outputs_joint_model(o), o, &watched, choice);
    return o;
}

/* -- a choice -------------------------------------------------------------------------------------------- */

static void print_calibration(const ct_gp_choice *choice, bool given, const ct_device *device)
{
    if (given)
        note("variances are those of the likelihood: noise that is given is not calibrated");
    else if (choice->calibration)
        note("variances are those of the likelihood: there are no leave-one-out residuals (%s)",
             ct_message(device));
    else if (choice->variance_factor > 1)
        note("all variances times %.4g, by the standardised leave-one-out residuals",
             choice->variance_factor);
}

static ct_gp *choose(ctgp *c, watch *w, const ct_tensor *X, const ct_tensor *y, const ct_gp_options *model,
                     const ct_gp_choose_options *how, ct_gp_choice *choice)
{
    ct_gp *gp = NULL;
    w->choice = choice;
    w->inputs = model->inputs;
    w->season_asked = how->season == CT_GP_SEASON_OF_COLUMN;
    const ct_status status = ct_gp_choose(X, y, model, how, &gp, choice);
    if (gp) own_gp(c, gp);
    watch_end_line(w);
    if (!status || status == CT_ESTOPPED) {
        watch_criteria(w);
        print_calibration(choice, model->noise_variances, c->device);
    }
    if (gp && choice->forecasts)
        note("the covariance is chosen by AICc and by forecasts of the last tenth of the rows");
    if (gp && ct_gp_points(gp) < w->n)
        note("the model is that of the %lld rows which chose the covariance: --max-rows takes more",
             (long long)ct_gp_points(gp));
    conclude(c, w, status, gp && choice->iterations, model);
    return gp;
}

ct_gp *train(ctgp *c, const settings *s, const ct_tensor *X, const ct_tensor *y, ct_kernel *kernel,
             const ct_gp_options *model, const ct_gp_choose_options *how, ct_gp_choice *choice)
{
    watch w;
    ct_gp_choose_options watched = *how;
    watch_begin(c, &w, s, &watched.fit, X, kernel ? 1 : CT_GP_CANDIDATES + 1);
    if (!kernel) return choose(c, &w, X, y, model, &watched, choice);
    ct_gp *gp = ct_gp_new(X, y, disown(c, kernel), model);
    if (!gp) fail_fit(c, model);
    search(c, &w, own_gp(c, gp), NULL, &watched.fit, choice);
    return gp;
}
