/* ctgp fit: its progress on standard error. A terminal has one line, which is rewritten; elsewhere there is
 * none. With --verbose every iteration has a line of its own. */
#include "progress.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "context.h"
#include "season.h"
#include "text.h"

/* -- signals and time ------------------------------------------------------------------------------------ */

/* mpirun passes SIGUSR1 on and waits; after SIGTERM it kills its processes. */
static const int stops[] = { SIGINT, SIGTERM, SIGUSR1 };
static volatile sig_atomic_t interrupted;

/* Catches the first signal only; the next one ends the program. */
static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) signal(stops[i], SIG_DFL);
}

static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = SA_RESTART }, before;
    for (size_t i = 0; i < sizeof stops / sizeof *stops && !interrupted; i++)
        if (!sigaction(stops[i], NULL, &before) && before.sa_handler != SIG_IGN)
            sigaction(stops[i], &action, NULL);
}

bool watch_stopped(void) { return interrupted; }

void watch_over(void)
{
    struct sigaction at;
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (!sigaction(stops[i], NULL, &at) && at.sa_handler == on_interrupt) signal(stops[i], SIG_DFL);
}

/* Seconds of a clock that nobody sets. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* -- the choice of a covariance -------------------------------------------------------------------------- */

void watch_end_line(watch *w)
{
    if (w->shown) fputc('\n', stderr);
    w->shown = false;
}

/* Before the first search of these rows: the seasons, and the candidates that are not tried. */
static void print_candidates(watch *w)
{
    if (w->rows == w->choice->rows) return;
    watch_end_line(w);
    if (!w->rows && w->choice->season_column >= 0)
        print_seasons(w->choice->season, w->choice->seasons, &w->inputs[w->choice->season_column],
                      w->season_asked);
    w->rows = w->choice->rows;
    memset(w->compared, 0, sizeof w->compared);
    if (w->rows < w->n) note("the covariance is chosen on %lld of the rows", (long long)w->rows);
    for (int k = 0; k < w->choice->count; k++) {
        const ct_gp_tried *t = &w->choice->tried[k];
        if (t->too_few_rows && !t->from)
            note("%s: left out, %lld rows are too few for its parameters", t->kernel, (long long)w->rows);
    }
}

static const char *where_from(const ct_gp_tried *t) { return t->from ? ", from there" : ""; }

void watch_criteria(watch *w)
{
    const char *what = w->s->fit.objective == CT_OBJECTIVE_LOO ? "AICc, leave-one-out" : "AICc";
    for (int k = 0; k < w->choice->count && w->s->progress != PROGRESS_NONE; k++) {
        const ct_gp_tried *t = &w->choice->tried[k];
        if (w->compared[k] || !isfinite(t->criterion)) continue;
        watch_end_line(w);
        note("%s%s: %s %.2f", t->kernel, where_from(t), what, t->criterion);
        w->compared[k] = true;
    }
}

/* -- how long it takes ----------------------------------------------------------------------------------- */

/* A search by L-BFGS seldom takes more evaluations. A fit of fewer seconds has no estimate. */
enum { USUAL = 60, LONG = 10 };

static int usual_evaluations(const ct_fit_options *how)
{
    if (how->optimizer == CT_OPTIMIZER_ADAM) return how->max_iterations ? how->max_iterations : 1000;
    return how->max_iterations && how->max_iterations < USUAL ? how->max_iterations : USUAL;
}

/* From the time of the first evaluation. A choice on some of the rows ends with a search on all of them, an
 * evaluation of which takes longer by the cube of the rows. */
static void estimate(watch *w, const ct_fit_progress *p)
{
    const double rows = w->choice ? (double)w->choice->rows : (double)w->n, growth = (double)w->n / rows;
    const int usual = usual_evaluations(&w->s->fit);
    double searches = w->choice ? w->choice->count : 1; /* of all starts, on the rows of the choice */
    if (growth > 1) searches += growth * growth * growth;
    const double seconds = searches * w->asked * usual * p->seconds;
    w->estimated = true;
    if (p->logged || seconds < LONG) return;
    const double unit = seconds < 120 ? 1 : seconds < 7200 ? 60 : 3600; /* 95 s, 12 min, 3.5 h */
    watch_end_line(w);
    note("an evaluation takes %.2g s: the fit some %.*f %s, for %d evaluations of each search", p->seconds,
         unit == 3600, seconds / unit,
         unit == 1    ? "s"
         : unit == 60 ? "min"
                      : "h",
         usual);
}

/* The next evaluation, the factor and the calibration, in evaluations. */
#define LATER 2.5

/* -- the callback ---------------------------------------------------------------------------------------- */

static void show_iteration(watch *w, const ct_fit_progress *p, const ct_gp_tried *t)
{
    int *last = &w->iteration[p->model * w->starts + p->start];
    const bool each = w->s->progress == PROGRESS_EACH;
    if (each ? *last != p->iteration + 1 : isatty(STDERR_FILENO)) {
        fputs(each ? "" : "\r\033[K", stderr);
        if (t) say(stderr, "%s%s:  ", t->kernel, where_from(t));
        if (p->starts > 1) say(stderr, "start %d/%d  ", p->start + 1, p->starts);
        say(stderr, "iteration %d  objective %.6g  gradient %.2g  %.1f s", p->iteration, p->best,
            p->gradient_norm, p->seconds);
        fputs(each ? "\n" : "", stderr);
        fflush(stderr);
        w->shown = !each;
    }
    *last = p->iteration + 1;
}

static void show_step(watch *w, const ct_fit_progress *p)
{
    const ct_gp_tried *t = w->choice && p->model < w->choice->count ? &w->choice->tried[p->model] : NULL;
    if (w->checkpoint && p->logged) note("goes on from %s with %d evaluations", w->checkpoint, p->logged);
    w->checkpoint = NULL;
    if (!w->estimated) estimate(w, p);
    if (w->choice) print_candidates(w);
    if (w->choice) watch_criteria(w);
    show_iteration(w, p, t);
}

static int on_step(void *context, const ct_fit_progress *p)
{
    watch *w = context;
    const bool kept = p->iteration > 0 || !p->evaluation; /* there is a model to keep */
    if (w->s->progress != PROGRESS_NONE && p->evaluation) show_step(w, p);
    if (w->end && now() + LATER * p->ahead >= w->end && kept && !w->late)
        w->late = p->evaluation ? "are over" : "leave no time for all rows";
    return interrupted || w->late;
}

void watch_begin(ctgp *c, watch *w, const settings *s, ct_fit_options *how, const ct_tensor *X, int models)
{
    const int asked = how->restarts > 0 ? 1 + how->restarts : 1,
              starts = how->restarts ? asked : 1 + CT_FIT_RESTARTS;
    *w = (watch){ .s = s,
                  .end = s->time_limit ? now() + (double)s->time_limit : 0,
                  .checkpoint = how->checkpoint,
                  .n = ct_tensor_dim(X, 0),
                  .asked = asked,
                  .starts = starts,
                  .iteration = take(c, (int64_t)models * starts, sizeof *w->iteration, "starts") };
    how->progress = on_step;
    how->context = w;
    catch_signals();
}
