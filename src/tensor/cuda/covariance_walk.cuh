/* For covariance matrices and their gradients: how blocks traverse the pairs of points, and what a thread
 * reads of them.
 *
 * A task is CT__COV_LANES rows by some columns. A thread has one row, whose neighbours in memory belong to
 * neighbouring threads, and 16 bytes of columns at a time, so that one read of a node, a weight or a
 * coordinate serves several pairs. The program and the points are read from global memory through the
 * first-level cache. Node values and sums of a thread are in shared memory as far as it fits. */
#ifndef CT_TENSOR_CUDA_COVARIANCE_WALK_CUH
#define CT_TENSOR_CUDA_COVARIANCE_WALK_CUH

#include "cuda.h"

#include <math.h>

#include "tensor/covariance.h"

enum { CT__COV_THREADS = CT__COV_LANES * CT__COV_WARPS };

/* COUNT: pairs of a thread at a time */
template <typename T> struct ct__pairs {
    enum { COUNT = 16 / sizeof(T), STEP = COUNT * CT__COV_WARPS };
};

/* The pairs to visit: all, those with j <= i, those with j >= i. */
enum { CT__ALL, CT__LOWER, CT__UPPER };

/* Part of a block's memory: its offset in bytes in shared or in global memory. */
struct ct__place {
    int64_t at, global;
};

/* The parts of global memory: the program, its numbers, the points by columns, and memory of blocks. */
enum { CT__PROGRAM, CT__NUMBERS, CT__X, CT__Z, CT__OF_BLOCKS, CT__PARTS };

/* The arguments of a kernel. Integers have 64 bits, so that there is no padding with undefined bytes. */
template <typename T> struct ct__plan {
    const ct_cov_node *nodes;
    const int32_t *dims;
    const T *theta, *weight, *slope; /* as in ct__thread, computed from theta_from */
    const T *theta_from;
    int64_t theta_step;
    int32_t n_nodes, n_params, n_dims, symmetric;
    const T *x, *z; /* n and m points by columns: coordinate k of point i of x at [k * n + i] */
    int64_t n, m, d;
    int64_t part, columns, row_tiles, pieces, tasks, blocks; /* columns: of each piece */
    ct__place values_at, sums_at, x_sums_at;
    int64_t shared, global;       /* bytes of a block planned so far */
    char *workspace;              /* global memory of the blocks */
    int64_t begin[CT__PARTS + 1]; /* offsets of the parts in global memory, and their end, in bytes */
};

/* A thread's view: the program and its pairs (x, z[p]). */
template <typename T> struct ct__thread {
    enum { PAIRS = ct__pairs<T>::COUNT };
    const ct_cov_node *nodes;
    const int32_t *dims;
    /* weight: 1/l² of each active column (CT_DIFFER: 1/l), in the program's order; NaN if it is out of range,
     * so that s is NaN, too. slope: the factor of ∂s/∂l = -slope times a sum, 2/l (1/l for CT_DIFFER) times
     * the weight, or times 1 if all of s has one lengthscale. */
    const T *theta, *weight, *slope;
    T *value; /* node k, pair p: [(k * PAIRS + p) * CT__COV_THREADS]; all but the last node */
    const T *x, *z;
    int64_t x_col, z_col;
    int last;         /* columns to the last pair: less than PAIRS - 1 at the edge of a matrix */
    bool same[PAIRS]; /* a point paired with itself, in the symmetric matrix */

    __device__ __forceinline__ T x_at(int d) const { return x[d * x_col]; }
    __device__ __forceinline__ T z_at(int d, int p) const { return z[d * z_col + (p < last ? p : last)]; }
};

#define CT__EACH_PAIR(p) CT__UNROLL for (int p = 0; p < ct__pairs<T>::COUNT; p++)

/* -- a block --------------------------------------------------------------------------------------------- */

template <typename P, typename T>
static __device__ __forceinline__ P *ct__find(const ct__plan<T> &p, ct__place place, char *shared)
{
    return (P *)(place.global ? p.workspace + blockIdx.x * p.global + place.at : shared + place.at);
}

/* A thread's view at the start: the program and its block's memory. */
template <typename T>
static __device__ __forceinline__ ct__thread<T> ct__open(const ct__plan<T> &p, char *shared)
{
    ct__thread<T> v;
    v.nodes = p.nodes, v.dims = p.dims, v.theta = p.theta, v.weight = p.weight, v.slope = p.slope;
    v.value = ct__find<T>(p, p.values_at, shared) + threadIdx.x;
    v.x_col = p.n, v.z_col = p.m;
    return v;
}

/* Visits the tasks. For each: visit.begin(row); visit.pairs(v, i, j, live) by each thread that has a pair
 * (i, j + p) with live[p]; visit.end(i0, rows, piece) by all. Pairs beyond an edge repeat those at the edge
 * and do not count. */
template <typename T, typename Visitor>
static __device__ __forceinline__ void ct__walk(const ct__plan<T> &p, ct__thread<T> &v, Visitor &visit)
{
    enum { PAIRS = ct__pairs<T>::COUNT, STEP = ct__pairs<T>::STEP };
    const int lane = (int)threadIdx.x % CT__COV_LANES, warp = (int)threadIdx.x / CT__COV_LANES, n = (int)p.n,
              m = (int)p.m, columns = (int)p.columns;
    for (int64_t task = blockIdx.x; task < p.tasks; task += gridDim.x) {
        const int piece = (int)(task / p.row_tiles), i0 = (int)(task % p.row_tiles) * CT__COV_LANES;
        const int rows = n - i0 < CT__COV_LANES ? n - i0 : (int)CT__COV_LANES,
                  i = i0 + (lane < rows ? lane : rows - 1);
        int j0 = piece * columns, end = m - j0 < columns ? m : j0 + columns;
        if (p.part == CT__LOWER && end > i0 + CT__COV_LANES) end = i0 + CT__COV_LANES;
        if (p.part == CT__UPPER && j0 < i0) j0 = i0;
        v.x = p.x + i;
        visit.begin(i);
        for (int j = j0 + warp * PAIRS; j < end; j += STEP) {
            v.z = p.z + j;
            v.last = end - 1 - j;
            bool live[PAIRS], any = false;
            CT__EACH_PAIR(q)
            {
                v.same[q] = p.symmetric && i == j + q;
                live[q] = lane < rows && j + q < end && (p.part != CT__LOWER || j + q <= i) &&
                          (p.part != CT__UPPER || j + q >= i);
                any = any || live[q];
            }
            if (any) visit.pairs(v, i, j, live);
        }
        visit.end(i0, rows, piece);
    }
}

#endif
