/* Triangles of up to CT__TILE rows, in place, a block for each. The block's SIDE x SIDE threads, 16 x 16
 * or, for up to 16 rows, 8 x 8, hold the matrix in their registers: thread (y, x) the elements (y + SIDE p,
 * x + SIDE q) for p, q < EACH. They go through it by SIDE columns or rows, block after block:
 *
 *     who holds them puts them into shared memory, as `part`
 *     what makes each depend on the one before is done there: a thread has a whole row, or a column, of part
 *     all others are brought up to date with them at once, out of part, without waiting for anyone
 *
 * A register has no index at run time: loops over p and q are unrolled by the compiler, those over blocks
 * because it is told to. */
#ifndef CT_TENSOR_CUDA_TILE_BLOCK_CUH
#define CT_TENSOR_CUDA_TILE_BLOCK_CUH

#include "tile.cuh"

/* This thread's place: x along what lies closer together, so that neighbours load neighbours. */
template <int SIDE> struct ct__seat {
    int y, x;
    __device__ ct__seat(const ct__matrix &m)
    {
        const int t = (int)threadIdx.x, slow = t / SIDE, fast = t % SIDE;
        const bool by_row = m.cs <= m.rs;
        y = by_row ? slow : fast;
        x = by_row ? fast : slow;
    }
};

/* KERNEL(T, SIDE, EACH), as the dtype of b is and with as few threads and registers as the extent n allows,
 * on b and what follows. */
#define CT__TILE_RUN(dev, what, b, n, blocks, KERNEL, ...)                       \
    ((n) <= 16   ? CT__TILE_AS(8, 2, dev, what, b, blocks, KERNEL, __VA_ARGS__)  \
     : (n) <= 32 ? CT__TILE_AS(16, 2, dev, what, b, blocks, KERNEL, __VA_ARGS__) \
     : (n) <= 64 ? CT__TILE_AS(16, 4, dev, what, b, blocks, KERNEL, __VA_ARGS__) \
                 : CT__TILE_AS(16, CT__TILE / 16, dev, what, b, blocks, KERNEL, __VA_ARGS__))
#define CT__TILE_AS(SIDE, EACH, dev, what, b, blocks, KERNEL, ...)                                      \
    ((b).dtype == CT_F64                                                                                \
         ? CT__RUN_BLOCKS(dev, what, (KERNEL(double, SIDE, EACH)), blocks, SIDE * SIDE, b, __VA_ARGS__) \
         : CT__RUN_BLOCKS(dev, what, (KERNEL(float, SIDE, EACH)), blocks, SIDE * SIDE, b, __VA_ARGS__))

/* SIDE of a triangle of n rows. */
static inline int ct__tile_side(int64_t n) { return n <= 16 ? 8 : 16; }

#endif
