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
struct ct__largest { /* NaN is larger than all */
    template <typename V> __device__ void operator()(V &a, const V &b) const
    {
        if (b > a || b != b) a = b;
    }
};

/* All of them as one, in every thread of a block of up to MOST; add(a, b) adds b to a. A warp adds what lies
 * a warp apart, then each thread adds up what the warp has, in the same order everywhere: the same bits every
 * time, and two or three barriers where halving would need eight or more. */
template <int MOST, typename V, typename Add>
static __device__ __forceinline__ V ct__over_block(V mine, Add add)
{
    enum { WARP = 32 };
    __shared__ V all[MOST];
    const int t = (int)threadIdx.x;
    __syncthreads(); /* all have read what was here last */
    all[t] = mine;
    __syncthreads();
    if (blockDim.x > WARP) {
        for (int k = t + WARP; t < WARP && k < (int)blockDim.x; k += WARP) add(mine, all[k]);
        if (t < WARP) all[t] = mine;
        __syncthreads();
    }
    mine = all[0];
    for (int k = 1; k < WARP; k++) add(mine, all[k]);
    return mine;
}

#endif
