/* A = L Lᵀ by halves, all members together, and A⁻¹ from it. */
#include "paths.h"
#include "tile.cuh"

/* A11 = L11 L11ᵀ,  L21 = A21 L11⁻ᵀ,  A22 - L21 L21ᵀ = L22 L22ᵀ */
static ct_status factor(ct_device *dev, const ct__batch *b, const ct__matrix &A, int64_t first,
                        int64_t *failed)
{
    const int64_t n = A.rows;
    if (n <= CT__TILE) return ct__tile_cholesky(dev, b, A, first, failed);
    const int64_t h = ct__half(n), r = n - h;
    const ct__matrix A11 = ct__block(b, A, 0, 0, h, h), A21 = ct__block(b, A, h, 0, r, h),
                     A22 = ct__block(b, A, h, h, r, r);
    ct_status s = factor(dev, b, A11, first, failed);
    if (!s) s = ct__solve(dev, b, true, false, 1, A11, ct__turned(A21));
    if (!s) s = ct__syrk(dev, b, -1, A21, 1, A22);
    return s ? s : factor(dev, b, A22, first + h, failed);
}

ct_status ct__cholesky_blocked(ct_device *dev, const ct__batch *b, const ct__matrix &A, int64_t *failed)
{
    ct_status s = ct__zero(dev, "cholesky", failed, b->members);
    return s ? s : factor(dev, b, A, 0, failed);
}

/* -- primitives ------------------------------------------------------------------------------------------ */

/* LOWER: L alone is written, as the other triangle may be a matrix of its own. cuSOLVER does not promise to
 * leave it alone. */
enum result { FACTOR, LOWER, INVERSE };

/* out, which may be a, becomes L, or A⁻¹ = L⁻ᵀL⁻¹, or if it is a column the diagonal of A⁻¹. */
static ct_status factored(ct_device *dev, result wanted, int64_t first, const ct_view *a, ct_view *out,
                          ct_failure *failure)
{
    const ct__matrices<2> b({ a, out });
    if (!b.members || !b.m[0].rows) return CT_OK;
    ct__scratch failed(dev, b.members * (int64_t)sizeof(int64_t));
    const int64_t n = b.m[0].rows;
    const bool diagonal = b.m[1].cols != n;
    ct__scratch square(dev, diagonal ? ct__entries(&b, b.m[0]) * ct__bytes_of(&b) : 0);
    if (!failed.data || (diagonal && !square.data)) return CT_ENOMEM;
    const ct__matrix target = diagonal ? ct__dense(&b, square, n, n) : b.m[1];
    const bool lower = wanted == LOWER;
    /* cuSOLVER does not say that its work may be part of a graph: in a step it is ours, recorded or not. */
    const bool looped = !lower && !dev->in_step && ct__one_by_one(CT__POTRF, b.dtype, n, b.members);
    ct__formed f(dev, &b, target, a == out ? ct__formed::LOWER : ct__formed::NOTHING,
                 lower ? ct__formed::LOWER : ct__formed::ALL);
    ct_status s = f.status;
    ct_view whole = ct__as_view(&b, f.m);
    if (!s && a != out) s = ct__copy_lower(dev, &b, b.m[0], f.m);
    if (!s) s = (looped ? ct__cholesky_looped : ct__cholesky_blocked)(dev, &b, f.m, failed);
    if (!s && wanted == FACTOR) s = ct__cuda_triangle(dev, &whole, false, 0, &whole);
    if (!s && wanted == INVERSE) s = ct__invert_lower(dev, &b, f.m);
    if (!s && wanted == INVERSE) s = ct__square_lower(dev, &b, f.m);
    if (!s && wanted == INVERSE) s = ct__mirror_lower(dev, &b, f.m);
    if (!s) s = ct__poison(dev, &b, failed, lower, f.m);
    if (!s) s = f.finish();
    if (!s && diagonal) s = ct__copy_matrices(dev, &b, ct__diagonal(target), b.m[1]);
    return s ? s : ct__note_failure(dev, &b, failed, first, "leading minor %lld", NULL, failure);
}

ct_status ct__cuda_potrf(ct_device *dev, ct_view *a, ct_failure *failure)
{
    return factored(dev, FACTOR, 0, a, a, failure);
}

ct_status ct__cuda_potrf_lower(ct_device *dev, int64_t first, ct_view *a, ct_failure *failure)
{
    return factored(dev, LOWER, first, a, a, failure);
}

ct_status ct__cuda_potri(ct_device *dev, const ct_view *a, ct_view *out, ct_failure *failure)
{
    return factored(dev, INVERSE, 0, a, out, failure);
}
