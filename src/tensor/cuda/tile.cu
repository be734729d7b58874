/* Small triangles factored, inverted and squared; tile_block.cuh says how. */
#include "tile_block.cuh"

#include <math.h>

/* The lower triangle, completed by the identity. Elements with q > p are above the diagonal: those registers
 * are never used. */
template <typename T, int SIDE, int EACH>
static __device__ __forceinline__ void load_lower(const T *m, const ct__matrix &shape, ct__seat<SIDE> at,
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
static __device__ __forceinline__ void store_lower(const T (*a)[EACH], ct__seat<SIDE> at,
                                                   const ct__matrix &shape, T *m)
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
    CT__SHARED(T, part, [SIDE][SIDE * EACH]);
    CT__SHARED(T, room, [2][SIDE * EACH]);
    const int n = (int)m.rows;
    const int64_t member = blockIdx.x;
    T *to = (T *)m.data + ct__member_at(b, m, member), a[EACH][EACH];
    const ct__seat<SIDE> at(m);
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
    CT__SHARED(T, part, [SIDE][SIDE * EACH + 1]);
    CT__SHARED(T, rows, [SIDE][SIDE * EACH]);
    CT__SHARED(T, share, [SIDE]);
    const int n = (int)m.rows, i = (int)threadIdx.x;
    T *to = (T *)m.data + ct__member_at(b, m, blockIdx.x), a[EACH][EACH];
    const ct__seat<SIDE> at(m);
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
    CT__SHARED(T, part, [SIDE][SIDE * EACH]);
    const int n = (int)m.rows;
    T *to = (T *)m.data + ct__member_at(b, m, blockIdx.x), a[EACH][EACH];
    const ct__seat<SIDE> at(m);
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

ct_status ct__tile_cholesky(ct_device *dev, const ct__batch *b, const ct__matrix &A, int64_t first,
                            int64_t *failed)
{
#define CHOLESKY(T, SIDE, EACH) cholesky_kernel<T, SIDE, EACH>
    return CT__TILE_RUN(dev, "cholesky", *b, A.rows, b->members, CHOLESKY, A, first, failed);
}

ct_status ct__tile_invert(ct_device *dev, const ct__batch *b, const ct__matrix &L)
{
#define INVERT(T, SIDE, EACH) invert_kernel<T, SIDE, EACH>
    return CT__TILE_RUN(dev, "trtri", *b, L.rows, b->members, INVERT, L);
}

ct_status ct__tile_square(ct_device *dev, const ct__batch *b, const ct__matrix &L)
{
#define SQUARE(T, SIDE, EACH) square_kernel<T, SIDE, EACH>
    return CT__TILE_RUN(dev, "lauum", *b, L.rows, b->members, SQUARE, L);
}
