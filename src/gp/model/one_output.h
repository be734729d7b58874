/* Presents a joint model, of pairs (x, output), as one output's model: callers see only the rows of this
 * output, and the columns of X before the last, which is the output's code. */
#ifndef CT_GP_ONE_OUTPUT_H
#define CT_GP_ONE_OUTPUT_H

#include <stdint.h>

#include <cotangent/tensor.h>

typedef struct ct__one_output {
    int64_t code, n, row[]; /* [n], ascending */
} ct__one_output;

/* The output whose rows have the level `code` in `levels` (n); NULL with the reason on the device. */
ct__one_output *ct__one_output_new(const ct_tensor *levels, int64_t code);
/* The index of row i for callers; -1: hidden. NULL is a model of all rows, which are all seen. */
int64_t ct__one_output_row(const ct__one_output *one, int64_t i);
/* Moves the rows of x (n, cols) that callers see to the front. */
void ct__one_output_pick(const ct__one_output *one, double *x, int64_t cols);
/* Refuses such a model. */
ct_status ct__one_output_refuse(ct_device *device, const char *who, const char *remedy);

#endif
