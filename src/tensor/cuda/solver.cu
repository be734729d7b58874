/* Factors by cuSOLVER, one member after the other. */
#include "batch.cuh"
#include "block.cuh"

#include <math.h>

/* One block. failed[member] is what cuSOLVER says, where `info` is given, or the first element of the
 * diagonal, from 1, that is not finite and positive, which it may not have seen. With exchanges of rows their
 * signs do not count, and the exchanges, which cuSOLVER counts from 1, become ours. */
template <typename T>
static __global__ void verdict_kernel(ct__batch b, ct__matrix m, int64_t member, const int *info,
                                      int64_t *pivot, int64_t *failed)
{
    const int64_t n = m.rows, first = ct__first<CT__BLOCK>(n, [&](int64_t i) {
                                  const T d = ct__at_entry<T>(b, m, ct__entry{ member, i, i });
                                  return !((pivot ? fabs(d) : d) > 0 && fabs(d) < (T)INFINITY);
                              });
    for (int64_t j = threadIdx.x; pivot && j < n; j += CT__BLOCK)
        pivot[j] = pivot[j] > j + 1 && pivot[j] <= n ? pivot[j] - 1 : j;
    if (!threadIdx.x) failed[member] = info && info[0] > 0 ? info[0] : first < n ? first + 1 : 0;
}

/* What cuSOLVER works in: memory of the device and of the host as it asks for, and its verdict, on the
 * device. */
struct room {
    size_t device_bytes, host_bytes;
    void *data, *host;
    int *info;
};

/* sizes(&room) asks for the bytes, factor(a, room, pivot) does the work. pivot NULL: there are no
 * exchanges. */
template <typename Sizes, typename Factor>
static ct_status looped(ct_device *dev, const char *what, const ct__batch *b, const ct__matrix &m,
                        int64_t *pivot, int64_t *failed, Sizes sizes, Factor factor)
{
    room r = {};
    ct_status s = ct__cusolver_status(dev, what, sizes(&r));
    if (s) return s;
    const ct__scratch memory(dev, (int64_t)r.device_bytes + CT__SOLVER_ALIGNMENT);
    if (memory.data && r.host_bytes) r.host = ct__cuda_host_workspace(dev, r.host_bytes);
    if (!memory.data || (r.host_bytes && !r.host)) return CT_ENOMEM;
    r.info = memory;
    r.data = (char *)memory.data + CT__SOLVER_ALIGNMENT;
    for (int64_t i = 0; i < b->members && !s; i++) {
        char *a = m.data + ct__member_at(*b, m, i) * ct__bytes_of(b);
        int64_t *exchanged = pivot ? pivot + i * m.rows : NULL;
        s = ct__cusolver_status(dev, what, factor(a, r, exchanged));
        if (!s)
            s = CT__BATCH_BLOCKS(dev, what, *b, verdict_kernel, 1, CT__BLOCK, m, i, pivot ? NULL : r.info,
                                 exchanged, failed);
    }
    return s;
}

ct_status ct__cholesky_looped(ct_device *dev, const ct__batch *b, const ct__matrix &A, int64_t *failed)
{
    const ct__cuda *cuda = ct__cuda_of(dev);
    const cudaDataType type = b->dtype == CT_F64 ? CUDA_R_64F : CUDA_R_32F;
    const cublasFillMode_t fill = A.columns ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    const int64_t n = A.rows, ld = A.columns ? A.cs : A.rs;
    const auto sizes = [&](room *r) {
        return cusolverDnXpotrf_bufferSize(cuda->solver, cuda->params, fill, n, type, A.data, ld, type,
                                           &r->device_bytes, &r->host_bytes);
    };
    return looped(dev, "cholesky", b, A, NULL, failed, sizes, [&](void *a, const room &r, int64_t *) {
        return cusolverDnXpotrf(cuda->solver, cuda->params, fill, n, type, a, ld, type, r.data,
                                r.device_bytes, r.host, r.host_bytes, r.info);
    });
}

ct_status ct__lu_looped(ct_device *dev, const ct__batch *b, const ct__matrix &m, int64_t *pivot,
                        int64_t *failed)
{
    const ct__cuda *cuda = ct__cuda_of(dev);
    const cudaDataType type = b->dtype == CT_F64 ? CUDA_R_64F : CUDA_R_32F;
    const int64_t n = m.rows;
    const auto sizes = [&](room *r) {
        return cusolverDnXgetrf_bufferSize(cuda->solver, cuda->params, n, n, type, m.data, m.cs, type,
                                           &r->device_bytes, &r->host_bytes);
    };
    return looped(dev, "lu", b, m, pivot, failed, sizes, [&](void *a, const room &r, int64_t *exchanged) {
        return cusolverDnXgetrf(cuda->solver, cuda->params, n, n, type, a, m.cs, exchanged, type, r.data,
                                r.device_bytes, r.host, r.host_bytes, r.info);
    });
}
