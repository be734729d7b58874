/* What the threads of a block have, together. */
#ifndef CT_TENSOR_CUDA_BLOCK_CUH
#define CT_TENSOR_CUDA_BLOCK_CUH

#include "cuda.h"

struct ct__plus {
    template <typename V> __device__ void operator()(V &a, const V &b) const { a += b; }
};
struct ct__least {
    template <typename V> __device__ void operator()(V &a, const V &b) const
    {
        if (b < a) a = b;
    }
};

/* All of them as one, in every thread of a block of up to MOST; add(a, b) adds b to a. A warp adds what lies
 * a warp apart, then each thread adds up what the warp has, in the same order everywhere: the same bits every
 * time, and two or three barriers where halving would need eight or more. */
template <int MOST, typename V, typename Add>
static __device__ __forceinline__ V ct__over_block(V mine, Add add)
{
    CT__SHARED(V, all, [MOST]);
    const int t = (int)threadIdx.x;
    __syncthreads(); /* all have read what was here last */
    all[t] = mine;
    __syncthreads();
    if (blockDim.x > CT__WARP) {
        for (int k = t + CT__WARP; t < CT__WARP && k < (int)blockDim.x; k += CT__WARP) add(mine, all[k]);
        if (t < CT__WARP) all[t] = mine;
        __syncthreads();
    }
    mine = all[0];
    for (int k = 1; k < CT__WARP; k++) add(mine, all[k]);
    return mine;
}

/* The first i < n of which bad(i) holds, or n. The threads of a block share the search; all get the answer.
 * There is no way out of the loop, so loads need not wait for one another. */
template <int MOST, typename Bad> static __device__ __forceinline__ int64_t ct__first(int64_t n, Bad bad)
{
    int64_t mine = n;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
        if (bad(i) && i < mine) mine = i;
    return ct__over_block<MOST>(mine, ct__least());
}

#endif
