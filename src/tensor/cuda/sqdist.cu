/* Squared distances by direct differences, so that equal points are at distance 0 exactly. A block has a
 * square of them, and takes some columns of its points at a time to shared memory; a thread has 4×4, so that
 * a coordinate serves four. */
#include "batch.cuh"

enum {
    TILE = CT__SQDIST_TILE,
    SIDE = CT__SQDIST_SIDE,
    DEEP = CT__SQDIST_DEEP,
    THREADS = SIDE * SIDE,
    EACH = TILE / SIDE,
};

/* to[k][i] = column from + k of point first + i; 0 beyond */
template <typename T>
static __device__ __forceinline__ void stage(const T *x, const ct__matrix &m, int64_t first, int64_t from,
                                             T (*to)[TILE + 1])
{
    for (int e = (int)threadIdx.x; e < TILE * DEEP; e += THREADS) {
        const bool by_row = m.cs <= m.rs; /* neighbours to neighbouring threads */
        const int i = by_row ? e / DEEP : e % TILE, k = by_row ? e % DEEP : e / TILE;
        const bool inside = first + i < m.rows && from + k < m.cols;
        to[k][i] = inside ? x[(first + i) * m.rs + (from + k) * m.cs] : (T)0;
    }
}

template <typename T>
static __global__ void sqdist_kernel(ct__batch b, ct__matrix x, ct__matrix y, ct__matrix out)
{
    CT__SHARED(T, p, [DEEP][TILE + 1]);
    CT__SHARED(T, q, [DEEP][TILE + 1]);
    const int column = (int)threadIdx.x % SIDE, row = (int)threadIdx.x / SIDE;
    const int64_t down = (out.rows + TILE - 1) / TILE, across = (out.cols + TILE - 1) / TILE;
    for (int64_t tile = blockIdx.x; tile < b.members * down * across; tile += gridDim.x) {
        const int64_t member = tile / (down * across), rest = tile - member * down * across,
                      i0 = rest / across * TILE, j0 = rest % across * TILE;
        const T *px = (const T *)x.data + ct__member_at(b, x, member),
                *py = (const T *)y.data + ct__member_at(b, y, member);
        T sum[EACH][EACH] = {};
        for (int64_t from = 0; from < x.cols; from += DEEP) {
            __syncthreads();
            stage(px, x, i0, from, p);
            stage(py, y, j0, from, q);
            __syncthreads();
            const int depth = x.cols - from < DEEP ? (int)(x.cols - from) : (int)DEEP;
            for (int k = 0; k < depth; k++) CT__UNROLL
            for (int i = 0; i < EACH; i++) CT__UNROLL
            for (int j = 0; j < EACH; j++) {
                const T difference = p[k][row + i * SIDE] - q[k][column + j * SIDE];
                sum[i][j] += difference * difference;
            }
        }
        T *to = (T *)out.data + ct__member_at(b, out, member);
        CT__UNROLL
        for (int i = 0; i < EACH; i++) CT__UNROLL
        for (int j = 0; j < EACH; j++) {
            const int64_t at = i0 + row + i * SIDE, other = j0 + column + j * SIDE;
            if (at < out.rows && other < out.cols) to[at * out.rs + other * out.cs] = sum[i][j];
        }
    }
}

ct_status ct__cuda_sqdist(ct_device *dev, const ct_view *x, const ct_view *y, ct_view *out)
{
    const ct__matrices<3> b({ x, y, out });
    const ct__matrix *m = b.m;
    const bool by_row = m[2].cs <= m[2].rs; /* else their transposes: neighbours are written by neighbours */
    const ct__matrix &first = m[!by_row], &second = m[by_row], to = by_row ? m[2] : ct__turned(m[2]);
    const int64_t tiles = b.members * ct__divide_up(to.rows, TILE) * ct__divide_up(to.cols, TILE);
    return CT__BATCH_BLOCKS(dev, "sqdist", b, sqdist_kernel, ct__smaller(tiles, CT__GRID), THREADS, first,
                            second, to);
}
