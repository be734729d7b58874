/* Operand layouts, triangles and failed batch members. */
#include "batch.cuh"
#include "block.cuh"
#include "tensor/loop.h"

#include <math.h>

ct__job ct__make_job(ct_device *dev, int n, const ct_view *const *t, ct__matrix *m)
{
    ct__job b = { { t[0]->dtype, 0, 1, {} }, dev, CT_OK };
    for (int k = 0; k < n; k++) {
        const int i = t[k]->ndim - 2, j = i + 1;
        m[k] = ct__matrix{
            (char *)t[k]->data, t[k]->dim[i], t[k]->dim[j], t[k]->stride[i], t[k]->stride[j], 0, {}
        };
    }
    ct__axis axis[CT_MAX_DIMS];
    b.ndim = (int)ct__axis_list(n, t, 0, t[0]->ndim - 2, false, axis);
    for (int d = 0; d < b.ndim; d++) {
        b.members *= b.dim[d] = axis[d].dim;
        for (int k = 0; k < n; k++) m[k].step[d] = axis[d].stride[k];
    }
    return b;
}

ct_view ct__as_view(const ct__batch &b, const ct__matrix &m)
{
    ct_view t = { NULL, m.data, b.dtype, b.ndim + 2, {}, {} };
    for (int d = 0; d < b.ndim; d++) t.dim[d] = b.dim[d], t.stride[d] = m.step[d];
    t.dim[b.ndim] = m.rows, t.stride[b.ndim] = m.rs;
    t.dim[b.ndim + 1] = m.cols, t.stride[b.ndim + 1] = m.cs;
    return t;
}

ct__matrix ct__dense(const ct__batch &b, void *data, int64_t rows, int64_t cols)
{
    ct__matrix m = { (char *)data, rows, cols, cols > 1 ? cols : 1, 1, 0, {} };
    int64_t step = rows * cols;
    for (int d = b.ndim - 1; d >= 0; d--) {
        m.step[d] = b.dim[d] > 1 ? step : 0;
        step *= b.dim[d];
    }
    return m;
}

/* Sets the form: row-major with a leading dimension, or column-major. An extent of 1 may have any stride. */
static bool take_form(ct__matrix *m)
{
    int64_t rs = m->rows > 1 ? m->rs : m->cols, cs = m->cols > 1 ? m->cs : m->rows;
    bool row = (m->cols <= 1 || m->cs == 1) && rs >= m->cols,
         column = (m->rows <= 1 || m->rs == 1) && cs >= m->rows;
    if (!row && !column) return false;
    m->columns = !row;
    m->rs = !row ? 1 : rs > 1 ? rs : 1;
    m->cs = row ? 1 : cs > 1 ? cs : 1;
    return true;
}

ct_status ct__copy_matrices(const ct__job &b, const ct__matrix &from, const ct__matrix &to)
{
    const ct_view x = ct__as_view(b, from);
    ct_view out = ct__as_view(b, to);
    return CT__DO(b, ct__cuda_copy(b.dev, &x, &out));
}

ct_status ct__scale_columns(const ct__job &b, const ct__matrix &x, const ct__matrix &row,
                            const ct__matrix &out)
{
    ct__matrix each_row = row;
    each_row.rows = x.rows, each_row.rs = 0;
    const ct_view from = ct__as_view(b, x), by = ct__as_view(b, each_row);
    ct_view to = ct__as_view(b, out);
    return CT__DO(b, ct__cuda_map2(b.dev, CT_MAP_mul, &from, &by, &to));
}

static ct_status copy_part(const ct__job &b, ct__formed::part which, const ct__matrix &from,
                           const ct__matrix &to)
{
    return which == ct__formed::LOWER      ? ct__copy_lower(b, from, to)
           : which == ct__formed::ALL      ? ct__copy_matrices(b, from, to)
           : which == ct__formed::DIAGONAL ? ct__copy_matrices(b, ct__diagonal(from), to)
                                           : b.status;
}

ct__formed::ct__formed(const ct__job &job, const ct__matrix &matrix, part in, part out)
    : b(job), given(matrix), m(matrix), bytes(0), data(NULL), back(NOTHING)
{
    if (b.status || (out != DIAGONAL && take_form(&m))) return;
    back = out;
    ct__job own = b; /* shared matrices are copied once */
    own.members = 1;
    for (int d = 0; d < b.ndim; d++) {
        if (given.step[d] == 0 && out == NOTHING) own.dim[d] = 1;
        own.members *= own.dim[d];
    }
    m = ct__dense(own, NULL, given.rows, out == DIAGONAL ? given.rows : given.cols);
    bytes = (size_t)(ct__entries(own, m) * ct__bytes_of(b));
    data = ct__pool_get(b.dev, &bytes);
    m.data = (char *)data;
    b.status = data ? copy_part(own, in, given, m) : CT_ENOMEM;
}

ct_status ct__formed::finish() { return copy_part(b, back, m, given); }

/* -- triangles ------------------------------------------------------------------------------------------- */

template <typename T>
static __global__ void triangle_kernel(ct__batch b, ct__matrix x, ct__matrix out, bool upper, int64_t k,
                                       ct__rest rest)
{
    CT__EACH_ENTRY(at, b, out)
    {
        T &to = ct__at_entry<T>(b, out, at);
        if (rest == CT__ONES && at.i == at.j)
            to = 1;
        else if (upper ? at.j - at.i >= k : at.j - at.i <= k)
            to = ct__at_entry<T>(b, x, at);
        else if (rest != CT__LEFT)
            to = 0;
    }
}

ct_status ct__triangle(const ct__job &b, const ct__matrix &x, bool upper, int64_t k, ct__rest rest,
                       const ct__matrix &out)
{
    return CT__BATCH_EACH("triangle", b, triangle_kernel, ct__entries(b, out), x, out, upper, k, rest);
}

/* Entry (i, j) of a lower triangle is number i (i + 1) / 2 + j of the column v. */
template <typename T> static __global__ void packed_kernel(ct__batch b, ct__matrix A, ct__matrix v, bool back)
{
    CT__EACH_ENTRY(at, b, A)
    {
        const ct__entry packed{ at.member, at.i * (at.i + 1) / 2 + at.j, 0 };
        if (back)
            ct__at_entry<T>(b, A, at) = at.j > at.i ? (T)0 : ct__at_entry<T>(b, v, packed);
        else if (at.j <= at.i)
            ct__at_entry<T>(b, v, packed) = ct__at_entry<T>(b, A, at);
    }
}

ct_status ct__cuda_pack_lower(ct_device *dev, const ct_view *A, ct_view *v)
{
    const ct__matrices<2> b(dev, { v, A });
    return CT__BATCH_EACH("pack_lower", b, packed_kernel, ct__entries(b, b.m[1]), b.m[1], b.m[0], false);
}

ct_status ct__cuda_unpack_lower(ct_device *dev, const ct_view *v, ct_view *A)
{
    const ct__matrices<2> b(dev, { A, v });
    return CT__BATCH_EACH("unpack_lower", b, packed_kernel, ct__entries(b, b.m[0]), b.m[0], b.m[1], true);
}

ct_status ct__cuda_triangle(ct_device *dev, const ct_view *x, bool upper, int64_t k, ct_view *out)
{
    const ct__matrices<2> b(dev, { x, out });
    return ct__triangle(b, b.m[0], upper, k, CT__ZEROS, b.m[1]);
}

template <typename T>
static __global__ void poison_kernel(ct__batch b, ct__matrix m, const int64_t *failed, bool lower)
{
    CT__EACH_ENTRY(at, b, m)
    {
        if (failed[at.member] && (!lower || at.j <= at.i)) ct__at_entry<T>(b, m, at) = (T)NAN;
    }
}

ct_status ct__poison(const ct__job &b, const int64_t *failed, bool lower, const ct__matrix &m)
{
    return CT__BATCH_EACH("poison", b, poison_kernel, ct__entries(b, m), m, failed, lower);
}

template <typename T> static __global__ void wild_kernel(ct__batch b, ct__matrix m, int64_t *flags)
{
    CT__EACH_ENTRY(at, b, m)
    {
        const T x = ct__at_entry<T>(b, m, at);
        if (!(x - x == 0) && !flags[at.member]) flags[at.member] = m.rows; /* by all threads alike */
    }
}

ct_status ct__wild(const ct__job &b, const ct__matrix &m, int64_t *flags)
{
    return CT__BATCH_EACH("finite", b, wild_kernel, ct__entries(b, m), m, flags);
}

/* -- identities and addresses ---------------------------------------------------------------------------- */

template <typename T>
static __global__ void identity_kernel(ct__batch b, ct__matrix out, const int64_t *order)
{
    CT__EACH_ENTRY(at, b, out)
    {
        ct__at_entry<T>(b, out, at) = (T)(order[at.member * out.rows + at.i] == at.j);
    }
}

ct_status ct__identity(const ct__job &b, const ct__matrix &out, const int64_t *order)
{
    return CT__BATCH_EACH("identity", b, identity_kernel, ct__entries(b, out), out, order);
}

static __global__ void addresses_kernel(ct__batch b, ct__matrix m, int64_t bytes, char **to)
{
    CT__EACH(i, b.members) to[i] = m.data + ct__member_at(b, m, i) * bytes;
}

/* The batched routines count in 32 bits. */
static bool countable(const ct__job &b, const ct__matrix &m)
{
    return b.members <= INT32_MAX && m.rows <= INT32_MAX && m.cols <= INT32_MAX;
}

ct__addresses::ct__addresses(const ct__job &b, const ct__matrix &m)
    : ct__workspace(b, countable(b, m) ? b.members * (int64_t)sizeof(char *) : 0)
{
    if (!b.status && !countable(b, m))
        b.status =
            ct__fail(dev, CT_EUNSUPPORTED, "%s: 2^31 matrices, rows or columns: split the batch", dev->name);
    CT__DO(b,
           CT__RUN_EACH(dev, "addresses", addresses_kernel, b.members, b, m, ct__bytes_of(b), (char **)data));
}

/* -- failures -------------------------------------------------------------------------------------------- */

/* Launched with one block. */
static __global__ void note_kernel(const int64_t *failed, int64_t places, int64_t shares, int64_t first,
                                   int64_t position, int64_t from, int64_t *note)
{
    const int64_t least = ct__first<CT__BLOCK>(places, [=](int64_t i) { return failed[i] != 0; });
    if (threadIdx.x || least == places || note[0]) return;
    note[0] = position + 1;
    note[1] = from + least / shares;
    note[2] = failed[least] + first;
}

ct_status ct__note_failure(const ct__job &b, const int64_t *failed, int64_t first, const char *what,
                           const char *why, ct_failure *failure, int64_t shares)
{
    if (!failure || b.status) return b.status;
    int64_t *note = ct__failure_note(b.dev, failure);
    if (!note) return b.status = CT_ENOMEM;
    if (!failure->set) {
        failure->suspected = true;
        failure->what = what;
        failure->why = why;
    }
    return b.status = CT__RUN_BLOCKS(b.dev, "noting failures", note_kernel, 1, CT__BLOCK, failed,
                                     b.members * shares, shares, first, failure->call, failure->from, note);
}
