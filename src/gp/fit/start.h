/* One start of a fit. The starts of a model may run on several threads, each with a clone of the model. */
#ifndef CT_GP_START_H
#define CT_GP_START_H

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

/* Seconds since an arbitrary time. */
double ct__now(void);
/* Runs start `index` on gp, the fit's model or its clone. */
void ct__fit_run_start(ct__fit *f, ct_gp *gp, int index);
/* Records an error, or only its message if CT_OK; the earliest start's wins. Called with the lock held. */
void ct__fit_fail(ct__fit *f, int index, ct_status status, const char *message);

#endif
