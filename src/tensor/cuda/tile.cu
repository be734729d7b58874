/* Triangles of up to 128 rows, in place, a block for each. The block's 16 x 16 threads hold the matrix in their registers: thread
 * (y, x) the elements (y + 16 p, x + 16 q). They go through the columns one by one; what a step needs of others, a column or a
 * row, its owners put into shared memory, of which there are two, so that one barrier a step is enough:
 *
 *     step j:  the owners publish  ->  barrier  ->  all read it and change their elements  ->  step j + 1 in the other room
 *
 * A register has no index at run time: loops over p and q, and over the blocks of 16 columns, are unrolled. */
#include "tile.cuh"

#include <math.h>

enum { SIDE = 16, THREADS = SIDE * SIDE, WIDE = 4, STRIP = SIDE * WIDE };

/* This thread's place: x along what lies closer together, so that neighbours load neighbours. */
struct seat {
    int y, x;
    __device__ seat(const ct__matrix &m)
    {
        const int t = (int)threadIdx.x, slow = t / SIDE, fast = t % SIDE;
        const bool by_row = m.cs <= m.rs;
        y = by_row ? slow : fast;
        x = by_row ? fast : slow;
    }
};

/* The lower triangle, completed by the identity. Elements with q > p are above the diagonal: those registers are never used. */
template <typename T, int EACH>
static __device__ __forceinline__ void load_lower(const T *m, const ct__matrix &shape, seat at, T (*a)[EACH])
{
    const int n = (int)shape.rows;
    CT__UNROLL
    for (int p = 0; p < EACH; p++) CT__UNROLL
    for (int q = 0; q <= p; q++) {
        const int i = at.y + SIDE * p, k = at.x + SIDE * q;
        a[p][q] = i < n && k <= i ? m[i * shape.rs + k * shape.cs] : (T)(i == k);
    }
}

template <typename T, int EACH>
static __device__ __forceinline__ void store_lower(const T (*a)[EACH], seat at, const ct__matrix &shape, T *m)
{
    const int n = (int)shape.rows;
    CT__UNROLL
    for (int p = 0; p < EACH; p++) CT__UNROLL
    for (int q = 0; q <= p; q++) {
        const int i = at.y + SIDE * p, k = at.x + SIDE * q;
        if (i < n && k <= i) m[i * shape.rs + k * shape.cs] = a[p][q];
    }
}

/* l_jj = √a_jj,  l_ij = a_ij / l_jj,  a_ik -= l_ij l_kj for j < k <= i. The test of the pivot is false for NaN. Above the diagonal
 * is what never comes back. */
template <typename T, int EACH>
static __global__ void __launch_bounds__(THREADS)
    cholesky_kernel(ct__batch b, ct__matrix m, int64_t first, int64_t *failed)
{
    __shared__ T room[2][SIDE * EACH];
    const int n = (int)m.rows;
    const int64_t member = blockIdx.x;
    T *to = (T *)m.data + ct__member_at(b, m, member), a[EACH][EACH];
    const seat at(m);
    load_lower(to, m, at, a);
    CT__UNROLL
    for (int block = 0; block < EACH; block++)
        for (int jj = 0, j = SIDE * block; jj < SIDE && j < n; jj++, j++) {
            T *const column = room[j % 2], left[EACH], right[EACH];
            if (at.x == jj) CT__UNROLL
            for (int p = block; p < EACH; p++) column[at.y + SIDE * p] = a[p][block];
            __syncthreads();
            const T pivot = column[j];
            if (!(pivot > 0 && pivot < (T)INFINITY)) { /* the same for all threads */
                if (!threadIdx.x && !failed[member]) failed[member] = first + j + 1;
                return;
            }
            const T root = sqrt(pivot), share = 1 / root;
            CT__UNROLL
            for (int p = block; p < EACH; p++) {
                left[p] = column[at.y + SIDE * p] * share;
                right[p] = column[at.x + SIDE * p] * share;
            }
            CT__UNROLL
            for (int p = block; p < EACH; p++) {
                if (at.x > jj) a[p][block] -= left[p] * right[block];
                if (at.x == jj) a[p][block] = at.y + SIDE * p == j ? root : left[p];
                CT__UNROLL
                for (int q = block + 1; q <= p; q++) a[p][q] -= left[p] * right[q];
            }
        }
    store_lower(a, at, m, to);
}

/* M L = I by rows, which L⁻ᵀL⁻¹ needs (docs/ops/inverse.md), from the last column to the first: m_jj = 1 / l_jj,
 * m_ij = s_ij / l_jj for i > j, and s_ik -= m_ij l_jk for k < j. Row i holds l until step i, then s, then m. */
template <typename T, int EACH>
static __global__ void __launch_bounds__(THREADS) invert_kernel(ct__batch b, ct__matrix m)
{
    __shared__ T columns[2][SIDE * EACH], rows[2][SIDE * EACH];
    const int n = (int)m.rows;
    T *to = (T *)m.data + ct__member_at(b, m, blockIdx.x), a[EACH][EACH];
    const seat at(m);
    load_lower(to, m, at, a);
    CT__UNROLL
    for (int block = EACH - 1; block >= 0; block--)
        for (int jj = SIDE - 1; jj >= 0; jj--) {
            const int j = SIDE * block + jj;
            if (j >= n) continue;
            T *const column = columns[j % 2], *const row = rows[j % 2];
            if (at.x == jj) CT__UNROLL
            for (int p = block; p < EACH; p++) column[at.y + SIDE * p] = a[p][block];
            if (at.y == jj) CT__UNROLL
            for (int q = 0; q <= block; q++) row[at.x + SIDE * q] = a[block][q];
            __syncthreads();
            const T share = 1 / column[j];
            CT__UNROLL
            for (int p = block; p < EACH; p++) {
                const bool own = p == block && at.y == jj, below = p > block || at.y > jj;
                const T left = own ? share : column[at.y + SIDE * p] * share;
                CT__UNROLL
                for (int q = 0; q <= block; q++) {
                    const T product = left * row[at.x + SIDE * q];
                    if (q < block || at.x < jj)
                        a[p][q] = own ? -product : below ? a[p][q] - product : a[p][q];
                }
                if (at.x == jj && (own || below)) a[p][block] = left;
            }
        }
    store_lower(a, at, m, to);
}

/* P = LᵀL: p_ik = Σ_j l_ji l_jk over j >= i. Row j holds l until step j, where p_jk = l_jj l_jk; then later steps add to it. */
template <typename T, int EACH>
static __global__ void __launch_bounds__(THREADS) square_kernel(ct__batch b, ct__matrix m)
{
    __shared__ T room[2][SIDE * EACH];
    const int n = (int)m.rows;
    T *to = (T *)m.data + ct__member_at(b, m, blockIdx.x), a[EACH][EACH];
    const seat at(m);
    load_lower(to, m, at, a);
    CT__UNROLL
    for (int block = 0; block < EACH; block++)
        for (int jj = 0, j = SIDE * block; jj < SIDE && j < n; jj++, j++) {
            T *const row = room[j % 2];
            if (at.y == jj) CT__UNROLL
            for (int q = 0; q <= block; q++) row[at.x + SIDE * q] = a[block][q];
            __syncthreads();
            CT__UNROLL
            for (int p = 0; p <= block; p++) {
                const bool own = p == block && at.y == jj, above = p < block || at.y < jj;
                const T left = row[at.y + SIDE * p];
                CT__UNROLL
                for (int q = 0; q <= p; q++) {
                    const T product = left * row[at.x + SIDE * q];
                    a[p][q] = own ? product : above ? a[p][q] + product : a[p][q];
                }
            }
        }
    store_lower(a, at, m, to);
}

/* Columns 16 block, ... of a triangle for all its rows: one each of `thread`'s, and the identity's where there is none. */
template <typename T, int EACH, bool LOWER>
static __device__ __forceinline__ void fetch(const T *M, const ct__matrix &m, seat at, int block, bool unit,
                                             T *to)
{
    const int n = (int)m.rows, k = at.x + SIDE * block;
    CT__UNROLL
    for (int p = 0; p < EACH; p++) {
        const int i = at.y + SIDE * p;
        const bool read = i < n && k < n && (i == k ? !unit : LOWER ? k < i : k > i);
        to[p] = read ? M[i * m.rs + k * m.cs] : (T)(i == k);
    }
}

/* A block has STRIP columns of B; M comes through shared memory, 16 columns at a time, the next on their way meanwhile.
 *     solve:     x_k = b_k / m_kk,  b_i -= m_ik x_k      for the rows i after k: below it where M is lower, else above
 *     multiply:  b_i += m_ik b_k,   b_k = m_kk b_k       likewise, but from the last row to the first */
template <typename T, int EACH, bool SOLVE, bool LOWER>
static __global__ void __launch_bounds__(THREADS)
    apply_kernel(ct__batch b, ct__matrix m, ct__matrix x, bool unit, double alpha)
{
    __shared__ T part[SIDE][SIDE * EACH + 1], rows[2][STRIP];
    const bool down = SOLVE == LOWER; /* from the first row to the last */
    const int64_t strips = (x.cols + STRIP - 1) / STRIP, member = blockIdx.x / strips,
                  column = blockIdx.x % strips * STRIP;
    const int n = (int)m.rows, cols = x.cols - column < STRIP ? (int)(x.cols - column) : (int)STRIP;
    const T *M = (const T *)m.data + ct__member_at(b, m, member);
    T *to = (T *)x.data + ct__member_at(b, x, member) + column * x.cs, a[EACH][WIDE], next[EACH];
    const seat at(x), from(m);
    CT__UNROLL
    for (int p = 0; p < EACH; p++) CT__UNROLL
    for (int q = 0; q < WIDE; q++) {
        const int i = at.y + SIDE * p, c = at.x + SIDE * q;
        a[p][q] = i < n && c < cols ? (T)alpha * to[i * x.rs + c * x.cs] : (T)0;
    }
    fetch<T, EACH, LOWER>(M, m, from, down ? 0 : EACH - 1, unit, next);
    CT__UNROLL
    for (int step = 0; step < EACH; step++) {
        const int block = down ? step : EACH - 1 - step;
        __syncthreads();
        CT__UNROLL
        for (int p = 0; p < EACH; p++) part[from.x][from.y + SIDE * p] = next[p];
        __syncthreads();
        if (step + 1 < EACH) fetch<T, EACH, LOWER>(M, m, from, down ? block + 1 : block - 1, unit, next);
        for (int u = 0; u < SIDE; u++) {
            const int kk = down ? u : SIDE - 1 - u, k = SIDE * block + kk;
            if (k >= n) continue;
            T *const row = rows[k % 2];
            if (at.y == kk) CT__UNROLL
            for (int q = 0; q < WIDE; q++) {
                if (SOLVE) a[block][q] /= part[kk][k];
                row[at.x + SIDE * q] = a[block][q];
                if (!SOLVE) a[block][q] *= part[kk][k];
            }
            __syncthreads();
            CT__UNROLL
            for (int p = LOWER ? block : 0; p < (LOWER ? EACH : block + 1); p++) {
                if (p == block && !(LOWER ? at.y > kk : at.y < kk)) continue;
                const T left = SOLVE ? -part[kk][at.y + SIDE * p] : part[kk][at.y + SIDE * p];
                CT__UNROLL
                for (int q = 0; q < WIDE; q++) a[p][q] += left * row[at.x + SIDE * q];
            }
        }
    }
    CT__UNROLL
    for (int p = 0; p < EACH; p++) CT__UNROLL
    for (int q = 0; q < WIDE; q++) {
        const int i = at.y + SIDE * p, c = at.x + SIDE * q;
        if (i < n && c < cols) to[i * x.rs + c * x.cs] = a[p][q];
    }
}

/* -- launching ------------------------------------------------------------------------------------------------------ */

/* As few registers as the extent n allows: 2, 4 or 8 squared. */
#define LAUNCH(n, blocks, KERNEL, ...)                                                                       \
    do {                                                                                                     \
        cudaStream_t stream = ct__cuda_of(dev)->stream;                                                      \
        const bool f64 = b->dtype == CT_F64;                                                                 \
        if ((n) <= 2 * SIDE) {                                                                               \
            if (f64)                                                                                         \
                CT__LAUNCH_BLOCK((KERNEL(double, 2)), ct__blocks(blocks), THREADS, stream, *b, __VA_ARGS__); \
            else                                                                                             \
                CT__LAUNCH_BLOCK((KERNEL(float, 2)), ct__blocks(blocks), THREADS, stream, *b, __VA_ARGS__);  \
        } else if ((n) <= 4 * SIDE) {                                                                        \
            if (f64)                                                                                         \
                CT__LAUNCH_BLOCK((KERNEL(double, 4)), ct__blocks(blocks), THREADS, stream, *b, __VA_ARGS__); \
            else                                                                                             \
                CT__LAUNCH_BLOCK((KERNEL(float, 4)), ct__blocks(blocks), THREADS, stream, *b, __VA_ARGS__);  \
        } else {                                                                                             \
            if (f64)                                                                                         \
                CT__LAUNCH_BLOCK((KERNEL(double, 8)), ct__blocks(blocks), THREADS, stream, *b, __VA_ARGS__); \
            else                                                                                             \
                CT__LAUNCH_BLOCK((KERNEL(float, 8)), ct__blocks(blocks), THREADS, stream, *b, __VA_ARGS__);  \
        }                                                                                                    \
    } while (0)

ct_status ct__tile_cholesky(ct_device *dev, const ct__batch *b, const ct__matrix &A, int64_t first,
                            int64_t *failed)
{
#define KERNEL(T, EACH) cholesky_kernel<T, EACH>
    LAUNCH(A.rows, b->members, KERNEL, A, first, failed);
#undef KERNEL
    return ct__cuda_launched(dev, "cholesky");
}

ct_status ct__tile_invert(ct_device *dev, const ct__batch *b, const ct__matrix &L)
{
#define KERNEL(T, EACH) invert_kernel<T, EACH>
    LAUNCH(L.rows, b->members, KERNEL, L);
#undef KERNEL
    return ct__cuda_launched(dev, "trtri");
}

ct_status ct__tile_square(ct_device *dev, const ct__batch *b, const ct__matrix &L)
{
#define KERNEL(T, EACH) square_kernel<T, EACH>
    LAUNCH(L.rows, b->members, KERNEL, L);
#undef KERNEL
    return ct__cuda_launched(dev, "lauum");
}

template <bool SOLVE, bool LOWER>
static ct_status apply(ct_device *dev, const ct__batch *b, bool unit, double alpha, const ct__matrix &M,
                       const ct__matrix &B)
{
#define KERNEL(T, EACH) apply_kernel<T, EACH, SOLVE, LOWER>
    LAUNCH(M.rows, b->members * ct__divide_up(B.cols, STRIP), KERNEL, M, B, unit, alpha);
#undef KERNEL
    return ct__cuda_launched(dev, SOLVE ? "trsm" : "trmm");
}

ct_status ct__tile_solve(ct_device *dev, const ct__batch *b, bool lower, bool unit, double alpha,
                         const ct__matrix &M, const ct__matrix &B)
{
    return lower ? apply<true, true>(dev, b, unit, alpha, M, B)
                 : apply<true, false>(dev, b, unit, alpha, M, B);
}

ct_status ct__tile_multiply(ct_device *dev, const ct__batch *b, bool lower, bool unit, double alpha,
                            const ct__matrix &M, const ct__matrix &B)
{
    return lower ? apply<false, true>(dev, b, unit, alpha, M, B)
                 : apply<false, false>(dev, b, unit, alpha, M, B);
}
