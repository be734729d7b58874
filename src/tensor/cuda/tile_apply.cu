/* B = alpha M⁻¹ B and B = alpha M B for a small triangle M; tile_block.cuh says how. */
#include "tile_block.cuh"

enum { WIDE = CT__TILE_WIDE }; /* elements of a right-hand side that a thread has, in a row */

/* to[p] = m_ik of row i = y + SIDE p and column k = x + SIDE block of a triangle; the identity's where there
 * is none. */
template <typename T, int SIDE, int EACH, bool LOWER>
static __device__ __forceinline__ void fetch(const T *M, const ct__matrix &m, ct__seat<SIDE> at, int block,
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
 *     solve:     x_k = b_k / m_kk,  b_i -= m_ik x_k      for the rows i after k (below it where M is lower)
 *     multiply:  b_i += m_ik b_k,   b_k = m_kk b_k       likewise, but from the last block to the first */
template <typename T, int SIDE, int EACH, bool SOLVE, bool LOWER>
static __global__ void __launch_bounds__(SIDE *SIDE)
    apply_kernel(ct__batch b, ct__matrix m, ct__matrix x, bool unit, double alpha)
{
    enum { STRIP = SIDE * WIDE };
    CT__SHARED(T, part, [SIDE][SIDE * EACH + 1]);
    CT__SHARED(T, rows, [SIDE][STRIP]);
    const bool down = SOLVE == LOWER; /* from the first row to the last */
    const int64_t strips = (x.cols + STRIP - 1) / STRIP, member = blockIdx.x / strips,
                  column = blockIdx.x % strips * STRIP;
    const int n = (int)m.rows, cols = x.cols - column < STRIP ? (int)(x.cols - column) : (int)STRIP;
    const T *M = (const T *)m.data + ct__member_at(b, m, member);
    T *to = (T *)x.data + ct__member_at(b, x, member) + column * x.cs, a[EACH][WIDE], next[EACH];
    const ct__seat<SIDE> at(x), from(m);
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

template <bool SOLVE, bool LOWER>
static ct_status apply(ct_device *dev, const ct__batch *b, bool unit, double alpha, const ct__matrix &M,
                       const ct__matrix &B)
{
#define APPLY(T, SIDE, EACH) apply_kernel<T, SIDE, EACH, SOLVE, LOWER>
    return CT__TILE_RUN(dev, SOLVE ? "trsm" : "trmm", *b, M.rows,
                        b->members * ct__divide_up(B.cols, ct__tile_side(M.rows) * WIDE), APPLY, M, B, unit,
                        alpha);
}

ct_status ct__tile_apply(ct_device *dev, const ct__batch *b, bool solve, bool lower, bool unit, double alpha,
                         const ct__matrix &M, const ct__matrix &B)
{
    return (solve   ? lower ? apply<true, true> : apply<true, false>
              : lower ? apply<false, true>
                    : apply<false, false>)(dev, b, unit, alpha, M, B);
}
