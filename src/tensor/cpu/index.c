/* gather and scatter_add of rows. */
#include "cpu.h"

#include <inttypes.h>

/* The rows of two tensors with equal trailing shapes, and the index that selects some of them. */
typedef struct rows {
    const void *from;
    void *to;
    const int64_t *index;
    int64_t n, step, from_row, to_row; /* number of indices; strides of index, from and to */
    int64_t ndim;                      /* >= 1 */
    ct__axis axis[CT_MAX_DIMS];        /* of a row, with the strides of `to` and `from` */
} rows;

/* name_row_T: `to OP from` for the elements of one row, from dimension d on. */
#define ROW(name, T, OP)                                                                          \
    static void name##_row_##T(const rows *r, int d, const T *restrict from, T *restrict to)      \
    {                                                                                             \
        const int64_t n = r->axis[d].dim, sf = r->axis[d].stride[1], st = r->axis[d].stride[0];   \
        if (d < r->ndim - 1)                                                                      \
            for (int64_t i = 0; i < n; i++) name##_row_##T(r, d + 1, from + i * sf, to + i * st); \
        else if (sf == 1 && st == 1)                                                              \
            for (int64_t i = 0; i < n; i++) to[i] OP from[i];                                     \
        else                                                                                      \
            for (int64_t i = 0; i < n; i++) to[i * st] OP from[i * sf];                           \
    }

/* gather_T: the rows [low, high) of `to`. add_T: adds to those rows, in the order of the index. The elements
 * of vectors are rows without a call. */
#define ROWS(T)                                                                       \
    ROW(gather, T, =)                                                                 \
    ROW(add, T, +=)                                                                   \
    static void gather_##T(const rows *r, int64_t low, int64_t high)                  \
    {                                                                                 \
        const bool single = r->ndim == 1 && r->axis[0].dim == 1;                      \
        for (int64_t i = low; i < high; i++) {                                        \
            const T *from = (const T *)r->from + r->index[i * r->step] * r->from_row; \
            T *to = (T *)r->to + i * r->to_row;                                       \
            if (single)                                                               \
                *to = *from;                                                          \
            else                                                                      \
                gather_row_##T(r, 0, from, to);                                       \
        }                                                                             \
    }                                                                                 \
    static void add_##T(const rows *r, int64_t low, int64_t high)                     \
    {                                                                                 \
        const bool single = r->ndim == 1 && r->axis[0].dim == 1;                      \
        for (int64_t i = 0; i < r->n; i++) {                                          \
            const int64_t target = r->index[i * r->step];                             \
            if (target < low || target >= high) continue;                             \
            const T *from = (const T *)r->from + i * r->from_row;                     \
            T *to = (T *)r->to + target * r->to_row;                                  \
            if (single)                                                               \
                *to += *from;                                                         \
            else                                                                      \
                add_row_##T(r, 0, from, to);                                          \
        }                                                                             \
    }
ROWS(double)
ROWS(float)
ROWS(int64_t)

typedef void row_loop(const rows *r, int64_t low, int64_t high);
static row_loop
    *const gathers[] = { [CT_F64] = gather_double, [CT_F32] = gather_float, [CT_I64] = gather_int64_t },
           *const additions[] = { [CT_F64] = add_double, [CT_F32] = add_float, [CT_I64] = add_int64_t };

/* CT_EINDEX unless the index lies in [0, n). */
static ct_status check(ct_device *dev, const ct_view *index, int64_t n)
{
    const int64_t *at = index->data, step = index->stride[0];
    for (int64_t i = 0; i < index->dim[0]; i++)
        if (at[i * step] < 0 || at[i * step] >= n)
            return ct__fail(dev, CT_EINDEX, "index[%" PRId64 "] = %" PRId64 " is outside [0, %" PRId64 ")", i,
                            at[i * step], n);
    return CT_OK;
}

/* Each thread owns a range of out's rows. */
static void share_rows(ct_device *dev, const ct_view *x, const ct_view *index, const ct_view *out,
                       row_loop *work)
{
    const int64_t n = out->dim[0];
    rows r = { .from = x->data,
               .to = out->data,
               .index = index->data,
               .n = index->dim[0],
               .step = index->stride[0],
               .from_row = x->stride[0],
               .to_row = out->stride[0] };
    r.ndim = ct__axis_list(2, (const ct_view *const[]){ out, x }, 1, out->ndim, true, r.axis);
    if (!r.ndim) r.axis[r.ndim++] = (ct__axis){ 1, { 0 } };
    int64_t count = 1;
    for (int64_t d = 0; d < r.ndim; d++) count *= r.axis[d].dim;
    if (!count) return;
    const int parts = r.n > dev->tuning->grain / count ? dev->threads : 1,
              team = parts > 1 ? ct__team(dev, parts) : 1;
#pragma omp parallel for schedule(static) num_threads(team)
    for (int part = 0; part < parts; part++) work(&r, ct__part(n, parts, part), ct__part(n, parts, part + 1));
}

ct_status ct__cpu_gather(ct_device *dev, const ct_view *x, const ct_view *index, ct_view *out)
{
    ct_status status = check(dev, index, x->dim[0]);
    if (!status) share_rows(dev, x, index, out, gathers[x->dtype]);
    return status;
}

ct_status ct__cpu_scatter_add(ct_device *dev, const ct_view *x, const ct_view *index, ct_view *out)
{
    ct_status status = check(dev, index, out->dim[0]);
    if (!status) share_rows(dev, x, index, out, additions[x->dtype]);
    return status;
}
