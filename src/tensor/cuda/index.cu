/* gather, scatter_add, group_by, rows in another order. An index outside its range is found by a check on the
 * device and reported by the next call that waits; until then its row is left alone. */
#include "batch.cuh"
#include "loop.cuh"
#include "pieces.cuh"
#include "sort.cuh"

/* Rows of two tensors of the same trailing shape: `to` has the numbers of dimensions and extents. */
typedef struct rows {
    int ndim, bytes;
    int64_t count, dim[CT_MAX_DIMS], from[CT_MAX_DIMS], to[CT_MAX_DIMS]; /* after the first dimension */
    int64_t from_row, to_row;
    const void *x;
    void *out;
} rows;

static rows make_rows(const ct_view *x, const ct_view *out)
{
    rows r;
    memset(&r, 0, sizeof r);
    r.count = 1;
    r.bytes = (int)ct__size(x->dtype);
    r.x = x->data, r.out = out->data;
    r.from_row = x->stride[0], r.to_row = out->stride[0];
    for (int d = 1; d < out->ndim; d++) {
        r.count *= out->dim[d];
        r.dim[r.ndim] = out->dim[d];
        r.from[r.ndim] = x->stride[d];
        r.to[r.ndim++] = out->stride[d];
    }
    return r;
}

static __device__ void locate(const rows &r, int64_t i, int64_t &from, int64_t &to)
{
    for (int d = r.ndim - 1; d >= 0; d--) {
        const int64_t rest = ct__quotient(i, r.dim[d]), index = i - rest * r.dim[d];
        from += index * r.from[d];
        to += index * r.to[d];
        i = rest;
    }
}

static __global__ void gather_kernel(rows r, const int64_t *index, int64_t k, int64_t step, int64_t n)
{
    CT__EACH(e, k * r.count)
    {
        int64_t i = ct__quotient(e, r.count), row = index[i * step], from = row * r.from_row,
                to = i * r.to_row;
        if (row < 0 || row >= n) continue;
        locate(r, e - i * r.count, from, to);
        ct__move(r.bytes, r.out, to, r.x, from);
    }
}

ct_status ct__cuda_gather(ct_device *dev, const ct_view *x, const ct_view *index, ct_view *out)
{
    const int64_t *q = (const int64_t *)index->data, k = index->dim[0], step = index->stride[0];
    ct_status s = ct__cuda_check_index(dev, "gather", q, k, step, x->dim[0]);
    rows r = make_rows(x, out);
    return s ? s : CT__RUN_EACH(dev, "gather", gather_kernel, k * r.count, r, q, k, step, x->dim[0]);
}

/* Rows that go to one row of the output are a group; of more than 2^LENGTH rows, pieces are summed up
 * first. */
enum { LENGTH = CT__GROUP_LENGTH };

typedef struct scattered {
    ct__groups g;
    const int64_t *index;
    int64_t step;
} scattered;

/* Σ of the element `from` of rows [first, first + n) of group m, added to `sum` in their order. Of those in
 * group 0 some may have been put there for want of a better one. */
template <typename T>
static __device__ T sum_rows(const rows &r, const scattered &s, int64_t m, int64_t first, int64_t n,
                             int64_t from, T sum)
{
    const int64_t *position = s.g.position + s.g.offset[m] + first;
    for (int64_t i = 0; i < n; i++)
        if (m || s.index[position[i] * s.step] == 0) sum += ((const T *)r.x)[from + position[i] * r.from_row];
    return sum;
}

/* A thread per element of the output. */
template <typename T> static __global__ void scatter_kernel(rows r, scattered s)
{
    CT__EACH(e, s.g.M * r.count)
    {
        const int64_t m = ct__quotient(e, r.count), n = ct__rows_of(s.g, m);
        int64_t from = 0, to = m * r.to_row;
        if (!n || n > (int64_t)1 << LENGTH) continue;
        locate(r, e - m * r.count, from, to);
        ((T *)r.out)[to] = sum_rows<T>(r, s, m, 0, n, from, ((const T *)r.out)[to]);
    }
}

/* A thread per element of a piece. */
template <typename T> static __global__ void pieces_kernel(rows r, scattered s, T *kept)
{
    CT__EACH(e, ct__kept(s.g, LENGTH) * r.count)
    {
        const int64_t at = ct__quotient(e, r.count), m = ct__group_at(s.g, LENGTH - 1, at),
                      n = ct__rows_of(s.g, m), first = (at - ct__kept_at(s.g, LENGTH, m)) << LENGTH,
                      length = (int64_t)1 << LENGTH;
        if (n <= length || first >= n) continue;
        int64_t from = 0, to = 0;
        locate(r, e - at * r.count, from, to);
        kept[e] = sum_rows<T>(r, s, m, first, n - first < length ? n - first : length, from, 0);
    }
}

template <typename T> static __global__ void add_kernel(rows r, scattered s, const T *kept)
{
    ct__add_kept<T>(s.g, LENGTH, r.count, kept, [&](int64_t m, int64_t e, T sum) {
        int64_t from = 0, to = m * r.to_row;
        locate(r, e, from, to);
        ((T *)r.out)[to] += sum;
    });
}

template <typename T> static ct_status scatter(ct_device *dev, const rows &r, const scattered &s)
{
    const char *const what = "scatter_add";
    ct_status failed = CT__RUN_EACH(dev, what, scatter_kernel<T>, s.g.M * r.count, r, s);
    if (failed || s.g.N <= (int64_t)1 << LENGTH) return failed;
    const int64_t kept = ct__kept(s.g, LENGTH) * r.count;
    ct__scratch room(dev, kept * (int64_t)sizeof(T));
    if (!room.data) return CT_ENOMEM;
    failed = CT__RUN_EACH(dev, what, pieces_kernel<T>, kept, r, s, room);
    return failed ? failed
                  : CT__RUN_BLOCKS(dev, what, add_kernel<T>, ct__adders(s.g, LENGTH), CT__BLOCK, r, s, room);
}

ct_status ct__cuda_scatter_add(ct_device *dev, const ct_view *x, const ct_view *index, ct_view *out)
{
    const int64_t *q = (const int64_t *)index->data, k = index->dim[0], step = index->stride[0],
                  n = out->dim[0];
    const rows r = make_rows(x, out);
    if (!k || !n || !r.count) return k ? ct__cuda_check_index(dev, "scatter_add", q, k, step, n) : CT_OK;
    ct__scratch groups(dev, (n + 1 + k) * (int64_t)sizeof(int64_t));
    if (!groups.data) return CT_ENOMEM;
    int64_t *offsets = groups, *positions = offsets + n + 1;
    ct_status failed = ct__cuda_sort(dev, "scatter_add", q, k, step, n, offsets, positions);
    if (failed) return failed;
    const scattered s = { ct__groups{ k, n, 1, offsets, positions }, q, step };
    return x->dtype == CT_F64   ? scatter<double>(dev, r, s)
           : x->dtype == CT_F32 ? scatter<float>(dev, r, s)
                                : scatter<int64_t>(dev, r, s);
}

ct_status ct__cuda_group_by(ct_device *dev, const ct_view *index, ct_view *groups)
{
    const int64_t n = index->dim[0], m = groups->dim[0] - 1 - n;
    int64_t *offsets = (int64_t *)groups->data;
    return ct__cuda_sort(dev, "group_by", (const int64_t *)index->data, n, index->stride[0], m, offsets,
                         offsets + m + 1);
}

/* -- rows in pivot order --------------------------------------------------------------------------------- */

static __global__ void permute_kernel(ct__batch b, ct__matrix x, ct__matrix order, ct__matrix out, int bytes,
                                      bool back)
{
    CT__EACH_ENTRY(at, b, out)
    {
        const int64_t k = ct__at_entry<int64_t>(b, order, ct__entry{ at.member, at.i, 0 });
        if (k < 0 || k >= out.rows) continue;
        ct__move(bytes, out.data,
                 ct__member_at(b, out, at.member) + (back ? k : at.i) * out.rs + at.j * out.cs, x.data,
                 ct__member_at(b, x, at.member) + (back ? at.i : k) * x.rs + at.j * x.cs);
    }
}

ct_status ct__cuda_permute_rows(ct_device *dev, const ct_view *x, const ct_view *order, bool back,
                                ct_view *out)
{
    const ct__matrices<3> b({ x, order, out });
    const ct__matrix *m = b.m;
    const int64_t count = ct__entries(&b, m[2]), n = m[2].rows;
    if (!count) return CT_OK;
    const int64_t *p = (const int64_t *)order->data;
    const bool shared = b.ndim == 1 && m[1].step[0] == 0, dense = b.ndim == 1 && m[1].step[0] == n * m[1].rs;
    ct_status s = CT_OK;
    if (dense) s = ct__cuda_check_orders(dev, "pivot order", p, b.members, m[1].rs, n);
    for (int64_t i = 0; i < (dense ? 0 : shared ? 1 : b.members) && !s; i++)
        s = ct__cuda_check_orders(dev, "pivot order", p + ct__member_at(b, m[1], i), 1, m[1].rs, n);
    return s ? s
             : CT__RUN_EACH(dev, "permute_rows", permute_kernel, count, b, m[0], m[1], m[2],
                            (int)ct__size(x->dtype), back);
}
