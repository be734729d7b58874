/* Draws a stratified sample of rows, and takes rows of a table. */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

#include "numbers.h"

int64_t *ct__gp_draw_rows(ct_device *device, int64_t n, int64_t rows, uint64_t seed)
{
    int64_t *row = ct__gp_alloc(device, (uint64_t)rows, sizeof *row);
    double *u = ct__gp_alloc(device, (uint64_t)rows, sizeof *u);
    bool drawn = row && u && !ct__gp_unload(ct_rand_uniform(device, CT_F64, ct_shape1(rows), seed, 0), u);
    for (int64_t i = 0; i < rows && drawn; i++) {
        int64_t first = i * n / rows, end = (i + 1) * n / rows;
        row[i] = first + (int64_t)(u[i] * (double)(end - first));
    }
    free(u);
    if (drawn) return row;
    free(row);
    return NULL;
}

/* No row is overwritten before it is read: row[i] >= i. */
ct_tensor *ct__gp_take_rows(const ct_tensor *t, int64_t n, const int64_t *row, int64_t rows)
{
    int64_t d = ct_tensor_count(t) / n;
    double *x = ct__gp_doubles(t);
    for (int64_t i = 0; i < rows && x; i++) memmove(x + i * d, x + row[i] * d, (size_t)d * sizeof *x);
    ct_shape shape = ct_tensor_ndim(t) == 1 ? ct_shape1(rows) : ct_shape2(rows, d);
    ct_tensor *result = ct__gp_tensor(ct_tensor_device(t), ct_tensor_dtype(t), shape, x);
    free(x);
    return result;
}
