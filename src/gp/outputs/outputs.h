/* Several outputs: declarations shared by the files of this folder. */
#ifndef CT_GP_OUTPUTS_H
#define CT_GP_OUTPUTS_H

#include <cotangent/outputs.h>

#include "gp/model/model.h"

struct ct_outputs {
    ct_device *device;
    ct_outputs_kind kind;
    int64_t p, d;      /* d: columns of X */
    ct_column *column; /* [p], in one block with their texts */
    double *shift;     /* [p], and scale: [p] after it; output = shift + scale s; SHARED and JOINT */
    double *scale;
    ct_gp *whole;        /* SHARED and JOINT */
    ct_gp **model;       /* [p], owned; with SHARED and JOINT NULL until requested */
    const ct_tensor *of; /* the whole's factor from which these were made */
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
/* Drops the models that were made from the whole. */
void ct__outputs_changed(ct_outputs *o);
/* Also replaces the whole. */
void ct__outputs_replace(ct_outputs *o, ct_gp *whole);
/* A copy of the whole as the model of output j. */
ct_gp *ct__outputs_extract(const ct_outputs *o, int64_t j);

/* -- joint.c --------------------------------------------------------------------------------------------- */

/* Makes the whole, of pairs (x, output), from standardised answers. Takes ownership of the kernel. */
ct_status ct__joint_make(ct_outputs *o, const ct_tensor *X, const ct__answers *a, ct_kernel *kernel,
                         const ct_outputs_options *options, ct_gp_options model);
ct_status ct__joint_append(ct_outputs *o, const ct_tensor *X, const ct__answers *a);
/* Mean (m p) and covariance (m p, m p) in the units of the outputs. */
ct_status ct__joint_predict(ct_outputs *o, const ct_tensor *Xs, bool noisy, int64_t m, double *mean,
                            double *C);

/* -- table.c --------------------------------------------------------------------------------------------- */

/* Reads Y, (n, p) or with p = 1 (n), whose values are finite, or with `missing` NaN. */
ct_status ct__answers_read(ct_device *device, const ct_tensor *Y, int64_t n, int64_t p, bool missing,
                           const char *what, ct__answers *a);
/* Sets o->shift and o->scale, and standardises the values. CT_EINVAL for an output without two values. */
ct_status ct__answers_standardize(ct_outputs *o, ct__answers *a);
/* Σ log scale over all values present. */
double ct__answers_log_units(const ct_outputs *o, const ct__answers *a);
/* Standardises the values by the present shift and scale. */
void ct__answers_scale(const ct_outputs *o, ct__answers *a);
/* The rows with a value of output j: their indices, *count of them; NULL with the reason on the device. */
int64_t *ct__answers_rows(ct_device *device, const ct__answers *a, int64_t j, int64_t *count);
/* part[3] = those rows of X, of column j and of the given noise (may be NULL). */
ct_status ct__answers_take(ct_device *device, const ct__answers *a, int64_t j, const ct_tensor *X,
                           const ct_tensor *noise, ct_tensor *part[3]);

#endif
