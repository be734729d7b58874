/* LU with partial pivoting, inverses and determinants from it. */
#include "batch.h"
#include "inverse.h"
#include "kernel/vmath.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The exponent of NaN and infinities is ALL, of others less: the sum with 1 has a bit more. A sum of numbers
 * would not become vector code. */
#define FINITE(name, T, U, BITS, MANTISSA, ALL)                                                        \
    static bool finite_##name(const T *a, int64_t n, int64_t ld)                                       \
    {                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                              \
            U seen = 0;                                                                                \
            for (int64_t j = 0; j < n; j++) seen |= ((BITS(a[i * ld + j]) >> (MANTISSA)) & (ALL)) + 1; \
            if (seen > (ALL)) return false;                                                            \
        }                                                                                              \
        return true;                                                                                   \
    }
FINITE(f64, double, uint64_t, ct__bits, 52, 0x7ff)
FINITE(f32, float, uint32_t, ct__bits32, 23, 0xff)

static bool all_finite(ct_dtype t, int64_t n, const void *a, int64_t ld)
{
    return t == CT_F64 ? finite_f64(a, n, ld) : finite_f32(a, n, ld);
}

/* The first pivot that is zero or not finite (from 1; n where it is another element that is not finite), or
 * 0. */
static int64_t fault(ct_dtype t, int64_t n, const void *a, int64_t ld)
{
    for (int64_t i = 0; i < n; i++) {
        double d = ct__get(t, a, i * (ld + 1));
        if (!isfinite(d) || d == 0) return i + 1;
    }
    return all_finite(t, n, a, ld) ? 0 : n;
}

/* One large matrix: LAPACK with all threads. The column-major a becomes L and U; order[i] is the row that
 * came to stand at i. */
static void lapack_lu(ct_dtype t, int64_t n, void *a, int64_t ld, int *pivots, int64_t *order)
{
    blas_getrf(t, (int)n, a, (int)ld, pivots);
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t i = 0; i < n; i++) {
        int64_t other = pivots[i] - 1, row = order[i];
        order[i] = order[other];
        order[other] = row;
    }
}

static ct_status run(ct__job *job, ct_failure *failure)
{
    job->failure = failure;
    job->what = "pivot %lld";
    job->why = "is zero or not finite: the matrix is singular, or has NaN or infinities";
    return ct__job_run(job);
}

static ct_status check_extent(ct_device *dev, const char *name, int64_t n)
{
    return n <= INT32_MAX ? CT_OK
                          : ct__fail(dev, CT_EUNSUPPORTED,
                                     "%s: a matrix of %" PRId64 "x%" PRId64
                                     " is beyond BLAS's 32-bit extents; split it into blocks",
                                     name, n, n);
}

/* -- A[order] = L U -------------------------------------------------------------------------------------- */

/* y = x or xᵀ, both n x n, into a row-major y or out of a row-major x */
static void load(const ct__job *job, const void *from, bool transposed, void *a, int64_t ld)
{
    const ct__matrix *x = &job->m[0];
    const int64_t n = x->rows, rs = transposed ? x->cs : x->rs, cs = transposed ? x->rs : x->cs;
    if (rs == 1 && cs != 1)
        job->kit->transpose(n, n, from, cs, a, ld);
    else
        ct__copy_matrix(job->dev, job->dtype, n, n, from, rs, cs, a, ld, 1);
}

static int64_t getrf_member(const ct__job *job, void *const *data)
{
    const ct__matrix *o = &job->m[1];
    const ct_dtype t = job->dtype;
    const int64_t n = o->rows, ld = ct__pitch(n);
    void *work = data[2], *a = (char *)work + ct__product_work(t, n), *columns = ct__ij(a, t, ld, n, 0);
    if (job->serial) {
        load(job, data[0], false, a, ld);
        ct__lu(job->kit, a, ld, n, data[3], columns, work);
    } else {
        load(job, data[0], true, a, ld);
        lapack_lu(t, n, a, ld, columns, data[3]);
    }
    const int64_t failed = fault(t, n, a, ld), rs = job->serial ? o->rs : o->cs,
                  cs = job->serial ? o->cs : o->rs;
    if (failed)
        ct__fill_nan(&job->m[1], t, data[1]);
    else if (rs == 1)
        job->kit->transpose(n, n, a, ld, data[1], cs);
    else
        ct__copy_matrix(job->dev, t, n, n, a, ld, 1, data[1], rs, cs);
    return failed;
}

ct_status ct__cpu_getrf(ct_device *dev, const ct_view *a, ct_view *lu, ct_view *order, ct_failure *failure)
{
    const ct_view *t[] = { a, lu };
    ct__job job;
    ct__job_init(&job, dev, 2, t);
    int64_t n = job.m[0].rows;
    ct_status status = check_extent(dev, "lu", n);
    if (status || !job.members || !n) return status;
    job.index = order->data;
    job.work = 2.0 / 3 * (double)n * (double)n * (double)n;
    job.scratch = ct__product_work(job.dtype, n) +
                  (size_t)(n * ct__pitch(n) + ct__lu_columns(n)) * ct_dtype_size(job.dtype);
    job.serial = !ct__inverse_alone(dev, job.members, n, CT__LU_ALONE);
    job.member = getrf_member;
    return run(&job, failure);
}

/* -- A⁻¹ ------------------------------------------------------------------------------------------------- */

static void put_row(const ct__job *job, const void *from, void *to)
{
    const ct__matrix *o = &job->m[1];
    if (o->cs == 1)
        memcpy(to, from, (size_t)o->cols * ct_dtype_size(job->dtype));
    else
        ct__copy_matrix(job->dev, job->dtype, 1, o->cols, from, 0, 1, to, 0, o->cs);
}

/* Πᵀ L U = Aᵀ, so A = Uᵀ Lᵀ Π and A⁻¹ = Πᵀ Vᵀ M with V = L⁻¹ and M = U⁻ᵀ, both lower. */
static int64_t getri_member(const ct__job *job, void *const *data)
{
    const ct__matrix *o = &job->m[1];
    const ct_dtype t = job->dtype;
    const int64_t n = o->rows, ld = ct__pitch(n);
    void *work = data[2], *a = (char *)work + ct__product_work(t, n), *v = ct__ij(a, t, ld, n, 0),
         *m = ct__ij(v, t, ld, n, 0), *columns = ct__ij(m, t, ld, n, 0);
    int64_t *order = ct__at(columns, CT_F64, ct__lu_columns(n));
    load(job, data[0], true, a, ld);
    ct__lu(job->kit, a, ld, n, order, columns, work);
    const int64_t failed = fault(t, n, a, ld);
    if (failed) {
        ct__fill_nan(&job->m[1], t, data[1]);
        return failed;
    }
    ct__invert_triangle(job->kit, true, false, a, 1, ld, m, ld, n, work);
    ct__invert_triangle(job->kit, true, true, a, ld, 1, v, ld, n, work);
    ct__multiply(job->kit, CT__LEFT_UPPER | CT__RIGHT_LOWER, 'T', 'N', n, n, n, 1, v, ld, m, ld, 0, a, ld,
                 work);
    for (int64_t i = 0; i < n; i++)
        put_row(job, ct__ij(a, t, ld, i, 0), ct__at(data[1], t, order[i] * o->rs));
    return 0;
}

/* One large matrix: LAPACK with all threads; the inverse of the transpose is the transpose of the inverse. */
static int64_t lapack_getri_member(const ct__job *job, void *const *data)
{
    const ct__matrix *o = &job->m[1];
    const ct_dtype t = job->dtype;
    const int64_t n = o->rows, ld = ct__pitch(n);
    void *a = data[2], *work = ct__ij(a, t, ld, n, 0);
    int64_t *order = ct__ij(work, t, ld, CT__LAPACK_PANEL, 0);
    int *pivots = (int *)(order + n);
    load(job, data[0], false, a, ld);
    lapack_lu(t, n, a, ld, pivots, order);
    int64_t failed = fault(t, n, a, ld);
    if (!failed)
        failed = blas_getri(t, (int)n, a, (int)ld, pivots, work,
                            (int)(CT__LAPACK_PANEL * ld < INT32_MAX ? CT__LAPACK_PANEL * ld : n));
    if (failed)
        ct__fill_nan(&job->m[1], t, data[1]);
    else
        for (int64_t i = 0; i < n; i++) put_row(job, ct__ij(a, t, ld, i, 0), ct__at(data[1], t, i * o->rs));
    return failed;
}

ct_status ct__cpu_getri(ct_device *dev, const ct_view *a, ct_view *out, ct_failure *failure)
{
    const ct_view *t[] = { a, out };
    ct__job job;
    ct__job_init(&job, dev, 2, t);
    int64_t n = job.m[0].rows, ld = ct__pitch(n);
    ct_status status = check_extent(dev, "inverse", ld);
    if (status || !job.members || !n) return status;
    job.work = 2 * (double)n * (double)n * (double)n;
    job.scratch = ct__product_work(job.dtype, n) + (size_t)(3 * n * ld) * ct_dtype_size(job.dtype) +
                  (size_t)(ct__lu_columns(n) + 2 * n) * sizeof(int64_t);
    job.serial = !ct__inverse_alone(dev, job.members, n, CT__GENERAL_ALONE);
    job.member = job.serial ? getri_member : lapack_getri_member;
    return run(&job, failure);
}

/* -- det A ----------------------------------------------------------------------------------------------- */

/* The sign of a permutation: each cycle of even length turns it. Visited places are marked by their
 * complement. */
static double parity(int64_t *order, int64_t n)
{
    double sign = 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t length = 0;
        for (int64_t k = i; order[k] >= 0; length++) {
            int64_t next = order[k];
            order[k] = ~next;
            k = next;
        }
        if (length && length % 2 == 0) sign = -sign;
    }
    return sign;
}

/* Writes the sign to data[1] and log |det| to data[2]. The transpose has the same. */
static int64_t det_member(const ct__job *job, void *const *data)
{
    const ct_dtype t = job->dtype;
    const int64_t n = job->m[0].rows, ld = ct__pitch(n);
    void *work = data[3], *a = (char *)work + ct__product_work(t, n);
    int64_t *order = ct__ij(a, t, ld, n, 0), *columns = order + n;
    load(job, data[0], false, a, ld);
    if (job->serial)
        ct__lu(job->kit, a, ld, n, order, columns, work);
    else
        lapack_lu(t, n, a, ld, (int *)columns, order);
    int64_t failed = fault(t, n, a, ld);
    double log_abs = 0, sign = parity(order, n);
    for (int64_t i = 0; i < n && !failed; i++) {
        const double u = ct__get(t, a, i * (ld + 1));
        log_abs += log(fabs(u));
        if (u < 0) sign = -sign;
    }
    if (failed) log_abs = sign = NAN;
    if (failed && ct__get(t, a, (failed - 1) * (ld + 1)) == 0) {
        load(job, data[0], false, a, ld);
        if (all_finite(t, n, a, ld)) failed = 0, sign = 0, log_abs = -INFINITY;
    }
    ct__set(t, data[1], 0, sign);
    ct__set(t, data[2], 0, log_abs);
    return failed;
}

ct_status ct__cpu_lu_det(ct_device *dev, const ct_view *a, ct_view *log_abs, ct_view *sign,
                         ct_failure *failure)
{
    ct_view as_matrix[] = { *sign, *log_abs }; /* of one element */
    for (int k = 0; k < 2; k++)
        for (int d = 0; d < 2; d++) {
            ct_view *x = &as_matrix[k];
            x->dim[x->ndim] = x->stride[x->ndim] = 1;
            x->ndim++;
        }
    const ct_view *t[] = { a, &as_matrix[0], &as_matrix[1] };
    ct__job job;
    ct__job_init(&job, dev, 3, t);
    const int64_t n = job.m[0].rows;
    ct_status status = check_extent(dev, "slogdet", n);
    if (status || !job.members) return status;
    if (!n) {
        status = ct__cpu_fill(dev, 0, log_abs);
        return status ? status : ct__cpu_fill(dev, 1, sign);
    }
    job.work = 2.0 / 3 * (double)n * (double)n * (double)n;
    job.scratch = ct__product_work(job.dtype, n) + (size_t)(n * ct__pitch(n)) * ct_dtype_size(job.dtype) +
                  (size_t)(n + ct__lu_columns(n)) * sizeof(int64_t);
    job.serial = !ct__inverse_alone(dev, job.members, n, CT__LU_ALONE);
    job.member = det_member;
    return run(&job, failure);
}
