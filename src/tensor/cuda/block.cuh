/* Reductions over the threads of a block, and checks of indices. */
#ifndef CT_TENSOR_CUDA_BLOCK_CUH
#define CT_TENSOR_CUDA_BLOCK_CUH

#include "cuda.h"

#include <cub/block/block_reduce.cuh>

struct ct__plus {
    template <typename V> __device__ V operator()(V a, V b) const { return a + b; }
};

/* The reduction of `mine` over a block of THREADS threads by add(a, b); every thread gets it. */
template <int THREADS, typename V, typename Add>
static __device__ __forceinline__ V ct__over_block(V mine, Add add)
{
    typedef cub::BlockReduce<V, THREADS> reduce;
    CT__SHARED(typename reduce::TempStorage, storage, );
    CT__SHARED(V, all, );
    __syncthreads(); /* every thread has read the previous contents */
    mine = reduce(storage).Reduce(mine, add);
    if (!threadIdx.x) all = mine;
    __syncthreads();
    return all;
}

/* The first i < n with bad(i) in the block's share, or n. The threads share the search, and all get the
 * answer. The loop has no early exit, so loads overlap. */
template <int THREADS, typename Bad>
static __device__ __forceinline__ int64_t ct__first(int64_t n, Bad bad, int64_t share = 0, int64_t shares = 1)
{
    int64_t mine = n;
    for (int64_t i = share * THREADS + threadIdx.x; i < n; i += shares * THREADS)
        if (bad(i) && i < mine) mine = i;
    return ct__over_block<THREADS>(mine, [](int64_t a, int64_t b) { return a < b ? a : b; });
}

/* -- checks of indices -----------------------------------------------------------------------------------
 * Up to CT__CHECKERS blocks share a check. Each notes the first bad index that it finds in its own place; the
 * host reports the first of all. */

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
#define CT__RUN_CHECK(dev, name, kernel, n, ...)                                                     \
    CT__RUN_BLOCKS(dev, name, kernel, ct__min(ct__divide_up(n, CT__BLOCK), CT__CHECKERS), CT__BLOCK, \
                   ct__new_check(ct__cuda_of(dev), name), __VA_ARGS__)

/* Whether to report nothing, because this block or an earlier check has already found a bad index. */
static inline __device__ bool ct__silent(const ct__check &c)
{
    if (c.bad[blockIdx.x].order) return true;
    for (int k = 0; k < CT__CHECKERS; k++)
        if (c.bad[k].order && c.bad[k].order != c.order) return true;
    return false;
}

/* Notes the first place with bad(i) in a block's share of n places, and its value(i). `orders`: a bad value
 * inside [0, extent) occurs twice. */
template <typename Value, typename Bad>
static __device__ void ct__check_places(const ct__check &c, int64_t n, int64_t extent, bool orders,
                                        Value value, Bad bad)
{
    const int64_t first = ct__first<CT__BLOCK>(n, bad, blockIdx.x, gridDim.x);
    if (threadIdx.x || first == n || ct__silent(c)) return;
    const bool twice = orders && 0 <= value(first) && value(first) < extent;
    c.bad[blockIdx.x] = ct__bad{ c.order, c.what, first, value(first), twice ? -extent : extent };
}

#endif
