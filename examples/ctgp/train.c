/* Fitting a model with its progress on stderr; where no covariance is asked for, the choice of one and its variance. */
#include "ctgp.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- progress -- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

typedef struct watch {
    bool terminal, shown;
    const char *const *name; /* of each model; NULL: there is one */
    int *iteration;          /* [models][starts] last shown, plus 1: the starts may take turns */
} watch;

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

/* Fits `count` models, whose failures are in status[], and adds to the effort. CODE_MEMORY or GO_ON. */
static int fit_shown(ct_gp *const *gp, int count, const char *const *name, const ct_fit_options *how,
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
    /* The second Ctrl-C ends the program. */
    struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND };
    if (!interrupted) sigaction(SIGINT, &action, NULL);
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
    return GO_ON;
}

/* -- the choice --
 *
 * A rough part, or a smooth one beside it: the larger model is fitted from its usual start and from the smaller one's
 * end, and the lower
 *     AIC = 2 (objective + free parameters)                                                          [Akaike 1974]
 * wins, so that a part that only follows the noise is left out. The leave-one-out density needs no such penalty: it is
 * one of rows that were not seen, which is what AIC estimates [Stone 1977]. */

#define ROUGH "scale * matern32(ard)"
#define BOTH  ROUGH " + scale * rbf(ard)"

enum { NEW_PART = 10 }; /* the second part begins at so small a fraction of the first one's variance */

static double criterion(const ct_gp *gp, ct_fit_objective objective)
{
    double k = 0;
    for (int64_t i = 0; i < ct_gp_params(gp) && objective == CT_OBJECTIVE_LIKELIHOOD; i++)
        k += !ct_gp_param(gp, i)->fixed;
    return 2 * (ct_gp_report(gp).objective + k);
}

static ct_status set_value(ct_gp *gp, int64_t i, double value)
{
    if (i < 0) return CT_EINVAL;
    ct_param p = *ct_gp_param(gp, i);
    p.value = value < p.lower ? p.lower : value > p.upper ? p.upper : value;
    return ct_gp_set_param(gp, i, &p);
}

/* BOTH where ROUGH has ended, the new part beside it small. */
static ct_status begin_from(ct_gp *both, const ct_gp *rough)
{
    ct_status status = CT_OK;
    for (int64_t i = 0; i < ct_gp_params(rough) && !status; i++) {
        const ct_param *p = ct_gp_param(rough, i);
        status = set_value(both, ct_gp_find(both, p->name), p->value);
    }
    if (status) return status;
    const ct_param *first = ct_gp_param(rough, ct_gp_find(rough, "scale.variance"));
    return set_value(both, ct_gp_find(both, "scale#2.variance"), first->value / NEW_PART);
}

static int choose(const ct_tensor *X, const ct_tensor *y, const ct_gp_options *options,
                  const ct_fit_options *how, ct_gp **chosen, effort *e)
{
    enum { FRESH, SMALLER, FROM_SMALLER, N_MODELS };
    static const char *const text[] = { BOTH, ROUGH, BOTH };
    static const char *const name[] = { BOTH, ROUGH, BOTH ", from there" };
    ct_gp *gp[N_MODELS] = { 0 };
    ct_status status[N_MODELS] = { CT_ENOMEM, CT_ENOMEM, CT_ENOMEM };
    int result = GO_ON, best = -1;
    for (int k = FRESH; k <= SMALLER; k++) gp[k] = ct_gp_new(X, y, ct_kernel_parse(text[k]), options);
    if (gp[FRESH]) result = fit_shown(gp, gp[SMALLER] ? 2 : 1, name, how, status, e);
    if (result == GO_ON && !status[SMALLER] && !interrupted) {
        ct_fit_options once = *how;
        once.restarts = 0;
        gp[FROM_SMALLER] = ct_gp_new(X, y, ct_kernel_parse(BOTH), options);
        if (gp[FROM_SMALLER] && !begin_from(gp[FROM_SMALLER], gp[SMALLER]))
            result = fit_shown(&gp[FROM_SMALLER], 1, &name[FROM_SMALLER], &once, &status[FROM_SMALLER], e);
    }
    for (int k = 0; k < N_MODELS && result == GO_ON; k++) {
        if (!gp[k] || (status[k] && status[k] != CT_ESTOPPED)) continue;
        double value = criterion(gp[k], how->objective);
        if (isfinite(value)) fprintf(stderr, "ctgp: %s: AIC %.2f\n", name[k], value);
        if (best < 0 || value < criterion(gp[best], how->objective)) best = k;
    }
    if (result == GO_ON && best < 0) result = fail_device(ct_tensor_device(X), NULL);
    for (int k = 0; k < N_MODELS; k++)
        if (k != best) ct_gp_free(gp[k]);
    *chosen = best < 0 ? NULL : gp[best];
    return result;
}

/* -- its variance --
 *
 * A likelihood that a wrong covariance has won can be too sure of itself, as the leave-one-out residuals tell. With means
 * m_i, variances v_i and densities p_i of every y_i given all other rows,
 *     c = 1/n Σ_i (y_i - m_i)²/v_i = -1/n Σ_i (2 log p_i + log 2πv_i)
 * where that is above 1 every variance is multiplied by it, the best factor for these residuals. No predicted mean changes.
 * [Rasmussen & Williams 2006, §5.4.2; Bachoc 2013] */

static ct_status residuals(ct_gp *gp, double *c)
{
    ct_device *device = ct_gp_device(gp);
    int64_t n = ct_gp_points(gp);
    size_t bytes = (size_t)n * sizeof(double);
    ct_tensor *variance = ct_empty(device, CT_F64, ct_shape1(n)),
              *density = ct_empty(device, CT_F64, ct_shape1(n));
    double *v = malloc(2 * bytes), *log_p = v ? v + n : NULL;
    ct_status s = v && variance && density ? ct_gp_loo(gp, NULL, variance, density) : CT_ENOMEM;
    if (!s) s = ct_read(variance, v, bytes);
    if (!s) s = ct_read(density, log_p, bytes);
    *c = 0;
    for (int64_t i = 0; i < n && !s; i++) *c -= (2 * log_p[i] + log(2 * acos(-1) * v[i])) / (double)n;
    ct_release(variance);
    ct_release(density);
    free(v);
    return s;
}

static void widen(ct_gp *gp)
{
    static const char *const name[] = { "scale.variance", "scale#2.variance", "noise.variance" };
    double c;
    if (residuals(gp, &c) || !(c > 1.01 && isfinite(c))) return; /* less would not be seen */
    for (int k = 0; k < 3; k++) {
        int64_t i = ct_gp_find(gp, name[k]);
        if (i >= 0) set_value(gp, i, c * ct_gp_param(gp, i)->value);
    }
    fprintf(stderr,
            "ctgp: all variances times %.4g, the mean square of the standardised leave-one-out residuals\n",
            c);
}

/* -- one or the other -- */

int train(const ct_tensor *X, const ct_tensor *y, ct_kernel *kernel, const ct_gp_options *options,
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
    } else {
        result = choose(X, y, options, how, gp, e);
        if (result == GO_ON && !interrupted) widen(*gp);
    }
    if (result == GO_ON && interrupted) fprintf(stderr, "ctgp: stopped; the best model so far is kept\n");
    return result;
}
