/* Rows in pivot order. */
#include "cpu.h"

#include <inttypes.h>
#include <string.h>

/* CT_OK if p contains each of 0 .. n-1 once, else CT_EINDEX. seen: workspace of n bytes. */
static ct_status check_order(ct_device *dev, const int64_t *p, int64_t step, int64_t n, char *seen)
{
    memset(seen, 0, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = p[i * step];
        const bool inside = 0 <= k && k < n;
        if (!inside || seen[k])
            return ct__fail(dev, CT_EINDEX,
                            "pivot order: index[%" PRId64 "] = %" PRId64 " is %s [0, %" PRId64 ")", i, k,
                            inside ? "there twice, it must be a permutation of" : "outside", n);
        seen[k] = 1;
    }
    return CT_OK;
}

typedef struct permutation {
    const ct_view *x, *order;
    ct_view *out;
    bool back;
} permutation;

static void permute_member(ct_device *dev, const permutation *f, int64_t member)
{
    const ct_view *x = f->x, *out = f->out;
    const int d = out->ndim;
    const int64_t n = out->dim[d - 2], cols = out->dim[d - 1], rs = out->stride[d - 2],
                  cs = out->stride[d - 1], x_rs = x->stride[d - 2], x_cs = x->stride[d - 1],
                  step = f->order->stride[d - 2];
    const int64_t *p = (const int64_t *)f->order->data + ct__member_offset(f->order, out, member);
    const int64_t from = ct__member_offset(x, out, member), to = ct__member_offset(out, out, member);
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = p[i * step];
        const void *row = ct__at(x->data, x->dtype, from + (f->back ? i : k) * x_rs);
        void *target = ct__at(out->data, x->dtype, to + (f->back ? k : i) * rs);
        if (cs == 1 && x_cs == 1)
            memcpy(target, row, (size_t)cols * ct_dtype_size(x->dtype));
        else
            ct__copy_matrix(dev, x->dtype, 1, cols, row, 0, x_cs, target, 0, cs);
    }
}

ct_status ct__cpu_permute_rows(ct_device *dev, const ct_view *x, const ct_view *order, bool back,
                               ct_view *out)
{
    const permutation f = { x, order, out, back };
    const int d = out->ndim;
    const int64_t n = out->dim[d - 2], cols = out->dim[d - 1];
    int64_t members = 1;
    for (int k = 0; k < d - 2; k++) members *= out->dim[k];
    if (!members || !n || !cols) return CT_OK;
    size_t bytes = (size_t)n;
    char *seen = ct__pool_get(dev, &bytes);
    if (!seen) return CT_ENOMEM;
    ct_status status = CT_OK;
    for (int64_t b = 0; b < members && !status; b++)
        status = check_order(dev, (const int64_t *)order->data + ct__member_offset(order, out, b),
                             order->stride[d - 2], n, seen);
    ct__pool_put(dev, seen, bytes);
    if (status) return status;
    const int threads = members * n * cols < 2 * dev->tuning->grain ? 1 : dev->threads;
#pragma omp parallel for schedule(static) num_threads(ct__team(dev, threads))
    for (int64_t b = 0; b < members; b++) permute_member(dev, &f, b);
    return CT_OK;
}
