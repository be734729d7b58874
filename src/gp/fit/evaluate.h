/* The objective of one start as the optimiser, the callback and the checkpoint see it. */
#ifndef CT_GP_EVALUATE_H
#define CT_GP_EVALUATE_H

#include <pthread.h>

#include "checkpoint.h"
#include "optimize.h"

/* Lock for callback, checkpoint and shared results. */
typedef struct ct__fit_lock {
    pthread_mutex_t mutex;
    bool stopped;               /* the callback asked to stop */
    ct__checkpoint *checkpoint; /* NULL: none */
} ct__fit_lock;

/* Arrays over all parameters are in z coordinates. Starts write the members from `report` on, while holding
 * the lock. */
typedef struct ct__fit {
    ct_gp *gp;
    const ct_fit_options *options;
    const ct__likelihood *by;
    const ct__optimizer *optimizer;
    ct__fit_lock *lock;
    bool beside;                       /* its starts run in parallel */
    double tolerance, flat, begun;     /* flat: a change of the objective that is negligible */
    int index, max_iterations, n_free; /* index: of the model in its list */
    uint64_t print;                    /* the model's fingerprint, for a checkpoint */
    double *before, *first;            /* the values before the fit; the first start's initial point */
    double *lower, *upper;             /* equal for a fixed parameter */
    ct_fit_report report;
    double *winner; /* the best point of all starts */
    ct_status status;
    int failed_start; /* the first start with an error, and its message; -1: none */
    char message[512];
} ct__fit;

/* Arrays over all parameters are in z coordinates. */
typedef struct ct__start {
    ct__fit *fit;
    ct_gp *gp;            /* the model of the fit, or its clone on another device */
    int index, idle;      /* idle: evaluations in a row that changed the objective by no more than rounding */
    ct_fit_report report; /* of this start alone */
    ct_status status;
    ct__evaluation at;    /* the present point */
    int64_t logged;       /* the last record found in the checkpoint */
    bool stopped;         /* the caller asked this start, or another, to stop */
    bool known;           /* the search has not asked yet for its first point, which is the best */
    double took;          /* seconds of the last evaluation */
    int begun;            /* evaluations before the search's second; INT_MAX until it begins */
    double *v, *best, *x; /* the present point in v; the best point; that of the search */
    double *lowest;       /* the numbers of the best point */
} ct__start;

/* Seconds since an arbitrary time. */
double ct__now(void);
/* Ends the search. An error or a request to stop ends the whole fit; without a point there is no model. */
int ct__start_end(ct__start *t, ct_fit_end end, ct_status status);
/* ct__search's evaluate; context: the start. */
int ct__start_evaluate(void *context, const double *x, double *value, double *g);

#endif
