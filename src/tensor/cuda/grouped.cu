/* Products with gathered matrices, group by group, without atomics. A block computes a tile of a group's
 * rows, or a piece of the sum over them. */
#include "block.cuh"
#include "grouped.cuh"
#include "pieces.cuh"

enum { LENGTH = CT__GROUP_LENGTH };

/* -- checks of groups ------------------------------------------------------------------------------------ */

/* Notes offsets and positions that group_by cannot have made. */
static __global__ void groups_kernel(ct__check check, ct__groups g)
{
    const int64_t *offset = g.offset, M = g.M, N = g.N;
    const auto value = [=](int64_t i) { return offset[i]; };
    ct__check_places(check, M + 1 + N, N, false, value, [=](int64_t i) {
        const int64_t x = offset[i];
        return i > M ? x < 0 || x >= N
                     : x < (i ? offset[i - 1] : 0) || x > N || (i == 0 && x) || (i == M && x != N);
    });
}

/* -- kernels --------------------------------------------------------------------------------------------- */

/* The operands whose rows are aligned to 16 bytes. */
typedef struct whole {
    bool left, right, out;
} whole;

/* out_i = A_i C_m with A (N I, D), C_m (D, W) or, TRANSPOSED, the transpose of (W, D), and out (N I, W). A
 * block computes a tile of a group's rows and of W. */
template <typename S, bool TRANSPOSED>
static __global__ void __launch_bounds__(THREADS, TRANSPOSED ? (int)tiles<S>::BLOCKS_TRANSPOSED
                                                             : (int)tiles<S>::BLOCKS)
    forward_kernel(ct__groups g, int64_t D, int64_t W, const S *A, const S *C, S *out, whole wide)
{
    typedef tiles<S> of;
    enum { VECTOR = 16 / sizeof(typename of::T) };
    CT__SHARED(S, left, [of::EXTENT]);
    CT__SHARED(S, right, [of::EXTENT]);
    CT__SHARED(int64_t, row, [TILE]);
    const unsigned across = (unsigned)((W + TILE - 1) / TILE);
    const int64_t w0 = (int64_t)(blockIdx.x % across) * TILE;
    const ct__piece p = ct__piece_at(g, ROWS, blockIdx.x / across);
    if (!p.rows) return;
    const int t = (int)threadIdx.x, x = t % ACROSS, y = t / ACROSS;
    if (t < TILE) row[t] = t < p.rows ? ct__row_at(g, p.m, p.first + t) : -1;
    sums<S> tile;
    const int64_t c_row = p.m * (TRANSPOSED ? W : D);
    int64_t d0 = 0;
    do { /* once even if D is 0: this sets the rows */
        const int64_t deep = D - d0;
        __syncthreads();
        stage<S, TILE, of::DEPTH>(left, A, D, d0, wide.left, [&](int r) { return row[r]; });
        if (TRANSPOSED)
            stage<S, TILE, of::DEPTH>(right, C, D, d0, wide.right,
                                      [=](int r) { return w0 + r < W ? c_row + w0 + r : -1; });
        else
            stage<S, of::DEPTH, TILE>(right, C, W, w0, wide.right,
                                      [=](int r) { return r < deep ? c_row + d0 + r : -1; });
        __syncthreads();
        const int depth = deep < of::DEPTH ? (int)deep : (int)of::DEPTH;
        tile.template add<TRANSPOSED>(left, right, depth, p.rows);
        d0 += of::DEPTH;
    } while (d0 < D);
    const auto row_at = [=](int i) { return y + DOWN * i; };
    const auto col_at = [=](int c) { return TRANSPOSED ? x + ACROSS * c : spread<VECTOR>(x, ACROSS, c); };
    const auto row_of = [&](int i) { return row[row_at(i)]; };
    tile.settle(left, row_at, col_at);
    if (TRANSPOSED) {
        for (int i = 0; i < EACH; i++)
            for (int c = 0; c < WIDTH; c++)
                if (row_of(i) >= 0 && w0 + col_at(c) < W)
                    out[row_of(i) * W + w0 + col_at(c)] = (S)tile.sum[i][c];
    } else {
        store(out, W, w0, wide.out, tile.sum, row_of);
    }
}

/* C_bar_m = Σ A_iᵀ G_i over the group's members. A block computes a tile of (J, K) over one piece of the
 * group's rows; it keeps the sums if the group has several pieces. */
template <typename S>
static __global__ void __launch_bounds__(THREADS, tiles<S>::BLOCKS)
    sum_kernel(ct__groups g, int shift, int64_t J, int64_t K, const S *A, const S *G, S *C_bar,
               typename tiles<S>::T *kept, whole wide)
{
    typedef tiles<S> of;
    enum { VECTOR = 16 / sizeof(typename of::T), DEPTH = of::DEPTH };
    CT__SHARED(S, left, [of::EXTENT]);
    CT__SHARED(S, right, [of::EXTENT]);
    CT__SHARED(int64_t, row, [DEPTH]);
    const unsigned across = (unsigned)((K + TILE - 1) / TILE), down = (unsigned)((J + TILE - 1) / TILE),
                   block = blockIdx.x;
    const unsigned j0 = block / across % down * TILE, k0 = block % across * TILE; /* in 32 bits: no spills */
    const ct__piece p = ct__piece_at(g, shift, block / across / down);
    if (p.number && !p.rows) return; /* the first piece of an empty group stores zero */
    const bool part = p.all > (int64_t)1 << shift;
    const int64_t at = (part ? ct__kept_at(g, shift, p.m) + p.number : p.m) * J + j0;
    const int t = (int)threadIdx.x, x = t % ACROSS, y = t / ACROSS;
    sums<S> tile;
    for (int64_t r0 = 0; r0 < p.rows; r0 += DEPTH) {
        const int64_t rest = p.rows - r0;
        __syncthreads();
        if (t < DEPTH) row[t] = t < rest ? ct__row_at(g, p.m, p.first + r0 + t) : -1;
        __syncthreads();
        stage<S, DEPTH, TILE>(left, A, J, j0, wide.left, [&](int r) { return row[r]; });
        stage<S, DEPTH, TILE>(right, G, K, k0, wide.right, [&](int r) { return row[r]; });
        __syncthreads();
        tile.add_transposed(left, right, rest < DEPTH ? (int)rest : (int)DEPTH);
    }
    const auto row_at = [=](int i) { return spread<VECTOR>(y, DOWN, i); };
    const auto row_of = [=](int i) { return j0 + row_at(i) < J ? at + row_at(i) : -1; };
    tile.settle(left, row_at, [=](int c) { return spread<VECTOR>(x, ACROSS, c); });
    if (part)
        store(kept, K, k0, wide.out, tile.sum, row_of);
    else
        store(C_bar, K, k0, wide.out, tile.sum, row_of);
}

/* Adds the pieces of groups that have several. */
template <typename S>
static __global__ void add_kernel(ct__groups g, int shift, int64_t count, const typename tiles<S>::T *kept,
                                  S *C_bar)
{
    typedef typename tiles<S>::T T;
    ct__add_kept<T>(g, shift, count, kept,
                    [=](int64_t m, int64_t e, T sum) { C_bar[m * count + e] = (S)sum; });
}

/* -- host functions -------------------------------------------------------------------------------------- */

/* Whether rows of `width` elements are aligned to n elements. */
template <typename S> static bool rows_at(const void *x, int64_t width, int64_t n)
{
    return width % n == 0 && (uintptr_t)x % ((size_t)n * sizeof(S)) == 0;
}

/* The groups of N members with I rows each; queues their check. */
static ct_status take_groups(ct_device *dev, const ct_view *groups, int64_t N, int64_t I, ct__groups *g)
{
    const int64_t *offset = (const int64_t *)groups->data, M = groups->dim[0] - 1 - N;
    *g = ct__groups{ N, M, I, offset, offset + M + 1 };
    return CT__RUN_CHECK(dev, "groups", groups_kernel, M + 1 + N, *g);
}

template <typename S, bool TRANSPOSED>
static ct_status forward(ct_device *dev, const ct__groups &g, int64_t D, int64_t W, const void *A,
                         const void *C, void *out)
{
    const int64_t blocks = g.M ? ct__pieces(g, ROWS) * ct__divide_up(W, TILE) : 0;
    const whole wide = { rows_at<S>(A, D, 16 / sizeof(S)), rows_at<S>(C, TRANSPOSED ? D : W, 16 / sizeof(S)),
                         rows_at<S>(out, W, 16 / sizeof(typename tiles<S>::T)) };
    return CT__RUN_BLOCKS(dev, "gather_matmul", (forward_kernel<S, TRANSPOSED>), blocks, THREADS, g, D, W,
                          (const S *)A, (const S *)C, (S *)out, wide);
}

/* A larger C_bar_m has more blocks, so its pieces are longer: at most 32 numbers are kept per row of A. */
template <typename S>
static ct_status sum_up(ct_device *dev, const ct__groups &g, int64_t J, int64_t K, const void *A,
                        const void *G, void *C_bar)
{
    typedef typename tiles<S>::T T;
    const int64_t blocks = ct__divide_up(J, TILE) * ct__divide_up(K, TILE), count = J * K;
    int shift = LENGTH;
    while ((int64_t)1 << (shift - LENGTH) < blocks) shift++;
    if (!g.M || !count) return CT_OK;
    if (J > INT32_MAX || K > INT32_MAX)
        return ct__fail(dev, CT_EUNSUPPORTED, "%s: 2^31 columns in a gathered product", dev->name);
    const bool long_ones = g.N * g.I > (int64_t)1 << shift;
    const ct__scratch kept(dev, long_ones ? ct__kept(g, shift) * count * (int64_t)sizeof(T) : 0);
    if (!kept.data) return CT_ENOMEM;
    const whole wide = { rows_at<S>(A, J, 16 / sizeof(S)), rows_at<S>(G, K, 16 / sizeof(S)),
                         rows_at<S>(C_bar, K, 16 / sizeof(T)) };
    ct_status s = CT__RUN_BLOCKS(dev, "gather_matmul", sum_kernel<S>, ct__pieces(g, shift) * blocks, THREADS,
                                 g, shift, J, K, (const S *)A, (const S *)G, (S *)C_bar, kept, wide);
    if (s || !long_ones) return s;
    return CT__RUN_BLOCKS(dev, "gather_matmul", add_kernel<S>, ct__adders(g, shift), CT__BLOCK, g, shift,
                          count, kept, (S *)C_bar);
}

ct_status ct__cuda_grouped_gemm(ct_device *dev, const ct_view *A, const ct_view *C, const ct_view *groups,
                                ct_view *out)
{
    const int64_t N = A->dim[0], J = A->dim[2], K = C->dim[2];
    ct__groups g;
    ct_status s = take_groups(dev, groups, N, A->dim[1], &g);
#define FORWARD(S) forward<S, false>(dev, g, J, K, A->data, C->data, out->data)
    return s ? s : CT__PER_DTYPE(out->dtype, FORWARD);
}

ct_status ct__cuda_grouped_gemm_bar(ct_device *dev, const ct_view *A, const ct_view *C, const ct_view *G,
                                    const ct_view *groups, ct_view *A_bar, ct_view *C_bar)
{
    const int64_t N = G->dim[0], K = G->dim[2], J = A_bar ? A_bar->dim[2] : C_bar ? C_bar->dim[1] : 0;
    ct__groups g;
    ct_status s = take_groups(dev, groups, N, G->dim[1], &g);
#define ROWS_BAR(S) forward<S, true>(dev, g, K, J, G->data, C->data, A_bar->data)
    if (!s && A_bar) s = CT__PER_DTYPE(G->dtype, ROWS_BAR); /* A_bar_i = G_i C_mᵀ */
#define SUMS(S) sum_up<S>(dev, g, J, K, A->data, G->data, C_bar->data)
    return s || !C_bar ? s : CT__PER_DTYPE(G->dtype, SUMS);
}
