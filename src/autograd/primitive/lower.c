/* The primitives of op.h that work on a triangle in place. */
#include "primitive.h"

static bool is_square(ct_call *c, const ct_view *A) { return ct__one_dtype(c, A, A) && ct__square(c, A); }

void ct_prim_potrf_lower(ct_call *c, int64_t first, ct_view A)
{
    if (is_square(c, &A)) CT__DO(c, potrf_lower, first, &A, ct__call_failure(c));
}

void ct_prim_trtri(ct_call *c, ct_view L)
{
    if (is_square(c, &L)) CT__DO(c, trtri, &L);
}

void ct_prim_lauum(ct_call *c, ct_view L)
{
    if (is_square(c, &L)) CT__DO(c, lauum, &L);
}

bool ct_prim_packed_sweep(ct_call *c, int64_t n, bool inverse, double tolerance, ct_view C, ct_view z,
                          ct_view diagonal)
{
    if (c->status) return true;
    if (!c->tape->device->backend->packed_sweep) return false;
    if (!ct__one_dtype(c, &z, &C) || !ct__one_dtype(c, &diagonal, &C)) return true;
    bool packed = C.dim[0] == n - n / 2 && C.dim[1] >= n + 1 - n % 2;
    bool fits = C.ndim == 2 && (packed || (C.dim[0] == n && C.dim[1] == n)) && z.ndim == 2 && z.dim[0] == n &&
                z.dim[1] == 1 && diagonal.ndim == 1 && diagonal.dim[0] == n;
    if (ct_require(c, !n || fits, CT_ESHAPE, "a packed triangle of %lld rows does not fit its vectors",
                   (long long)n))
        CT__DO(c, packed_sweep, n, inverse, tolerance, &C, &z, &diagonal, ct__call_failure(c));
    return true;
}
