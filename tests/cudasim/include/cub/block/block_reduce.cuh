/* The part of CUB's sums over a block that the CUDA backend uses; see cuda_runtime.h. Thread 0 alone has the
 * result. */
#ifndef CUDASIM_CUB_BLOCK_REDUCE_CUH
#define CUDASIM_CUB_BLOCK_REDUCE_CUH

#include <cuda_runtime.h>

namespace cub
{
template <class T, int THREADS> class BlockReduce
{
  public:
    struct TempStorage {
        T all[THREADS];
    };
    explicit BlockReduce(TempStorage &storage) : room(storage) {}
    template <class Op> T Reduce(T mine, Op op)
    {
        cudasim::check_block(THREADS);
        room.all[threadIdx.x] = mine;
        __syncthreads();
        if (threadIdx.x) return mine;
        for (int k = 1; k < THREADS; k++) mine = op(mine, room.all[k]);
        return mine;
    }

  private:
    TempStorage &room;
};
} // namespace cub

#endif
