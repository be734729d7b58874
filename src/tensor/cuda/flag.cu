/* Numbers that must be positive, not zero, or finite: the members that have another are flagged. */
#include "batch.cuh"
#include "block.cuh"

#include <math.h>

enum { THREADS = 256 };

template <typename T> static __device__ __forceinline__ bool ct__within(ct_domain domain, T value)
{
    return domain == CT_FINITE ? value - value == 0 : (domain == CT_NONZERO ? (T)fabs(value) : value) > 0;
}

/* A block per member. failed[member]: the first place, from 1, of an x outside the domain; 0: none. Then its
 * matrix `out` becomes NaN. */
template <typename T>
static __global__ void flag_kernel(ct__batch b, ct__matrix x, ct__matrix out, ct_domain domain,
                                   int64_t *failed)
{
    const int64_t member = blockIdx.x, threads = blockDim.x, t = threadIdx.x;
    const T *from = (const T *)x.data + ct__member_at(b, x, member);
    int64_t mine = x.rows;
    for (int64_t i = t; i < x.rows; i += threads) {
        if (!ct__within(domain, from[i * x.rs]) && mine == x.rows) mine = i;
    }
    const int64_t first = ct__over_block<THREADS>(mine, ct__least());
    if (!t) failed[member] = first < x.rows ? first + 1 : 0;
    if (first == x.rows) return;
    T *to = (T *)out.data + ct__member_at(b, out, member);
    for (int64_t e = t; e < out.rows * out.cols; e += threads)
        to[e / out.cols * out.rs + e % out.cols * out.cs] = (T)NAN;
}

ct_status ct__cuda_flag(ct_device *dev, ct_domain domain, const ct_view *x, const char *what, const char *why,
                        ct_view *out, ct_failure *failure)
{
    const ct_view *t[] = { x, out ? out : x };
    ct__matrix m[2];
    ct__batch b = ct__make_batch(2, t, m);
    if (!b.members || !m[0].rows) return CT_OK;
    if (!out) m[1].rows = 0;
    ct__scratch failed(dev, b.members * (int64_t)sizeof(int64_t));
    if (!failed.data) return CT_ENOMEM;
    int64_t *flags = (int64_t *)failed.data;
    CT__BATCH_BLOCK(dev, &b, flag_kernel, ct__blocks(b.members), THREADS, m[0], m[1], domain, flags);
    ct_status s = ct__cuda_launched(dev, "flag");
    return s ? s : ct__note_failure(dev, &b, flags, 0, what, why, failure);
}
