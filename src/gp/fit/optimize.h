/* The optimisers. */
#ifndef CT_GP_OPTIMIZE_H
#define CT_GP_OPTIMIZE_H

#include <cotangent/gp/fit.h>

typedef struct ct__search {
    int n, max_evaluations;
    double *x; /* in: the start, inside the bounds; out: the last point tried */
    const double *lower, *upper;
    double flat, learning_rate; /* stop when a step changes the objective by less; for Adam */
    /* Sets *f (finite) and g[n], and keeps the best point. A nonzero value stops the search. */
    int (*evaluate)(void *context, const double *x, double *f, double *g);
    /* Copies the best point so far into x. */
    void (*best)(void *context, double *x);
    void *context;
} ct__search;

/* They return CT_FIT_FLAT, CT_FIT_STALLED or CT_FIT_EVALUATIONS; CT_FIT_STOPPED if evaluate asked to stop,
 * CT_FIT_FAILED if memory ran out. L-BFGS is optimize_nlopt.c, or without NLopt optimize_nonlopt.c. */
extern const bool ct__has_lbfgs;
ct_fit_end ct__search_lbfgs(ct__search *s);
ct_fit_end ct__search_adam(ct__search *s);

#endif
