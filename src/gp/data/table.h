/* A table of the caller's numbers, checked and standardised. */
#ifndef CT_GP_TABLE_H
#define CT_GP_TABLE_H

#include <cotangent/cov_program.h>
#include <cotangent/tensor.h>

/* The units of a table's columns: x = shift + scale s. */
typedef struct ct__units {
    double *shift, *scale;
    /* NULL: shift and scale are given. Else the table sets them: `spread` becomes the standard deviations of
     * its columns, and shift and scale their means and standard deviations, or 0 and 1 without `standardize`
     * and for columns of codes, which `codes` reads (NULL: the table is one column without a number). */
    double *spread;
    bool standardize;
    const ct_cov_program *codes;
} ct__units;

/* (t - shift) / scale by column, of shape (rows, cols) or (rows). The numbers must be finite. Those of a
 * vector, which is always given noise, must not be negative. NULL with the reason on the device; the message
 * begins with `what`. */
ct_tensor *ct__table(ct_device *device, ct_dtype dtype, const ct_tensor *t, ct_shape shape, const char *what,
                     ct__units units);
/* Fails unless X is (n, d) and y (n) or (n, 1), both f64 or f32 on the device; the message begins with
 * `who`. */
ct_status ct__check_data(ct_device *device, const ct_tensor *X, const ct_tensor *y, const char *who);
/* Mean and standard deviation (1 where it is 0) of a column x[0], x[stride], ... */
void ct__gp_column_moments(const double *x, int64_t n, int64_t stride, double *mean, double *deviation);
/* CT_EINVAL if a standard deviation is too large or too small to be squared. The message names the column
 * unless it is negative. */
ct_status ct__check_spread(ct_device *device, double deviation, const char *what, int64_t column);

#endif
