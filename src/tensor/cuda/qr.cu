/* QR by Householder reflectors of cuBLAS or cuSOLVER, products with Q, and the condition of a triangle. */
#include "batch.cuh"
#include "block.cuh"

#include <math.h>

enum { PANEL = CT__QR_PANEL };

/* One block per member. failed[member]: the first column, counted from 1, whose part orthogonal to its
 * predecessors is negligible beside the largest. */
template <typename T>
static __global__ void rank_kernel(ct__batch b, ct__matrix m, double tolerance, int64_t *failed)
{
    const int64_t count = m.rows < m.cols ? m.rows : m.cols, step = m.rs + m.cs;
    const T *a = (const T *)m.data + ct__member_at(b, m, blockIdx.x);
    T largest = 0;
    for (int64_t i = threadIdx.x; i < count; i += CT__BLOCK) largest = fmax(largest, fabs(a[i * step]));
    largest = ct__over_block<CT__BLOCK>(largest, [](T x, T y) { return fmax(x, y); });
    const double least = tolerance * (double)largest;
    const int64_t first =
        ct__first<CT__BLOCK>(count, [=](int64_t i) { return !(fabs((double)a[i * step]) > least); });
    if (!threadIdx.x) failed[blockIdx.x] = first < count ? first + 1 : 0;
}

/* C = Qᵀ C or Q C for the reflectors of one panel V (ones on its diagonal, zeros above):
 * H_1 H_2 ... = I - V (I + D U)⁻¹ D Vᵀ, where D = diag(tau) and U is VᵀV above the diagonal [Joffrain, Low,
 * Quintana-Ortí, van de Geijn & Van Zee 2006, "Accumulating Householder transformations, revisited"]. */
static ct_status reflect_panel(const ct__job &b, bool trans, const ct__matrix &panel, const ct__matrix &tau,
                               const ct__matrix &C)
{
    const int64_t w = panel.cols;
    if (!C.cols) return b.status;
    const ct__temporary of_V(b, panel.rows, w), of_S(b, w, w), of_Y(b, w, C.cols);
    const ct__matrix &V = of_V.m, &S = of_S.m, &Y = of_Y.m, Vt = ct__transposed(V), St = ct__transposed(S),
                     Yt = ct__transposed(Y);
    ct__triangle(b, panel, false, 0, CT__ONES, V);
    ct__gemm(b, 1, Vt, V, 0, S);
    ct__scale_columns(b, St, tau, St);
    ct__gemm(b, 1, Vt, C, 0, Y);
    if (!trans) ct__scale_columns(b, Yt, tau, Yt);
    ct__apply(b, CT__SOLVE, trans, true, 1, trans ? St : S, Y);
    if (trans) ct__scale_columns(b, Yt, tau, Yt);
    return ct__gemm(b, -1, V, Y, 1, C);
}

ct_status ct__cuda_qr(ct_device *dev, double rank_tolerance, ct_view *a, ct_view *tau, ct_failure *failure)
{
    const ct__matrices<2> b(dev, { a, tau });
    const int64_t rows = b.m[0].rows, cols = b.m[0].cols, count = rows < cols ? rows : cols;
    if (!b.members || !count) return CT_OK;
    const ct__temporary At(b, cols, rows), taus(b, 1, count);
    const ct__workspace failed(b, b.members * (int64_t)sizeof(int64_t));
    const ct__matrix A = ct__transposed(At.m);
    ct__copy_matrices(b, b.m[0], A);
    const int64_t least = b.members < CT__QR_MANY ? CT__QR_ALONE : CT__QR_ROWS;
    (ct__one_by_one(b, rows >= least) ? ct__qr_looped : ct__qr_batched)(b, A, taus.m);
    ct__copy_matrices(b, A, b.m[0]);
    ct__copy_matrices(b, taus.m, b.m[1]);
    if (rank_tolerance < 0) return b.status;
    CT__BATCH_BLOCKS("qr", b, rank_kernel, b.members, CT__BLOCK, b.m[0], rank_tolerance, failed);
    ct__poison(b, failed, false, b.m[0]);
    return ct__note_failure(b, failed, 0, "column %lld",
                            "depends on those before it to working precision, or has NaN: leave it out, or "
                            "solve with ct_ridge_solve",
                            failure);
}

/* Qᵀ = ... H_2 H_1 starts with the first panel, Q with the last. */
ct_status ct__cuda_qr_mul(ct_device *dev, bool trans, const ct_view *a, const ct_view *tau, ct_view *c)
{
    const ct__matrices<3> b(dev, { a, tau, c });
    const int64_t rows = b.m[0].rows, count = rows < b.m[0].cols ? rows : b.m[0].cols;
    if (!b.members || !count || !b.m[2].cols) return CT_OK;
    ct__formed f(b, b.m[2], ct__formed::ALL, ct__formed::ALL);
    const int64_t panels = ct__divide_up(count, PANEL);
    for (int64_t i = 0; i < panels && !b.status; i++) {
        const int64_t j = (trans ? i : panels - 1 - i) * PANEL, w = ct__min(count - j, PANEL);
        reflect_panel(b, trans, ct__block(b, b.m[0], j, j, rows - j, w), ct__block(b, b.m[1], 0, j, 1, w),
                      ct__block(b, f.m, j, 0, rows - j, f.m.cols));
    }
    return f.finish();
}

/* -- 1 / (|R| |R⁻¹|) ------------------------------------------------------------------------------------- */

/* out = max_i Σ_j |r_ij|, or NaN, for an upper triangular R. `work` has R's size. */
static void row_norm(const ct__job &b, const ct__matrix &R, const ct__matrix &work, const ct__matrix &out)
{
    const ct__temporary sums(b, R.rows, 1);
    ct_view all = ct__as_view(b, work), of_rows = ct__as_view(b, sums.m), largest = ct__as_view(b, out);
    const double none[2] = { 0, 0 };
    ct__triangle(b, R, true, 0, CT__ZEROS, work);
    CT__DO(b, ct__cuda_map1(b.dev, CT_MAP_abs, none, &all, &all));
    CT__DO(b, ct__cuda_reduce(b.dev, CT_REDUCE_SUM, &all, &of_rows));
    CT__DO(b, ct__cuda_reduce(b.dev, CT_REDUCE_MAX, &of_rows, &largest));
}

template <typename T>
static __global__ void rcond_kernel(ct__batch b, const T *norm, const T *of_inverse, ct__matrix out)
{
    CT__EACH(i, b.members)
    {
        const T rcond = 1 / norm[i] / of_inverse[i];
        ((T *)out.data)[ct__member_at(b, out, i)] = rcond - rcond == 0 ? rcond : (T)0;
    }
}

ct_status ct__cuda_tri_rcond(ct_device *dev, const ct_view *r, ct_view *out)
{
    const ct__matrices<2> b(dev, { r, out });
    const int64_t n = b.m[0].rows;
    if (!b.members) return CT_OK;
    if (!n) return ct__cuda_fill(dev, out, 1);
    const ct__temporary inverse(b, n, n), work(b, n, n), norm(b, 1, 1), other(b, 1, 1);
    ct__copy_lower(b, ct__transposed(b.m[0]), inverse.m);
    ct__change_lower(b, CT__INVERT, inverse.m);
    row_norm(b, b.m[0], work.m, norm.m);
    row_norm(b, ct__transposed(inverse.m), work.m, other.m);
    return CT__BATCH_EACH("tri_rcond", b, rcond_kernel, b.members, norm, other, b.m[1]);
}
