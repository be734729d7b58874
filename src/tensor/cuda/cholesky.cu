/* A = L Lᵀ by halves for all members together, down to tiles that one block factors, and A⁻¹ from L. */
#include "batch.cuh"

#include <math.h>

/* -- a tile ----------------------------------------------------------------------------------------------
 * A block's SIDE x SIDE threads, 16 x 16 or, for up to 16 rows, 8 x 8, hold the matrix in their registers:
 * thread (y, x) the elements (y + SIDE p, x + SIDE q) for q <= p < EACH. A register has no index at run time:
 * loops over p and q are unrolled by the compiler, those over blocks because it is told to.
 *
 * Column by column within a block, since a pivot needs all before it: l_jj = √a_jj, l_ij = a_ij / l_jj, a_ik
 * -= l_ij l_kj for j < k <= i; the columns right of the block later, from part, which holds l. There are two
 * buffers for column j as it comes, so that one barrier a column is enough. The test of the pivot is false
 * for NaN. */
template <typename T, int SIDE, int EACH>
static __global__ void __launch_bounds__(SIDE *SIDE)
    cholesky_kernel(ct__batch b, ct__matrix m, int64_t first, int64_t *failed)
{
    CT__SHARED(T, part, [SIDE][SIDE * EACH]);
    CT__SHARED(T, buffer, [2][SIDE * EACH]);
    const int n = (int)m.rows;
    const int64_t member = blockIdx.x;
    T *to = (T *)m.data + ct__member_at(b, m, member), a[EACH][EACH];
    const int t = (int)threadIdx.x;
    const bool by_row = m.cs <= m.rs; /* neighbouring threads load neighbours */
    const int y = by_row ? t / SIDE : t % SIDE, x = by_row ? t % SIDE : t / SIDE;
    for (int p = 0; p < EACH; p++) /* padded with the identity */
        for (int q = 0; q <= p; q++) {
            const int i = y + SIDE * p, k = x + SIDE * q;
            a[p][q] = i < n && k <= i ? to[i * m.rs + k * m.cs] : (T)(i == k);
        }
    CT__UNROLL
    for (int block = 0; block < EACH; block++) {
        if (SIDE * block >= n) break;
        for (int jj = 0; jj < SIDE && SIDE * block + jj < n; jj++) {
            T *const column = buffer[jj % 2];
            if (x == jj)
                for (int p = block; p < EACH; p++) column[y + SIDE * p] = a[p][block];
            __syncthreads();
            const T pivot = column[SIDE * block + jj];
            if (!(pivot > 0 && pivot < (T)INFINITY)) { /* all threads take the same branch */
                if (!t && !failed[member]) failed[member] = first + SIDE * block + jj + 1;
                return;
            }
            const T share = rsqrt(pivot), right = column[SIDE * block + x] * share;
            for (int p = block; p < EACH; p++) {
                const int i = y + SIDE * p;
                const T left = column[i] * share;
                if (x > jj) a[p][block] -= left * right;
                if (x == jj) part[jj][i] = a[p][block] = i == SIDE * block + jj ? sqrt(pivot) : left;
            }
        }
        __syncthreads();
        for (int jj = 0; jj < SIDE; jj++)
            for (int p = block + 1; p < EACH; p++)
                for (int q = block + 1; q <= p; q++)
                    a[p][q] -= part[jj][y + SIDE * p] * part[jj][x + SIDE * q];
    }
    for (int p = 0; p < EACH; p++)
        for (int q = 0; q <= p; q++) {
            const int i = y + SIDE * p, k = x + SIDE * q;
            if (i < n && k <= i) to[i * m.rs + k * m.cs] = a[p][q];
        }
}

/* Uses as few threads and registers as the extent allows. */
template <typename T>
static ct_status factor_tile(const ct__job &b, const ct__matrix &A, int64_t first, int64_t *failed)
{
#define CHOLESKY(SIDE, EACH)                                                                                \
    CT__RUN_BLOCKS(b.dev, "cholesky", (cholesky_kernel<T, SIDE, EACH>), b.members, SIDE *SIDE, b, A, first, \
                   failed)
    return A.rows <= 16   ? CHOLESKY(8, 2)
           : A.rows <= 32 ? CHOLESKY(16, 2)
           : A.rows <= 64 ? CHOLESKY(16, 4)
                          : CHOLESKY(16, CT__TILE / 16);
}

/* -- by halves ------------------------------------------------------------------------------------------- */

/* A11 = L11 L11ᵀ,  L21 = A21 L11⁻ᵀ,  A22 - L21 L21ᵀ = L22 L22ᵀ */
static ct_status factor(const ct__job &b, const ct__matrix &A, int64_t first, int64_t *failed)
{
    const int64_t n = A.rows, h = ct__half(n), r = n - h;
    if (n <= CT__TILE)
        return CT__DO(b, (b.dtype == CT_F64 ? factor_tile<double> : factor_tile<float>)(b, A, first, failed));
    const ct__matrix A11 = ct__block(b, A, 0, 0, h, h), A21 = ct__block(b, A, h, 0, r, h),
                     A22 = ct__block(b, A, h, h, r, r);
    factor(b, A11, first, failed);
    ct__apply(b, CT__SOLVE, true, false, 1, A11, ct__transposed(A21));
    ct__syrk(b, -1, A21, 1, A22);
    return factor(b, A22, first + h, failed);
}

ct_status ct__cholesky_blocked(const ct__job &b, const ct__matrix &A, int64_t *failed)
{
    CT__DO(b, ct__zero(b.dev, "cholesky", failed, b.members));
    return CT__DO(b, factor(b, A, 0, failed));
}

/* -- primitives ------------------------------------------------------------------------------------------ */

/* LOWER: only L is written, because the other triangle may belong to another matrix. cuSOLVER does not
 * promise to leave it unchanged. */
enum result { FACTOR, LOWER, INVERSE };

/* out, which may be a, becomes L or A⁻¹ = L⁻ᵀL⁻¹, or, if it is a column, the diagonal of A⁻¹. */
static ct_status factored(ct_device *dev, result wanted, int64_t first, const ct_view *a, ct_view *out,
                          ct_failure *failure)
{
    const ct__matrices<2> b(dev, { a, out });
    if (!b.members || !b.m[0].rows) return CT_OK;
    const ct__workspace failed(b, b.members * (int64_t)sizeof(int64_t));
    const int64_t n = b.m[0].rows;
    const bool lower = wanted == LOWER, looped = !lower && ct__one_by_one(b, n >= CT__ONE_BY_ONE);
    ct__formed f(b, b.m[1], a == out ? ct__formed::LOWER : ct__formed::NOTHING,
                 lower              ? ct__formed::LOWER
                 : b.m[1].cols == n ? ct__formed::ALL
                                    : ct__formed::DIAGONAL);
    if (a != out) ct__copy_lower(b, b.m[0], f.m);
    (looped ? ct__cholesky_looped : ct__cholesky_blocked)(b, f.m, failed);
    if (wanted == FACTOR) ct__triangle(b, f.m, false, 0, CT__ZEROS, f.m);
    if (wanted == INVERSE) ct__change_lower(b, CT__INVERT, f.m);
    if (wanted == INVERSE) ct__change_lower(b, CT__SQUARE, f.m);
    if (wanted == INVERSE) ct__mirror_lower(b, f.m);
    ct__poison(b, failed, lower, f.m);
    f.finish();
    return ct__note_failure(b, failed, first, "leading minor %lld", NULL, failure);
}

ct_status ct__cuda_potrf(ct_device *dev, ct_view *a, ct_failure *failure)
{
    return factored(dev, FACTOR, 0, a, a, failure);
}

ct_status ct__cuda_potrf_lower(ct_device *dev, int64_t first, ct_view *a, ct_failure *failure)
{
    return factored(dev, LOWER, first, a, a, failure);
}

ct_status ct__cuda_potri(ct_device *dev, const ct_view *a, ct_view *out, ct_failure *failure)
{
    return factored(dev, INVERSE, 0, a, out, failure);
}

uint64_t ct__cuda_sweep_bytes(const ct_device *, ct_dtype dtype, int64_t n)
{
    const int64_t columns = n <= 300    ? CT__FACTOR_PANEL / 3
                            : n <= 1500 ? CT__FACTOR_PANEL / 2
                                        : CT__FACTOR_PANEL;
    return ct__size(dtype) * (uint64_t)columns * (uint64_t)(n + 4 * columns);
}
