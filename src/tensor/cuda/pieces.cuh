/* Groups of rows cut into pieces of 2^shift rows, a block or more each. Nobody counts pieces first: number m
 * < M is the first piece of group m, and further ones have the numbers from M + (b_m >> shift) on, where b_m
 * rows come before group m. A group of r rows has at most r >> shift of them, so no number is meant for two;
 * one that nobody needs is an empty piece. Offsets and positions may hold anything: what cannot be counts as
 * no rows. */
#ifndef CT_TENSOR_CUDA_PIECES_CUH
#define CT_TENSOR_CUDA_PIECES_CUH

#include "cuda.h"

/* Row r of group m is row r % I of member position[offset[m] + r / I]. */
typedef struct ct__groups {
    int64_t N, M, I;
    const int64_t *offset, *position;
} ct__groups;

/* Rows [first, first + rows) of group m, which has `all`; rows = 0: an empty piece. Its number in the
 * group. */
typedef struct ct__piece {
    int64_t m, first, rows, all, number;
} ct__piece;

/* Pieces at most. */
static inline int64_t ct__pieces(const ct__groups &g, int shift) { return g.M + (g.N * g.I >> shift); }

/* The first i of [from, to) for which holds(i) is false, or `to`; it is true for all before that. */
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

/* Row r of group m in all rows; -1: there is none. */
static inline __device__ int64_t ct__row_at(const ct__groups &g, int64_t m, int64_t r)
{
    const int64_t member = ct__quotient(r, g.I), i = g.position[g.offset[m] + member];
    return i < 0 || i >= g.N ? -1 : i * g.I + (r - member * g.I);
}

/* -- sums over groups ------------------------------------------------------------------------------------
 * A sum over a group is a piece's, row after row. Those of a group of more than one piece are kept, `count`
 * numbers each, and added up by another kernel in order: the same bits every time. */

/* Where the sums of a group's first piece are kept, those of the others behind: as many places as twice its
 * rows are pieces long, at least one for each of several. */
static inline __device__ int64_t ct__kept_at(const ct__groups &g, int shift, int64_t m)
{
    return ct__begin(g, m) >> (shift - 1);
}

/* How many are kept at most. */
static inline __host__ __device__ int64_t ct__kept(const ct__groups &g, int shift)
{
    return g.N * g.I >> (shift - 1);
}

/* Blocks of CT__BLOCK threads for ct__add_kept. */
static inline int64_t ct__adders(const ct__groups &g, int shift)
{
    return ct__divide_up(g.N * g.I, (int64_t)1 << shift);
}

/* A block for each multiple of the piece's length. Those that lie in a group of several pieces share its
 * numbers: as many blocks as it has pieces, or one less. put(m, e, sum) gets number e of group m. */
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
    int width = 1; /* numbers side by side; a number's pieces are shared by the other threads */
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
