/* Flags the members that have a number outside a domain: positive and finite, nonzero, or finite. */
#include "batch.cuh"
#include "block.cuh"

#include <math.h>

enum { SHARE = 1 << 16, MOST_SHARES = 256 }; /* elements */

/* A block for each share of a member. Its `failed` is the first place, counted from 1, of an x outside the
 * domain, or 0. If there is one, the member's matrix `out` becomes NaN. */
template <typename T>
static __global__ void flag_kernel(ct__batch b, ct__matrix x, ct__matrix out, ct_domain domain,
                                   int64_t shares, int64_t *failed)
{
    const int64_t member = blockIdx.x / shares, threads = blockDim.x, t = threadIdx.x;
    const auto outside = [&](int64_t i) {
        const T value = ct__at_entry<T>(b, x, ct__entry{ member, i, 0 });
        return !(domain == CT_NONZERO ? (T)fabs(value) > 0
                                      : value - value == 0 && (domain == CT_FINITE || value > 0));
    };
    const int64_t first = ct__first<CT__BLOCK>(x.rows, outside, blockIdx.x % shares, shares);
    if (!t) failed[blockIdx.x] = first < x.rows ? first + 1 : 0;
    if (first == x.rows) return;
    for (int64_t e = t; e < out.rows * out.cols; e += threads)
        ct__at_entry<T>(b, out, ct__entry{ member, e / out.cols, e % out.cols }) = (T)NAN;
}

ct_status ct__cuda_flag(ct_device *dev, ct_domain domain, const ct_view *x, const char *what, const char *why,
                        ct_view *out, ct_failure *failure)
{
    ct__matrices<2> b(dev, { x, out ? out : x });
    if (!b.members || !b.m[0].rows) return CT_OK;
    if (!out) b.m[1].rows = 0;
    const int64_t shares = out ? 1 : ct__min(1 + b.m[0].rows / SHARE, MOST_SHARES);
    const ct__workspace failed(b, b.members * shares * (int64_t)sizeof(int64_t));
    CT__BATCH_BLOCKS("flag", b, flag_kernel, b.members * shares, CT__BLOCK, b.m[0], b.m[1], domain, shares,
                     failed);
    return ct__note_failure(b, failed, 0, what, why, failure, shares);
}
