/* LU with partial pivoting, and determinants from it. All members together: panels of a few columns are a
 * block's work, one for each member; the rest is trsm and gemm on the whole batch. Or by cuSOLVER, one after
 * the other. */
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
        for (int k = t; k < width && row != j; k += threads) {
            T *x = &a[j * m.rs + (at + k) * m.cs], *y = &a[row * m.rs + (at + k) * m.cs], z = *x;
            *x = *y, *y = z;
        }
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
            int64_t row = pivot[member * m.rows + i];
            if (row == i) continue;
            T x = a[i * m.rs];
            a[i * m.rs] = a[row * m.rs], a[row * m.rs] = x;
        }
    }
}

/* flags[member] = n where an element is not finite, whoever finds it, and nothing has been noted before. */
template <typename T> static __global__ void wild_kernel(ct__batch b, ct__matrix m, int64_t *flags)
{
    CT__EACH_ENTRY(at, b, m)
    {
        const T x = ct__at_entry<T>(b, m, at);
        if (!(x - x == 0) && !flags[at.member]) flags[at.member] = m.rows;
    }
}

/* The exchanges become an order. */
template <typename I> static __device__ void exchange(const int64_t *pivot, int64_t n, I *order)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = pivot[i];
        const I x = order[i];
        order[i] = order[row], order[row] = x;
    }
}

/* A block per member, whose first thread makes the exchanges, in shared memory where ROOM rows are enough:
 * each has to wait for the one before. A member that failed is left in its natural order. */
template <int ROOM>
static __global__ void order_kernel(int64_t n, const int64_t *pivots, const int64_t *failed, int64_t *orders)
{
    __shared__ int32_t near[ROOM];
    const int64_t member = blockIdx.x;
    const int64_t *pivot = pivots + member * n;
    int64_t *order = orders + member * n;
    const int t = (int)threadIdx.x;
    for (int64_t i = t; i < n; i += CT__WARP) {
        if (n <= ROOM)
            near[i] = (int32_t)i;
        else
            order[i] = i;
    }
    __syncthreads();
    if (!t && !failed[member] && n <= ROOM) exchange(pivot, n, near);
    if (!t && !failed[member] && n > ROOM) exchange(pivot, n, order);
    __syncthreads();
    for (int64_t i = t; i < n && n <= ROOM; i += CT__WARP) order[i] = near[i];
}

ct_status ct__lu_blocked(ct_device *dev, const ct__batch *b, const ct__matrix &m, int64_t *pivot,
                         int64_t *failed)
{
    const int64_t n = m.rows;
    ct_status s = ct__zero(dev, "lu", failed, b->members);
    for (int64_t at = 0; at < n && !s; at += PANEL) {
        const int64_t width = n - at < PANEL ? n - at : (int64_t)PANEL, rest = n - at - width;
        /* Who has not written the pivots has left anything there, and they are addresses below. */
        s = CT__BATCH_BLOCKS(dev, "lu", *b, panel_kernel, b->members, ct__threads(n - at, CT__BLOCK), m, at,
                             (int)width, pivot, failed);
        if (!s)
            s = CT__BATCH_EACH(dev, "lu", *b, exchange_kernel, b->members * (n - width), m, at, width, pivot);
        if (s) break;
        if (!rest) break;
        const ct__matrix right = ct__block(b, m, at, at + width, width, rest);
        s = ct__solve(dev, b, true, true, 1, ct__block(b, m, at, at, width, width), right);
        if (!s)
            s = ct__gemm(dev, b, -1, ct__block(b, m, at + width, at, rest, width), right, 1,
                         ct__block(b, m, at + width, at + width, rest, rest));
    }
    return s;
}

/* One block: cuSOLVER's exchanges, counted from 1, as ours, and the first pivot that is zero or not
 * finite. */
template <typename T>
static __global__ void verdict_kernel(ct__batch b, ct__matrix m, int64_t member, int64_t *pivot,
                                      int64_t *failed)
{
    const int64_t n = m.rows, first = ct__first<CT__BLOCK>(n, [&](int64_t j) {
                                  const T size = fabs(ct__at_entry<T>(b, m, ct__entry{ member, j, j }));
                                  return !(size > 0 && size < (T)INFINITY);
                              });
    for (int64_t j = threadIdx.x; j < n; j += CT__BLOCK) {
        const int64_t row = pivot[j] - 1;
        pivot[j] = row > j && row < n ? row : j;
    }
    if (!threadIdx.x) failed[member] = first < n ? first + 1 : 0;
}

ct_status ct__lu_looped(ct_device *dev, const ct__batch *b, const ct__matrix &m, int64_t *pivot,
                        int64_t *failed)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    const bool f64 = b->dtype == CT_F64;
    const cudaDataType type = f64 ? CUDA_R_64F : CUDA_R_32F;
    const int64_t n = m.rows;
    size_t device_bytes = 0, host_bytes = 0;
    ct_status s =
        ct__cusolver_status(dev, "lu",
                            cusolverDnXgetrf_bufferSize(cuda->solver, cuda->params, n, n, type, m.data, m.cs,
                                                        type, &device_bytes, &host_bytes));
    if (s) return s;
    const ct__solver_room room(dev, device_bytes, host_bytes);
    if (room.status) return room.status;
    for (int64_t i = 0; i < b->members && !s; i++) {
        char *a = m.data + ct__member_at(*b, m, i) * ct__bytes_of(b);
        s = ct__cusolver_status(dev, "lu",
                                cusolverDnXgetrf(cuda->solver, cuda->params, n, n, type, a, m.cs,
                                                 pivot + i * n, type, room.data, device_bytes, room.host,
                                                 host_bytes, room.info));
        if (!s)
            s = CT__BATCH_BLOCKS(dev, "lu", *b, verdict_kernel, 1, CT__BLOCK, m, i, pivot + i * n, failed);
    }
    return s;
}

/* As wild_kernel says, of m column-major, which is read in the order of memory. */
static ct_status find_wild(ct_device *dev, const ct__batch *b, const ct__matrix &m, int64_t *flags)
{
    return CT__BATCH_EACH(dev, "lu", *b, wild_kernel, ct__entries(b, m), ct__turned(m), flags);
}

/* m, column-major, becomes L and U; pivot and failed, n of them and one for each member, are set. What is not
 * finite counts as the last pivot's failure, wherever it is. */
static ct_status factor(ct_device *dev, const ct__batch *b, const ct__matrix &m, int64_t *pivot,
                        int64_t *failed)
{
    ct_status s =
        !dev->in_step && ct__one_by_one(CT__GETRF, b->dtype, m.rows, b->members) /* as in cholesky.cu */
            ? ct__lu_looped(dev, b, m, pivot, failed)
            : ct__lu_blocked(dev, b, m, pivot, failed);
    return s ? s : find_wild(dev, b, m, failed);
}

ct_status ct__lu_in_order(ct_device *dev, const ct__batch *b, const ct__matrix &m, int64_t *order,
                          int64_t *failed)
{
    const int64_t n = m.rows;
    ct__scratch pivots(dev, b->members * n * (int64_t)sizeof(int64_t));
    if (!pivots.data) return CT_ENOMEM;
    const int64_t *pivot = pivots;
    ct_status s = factor(dev, b, m, pivots, failed);
    if (s) return s;
    return n <= CT__LU_FEW ? CT__RUN_BLOCKS(dev, "lu", order_kernel<CT__LU_FEW>, b->members, CT__WARP, n,
                                            pivot, failed, order)
                           : CT__RUN_BLOCKS(dev, "lu", order_kernel<CT__LU_MANY>, b->members, CT__WARP, n,
                                            pivot, failed, order);
}

ct_status ct__lu_failure(ct_device *dev, const ct__batch *b, const int64_t *failed, ct_failure *failure)
{
    return ct__note_failure(dev, b, failed, 0, "pivot %lld",
                            "is zero or not finite: the matrix is singular, or has NaN or infinities",
                            failure);
}

ct_status ct__cuda_getrf(ct_device *dev, const ct_view *a, ct_view *lu, ct_view *order, ct_failure *failure)
{
    const ct__matrices<2> b({ a, lu });
    const int64_t n = b.m[0].rows;
    if (!b.members || !n) return CT_OK;
    ct__scratch failed(dev, b.members * (int64_t)sizeof(int64_t)),
        work(dev, ct__entries(&b, b.m[0]) * ct__bytes_of(&b));
    if (!failed.data || !work.data) return CT_ENOMEM;
    const ct__matrix factors = ct__turned(ct__dense(&b, work, n, n));
    ct_view from = ct__as_view(&b, &b.m[0]), inner = ct__as_view(&b, &factors), to = ct__as_view(&b, &b.m[1]);
    ct_status s = ct__cuda_copy(dev, &from, &inner);
    if (!s) s = ct__lu_in_order(dev, &b, factors, (int64_t *)order->data, failed);
    if (!s) s = ct__poison(dev, &b, failed, false, &factors);
    if (!s) s = ct__cuda_copy(dev, &inner, &to);
    return s ? s : ct__lu_failure(dev, &b, failed, failure);
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
    const int64_t n = b.m[0].rows;
    if (!b.members) return CT_OK;
    if (!n) {
        ct_status s = ct__cuda_fill(dev, 0, log_abs);
        return s ? s : ct__cuda_fill(dev, 1, sign);
    }
    ct__scratch integers(dev, b.members * (2 + n) * (int64_t)sizeof(int64_t)),
        work(dev, ct__entries(&b, b.m[0]) * ct__bytes_of(&b));
    if (!integers.data || !work.data) return CT_ENOMEM;
    int64_t *failed = integers, *wild = failed + b.members, *pivots = wild + b.members;
    const ct__matrix lu = ct__turned(ct__dense(&b, work, n, n));
    ct_view from = ct__as_view(&b, &b.m[0]), to = ct__as_view(&b, &lu);
    ct_status s = ct__cuda_copy(dev, &from, &to);
    if (!s) s = ct__zero(dev, "slogdet", wild, b.members);
    if (!s) s = find_wild(dev, &b, lu, wild);
    if (!s) s = factor(dev, &b, lu, pivots, failed);
    if (!s)
        s = CT__BATCH_BLOCKS(dev, "slogdet", b, det_kernel, b.members, CT__WARP, lu, pivots, wild, failed,
                             log_abs->data, sign->data);
    return s ? s : ct__lu_failure(dev, &b, failed, failure);
}
