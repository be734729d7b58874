/* Groups of rows, cut into pieces of 2^shift rows, with one or more blocks per piece. Piece numbers need no
 * counting. Number m < M is the first piece of group m. Its further pieces start at M + (b_m >> shift), where
 * b_m rows come before group m. A group of r rows has at most r >> shift further pieces, so numbers do not
 * collide; an unused number is an empty piece. Offsets and positions are unchecked: impossible ones count as
 * no rows. */
#ifndef CT_TENSOR_CUDA_PIECES_CUH
#define CT_TENSOR_CUDA_PIECES_CUH

#include "cuda.h"

/* Row r of group m is row r % I of member position[offset[m] + r / I]. */
typedef struct ct__groups {
    int64_t N, M, I;
    const int64_t *offset, *position;
} ct__groups;

/* Rows [first, first + rows) of group m, which has `all` rows; rows = 0: an empty piece. number: in its
 * group. */
typedef struct ct__piece {
    int64_t m, first, rows, all, number;
} ct__piece;

/* The largest number of pieces. */
static inline int64_t ct__pieces(const ct__groups &g, int shift) { return g.M + (g.N * g.I >> shift); }

/* Binary search: the first i of [from, to) for which holds(i) is false, or `to`. */
template <typename Holds>
static __device__ __forceinline__ int64_t ct__first_not(int64_t from, int64_t to, Holds holds)
{
    while (from < to) {
        const int64_t middle = (from + to) / 2;
        if (holds(middle))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Rows before group m. */
static inline __device__ int64_t ct__begin(const ct__groups &g, int64_t m)
{
    const int64_t at = g.offset[m];
    return at < 0 || at > g.N ? 0 : at * g.I;
}

static inline __device__ int64_t ct__rows_of(const ct__groups &g, int64_t m)
{
    const int64_t from = g.offset[m], to = g.offset[m + 1];
    return from < 0 || to > g.N || to < from ? 0 : (to - from) * g.I;
}

/* The last m with ct__begin(g, m) >> shift <= at, or 0. */
static inline __device__ int64_t ct__group_at(const ct__groups &g, int shift, int64_t at)
{
    return ct__first_not(1, g.M, [&](int64_t m) { return ct__begin(g, m) >> shift <= at; }) - 1;
}

static inline __device__ ct__piece ct__piece_at(const ct__groups &g, int shift, int64_t number)
{
    ct__piece p = { number, 0, 0, 0, 0 };
    if (number >= g.M) {
        p.m = ct__group_at(g, shift, number - g.M);
        p.number = number - g.M - (ct__begin(g, p.m) >> shift) + 1;
    }
    p.all = ct__rows_of(g, p.m);
    p.first = p.number * ((int64_t)1 << shift);
    if (p.number >= 0 && p.first < p.all)
        p.rows = (p.all - p.first) >> shift ? (int64_t)1 << shift : p.all - p.first;
    return p;
}

/* The number of row r of group m among all rows, or -1. */
static inline __device__ int64_t ct__row_at(const ct__groups &g, int64_t m, int64_t r)
{
    const int64_t member = ct__quotient(r, g.I), i = g.position[g.offset[m] + member];
    return i < 0 || i >= g.N ? -1 : i * g.I + (r - member * g.I);
}

/* -- sums over groups ------------------------------------------------------------------------------------
 * A sum over a group is a piece's, row after row. Those of a group of more than one piece are kept, `count`
 * numbers each, and added up by another kernel in order: the same bits every time. */

/* The place where the sums of a group's first piece are kept; those of its other pieces follow. A group has
 * about rows / 2^(shift - 1) places, enough for all its pieces if there are several. */
static inline __device__ int64_t ct__kept_at(const ct__groups &g, int shift, int64_t m)
{
    return ct__begin(g, m) >> (shift - 1);
}

/* The largest number of places. */
static inline __host__ __device__ int64_t ct__kept(const ct__groups &g, int shift)
{
    return g.N * g.I >> (shift - 1);
}

/* Blocks of CT__BLOCK threads for ct__add_kept. */
static inline int64_t ct__adders(const ct__groups &g, int shift)
{
    return ct__divide_up(g.N * g.I, (int64_t)1 << shift);
}

/* One block per multiple of the piece length. The blocks inside a group of several pieces share its numbers;
 * they are as many as its pieces, or one fewer. put(m, e, sum) receives number e of group m. */
template <typename T, typename Put>
static __device__ void ct__add_kept(const ct__groups &g, int shift, int64_t count, const T *kept, Put put)
{
    CT__SHARED(T, sums, [CT__BLOCK]);
    const int64_t length = (int64_t)1 << shift, up = length - 1, here = (int64_t)blockIdx.x,
                  m = ct__group_at(g, 0, here << shift), rows = ct__rows_of(g, m), begin = ct__begin(g, m);
    if (rows <= length) return;
    const int64_t first = (begin + up) >> shift, blocks = ((begin + rows + up) >> shift) - first,
                  pieces = (rows + up) >> shift;
    if (here < first || here >= first + blocks) return;
    const int64_t from = count * (here - first) / blocks, to = count * (here - first + 1) / blocks;
    int width = 1; /* numbers at a time; the other threads share a number's pieces */
    while (width < CT__BLOCK && width < to - from) width *= 2;
    const int t = (int)threadIdx.x, x = t % width, lane = t / width, lanes = CT__BLOCK / width;
    const T *mine = kept + ct__kept_at(g, shift, m) * count;
    for (int64_t e0 = from; e0 < to; e0 += width) {
        T sum = 0;
        if (e0 + x < to)
            for (int64_t p = pieces * lane / lanes; p < pieces * (lane + 1) / lanes; p++)
                sum += mine[p * count + e0 + x];
        sums[t] = sum;
        __syncthreads();
        if (!lane && e0 + x < to) {
            for (int l = 1; l < lanes; l++) sum += sums[l * width + x];
            put(m, e0 + x, sum);
        }
        __syncthreads();
    }
}

#endif
