/* Looks for indices out of their range. Up to CT__CHECKERS blocks share a check, each notes the first that it
 * found in a place of its own, and the host takes the first of all. */
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

/* Queues a kernel that checks n places. */
#define CT__RUN_CHECK(dev, name, kernel, n, ...)                                                         \
    CT__RUN_BLOCKS(dev, name, kernel, ct__smaller(ct__divide_up(n, CT__BLOCK), CT__CHECKERS), CT__BLOCK, \
                   ct__new_check(ct__cuda_of(dev), name), __VA_ARGS__)

/* Whether nothing is to be said: here, or in an earlier check anywhere, something was found before. */
static inline __device__ bool ct__silent(const ct__check &c)
{
    if (c.bad[blockIdx.x].order) return true;
    for (int k = 0; k < CT__CHECKERS; k++)
        if (c.bad[k].order && c.bad[k].order != c.order) return true;
    return false;
}

/* A block's share of n places: the first that is bad(i) is noted, with its value(i). `orders`: what is inside
 * [0, extent) is there twice. There is no way out of the loop, so the loads need not wait for one another. */
template <typename Value, typename Bad>
static __device__ void ct__check_places(const ct__check &c, int64_t n, int64_t extent, bool orders,
                                        Value value, Bad bad)
{
    int64_t mine = n;
    CT__EACH(i, n) if (bad(i) && i < mine) mine = i;
    const int64_t first = ct__over_block<CT__BLOCK>(mine, ct__least());
    if (threadIdx.x || first == n || ct__silent(c)) return;
    const bool twice = orders && 0 <= value(first) && value(first) < extent;
    c.bad[blockIdx.x] = ct__bad{ c.order, c.what, first, value(first), twice ? -extent : extent };
}

#endif
