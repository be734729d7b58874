/* LU with partial pivoting, inverses and determinants from it. All members together: panels of 32 columns are
 * a block's work, one for each member; the rest is trsm and gemm on the whole batch. Or by cuSOLVER, one
 * after the other. */
#include "batch.cuh"
#include "block.cuh"
#include "paths.h"

#include <math.h>

enum { THREADS = 256, PANEL = 32, ORDERERS = 32, FEW = 512, MANY = 8192 };

static const char *const WHAT = "pivot %lld",
                         *const WHY =
                             "is zero or not finite: the matrix is singular, or has NaN or infinities";

/* |a_ij| and its row i: of two the larger, of equals the first. NaN counts as nothing, and is found at the end. */
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
        best = ct__over_block<THREADS>(best, better());
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
    const int64_t size = m.rows * m.cols;
    CT__EACH(e, b.members * size)
    {
        const int64_t member = e / size, j = e % size / m.rows, i = e % m.rows;
        const T x = ((const T *)m.data)[ct__member_at(b, m, member) + i * m.rs + j * m.cs];
        if (!(x - x == 0) && !flags[member]) flags[member] = m.rows;
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
    for (int64_t i = t; i < n; i += ORDERERS) {
        if (n <= ROOM)
            near[i] = (int32_t)i;
        else
            order[i] = i;
    }
    __syncthreads();
    if (!t && !failed[member] && n <= ROOM) exchange(pivot, n, near);
    if (!t && !failed[member] && n > ROOM) exchange(pivot, n, order);
    __syncthreads();
    for (int64_t i = t; i < n && n <= ROOM; i += ORDERERS) order[i] = near[i];
}

ct_status ct__lu_blocked(ct_device *dev, const ct__batch *b, const ct__matrix &m, int64_t *pivot,
                         int64_t *failed)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    const int64_t n = m.rows;
    ct_status s = ct__cuda_status(
        dev, "lu", cudaMemsetAsync(failed, 0, (size_t)b->members * sizeof *failed, cuda->stream));
    for (int64_t at = 0; at < n && !s; at += PANEL) {
        const int64_t width = n - at < PANEL ? n - at : (int64_t)PANEL, rest = n - at - width;
        CT__BATCH_BLOCK(dev, b, panel_kernel, ct__blocks(b->members), ct__threads(n - at, THREADS), m, at,
                        (int)width, pivot, failed);
        s = ct__cuda_launched(dev, "lu"); /* else nobody has written the pivots, which are addresses below */
        if (s) break;
        if (n > width) CT__BATCH_EACH(dev, b, exchange_kernel, b->members * (n - width), m, at, width, pivot);
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
    const int t = (int)threadIdx.x;
    const int64_t n = m.rows;
    const T *a = (const T *)m.data + ct__member_at(b, m, member);
    int64_t mine = n;
    for (int64_t j = t; j < n; j += THREADS) {
        const T size = fabs(a[j * (m.rs + m.cs)]);
        if (!(size > 0 && size < (T)INFINITY) && mine == n) mine = j;
        const int64_t row = pivot[j] - 1;
        pivot[j] = row > j && row < n ? row : j;
    }
    const int64_t first = ct__over_block<THREADS>(mine, ct__least());
    if (!t) failed[member] = first < n ? first + 1 : 0;
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
        if (s) break;
        CT__BATCH_BLOCK(dev, b, verdict_kernel, 1, THREADS, m, i, pivot + i * n, failed);
    }
    return s ? s : ct__cuda_launched(dev, "lu");
}

/* As wild_kernel says, of m column-major. */
static ct_status find_wild(ct_device *dev, const ct__batch *b, const ct__matrix &m, int64_t *flags)
{
    CT__BATCH_EACH(dev, b, wild_kernel, b->members * m.rows * m.cols, m, flags);
    return ct__cuda_launched(dev, "lu");
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

/* The same with the order that rows have in the end. */
static ct_status factor_in_order(ct_device *dev, const ct__batch *b, const ct__matrix &m, int64_t *order,
                                 int64_t *failed)
{
    const int64_t n = m.rows;
    ct__scratch pivots(dev, b->members * n * (int64_t)sizeof(int64_t));
    if (!pivots.data) return CT_ENOMEM;
    const int64_t *pivot = (const int64_t *)pivots.data;
    ct_status s = factor(dev, b, m, (int64_t *)pivots.data, failed);
    if (s) return s;
    cudaStream_t stream = ct__cuda_of(dev)->stream;
    if (n <= FEW)
        CT__LAUNCH_BLOCK(order_kernel<FEW>, ct__blocks(b->members), ORDERERS, stream, n, pivot, failed,
                         order);
    else
        CT__LAUNCH_BLOCK(order_kernel<MANY>, ct__blocks(b->members), ORDERERS, stream, n, pivot, failed,
                         order);
    return ct__cuda_launched(dev, "lu");
}

/* One after the other in memory that holds them. */
static ct__matrix column_major(const ct__batch *b, void *data, int64_t n)
{
    return ct__turned(ct__dense(b, data, n, n));
}

ct_status ct__cuda_getrf(ct_device *dev, const ct_view *a, ct_view *lu, ct_view *order, ct_failure *failure)
{
    const ct_view *t[] = { a, lu };
    ct__matrix m[2];
    ct__batch b = ct__make_batch(2, t, m);
    if (!b.members || !m[0].rows) return CT_OK;
    const int64_t n = m[0].rows;
    ct__scratch failed(dev, b.members * (int64_t)sizeof(int64_t)),
        work(dev, b.members * n * n * ct__bytes_of(&b));
    if (!failed.data || !work.data) return CT_ENOMEM;
    const ct__matrix factors = column_major(&b, work.data, n);
    ct_view from = ct__as_view(&b, &m[0]), inner = ct__as_view(&b, &factors), to = ct__as_view(&b, &m[1]);
    ct_status s = ct__cuda_copy(dev, &from, &inner);
    if (!s) s = factor_in_order(dev, &b, factors, (int64_t *)order->data, (int64_t *)failed.data);
    if (!s) s = ct__poison(dev, &b, (const int64_t *)failed.data, false, &factors);
    if (!s) s = ct__cuda_copy(dev, &inner, &to);
    return s ? s : ct__note_failure(dev, &b, (const int64_t *)failed.data, 0, WHAT, WHY, failure);
}

/* A = P L U gives A⁻¹ = U⁻¹ L⁻¹ Pᵀ: the identity's rows in pivot order, solved for twice. */
ct_status ct__cuda_getri(ct_device *dev, const ct_view *a, ct_view *out, ct_failure *failure)
{
    const ct_view *t[] = { a, out };
    ct__matrix m[2];
    ct__batch b = ct__make_batch(2, t, m);
    const int64_t n = m[0].rows;
    if (!b.members || !n) return CT_OK;
    ct__scratch failed(dev, b.members * (1 + n) * (int64_t)sizeof(int64_t)),
        work(dev, b.members * n * n * ct__bytes_of(&b)), identity(dev, n * n * ct__bytes_of(&b));
    if (!failed.data || !work.data || !identity.data) return CT_ENOMEM;
    int64_t *flags = (int64_t *)failed.data, *orders = flags + b.members;
    ct__formed f(dev, &b, m[1], ct__formed::NOTHING, ct__formed::ALL);
    ct__matrix lu = column_major(&b, work.data, n), eye = ct__dense(&b, identity.data, n, n),
               order = ct__dense(&b, orders, n, 1);
    for (int d = 0; d < b.ndim; d++) eye.step[d] = 0;
    ct__batch one = ct__one(b.dtype);
    ct_view from = ct__as_view(&b, &m[0]), factors = ct__as_view(&b, &lu), result = ct__as_view(&b, &f.m),
            unit = ct__as_view(&one, &eye), spread = ct__as_view(&b, &eye), rows = ct__as_view(&b, &order),
            diagonal = unit;
    rows.dtype = CT_I64;
    diagonal.ndim = 1;
    diagonal.stride[0] = eye.rs + eye.cs;
    ct_status s = f.status ? f.status : ct__cuda_copy(dev, &from, &factors);
    if (!s) s = factor_in_order(dev, &b, lu, orders, flags);
    if (!s) s = ct__cuda_fill(dev, 0, &unit);
    if (!s) s = ct__cuda_fill(dev, 1, &diagonal);
    if (!s) s = ct__cuda_permute_rows(dev, &spread, &rows, false, &result);
    if (!s) s = ct__solve(dev, &b, true, true, 1, lu, f.m);
    if (!s) s = ct__solve(dev, &b, false, false, 1, lu, f.m);
    if (!s) s = ct__poison(dev, &b, flags, false, &f.m);
    if (!s) s = f.finish();
    return s ? s : ct__note_failure(dev, &b, flags, 0, WHAT, WHY, failure);
}

/* -- determinants ---------------------------------------------------------------------------------------- */

/* A block per member: log|det| = Σ log|u_ii|; each exchange of rows turns the sign, and each u_ii < 0. A zero
 * pivot of a finite matrix is no failure here. */
template <typename T>
static __global__ void det_kernel(ct__batch b, ct__matrix lu, const int64_t *pivots, const int64_t *wild,
                                  int64_t *failed, T *log_abs, T *sign)
{
    const int64_t member = blockIdx.x, n = lu.rows, step = lu.rs + lu.cs, *pivot = pivots + member * n;
    const T *a = (const T *)lu.data + ct__member_at(b, lu, member);
    const int t = (int)threadIdx.x;
    double sum = 0;
    int turned = 0;
    for (int64_t i = t; i < n && !failed[member]; i += ORDERERS) {
        const double u = (double)a[i * step];
        sum += log(fabs(u));
        turned ^= (u < 0) ^ (pivot[i] != i);
    }
    sum = ct__over_block<ORDERERS>(sum, ct__plus());
    turned = ct__over_block<ORDERERS>(turned, ct__plus()) % 2;
    if (t) return;
    const bool singular = failed[member] && !wild[member] && a[(failed[member] - 1) * step] == 0;
    log_abs[member] = singular ? (T)-INFINITY : failed[member] ? (T)NAN : (T)sum;
    sign[member] = singular ? (T)0 : failed[member] ? (T)NAN : turned ? (T)-1 : (T)1;
    if (singular) failed[member] = 0;
}

ct_status ct__cuda_lu_det(ct_device *dev, const ct_view *a, ct_view *log_abs, ct_view *sign,
                          ct_failure *failure)
{
    const ct_view *t[] = { a };
    ct__matrix m;
    ct__batch batch = ct__make_batch(1, t, &m), *b = &batch;
    const int64_t n = m.rows;
    if (!b->members) return CT_OK;
    if (!n) {
        ct_status s = ct__cuda_fill(dev, 0, log_abs);
        return s ? s : ct__cuda_fill(dev, 1, sign);
    }
    ct__cuda *cuda = ct__cuda_of(dev);
    ct__scratch integers(dev, b->members * (2 + n) * (int64_t)sizeof(int64_t)),
        work(dev, b->members * n * n * ct__bytes_of(b));
    if (!integers.data || !work.data) return CT_ENOMEM;
    int64_t *failed = (int64_t *)integers.data, *wild = failed + b->members, *pivots = wild + b->members;
    ct__matrix lu = column_major(b, work.data, n);
    ct_view from = ct__as_view(b, &m), to = ct__as_view(b, &lu);
    ct_status s = ct__cuda_copy(dev, &from, &to);
    if (!s)
        s = ct__cuda_status(dev, "slogdet",
                            cudaMemsetAsync(wild, 0, (size_t)b->members * sizeof *wild, cuda->stream));
    if (!s) s = find_wild(dev, b, lu, wild);
    if (!s) s = factor(dev, b, lu, pivots, failed);
    if (s) return s;
    if (b->dtype == CT_F64)
        CT__LAUNCH_BLOCK(det_kernel<double>, ct__blocks(b->members), ORDERERS, cuda->stream, *b, lu, pivots,
                         wild, failed, (double *)log_abs->data, (double *)sign->data);
    else
        CT__LAUNCH_BLOCK(det_kernel<float>, ct__blocks(b->members), ORDERERS, cuda->stream, *b, lu, pivots,
                         wild, failed, (float *)log_abs->data, (float *)sign->data);
    s = ct__cuda_launched(dev, "slogdet");
    return s ? s : ct__note_failure(dev, b, failed, 0, WHAT, WHY, failure);
}

/* -- the adjoint of the inverse -------------------------------------------------------------------------- */

/* s = ½(g + gᵀ) */
template <typename T> static __global__ void symmetric_kernel(ct__batch b, ct__matrix g, ct__matrix s)
{
    const int64_t size = s.rows * s.cols;
    CT__EACH(e, b.members * size)
    {
        int64_t member = e / size, i = e % size / s.cols, j = e % s.cols;
        const T *x = (const T *)g.data + ct__member_at(b, g, member);
        ((T *)s.data)[ct__member_at(b, s, member) + i * s.rs + j * s.cs] =
            (T)0.5 * (x[i * g.rs + j * g.cs] + x[j * g.rs + i * g.cs]);
    }
}

/* -Pᵀ G Pᵀ; where P is symmetric with ½(G + Gᵀ) for G, and the upper triangle is the mirror image of the lower */
ct_status ct__cuda_inverse_bar(ct_device *dev, bool symmetric, const ct_view *p, const ct_view *g,
                               ct_view *out)
{
    const ct_view *t[] = { p, g, out };
    ct__matrix m[3];
    ct__batch batch = ct__make_batch(3, t, m), *b = &batch;
    const int64_t n = m[0].rows, bytes = b->members * n * n * ct__bytes_of(b);
    if (!b->members || !n) return CT_OK;
    ct__scratch half(dev, symmetric ? bytes : 0), work(dev, bytes);
    if (!half.data || !work.data) return CT_ENOMEM;
    ct__formed fp(dev, b, m[0], ct__formed::ALL, ct__formed::NOTHING),
        fg(dev, b, m[1], ct__formed::ALL, ct__formed::NOTHING),
        fo(dev, b, m[2], ct__formed::NOTHING, ct__formed::ALL);
    ct_status s = fp.status ? fp.status : fg.status ? fg.status : fo.status;
    if (s) return s;
    ct__matrix sum = ct__dense(b, half.data, n, n), h = ct__dense(b, work.data, n, n);
    if (symmetric) CT__BATCH_EACH(dev, b, symmetric_kernel, b->members * n * n, fg.m, sum);
    const ct__matrix turned = ct__turned(fp.m);
    s = ct__gemm(dev, b, 1, turned, symmetric ? sum : fg.m, 0, h);
    if (!s) s = ct__gemm(dev, b, -1, h, turned, 0, fo.m);
    if (!s && symmetric) s = ct__mirror_lower(dev, b, &fo.m);
    return s ? s : fo.finish();
}
