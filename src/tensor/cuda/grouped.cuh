/* Tiles of products with gathered rows: both factors' lie in shared memory, row by row as in memory
 * outside; a thread has EACH x WIDTH sums in registers and reads 16 bytes at a time. Elements of bf16 and
 * f16 are widened on their way to shared memory. */
#ifndef CT_TENSOR_CUDA_GROUPED_CUH
#define CT_TENSOR_CUDA_GROUPED_CUH

#include "half.cuh"

enum {
    ROWS = CT__GROUP_ROWS,
    TILE = 1 << ROWS, /* rows and columns of a block's result */
    THREADS = CT__GROUP_THREADS,
    DOWN = CT__GROUP_DOWN, /* threads along the rows */
    ACROSS = THREADS / DOWN,
    EACH = TILE / DOWN,
    WIDTH = TILE / ACROSS,
};

template <typename T, int n> struct alignas(n * sizeof(T)) pack {
    T x[n];
};

/* What the elements S are computed in; how many are 16 bytes; the depth at a time of the sum of a product. */
template <typename S> struct tiles {
    typedef typename ct__arithmetic<S>::type T;
    enum {
        VECTOR = 16 / sizeof(T),
        DEPTH = CT__GROUP_DEPTH / sizeof(T),
        DEEP = DEPTH +
               VECTOR, /* a row in shared memory: 16 bytes more, so that neighbours' do not share banks */
        WIDE = TILE + VECTOR,
        ROOM = TILE * DEEP,              /* for DEPTH rows of WIDE, too */
        BLOCKS = sizeof(T) == 8 ? 3 : 5, /* that a processor's registers are to hold */
        BLOCKS_TURNED = sizeof(T) == 8 ? 3 : 4,
    };
};

/* DOWN_ROWS rows of x, `width` numbers each, their COLUMNS columns from c0 on; zeros where there are none.
 * row(y) is -1 or where row y lies. `whole`: rows begin at multiples of 16 bytes. All loads are on their way
 * before the first is used. */
template <typename S, int DOWN_ROWS, int COLUMNS, typename Row>
static __device__ __forceinline__ void stage(typename tiles<S>::T *to, const S *x, int64_t width, int64_t c0,
                                             bool whole, Row row)
{
    typedef typename tiles<S>::T T;
    enum {
        VECTOR = 16 / sizeof(S),
        STORE = tiles<S>::VECTOR,
        PITCH = COLUMNS + STORE,
        STEP = THREADS * VECTOR / COLUMNS,
        ROUNDS = DOWN_ROWS / STEP
    };
    const int t = (int)threadIdx.x, c = t % (COLUMNS / VECTOR) * VECTOR, y = t / (COLUMNS / VECTOR);
    const int64_t left = width - c0 - c; /* columns from this thread's first on */
    pack<S, VECTOR> held[ROUNDS] = {};
    if (whole) {
        for (int i = 0; i < ROUNDS; i++) {
            const int64_t r = row(y + i * STEP);
            if (r >= 0 && left > 0) held[i] = *(const pack<S, VECTOR> *)(x + r * width + c0 + c);
        }
    } else {
        for (int i = 0; i < ROUNDS; i++) {
            const int64_t r = row(y + i * STEP);
            for (int v = 0; v < VECTOR; v++)
                if (r >= 0 && left > v) held[i].x[v] = x[r * width + c0 + c + v];
        }
    }
    for (int i = 0; i < ROUNDS; i++)
        for (int v = 0; v < VECTOR; v += STORE) {
            pack<T, STORE> p;
            for (int u = 0; u < STORE; u++) p.x[u] = (T)held[i].x[v + u];
            *(pack<T, STORE> *)(to + (y + i * STEP) * PITCH + c + v) = p;
        }
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
            pack<S, VECTOR> p;
            for (int v = 0; v < VECTOR; v++) p.x[v] = (S)sum[i][c + v];
            if (whole && at < width) ((pack<S, VECTOR> *)to)[(uint64_t)(r * width + at) / VECTOR] = p;
            for (int v = 0; v < VECTOR && !whole; v++)
                if (at + v < width) to[r * width + at + v] = p.x[v];
        }
    }
}

/* sum[i][c] += Σ_k left[y + DOWN i][k] right[k][column c], of the first LIVE i. TURNED: right[x + ACROSS
 * c][k], whose rows are the columns. */
template <typename S, int LIVE, bool TURNED, typename T = typename tiles<S>::T>
static __device__ __forceinline__ void multiply(const T *left, const T *right, int depth, T (*sum)[WIDTH])
{
    enum { VECTOR = tiles<S>::VECTOR, DEEP = tiles<S>::DEEP, WIDE = tiles<S>::WIDE };
    const int x = (int)threadIdx.x % ACROSS, y = (int)threadIdx.x / ACROSS;
    for (int k = 0; k < depth; k += VECTOR) {
        T b[VECTOR][WIDTH];
        if (TURNED) {
            for (int c = 0; c < WIDTH; c++) {
                const pack<T, VECTOR> p = *(const pack<T, VECTOR> *)(right + (x + ACROSS * c) * DEEP + k);
                for (int v = 0; v < VECTOR; v++) b[v][c] = p.x[v];
            }
        } else {
            for (int v = 0; v < VECTOR; v++)
                for (int c = 0; c < WIDTH; c += VECTOR) {
                    const pack<T, VECTOR> p =
                        *(const pack<T, VECTOR> *)(right + (k + v) * WIDE + spread<VECTOR>(x, ACROSS, c));
                    for (int u = 0; u < VECTOR; u++) b[v][c + u] = p.x[u];
                }
        }
        for (int i = 0; i < LIVE; i++) {
            const pack<T, VECTOR> a = *(const pack<T, VECTOR> *)(left + (y + DOWN * i) * DEEP + k);
            for (int v = 0; v < VECTOR; v++)
                for (int c = 0; c < WIDTH; c++) sum[i][c] += a.x[v] * b[v][c];
        }
    }
}

#endif
