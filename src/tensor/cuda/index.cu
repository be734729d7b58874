/* gather, scatter_add, group_by and permuted rows. A check on the device finds an index outside its range,
 * and the next call that waits reports it; the row of such an index is skipped. */
#include "batch.cuh"
#include "block.cuh"
#include "loop.cuh"
#include "pieces.cuh"

#include <cub/device/device_radix_sort.cuh>

/* n indices, `step` apart, which must lie in [0, extent). */
struct indices {
    const int64_t *data;
    int64_t n, step, extent;
    indices(const ct_view *t, int64_t end)
        : data((const int64_t *)t->data), n(t->dim[0]), step(t->stride[0]), extent(end)
    {
    }
    __device__ __forceinline__ int64_t operator()(int64_t i) const { return data[i * step]; }
    __device__ __forceinline__ bool has(int64_t k) const { return 0 <= k && k < extent; }
};

static __global__ void check_kernel(ct__check check, indices index)
{
    ct__check_places(check, index.n, index.extent, false, index,
                     [=](int64_t i) { return !index.has(index(i)); });
}

/* Rows of two tensors with the same trailing shape: the span of the first rows, and the row strides. */
typedef struct rows {
    ct__span first; /* OUT, X */
    int64_t from_row, to_row;
} rows;
enum { OUT, X };

static rows make_rows(const ct_view *x, const ct_view *out)
{
    ct_view of_out = *out, of_x = *x;
    of_out.dim[0] = of_x.dim[0] = 1;
    return rows{ ct__make_span({ &of_out, &of_x }), x->stride[0], out->stride[0] };
}

static __global__ void gather_kernel(rows r, int bytes, indices index)
{
    CT__EACH(e, index.n * r.first.count)
    {
        const int64_t i = ct__quotient(e, r.first.count), row = index(i);
        if (!index.has(row)) continue;
        const ct__located<2> at(r.first, e - i * r.first.count);
        ct__move(bytes, r.first.data[OUT], at[OUT] + i * r.to_row, r.first.data[X], at[X] + row * r.from_row);
    }
}

ct_status ct__cuda_gather(ct_device *dev, const ct_view *x, const ct_view *index, ct_view *out)
{
    const indices q(index, x->dim[0]);
    const rows r = make_rows(x, out);
    ct_status s = CT__RUN_CHECK(dev, "gather", check_kernel, q.n, q);
    return s ? s
             : CT__RUN_EACH(dev, "gather", gather_kernel, q.n * r.first.count, r, (int)ct__size(x->dtype), q);
}

/* -- groups ---------------------------------------------------------------------------------------------- */

static __global__ void keys_kernel(indices index, int64_t *key, int64_t *position)
{
    CT__EACH(i, index.n)
    {
        const int64_t k = index(i);
        key[i] = index.has(k) ? k : 0;
        position[i] = i;
    }
}

/* offsets[m] = the number of keys below m */
static __global__ void offsets_kernel(const int64_t *key, int64_t n, int64_t groups, int64_t *offsets)
{
    CT__EACH(m, groups + 1) offsets[m] = ct__first_not(0, n, [&](int64_t i) { return key[i] < m; });
}

/* Checks the indices and sorts them stably by CUB's radix sort: the positions by index, and offsets[m]
 * (extent + 1 of them). An index outside counts as 0. `what` is a static string. */
static ct_status sort(ct_device *dev, const char *what, const indices &index, int64_t *offsets,
                      int64_t *positions)
{
    const int64_t n = index.n, groups = index.extent;
    int bits = 1;
    while (bits < 62 && (int64_t)1 << bits < groups) bits++;
    ct__scratch lists(dev, 3 * n * (int64_t)sizeof(int64_t));
    if (!lists.data) return CT_ENOMEM;
    int64_t *given = lists, *key = given + n, *position = key + n;
    size_t bytes = 0; /* without memory the sort returns the size that it needs */
    const auto radix_sort = [&](void *workspace) {
        cudaGetLastError(); /* CUB would report a pending error of others as its own */
        return ct__status(dev, what,
                          cub::DeviceRadixSort::SortPairs(workspace, bytes, given, key, position, positions,
                                                          n, 0, bits, ct__cuda_of(dev)->stream));
    };
    ct_status s = radix_sort(NULL);
    ct__scratch workspace(dev, s ? 0 : (int64_t)bytes);
    if (!s && !workspace.data) return CT_ENOMEM;
    if (!s) s = CT__RUN_CHECK(dev, what, check_kernel, n, index);
    if (!s) s = CT__RUN_EACH(dev, what, keys_kernel, n, index, given, position);
    if (!s) s = radix_sort(workspace);
    return s ? s : CT__RUN_EACH(dev, what, offsets_kernel, groups + 1, key, n, groups, offsets);
}

/* Rows with the same output row are a group. A group of more than 2^LENGTH rows is summed by pieces first. */
enum { LENGTH = CT__GROUP_LENGTH };

typedef struct scattered {
    ct__groups g;
    indices index;
} scattered;

/* Adds the element `from` of a piece's rows to `sum`, in order. Group 0 may contain rows whose index is out
 * of range; they are skipped. */
template <typename T>
static __device__ T sum_rows(const rows &r, const scattered &s, const ct__piece &p, int64_t from, T sum)
{
    const int64_t *position = s.g.position + s.g.offset[p.m] + p.first;
    const T *x = (const T *)r.first.data[X] + from;
    const int64_t *end = position + p.rows;
    for (; position < end; position++)
        if (p.m || s.index(*position) == 0) sum += x[*position * r.from_row];
    return sum;
}

/* One thread per element of a piece; it stores the group's sum or keeps the piece's. */
template <typename T>
static __global__ void __launch_bounds__(CT__BLOCK, CT__SCATTER_RESIDENT)
    scatter_kernel(rows r, scattered s, int64_t pieces, T *kept)
{
    CT__EACH(e, pieces * r.first.count)
    {
        const int64_t number = ct__quotient(e, r.first.count);
        const ct__piece p = ct__piece_at(s.g, LENGTH, number);
        if (!p.rows) continue;
        const ct__located<2> at(r.first, e - number * r.first.count);
        const bool part = p.all > (int64_t)1 << LENGTH;
        const int64_t place =
            ct__kept_at(s.g, LENGTH, p.m) + p.number - number; /* from this piece's number on */
        T &to = part ? kept[place * r.first.count + e] : ((T *)r.first.data[OUT])[p.m * r.to_row + at[OUT]];
        to = sum_rows<T>(r, s, p, at[X], part ? (T)0 : to);
    }
}

template <typename T> static __global__ void add_kernel(rows r, scattered s, const T *kept)
{
    ct__add_kept<T>(s.g, LENGTH, r.first.count, kept, [&](int64_t m, int64_t e, T sum) {
        const ct__located<2> at(r.first, e);
        ((T *)r.first.data[OUT])[m * r.to_row + at[OUT]] += sum;
    });
}

template <typename T> static ct_status scatter(ct_device *dev, const rows &r, const scattered &s)
{
    const bool long_ones = s.g.N > (int64_t)1 << LENGTH;
    const int64_t pieces = ct__pieces(s.g, LENGTH);
    ct__scratch kept(dev, long_ones ? ct__kept(s.g, LENGTH) * r.first.count * (int64_t)sizeof(T) : 0);
    if (!kept.data) return CT_ENOMEM;
    ct_status failed =
        CT__RUN_EACH(dev, "scatter_add", scatter_kernel<T>, pieces * r.first.count, r, s, pieces, kept);
    if (failed || !long_ones) return failed;
    return CT__RUN_BLOCKS(dev, "scatter_add", add_kernel<T>, ct__adders(s.g, LENGTH), CT__BLOCK, r, s, kept);
}

ct_status ct__cuda_scatter_add(ct_device *dev, const ct_view *x, const ct_view *index, ct_view *out)
{
    const indices q(index, out->dim[0]);
    const int64_t k = q.n, n = q.extent;
    const rows r = make_rows(x, out);
    if (!k || !n || !r.first.count) return CT__RUN_CHECK(dev, "scatter_add", check_kernel, k, q);
    ct__scratch groups(dev, (n + 1 + k) * (int64_t)sizeof(int64_t));
    if (!groups.data) return CT_ENOMEM;
    int64_t *offsets = groups, *positions = offsets + n + 1;
    ct_status failed = sort(dev, "scatter_add", q, offsets, positions);
    if (failed) return failed;
    const scattered s = { ct__groups{ k, n, 1, offsets, positions }, q };
    return x->dtype == CT_F64   ? scatter<double>(dev, r, s)
           : x->dtype == CT_F32 ? scatter<float>(dev, r, s)
                                : scatter<int64_t>(dev, r, s);
}

ct_status ct__cuda_group_by(ct_device *dev, const ct_view *index, ct_view *groups)
{
    const indices q(index, groups->dim[0] - 1 - index->dim[0]);
    int64_t *offsets = (int64_t *)groups->data;
    return sort(dev, "group_by", q, offsets, offsets + q.extent + 1);
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

/* Stores each row's place. An index that occurs twice then finds another row in its place. */
static __global__ void place_kernel(ct__batch b, ct__matrix order, int64_t *place)
{
    CT__EACH_ENTRY(at, b, order)
    {
        const int64_t k = ct__at_entry<int64_t>(b, order, at);
        if (0 <= k && k < order.rows) place[at.member * order.rows + k] = at.i;
    }
}

static __global__ void orders_kernel(ct__check check, ct__batch b, ct__matrix order, const int64_t *place)
{
    const int64_t n = order.rows;
    const auto value = [=](int64_t i) {
        return ct__at_entry<int64_t>(b, order, ct__entry{ i / n, i % n, 0 });
    };
    ct__check_places(check, b.members * n, n, true, value, [=](int64_t i) {
        const int64_t k = value(i);
        return k < 0 || k >= n || place[i / n * n + k] != i % n;
    });
}

ct_status ct__cuda_permute_rows(ct_device *dev, const ct_view *x, const ct_view *order, bool back,
                                ct_view *out)
{
    const ct__matrices<3> b(dev, { x, order, out });
    const ct__matrix *m = b.m;
    const int64_t count = ct__entries(b, m[2]), places = ct__entries(b, m[1]);
    if (!count) return CT_OK;
    const ct__workspace place(b, places * (int64_t)sizeof(int64_t));
    CT__DO(b, CT__RUN_EACH(dev, "pivot order", place_kernel, places, b, m[1], place));
    CT__DO(b, CT__RUN_CHECK(dev, "pivot order", orders_kernel, places, b, m[1], place));
    return CT__DO(b, CT__RUN_EACH(dev, "permute_rows", permute_kernel, count, b, m[0], m[1], m[2],
                                  (int)ct__size(x->dtype), back));
}
