/* The table of several outputs: its missing values and its scales. */
#ifndef CT_GP_ANSWERS_H
#define CT_GP_ANSWERS_H

#include "outputs.h"

/* Y (n, p) on the host, with NaN where a value is missing. */
typedef struct ct__answers {
    int64_t n, p;
    double *y; /* [n p], row by row */
} ct__answers;

/* Reads Y, (n, p) or with p = 1 (n), whose values are finite, or with `missing` NaN. */
ct_status ct__answers_read(ct_device *device, const ct_tensor *Y, int64_t n, int64_t p, bool missing,
                           const char *what, ct__answers *a);
/* Sets o->shift and o->scale, and standardises the values. CT_EINVAL for an output without two values. */
ct_status ct__answers_standardize(ct_outputs *o, ct__answers *a);
/* Standardises the values by the present shift and scale. */
void ct__answers_scale(const ct_outputs *o, ct__answers *a);
/* rows = X (count, d), y (count) and the given noise (count), which may be NULL, of the rows with a value of
 * output j. */
ct_status ct__answers_rows(ct_device *device, const ct__answers *a, int64_t j, const ct_tensor *X,
                           const ct_tensor *noise, ct_tensor *rows[3]);

#endif
