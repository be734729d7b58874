/* Fitting models with their progress on stderr. */
#include "ctgp.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* -- progress -- */

/* A search by L-BFGS seldom takes more evaluations. A fit of fewer seconds has no estimate. */
enum { USUAL = 60, LONG = 10 };

static volatile sig_atomic_t interrupted;

/* Catches the first signal only; the next ends the program. */
static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

static void watch_signals(void)
{
    static const int signals[] = { SIGINT, SIGTERM };
    struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = SA_RESTART }, before;
    for (int i = 0; i < 2 && !interrupted; i++)
        if (!sigaction(signals[i], NULL, &before) && before.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
}

typedef struct watch {
    bool quiet, terminal, shown, late, estimated;
    double end;                 /* of now(); 0: none */
    const char *checkpoint;     /* NULL: none, or said that the fit goes on from there */
    const ct_gp_choice *choice; /* NULL: one model of a kernel that is given */
    int64_t n, rows;            /* all rows; those of the choice once its candidates are printed */
    bool compared;              /* their criteria, too */
    const ct_column *season_column;
    ct_fit_objective objective;
    int steps;              /* evaluations of a search, roughly */
    int starts, *iteration; /* [models][starts] last shown, plus 1: the starts may take turns */
} watch;

/* Seconds of a clock that nobody sets. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Ends the line of progress on a terminal, so that it stays visible. */
static void end_line(watch *w)
{
    if (w->terminal && w->shown) fputc('\n', stderr);
    w->shown = false;
}

static void tell_candidates(watch *w)
{
    if (w->rows == w->choice->rows) return;
    end_line(w);
    if (!w->rows) print_seasons(w->choice->season, w->choice->seasons, w->season_column);
    w->rows = w->choice->rows;
    w->compared = false;
    if (w->rows < w->n)
        fprintf(stderr, "ctgp: the covariance is chosen on %lld of the rows\n", (long long)w->rows);
    for (int k = 0; k < w->choice->count; k++) {
        const ct_gp_tried *t = &w->choice->tried[k];
        if (t->too_few_rows && !t->from)
            fprintf(stderr, "ctgp: %s: left out, %lld rows are too few for its parameters\n", t->kernel,
                    (long long)w->rows);
    }
}

static const char *where_from(const ct_gp_tried *t) { return t->from ? ", from there" : ""; }

static void tell_criteria(watch *w)
{
    const char *what = w->objective == CT_OBJECTIVE_LOO ? "AICc, leave-one-out" : "AICc";
    if (w->compared || w->quiet) return;
    end_line(w);
    w->compared = true;
    for (int k = 0; k < w->choice->count; k++) {
        const ct_gp_tried *t = &w->choice->tried[k];
        if (isfinite(t->criterion))
            fprintf(stderr, "ctgp: %s%s: %s %.2f\n", t->kernel, where_from(t), what, t->criterion);
    }
}

/* 95 s, 12 min, 3.5 h */
static void print_time(double seconds)
{
    if (seconds < 120)
        fprintf(stderr, "%.0f s", seconds);
    else if (seconds < 7200)
        fprintf(stderr, "%.0f min", seconds / 60);
    else
        fprintf(stderr, "%.1f h", seconds / 3600);
}

/* From the time of the first evaluation. A choice on some of the rows ends with a search on all of them, an
 * evaluation of which takes longer by the cube of the rows. */
static void estimate(watch *w, const ct_fit_progress *p)
{
    const double rows = w->choice ? (double)w->choice->rows : (double)w->n, growth = (double)w->n / rows;
    const int searches = w->starts * (w->choice ? w->choice->count : 1);
    double steps = searches * (double)w->steps;
    if (w->choice && growth > 1) steps += w->starts * (double)w->steps * growth * growth * growth;
    const double seconds = steps * p->seconds;
    w->estimated = true;
    if (p->logged || seconds < LONG) return;
    end_line(w);
    fprintf(stderr, "ctgp: an evaluation takes %.2g s: the fit some ", p->seconds);
    print_time(seconds);
    fprintf(stderr, ", for %d evaluations of each search\n", w->steps);
}

static void show_step(watch *w, const ct_fit_progress *p)
{
    const ct_gp_tried *t = w->choice && p->model < w->choice->count ? &w->choice->tried[p->model] : NULL;
    if (w->checkpoint && p->logged)
        fprintf(stderr, "ctgp: goes on from %s with %d evaluations\n", w->checkpoint, p->logged);
    w->checkpoint = NULL;
    if (!w->estimated) estimate(w, p);
    int *last = &w->iteration[p->model * w->starts + p->start];
    if (w->choice) tell_candidates(w);
    if (w->choice && !t) tell_criteria(w);
    if (w->terminal || *last != p->iteration + 1) {
        char start[48] = "";
        if (p->starts > 1) snprintf(start, sizeof start, "start %d/%d  ", p->start + 1, p->starts);
        fprintf(stderr, "%s%s%s%s%siteration %d  objective %.6g  gradient %.2g  %.1f s%s",
                w->terminal ? "\r\033[K" : "", t ? t->kernel : "", t ? where_from(t) : "", t ? ":  " : "",
                start, p->iteration, p->best, p->gradient_norm, p->seconds, w->terminal ? "" : "\n");
        fflush(stderr);
    }
    w->shown = true;
    *last = p->iteration + 1;
}

static int on_step(void *context, const ct_fit_progress *p)
{
    watch *w = context;
    if (!w->quiet) show_step(w, p);
    w->late = w->late || (w->end && now() >= w->end && p->iteration > 0); /* there is a model to keep */
    return interrupted || w->late;
}

/* -- a model --------------------------------------------------------------------------------------------- */

/* With fewer rows for each parameter intervals of 95 % held some 80 % of new rows, or less (docs/gp.md). */
enum { FEW_ROWS = 4 };

static void tell_many_parameters(const ct_gp *gp, ct_fit_objective objective)
{
    bool loo = objective == CT_OBJECTIVE_LOO;
    long long n = ct_gp_points(gp), k = 0;
    for (int64_t i = 0; i < ct_gp_params(gp); i++) k += !ct_gp_param(gp, i)->fixed;
    if (n >= FEW_ROWS * k * (loo ? 2 : 1)) return;
    fprintf(stderr,
            "ctgp: %lld parameters from %lld rows%s: expect intervals that are too narrow; `ard` and --mean "
            "linear have one for each column, without --kernel few are chosen\n",
            k, n, loo ? " by leave-one-out" : "");
}

static ct_status fit(watch *w, ct_gp *gp, const ct_fit_options *how, effort *e)
{
    ct_status status = ct_gp_fit(gp, how);
    ct_fit_report r = ct_gp_report(gp);
    end_line(w);
    *e = (effort){
        .iterations = r.iterations, .evaluations = r.evaluations, .starts = w->starts, .seconds = r.seconds
    };
    if (!status || status == CT_ESTOPPED) tell_many_parameters(gp, how->objective);
    return status;
}

static ct_status choose(watch *w, const ct_tensor *X, const ct_tensor *y, const ct_gp_options *options,
                        const ct_gp_choose_options *how, ct_gp **gp, effort *e)
{
    ct_gp_choice choice;
    w->choice = &choice;
    w->season_column = &options->inputs[how->season ? how->season_column : 0];
    ct_status status = ct_gp_choose(X, y, options, how, gp, &choice);
    end_line(w);
    *e = (effort){ .iterations = choice.iterations,
                   .evaluations = choice.evaluations,
                   .starts = choice.starts,
                   .seconds = choice.seconds,
                   .seasons = choice.seasons };
    memcpy(e->season, choice.season, sizeof e->season);
    if (status && status != CT_ESTOPPED) return status;
    tell_criteria(w);
    if (options->noise_variances)
        fprintf(stderr, "ctgp: variances are those of the likelihood: noise that is given is not widened\n");
    else if (choice.widening)
        fprintf(stderr,
                "ctgp: variances are those of the likelihood: there are no leave-one-out residuals (%s)\n",
                ct_message(ct_tensor_device(X)));
    else if (choice.widened > 1)
        fprintf(
            stderr,
            "ctgp: all variances times %.4g, the mean square of the standardised leave-one-out residuals\n",
            choice.widened);
    return status;
}

static int usual_steps(const ct_fit_options *how)
{
    if (how->optimizer == CT_OPTIMIZER_ADAM) return how->max_iterations ? how->max_iterations : 1000;
    return how->max_iterations && how->max_iterations < USUAL ? how->max_iterations : USUAL;
}

static int fail_fit(const ct_device *device)
{
    const char *message = ct_message(device);
    if (ct_last_status(device) != CT_ENOMEM || !strstr(message, "use fewer rows"))
        return fail_device(device, NULL);
    return fail(CODE_MEMORY, "%s; --max-rows draws them", message);
}

/* Of fits of n rows. NULL in `iteration`: no memory, which is told. */
static watch start_watch(const ct_fit_options *how, patience most, int64_t n, int models)
{
    const int starts = how->restarts + 1;
    const watch w = { .quiet = most.quiet,
                      .end = most.seconds ? now() + (double)most.seconds : 0,
                      .terminal = isatty(STDERR_FILENO),
                      .checkpoint = how->checkpoint,
                      .n = n,
                      .objective = how->objective,
                      .steps = usual_steps(how),
                      .starts = starts,
                      .iteration = calloc((size_t)models * (size_t)starts, sizeof *w.iteration) };
    if (!w.iteration) fail(CODE_MEMORY, "no memory for %d starts", models * starts);
    if (w.iteration) watch_signals();
    return w;
}

/* What a fit came to: GO_ON with a model to keep. */
static int conclude(const watch *w, ct_status status, const ct_device *device, bool kept, patience most)
{
    if (!status) return GO_ON;
    if (status != CT_ESTOPPED) return fail_fit(device);
    if (!kept) return fail(CODE_STOPPED, "stopped before the first iteration: no model is written");
    if (w->late)
        fprintf(stderr, "ctgp: the %ld s of --time-limit are over; the best model so far is kept\n",
                most.seconds);
    else
        fprintf(stderr, "ctgp: stopped; the best model so far is kept\n");
    return GO_ON;
}

int train(ct_tensor *X, ct_tensor *y, ct_kernel *kernel, const bounds *limits, const ct_gp_options *options,
          const ct_gp_choose_options *how, patience most, ct_gp **gp, effort *e)
{
    watch w = start_watch(&how->fit, most, ct_tensor_dim(X, 0), kernel ? 1 : CT_GP_CANDIDATES + 1);
    ct_gp_choose_options shown = *how;
    ct_status status;
    shown.fit.progress = on_step;
    shown.fit.context = &w;
    *e = (effort){ 0 };
    *gp = NULL;
    if (!w.iteration) {
        ct_kernel_free(kernel);
        return CODE_MEMORY;
    }
    if (kernel) {
        *gp = ct_gp_new(X, y, kernel, options);
        const int bounded = *gp ? set_bounds(*gp, limits) : GO_ON;
        if (bounded != GO_ON) {
            free(w.iteration);
            return bounded;
        }
        status = *gp ? fit(&w, *gp, &shown.fit, e) : ct_last_status(ct_tensor_device(X));
    } else {
        status = choose(&w, X, y, options, &shown, gp, e);
    }
    free(w.iteration);
    return conclude(&w, status, ct_tensor_device(X), *gp && e->iterations, most);
}

int train_outputs(ct_tensor *X, ct_tensor *Y, ct_kernel *kernel, const bounds *limits,
                  const ct_outputs_options *options, const ct_fit_options *how, patience most, ct_outputs **o,
                  effort *e)
{
    watch w = start_watch(how, most, ct_tensor_dim(X, 0), 1);
    ct_fit_options shown = *how;
    shown.progress = on_step;
    shown.context = &w;
    *e = (effort){ 0 };
    *o = NULL;
    if (!w.iteration) {
        ct_kernel_free(kernel);
        return CODE_MEMORY;
    }
    *o = ct_outputs_new(X, Y, kernel, options);
    ct_gp *whole = ct_outputs_whole(*o);
    int result = whole ? set_bounds(whole, limits) : fail_fit(ct_tensor_device(X));
    if (result == GO_ON) {
        const ct_status status = ct_outputs_fit(*o, &shown);
        const ct_fit_report r = ct_gp_report(whole);
        end_line(&w);
        *e = (effort){
            .iterations = r.iterations, .evaluations = r.evaluations, .starts = w.starts, .seconds = r.seconds
        };
        result = conclude(&w, status, ct_tensor_device(X), e->iterations, most);
    }
    free(w.iteration);
    return result;
}
