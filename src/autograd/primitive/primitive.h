/* Shared by the primitives. Each primitive checks its views, broadcasts the inputs to the output, and calls
 * the backend. */
#ifndef CT_AUTOGRAD_PRIMITIVE_H
#define CT_AUTOGRAD_PRIMITIVE_H

#include "autograd/internal.h"
#include "tensor/debug.h"

/* Each of these returns whether its condition holds; if not, the call has failed. */

/* v is a view on the call's device. Refusals are rare, so their code is out of line. */
bool ct__refuse_view(ct_call *c, const ct_view *v);
static inline bool ct__usable(ct_call *c, const ct_view *v)
{
    const bool usable =
        (!c->status && v->storage && v->storage->device == c->tape->device) || ct__refuse_view(c, v);
    ct__assert(!usable || ct__is_laid_out(v));
    return usable;
}
/* The same for two of one dtype: both floating; both f64 or both f32. */
bool ct__refuse_dtypes(ct_call *c, const ct_view *v, const ct_view *out);
static inline bool ct__one_floating(ct_call *c, const ct_view *v, const ct_view *out)
{
    return ct__usable(c, v) && ct__usable(c, out) &&
           ((v->dtype == out->dtype && v->dtype != CT_I64) || ct__refuse_dtypes(c, v, out));
}
bool ct__one_dtype(ct_call *c, const ct_view *v, const ct_view *out);
/* The same for v, which is then broadcast: to out's shape; or, keeping its own matrix, to out's batch (all
 * but the last two dimensions). */
bool ct__spread(ct_call *c, ct_view *v, const ct_view *out);
bool ct__spread_batch(ct_call *c, ct_view *v, const ct_view *out);
/* v is a square matrix, or a batch of them. */
bool ct__square(ct_call *c, const ct_view *v);

/* Whether a and b have the same batch dimensions, all but the last two. */
static inline bool ct__one_batch(const ct_view *a, const ct_view *b)
{
    return a->ndim >= 2 && a->ndim == b->ndim &&
           !memcmp(a->dim, b->dim, (size_t)(a->ndim - 2) * sizeof *a->dim);
}

/* An optional view in the form that backends take: NULL if left out. */
static inline const ct_view *ct__given(const ct_view *v) { return v->storage ? v : NULL; }
static inline ct_view *ct__wanted(ct_view *v) { return v->storage ? v : NULL; }

/* Calls NAME(device, ...) of the call's backend, whose status becomes the call's. */
#define CT__DO(c, name, ...) \
    ct__call_status(c, (c)->tape->device->backend->name((c)->tape->device, __VA_ARGS__))

#endif
