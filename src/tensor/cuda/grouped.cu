/* Products with gathered matrices, group by group: C_m is read once for a tile of its group's rows, and a sum over a group
 * is one block's, row after row: no atomics. Row r of group m is row r % I of member position[offset[m] + r / I]. Elements
 * of bf16 and f16 are widened on their way to shared memory. */
#include "cuda.h"
#include "half.cuh"

enum {
    TILE = 64,  /* rows and columns of a block's result */
    DEPTH = 16, /* of the sum at a time */
    SIDE = 16,  /* threads along a side */
    EACH = TILE / SIDE,
    THREADS = SIDE * SIDE,
    WIDE = TILE + 4, /* a row in shared memory: a thread's EACH neighbours are one load of 16 bytes, or two */
    CHECKERS = 512,  /* threads that look whether the groups can be */
};

typedef struct grouping {
    int64_t N, M, I;
    const int64_t *offset, *position;
    const int64_t *tiles; /* before[m]: tiles of TILE rows of the groups before m; M + 1 of them */
} grouping;

/* One block: what group_by cannot have made is noted. */
static __global__ void check_kernel(grouping g, int64_t what, int64_t *bad)
{
    __shared__ int64_t first[CHECKERS];
    const int t = (int)threadIdx.x;
    const int64_t end = g.M + 1 + g.N;
    int64_t mine = end;
    for (int64_t i = t; i < end; i += CHECKERS) { /* no way out: so the loads need not wait for one another */
        const int64_t x = g.offset[i];
        const bool offset = i <= g.M, bad = offset ? x < (i ? g.offset[i - 1] : 0) || x > g.N ||
                                                         (i == 0 && x) || (i == g.M && x != g.N)
                                                   : x < 0 || x >= g.N;
        if (bad && i < mine) mine = i;
    }
    first[t] = mine;
    __syncthreads();
    for (int half = CHECKERS / 2; half; half /= 2) {
        if (t < half && first[t + half] < first[t]) first[t] = first[t + half];
        __syncthreads();
    }
    if (t || first[0] == end || bad[0]) return;
    bad[0] = what;
    bad[1] = first[0];
    bad[2] = g.offset[first[0]];
    bad[3] = g.N;
}

/* Rows of group m, whatever the offsets hold. */
static __device__ int64_t rows_of(const grouping &g, int64_t m)
{
    const int64_t from = g.offset[m], to = g.offset[m + 1];
    return from < 0 || to > g.N || to < from ? 0 : (to - from) * g.I;
}

/* One block: exclusive sums of the groups' numbers of tiles. */
static __global__ void tiles_kernel(grouping g, int64_t *before)
{
    __shared__ int64_t sum[THREADS];
    const int t = (int)threadIdx.x;
    const int64_t lane = (g.M + THREADS - 1) / THREADS, from = t * lane,
                  to = from + lane < g.M ? from + lane : g.M;
    int64_t mine = 0;
    for (int64_t m = from; m < to; m++) mine += (rows_of(g, m) + TILE - 1) / TILE;
    sum[t] = mine;
    __syncthreads();
    if (!t) {
        int64_t all = 0;
        for (int k = 0; k < THREADS; k++) {
            const int64_t next = all + sum[k];
            sum[k] = all;
            all = next;
        }
        before[g.M] = all;
    }
    __syncthreads();
    int64_t next = sum[t];
    for (int64_t m = from; m < to; m++) {
        before[m] = next;
        next += (rows_of(g, m) + TILE - 1) / TILE;
    }
}

/* Row r of group m of x, whose members have I rows; -1: there is none. */
static __device__ int64_t row_at(const grouping &g, int64_t m, int64_t r)
{
    if (r >= rows_of(g, m)) return -1;
    const int64_t i = g.position[g.offset[m] + r / g.I];
    return i < 0 || i >= g.N ? -1 : i * g.I + r % g.I;
}

/* sum[y][x] += Σ_k left[k][y0 + y] right[k][x0 + x SIDE] over what is in shared memory */
template <typename T>
static __device__ void multiply(const T (*left)[WIDE], const T (*right)[WIDE], int y0, int x0, T (*sum)[EACH])
{
    for (int k = 0; k < DEPTH; k++) {
        T a[EACH], b[EACH];
        for (int y = 0; y < EACH; y++) a[y] = left[k][y0 + y];
        for (int x = 0; x < EACH; x++) b[x] = right[k][x0 + x * SIDE];
        for (int y = 0; y < EACH; y++)
            for (int x = 0; x < EACH; x++) sum[y][x] += a[y] * b[x];
    }
}

/* out_i = A_i C_m: A (N I, J), C_m (J, K) with strides, out (N I, K). A block has a tile of a group's rows and of K. */
template <typename S>
static __global__ void forward_kernel(grouping g, int64_t J, int64_t K, const S *A, const S *C,
                                      int64_t c_step, int64_t c_rs, int64_t c_cs, S *out)
{
    typedef typename ct__arithmetic<S>::type T;
    alignas(16) __shared__ T left[DEPTH][WIDE], right[DEPTH][WIDE];
    __shared__ int64_t row[TILE];
    const int t = (int)threadIdx.x, y0 = t / SIDE * EACH, x0 = t % SIDE;
    const int64_t across = (K + TILE - 1) / TILE, tile = blockIdx.x / across, k0 = blockIdx.x % across * TILE;
    if (tile >= g.tiles[g.M]) return;
    int64_t low = 0, high = g.M; /* the last m with tiles[m] <= tile */
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        if (g.tiles[middle] <= tile)
            low = middle;
        else
            high = middle;
    }
    const int64_t m = low, r0 = (tile - g.tiles[m]) * TILE;
    const bool busy =
        r0 + y0 < rows_of(g, m); /* the same for half a warp: what a last tile lacks costs little */
    if (t < TILE) row[t] = row_at(g, m, r0 + t);
    __syncthreads();
    T sum[EACH][EACH];
    for (int y = 0; y < EACH; y++)
        for (int x = 0; x < EACH; x++) sum[y][x] = 0;
    for (int64_t j0 = 0; j0 < J; j0 += DEPTH) {
        __syncthreads();
        for (int e = t; e < DEPTH * TILE; e += THREADS) {
            const int64_t r = row[e / DEPTH], j = j0 + e % DEPTH;
            left[e % DEPTH][e / DEPTH] = r >= 0 && j < J ? (T)A[r * J + j] : (T)0;
        }
        for (int e = t; e < DEPTH * TILE; e += THREADS) {
            const int d = c_cs == 1 ? e / TILE : e % DEPTH, x = c_cs == 1 ? e % TILE : e / DEPTH;
            const int64_t j = j0 + d, k = k0 + x;
            right[d][x] = j < J && k < K ? (T)C[m * c_step + j * c_rs + k * c_cs] : (T)0;
        }
        __syncthreads();
        if (busy) multiply<T>(left, right, y0, x0, sum);
    }
    for (int y = 0; y < EACH; y++) {
        const int64_t r = row[y0 + y];
        for (int x = 0; x < EACH; x++) {
            const int64_t k = k0 + x0 + x * SIDE;
            if (r >= 0 && k < K) out[r * K + k] = (S)sum[y][x];
        }
    }
}

/* C_bar_m = Σ A_iᵀ G_i over the group's members: a block has a tile of (J, K) and adds row by row. */
template <typename S>
static __global__ void sum_kernel(grouping g, int64_t J, int64_t K, const S *A, const S *G, S *C_bar)
{
    typedef typename ct__arithmetic<S>::type T;
    alignas(16) __shared__ T left[DEPTH][WIDE], right[DEPTH][WIDE];
    __shared__ int64_t row[DEPTH];
    const int t = (int)threadIdx.x, y0 = t / SIDE * EACH, x0 = t % SIDE;
    const int64_t across = (K + TILE - 1) / TILE, down = (J + TILE - 1) / TILE,
                  m = blockIdx.x / (across * down), j0 = blockIdx.x / across % down * TILE,
                  k0 = blockIdx.x % across * TILE, rows = rows_of(g, m);
    T sum[EACH][EACH];
    for (int y = 0; y < EACH; y++)
        for (int x = 0; x < EACH; x++) sum[y][x] = 0;
    for (int64_t r0 = 0; r0 < rows; r0 += DEPTH) {
        __syncthreads();
        if (t < DEPTH) row[t] = row_at(g, m, r0 + t);
        __syncthreads();
        for (int e = t; e < DEPTH * TILE; e += THREADS) {
            const int d = e / TILE, x = e % TILE;
            const int64_t r = row[d];
            left[d][x] = r >= 0 && j0 + x < J ? (T)A[r * J + j0 + x] : (T)0;
            right[d][x] = r >= 0 && k0 + x < K ? (T)G[r * K + k0 + x] : (T)0;
        }
        __syncthreads();
        multiply<T>(left, right, y0, x0, sum);
    }
    for (int y = 0; y < EACH; y++)
        for (int x = 0; x < EACH; x++) {
            const int64_t j = j0 + y0 + y, k = k0 + x0 + x * SIDE;
            if (j < J && k < K) C_bar[(m * J + j) * K + k] = (S)sum[y][x];
        }
}

/* Reads the groups of N members into M, I rows each; `before` has room for M + 1. */
static ct_status start(ct_device *dev, const ct_tensor *groups, int64_t N, int64_t I, int64_t *before,
                       grouping *g)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    const int64_t *offset = (const int64_t *)groups->data, M = groups->dim[0] - 1 - N;
    *g = grouping{ N, M, I, offset, offset + M + 1, before };
    cuda->checked = true;
    CT__LAUNCH_BLOCK(check_kernel, 1, CHECKERS, cuda->stream, *g, (int64_t)(uintptr_t) "groups",
                     cuda->bad_index);
    CT__LAUNCH_BLOCK(tiles_kernel, 1, THREADS, cuda->stream, *g, before);
    return ct__cuda_launched(dev, "gather_matmul");
}

/* At least as many blocks as the groups have tiles. */
static unsigned tiles_at_most(const grouping *g, int64_t columns)
{
    const int64_t rows = g->N * g->I, tiles = rows / TILE + (g->M < rows ? g->M : rows) + 1;
    return ct__blocks(tiles * ct__divide_up(columns, TILE));
}

template <typename S>
static ct_status forward(ct_device *dev, const grouping *g, int64_t J, int64_t K, const void *A,
                         const void *C, int64_t c_rs, int64_t c_cs, void *out)
{
    if (!g->N || !g->I || !K) return CT_OK;
    CT__LAUNCH_BLOCK(forward_kernel<S>, tiles_at_most(g, K), THREADS, ct__cuda_of(dev)->stream, *g, J, K,
                     (const S *)A, (const S *)C, J * K, c_rs, c_cs, (S *)out);
    return ct__cuda_launched(dev, "gather_matmul");
}

template <typename S>
static ct_status sum_up(ct_device *dev, const grouping *g, int64_t J, int64_t K, const void *A, const void *G,
                        void *C_bar)
{
    const int64_t blocks = g->M * ct__divide_up(J, TILE) * ct__divide_up(K, TILE);
    if (!blocks) return CT_OK;
    CT__LAUNCH_BLOCK(sum_kernel<S>, ct__blocks(blocks), THREADS, ct__cuda_of(dev)->stream, *g, J, K,
                     (const S *)A, (const S *)G, (S *)C_bar);
    return ct__cuda_launched(dev, "gather_matmul");
}

#define PER_TYPE(dtype, function, ...)                      \
    ((dtype) == CT_F64    ? function<double>(__VA_ARGS__)   \
     : (dtype) == CT_BF16 ? function<ct__bf16>(__VA_ARGS__) \
     : (dtype) == CT_F16  ? function<ct__f16>(__VA_ARGS__)  \
                          : function<float>(__VA_ARGS__))

ct_status ct__cuda_grouped_gemm(ct_device *dev, const ct_tensor *A, const ct_tensor *C,
                                const ct_tensor *groups, ct_tensor *out)
{
    const int64_t N = A->dim[0], J = A->dim[2], K = C->dim[2];
    ct__scratch before(dev, (C->dim[0] + 1) * (int64_t)sizeof(int64_t));
    if (!before.data) return CT_ENOMEM;
    grouping g;
    ct_status s = start(dev, groups, N, A->dim[1], (int64_t *)before.data, &g);
    if (s) return s;
    return PER_TYPE(out->dtype, forward, dev, &g, J, K, A->data, C->data, K, 1, out->data);
}

ct_status ct__cuda_grouped_gemm_bar(ct_device *dev, const ct_tensor *A, const ct_tensor *C,
                                    const ct_tensor *G, const ct_tensor *groups, ct_tensor *A_bar,
                                    ct_tensor *C_bar)
{
    const int64_t N = G->dim[0], I = G->dim[1], K = G->dim[2],
                  J = A_bar   ? A_bar->dim[2]
                      : C_bar ? C_bar->dim[1]
                              : 0;
    ct__scratch before(dev, (groups->dim[0] - N) * (int64_t)sizeof(int64_t));
    if (!before.data) return CT_ENOMEM;
    grouping g;
    ct_status s = start(dev, groups, N, I, (int64_t *)before.data, &g);
    if (!s && A_bar) /* A_bar_i = G_i C_mᵀ: C_mᵀ is (K, J) with C's strides exchanged */
        s = PER_TYPE(G->dtype, forward, dev, &g, K, J, G->data, C->data, 1, K, A_bar->data);
    return s || !C_bar ? s : PER_TYPE(G->dtype, sum_up, dev, &g, J, K, A->data, G->data, C_bar->data);
}
