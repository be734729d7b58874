/* The optimisers. */
#ifndef CT_GP_OPTIMIZE_H
#define CT_GP_OPTIMIZE_H

#include <cotangent/gp/fit.h>

typedef struct ct__search {
    int n, max_evaluations;
    double *x;                   /* in: the start, inside the bounds; out: the last point tried */
    const double *lower, *upper; /* equal where x is fixed */
    double flat, learning_rate;  /* stop when a step changes the objective by less; for Adam */
    /* Sets *f (finite) and g[n], and keeps the best point. A nonzero value stops the search. */
    int (*evaluate)(void *context, const double *x, double *f, double *g);
    const double *best; /* [n], where evaluate keeps the best point */
    void *context;
} ct__search;

typedef struct ct__optimizer {
    /* Returns CT_FIT_FLAT, CT_FIT_STALLED or CT_FIT_EVALUATIONS; CT_FIT_STOPPED if evaluate asked to stop,
     * CT_FIT_FAILED if memory ran out. */
    ct_fit_end (*run)(ct__search *s);
    int iterations;                     /* the default of the options */
    int (*evaluations)(int iterations); /* the most for so many iterations */
    bool counts_all;                    /* each evaluation is an iteration, not only those that are lower */
} ct__optimizer;

/* L-BFGS is optimize_nlopt.c, or without NLopt, without `run`, optimize_nonlopt.c. */
extern const ct__optimizer ct__adam, ct__lbfgs;

#endif
