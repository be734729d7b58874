/* Fitting models with their progress on stderr. */
#include "ctgp.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* -- progress -- */

static volatile sig_atomic_t interrupted;

/* Only the first of them: the next ends the program. */
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
    bool terminal, shown;
    const char *const *name; /* of each model; NULL: there is one */
    int *iteration;          /* [models][starts] last shown, plus 1: the starts may take turns */
} watch;

bool fit_interrupted(void) { return interrupted; }

static int on_step(void *context, const ct_fit_progress *p)
{
    watch *w = context;
    int *last = &w->iteration[p->model * p->starts + p->start];
    if (w->terminal || *last != p->iteration + 1) {
        char start[48] = "";
        if (p->starts > 1) snprintf(start, sizeof start, "start %d/%d  ", p->start + 1, p->starts);
        fprintf(stderr, "%s%s%s%siteration %d  objective %.6g  gradient %.2g  %.1f s%s",
                w->terminal ? "\r\033[K" : "", w->name ? w->name[p->model] : "", w->name ? ":  " : "", start,
                p->iteration, p->best, p->gradient_norm, p->seconds, w->terminal ? "" : "\n");
        fflush(stderr);
    }
    w->shown = true;
    *last = p->iteration + 1;
    return interrupted;
}

int fit_shown(ct_gp *const *gp, int count, const char *const *name, const ct_fit_options *how,
              ct_status *status, effort *e)
{
    ct_fit_options options = *how;
    int starts = count * (options.restarts + 1);
    watch w = { .terminal = isatty(STDERR_FILENO),
                .name = name,
                .iteration = calloc((size_t)starts, sizeof *w.iteration) };
    if (!w.iteration) return fail(CODE_MEMORY, "no memory for %d starts", starts);
    options.progress = on_step;
    options.context = &w;
    watch_signals();
    ct_gp_fit_many(gp, count, &options, status);
    if (w.terminal && w.shown) fputc('\n', stderr);
    free(w.iteration);
    double longest = 0;
    for (int k = 0; k < count; k++) {
        ct_fit_report r = ct_gp_report(gp[k]);
        e->iterations += r.iterations;
        e->evaluations += r.evaluations;
        e->starts += options.restarts + 1;
        longest = r.seconds > longest ? r.seconds : longest;
    }
    e->seconds += longest;
    for (int k = 0; k < count; k++)
        if (status[k] == CT_ENOMEM) {
            fail_device(ct_gp_device(gp[k]), NULL);
            return CODE_MEMORY;
        }
    return GO_ON;
}

int train(ct_tensor *X, ct_tensor *y, ct_kernel *kernel, const ct_gp_options *options,
          const ct_fit_options *how, ct_gp **gp, effort *e)
{
    ct_status status = CT_OK;
    int result = GO_ON;
    *e = (effort){ 0 };
    *gp = NULL;
    if (kernel) {
        *gp = ct_gp_new(X, y, kernel, options);
        result = *gp ? fit_shown(gp, 1, NULL, how, &status, e) : fail_device(ct_tensor_device(X), NULL);
        if (result == GO_ON && status && status != CT_ESTOPPED)
            result = fail_device(ct_tensor_device(X), NULL);
        if (result == GO_ON) tell_many_parameters(*gp, how->objective);
    } else {
        result = choose(X, y, options, how, gp, e);
    }
    if (result != GO_ON || !interrupted) return result;
    if (!e->iterations) return fail(CODE_STOPPED, "stopped before the first iteration: no model is written");
    fprintf(stderr, "ctgp: stopped; the best model so far is kept\n");
    return GO_ON;
}
