/* The primitives of op.h: broadcast the inputs' batches to the output's, check, and hand over to the
 * backend. */
#include "internal.h"

static const ct_backend *backend(ct_call *c) { return c->tape->device->backend; }

bool ct__usable(ct_call *c, const ct_tensor *t)
{
    return !c->status && ct_require(c, t, CT_EINVAL, "a tensor given to a primitive is NULL") &&
           ct_require(c, t->storage->device == c->tape->device, CT_EDEVICE,
                      "a tensor given to a primitive is on another device");
}

/* As ct__one_dtype, which may be bf16 or f16. */
static bool one_dtype(ct_call *c, const ct_tensor *t, const ct_tensor *out)
{
    return ct__usable(c, t) && ct__usable(c, out) &&
           ct_require(c, t->dtype == out->dtype, CT_EDTYPE,
                      "a primitive was given %s and %s, it takes one dtype", ct_dtype_name(t->dtype),
                      ct_dtype_name(out->dtype)) &&
           ct_require(c, t->dtype != CT_I64, CT_EDTYPE, "a primitive was given i64, it takes f64 or f32");
}

bool ct__one_dtype(ct_call *c, const ct_tensor *t, const ct_tensor *out)
{
    return one_dtype(c, t, out) &&
           ct_require(c, t->dtype <= CT_F32, CT_EDTYPE, "a primitive was given %s, it takes f64 or f32",
                      ct_dtype_name(t->dtype));
}

const ct_tensor *ct__match_batch(ct_call *c, const ct_tensor *t, const ct_tensor *out, ct_tensor *view)
{
    if (!ct__usable(c, t) || !ct__usable(c, out)) return NULL;
    if (t->ndim == 2 && out->ndim == 2) return t;
    if (!ct_require(c, t->ndim >= 2 && out->ndim >= 2, CT_ESHAPE, "a matrix needs two dimensions"))
        return NULL;
    ct_shape shape = ct_tensor_shape(out);
    shape.dim[shape.ndim - 2] = ct_tensor_dim(t, -2);
    shape.dim[shape.ndim - 1] = ct_tensor_dim(t, -1);
    *view = *t;
    view->ndim = shape.ndim;
    for (int i = 0; i < shape.ndim; i++) view->dim[i] = shape.dim[i];
    bool fits = ct_require(c, ct__broadcast_strides(t, shape, view->stride), CT_ESHAPE,
                           "batch dimensions do not broadcast to the result's");
    return fits ? view : NULL;
}

void ct_prim_copy(ct_call *c, const ct_tensor *src, ct_tensor *dst)
{
    if (ct__usable(c, src) && ct__usable(c, dst)) ct__call_status(c, ct_copy(src, dst));
}

void ct_prim_fill(ct_call *c, ct_tensor *dst, double value)
{
    if (ct__usable(c, dst)) ct__call_status(c, backend(c)->fill(c->tape->device, value, dst));
}

/* t broadcast to the shape of `out`; NULL, and the call has failed, where it does not fit. */
static const ct_tensor *spread(ct_call *c, const ct_tensor *t, const ct_tensor *out, ct_tensor *view)
{
    ct_shape shape = ct_tensor_shape(out);
    *view = *t;
    view->ndim = shape.ndim;
    for (int i = 0; i < shape.ndim; i++) view->dim[i] = shape.dim[i];
    bool fits = ct_require(c, ct__broadcast_strides(t, shape, view->stride), CT_ESHAPE,
                           "the factors of a product do not broadcast to the result's shape");
    return fits ? view : NULL;
}

void ct_prim_mul(ct_call *c, const ct_tensor *A, const ct_tensor *B, ct_tensor *out)
{
    ct_tensor a_view, b_view;
    if (!one_dtype(c, A, out) || !one_dtype(c, B, out)) return;
    const ct_tensor *a = spread(c, A, out, &a_view), *b = spread(c, B, out, &b_view);
    if (a && b) ct__call_status(c, backend(c)->map2(c->tape->device, CT_MAP_mul, a, b, out));
}

void ct_prim_gemm(ct_call *c, double alpha, const ct_tensor *A, const ct_tensor *B, double beta, ct_tensor *C)
{
    ct_tensor a_view, b_view;
    if (!one_dtype(c, A, C) || !one_dtype(c, B, C)) return;
    const ct_tensor *a = ct__match_batch(c, A, C, &a_view), *b = ct__match_batch(c, B, C, &b_view);
    if (!a || !b) return;
    if (ct_require(c,
                   ct_tensor_dim(A, -1) == ct_tensor_dim(B, -2) &&
                       ct_tensor_dim(C, -2) == ct_tensor_dim(A, -2) &&
                       ct_tensor_dim(C, -1) == ct_tensor_dim(B, -1),
                   CT_ESHAPE, "the matrices of a product do not fit"))
        ct__call_status(c, backend(c)->gemm(c->tape->device, alpha, a, b, beta, C));
}

void ct_prim_syrk(ct_call *c, double alpha, const ct_tensor *A, double beta, ct_tensor *C)
{
    ct_tensor view;
    const ct_tensor *a = ct__one_dtype(c, A, C) ? ct__match_batch(c, A, C, &view) : NULL;
    if (!a) return;
    if (ct_require(
            c, ct_tensor_dim(C, -2) == ct_tensor_dim(C, -1) && ct_tensor_dim(C, -1) == ct_tensor_dim(A, -2),
            CT_ESHAPE, "the matrices of a symmetric product do not fit"))
        ct__call_status(c, backend(c)->syrk(c->tape->device, alpha, a, beta, C));
}

void ct_prim_potrf(ct_call *c, ct_tensor *A)
{
    if (!ct__one_dtype(c, A, A)) return;
    if (ct_require(c, A->ndim >= 2 && ct_tensor_dim(A, -2) == ct_tensor_dim(A, -1), CT_ESHAPE,
                   "a factorisation needs square matrices"))
        ct__call_status(c, backend(c)->potrf(c->tape->device, A, ct__call_failure(c)));
}

/* All of a contiguous x as one column; NULL, and the call has failed, where it is not. */
static const ct_tensor *one_column(ct_call *c, const ct_tensor *x, ct_tensor *view)
{
    if (!ct_require(c, ct_tensor_is_contiguous(x), CT_EINVAL,
                    "ct_prim_flag without an out needs a contiguous x"))
        return NULL;
    *view = *x;
    view->ndim = 2;
    view->dim[0] = ct_tensor_count(x);
    view->dim[1] = view->stride[0] = view->stride[1] = 1;
    return view;
}

void ct_prim_flag(ct_call *c, ct_domain domain, const ct_tensor *x, const char *what, const char *why,
                  ct_tensor *out)
{
    ct_tensor view;
    if (!ct__one_dtype(c, x, out ? out : x)) return;
    const ct_tensor *column = out ? ct__match_batch(c, x, out, &view) : one_column(c, x, &view);
    if (column && ct_require(c, what && why && ct_tensor_dim(column, -1) == 1, CT_EINVAL,
                             "ct_prim_flag needs words, and a column for each member"))
        ct__call_status(
            c, backend(c)->flag(c->tape->device, domain, column, what, why, out, ct__call_failure(c)));
}

/* A triangular T against B, from the left or the right. */
static const ct_tensor *match_triangular(ct_call *c, unsigned flags, const ct_tensor *T, const ct_tensor *B,
                                         ct_tensor *view)
{
    const ct_tensor *t = ct__one_dtype(c, T, B) ? ct__match_batch(c, T, B, view) : NULL;
    int64_t n = ct_tensor_dim(T, -1);
    bool fits = t &&
                ct_require(c, flags <= (CT_UPPER | CT_TRANS | CT_UNIT | CT_RIGHT), CT_EINVAL,
                           "unknown flags %#x", flags) &&
                ct_require(c, ct_tensor_dim(T, -2) == n && ct_tensor_dim(B, flags & CT_RIGHT ? -1 : -2) == n,
                           CT_ESHAPE, "the triangular matrix does not fit the other side");
    return fits ? t : NULL;
}

void ct_prim_trsm(ct_call *c, unsigned flags, double alpha, const ct_tensor *T, ct_tensor *B)
{
    ct_tensor view;
    const ct_tensor *t = match_triangular(c, flags, T, B, &view);
    if (t) ct__call_status(c, backend(c)->trsm(c->tape->device, flags, alpha, t, B));
}

void ct_prim_trmm(ct_call *c, unsigned flags, double alpha, const ct_tensor *T, ct_tensor *B)
{
    ct_tensor view;
    const ct_tensor *t = match_triangular(c, flags, T, B, &view);
    if (t) ct__call_status(c, backend(c)->trmm(c->tape->device, flags, alpha, t, B));
}

void ct_prim_triangle(ct_call *c, const ct_tensor *src, bool upper, int64_t k, ct_tensor *dst)
{
    ct_tensor view;
    const ct_tensor *x = ct__one_dtype(c, src, dst) ? ct__match_batch(c, src, dst, &view) : NULL;
    if (x) ct__call_status(c, backend(c)->triangle(c->tape->device, x, upper, k, dst));
}
