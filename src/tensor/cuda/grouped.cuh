/* Tiles of products with gathered rows: both factors' lie in shared memory, row by row as in memory outside.
 * Of f32 and f64 a thread has EACH x WIDTH sums in registers and reads 16 bytes at a time. bf16 and f16 are
 * multiplied and added up by tensor cores: exact products, and sums in f32 that may be truncated. */
#ifndef CT_TENSOR_CUDA_GROUPED_CUH
#define CT_TENSOR_CUDA_GROUPED_CUH

#include "loop.cuh"

#include <mma.h>

enum {
    ROWS = CT__GROUP_ROWS,
    TILE = 1 << ROWS, /* rows and columns of a block's result */
    THREADS = CT__GROUP_THREADS,
    DOWN = CT__GROUP_DOWN, /* threads along the rows */
    ACROSS = THREADS / DOWN,
    EACH = TILE / DOWN,
    WIDTH = TILE / ACROSS,
};

/* What the elements S are added up in; how many are 16 bytes; the depth at a time of the sum of a product. */
template <typename S> struct tiles {
    typedef typename ct__arithmetic<S>::type T;
    enum {
        VECTOR = 16 / sizeof(S),
        DEPTH = CT__GROUP_DEPTH / sizeof(S),
        DEEP = DEPTH +
               VECTOR, /* a row in shared memory: 16 bytes more, so that neighbours' do not share banks */
        WIDE = TILE + VECTOR,
        ROOM = TILE * DEEP > DEPTH *WIDE ? TILE *DEEP : DEPTH *WIDE,
        BLOCKS = sizeof(T) == 8 ? 3 : 4, /* that a processor's registers are to hold */
        BLOCKS_TURNED = 3,
    };
};

/* DOWN_ROWS rows of x, `width` numbers each, their COLUMNS columns from c0 on; zeros where there are none.
 * row(y) is -1 or where row y lies. `whole`: rows begin at multiples of 16 bytes; then all loads are on their
 * way before the first is used. */
template <typename S, int DOWN_ROWS, int COLUMNS, typename Row>
static __device__ __forceinline__ void stage(S *to, const S *x, int64_t width, int64_t c0, bool whole,
                                             Row row)
{
    enum {
        VECTOR = tiles<S>::VECTOR,
        PITCH = COLUMNS + VECTOR,
        STEP = THREADS * VECTOR / COLUMNS,
        ROUNDS = DOWN_ROWS / STEP
    };
    const int t = (int)threadIdx.x, c = t % (COLUMNS / VECTOR) * VECTOR, y = t / (COLUMNS / VECTOR);
    const int64_t left = width - c0 - c; /* columns from this thread's first on */
    typedef ct__pack<S, VECTOR> pack;
    to += y * PITCH + c;
    if (!whole) {
        for (int i = 0; i < ROUNDS; i++) {
            const int64_t r = row(y + i * STEP);
            pack one = {};
            CT__UNROLL
            for (int v = 0; v < VECTOR; v++)
                if (r >= 0 && left > v) one.x[v] = x[r * width + c0 + c + v];
            *(pack *)(to + i * STEP * PITCH) = one;
        }
        return;
    }
    pack held[ROUNDS] = {};
    for (int i = 0; i < ROUNDS; i++) {
        const int64_t r = row(y + i * STEP);
        if (r >= 0 && left > 0) held[i] = *(const pack *)(x + r * width + c0 + c);
    }
    for (int i = 0; i < ROUNDS; i++) *(pack *)(to + i * STEP * PITCH) = held[i];
}

/* One of a thread's columns, or of its rows of a sum: its 16 bytes are neighbours, beside those of the next
 * thread. */
template <int VECTOR> static __device__ __forceinline__ int spread(int thread, int threads, int i)
{
    return i / VECTOR * threads * VECTOR + thread * VECTOR + i % VECTOR;
}

/* Row i of a thread's sums into columns from c0 on of row(i), or nowhere for -1. `whole`: rows begin at
 * multiples of as many bytes as are stored at a time. */
template <typename S, typename T, typename Row>
static __device__ __forceinline__ void store(S *to, int64_t width, int64_t c0, bool whole,
                                             const T (*sum)[WIDTH], Row row)
{
    enum { VECTOR = 16 / sizeof(T) };
    for (int i = 0; i < EACH; i++) {
        const int64_t r = row(i);
        for (int c = 0; c < WIDTH && r >= 0; c += VECTOR) {
            const int64_t at = c0 + spread<VECTOR>((int)threadIdx.x % ACROSS, ACROSS, c);
            ct__pack<S, VECTOR> p;
            for (int v = 0; v < VECTOR; v++) p.x[v] = (S)sum[i][c + v];
            if (whole && at < width) ((ct__pack<S, VECTOR> *)to)[(uint64_t)(r * width + at) / VECTOR] = p;
            for (int v = 0; v < VECTOR && !whole; v++)
                if (at + v < width) to[r * width + at + v] = p.x[v];
        }
    }
}

/* A block's tile of sums. Thread (y, x) has sum[i][c]: of `add` row y + DOWN i and column x + ACROSS c
 * (TURNED) or spread(x, ACROSS, c); of `add_turned` row spread(y, DOWN, i) and that column. */
template <typename S, bool HALF = sizeof(S) == 2> struct sums {
    enum { VECTOR = tiles<S>::VECTOR, DEEP = tiles<S>::DEEP, WIDE = tiles<S>::WIDE };
    S sum[EACH][WIDTH] = {};

    /* += left right, or left rightᵀ where that is TURNED; of the first LIVE i */
    template <int LIVE, bool TURNED>
    __device__ __forceinline__ void multiply(const S *left, const S *right, int depth)
    {
        typedef ct__pack<S, VECTOR> pack;
        const int x = (int)threadIdx.x % ACROSS, y = (int)threadIdx.x / ACROSS;
        for (int k = 0; k < depth; k += VECTOR) {
            S b[VECTOR][WIDTH];
            if (TURNED) {
                for (int c = 0; c < WIDTH; c++) {
                    const pack p = *(const pack *)(right + (x + ACROSS * c) * DEEP + k);
                    for (int v = 0; v < VECTOR; v++) b[v][c] = p.x[v];
                }
            } else {
                for (int v = 0; v < VECTOR; v++)
                    for (int c = 0; c < WIDTH; c += VECTOR) {
                        const pack p = *(const pack *)(right + (k + v) * WIDE + spread<VECTOR>(x, ACROSS, c));
                        for (int u = 0; u < VECTOR; u++) b[v][c + u] = p.x[u];
                    }
            }
            for (int i = 0; i < LIVE; i++) {
                const pack a = *(const pack *)(left + (y + DOWN * i) * DEEP + k);
                for (int v = 0; v < VECTOR; v++)
                    for (int c = 0; c < WIDTH; c++) sum[i][c] += a.x[v] * b[v][c];
            }
        }
    }
    template <bool TURNED>
    __device__ __forceinline__ void add(const S *left, const S *right, int depth, int64_t rows)
    {
        if (rows > 4 * DOWN)
            multiply<8, TURNED>(left, right, depth);
        else if (rows > 2 * DOWN)
            multiply<4, TURNED>(left, right, depth);
        else if (rows > DOWN)
            multiply<2, TURNED>(left, right, depth);
        else
            multiply<1, TURNED>(left, right, depth);
    }
    /* += leftᵀ right */
    __device__ __forceinline__ void add_turned(const S *left, const S *right, int depth)
    {
        typedef ct__pack<S, VECTOR> pack;
        const int x = (int)threadIdx.x % ACROSS, y = (int)threadIdx.x / ACROSS;
        for (int r = 0; r < depth; r++) {
            S a[EACH], b[WIDTH];
            for (int i = 0; i < EACH; i += VECTOR)
                *(pack *)(a + i) = *(const pack *)(left + r * WIDE + spread<VECTOR>(y, DOWN, i));
            for (int c = 0; c < WIDTH; c += VECTOR)
                *(pack *)(b + c) = *(const pack *)(right + r * WIDE + spread<VECTOR>(x, ACROSS, c));
            for (int i = 0; i < EACH; i++)
                for (int c = 0; c < WIDTH; c++) sum[i][c] += a[i] * b[c];
        }
    }
    template <typename Row, typename Col> __device__ __forceinline__ void settle(void *, Row, Col) {}
};

/* In the fragments of tensor cores, 16 x 16: a warp has SIDE rows. */
template <typename S> struct sums<S, true> {
    enum { SIDE = 16, DEEP = tiles<S>::DEEP, WIDE = tiles<S>::WIDE, PITCH = TILE + 4 };
    typedef nvcuda::wmma::row_major by_row;
    typedef nvcuda::wmma::col_major by_column;
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, SIDE, SIDE, SIDE, float> tile[TILE / SIDE];
    float sum[EACH][WIDTH]; /* once settled */

    __device__ __forceinline__ sums()
    {
        CT__UNROLL
        for (int c = 0; c < TILE / SIDE; c++) nvcuda::wmma::fill_fragment(tile[c], 0.f);
    }
    /* Elements of left are `down` apart from row to row and `along` in depth, those of right `deeper` in
     * depth and `across` from column to column: of each pair one is 1, and the other, their product, the
     * pitch. */
    template <typename Left, typename Right>
    __device__ __forceinline__ void multiply(const S *left, int down, int along, const S *right, int deeper,
                                             int across, int depth, int64_t rows)
    {
        nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, SIDE, SIDE, SIDE, S, Left> a;
        nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, SIDE, SIDE, SIDE, S, Right> b;
        const int warp = (int)threadIdx.x / CT__WARP;
        for (int k = 0; k < depth && warp * SIDE < rows; k += SIDE) {
            nvcuda::wmma::load_matrix_sync(a, left + warp * SIDE * down + k * along, down * along);
            CT__UNROLL
            for (int c = 0; c < TILE / SIDE; c++) {
                nvcuda::wmma::load_matrix_sync(b, right + k * deeper + c * SIDE * across, deeper * across);
                nvcuda::wmma::mma_sync(tile[c], a, b, tile[c]);
            }
        }
    }
    template <bool TURNED>
    __device__ __forceinline__ void add(const S *left, const S *right, int depth, int64_t rows)
    {
        if (TURNED)
            multiply<by_row, by_column>(left, DEEP, 1, right, 1, DEEP, depth, rows);
        else
            multiply<by_row, by_row>(left, DEEP, 1, right, WIDE, 1, depth, rows);
    }
    __device__ __forceinline__ void add_turned(const S *left, const S *right, int depth)
    {
        multiply<by_column, by_row>(left, 1, WIDE, right, WIDE, 1, depth, TILE);
    }
    /* By way of shared memory, which nobody reads any more, to the threads. */
    template <typename Row, typename Col>
    __device__ __forceinline__ void settle(void *shared, Row row, Col col)
    {
        float *room = (float *)shared;
        const int warp = (int)threadIdx.x / CT__WARP;
        __syncthreads();
        CT__UNROLL
        for (int c = 0; c < TILE / SIDE; c++)
            nvcuda::wmma::store_matrix_sync(room + warp * SIDE * PITCH + c * SIDE, tile[c], PITCH,
                                            nvcuda::wmma::mem_row_major);
        __syncthreads();
        for (int i = 0; i < EACH; i++)
            for (int c = 0; c < WIDTH; c++) sum[i][c] = room[row(i) * PITCH + col(c)];
    }
};

#endif
