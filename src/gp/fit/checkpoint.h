/* The checkpoint of a fit: a file of its evaluations, from which the same fit continues. */
#ifndef CT_GP_CHECKPOINT_H
#define CT_GP_CHECKPOINT_H

#include <cotangent/gp/fit.h>
#include <cotangent/io.h>

/* One evaluation. The members up to z are its key. */
typedef struct ct__evaluation {
    uint64_t model; /* ct__gp_fingerprint */
    int start, number;
    int64_t n;
    double *z;                   /* [n] */
    bool failed;                 /* CT_ENUMERIC; the following members are then meaningless */
    double value, jitter, error; /* as of ct__gp_evaluate; of mixed precision */
    double *gradient;            /* [n] */
    unsigned char *record;       /* [size] of the checkpoint, zeroed by the caller before the first use */
} ct__evaluation;

typedef struct ct__checkpoint {
    ct_device *device;
    ct_append_file *file;
    ct_bytes before;     /* the file as it was found */
    unsigned char *good; /* [count * size], its records, borrowed from `before` */
    int64_t count;
    size_t key, size;  /* bytes of a record's key, and of all of it */
    char message[512]; /* of the first failure to add */
} ct__checkpoint;

/* Opens or creates the file for a fit of these models. `print` represents whatever else the fit depends on. A
 * file of another fit is refused and left unchanged. After success, end with ct__checkpoint_close. */
ct_status ct__checkpoint_open(ct__checkpoint **c, const char *path, ct_gp *const *models, int64_t count,
                              const ct_fit_options *options, uint64_t print);
/* Finds the evaluation with this key in the file and stores its results; false if there is none. The
 * search begins at *at, which becomes the position found. */
bool ct__checkpoint_find(const ct__checkpoint *c, int64_t *at, ct__evaluation *e);
/* Adds the evaluation to the file; calls must not overlap. The first failure is kept, its message on
 * `device`. */
ct_status ct__checkpoint_add(ct__checkpoint *c, ct_device *device, ct__evaluation *e);
void ct__checkpoint_close(ct__checkpoint *c);

#endif
