/* The primitives of op.h on one triangle in place. */
#include "internal.h"

static bool square(ct_call *c, const ct_tensor *A)
{
    return ct__one_dtype(c, A, A) &&
           ct_require(c, A->ndim >= 2 && ct_tensor_dim(A, -2) == ct_tensor_dim(A, -1), CT_ESHAPE,
                      "a triangle is one of a square matrix");
}

void ct_prim_potrf_lower(ct_call *c, int64_t first, ct_tensor *A)
{
    ct_device *device = c->tape->device;
    if (square(c, A)) ct__call_status(c, device->backend->potrf_lower(device, first, A, ct__call_failure(c)));
}

void ct_prim_trtri(ct_call *c, ct_tensor *L)
{
    ct_device *device = c->tape->device;
    if (square(c, L)) ct__call_status(c, device->backend->trtri(device, L));
}

void ct_prim_lauum(ct_call *c, ct_tensor *L)
{
    ct_device *device = c->tape->device;
    if (square(c, L)) ct__call_status(c, device->backend->lauum(device, L));
}

bool ct_prim_packed_sweep(ct_call *c, int64_t n, bool inverse, double tolerance, ct_tensor *C, ct_tensor *z,
                          ct_tensor *diagonal)
{
    ct_device *device = c->tape->device;
    if (!device->backend->packed_sweep) return false;
    if (!ct__one_dtype(c, z, C) || !ct__one_dtype(c, diagonal, C)) return true;
    bool packed = C->dim[0] == n - n / 2 && C->dim[1] >= n + 1 - n % 2;
    bool fits = C->ndim == 2 && (packed || (C->dim[0] == n && C->dim[1] == n)) && z->ndim == 2 &&
                z->dim[0] == n && z->dim[1] == 1 && diagonal->ndim == 1 && diagonal->dim[0] == n;
    if (ct_require(c, !n || fits, CT_ESHAPE, "a packed triangle of %lld rows does not fit its vectors",
                   (long long)n))
        ct__call_status(c, device->backend->packed_sweep(device, n, inverse, tolerance, C, z, diagonal,
                                                         ct__call_failure(c)));
    return true;
}
