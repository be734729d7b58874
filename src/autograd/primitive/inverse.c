/* The primitives that invert, and their adjoints. */
#include "primitive.h"

/* Whether `whole` is square, and `part` is square or a column (for a diagonal) of the same extent. */
static bool match(ct_call *c, const ct_view *whole, const ct_view *part)
{
    const int64_t n = ct__dim(part, -2), cols = ct__dim(part, -1);
    return ct__square(c, whole) &&
           ct_require(c, ct__dim(whole, -1) == n && (cols == n || cols == 1), CT_ESHAPE,
                      "an inverse needs square matrices of one size, or a column for a diagonal");
}

/* Broadcasts v to out's batch. */
static bool spread(ct_call *c, ct_view *v, const ct_view *out)
{
    return ct__one_dtype(c, v, out) && ct__spread_batch(c, v, out);
}

static bool match_square(ct_call *c, ct_view *A, const ct_view *out)
{
    return spread(c, A, out) && match(c, A, out) && ct__square(c, out);
}

/* Whether order is i64 (..., n), one for each row of v. */
static bool orders(ct_call *c, const ct_view *order, const ct_view *v)
{
    return ct__usable(c, order) &&
           ct_require(c,
                      order->dtype == CT_I64 && order->ndim >= 1 && order->ndim < v->ndim &&
                          ct__dim(order, -1) == ct__dim(v, -2),
                      CT_ESHAPE, "the order of the rows must be i64, one for each");
}

void ct_prim_potri(ct_call *c, ct_view A, ct_view A_inv)
{
    if (spread(c, &A, &A_inv) && match(c, &A, &A_inv)) CT__DO(c, potri, &A, &A_inv, ct__call_failure(c));
}

void ct_prim_getrf(ct_call *c, ct_view A, ct_view LU, ct_view order)
{
    if (!match_square(c, &A, &LU) || !orders(c, &order, &LU)) return;
    const ct_view column = ct_view_unsqueeze(order, -1);
    if (ct_require(c, ct__one_batch(&column, &LU) && ct__is_contiguous(&order), CT_ESHAPE,
                   "the order of the rows must be contiguous, with the batch of the factors"))
        CT__DO(c, getrf, &A, &LU, &order, ct__call_failure(c));
}

void ct_prim_getri(ct_call *c, ct_view A, ct_view A_inv)
{
    if (spread(c, &A, &A_inv) && match(c, &A, &A_inv)) CT__DO(c, getri, &A, &A_inv, ct__call_failure(c));
}

void ct_prim_inverse_bar(ct_call *c, bool symmetric, ct_view A_inv, ct_view G, ct_view A_bar)
{
    if (match_square(c, &A_inv, &A_bar) && spread(c, &G, &A_bar) && match(c, &A_bar, &G))
        CT__DO(c, inverse_bar, symmetric, &A_inv, &G, &A_bar);
}

bool ct__keeps_root(const ct_call *c, int64_t members, int64_t n)
{
    const ct_device *device = c->tape->device;
    return device->backend->keeps_root && device->backend->keeps_root(device, members, n);
}

/* Whether root holds a triangle for each member of out. */
static bool roots(ct_call *c, const ct_view *root, const ct_view *out)
{
    ct_shape shape = ct__shape(out);
    const int64_t n = ct__dim(out, -2);
    shape.dim[shape.ndim - 2] = 1;
    shape.dim[shape.ndim - 1] = n * (n + 1) / 2;
    return ct__one_dtype(c, root, out) &&
           ct_require(c, ct_shape_equal(ct__shape(root), shape) && ct__is_contiguous(root), CT_ESHAPE,
                      "the root must hold a packed triangle for each matrix, contiguous");
}

void ct__potri_root(ct_call *c, ct_view A, ct_view root, ct_view A_inv)
{
    if (spread(c, &A, &A_inv) && match(c, &A, &A_inv) && roots(c, &root, &A_inv))
        CT__DO(c, potri_root, &A, &root, &A_inv, ct__call_failure(c));
}

void ct__inverse_root_bar(ct_call *c, ct_view root, ct_view G, ct_view A_bar)
{
    if (spread(c, &G, &A_bar) && match(c, &A_bar, &G) && roots(c, &root, &A_bar))
        CT__DO(c, inverse_root_bar, &root, &G, &A_bar);
}

void ct_prim_permute_rows(ct_call *c, ct_view src, ct_view order, bool back, ct_view dst)
{
    if (!ct__one_dtype(c, &src, &dst) || !ct__spread_batch(c, &src, &dst) || !orders(c, &order, &dst)) return;
    if (!ct_require(c, ct__dim(&src, -1) == ct__dim(&dst, -1) && ct__dim(&src, -2) == ct__dim(&dst, -2),
                    CT_ESHAPE, "a permutation of rows keeps the shape"))
        return;
    order =
        ct_view_unsqueeze(order, -1); /* (..., n, 1), so that its batch is all but the last two dimensions */
    if (ct__spread_batch(c, &order, &dst)) CT__DO(c, permute_rows, &src, &order, back, &dst);
}

void ct_prim_lu_det(ct_call *c, ct_view A, ct_view log_abs, ct_view sign)
{
    if (!ct__one_dtype(c, &A, &log_abs) || !ct__one_dtype(c, &A, &sign) || !ct__square(c, &A)) return;
    ct_shape batch = ct__shape(&A);
    batch.ndim -= 2;
    if (ct_require(c,
                   ct_shape_equal(batch, ct__shape(&log_abs)) && ct__same_shape(&log_abs, &sign) &&
                       ct__is_contiguous(&log_abs) && ct__is_contiguous(&sign),
                   CT_ESHAPE, "log_abs and sign must hold one number for each matrix, contiguous"))
        CT__DO(c, lu_det, &A, &log_abs, &sign, ct__call_failure(c));
}
