/* What the threads of a block have, together. */
#ifndef CT_TENSOR_CUDA_BLOCK_CUH
#define CT_TENSOR_CUDA_BLOCK_CUH

#include "cuda.h"

#include <cub/block/block_reduce.cuh>

struct ct__plus {
    template <typename V> __device__ V operator()(V a, V b) const { return a + b; }
};
struct ct__least {
    template <typename V> __device__ V operator()(V a, V b) const { return b < a ? b : a; }
};

/* All of them as one, in every thread of a block of that many; add(a, b) is a and b together. */
template <int THREADS, typename V, typename Add>
static __device__ __forceinline__ V ct__over_block(V mine, Add add)
{
    typedef cub::BlockReduce<V, THREADS> reduce;
    CT__SHARED(typename reduce::TempStorage, room, );
    CT__SHARED(V, all, );
    __syncthreads(); /* all have read what was here last */
    mine = reduce(room).Reduce(mine, add);
    if (!threadIdx.x) all = mine;
    __syncthreads();
    return all;
}

/* The first i < n of which bad(i) holds, or n. The threads of a block share the search; all get the answer.
 * There is no way out of the loop, so loads need not wait for one another. */
template <int THREADS, typename Bad> static __device__ __forceinline__ int64_t ct__first(int64_t n, Bad bad)
{
    int64_t mine = n;
    for (int64_t i = threadIdx.x; i < n; i += THREADS)
        if (bad(i) && i < mine) mine = i;
    return ct__over_block<THREADS>(mine, ct__least());
}

#endif
