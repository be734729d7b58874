/* Some rows of a table: one drawn from each of as many stretches. */
#include <stdlib.h>
#include <string.h>

#include "gp/model/model.h"

/* row[0..rows), which do not fall. */
static ct_status draw(ct_device *device, int64_t n, int64_t rows, uint64_t seed, int64_t *row)
{
    ct_tensor *uniform = ct_rand_uniform(device, CT_F64, ct_shape1(rows), seed, 0);
    double *u = uniform ? ct__gp_doubles(uniform) : NULL;
    ct_release(uniform);
    for (int64_t i = 0; i < rows && u; i++) row[i] = (int64_t)(((double)i + u[i]) * (double)n / (double)rows);
    free(u);
    return u ? CT_OK : ct_last_status(device);
}

/* No row is overwritten before it is read: row[i] >= i. */
static ct_tensor *take(const ct_tensor *t, int64_t n, const int64_t *row, int64_t rows)
{
    int64_t d = ct_tensor_count(t) / n;
    double *x = ct__gp_doubles(t);
    for (int64_t i = 0; i < rows && x; i++) memmove(x + i * d, x + row[i] * d, (size_t)d * sizeof *x);
    ct_tensor *result = ct__gp_tensor(ct_tensor_device(t), ct_tensor_dtype(t), ct_shape2(rows, d), x);
    free(x);
    return result;
}

ct_status ct__gp_draw_rows(const ct_tensor *const table[3], int64_t rows, uint64_t seed, ct_tensor *drawn[3])
{
    ct_device *device = ct_tensor_device(table[0]);
    int64_t n = ct_tensor_dim(table[0], 0), *row = ct__gp_alloc(device, (uint64_t)rows, sizeof *row);
    ct_status s = row ? draw(device, n, rows, seed, row) : CT_ENOMEM;
    for (int k = 0; k < 3 && !s; k++)
        if (table[k] && !(drawn[k] = take(table[k], n, row, rows))) s = ct_last_status(device);
    free(row);
    return s;
}
