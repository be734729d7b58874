/* The primitives of op.h on one triangle in place. */
#include "internal.h"

static bool square(ct_call *c, const ct_tensor *A)
{
    return !c->status && A &&
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
