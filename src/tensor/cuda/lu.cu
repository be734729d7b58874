/* LU with partial pivoting, and inverses and determinants from it. All members together: panels of a few
 * columns are a block's work, one for each member; the rest is trsm and gemm on the whole batch. */
#include "batch.cuh"
#include "block.cuh"
#include "paths.h"

#include <math.h>

enum { PANEL = CT__LU_PANEL };

/* |a_ij| and its row i: of two the larger, of equals the first. NaN counts as nothing, and is found at the
 * end. */
template <typename T> struct candidate {
    T size;
    int64_t row;
};
struct better {
    template <typename T> __device__ void operator()(candidate<T> &a, const candidate<T> &b) const
    {
        if (b.size > a.size || (b.size == a.size && b.row < a.row)) a = b;
    }
};

template <typename T> static __device__ __forceinline__ void exchange(T &a, T &b)
{
    const T x = a;
    a = b;
    b = x;
}

/* Columns [at, at + width) of the rows from `at` on. pivot[member][column]: the row that was exchanged with
 * it. A row stays with its thread from one column to the next, unless they are exchanged. */
template <typename T>
static __global__ void panel_kernel(ct__batch b, ct__matrix m, int64_t at, int width, int64_t *pivot,
                                    int64_t *failed)
{
    const int t = (int)threadIdx.x, threads = (int)blockDim.x;
    const int64_t n = m.rows, member = blockIdx.x;
    T *a = (T *)m.data + ct__member_at(b, m, member);
    for (int64_t j = at; j < at + width; j++) {
        candidate<T> best = { -1, j };
        for (int64_t i = j + t; i < n; i += threads)
            better()(best, candidate<T>{ fabs(a[i * m.rs + j * m.cs]), i });
        best = ct__over_block<CT__BLOCK>(best, better());
        const T size = best.size;
        const int64_t row = best.row;
        if (!t) {
            pivot[member * n + j] = row;
            if (!(size > 0 && size < (T)INFINITY) && !failed[member]) failed[member] = j + 1;
        }
        for (int k = t; k < width && row != j; k += threads)
            exchange(a[j * m.rs + (at + k) * m.cs], a[row * m.rs + (at + k) * m.cs]);
        __syncthreads();
        const T head = a[j * m.rs + j * m.cs];
        for (int64_t i = j + 1 + t; i < n; i += threads) {
            const T l = a[i * m.rs + j * m.cs] /= head;
            for (int64_t k = j + 1; k < at + width; k++) a[i * m.rs + k * m.cs] -= l * a[j * m.rs + k * m.cs];
        }
    }
}

/* The panel's exchanges in the other columns: a thread has a column. */
template <typename T>
static __global__ void exchange_kernel(ct__batch b, ct__matrix m, int64_t at, int64_t width,
                                       const int64_t *pivot)
{
    const int64_t others = m.cols - width;
    CT__EACH(e, b.members * others)
    {
        int64_t member = e / others, j = e % others;
        if (j >= at) j += width;
        T *a = (T *)m.data + ct__member_at(b, m, member) + j * m.cs;
        for (int64_t i = at; i < at + width; i++) {
            const int64_t row = pivot[member * m.rows + i];
            if (row != i) exchange(a[i * m.rs], a[row * m.rs]);
        }
    }
}

/* flags[member] = n where an element is not finite and nothing has been noted before, whoever finds it. */
template <typename T> static __global__ void wild_kernel(ct__batch b, ct__matrix m, int64_t *flags)
{
    CT__EACH_ENTRY(at, b, m)
    {
        const T x = ct__at_entry<T>(b, m, at);
        if (!(x - x == 0) && !flags[at.member]) flags[at.member] = m.rows;
    }
}

/* The exchanges become an order, one thread's work: each has to wait for the one before. */
template <typename I>
static __device__ void put_in_order(const int64_t *pivot, int64_t n, bool failed, I *order)
{
    for (int64_t i = threadIdx.x; i < n; i += CT__WARP) order[i] = (I)i;
    __syncthreads();
    for (int64_t i = 0; i < n && !threadIdx.x && !failed; i++) exchange(order[i], order[pivot[i]]);
    __syncthreads();
}

/* A block per member, in shared memory where ROOM rows are enough. A member that failed is left in its
 * natural order. */
template <int ROOM>
static __global__ void order_kernel(int64_t n, const int64_t *pivots, const int64_t *failed, int64_t *orders)
{
    CT__SHARED(int32_t, near, [ROOM]);
    const int64_t member = blockIdx.x, *pivot = pivots + member * n;
    int64_t *order = orders + member * n;
    if (n > ROOM) return put_in_order(pivot, n, failed[member], order);
    put_in_order(pivot, n, failed[member], near);
    for (int64_t i = threadIdx.x; i < n; i += CT__WARP) order[i] = near[i];
}

ct_status ct__lu_blocked(ct_device *dev, const ct__batch *b, const ct__matrix &m, int64_t *pivot,
                         int64_t *failed)
{
    const int64_t n = m.rows;
    ct_status s = ct__zero(dev, "lu", failed, b->members);
    for (int64_t at = 0; at < n && !s; at += PANEL) {
        const int64_t width = ct__smaller(n - at, PANEL), rest = n - at - width;
        /* Who has not written the pivots has left anything there, and they are addresses below. */
        s = CT__BATCH_BLOCKS(dev, "lu", *b, panel_kernel, b->members, ct__threads(n - at, CT__BLOCK), m, at,
                             (int)width, pivot, failed);
        if (!s)
            s = CT__BATCH_EACH(dev, "lu", *b, exchange_kernel, b->members * (n - width), m, at, width, pivot);
        const ct__matrix right = ct__block(b, m, at, at + width, width, rest);
        if (!s) s = ct__solve(dev, b, true, true, 1, ct__block(b, m, at, at, width, width), right);
        if (!s)
            s = ct__gemm(dev, b, -1, ct__block(b, m, at + width, at, rest, width), right, 1,
                         ct__block(b, m, at + width, at + width, rest, rest));
    }
    return s;
}

/* Of m in the order of memory: by wild_kernel. */
static ct_status find_wild(ct_device *dev, const ct__batch *b, const ct__matrix &m, int64_t *flags)
{
    return CT__BATCH_EACH(dev, "lu", *b, wild_kernel, ct__entries(b, m), m, flags);
}

/* L and U in the place of a copy of A, column-major; the exchanges of rows, room for the order that they come
 * to, and failures. What is not finite counts as the last pivot's failure, wherever it is. */
struct factors {
    ct_device *dev;
    const ct__batch *b;
    ct__scratch integers, work;
    int64_t *failed, *pivot, *order;
    ct__matrix m;
    ct_status status;
    factors(ct_device *device, const ct__batch *batch, const ct__matrix &A)
        : dev(device), b(batch), integers(dev, b->members * (1 + 2 * A.rows) * (int64_t)sizeof(int64_t)),
          work(dev, ct__entries(b, A) * ct__bytes_of(b)), m(ct__turned(ct__dense(b, work, A.rows, A.rows))),
          status(CT_ENOMEM)
    {
        if (!integers.data || !work.data) return;
        failed = integers;
        pivot = failed + b->members;
        order = pivot + b->members * m.rows;
        const bool looped = !dev->in_step && ct__one_by_one(CT__GETRF, b->dtype, m.rows, b->members);
        status = ct__copy_matrices(dev, b, A, m);
        if (!status) /* in a step never by cuSOLVER, as in cholesky.cu */
            status = (looped ? ct__lu_looped : ct__lu_blocked)(dev, b, m, pivot, failed);
        if (!status) status = find_wild(dev, b, ct__turned(m), failed);
    }
    ct_status put_in_order(int64_t *to) const
    {
        return CT__RUN_BLOCKS(dev, "lu",
                              (m.rows <= CT__LU_FEW ? order_kernel<CT__LU_FEW> : order_kernel<CT__LU_MANY>),
                              b->members, CT__WARP, m.rows, pivot, failed, to);
    }
    ct_status note(ct_failure *failure) const
    {
        return ct__note_failure(dev, b, failed, 0, "pivot %lld",
                                "is zero or not finite: the matrix is singular, or has NaN or infinities",
                                failure);
    }
};

ct_status ct__cuda_getrf(ct_device *dev, const ct_view *a, ct_view *lu, ct_view *order, ct_failure *failure)
{
    const ct__matrices<2> b({ a, lu });
    if (!b.members || !b.m[0].rows) return CT_OK;
    const factors f(dev, &b, b.m[0]);
    ct_status s = f.status ? f.status : f.put_in_order((int64_t *)order->data);
    if (!s) s = ct__poison(dev, &b, f.failed, false, f.m);
    if (!s) s = ct__copy_matrices(dev, &b, f.m, b.m[1]);
    return s ? s : f.note(failure);
}

/* -- inverses -------------------------------------------------------------------------------------------- */

/* The identity's rows in that order. */
template <typename T>
static __global__ void identity_kernel(ct__batch b, ct__matrix out, const int64_t *orders)
{
    CT__EACH_ENTRY(at, b, out)
    {
        ct__at_entry<T>(b, out, at) = (T)(orders[at.member * out.rows + at.i] == at.j);
    }
}

/* A = P L U gives A⁻¹ = U⁻¹ L⁻¹ Pᵀ. A column gets the diagonal of an inverse in scratch memory. */
ct_status ct__cuda_getri(ct_device *dev, const ct_view *a, ct_view *out, ct_failure *failure)
{
    const ct__matrices<2> b({ a, out });
    if (!b.members || !b.m[0].rows) return CT_OK;
    const int64_t n = b.m[0].rows;
    const bool diagonal = b.m[1].cols != n;
    const factors f(dev, &b, b.m[0]);
    ct__scratch whole(dev, diagonal ? ct__entries(&b, b.m[0]) * ct__bytes_of(&b) : 0);
    if (diagonal && !whole.data) return CT_ENOMEM;
    const ct__matrix inverse = diagonal ? ct__dense(&b, whole, n, n) : b.m[1];
    ct__formed to(dev, &b, inverse, ct__formed::NOTHING, ct__formed::ALL);
    ct_status s = f.status ? f.status : to.status ? to.status : f.put_in_order(f.order);
    if (!s) s = CT__BATCH_EACH(dev, "getri", b, identity_kernel, ct__entries(&b, to.m), to.m, f.order);
    if (!s) s = ct__solve(dev, &b, true, true, 1, f.m, to.m);
    if (!s) s = ct__solve(dev, &b, false, false, 1, f.m, to.m);
    if (!s) s = ct__poison(dev, &b, f.failed, false, to.m);
    if (!s) s = to.finish();
    if (!s && diagonal) s = ct__copy_matrices(dev, &b, ct__diagonal(inverse), b.m[1]);
    return s ? s : f.note(failure);
}

/* -- determinants ---------------------------------------------------------------------------------------- */

/* A block per member: log|det| = Σ log|u_ii|; each exchange of rows turns the sign, and each u_ii < 0. A zero
 * pivot of a finite matrix is no failure here. */
template <typename T>
static __global__ void det_kernel(ct__batch b, ct__matrix lu, const int64_t *pivots, const int64_t *wild,
                                  int64_t *failed, void *log_abs, void *sign)
{
    const int64_t member = blockIdx.x, n = lu.rows, step = lu.rs + lu.cs, *pivot = pivots + member * n;
    const T *a = (const T *)lu.data + ct__member_at(b, lu, member);
    const int t = (int)threadIdx.x;
    double sum = 0;
    int turned = 0;
    for (int64_t i = t; i < n && !failed[member]; i += CT__WARP) {
        const double u = (double)a[i * step];
        sum += log(fabs(u));
        turned ^= (u < 0) ^ (pivot[i] != i);
    }
    sum = ct__over_block<CT__WARP>(sum, ct__plus());
    turned = ct__over_block<CT__WARP>(turned, ct__plus()) % 2;
    if (t) return;
    const bool singular = failed[member] && !wild[member] && a[(failed[member] - 1) * step] == 0;
    ((T *)log_abs)[member] = singular ? (T)-INFINITY : failed[member] ? (T)NAN : (T)sum;
    ((T *)sign)[member] = singular ? (T)0 : failed[member] ? (T)NAN : turned ? (T)-1 : (T)1;
    if (singular) failed[member] = 0;
}

ct_status ct__cuda_lu_det(ct_device *dev, const ct_view *a, ct_view *log_abs, ct_view *sign,
                          ct_failure *failure)
{
    const ct__matrices<1> b({ a });
    if (!b.members) return CT_OK;
    if (!b.m[0].rows) {
        ct_status s = ct__cuda_fill(dev, log_abs, 0);
        return s ? s : ct__cuda_fill(dev, sign, 1);
    }
    ct__scratch wild(dev, b.members * (int64_t)sizeof(int64_t));
    if (!wild.data) return CT_ENOMEM;
    ct_status s = ct__zero(dev, "slogdet", wild, b.members);
    if (!s) s = find_wild(dev, &b, b.m[0], wild);
    if (s) return s;
    const factors f(dev, &b, b.m[0]);
    if (f.status) return f.status;
    s = CT__BATCH_BLOCKS(dev, "slogdet", b, det_kernel, b.members, CT__WARP, f.m, f.pivot, wild, f.failed,
                         log_abs->data, sign->data);
    return s ? s : f.note(failure);
}
