/* Layouts that BLAS takes, triangles, and members that failed. */
#include "batch.cuh"
#include "block.cuh"

#include <math.h>

ct__batch ct__one(ct_dtype dtype)
{
    ct__batch b;
    memset(&b, 0, sizeof b);
    b.dtype = dtype;
    b.members = 1;
    return b;
}

ct__batch ct__make_batch(int n, const ct_view *const *t, ct__matrix *m)
{
    ct__batch b = ct__one(t[0]->dtype);
    for (int k = 0; k < n; k++) {
        int d = t[k]->ndim;
        memset(&m[k], 0, sizeof m[k]);
        m[k].data = (char *)t[k]->data;
        m[k].rows = t[k]->dim[d - 2], m[k].cols = t[k]->dim[d - 1];
        m[k].rs = t[k]->stride[d - 2], m[k].cs = t[k]->stride[d - 1];
    }
    for (int d = 0; d < t[0]->ndim - 2; d++) {
        int64_t extent = t[0]->dim[d];
        if (extent == 1) continue;
        b.members *= extent;
        bool merge = b.ndim > 0;
        for (int k = 0; k < n && merge; k++) merge = m[k].step[b.ndim - 1] == t[k]->stride[d] * extent;
        if (merge)
            b.dim[b.ndim - 1] *= extent;
        else
            b.dim[b.ndim++] = extent;
        for (int k = 0; k < n; k++) m[k].step[b.ndim - 1] = t[k]->stride[d];
    }
    return b;
}

ct_view ct__as_view(const ct__batch *b, const ct__matrix *m)
{
    ct_view t;
    memset(&t, 0, sizeof t);
    t.data = m->data;
    t.dtype = b->dtype;
    t.ndim = b->ndim + 2;
    for (int d = 0; d < b->ndim; d++) t.dim[d] = b->dim[d], t.stride[d] = m->step[d];
    t.dim[b->ndim] = m->rows, t.stride[b->ndim] = m->rs;
    t.dim[b->ndim + 1] = m->cols, t.stride[b->ndim + 1] = m->cs;
    return t;
}

ct__matrix ct__dense(const ct__batch *b, void *data, int64_t rows, int64_t cols)
{
    ct__matrix m;
    memset(&m, 0, sizeof m);
    m.data = (char *)data;
    m.rows = rows, m.cols = cols;
    m.rs = cols > 1 ? cols : 1, m.cs = 1;
    int64_t step = rows * cols;
    for (int d = b->ndim - 1; d >= 0; d--) {
        m.step[d] = step;
        step *= b->dim[d];
    }
    return m;
}

/* Row-major with a leading dimension, or column-major; the stride of an extent of 1 is free. */
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

ct__formed::ct__formed(ct_device *device, const ct__batch *b, const ct__matrix &matrix, part in, part out)
    : dev(device), batch(b), given(matrix), m(matrix), bytes(0), data(NULL), status(CT_OK), back(NOTHING)
{
    if (take_form(&m)) return;
    back = out;
    m = ct__dense(b, NULL, given.rows, given.cols);
    int64_t step = m.rows * m.cols;
    for (int d = b->ndim - 1; d >= 0; d--) { /* what is shared is copied once */
        const bool shared = given.step[d] == 0 && out == NOTHING;
        m.step[d] = shared ? 0 : step;
        if (!shared) step *= b->dim[d];
    }
    bytes = (size_t)(step * ct__bytes_of(b));
    data = ct__pool_get(dev, &bytes);
    if (!data) {
        bytes = 0;
        status = CT_ENOMEM;
        return;
    }
    m.data = (char *)data;
    if (in == LOWER) status = ct__copy_lower(dev, b, &given, &m);
    if (in != ALL) return;
    ct_view from = ct__as_view(b, &given), to = ct__as_view(b, &m);
    for (int d = 0; d < b->ndim; d++)
        if (m.step[d] == 0) from.dim[d] = to.dim[d] = 1;
    status = ct__cuda_copy(dev, &from, &to);
}

ct_status ct__formed::finish()
{
    if (status || back == NOTHING) return status;
    if (back == LOWER) return ct__copy_lower(dev, batch, &m, &given);
    ct_view from = ct__as_view(batch, &m), to = ct__as_view(batch, &given);
    return ct__cuda_copy(dev, &from, &to);
}

/* -- triangles ------------------------------------------------------------------------------------------- */

template <typename T> static __global__ void copy_lower_kernel(ct__batch b, ct__matrix from, ct__matrix to)
{
    CT__EACH_ENTRY(at, b, to)
    {
        if (at.j <= at.i) ct__at_entry<T>(b, to, at) = ct__at_entry<T>(b, from, at);
    }
}

template <typename T> static __global__ void mirror_lower_kernel(ct__batch b, ct__matrix m)
{
    CT__EACH_ENTRY(at, b, m)
    {
        if (at.j > at.i) ct__at_entry<T>(b, m, at) = ct__at_entry<T>(b, ct__turned(m), at);
    }
}

template <typename T>
static __global__ void poison_kernel(ct__batch b, ct__matrix m, const int64_t *failed, bool lower)
{
    CT__EACH_ENTRY(at, b, m)
    {
        if (failed[at.member] && (!lower || at.j <= at.i)) ct__at_entry<T>(b, m, at) = (T)NAN;
    }
}

ct_status ct__copy_lower(ct_device *dev, const ct__batch *b, const ct__matrix *from, const ct__matrix *to)
{
    return CT__BATCH_EACH(dev, "copy_lower_kernel", *b, copy_lower_kernel, ct__entries(b, *to), *from, *to);
}

ct_status ct__mirror_lower(ct_device *dev, const ct__batch *b, const ct__matrix *m)
{
    return CT__BATCH_EACH(dev, "mirror_lower_kernel", *b, mirror_lower_kernel, ct__entries(b, *m), *m);
}

ct_status ct__poison(ct_device *dev, const ct__batch *b, const int64_t *failed, bool lower,
                     const ct__matrix *m)
{
    return CT__BATCH_EACH(dev, "poison_kernel", *b, poison_kernel, ct__entries(b, *m), *m, failed, lower);
}

/* -- failures -------------------------------------------------------------------------------------------- */

/* One block. */
static __global__ void note_kernel(const int64_t *failed, int64_t members, int64_t first, int64_t position,
                                   int64_t *note)
{
    const int64_t least = ct__first<CT__BLOCK>(members, [=](int64_t i) { return failed[i] != 0; });
    if (threadIdx.x || least == members || note[0]) return;
    note[0] = position + 1;
    note[1] = least;
    note[2] = failed[least] + first;
}

ct_status ct__note_failure(ct_device *dev, const ct__batch *b, const int64_t *failed, int64_t first,
                           const char *what, const char *why, ct_failure *failure)
{
    if (!failure) return CT_OK;
    int64_t *note = ct__failure_note(dev, failure);
    if (!note) return CT_ENOMEM;
    if (!failure->set) {
        failure->suspected = true;
        failure->what = what;
        failure->why = why;
    }
    return CT__RUN_BLOCKS(dev, "noting failures", note_kernel, 1, ct__threads(b->members, CT__BLOCK), failed,
                          b->members, first, failure->call, note);
}
