/* Presents a joint model, of pairs (x, output), as one output's model: callers see only the rows of this
 * output, and the columns of X before the last, which is the output's code. */
#ifndef CT_GP_LENS_H
#define CT_GP_LENS_H

#include <stdint.h>

#include <cotangent/tensor.h>

typedef struct ct__lens {
    int64_t code, n, row[]; /* [n], ascending */
} ct__lens;

/* The lens for the rows whose level, in `levels` (n), is `code`; NULL with the reason on the device. */
ct__lens *ct__lens_new(const ct_tensor *levels, int64_t code);
/* The index of row i for callers; -1: hidden. Without a lens (NULL) all rows are seen. */
int64_t ct__lens_row(const ct__lens *lens, int64_t i);
/* Moves the rows of x (n, cols) that callers see to the front. */
void ct__lens_pick(const ct__lens *lens, double *x, int64_t cols);
/* Refuses a model with a lens. */
ct_status ct__lens_refuse(ct_device *device, const char *who, const char *remedy);

#endif
