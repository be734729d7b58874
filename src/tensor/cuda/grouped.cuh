/* Tiles of products with gathered rows. Both factors are staged in shared memory, row by row. For f32 and f64
 * a thread holds EACH x WIDTH sums in registers and reads 16 bytes at a time. bf16 and f16 use tensor cores:
 * their products are exact; their sums are f32 and may be truncated. */
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

/* T: the type of sums; VECTOR: elements S in 16 bytes; DEPTH: inner dimension staged at a time. */
template <typename S> struct tiles {
    typedef typename ct__arithmetic<S>::type T;
    enum {
        VECTOR = 16 / sizeof(S),
        DEPTH = CT__GROUP_DEPTH / sizeof(S),
        DEEP = DEPTH + VECTOR, /* a row in shared memory; 16 extra bytes avoid bank conflicts */
        WIDE = TILE + VECTOR,
        EXTENT = TILE * DEEP > DEPTH *WIDE ? TILE *DEEP : DEPTH *WIDE,
        BLOCKS = sizeof(T) == 8 ? 3 : 4, /* blocks that a multiprocessor's registers should hold */
        BLOCKS_TRANSPOSED = 3,
    };
};

/* Copies DOWN_ROWS rows of x (`width` numbers each), columns c0 to c0 + COLUMNS, to shared memory, with zeros
 * where x has none. row(y) is the row to copy or -1. `whole`: rows are aligned to 16 bytes; then all loads
 * are issued before the first is used. */
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

/* The i-th of a thread's columns, or of its rows of a sum: 16 bytes per thread, then the next thread's. */
template <int VECTOR> static __device__ __forceinline__ int spread(int thread, int threads, int i)
{
    return i / VECTOR * threads * VECTOR + thread * VECTOR + i % VECTOR;
}

/* Stores row i of a thread's sums to row(i), columns from c0 on; -1 stores nothing. `whole`: rows are aligned
 * to the bytes of one store. */
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

/* A block's tile of sums. Thread (y, x) holds sum[i][c]. For `add` its row is y + DOWN i, and its column is
 * x + ACROSS c (TRANSPOSED) or spread(x, ACROSS, c). For `add_transposed` its row is spread(y, DOWN, i), and
 * its column is the same. */
template <typename S, bool HALF = sizeof(S) == 2> struct sums {
    enum { VECTOR = tiles<S>::VECTOR, DEEP = tiles<S>::DEEP, WIDE = tiles<S>::WIDE };
    S sum[EACH][WIDTH] = {};

    /* += left right, or left rightᵀ if TRANSPOSED, for i < LIVE */
    template <int LIVE, bool TRANSPOSED>
    __device__ __forceinline__ void multiply(const S *left, const S *right, int depth)
    {
        typedef ct__pack<S, VECTOR> pack;
        const int x = (int)threadIdx.x % ACROSS, y = (int)threadIdx.x / ACROSS;
        for (int k = 0; k < depth; k += VECTOR) {
            S b[VECTOR][WIDTH];
            if (TRANSPOSED) {
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
    template <bool TRANSPOSED>
    __device__ __forceinline__ void add(const S *left, const S *right, int depth, int64_t rows)
    {
        if (rows > 4 * DOWN)
            multiply<8, TRANSPOSED>(left, right, depth);
        else if (rows > 2 * DOWN)
            multiply<4, TRANSPOSED>(left, right, depth);
        else if (rows > DOWN)
            multiply<2, TRANSPOSED>(left, right, depth);
        else
            multiply<1, TRANSPOSED>(left, right, depth);
    }
    /* += leftᵀ right */
    __device__ __forceinline__ void add_transposed(const S *left, const S *right, int depth)
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

/* The same in 16 x 16 fragments of tensor cores. A warp has SIDE rows. */
template <typename S> struct sums<S, true> {
    enum { SIDE = 16, DEEP = tiles<S>::DEEP, WIDE = tiles<S>::WIDE, PITCH = TILE + 4 };
    typedef nvcuda::wmma::row_major by_row;
    typedef nvcuda::wmma::col_major by_column;
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, SIDE, SIDE, SIDE, float> tile[TILE / SIDE];
    float sum[EACH][WIDTH]; /* after settle() */

    __device__ __forceinline__ sums()
    {
        CT__UNROLL
        for (int c = 0; c < TILE / SIDE; c++) nvcuda::wmma::fill_fragment(tile[c], 0.f);
    }
    /* Strides: of left `down` from row to row and `along` the inner dimension; of right `deeper` along the
     * inner dimension and `across` from column to column. One of each pair is 1, the other is the leading
     * dimension. */
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
    template <bool TRANSPOSED>
    __device__ __forceinline__ void add(const S *left, const S *right, int depth, int64_t rows)
    {
        if (TRANSPOSED)
            multiply<by_row, by_column>(left, DEEP, 1, right, 1, DEEP, depth, rows);
        else
            multiply<by_row, by_row>(left, DEEP, 1, right, WIDE, 1, depth, rows);
    }
    __device__ __forceinline__ void add_transposed(const S *left, const S *right, int depth)
    {
        multiply<by_column, by_row>(left, 1, WIDE, right, WIDE, 1, depth, TILE);
    }
    /* Moves the sums from fragments to threads through shared memory, which must no longer be in use. */
    template <typename Row, typename Col>
    __device__ __forceinline__ void settle(void *shared, Row row, Col col)
    {
        float *workspace = (float *)shared;
        const int warp = (int)threadIdx.x / CT__WARP;
        __syncthreads();
        CT__UNROLL
        for (int c = 0; c < TILE / SIDE; c++)
            nvcuda::wmma::store_matrix_sync(workspace + warp * SIDE * PITCH + c * SIDE, tile[c], PITCH,
                                            nvcuda::wmma::mem_row_major);
        __syncthreads();
        for (int i = 0; i < EACH; i++)
            for (int c = 0; c < WIDTH; c++) sum[i][c] = workspace[row(i) * PITCH + col(c)];
    }
};

#endif
