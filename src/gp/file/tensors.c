#include "tensors.h"

#include <math.h>
#include <stdlib.h>

#include "gp/data/numbers.h"

/* Number i of f64 (size 8) or f32. */
static double number(const void *host, size_t size, size_t i)
{
    return size == 8 ? ((const double *)host)[i] : (double)((const float *)host)[i];
}

/* `host` has room for the numbers. */
static ct_tensor *read(ct__stream *s, ct_dtype dtype, ct_shape shape, void *host)
{
    size_t count = (size_t)ct_shape_count(shape), size = ct_dtype_size(dtype);
    ct__stream_numbers(s, host, count, size);
    for (size_t i = 0; i < count && !s->bad; i++) s->bad = !isfinite(number(host, size, i));
    ct_tensor *t = s->bad ? NULL : ct_from(s->device, dtype, shape, host);
    if (!t && !s->bad) ct__stream_check(s, CT_ENOMEM);
    return t;
}

void ct__stream_tensor(ct__stream *s, ct_tensor **t, ct_dtype dtype, ct_shape shape)
{
    const uint64_t count = (uint64_t)ct_shape_count(shape);
    const size_t size = ct_dtype_size(dtype);
    if (!ct__stream_holds(s, count, size)) return;
    void *host = ct__stream_alloc(s, count, size);
    if (host && s->reading) *t = read(s, dtype, shape, host);
    if (host && !s->reading) {
        s->bad |= ct_read(*t, host, count * size) != CT_OK;
        ct__stream_numbers(s, host, count, size);
    }
    free(host);
}

/* -- the factor ------------------------------------------------------------------------------------------ */

static void read_rows(ct__stream *s, ct_gp *gp, ct_call *c, const ct__factor *L, void *host)
{
    for (int64_t i = 0; i < L->n && !s->bad; i++) {
        ct_tensor *row = read(s, gp->rows.dtype, ct_shape2(1, i + 1), host);
        if (row && !(number(host, ct_dtype_size(gp->rows.dtype), (size_t)i) > 0)) s->bad = true;
        if (row && !s->bad) ct__packed_move_row(c, &L->blocks, i, ct_view_of(row), true);
        ct_release(row);
    }
}

/* Writes as many rows at a time as the factor gives, in a communicator by process 0. `workspace` holds that
 * many full rows. */
static void write_rows(ct__stream *s, ct_gp *gp, ct_call *c, const ct__factor *L, ct_tensor *workspace,
                       void *host)
{
    const int64_t n = L->n, size = (int64_t)ct_dtype_size(gp->rows.dtype);
    const bool writes = ct_comm_rank(gp->options.comm) == 0;
    for (int64_t first = 0, end; first < n && ct_call_ok(c); first = end) {
        end = first + L->unit < n ? first + L->unit : n;
        const int64_t count = (end - first) * end;
        ct_tensor *rows = writes ? ct_tensor_slice(workspace, 0, 0, count, 1) : NULL;
        L->in->rows(c, L, first,
                    ct_view_reshape(ct_view_slice(ct_view_of(workspace), 0, 0, count, 1),
                                    ct_shape2(end - first, end)));
        if (writes && (!rows || ct_read(rows, host, (size_t)(count * size)))) s->bad = true;
        for (int64_t i = first; i < end && writes && !s->bad; i++)
            ct__stream_numbers(s, (char *)host + (i - first) * end * size, (size_t)i + 1, (size_t)size);
        ct_release(rows);
    }
}

void ct__stream_factor(ct__stream *s, ct_gp *gp)
{
    const size_t size = ct_dtype_size(gp->rows.dtype);
    const uint64_t n = (uint64_t)gp->rows.n;
    const ct__grid grid = ct__gp_grid(gp);
    const uint64_t rows = grid.comm ? (uint64_t)grid.b : 1;
    if (!ct__stream_holds(s, n * (n + 1) / 2, size)) return;
    if (s->reading) gp->factor.L = ct_zeros(s->device, gp->rows.dtype, ct__packed_shape(gp->rows.n));
    ct_tensor *workspace =
        s->reading ? NULL : ct_empty(s->device, gp->rows.dtype, ct_shape1((int64_t)(rows * n)));
    const bool writes = ct_comm_rank(grid.comm) == 0;
    void *host = ct__gp_alloc(s->device, writes ? rows * n : 1, size);
    if (host && gp->factor.L && (workspace || s->reading)) {
        ct_tape_reset(gp->tape);
        ct_call *c = ct_scope_open(gp->tape, "the factor's rows");
        const ct__factor L = ct__gp_factor_of(gp);
        if (s->reading)
            read_rows(s, gp, c, &L, host);
        else
            write_rows(s, gp, c, &L, workspace, host);
        ct_scope_close(c);
        if (!s->bad && ct_tape_status(gp->tape)) ct__stream_check(s, ct__gp_tape_failed(gp, "the factor"));
        ct_tape_reset(gp->tape);
    } else {
        ct__stream_check(s, CT_ENOMEM);
    }
    free(host);
    ct_release(workspace);
}
