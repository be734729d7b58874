#include "lens.h"

#include <stdlib.h>
#include <string.h>

#include "gp/data/numbers.h"

ct__lens *ct__lens_new(const ct_tensor *levels, int64_t code)
{
    const int64_t n = ct_tensor_count(levels);
    double *level = ct__gp_doubles(levels);
    ct__lens *lens =
        level ? ct__gp_alloc(ct_tensor_device(levels), (uint64_t)n + 2, sizeof *lens->row) : NULL;
    for (int64_t i = 0; i < n && lens; i++)
        if ((int64_t)level[i] == code) lens->row[lens->n++] = i;
    if (lens) lens->code = code;
    free(level);
    return lens;
}

static int ascending(const void *a, const void *b)
{
    const int64_t *i = a, *j = b;
    return (*i > *j) - (*i < *j);
}

int64_t ct__lens_row(const ct__lens *lens, int64_t i)
{
    if (!lens) return i;
    const int64_t *at = bsearch(&i, lens->row, (size_t)lens->n, sizeof i, ascending);
    return at ? at - lens->row : -1;
}

void ct__lens_pick(const ct__lens *lens, double *x, int64_t cols)
{
    for (int64_t i = 0; lens && i < lens->n; i++) /* row[i] >= i */
        memmove(x + i * cols, x + lens->row[i] * cols, (size_t)cols * sizeof *x);
}

ct_status ct__lens_refuse(ct_device *device, const char *who, const char *remedy)
{
    return ct_device_fail(device, CT_EUNSUPPORTED, "%s: this model is one output of several: %s", who,
                          remedy);
}
