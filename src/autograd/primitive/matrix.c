/* The primitives that multiply, solve and factor. */
#include "primitive.h"

/* -- products -------------------------------------------------------------------------------------------- */

/* v itself or, in *copy, v with its batch broadcast to out's; NULL if the call has failed. */
static const ct_view *spread_batch_to(ct_call *c, const ct_view *v, const ct_view *out, ct_view *copy)
{
    if (!ct__one_floating(c, v, out)) return NULL;
    ct__assert(ct__are_apart(v, out));
    if (v->ndim == 2 && out->ndim == 2) return v;
    *copy = *v;
    return ct__spread_batch(c, copy, out) ? copy : NULL;
}

/* Whether C = A B fits. A and B may become views in `copy`, with their batch broadcast to C's. */
static bool match_product(ct_call *c, const ct_view **A, const ct_view **B, const ct_view *C, ct_view copy[2])
{
    *A = spread_batch_to(c, *A, C, &copy[0]);
    *B = spread_batch_to(c, *B, C, &copy[1]);
    return *A && *B &&
           ct_require(c,
                      ct__dim(*A, -1) == ct__dim(*B, -2) && ct__dim(C, -2) == ct__dim(*A, -2) &&
                          ct__dim(C, -1) == ct__dim(*B, -1),
                      CT_ESHAPE, "the matrices of a product do not fit");
}

void ct__gemm(ct_call *c, double alpha, const ct_view *A, const ct_view *B, double beta, ct_view *C)
{
    ct_view copy[2];
    if (match_product(c, &A, &B, C, copy)) CT__DO(c, gemm, alpha, A, B, beta, C);
}

void ct_prim_gemm(ct_call *c, double alpha, ct_view A, ct_view B, double beta, ct_view C)
{
    ct__gemm(c, alpha, &A, &B, beta, &C);
}

void ct_prim_affine(ct_call *c, ct_view A, ct_view B, ct_view D, ct_view C)
{
    ct_view copy[2];
    const ct_view *a = &A, *b = &B;
    if (!match_product(c, &a, &b, &C, copy) || !ct__one_floating(c, &D, &C) || !ct__spread(c, &D, &C)) return;
    if (c->tape->device->backend->affine) {
        CT__DO(c, affine, a, b, &D, &C);
    } else {
        ct_prim_copy(c, D, C);
        CT__DO(c, gemm, 1, a, b, 1, &C);
    }
}

void ct_prim_syrk(ct_call *c, double alpha, ct_view A, double beta, ct_view C)
{
    if (!ct__one_dtype(c, &A, &C) || !ct__spread_batch(c, &A, &C) || !ct__square(c, &C)) return;
    if (ct_require(c, ct__dim(&C, -1) == ct__dim(&A, -2), CT_ESHAPE,
                   "the matrices of a symmetric product do not fit"))
        CT__DO(c, syrk, alpha, &A, beta, &C);
}

void ct_prim_sqdist(ct_call *c, ct_view x, ct_view y, ct_view out)
{
    if (!ct__one_dtype(c, &x, &out) || !ct__one_dtype(c, &y, &out) || !ct__spread_batch(c, &x, &out) ||
        !ct__spread_batch(c, &y, &out))
        return;
    if (ct_require(c,
                   ct__dim(&x, -1) == ct__dim(&y, -1) && ct__dim(&out, -2) == ct__dim(&x, -2) &&
                       ct__dim(&out, -1) == ct__dim(&y, -2),
                   CT_ESHAPE, "the points of distances do not fit"))
        CT__DO(c, sqdist, &x, &y, &out);
}

/* -- sequences ------------------------------------------------------------------------------------------- */

void ct_prim_recurrence(ct_call *c, bool reverse, ct_view a, ct_view b, ct_view y)
{
    if (!ct__one_dtype(c, &a, &y) || !ct__one_dtype(c, &b, &y) || !ct__spread_batch(c, &a, &y) ||
        !ct__spread_batch(c, &b, &y))
        return;
    const int64_t n = ct__dim(&y, -2), m = ct__dim(&y, -1);
    if (ct_require(c, ct__same_shape(&b, &y) && ct__dim(&a, -2) == ct__max(n - 1, 0) && ct__dim(&a, -1) == m,
                   CT_ESHAPE, "a recurrence of n rows needs n rows b and n - 1 rows a"))
        CT__DO(c, recurrence, reverse, &a, &b, &y);
}

/* -- triangles ------------------------------------------------------------------------------------------- */

/* Whether v is a column for the lower triangle of A. */
static bool match_packed(ct_call *c, const ct_view *v, const ct_view *A)
{
    const int64_t n = ct__dim(A, -1);
    return ct__square(c, A) &&
           ct_require(c, ct__dim(v, -2) == n * (n + 1) / 2 && ct__dim(v, -1) == 1, CT_ESHAPE,
                      "a packed triangle of n rows is a column of n (n + 1) / 2 numbers");
}

void ct_prim_pack_lower(ct_call *c, ct_view A, ct_view v)
{
    if (ct__one_dtype(c, &A, &v) && ct__spread_batch(c, &A, &v) && match_packed(c, &v, &A))
        CT__DO(c, pack_lower, &A, &v);
}

void ct_prim_unpack_lower(ct_call *c, ct_view v, ct_view A)
{
    if (ct__one_dtype(c, &v, &A) && ct__spread_batch(c, &v, &A) && match_packed(c, &v, &A))
        CT__DO(c, unpack_lower, &v, &A);
}

/* Whether a triangular T fits B from the left or the right. Broadcasts T to B's batch. */
static bool match_triangular(ct_call *c, unsigned flags, ct_view *T, const ct_view *B)
{
    return ct__one_dtype(c, T, B) && ct__spread_batch(c, T, B) && ct__square(c, T) &&
           ct_require(c, flags <= (CT_UPPER | CT_TRANS | CT_UNIT | CT_RIGHT), CT_EINVAL,
                      "unknown flags %#x: CT_UPPER, CT_TRANS, CT_UNIT and CT_RIGHT may be combined", flags) &&
           ct_require(c, ct__dim(B, flags & CT_RIGHT ? -1 : -2) == ct__dim(T, -1), CT_ESHAPE,
                      "the triangular matrix does not fit the other side");
}

void ct_prim_trsm(ct_call *c, unsigned flags, double alpha, ct_view T, ct_view B)
{
    if (match_triangular(c, flags, &T, &B)) CT__DO(c, trsm, flags, alpha, &T, &B);
}

void ct_prim_trmm(ct_call *c, unsigned flags, double alpha, ct_view T, ct_view B)
{
    if (match_triangular(c, flags, &T, &B)) CT__DO(c, trmm, flags, alpha, &T, &B);
}

void ct_prim_triangle(ct_call *c, ct_view src, bool upper, int64_t k, ct_view dst)
{
    if (ct__one_dtype(c, &src, &dst) && ct__spread_batch(c, &src, &dst) &&
        ct_require(c, ct__same_shape(&src, &dst), CT_ESHAPE, "a triangle keeps the shape of its matrix"))
        CT__DO(c, triangle, &src, upper, k, &dst);
}

/* -- factors --------------------------------------------------------------------------------------------- */

void ct_prim_potrf(ct_call *c, ct_view A)
{
    if (ct__one_dtype(c, &A, &A) && ct__square(c, &A)) CT__DO(c, potrf, &A, ct__call_failure(c));
}

void ct_prim_eigen(ct_call *c, ct_view A, ct_view w)
{
    if (ct__one_dtype(c, &A, &w) && ct__square(c, &A) &&
        ct_require(c,
                   ct__one_batch(&A, &w) && ct__dim(&w, -2) == 1 && ct__dim(&w, -1) == ct__dim(&A, -1) &&
                       ct__is_contiguous(&A) && ct__is_contiguous(&w),
                   CT_ESHAPE, "eigenvalues are (1, n) for each matrix, both contiguous"))
        CT__DO(c, eigen, &A, &w, ct__call_failure(c));
}

static bool is_part(const ct_view *A, const ct_view *part, int64_t rows, int64_t cols)
{
    return ct__one_batch(A, part) && ct__dim(part, -2) == rows && ct__dim(part, -1) == cols &&
           ct__is_contiguous(part);
}

void ct_prim_svd(ct_call *c, ct_view A, ct_view s, ct_view U, ct_view Vt)
{
    const int64_t m = ct__dim(&A, -2), n = ct__dim(&A, -1), r = m < n ? m : n;
    if (ct__one_dtype(c, &A, &s) && ct__one_dtype(c, &A, &U) && ct__one_dtype(c, &A, &Vt) &&
        ct_require(c,
                   is_part(&A, &A, m, n) && is_part(&A, &s, 1, r) && is_part(&A, &U, m, r) &&
                       is_part(&A, &Vt, r, n),
                   CT_ESHAPE, "of r singular values, s is (1, r), U (m, r) and Vt (r, n), all contiguous"))
        CT__DO(c, svd, &A, &s, &U, &Vt, ct__call_failure(c));
}

/* tau (..., 1, min(m, n)), contiguous, of A (..., m, n) */
static bool are_reflectors(ct_call *c, const ct_view *A, const ct_view *tau)
{
    const int64_t m = ct__dim(A, -2), n = ct__dim(A, -1);
    return ct__one_dtype(c, A, tau) &&
           ct_require(c,
                      ct__one_batch(A, tau) && ct__dim(tau, -2) == 1 && ct__dim(tau, -1) == (m < n ? m : n) &&
                          ct__is_contiguous(tau),
                      CT_ESHAPE, "tau must hold min(rows, columns) numbers for each matrix, contiguous");
}

void ct_prim_qr(ct_call *c, double rank_tolerance, ct_view A, ct_view tau)
{
    if (are_reflectors(c, &A, &tau)) CT__DO(c, qr, rank_tolerance, &A, &tau, ct__call_failure(c));
}

void ct_prim_qr_mul(ct_call *c, bool trans, ct_view A, ct_view tau, ct_view C)
{
    if (are_reflectors(c, &A, &tau) && ct__one_dtype(c, &A, &C) && ct__spread_batch(c, &A, &C) &&
        ct__spread_batch(c, &tau, &C) &&
        ct_require(c, ct__dim(&A, -2) == ct__dim(&C, -2), CT_ESHAPE, "the reflectors do not fit the matrix"))
        CT__DO(c, qr_mul, trans, &A, &tau, &C);
}

void ct_prim_tri_rcond(ct_call *c, ct_view R, ct_view out)
{
    if (ct__one_dtype(c, &R, &out) && ct__square(c, &R) &&
        ct_require(c, ct__one_batch(&R, &out) && ct__dim(&out, -1) == 1 && ct__dim(&out, -2) == 1, CT_ESHAPE,
                   "the result must hold one number for each matrix"))
        CT__DO(c, tri_rcond, &R, &out);
}
