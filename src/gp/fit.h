/* A fit of one model: what its starts share. They may run on several threads, each with a twin of the
 * model. */
#ifndef CT_GP_FIT_H
#define CT_GP_FIT_H

#include <pthread.h>

#include "gp/model/model.h"

/* One start at a time passes: through the progress callback, and into the results. */
typedef struct ct__gate {
    pthread_mutex_t lock;
    bool stopped; /* the callback wants to stop */
} ct__gate;

/* Arrays over all parameters are in z coordinates. Written while the starts run, behind the gate: from
 * `report` on. */
typedef struct ct__fit {
    ct_gp *gp;
    const ct_fit_options *options;
    ct__gate *gate;
    int index;                     /* of the model in its list */
    double tolerance, flat, begun; /* flat: a change of the objective that does not matter */
    int max_iterations, n_free;
    int64_t *free_index;   /* [n_free] */
    double *before;        /* the values that the model came with */
    double *first;         /* where the first start begins                       */
    double *lower, *upper; /* [n_free] */
    ct_fit_report report;
    double *winner; /* the best point of all starts */
    ct_status status;
    int failed_start; /* the first start with an error, and its message */
    char message[512];
} ct__fit;

/* Seconds since some time. */
double ct__now(void);
/* Start `index` on gp, which is the fit's model or its twin. */
void ct__fit_run_start(ct__fit *f, ct_gp *gp, int index);
/* Keeps an error, or with CT_OK only its message, unless one of an earlier start is kept. Behind the gate. */
void ct__fit_fail(ct__fit *f, int index, ct_status status, const char *message);

#endif
