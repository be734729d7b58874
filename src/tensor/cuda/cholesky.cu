/* A = L Lᵀ: by halves all members together, or by cuSOLVER one after the other. */
#include "block.cuh"
#include "paths.h"
#include "tile.cuh"

#include <math.h>

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

/* -- one after the other --------------------------------------------------------------------------------- */

/* One block: cuSOLVER's verdict, or the first pivot that is not finite and positive, which it may not have
 * seen. */
template <typename T>
static __global__ void verdict_kernel(ct__batch b, ct__matrix m, int64_t member, const int *info,
                                      int64_t *failed)
{
    const int64_t first = ct__first<CT__BLOCK>(m.rows, [&](int64_t i) {
        const T d = ct__at_entry<T>(b, m, ct__entry{ member, i, i });
        return !(d > 0 && d < (T)INFINITY);
    });
    if (!threadIdx.x) failed[member] = info[0] > 0 ? info[0] : first < m.rows ? first + 1 : 0;
}

ct_status ct__cholesky_looped(ct_device *dev, const ct__batch *b, const ct__matrix &A, int64_t *failed)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    const bool f64 = b->dtype == CT_F64;
    const cudaDataType type = f64 ? CUDA_R_64F : CUDA_R_32F;
    const cublasFillMode_t fill = A.columns ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    const int64_t n = A.rows, ld = A.columns ? A.cs : A.rs;
    size_t device_bytes = 0, host_bytes = 0;
    ct_status s =
        ct__cusolver_status(dev, "cholesky",
                            cusolverDnXpotrf_bufferSize(cuda->solver, cuda->params, fill, n, type, A.data, ld,
                                                        type, &device_bytes, &host_bytes));
    if (s) return s;
    const ct__solver_room room(dev, device_bytes, host_bytes);
    if (room.status) return room.status;
    for (int64_t i = 0; i < b->members && !s; i++) {
        char *a = A.data + ct__member_at(*b, A, i) * ct__bytes_of(b);
        s = ct__cusolver_status(dev, "cholesky",
                                cusolverDnXpotrf(cuda->solver, cuda->params, fill, n, type, a, ld, type,
                                                 room.data, device_bytes, room.host, host_bytes, room.info));
        if (!s)
            s = CT__BATCH_BLOCKS(dev, "cholesky", *b, verdict_kernel, 1, CT__BLOCK, A, i, room.info, failed);
    }
    return s;
}

/* cuSOLVER does not say that its work may be part of a graph: in a step it is ours, recorded or not. */
ct_status ct__cholesky(ct_device *dev, const ct__batch *b, const ct__matrix &A, int64_t *failed)
{
    return !dev->in_step && ct__one_by_one(CT__POTRF, b->dtype, A.rows, b->members)
               ? ct__cholesky_looped(dev, b, A, failed)
               : ct__cholesky_blocked(dev, b, A, failed);
}

ct_status ct__cholesky_failure(ct_device *dev, const ct__batch *b, const int64_t *failed, int64_t first,
                               ct_failure *failure)
{
    return ct__note_failure(dev, b, failed, first, "leading minor %lld", NULL, failure);
}

/* -- primitives ------------------------------------------------------------------------------------------ */

/* `lower`: the other triangle may be a matrix of its own, of which cuSOLVER does not promise to leave it
 * alone. */
static ct_status potrf(ct_device *dev, bool lower, int64_t first, ct_view *a, ct_failure *failure)
{
    const ct__matrices<1> b({ a });
    if (!b.members || !b.m[0].rows) return CT_OK;
    ct__scratch failed(dev, b.members * (int64_t)sizeof(int64_t));
    if (!failed.data) return CT_ENOMEM;
    ct__formed f(dev, &b, b.m[0], ct__formed::LOWER, lower ? ct__formed::LOWER : ct__formed::ALL);
    ct_view whole = ct__as_view(&b, &f.m);
    ct_status s = f.status ? f.status : (lower ? ct__cholesky_blocked : ct__cholesky)(dev, &b, f.m, failed);
    if (!s && !lower) s = ct__cuda_triangle(dev, &whole, false, 0, &whole);
    if (!s) s = ct__poison(dev, &b, failed, lower, &f.m);
    if (!s) s = f.finish();
    return s ? s : ct__cholesky_failure(dev, &b, failed, first, failure);
}

ct_status ct__cuda_potrf(ct_device *dev, ct_view *a, ct_failure *failure)
{
    return potrf(dev, false, 0, a, failure);
}

ct_status ct__cuda_potrf_lower(ct_device *dev, int64_t first, ct_view *a, ct_failure *failure)
{
    return potrf(dev, true, first, a, failure);
}
