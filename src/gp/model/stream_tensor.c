/* The tensors of a model to and from its file, the factor a row at a time. */
#include <math.h>
#include <stdlib.h>

#include "gp/factor/packed.h"
#include "model.h"
#include "stream.h"

/* Number i of f64 (size 8) or f32. */
static double number(const void *host, size_t size, size_t i)
{
    return size == 8 ? ((const double *)host)[i] : (double)((const float *)host)[i];
}

/* Through `host`, which has room for the numbers. */
static ct_tensor *read(ct__stream *s, ct_dtype dtype, ct_shape shape, void *host)
{
    size_t count = (size_t)ct_shape_count(shape), size = ct_dtype_size(dtype);
    ct__stream_numbers(s, host, count, size);
    for (size_t i = 0; i < count && !s->bad; i++) s->bad = !isfinite(number(host, size, i));
    ct_tensor *t = s->bad ? NULL : ct_from(s->device, dtype, shape, host);
    if (!t && !s->bad) ct__stream_lacks_memory(s);
    return t;
}

static void write(ct__stream *s, const ct_tensor *t)
{
    size_t count = (size_t)ct_tensor_count(t), size = ct_dtype_size(ct_tensor_dtype(t));
    if (s->data && !s->bad) {
        void *host = s->data + s->at;
        if (ct_read(t, host, count * size)) s->bad = true;
        ct__stream in_place = { .data = s->data, .at = s->at };
        ct__stream_numbers(&in_place, host, count, size);
    }
    s->at += count * size;
}

/* Whether `count` numbers can still come. */
static bool enough(ct__stream *s, uint64_t count, size_t size)
{
    if (s->reading && count > (s->size - s->at) / size) s->bad = true;
    return !s->bad;
}

void ct__stream_tensor(ct__stream *s, ct_tensor **t, ct_dtype dtype, ct_shape shape)
{
    uint64_t count = (uint64_t)ct_shape_count(shape);
    if (!s->reading) {
        write(s, *t);
    } else if (enough(s, count, ct_dtype_size(dtype))) {
        void *host = ct__gp_alloc(s->device, count, ct_dtype_size(dtype));
        if (host)
            *t = read(s, dtype, shape, host);
        else
            ct__stream_lacks_memory(s);
        free(host);
    }
}

/* -- the factor ------------------------------------------------------------------------------------------ */

/* Row i of L, of i + 1 numbers, to or from its two parts. */
static void move_row(ct_call *c, const ct__packed *L, int64_t i, const ct_tensor *row, bool reading)
{
    ct_view part[2];
    ct__packed_row(L, i, part);
    for (int64_t k = 0, at = 0, end; k < 2 && ct_is_view(part[k]); k++, at = end) {
        end = at + ct_view_dim(part[k], 1);
        ct_view piece = ct_view_slice(ct_view_of(row), 1, at, end, 1);
        ct_prim_copy(c, reading ? piece : part[k], reading ? part[k] : piece);
    }
}

static void move_rows(ct__stream *s, ct_gp *gp, void *host)
{
    ct_tape_reset(gp->tape);
    ct_call *c = ct_scope_open(gp->tape, "the factor's rows");
    ct__packed L = ct__packed_of(ct_view_of(gp->factor.L), gp->n);
    for (int64_t i = 0; i < gp->n && !s->bad; i++) {
        ct_shape shape = ct_shape2(1, i + 1);
        ct_tensor *row = s->reading ? read(s, gp->dtype, shape, host) : ct_empty(s->device, gp->dtype, shape);
        if (s->reading && row && !(number(host, ct_dtype_size(gp->dtype), (size_t)i) > 0)) s->bad = true;
        if (row && !s->bad) move_row(c, &L, i, row, s->reading);
        if (!s->bad && (!row || !ct_call_fine(c))) ct__stream_lacks_memory(s);
        if (!s->bad && !s->reading) write(s, row);
        ct_release(row);
    }
    ct_scope_close(c);
    ct_tape_reset(gp->tape);
}

void ct__stream_factor(ct__stream *s, ct_gp *gp)
{
    size_t size = ct_dtype_size(gp->dtype);
    uint64_t count = (uint64_t)gp->n * ((uint64_t)gp->n + 1) / 2;
    if (!enough(s, count, size) || (!s->reading && !s->data)) {
        s->at += (size_t)count * size;
        return;
    }
    void *host = s->reading ? ct__gp_alloc(s->device, (uint64_t)gp->n, size) : NULL;
    if (host) gp->factor.L = ct_zeros(s->device, gp->dtype, ct__packed_shape(gp->n));
    if (gp->factor.L)
        move_rows(s, gp, host);
    else
        ct__stream_lacks_memory(s);
    free(host);
}
