/* The factor of a model to and from its file, a row at a time. */
#include <stdlib.h>
#include <string.h>

#include "gp/factor/packed.h"
#include "model.h"
#include "stream.h"

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

/* One row of the file, NULL where it is no row of a factor. */
static ct_tensor *read_row(ct__stream *s, ct_dtype dtype, int64_t i, unsigned char *host)
{
    size_t size = ct_dtype_size(dtype);
    double pivot = 0;
    float narrow = 0;
    ct__stream_numbers(s, host, (size_t)i + 1, size);
    if (s->bad) return NULL;
    memcpy(size == 8 ? (void *)&pivot : (void *)&narrow, host + (size_t)i * size, size);
    if (size == 4) pivot = (double)narrow;
    if (!(pivot > 0)) s->bad = true;
    ct__stream_need_finite(s, host, (size_t)i + 1, size);
    return s->bad ? NULL : ct_from(s->device, dtype, ct_shape2(1, i + 1), host);
}

static void move_rows(ct__stream *s, ct_gp *gp, unsigned char *host)
{
    ct_tape_reset(gp->tape);
    ct_call *c = ct_scope_open(gp->tape, "the factor's rows");
    ct__packed L = ct__packed_of(ct_view_of(gp->factor.L), gp->n);
    for (int64_t i = 0; i < gp->n && !s->bad; i++) {
        ct_tensor *row = s->reading ? read_row(s, gp->dtype, i, host)
                                    : ct_empty(s->device, gp->dtype, ct_shape2(1, i + 1));
        if (!row && !s->bad) ct__stream_lacks_memory(s);
        if (!s->bad) move_row(c, &L, i, row, s->reading);
        if (!s->bad && !ct_call_fine(c)) ct__stream_lacks_memory(s);
        if (!s->bad && !s->reading) ct__stream_write(s, row);
        ct_release(row);
    }
    ct_scope_close(c);
    ct_tape_reset(gp->tape);
}

void ct__stream_factor(ct__stream *s, ct_gp *gp)
{
    size_t size = ct_dtype_size(gp->dtype);
    uint64_t count = (uint64_t)gp->n * ((uint64_t)gp->n + 1) / 2;
    if (!s->reading && (s->bad || !s->data)) {
        s->at += (size_t)count * size;
        return;
    }
    if (s->bad || (s->reading && count > (s->size - s->at) / size)) {
        s->bad = true;
        return;
    }
    unsigned char *host = s->reading ? ct__gp_alloc(s->device, (uint64_t)gp->n, size) : NULL;
    if (host) gp->factor.L = ct_zeros(s->device, gp->dtype, ct__packed_shape(gp->n));
    if (gp->factor.L)
        move_rows(s, gp, host);
    else
        ct__stream_lacks_memory(s);
    free(host);
}
