/* QR by Householder's reflectors, and how well a triangle is conditioned. Panels of a few columns are a
 * block's work, one for each member; what is right of them, or a matrix that Q is to be multiplied with,
 * follows by products. */
#include "batch.cuh"
#include "block.cuh"

#include <math.h>

enum { PANEL = CT__QR_PANEL, THREADS = CT__BLOCK };

/* C = (I - tau v vᵀ) C for v = (1, below): rows [j, m) of c, columns [from, to), at most PANEL of them. */
template <typename T>
static __device__ void reflect(const T *v, int64_t v_rs, double tau, int64_t j, int64_t m, T *c, int64_t rs,
                               int64_t cs, int64_t from, int64_t to, double *room)
{
    const int column = (int)threadIdx.x % PANEL, group = (int)threadIdx.x / PANEL,
              groups = (int)blockDim.x / PANEL;
    const int64_t k = from + column;
    double dot = 0;
    for (int64_t i = j + group; i < m && k < to; i += groups)
        dot += (i == j ? 1. : (double)v[i * v_rs]) * (double)c[i * rs + k * cs];
    room[threadIdx.x] = dot;
    __syncthreads();
    dot = 0;
    for (int g = 0; g < groups; g++) dot += room[g * PANEL + column];
    for (int64_t i = j + group; i < m && k < to; i += groups)
        c[i * rs + k * cs] -= (T)(tau * (i == j ? 1. : (double)v[i * v_rs]) * dot);
    __syncthreads();
}

/* A length as scale √squares, where scale is the largest element: so squares neither overflow nor vanish. NaN
 * stays. */
struct scaled {
    double scale, squares;
};
struct longer {
    __device__ void operator()(scaled &a, const scaled &b) const
    {
        if (b.scale == 0) return;
        const bool larger = !(b.scale <= a.scale);
        const double ratio = larger ? a.scale / b.scale : b.scale / a.scale;
        a.squares = larger ? b.squares + a.squares * ratio * ratio : a.squares + b.squares * ratio * ratio;
        if (larger) a.scale = b.scale;
    }
};

/* beta = -sign(a_jj) |a_j|, tau = (beta - a_jj)/beta, v = a_j/(a_jj - beta) below its 1 [LAPACK's geqr2] */
template <typename T> static __global__ void panel_kernel(ct__batch b, ct__matrix m, ct__matrix tau)
{
    CT__SHARED(double, room, [THREADS]);
    const int t = (int)threadIdx.x, threads = (int)blockDim.x;
    T *a = (T *)m.data + ct__member_at(b, m, blockIdx.x),
      *taus = (T *)tau.data + ct__member_at(b, tau, blockIdx.x);
    const int64_t count = m.rows < m.cols ? m.rows : m.cols;
    for (int64_t j = 0; j < count; j++) {
        scaled below = { 0, 0 };
        for (int64_t i = j + 1 + t; i < m.rows; i += threads)
            longer()(below, scaled{ fabs((double)a[i * m.rs + j * m.cs]), 1 });
        const double head = (double)a[j * m.rs + j * m.cs];
        below = ct__over_block<THREADS>(below, longer());
        if (below.scale == 0) { /* nothing below: H = I */
            if (!t) taus[j * tau.cs] = 0;
            continue;
        }
        longer()(below, scaled{ fabs(head), 1 });
        const double length = below.scale * sqrt(below.squares);
        const double beta = head >= 0 ? -length : length, factor = (beta - head) / beta;
        for (int64_t i = j + 1 + t; i < m.rows; i += threads)
            a[i * m.rs + j * m.cs] = (T)((double)a[i * m.rs + j * m.cs] / (head - beta));
        if (!t) {
            a[j * m.rs + j * m.cs] = (T)beta;
            taus[j * tau.cs] = (T)factor;
        }
        __syncthreads();
        reflect(a + j * m.cs, m.rs, factor, j, m.rows, a, m.rs, m.cs, j + 1, m.cols, room);
    }
}

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

/* V: ones on the diagonal, below it a panel's reflectors, above zeros. */
template <typename T> static __global__ void reflectors_kernel(ct__batch b, ct__matrix panel, ct__matrix v)
{
    CT__EACH_ENTRY(at, b, v)
    {
        ct__at_entry<T>(b, v, at) = at.j < at.i ? ct__at_entry<T>(b, panel, at) : (T)(at.i == at.j);
    }
}

/* s_jj = 1 / tau_j */
template <typename T> static __global__ void diagonal_kernel(ct__batch b, ct__matrix tau, ct__matrix s)
{
    CT__EACH_ENTRY(at, b, tau)
    {
        ct__at_entry<T>(b, s, ct__entry{ at.member, at.j, at.j }) = 1 / ct__at_entry<T>(b, tau, at);
    }
}

/* C = Qᵀ C, or Q C, for the reflectors of one panel V: H_1 H_2 ... = I - V S⁻¹ Vᵀ, where S is the upper
 * triangle of VᵀV with 1/tau on its diagonal [Joffrain, Low, Quintana-Ortí, van de Geijn & Van Zee 2006,
 * "Accumulating Householder transformations, revisited"]. A tau of 0, no reflection, is an infinity there,
 * through which nothing comes. */
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
    ct_status s = CT__BATCH_EACH(dev, "qr", b, reflectors_kernel, ct__entries(&b, V), panel, V);
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
    ct__formed f(dev, &b, b.m[0], ct__formed::ALL, ct__formed::ALL);
    ct_status s = f.status;
    for (int64_t j = 0; j < count && !s; j += PANEL) {
        const int64_t w = ct__smaller(count - j, PANEL);
        const ct__matrix panel = ct__block(&b, f.m, j, j, rows - j, w),
                         taus = ct__block(&b, b.m[1], 0, j, 1, w);
        s = CT__BATCH_BLOCKS(dev, "qr", b, panel_kernel, b.members, ct__threads(2 * panel.rows, THREADS),
                             panel, taus);
        if (!s)
            s = reflect_panel(dev, b, true, panel, taus,
                              ct__block(&b, f.m, j, j + w, rows - j, cols - j - w));
    }
    if (!s) s = f.finish();
    if (s || rank_tolerance < 0) return s;
    ct__scratch failed(dev, b.members * (int64_t)sizeof(int64_t));
    if (!failed.data) return CT_ENOMEM;
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
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
        double sum = 0;
        for (int64_t j = i; j < n; j++) sum += fabs((double)r[i * rs + j * cs]);
        if (sum > largest || sum != sum) largest = sum;
    }
    return ct__over_block<THREADS>(largest, [](double &a, double b) {
        if (b > a || b != b) a = b;
    });
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
             : CT__BATCH_BLOCKS(dev, "tri_rcond", b, rcond_kernel, b.members, ct__threads(n, THREADS), b.m[0],
                                inverse, b.m[1]);
}
