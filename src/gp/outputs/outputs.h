/* Several outputs: what the files of this folder share. */
#ifndef CT_GP_OUTPUTS_H
#define CT_GP_OUTPUTS_H

#include <cotangent/outputs.h>

#include "gp/model/model.h"

struct ct_outputs {
    ct_device *device;
    ct_outputs_kind kind;
    int64_t p, d;      /* d: columns of X */
    ct_column *column; /* [p], in one block with their texts */
    double *shift;     /* [p]: what a standardised output was less; then scale[p]; SHARED and JOINT */
    double *scale;
    ct_gp *whole;        /* of SHARED and JOINT */
    ct_gp **model;       /* [p], owned; of SHARED and JOINT NULL until asked for */
    const ct_tensor *of; /* the whole's factor that these were made from */
};

/* Y (n, p) on the host, with NaN where a value is missing. */
typedef struct ct__answers {
    int64_t n, p;
    double *y; /* [n p], row by row */
} ct__answers;

/* -- outputs.c ------------------------------------------------------------------------------------------- */

/* Outputs without models; `columns` NULL: y0, y1, .... NULL with the reason on the device. */
ct_outputs *ct__outputs_blank(ct_device *device, ct_outputs_kind kind, int64_t p, int64_t d,
                              const ct_column *columns);
/* The models that were made from the whole are gone. */
void ct__outputs_changed(ct_outputs *o);
/* So is the whole, in whose place comes another one. */
void ct__outputs_replace(ct_outputs *o, ct_gp *whole);
/* A copy of the whole for output j. */
ct_gp *ct__outputs_extract(const ct_outputs *o, int64_t j);

/* -- joint.c --------------------------------------------------------------------------------------------- */

/* Makes the whole of pairs (x, output), for standardised answers. Takes the kernel over. */
ct_status ct__joint_make(ct_outputs *o, const ct_tensor *X, const ct__answers *a, ct_kernel *kernel,
                         const ct_outputs_options *options, ct_gp_options model);
ct_status ct__joint_append(ct_outputs *o, const ct_tensor *X, const ct__answers *a);
/* Mean (m p) and covariance (m p, m p) in the units of the outputs. */
ct_status ct__joint_predict(ct_outputs *o, const ct_tensor *Xs, bool noisy, int64_t m, double *mean,
                            double *C);

/* -- table.c --------------------------------------------------------------------------------------------- */

/* Reads Y, (n, p) or with p = 1 (n), whose values are finite or NaN. `missing`: whether there may be NaN. */
ct_status ct__answers_read(ct_device *device, const ct_tensor *Y, int64_t n, int64_t p, bool missing,
                           const char *what, ct__answers *a);
/* Sets o->shift and o->scale, and standardises the values. CT_EINVAL for an output without two values. */
ct_status ct__answers_standardize(ct_outputs *o, ct__answers *a);
/* Σ of the logs of the units of the values that are there. */
double ct__answers_log_units(const ct_outputs *o, const ct__answers *a);
/* Standardises the values by the shift and scale that are there. */
void ct__answers_scale(const ct_outputs *o, ct__answers *a);
/* The rows with a value of output j: their indices, *count of them; NULL with the reason on the device. */
int64_t *ct__answers_rows(ct_device *device, const ct__answers *a, int64_t j, int64_t *count);
/* Those rows of X, of column j and of what is given of the noise (may be NULL), into part[3]. */
ct_status ct__answers_take(ct_device *device, const ct__answers *a, int64_t j, const ct_tensor *X,
                           const ct_tensor *noise, ct_tensor *part[3]);

#endif
