/* The rows of a model: the inputs, their units, and what the columns mean. */
#ifndef CT_GP_ROWS_H
#define CT_GP_ROWS_H

#include <cotangent/gp/column.h>
#include <cotangent/tensor.h>

typedef struct ct__data_rows {
    int64_t n, d;
    ct_dtype dtype;
    ct_tensor *X; /* (n, d), standardised: x = shift + scale s */
    /* [d] for the columns of X, in one block; spread: the standard deviation, or 1. */
    double *shift, *scale, *spread;
    ct_column *column; /* [d + 1], owned: the inputs, then the output (columns.h) */
} ct__data_rows;

/* `rows` <= n different rows out of n, ascending: a stratified sample, one from each of equal ranges. NULL
 * with the reason on the device. Free with free. */
int64_t *ct__gp_draw_rows(ct_device *device, int64_t n, int64_t rows, uint64_t seed);
/* Rows row[0] < row[1] < ... of a table of n rows: (rows), or (rows, columns). NULL with the reason on the
 * device. */
ct_tensor *ct__gp_take_rows(const ct_tensor *t, int64_t n, const int64_t *row, int64_t rows);

#endif
