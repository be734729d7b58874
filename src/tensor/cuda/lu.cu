/* LU with partial pivoting, and inverses and determinants from it. */
#include "batch.cuh"
#include "block.cuh"

#include <math.h>

/* The row exchanges (j, pivot_j), pivot_j >= j, as a permutation. No exchange after i moves row i, so each
 * thread follows one row back to where it came from. A member that failed keeps its natural order. */
static __global__ void order_kernel(int64_t members, int64_t n, const int64_t *pivots, const int64_t *failed,
                                    int64_t *order)
{
    CT__EACH(at, members * n)
    {
        const int64_t i = at % n, *pivot = pivots + at - i;
        const bool natural = failed[at / n];
        int64_t row = natural ? i : pivot[i];
        CT__BY_FOUR
        for (int64_t j = natural ? -1 : i - 1; j >= 0; j--)
            if (pivot[j] == row) row = j;
        order[at] = row;
    }
}

/* L and U in a column-major copy of A, the row exchanges, room for their permutation, and failures. An
 * element that is not finite, wherever it is, counts as a failure of the last pivot. */
struct factors {
    const ct__job &b;
    ct__workspace integers;
    ct__temporary work;
    int64_t *failed, *pivot, *order;
    ct__matrix m;
    factors(const ct__job &job, const ct__matrix &A)
        : b(job), integers(b, b.members * (1 + 2 * A.rows) * (int64_t)sizeof(int64_t)),
          work(b, A.rows, A.rows), failed(integers), pivot(NULL), order(NULL), m(ct__transposed(work.m))
    {
        if (b.status) return;
        pivot = failed + b.members;
        order = pivot + b.members * m.rows;
        ct__copy_matrices(b, A, m);
        const int64_t least = b.members > 1 ? CT__ONE_BY_ONE : CT__LU_ALONE;
        (ct__one_by_one(b, m.rows >= least) ? ct__lu_looped : ct__lu_batched)(b, m, pivot, failed);
        ct__wild(b, ct__transposed(m), failed);
    }
    void put_in_order(int64_t *to) const
    {
        CT__DO(b, CT__RUN_EACH(b.dev, "lu", order_kernel, b.members * m.rows, b.members, m.rows, pivot,
                               failed, to));
    }
    ct_status note(ct_failure *failure) const
    {
        return ct__note_failure(b, failed, 0, "pivot %lld",
                                "is zero or not finite: the matrix is singular, or has NaN or infinities",
                                failure);
    }
};

ct_status ct__cuda_getrf(ct_device *dev, const ct_view *a, ct_view *lu, ct_view *order, ct_failure *failure)
{
    const ct__matrices<2> b(dev, { a, lu });
    if (!b.members || !b.m[0].rows) return CT_OK;
    const factors f(b, b.m[0]);
    f.put_in_order((int64_t *)order->data);
    ct__poison(b, f.failed, false, f.m);
    ct__copy_matrices(b, f.m, b.m[1]);
    return f.note(failure);
}

/* -- inverses -------------------------------------------------------------------------------------------- */

/* A = P L U gives A⁻¹ = U⁻¹ L⁻¹ Pᵀ. */
ct_status ct__cuda_getri(ct_device *dev, const ct_view *a, ct_view *out, ct_failure *failure)
{
    const ct__matrices<2> b(dev, { a, out });
    if (!b.members || !b.m[0].rows) return CT_OK;
    const factors f(b, b.m[0]);
    ct__formed to(b, b.m[1], ct__formed::NOTHING,
                  b.m[1].cols == b.m[0].cols ? ct__formed::ALL : ct__formed::DIAGONAL);
    f.put_in_order(f.order);
    ct__identity(b, to.m, f.order);
    ct__apply(b, CT__SOLVE, true, true, 1, f.m, to.m);
    ct__apply(b, CT__SOLVE, false, false, 1, f.m, to.m);
    ct__poison(b, f.failed, false, to.m);
    to.finish();
    return f.note(failure);
}

/* -- determinants ---------------------------------------------------------------------------------------- */

/* One block per member: log|det| = Σ log|u_ii|. Each row exchange and each u_ii < 0 changes the sign. A zero
 * pivot of a finite matrix is no failure. */
template <typename T>
static __global__ void det_kernel(ct__batch b, ct__matrix lu, const int64_t *pivots, const int64_t *wild,
                                  int64_t *failed, void *log_abs, void *sign)
{
    const int64_t member = blockIdx.x, n = lu.rows, step = lu.rs + lu.cs, *pivot = pivots + member * n;
    const T *a = (const T *)lu.data + ct__member_at(b, lu, member);
    const int t = (int)threadIdx.x;
    double sum = 0;
    int odd = 0;
    for (int64_t i = t; i < n && !failed[member]; i += CT__WARP) {
        const double u = (double)a[i * step];
        sum += log(fabs(u));
        odd ^= (u < 0) ^ (pivot[i] != i);
    }
    sum = ct__over_block<CT__WARP>(sum, ct__plus());
    odd = ct__over_block<CT__WARP>(odd, ct__plus()) % 2;
    if (t) return;
    const bool singular = failed[member] && !wild[member] && a[(failed[member] - 1) * step] == 0;
    ((T *)log_abs)[member] = singular ? (T)-INFINITY : failed[member] ? (T)NAN : (T)sum;
    ((T *)sign)[member] = singular ? (T)0 : failed[member] ? (T)NAN : odd ? (T)-1 : (T)1;
    if (singular) failed[member] = 0;
}

ct_status ct__cuda_lu_det(ct_device *dev, const ct_view *a, ct_view *log_abs, ct_view *sign,
                          ct_failure *failure)
{
    const ct__matrices<1> b(dev, { a });
    if (!b.members) return CT_OK;
    if (!b.m[0].rows) {
        ct_status s = ct__cuda_fill(dev, log_abs, 0);
        return s ? s : ct__cuda_fill(dev, sign, 1);
    }
    const ct__workspace wild(b, b.members * (int64_t)sizeof(int64_t));
    CT__DO(b, ct__zero(dev, "slogdet", wild, b.members));
    ct__wild(b, b.m[0], wild);
    const factors f(b, b.m[0]);
    CT__BATCH_BLOCKS("slogdet", b, det_kernel, b.members, CT__WARP, f.m, f.pivot, wild, f.failed,
                     log_abs->data, sign->data);
    return f.note(failure);
}
