/* The primitives of op.h that invert and factor, and their adjoint. */
#include "internal.h"

static const ct_backend *backend(const ct_call *c) { return c->tape->device->backend; }

/* A and out are square, of one extent; A with its batch broadcast to out's. */
static const ct_tensor *square(ct_call *c, const ct_tensor *A, const ct_tensor *out, ct_tensor *view)
{
    const ct_tensor *a = ct__one_dtype(c, A, out) ? ct__match_batch(c, A, out, view) : NULL;
    if (!a) return NULL;
    int64_t n = ct_tensor_dim(A, -1);
    bool fits = ct_tensor_dim(A, -2) == n && ct_tensor_dim(out, -1) == n && ct_tensor_dim(out, -2) == n;
    return ct_require(c, fits, CT_ESHAPE, "an inverse needs square matrices of one size") ? a : NULL;
}

/* Whether order is i64 (..., n), one for each row of t. */
static bool orders(ct_call *c, const ct_tensor *order, const ct_tensor *t)
{
    return ct__usable(c, order) &&
           ct_require(c,
                      order->dtype == CT_I64 && order->ndim >= 1 && order->ndim < t->ndim &&
                          ct_tensor_dim(order, -1) == ct_tensor_dim(t, -2),
                      CT_ESHAPE, "the order of the rows must be i64, one for each");
}

void ct_prim_potri(ct_call *c, const ct_tensor *A, ct_tensor *A_inv)
{
    ct_tensor view;
    const ct_tensor *a = square(c, A, A_inv, &view);
    if (a) ct__call_status(c, backend(c)->potri(c->tape->device, a, A_inv, ct__call_failure(c)));
}

void ct_prim_getrf(ct_call *c, const ct_tensor *A, ct_tensor *LU, ct_tensor *order)
{
    ct_tensor view;
    const ct_tensor *a = square(c, A, LU, &view);
    if (!a || !orders(c, order, LU)) return;
    if (ct_require(c, order->ndim == LU->ndim - 1 && ct_tensor_is_contiguous(order), CT_ESHAPE,
                   "the order of the rows must be contiguous, with the batch of the factors"))
        ct__call_status(c, backend(c)->getrf(c->tape->device, a, LU, order, ct__call_failure(c)));
}

void ct_prim_getri(ct_call *c, const ct_tensor *A, ct_tensor *A_inv)
{
    ct_tensor view;
    const ct_tensor *a = square(c, A, A_inv, &view);
    if (a) ct__call_status(c, backend(c)->getri(c->tape->device, a, A_inv, ct__call_failure(c)));
}

void ct_prim_inverse_bar(ct_call *c, bool symmetric, const ct_tensor *A_inv, const ct_tensor *G,
                         ct_tensor *A_bar)
{
    ct_tensor p_view, g_view;
    const ct_tensor *p = square(c, A_inv, A_bar, &p_view), *g = square(c, G, A_bar, &g_view);
    if (p && g) ct__call_status(c, backend(c)->inverse_bar(c->tape->device, symmetric, p, g, A_bar));
}

bool ct_prim_keeps_root(const ct_call *c, int64_t members, int64_t n)
{
    return backend(c)->keeps_root && backend(c)->keeps_root(c->tape->device, members, n);
}

/* root holds a triangle for each member of out. */
static bool roots(ct_call *c, const ct_tensor *root, const ct_tensor *out)
{
    ct_shape shape = ct_tensor_shape(out);
    const int64_t n = ct_tensor_dim(out, -1);
    shape.dim[shape.ndim - 2] = 1;
    shape.dim[shape.ndim - 1] = n * (n + 1) / 2;
    return ct__usable(c, root) &&
           ct_require(c,
                      ct_shape_equal(ct_tensor_shape(root), shape) && root->dtype == out->dtype &&
                          ct_tensor_is_contiguous(root),
                      CT_ESHAPE, "the root of an inverse is a triangle for each matrix, contiguous") &&
           ct_require(c, backend(c)->potri_root, CT_EUNSUPPORTED, "%s keeps no roots: ct_prim_keeps_root",
                      c->tape->device->name);
}

void ct_prim_potri_root(ct_call *c, const ct_tensor *A, ct_tensor *root, ct_tensor *A_inv)
{
    ct_tensor view;
    const ct_tensor *a = square(c, A, A_inv, &view);
    if (a && roots(c, root, A_inv))
        ct__call_status(c, backend(c)->potri_root(c->tape->device, a, root, A_inv, ct__call_failure(c)));
}

void ct_prim_inverse_root_bar(ct_call *c, const ct_tensor *root, const ct_tensor *G, ct_tensor *A_bar)
{
    ct_tensor view;
    const ct_tensor *g = square(c, G, A_bar, &view);
    if (g && roots(c, root, A_bar))
        ct__call_status(c, backend(c)->inverse_root_bar(c->tape->device, root, g, A_bar));
}

void ct_prim_permute_rows(ct_call *c, const ct_tensor *src, const ct_tensor *order, bool back, ct_tensor *dst)
{
    ct_tensor view, column, order_view;
    const ct_tensor *x = ct__one_dtype(c, src, dst) ? ct__match_batch(c, src, dst, &view) : NULL;
    if (!x || !orders(c, order, dst)) return;
    if (!ct_require(c,
                    ct_tensor_dim(src, -1) == ct_tensor_dim(dst, -1) &&
                        ct_tensor_dim(src, -2) == ct_tensor_dim(dst, -2),
                    CT_ESHAPE, "a permutation of rows keeps the shape"))
        return;
    column = *order; /* (..., n, 1), so that its batch is all but the last two */
    column.dim[column.ndim] = 1;
    column.stride[column.ndim++] = 1;
    const ct_tensor *p = ct__match_batch(c, &column, dst, &order_view);
    if (p) ct__call_status(c, backend(c)->permute_rows(c->tape->device, x, p, back, dst));
}

void ct_prim_lu_det(ct_call *c, const ct_tensor *A, ct_tensor *log_abs, ct_tensor *sign)
{
    if (!ct__one_dtype(c, A, log_abs) || !ct__one_dtype(c, A, sign)) return;
    ct_shape batch = ct_tensor_shape(A);
    batch.ndim -= 2;
    if (ct_require(c,
                   batch.ndim >= 0 && ct_tensor_dim(A, -1) == ct_tensor_dim(A, -2) &&
                       ct_shape_equal(batch, ct_tensor_shape(log_abs)) && ct__same_shape(log_abs, sign) &&
                       log_abs->dtype == A->dtype && sign->dtype == A->dtype &&
                       ct_tensor_is_contiguous(log_abs) && ct_tensor_is_contiguous(sign),
                   CT_ESHAPE, "a determinant is one number for each matrix, contiguous"))
        ct__call_status(c, backend(c)->lu_det(c->tape->device, A, log_abs, sign, ct__call_failure(c)));
}
