/* State shared by the starts of one model's fit. The starts may run on several threads, each with a twin of
 * the model. */
#ifndef CT_GP_FIT_H
#define CT_GP_FIT_H

#include <pthread.h>

#include "checkpoint.h"

/* Admits one start at a time: to the progress callback, to the checkpoint, and to the shared results. */
typedef struct ct__gate {
    pthread_mutex_t lock;
    bool stopped;               /* the callback asked to stop */
    ct__checkpoint *checkpoint; /* NULL: none */
} ct__gate;

/* Arrays over all parameters are in z coordinates. Starts write the members from `report` on, while holding
 * the gate. */
typedef struct ct__fit {
    ct_gp *gp;
    const ct_fit_options *options;
    ct__gate *gate;
    bool beside;                       /* its starts run in parallel */
    double tolerance, flat, begun;     /* flat: a change of the objective that is negligible */
    int index, max_iterations, n_free; /* index: of the model in its list */
    uint64_t print;                    /* the model's fingerprint, for a checkpoint */
    int64_t *free_index;               /* [n_free] */
    double *before, *first;            /* the values before the fit; the first start's initial point */
    double *lower, *upper;             /* [n_free] */
    ct_fit_report report;
    double *winner; /* the best point of all starts */
    ct_status status;
    int failed_start; /* the first start with an error, and its message; -1: none */
    char message[512];
} ct__fit;

/* ct_gp_fit_many with an open checkpoint; NULL: that of options->checkpoint, if any. */
ct_status ct__fit_many(ct_gp *const *models, int64_t count, const ct_fit_options *options, ct_status *status,
                       ct__checkpoint *checkpoint);
/* Checks the options of a choice by `rows` rows, and lists the candidates in choice->tried. */
ct_status ct__candidates(const ct_tensor *X, const ct_tensor *y, const ct_gp_options *model,
                         const ct_gp_choose_options *how, int64_t rows, ct_gp_choice *choice);
/* Seconds since an arbitrary time. */
double ct__now(void);
/* Runs start `index` on gp, the fit's model or its twin. */
void ct__fit_run_start(ct__fit *f, ct_gp *gp, int index);
/* Keeps an error, or with CT_OK only its message, unless one of an earlier start is kept. Called with the
 * gate held. */
void ct__fit_fail(ct__fit *f, int index, ct_status status, const char *message);

#endif
