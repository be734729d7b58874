/* gather and scatter_add of rows. */
#include "cpu.h"

#include <inttypes.h>

/* The rows of two tensors with equal trailing shapes: the dimensions after the first, with the strides of
 * `to` and `from`. */
typedef struct rows {
    int64_t ndim; /* >= 1 */
    ct__axis axis[CT_MAX_DIMS];
} rows;

typedef void row_loop(const rows *r, int d, const void *from, void *to);

#define ROW_LOOP(name, T, OP)                                                                   \
    static void name##_##T(const rows *r, int d, const void *from_, void *to_)                  \
    {                                                                                           \
        const int64_t n = r->axis[d].dim, sf = r->axis[d].stride[1], st = r->axis[d].stride[0]; \
        const T *restrict from = from_;                                                         \
        T *restrict to = to_;                                                                   \
        if (d < r->ndim - 1)                                                                    \
            for (int64_t i = 0; i < n; i++) name##_##T(r, d + 1, from + i * sf, to + i * st);   \
        else if (sf == 1 && st == 1)                                                            \
            for (int64_t i = 0; i < n; i++) to[i] OP from[i];                                   \
        else                                                                                    \
            for (int64_t i = 0; i < n; i++) to[i * st] OP from[i * sf];                         \
    }
ROW_LOOP(copy, double, =)
ROW_LOOP(copy, float, =)
ROW_LOOP(copy, int64_t, =)
ROW_LOOP(add, double, +=)
ROW_LOOP(add, float, +=)
ROW_LOOP(add, int64_t, +=)
static row_loop *const copies[] = { [CT_F64] = copy_double, [CT_F32] = copy_float, [CT_I64] = copy_int64_t },
                       *const additions[] = {
                           [CT_F64] = add_double, [CT_F32] = add_float, [CT_I64] = add_int64_t
                       };

static int64_t at(const ct_view *index, int64_t i)
{
    return ((const int64_t *)index->data)[i * index->stride[0]];
}

/* CT_EINDEX unless the index lies in [0, n). */
static ct_status check(ct_device *dev, const ct_view *index, int64_t n)
{
    for (int64_t i = 0; i < index->dim[0]; i++)
        if (at(index, i) < 0 || at(index, i) >= n)
            return ct__fail(dev, CT_EINDEX, "index[%" PRId64 "] = %" PRId64 " is outside [0, %" PRId64 ")", i,
                            at(index, i), n);
    return CT_OK;
}

static void gather_rows(const rows *r, const ct_view *x, const ct_view *index, const ct_view *out,
                        int64_t low, int64_t high)
{
    for (int64_t i = low; i < high; i++) {
        const void *from = ct__at(x->data, x->dtype, at(index, i) * x->stride[0]);
        void *to = ct__at(out->data, out->dtype, i * out->stride[0]);
        copies[x->dtype](r, 0, from, to);
    }
}

/* Adds to the rows [low, high) of out, in the order of the index. */
static void add_rows(const rows *r, const ct_view *x, const ct_view *index, const ct_view *out, int64_t low,
                     int64_t high)
{
    for (int64_t i = 0; i < index->dim[0]; i++) {
        int64_t target = at(index, i);
        if (target < low || target >= high) continue;
        const void *from = ct__at(x->data, x->dtype, i * x->stride[0]);
        void *to = ct__at(out->data, out->dtype, target * out->stride[0]);
        additions[x->dtype](r, 0, from, to);
    }
}

/* Each thread owns a range of out's rows. */
static void share_rows(ct_device *dev, const ct_view *x, const ct_view *index, const ct_view *out,
                       void (*work)(const rows *, const ct_view *, const ct_view *, const ct_view *, int64_t,
                                    int64_t))
{
    const int64_t n = out->dim[0];
    rows r;
    r.ndim = ct__axis_list(2, (const ct_view *const[]){ out, x }, 1, out->ndim, true, r.axis);
    if (!r.ndim) r.axis[r.ndim++] = (ct__axis){ 1, { 0 } };
    int64_t count = 1;
    for (int64_t d = 0; d < r.ndim; d++) count *= r.axis[d].dim;
    if (!count) return;
    if (dev->threads < 2 || index->dim[0] <= dev->tuning->grain / count) {
        work(&r, x, index, out, 0, n);
        return;
    }
    const int parts = dev->threads;
#pragma omp parallel for schedule(static) num_threads(ct__team(dev, parts))
    for (int part = 0; part < parts; part++)
        work(&r, x, index, out, ct__part(n, parts, part), ct__part(n, parts, part + 1));
}

ct_status ct__cpu_gather(ct_device *dev, const ct_view *x, const ct_view *index, ct_view *out)
{
    ct_status status = check(dev, index, x->dim[0]);
    if (!status) share_rows(dev, x, index, out, gather_rows);
    return status;
}

ct_status ct__cpu_scatter_add(ct_device *dev, const ct_view *x, const ct_view *index, ct_view *out)
{
    ct_status status = check(dev, index, out->dim[0]);
    if (!status) share_rows(dev, x, index, out, add_rows);
    return status;
}
