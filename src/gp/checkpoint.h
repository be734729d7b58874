/* The checkpoint of a fit: a file of its evaluations, from which the same fit goes on. */
#ifndef CT_GP_CHECKPOINT_H
#define CT_GP_CHECKPOINT_H

#include "gp/model/model.h"
#include "tensor/io/file.h"

/* One evaluation. Its key are the members up to z. */
typedef struct ct__evaluation {
    uint64_t model; /* ct__gp_fingerprint */
    int start, number;
    int64_t n;
    double *z;                   /* [n] */
    bool failed;                 /* CT_ENUMERIC; what follows has no meaning then */
    double value, jitter, error; /* as of ct__gp_evaluate; of mixed precision */
    double *gradient;            /* [n] */
    unsigned char *record;       /* [size] of the checkpoint, zeroed by the caller before the first use */
} ct__evaluation;

typedef struct ct__checkpoint {
    ct__output file;
    ct_bytes before;     /* the file as it was found */
    unsigned char *good; /* [count * size], its records, borrowed from `before` */
    int64_t count;
    size_t key, size;  /* bytes of a record's key, and of all of it */
    double synced;     /* when the file was last brought to the disk */
    char message[512]; /* of the first failure to add */
} ct__checkpoint;

/* Opens the file for a fit of these models, or makes it. `print` stands for what else the fit depends on.
 * Refuses a file of another fit, and leaves it as it is. Without failure, end with ct__checkpoint_close. */
ct_status ct__checkpoint_open(ct__checkpoint **c, const char *path, ct_gp *const *models, int64_t count,
                              const ct_fit_options *options, uint64_t print);
/* Whether the file had an evaluation of this key: its results. *at, from 0, is where it was, and where the
 * next is looked for first. */
bool ct__checkpoint_find(const ct__checkpoint *c, int64_t *at, ct__evaluation *e);
/* Adds it to the file; `now` in seconds. One at a time. The first failure stays, its message on `device`. */
ct_status ct__checkpoint_add(ct__checkpoint *c, ct_device *device, ct__evaluation *e, double now);
void ct__checkpoint_close(ct__checkpoint *c);

#endif
