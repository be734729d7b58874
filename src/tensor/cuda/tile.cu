/* Triangles of up to 128 rows, in place, a block for each. The block's SIDE x SIDE threads, 16 x 16 or, for
 * up to 16 rows, 8 x 8, hold the matrix in their registers: thread (y, x) the elements (y + SIDE p, x + SIDE
 * q) for p, q < EACH. They go through it by SIDE columns or rows, block after block:
 *
 *     who holds them puts them into shared memory, as `part`
 *     what makes each depend on the one before is done there: a thread has a whole row, or a column, of part
 *     all others are brought up to date with them at once, out of part, without waiting for anyone
 *
 * A register has no index at run time: loops over p and q are unrolled by the compiler, those over blocks
 * because it is told to. */
#include "tile.cuh"

#include <math.h>

enum { WIDE = 4 }; /* elements of a right-hand side that a thread has, in a row */

/* This thread's place: x along what lies closer together, so that neighbours load neighbours. */
template <int SIDE> struct seat {
    int y, x;
    __device__ seat(const ct__matrix &m)
    {
        const int t = (int)threadIdx.x, slow = t / SIDE, fast = t % SIDE;
        const bool by_row = m.cs <= m.rs;
        y = by_row ? slow : fast;
        x = by_row ? fast : slow;
    }
};

/* The lower triangle, completed by the identity. Elements with q > p are above the diagonal: those registers
 * are never used. */
template <typename T, int SIDE, int EACH>
static __device__ __forceinline__ void load_lower(const T *m, const ct__matrix &shape, seat<SIDE> at,
                                                  T (*a)[EACH])
{
    const int n = (int)shape.rows;
    for (int p = 0; p < EACH; p++)
        for (int q = 0; q <= p; q++) {
            const int i = at.y + SIDE * p, k = at.x + SIDE * q;
            a[p][q] = i < n && k <= i ? m[i * shape.rs + k * shape.cs] : (T)(i == k);
        }
}

template <typename T, int SIDE, int EACH>
static __device__ __forceinline__ void store_lower(const T (*a)[EACH], seat<SIDE> at, const ct__matrix &shape,
                                                   T *m)
{
    const int n = (int)shape.rows;
    for (int p = 0; p < EACH; p++)
        for (int q = 0; q <= p; q++) {
            const int i = at.y + SIDE * p, k = at.x + SIDE * q;
            if (i < n && k <= i) m[i * shape.rs + k * shape.cs] = a[p][q];
        }
}

/* Column by column within a block, since a pivot needs all before it: l_jj = √a_jj, l_ij = a_ij / l_jj,
 * a_ik -= l_ij l_kj for j < k <= i; the columns right of the block later, from part, which holds l. There are
 * two rooms for column j as it comes, so that one barrier a column is enough. The test of the pivot is false
 * for NaN. */
template <typename T, int SIDE, int EACH>
static __global__ void __launch_bounds__(SIDE *SIDE)
    cholesky_kernel(ct__batch b, ct__matrix m, int64_t first, int64_t *failed)
{
    __shared__ T part[SIDE][SIDE * EACH], room[2][SIDE * EACH];
    const int n = (int)m.rows;
    const int64_t member = blockIdx.x;
    T *to = (T *)m.data + ct__member_at(b, m, member), a[EACH][EACH];
    const seat<SIDE> at(m);
    load_lower(to, m, at, a);
    CT__UNROLL
    for (int block = 0; block < EACH; block++) {
        if (SIDE * block >= n) break;
        for (int jj = 0; jj < SIDE && SIDE * block + jj < n; jj++) {
            T *const column = room[jj % 2];
            if (at.x == jj)
                for (int p = block; p < EACH; p++) column[at.y + SIDE * p] = a[p][block];
            __syncthreads();
            const T pivot = column[SIDE * block + jj];
            if (!(pivot > 0 && pivot < (T)INFINITY)) { /* the same for all threads */
                if (!threadIdx.x && !failed[member]) failed[member] = first + SIDE * block + jj + 1;
                return;
            }
            const T share = rsqrt(pivot), right = column[SIDE * block + at.x] * share;
            for (int p = block; p < EACH; p++) {
                const int i = at.y + SIDE * p;
                const T left = column[i] * share;
                if (at.x > jj) a[p][block] -= left * right;
                if (at.x == jj) part[jj][i] = a[p][block] = i == SIDE * block + jj ? sqrt(pivot) : left;
            }
        }
        __syncthreads();
        for (int jj = 0; jj < SIDE; jj++)
            for (int p = block + 1; p < EACH; p++)
                for (int q = block + 1; q <= p; q++)
                    a[p][q] -= part[jj][at.y + SIDE * p] * part[jj][at.x + SIDE * q];
    }
    store_lower(a, at, m, to);
}

/* SIDE columns of one row of M, `step` apart, from the last to the first: m_j = s_j / l_jj, s_k -= m_j l_jk
 * for k < j. */
template <typename T, int SIDE>
static __device__ __attribute__((noinline)) void finish_row(T *s, int step, const T *l, int l_step,
                                                            const T *share)
{
    T v[SIDE];
    for (int j = 0; j < SIDE; j++) v[j] = s[j * step];
    for (int j = SIDE - 1; j >= 0; j--) {
        v[j] *= share[j];
        for (int k = 0; k < j; k++) v[k] -= v[j] * l[j * l_step + k];
    }
    for (int j = 0; j < SIDE; j++) s[j * step] = v[j];
}

/* M L = I by rows, which L⁻ᵀL⁻¹ needs (docs/ops/inverse.md), from the last block of columns to the first:
 * m_jj = 1 / l_jj, m_ij = s_ij / l_jj for i > j, and s_ik -= m_ij l_jk for k < j. A row holds l until its
 * block's turn, then s, then m. */
template <typename T, int SIDE, int EACH>
static __global__ void __launch_bounds__(SIDE *SIDE) invert_kernel(ct__batch b, ct__matrix m)
{
    __shared__ T part[SIDE][SIDE * EACH + 1], rows[SIDE][SIDE * EACH], share[SIDE];
    const int n = (int)m.rows, i = (int)threadIdx.x;
    T *to = (T *)m.data + ct__member_at(b, m, blockIdx.x), a[EACH][EACH];
    const seat<SIDE> at(m);
    load_lower(to, m, at, a);
    CT__UNROLL
    for (int block = EACH - 1; block >= 0; block--) {
        if (SIDE * block >= n) continue;
        __syncthreads();
        for (int p = block; p < EACH; p++)
            part[at.x][at.y + SIDE * p] = p == block ? (T)(at.x == at.y) : a[p][block];
        for (int q = 0; q <= block; q++) rows[at.y][at.x + SIDE * q] = a[block][q];
        if (at.x == at.y) share[at.x] = 1 / a[block][block];
        __syncthreads();
        if (i >= SIDE * block && i < SIDE * EACH)
            finish_row<T, SIDE>(&part[0][i], SIDE * EACH + 1, &rows[0][SIDE * block], SIDE * EACH, share);
        __syncthreads();
        for (int p = block; p < EACH; p++) {
            a[p][block] = part[at.x][at.y + SIDE * p];
            for (int q = 0; q < block; q++)
                if (p == block) a[p][q] = 0;
        }
        for (int jj = 0; jj < SIDE; jj++)
            for (int p = block; p < EACH; p++)
                for (int q = 0; q < block; q++)
                    a[p][q] -= part[jj][at.y + SIDE * p] * rows[jj][at.x + SIDE * q];
    }
    store_lower(a, at, m, to);
}

/* P = LᵀL: p_ik = Σ_j l_ji l_jk over j >= i, so a row is l until its block's turn, and p from then on. */
template <typename T, int SIDE, int EACH>
static __global__ void __launch_bounds__(SIDE *SIDE) square_kernel(ct__batch b, ct__matrix m)
{
    __shared__ T part[SIDE][SIDE * EACH];
    const int n = (int)m.rows;
    T *to = (T *)m.data + ct__member_at(b, m, blockIdx.x), a[EACH][EACH];
    const seat<SIDE> at(m);
    load_lower(to, m, at, a);
    CT__UNROLL
    for (int block = 0; block < EACH; block++) {
        if (SIDE * block >= n) break;
        __syncthreads();
        for (int q = 0; q <= block; q++) {
            part[at.y][at.x + SIDE * q] = a[block][q];
            a[block][q] = 0;
        }
        __syncthreads();
        for (int jj = 0; jj < SIDE; jj++)
            for (int p = 0; p <= block; p++) {
                if (p == block && at.y > jj) continue;
                for (int q = 0; q <= p; q++) a[p][q] += part[jj][at.y + SIDE * p] * part[jj][at.x + SIDE * q];
            }
    }
    store_lower(a, at, m, to);
}

/* to[p] = m_ik of row i = y + SIDE p and column k = x + SIDE block of a triangle; the identity's where there
 * is none. */
template <typename T, int SIDE, int EACH, bool LOWER>
static __device__ __forceinline__ void fetch(const T *M, const ct__matrix &m, seat<SIDE> at, int block,
                                             bool unit, T *to)
{
    const int n = (int)m.rows, k = at.x + SIDE * block;
    for (int p = 0; p < EACH; p++) {
        const int i = at.y + SIDE * p;
        const bool read = i < n && k < n && (i == k ? !unit : LOWER ? k < i : k > i);
        to[p] = read ? M[i * m.rs + k * m.cs] : (T)(i == k);
    }
}

/* SIDE rows of one column of X, `step` apart: x_k = b_k / m_kk, and b_i -= m_ik x_k for those after it. m:
 * the triangle by columns, m_step apart. */
template <typename T, int SIDE, bool DOWN>
static __device__ __attribute__((noinline)) void substitute(T *x, int step, const T *m, int m_step)
{
    T v[SIDE];
    for (int k = 0; k < SIDE; k++) v[k] = x[k * step];
    CT__UNROLL
    for (int u = 0; u < SIDE; u++) {
        const int k = DOWN ? u : SIDE - 1 - u;
        v[k] /= m[k * m_step + k];
        CT__UNROLL
        for (int i = DOWN ? k + 1 : 0; i < (DOWN ? (int)SIDE : k); i++) v[i] -= m[k * m_step + i] * v[k];
    }
    for (int k = 0; k < SIDE; k++) x[k * step] = v[k];
}

/* A block has SIDE x WIDE columns of B. M comes through shared memory, SIDE columns at a time, the next on
 * their way meanwhile, and so do the SIDE rows of B that belong to them, x where they are solved for:
 *     solve:     x_k = b_k / m_kk,  b_i -= m_ik x_k      for the rows i after k: below it where M is lower, else above
 *     multiply:  b_i += m_ik b_k,   b_k = m_kk b_k       likewise, but from the last block to the first */
template <typename T, int SIDE, int EACH, bool SOLVE, bool LOWER>
static __global__ void __launch_bounds__(SIDE *SIDE)
    apply_kernel(ct__batch b, ct__matrix m, ct__matrix x, bool unit, double alpha)
{
    enum { STRIP = SIDE * WIDE };
    __shared__ T part[SIDE][SIDE * EACH + 1], rows[SIDE][STRIP];
    const bool down = SOLVE == LOWER; /* from the first row to the last */
    const int64_t strips = (x.cols + STRIP - 1) / STRIP, member = blockIdx.x / strips,
                  column = blockIdx.x % strips * STRIP;
    const int n = (int)m.rows, cols = x.cols - column < STRIP ? (int)(x.cols - column) : (int)STRIP;
    const T *M = (const T *)m.data + ct__member_at(b, m, member);
    T *to = (T *)x.data + ct__member_at(b, x, member) + column * x.cs, a[EACH][WIDE], next[EACH];
    const seat<SIDE> at(x), from(m);
    for (int p = 0; p < EACH; p++)
        for (int q = 0; q < WIDE; q++) {
            const int i = at.y + SIDE * p, c = at.x + SIDE * q;
            a[p][q] = i < n && c < cols ? (T)alpha * to[i * x.rs + c * x.cs] : (T)0;
        }
    fetch<T, SIDE, EACH, LOWER>(M, m, from, down ? 0 : EACH - 1, unit, next);
    CT__UNROLL
    for (int turn = 0; turn < EACH; turn++) {
        const int block = down ? turn : EACH - 1 - turn;
        __syncthreads();
        for (int p = 0; p < EACH; p++) part[from.x][from.y + SIDE * p] = next[p];
        for (int q = 0; q < WIDE; q++) rows[at.y][at.x + SIDE * q] = a[block][q];
        __syncthreads();
        if (turn + 1 < EACH)
            fetch<T, SIDE, EACH, LOWER>(M, m, from, down ? block + 1 : block - 1, unit, next);
        if (SIDE * block >= n) continue;
        if (SOLVE) {
            const int t = (int)threadIdx.x;
            if (t < STRIP)
                substitute<T, SIDE, down>(&rows[0][t], STRIP, &part[0][SIDE * block], SIDE * EACH + 1);
            __syncthreads();
        }
        for (int q = 0; q < WIDE; q++) a[block][q] = SOLVE ? rows[at.y][at.x + SIDE * q] : (T)0;
        for (int kk = 0; kk < SIDE; kk++)
            for (int p = LOWER ? block : 0; p < (LOWER ? EACH : block + 1); p++) {
                if (p == block && (SOLVE || (LOWER ? at.y < kk : at.y > kk))) continue;
                const T left = SOLVE ? -part[kk][at.y + SIDE * p] : part[kk][at.y + SIDE * p];
                for (int q = 0; q < WIDE; q++) a[p][q] += left * rows[kk][at.x + SIDE * q];
            }
    }
    for (int p = 0; p < EACH; p++)
        for (int q = 0; q < WIDE; q++) {
            const int i = at.y + SIDE * p, c = at.x + SIDE * q;
            if (i < n && c < cols) to[i * x.rs + c * x.cs] = a[p][q];
        }
}

/* -- launching ------------------------------------------------------------------------------------------- */

/* As few threads and registers as the extent n allows. `blocks` may depend on `side`. */
#define LAUNCH(n, blocks, KERNEL, ...)                     \
    do {                                                   \
        if ((n) <= 16)                                     \
            LAUNCH_AS(8, 2, blocks, KERNEL, __VA_ARGS__);  \
        else if ((n) <= 32)                                \
            LAUNCH_AS(16, 2, blocks, KERNEL, __VA_ARGS__); \
        else if ((n) <= 64)                                \
            LAUNCH_AS(16, 4, blocks, KERNEL, __VA_ARGS__); \
        else                                               \
            LAUNCH_AS(16, 8, blocks, KERNEL, __VA_ARGS__); \
    } while (0)
#define LAUNCH_AS(SIDE, EACH, blocks, KERNEL, ...)                                                     \
    do {                                                                                               \
        const int side = SIDE;                                                                         \
        const unsigned grid = ct__blocks(blocks);                                                      \
        cudaStream_t stream = ct__cuda_of(dev)->stream;                                                \
        if (b->dtype == CT_F64)                                                                        \
            CT__LAUNCH_BLOCK((KERNEL(double, SIDE, EACH)), grid, side *side, stream, *b, __VA_ARGS__); \
        else                                                                                           \
            CT__LAUNCH_BLOCK((KERNEL(float, SIDE, EACH)), grid, side *side, stream, *b, __VA_ARGS__);  \
    } while (0)

ct_status ct__tile_cholesky(ct_device *dev, const ct__batch *b, const ct__matrix &A, int64_t first,
                            int64_t *failed)
{
#define KERNEL(T, SIDE, EACH) cholesky_kernel<T, SIDE, EACH>
    LAUNCH(A.rows, b->members, KERNEL, A, first, failed);
#undef KERNEL
    return ct__cuda_launched(dev, "cholesky");
}

ct_status ct__tile_invert(ct_device *dev, const ct__batch *b, const ct__matrix &L)
{
#define KERNEL(T, SIDE, EACH) invert_kernel<T, SIDE, EACH>
    LAUNCH(L.rows, b->members, KERNEL, L);
#undef KERNEL
    return ct__cuda_launched(dev, "trtri");
}

ct_status ct__tile_square(ct_device *dev, const ct__batch *b, const ct__matrix &L)
{
#define KERNEL(T, SIDE, EACH) square_kernel<T, SIDE, EACH>
    LAUNCH(L.rows, b->members, KERNEL, L);
#undef KERNEL
    return ct__cuda_launched(dev, "lauum");
}

template <bool SOLVE, bool LOWER>
static ct_status apply(ct_device *dev, const ct__batch *b, bool unit, double alpha, const ct__matrix &M,
                       const ct__matrix &B)
{
#define KERNEL(T, SIDE, EACH) apply_kernel<T, SIDE, EACH, SOLVE, LOWER>
    LAUNCH(M.rows, b->members * ct__divide_up(B.cols, side * WIDE), KERNEL, M, B, unit, alpha);
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
