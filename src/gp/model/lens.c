/* A model of pairs (x, output), shown as a model of one output. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

ct_status ct__lens_set(ct_gp *gp, int64_t code)
{
    double *level = ct__gp_doubles(gp->given);
    if (!level) return ct_last_status(gp->device);
    ct__lens *lens = ct__gp_alloc(gp->device, (uint64_t)gp->n + 2, sizeof *lens->row);
    for (int64_t i = 0; i < gp->n && lens; i++)
        if ((int64_t)level[i] == code) lens->row[lens->n++] = i;
    free(level);
    if (!lens) return CT_ENOMEM;
    lens->code = code;
    free(gp->lens);
    gp->lens = lens;
    return CT_OK;
}

int64_t ct__lens_row(const ct_gp *gp, int64_t i)
{
    if (!gp->lens) return i;
    int64_t first = 0, end = gp->lens->n; /* of the candidates */
    while (first < end) {
        const int64_t k = first + (end - first) / 2;
        if (gp->lens->row[k] < i)
            first = k + 1;
        else
            end = k;
    }
    return first < gp->lens->n && gp->lens->row[first] == i ? first : -1;
}

void ct__lens_pick(const ct_gp *gp, double *x, int64_t cols)
{
    for (int64_t i = 0; gp->lens && i < gp->lens->n; i++) /* row[i] >= i */
        memmove(x + i * cols, x + gp->lens->row[i] * cols, (size_t)cols * sizeof *x);
}

ct_tensor *ct__gp_points(const ct_gp *gp, const ct_tensor *Xs)
{
    const int64_t m = ct_tensor_dim(Xs, 0), d = ct__gp_cols(gp);
    ct_tensor *points = ct__gp_table(gp, Xs, ct_shape2(m, d), "Xs", gp->shift, gp->scale, NULL, false);
    if (!gp->lens || !points) return points;
    double *x = ct__gp_doubles(points),
           *with = x ? ct__gp_alloc(gp->device, (uint64_t)(m * gp->d), sizeof *x) : NULL;
    for (int64_t i = 0; i < m && with; i++) {
        memcpy(with + i * gp->d, x + i * d, (size_t)d * sizeof *x);
        with[i * gp->d + d] = (double)gp->lens->code;
    }
    ct_release(points);
    points = ct__gp_tensor(gp->device, gp->dtype, ct_shape2(m, gp->d), with);
    free(x);
    free(with);
    return points;
}

ct_status ct__lens_refuse(const ct_gp *gp, const char *who, const char *remedy)
{
    return ct_device_fail(gp->device, CT_EUNSUPPORTED, "%s: this model is one output of several: %s", who,
                          remedy);
}
