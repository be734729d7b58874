/* L-BFGS with bounds by NLopt. LD_LBFGS may give up near rounding (-1); the search then continues from the
 * best point with LD_SLSQP. */
#include <nlopt.h>

#include <string.h>

#include "optimize.h"

typedef struct relay {
    ct__search *search;
    nlopt_opt opt;
    bool stopped;
} relay;

static double objective(unsigned n, const double *x, double *gradient, void *context)
{
    (void)n;
    relay *r = context;
    double f = 0;
    if (r->stopped) return f; /* NLopt may evaluate once more before it stops */
    if (!gradient || r->search->evaluate(r->search->context, x, &f, gradient)) {
        r->stopped = true;
        nlopt_force_stop(r->opt);
    }
    return f;
}

static nlopt_result optimize(nlopt_algorithm algorithm, relay *r)
{
    ct__search *s = r->search;
    r->opt = nlopt_create(algorithm, (unsigned)s->n);
    if (!r->opt) return NLOPT_OUT_OF_MEMORY;
    nlopt_set_min_objective(r->opt, objective, r);
    nlopt_set_lower_bounds(r->opt, s->lower);
    nlopt_set_upper_bounds(r->opt, s->upper);
    nlopt_set_ftol_abs(r->opt, s->flat);
    nlopt_set_maxeval(r->opt, s->max_evaluations);
    double f;
    nlopt_result result = nlopt_optimize(r->opt, s->x, &f);
    nlopt_destroy(r->opt);
    return result;
}

static ct_fit_end run(ct__search *s)
{
    relay r = { .search = s };
    nlopt_result result = optimize(NLOPT_LD_LBFGS, &r);
    if (result < 0 && !r.stopped && result != NLOPT_OUT_OF_MEMORY) {
        memcpy(s->x, s->best, (size_t)s->n * sizeof *s->x);
        result = optimize(NLOPT_LD_SLSQP, &r);
    }
    if (r.stopped) return CT_FIT_STOPPED;
    if (result == NLOPT_OUT_OF_MEMORY) return CT_FIT_FAILED;
    if (result == NLOPT_MAXEVAL_REACHED) return CT_FIT_EVALUATIONS;
    return result < 0 ? CT_FIT_STALLED : CT_FIT_FLAT;
}

static int evaluations(int iterations) { return 2 * iterations + 20; }

const ct__optimizer ct__lbfgs = { .run = run, .iterations = 200, .evaluations = evaluations };
