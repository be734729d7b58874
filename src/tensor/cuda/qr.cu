/* QR by Householder's reflectors, by cuBLAS or cuSOLVER; Q by products; and how well a triangle is
 * conditioned. */
#include "batch.cuh"
#include "block.cuh"

#include <math.h>

enum { PANEL = CT__QR_PANEL, THREADS = CT__BLOCK };

/* A thread per member: the first column, from 1, whose part beyond those before it is nothing next to the
 * largest. */
template <typename T>
static __global__ void rank_kernel(ct__batch b, ct__matrix m, double tolerance, int64_t *failed)
{
    CT__EACH(member, b.members)
    {
        const T *a = (const T *)m.data + ct__member_at(b, m, member);
        const int64_t count = m.rows < m.cols ? m.rows : m.cols;
        double largest = 0;
        for (int64_t i = 0; i < count; i++) largest = fmax(largest, fabs((double)a[i * (m.rs + m.cs)]));
        int64_t bad = 0;
        for (int64_t i = 0; i < count && !bad; i++)
            if (!(fabs((double)a[i * (m.rs + m.cs)]) > tolerance * largest)) bad = i + 1;
        failed[member] = bad;
    }
}

/* V: ones on the diagonal, below it a panel's reflectors, above zeros. A tau of 0 is no reflection: its
 * column is 0. */
template <typename T>
static __global__ void reflectors_kernel(ct__batch b, ct__matrix panel, ct__matrix tau, ct__matrix v)
{
    CT__EACH_ENTRY(at, b, v)
    {
        const bool none = ct__at_entry<T>(b, tau, ct__entry{ at.member, 0, at.j }) == 0;
        ct__at_entry<T>(b, v, at) = none          ? (T)0
                                    : at.j < at.i ? ct__at_entry<T>(b, panel, at)
                                                  : (T)(at.i == at.j);
    }
}

/* s_jj = 1 / tau_j */
template <typename T> static __global__ void diagonal_kernel(ct__batch b, ct__matrix tau, ct__matrix s)
{
    CT__EACH_ENTRY(at, b, tau)
    {
        const T x = ct__at_entry<T>(b, tau, at);
        ct__at_entry<T>(b, s, ct__entry{ at.member, at.j, at.j }) = x == 0 ? 1 : 1 / x;
    }
}

/* C = Qᵀ C, or Q C, for the reflectors of one panel V: H_1 H_2 ... = I - V S⁻¹ Vᵀ, where S is the upper
 * triangle of VᵀV with 1/tau on its diagonal [Joffrain, Low, Quintana-Ortí, van de Geijn & Van Zee 2006,
 * "Accumulating Householder transformations, revisited"]. */
static ct_status reflect_panel(ct_device *dev, const ct__batch &b, bool trans, const ct__matrix &panel,
                               const ct__matrix &tau, const ct__matrix &C)
{
    const int64_t w = panel.cols, bytes = ct__bytes_of(&b);
    if (!C.cols) return CT_OK;
    ct__scratch of_V(dev, b.members * panel.rows * w * bytes), of_S(dev, b.members * w * w * bytes),
        of_Y(dev, b.members * w * C.cols * bytes);
    if (!of_V.data || !of_S.data || !of_Y.data) return CT_ENOMEM;
    const ct__matrix V = ct__dense(&b, of_V, panel.rows, w), S = ct__dense(&b, of_S, w, w),
                     Y = ct__dense(&b, of_Y, w, C.cols), Vt = ct__turned(V);
    ct_status s = CT__BATCH_EACH(dev, "qr", b, reflectors_kernel, ct__entries(&b, V), panel, tau, V);
    if (!s) s = ct__gemm(dev, &b, 1, Vt, V, 0, S);
    if (!s) s = CT__BATCH_EACH(dev, "qr", b, diagonal_kernel, b.members * w, tau, S);
    if (!s) s = ct__gemm(dev, &b, 1, Vt, C, 0, Y);
    if (!s) s = ct__solve(dev, &b, trans, false, 1, trans ? ct__turned(S) : S, Y);
    return s ? s : ct__gemm(dev, &b, -1, V, Y, 1, C);
}

ct_status ct__cuda_qr(ct_device *dev, double rank_tolerance, ct_view *a, ct_view *tau, ct_failure *failure)
{
    const ct__matrices<2> b({ a, tau });
    const int64_t rows = b.m[0].rows, cols = b.m[0].cols, count = rows < cols ? rows : cols;
    if (!b.members || !count) return CT_OK;
    const int64_t bytes = ct__bytes_of(&b);
    ct__scratch of_A(dev, ct__entries(&b, b.m[0]) * bytes), of_tau(dev, b.members * count * bytes),
        failed(dev, b.members * (int64_t)sizeof(int64_t));
    if (!of_A.data || !of_tau.data || !failed.data) return CT_ENOMEM;
    const ct__matrix A = ct__turned(ct__dense(&b, of_A, cols, rows)), taus = ct__dense(&b, of_tau, 1, count);
    ct_status s = ct__copy_matrices(dev, &b, b.m[0], A);
    if (!s) s = (ct__one_by_one(dev, count) ? ct__qr_looped : ct__qr_batched)(dev, &b, A, taus);
    if (!s) s = ct__copy_matrices(dev, &b, A, b.m[0]);
    if (!s) s = ct__copy_matrices(dev, &b, taus, b.m[1]);
    if (s || rank_tolerance < 0) return s;
    s = CT__BATCH_EACH(dev, "qr", b, rank_kernel, b.members, b.m[0], rank_tolerance, failed);
    if (!s) s = ct__poison(dev, &b, failed, false, b.m[0]);
    return s ? s
             : ct__note_failure(
                   dev, &b, failed, 0, "column %lld",
                   "depends on those before it to working precision, or has NaN: leave it out, or solve "
                   "with ct_ridge_solve",
                   failure);
}

/* Qᵀ = ... H_2 H_1 begins with the first panel, Q with the last. */
ct_status ct__cuda_qr_mul(ct_device *dev, bool trans, const ct_view *a, const ct_view *tau, ct_view *c)
{
    const ct__matrices<3> b({ a, tau, c });
    const int64_t rows = b.m[0].rows, count = rows < b.m[0].cols ? rows : b.m[0].cols;
    if (!b.members || !count || !b.m[2].cols) return CT_OK;
    ct__formed f(dev, &b, b.m[2], ct__formed::ALL, ct__formed::ALL);
    ct_status s = f.status;
    const int64_t panels = ct__divide_up(count, PANEL);
    for (int64_t i = 0; i < panels && !s; i++) {
        const int64_t j = (trans ? i : panels - 1 - i) * PANEL, w = ct__smaller(count - j, PANEL);
        s = reflect_panel(dev, b, trans, ct__block(&b, b.m[0], j, j, rows - j, w),
                          ct__block(&b, b.m[1], 0, j, 1, w), ct__block(&b, f.m, j, 0, rows - j, f.m.cols));
    }
    return s ? s : f.finish();
}

/* -- 1 / (|R| |R⁻¹|) ------------------------------------------------------------------------------------- */

/* The largest sum of |r_ij| over a row i, or NaN; R upper triangular. In all threads of the block. */
template <typename T> static __device__ double row_norm(const T *r, int64_t n, int64_t rs, int64_t cs)
{
    double largest = 0;
    for (int64_t i = threadIdx.x; i < n; i += THREADS) {
        double sum = 0;
        for (int64_t j = i; j < n; j++) sum += fabs((double)r[i * rs + j * cs]);
        if (sum > largest || sum != sum) largest = sum;
    }
    return ct__over_block<THREADS>(largest, [](double a, double b) { return b > a || b != b ? b : a; });
}

/* inverse: of Rᵀ */
template <typename T>
static __global__ void rcond_kernel(ct__batch b, ct__matrix r, ct__matrix inverse, ct__matrix out)
{
    const int64_t member = blockIdx.x;
    const double norm = row_norm((const T *)r.data + ct__member_at(b, r, member), r.rows, r.rs, r.cs),
                 other = row_norm((const T *)inverse.data + ct__member_at(b, inverse, member), r.rows,
                                  inverse.cs, inverse.rs);
    const double rcond = 1 / (norm * other);
    if (!threadIdx.x) ((T *)out.data)[ct__member_at(b, out, member)] = rcond - rcond == 0 ? (T)rcond : (T)0;
}

ct_status ct__cuda_tri_rcond(ct_device *dev, const ct_view *r, ct_view *out)
{
    const ct__matrices<2> b({ r, out });
    const int64_t n = b.m[0].rows;
    if (!b.members) return CT_OK;
    if (!n) return ct__cuda_fill(dev, out, 1);
    ct__scratch work(dev, ct__entries(&b, b.m[0]) * ct__bytes_of(&b));
    if (!work.data) return CT_ENOMEM;
    const ct__matrix inverse = ct__dense(&b, work, n, n);
    ct_status s = ct__copy_lower(dev, &b, ct__turned(b.m[0]), inverse);
    if (!s) s = ct__invert_lower(dev, &b, inverse);
    return s ? s
             : CT__BATCH_BLOCKS(dev, "tri_rcond", b, rcond_kernel, b.members, THREADS, b.m[0], inverse,
                                b.m[1]);
}
