/* Numbers on the host, and tensors of them. */
#ifndef CT_GP_NUMBERS_H
#define CT_GP_NUMBERS_H

#include <cotangent/tensor.h>

/* count * size bytes, zeroed; NULL with CT_ENOMEM on the device. Free with free. */
void *ct__gp_alloc(ct_device *device, uint64_t count, size_t size);
/* Allocates `count` arrays of n zeros in one block, which is freed with the first array. */
ct_status ct__gp_arrays(ct_device *device, uint64_t n, double **const array[], int count);

/* The elements of a tensor as doubles, row-major: into `out`; or from malloc, NULL with the reason on the
 * device. */
ct_status ct__gp_read(const ct_tensor *t, double *out);
double *ct__gp_doubles(const ct_tensor *t);
/* A column of a matrix, in the same way. */
double *ct__gp_column(const ct_tensor *t, int64_t column);
/* ct__gp_read, and releases t. CT_ENOMEM if t is NULL. */
ct_status ct__gp_unload(ct_tensor *t, double *out);
/* A tensor of these numbers; NULL with the reason on the device, or if x is NULL. */
ct_tensor *ct__gp_tensor(ct_device *device, ct_dtype dtype, ct_shape shape, const double *x);

/* t itself, retained, on its own device; on another a view of its elements. NULL for NULL. */
ct_tensor *ct__tensor_on(ct_device *device, ct_tensor *t);

/* The order of doubles, for qsort and bsearch. */
int ct__rising(const void *a, const void *b);

#endif
