#include "one_output.h"

#include <stdlib.h>
#include <string.h>

#include "gp/data/numbers.h"

ct__one_output *ct__one_output_new(const ct_tensor *levels, int64_t code)
{
    const int64_t n = ct_tensor_count(levels);
    double *level = ct__gp_doubles(levels);
    ct__one_output *one =
        level ? ct__gp_alloc(ct_tensor_device(levels), (uint64_t)n + 2, sizeof *one->row) : NULL;
    for (int64_t i = 0; i < n && one; i++)
        if ((int64_t)level[i] == code) one->row[one->n++] = i;
    if (one) one->code = code;
    free(level);
    return one;
}

static int ascending(const void *a, const void *b)
{
    const int64_t *i = a, *j = b;
    return (*i > *j) - (*i < *j);
}

int64_t ct__one_output_row(const ct__one_output *one, int64_t i)
{
    if (!one) return i;
    const int64_t *at = bsearch(&i, one->row, (size_t)one->n, sizeof i, ascending);
    return at ? at - one->row : -1;
}

void ct__one_output_pick(const ct__one_output *one, double *x, int64_t cols)
{
    for (int64_t i = 0; one && i < one->n; i++) /* row[i] >= i */
        memmove(x + i * cols, x + one->row[i] * cols, (size_t)cols * sizeof *x);
}

ct_status ct__one_output_refuse(ct_device *device, const char *who, const char *remedy)
{
    return ct_device_fail(device, CT_EUNSUPPORTED, "%s: this model is one output of several: %s", who,
                          remedy);
}
