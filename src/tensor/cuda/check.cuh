/* Looks for indices out of their range. CT__CHECKERS blocks share a check, each notes the first that it found
 * in a place of its own, and the host takes the first of all. They may be blocks of a kernel that does
 * something else: then no launch is needed for them. */
#ifndef CT_TENSOR_CUDA_CHECK_CUH
#define CT_TENSOR_CUDA_CHECK_CUH

#include "block.cuh"

typedef struct ct__check {
    ct__bad *bad;
    int64_t order, what;
} ct__check;

static inline ct__check ct__new_check(ct__cuda *cuda, const char *what)
{
    cuda->checked = true;
    return ct__check{ cuda->bad, ++cuda->checks, -(int64_t)(uintptr_t)what };
}

/* As many blocks as n indices keep busy. */
static inline unsigned ct__checkers(int64_t n, int threads)
{
    return (unsigned)ct__smaller(ct__divide_up(n, threads), CT__CHECKERS);
}

/* Whether nothing is to be said: here, or in an earlier check anywhere, something was found before. */
static inline __device__ bool ct__silent(const ct__check &c, unsigned block)
{
    if (c.bad[block].order) return true;
    for (int k = 0; k < CT__CHECKERS; k++)
        if (c.bad[k].order && c.bad[k].order != c.order) return true;
    return false;
}

/* Block number `block` of those that look at n places of x, `step` apart, each at its share: the first one
 * that is bad(i) is noted. `orders`: what is inside [0, extent) is there twice.
 * There is no way out of the loop, so the loads need not wait for one another. */
template <int THREADS, typename Bad>
static __device__ void ct__check_places(const ct__check &c, unsigned block, const int64_t *x, int64_t n,
                                        int64_t step, int64_t extent, bool orders, Bad bad)
{
    int64_t mine = n;
    for (int64_t i = (int64_t)block * THREADS + threadIdx.x; i < n; i += CT__CHECKERS * THREADS)
        if (bad(i) && i < mine) mine = i;
    const int64_t first = ct__over_block<THREADS>(mine, ct__least());
    if (threadIdx.x || first == n || ct__silent(c, block)) return;
    const int64_t value = x[first * step];
    const bool twice = orders && 0 <= value && value < extent;
    c.bad[block] = ct__bad{ c.order, c.what, first, value, twice ? -extent : extent };
}

#endif
