/* What the matrices and the gradients of a covariance kernel share: how blocks go through the pairs of
 * points, and what a thread reads of them.
 *
 * A task is CT__COV_LANES rows by some columns. A thread has one row, with neighbours in memory for its
 * neighbours, and 16 bytes of columns at a time, so that reading a node, a weight or a coordinate serves
 * several pairs. The program, the values of its nodes and a tile of the points are in shared memory while
 * there is room, else in global memory: the same code reads both. */
#ifndef CT_TENSOR_CUDA_COVARIANCE_CUH
#define CT_TENSOR_CUDA_COVARIANCE_CUH

#include "cuda.h"

#include <math.h>

#include "tensor/covariance.h"

/* Coordinate d of point i of a tile in shared memory is at [d * pitch + i]. */
enum {
    CT__COV_THREADS = CT__COV_LANES * CT__COV_WARPS,
    CT__X_PITCH = CT__COV_LANES + 1,
    CT__Z_PITCH = CT__COV_CHUNK + 1,
};

/* pairs that a thread has at once */
template <typename T> struct ct__pairs {
    enum { COUNT = 16 / sizeof(T), STEP = COUNT * CT__COV_WARPS };
};

/* Which pairs there are: all, those with j <= i, those with j >= i. */
enum { CT__ALL, CT__LOWER, CT__UPPER };

/* A part of a block's memory, in bytes from the beginning of what it has of shared or of global memory. */
struct ct__place {
    int64_t at, global;
};

/* What there may be in global memory: the program and its numbers, points by columns, memory of blocks. */
enum { CT__PROGRAM, CT__NUMBERS, CT__X, CT__Z, CT__OF_BLOCKS, CT__PARTS };

typedef struct ct__words {
    int32_t word[CT__COV_PROGRAM / 4];
} ct__words;

/* Coordinate d of point i is at [i * row + d * col]. */
template <typename T> struct ct__points {
    const T *at;
    int64_t row, col;
};

/* The arguments of a kernel. Numbers are as wide as what follows: no padding, whose bytes would be
 * anything. */
template <typename T> struct ct__plan {
    ct__words program; /* or, where it is larger, in global memory: */
    const ct_cov_node
        *nodes; /* else NULL, as the next three: blocks make them of `program` and `theta_from` */
    const int32_t *dims;
    const T *theta, *weight;
    const T *theta_from;
    int64_t theta_step;
    int32_t bytes, n_nodes, n_params, n_dims;
    ct__points<T> x, z; /* n and m of them, with d columns */
    int64_t n, m, d;
    int64_t symmetric, part, columns, row_tiles, pieces, tasks, blocks; /* columns: of each of the pieces */
    int64_t small; /* program and points are in shared memory */
    ct__place program_at, values_at, sums_at, x_sums_at, x_at, z_at;
    int64_t shared, global;       /* bytes of a block so far */
    char *room;                   /* global memory of the blocks */
    int64_t begin[CT__PARTS + 1]; /* of what is in global memory, and where it ends, in bytes */
};

/* What a thread sees: the program, and its pairs (x, z[p]). SHARED: program and points are in shared
 * memory. */
template <typename T, bool SHARED> struct ct__thread {
    enum { PAIRS = ct__pairs<T>::COUNT };
    const ct_cov_node *nodes;
    const int32_t *dims;
    /* weight: 1/l² of each active column, in the order of the program's, NaN where it is not to be used:
     * then s is NaN, too. slope: -∂s/∂l by what is summed up, 2/l³ of it, or 2/l where one lengthscale is
     * for all of s. */
    const T *theta, *weight, *slope;
    T *value; /* of node k and pair p at [(k * PAIRS + p) * CT__COV_THREADS], but the last's */
    const T *x, *z;
    int64_t x_col, z_col, z_row;
    int last;         /* the last pair's distance in columns: less than PAIRS - 1 at the edge of a matrix */
    bool same[PAIRS]; /* a point with itself, in the symmetric matrix */

    __device__ __forceinline__ T x_at(int d) const { return SHARED ? x[d * CT__X_PITCH] : x[d * x_col]; }
    __device__ __forceinline__ T z_at(int d, int p) const
    {
        if (SHARED) return z[d * CT__Z_PITCH + p];
        return z[d * z_col + (p < last ? p : last) * z_row];
    }
};

#define CT__EACH_PAIR(p) CT__UNROLL for (int p = 0; p < ct__pairs<T>::COUNT; p++)

/* -- a block --------------------------------------------------------------------------------------------- */

template <typename P, typename T>
static __device__ __forceinline__ P *ct__find(const ct__plan<T> &p, ct__place place, char *shared)
{
    return (P *)(place.global ? p.room + blockIdx.x * p.global + place.at : shared + place.at);
}

/* theta, weight and slope, one behind the other; by all threads of a block */
template <typename T>
static __device__ __forceinline__ void ct__prepare(const ct__plan<T> &p, const ct_cov_node *nodes, T *theta)
{
    const int t = (int)threadIdx.x, step = (int)blockDim.x;
    T *weight = theta + p.n_params, *slope = weight + p.n_dims;
    for (int i = t; i < p.n_params; i += step) theta[i] = p.theta_from[i * p.theta_step];
    for (int k = 0; k < p.n_nodes; k++) {
        const ct_cov_node *n = &nodes[k];
        if (n->code >= CT_COV_PROFILES) continue;
        for (int i = t; i < n->n_dims; i += step) {
            const T l =
                n->lengthscale < 0 ? (T)1 : p.theta_from[(n->lengthscale + (n->ard ? i : 0)) * p.theta_step];
            const double exact = 1 / ((double)l * (double)l), steep = CT__STEEP(sizeof(T) == 8);
            const T w = (T)(exact <= steep && exact >= 1 / steep ? exact : NAN);
            weight[n->dims + i] = w;
            slope[n->dims + i] = (n->ard ? 2 * w : (T)2) / l;
        }
    }
}

/* The program; by all threads of a block. */
template <typename T, bool SHARED>
static __device__ __forceinline__ void ct__open(const ct__plan<T> &p, char *shared, ct__thread<T, SHARED> &v)
{
    if (SHARED) {
        int32_t *word = (int32_t *)(shared + p.program_at.at);
        for (int i = (int)threadIdx.x; i < p.bytes / 4; i += CT__COV_THREADS) word[i] = p.program.word[i];
        const ct_cov_program *program = (const ct_cov_program *)word;
        v.nodes = (const ct_cov_node *)(program + 1);
        v.dims = (const int32_t *)(v.nodes + p.n_nodes);
        T *theta = (T *)((char *)word + (p.bytes + 7) / 8 * 8);
        v.theta = theta, v.weight = theta + p.n_params;
        __syncthreads();
        ct__prepare(p, v.nodes, theta);
        __syncthreads();
    } else {
        v.nodes = p.nodes, v.dims = p.dims, v.theta = p.theta, v.weight = p.weight;
    }
    v.slope = v.weight + p.n_dims;
    v.value = ct__find<T>(p, p.values_at, shared) + threadIdx.x;
}

/* to[k][i] = column k of point first + i, for i < count; the last of these beyond, up to `whole` */
template <typename T>
static __device__ __forceinline__ void ct__stage(const ct__points<T> &from, int64_t first, int count,
                                                 int whole, int d, T *to, int pitch)
{
    for (int e = (int)threadIdx.x; e < whole * d; e += CT__COV_THREADS) {
        const bool by_column = from.row < from.col;
        const int i = by_column ? e % whole : e / d, k = by_column ? e / whole : e % d;
        to[k * pitch + i] = from.at[(first + (i < count ? i : count - 1)) * from.row + k * from.col];
    }
}

/* Goes through the tasks. For each: visit.begin(row), visit.pairs(v, i, j, live) by each thread that has a
 * pair (i, j + p) with live[p], and visit.end(i0, rows, piece) by all. Pairs beyond an edge repeat those at
 * it, and count nothing. */
template <typename T, bool SHARED, typename Visitor>
static __device__ __forceinline__ void ct__walk(const ct__plan<T> &p, char *shared, ct__thread<T, SHARED> &v,
                                                Visitor &visit)
{
    enum { PAIRS = ct__pairs<T>::COUNT, STEP = ct__pairs<T>::STEP };
    const int lane = (int)threadIdx.x % CT__COV_LANES, warp = (int)threadIdx.x / CT__COV_LANES, d = (int)p.d,
              n = (int)p.n, m = (int)p.m, columns = (int)p.columns;
    T *x_tile = SHARED ? (T *)(shared + p.x_at.at) : NULL,
      *z_tile = SHARED ? (T *)(shared + p.z_at.at) : NULL;
    v.x_col = p.x.col, v.z_col = p.z.col, v.z_row = p.z.row;
    for (int64_t task = blockIdx.x; task < p.tasks; task += gridDim.x) {
        const int piece = (int)(task / p.row_tiles), i0 = (int)(task % p.row_tiles) * CT__COV_LANES;
        const int rows = n - i0 < CT__COV_LANES ? n - i0 : (int)CT__COV_LANES,
                  row = lane < rows ? lane : rows - 1;
        int j0 = piece * columns, end = m - j0 < columns ? m : j0 + columns;
        if (p.part == CT__LOWER && end > i0 + CT__COV_LANES) end = i0 + CT__COV_LANES;
        if (p.part == CT__UPPER && j0 < i0) j0 = i0;
        v.x = SHARED ? x_tile + row : p.x.at + (i0 + row) * p.x.row;
        visit.begin(i0 + row);
        for (int j = j0; j < end; j += CT__COV_CHUNK) {
            const int width = end - j < CT__COV_CHUNK ? end - j : (int)CT__COV_CHUNK;
            if (SHARED) {
                __syncthreads();
                if (j == j0) ct__stage(p.x, i0, rows, rows, d, x_tile, CT__X_PITCH);
                ct__stage(p.z, j, width, (width + PAIRS - 1) / PAIRS * PAIRS, d, z_tile, CT__Z_PITCH);
                __syncthreads();
            }
            for (int at = warp * PAIRS; at < width; at += STEP) {
                const int i = i0 + row, first = j + at;
                v.z = SHARED ? z_tile + at : p.z.at + (int64_t)first * p.z.row;
                v.last = width - 1 - at;
                bool live[PAIRS], any = false;
                CT__EACH_PAIR(q)
                {
                    v.same[q] = p.symmetric && i == first + q;
                    live[q] = lane < rows && at + q < width && (p.part != CT__LOWER || first + q <= i) &&
                              (p.part != CT__UPPER || first + q >= i);
                    any = any || live[q];
                }
                if (any) visit.pairs(v, i, first, live);
            }
        }
        visit.end(i0, rows, piece);
    }
}

#endif
