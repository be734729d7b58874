/* LU with partial pivoting, and inverses and determinants by it. */
#include "inverse.h"
#include "kernel/vmath.h"
#include "lu_factor.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* NaN and infinities have the exponent ALL, other numbers less. So adding 1 to the exponent carries into the
 * next bit for the former only. Unlike a sum of floating-point numbers, this vectorises. */
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

/* The first pivot, from 1, that is zero or not finite; n if another element is not finite; else 0. */
static int64_t fault(ct_dtype t, int64_t n, const void *a, int64_t ld)
{
    for (int64_t i = 0; i < n; i++) {
        double d = ct__get(t, a, i * (ld + 1));
        if (!isfinite(d) || d == 0) return i + 1;
    }
    return all_finite(t, n, a, ld) ? 0 : n;
}

/* LU of one large matrix, by LAPACK with all threads. Replaces the column-major a by L and U. order[i] is the
 * original row at position i. */
static void lapack_lu(ct_dtype t, int n, void *a, int ld, int *pivots, int64_t *order)
{
    int info;
    CT__ROUTINE(t, getrf)(&n, &n, a, &ld, pivots, &info);
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = 0; i < n; i++) {
        const int64_t other = pivots[i] - 1, row = order[i];
        order[i] = order[other];
        order[other] = row;
    }
}

/* a = x or xᵀ, both n x n; a is row-major */
static void load(const ct__job *job, const void *from, bool transposed, void *a, int64_t ld)
{
    const ct__matrix *x = &job->m[0];
    const int64_t n = x->rows, rs = transposed ? x->cs : x->rs, cs = transposed ? x->rs : x->cs;
    if (rs == 1 && cs != 1)
        job->kernels->transpose(n, n, from, cs, a, ld);
    else
        ct__copy_matrix(job->dev, job->dtype, n, n, from, rs, cs, a, ld, 1);
}

/* Factorises the member, or with `transposed` its transpose, in a. One large matrix goes to LAPACK, which
 * reads a as column-major. Returns as fault. columns: workspace of ct__lu_columns(n) numbers. */
static int64_t factor(const ct__job *job, const void *from, bool transposed, void *a, int64_t *order,
                      void *columns, void *work)
{
    const int64_t n = job->m[0].rows, ld = ct__pitch(n);
    load(job, from, transposed, a, ld);
    if (job->serial)
        ct__lu(job->kernels, a, ld, n, order, columns, work);
    else
        lapack_lu(job->dtype, (int)n, a, (int)ld, columns, order);
    return fault(job->dtype, n, a, ld);
}

/* index: receives the orders; may be NULL */
static ct_status run(ct_device *dev, const ct__routine *routine, int count, const ct_view *const *t,
                     int64_t *index, ct_failure *failure)
{
    ct__job job = { .index = index,
                    .failure = failure,
                    .what = "pivot %lld",
                    .why = "is zero or not finite: the matrix is singular, or has NaN or infinities" };
    if (!ct__job_init(&job, dev, count, t)) return CT_OK;
    const int64_t n = job.m[0].rows;
    if (ct__pitch(n) > INT32_MAX)
        return ct__fail(dev, CT_EUNSUPPORTED,
                        "lu: a matrix of %" PRId64 "x%" PRId64
                        " is beyond BLAS's 32-bit extents; split it into blocks",
                        n, n);
    return ct__routine_run(&job, routine, n, (size_t)(ct__lu_columns(n) + n) * sizeof(int64_t));
}

/* -- A[order] = L U -------------------------------------------------------------------------------------- */

static int64_t getrf_member(const ct__job *job, void *const *data)
{
    const ct__matrix *o = &job->m[1];
    const ct_dtype t = job->dtype;
    const int64_t n = o->rows, ld = ct__pitch(n), rs = job->serial ? o->rs : o->cs,
                  cs = job->serial ? o->cs : o->rs;
    void *work = data[2], *a = (char *)work + ct__product_work(t, n);
    const int64_t failed = factor(job, data[0], !job->serial, a, data[3], ct__ij(a, t, ld, n, 0), work);
    if (failed)
        ct__fill_nan(job, 1, data);
    else if (rs == 1)
        job->kernels->transpose(n, n, a, ld, data[1], cs);
    else
        ct__copy_matrix(job->dev, t, n, n, a, ld, 1, data[1], rs, cs);
    return failed;
}

ct_status ct__cpu_getrf(ct_device *dev, const ct_view *a, ct_view *lu, ct_view *order, ct_failure *failure)
{
    const ct__routine routine = { 2.0 / 3, 1, dev->tuning->lu_alone, getrf_member, getrf_member };
    return run(dev, &routine, 2, (const ct_view *[]){ a, lu }, order->data, failure);
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

/* Only the diagonal: (A⁻¹)_jj, j = order[i], is the product of row i of Vᵀ and row j of Mᵀ = U⁻¹, both
 * upper. */
static void put_diagonal(const ct__job *job, const void *a, void *v, void *m, const int64_t *order,
                         void *work, void *out)
{
    const ct__matrix *o = &job->m[1];
    const ct_dtype t = job->dtype;
    const int64_t n = o->rows, ld = ct__pitch(n);
    ct__invert_triangle(job->kernels, false, false, a, ld, 1, m, ld, n, work);
    ct__invert_triangle(job->kernels, false, true, a, 1, ld, v, ld, n, work);
    for (int64_t i = 0; i < n; i++) {
        const int64_t j = order[i], k = ct__max(i, j);
        ct__set(t, out, j * o->rs, ct__dot(t, n - k, ct__ij(v, t, ld, i, k), ct__ij(m, t, ld, j, k)));
    }
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
    const int64_t failed = factor(job, data[0], true, a, order, columns, work);
    if (failed) {
        ct__fill_nan(job, 1, data);
        return failed;
    }
    if (ct__is_diagonal(o)) {
        put_diagonal(job, a, v, m, order, work, data[1]);
        return 0;
    }
    ct__invert_triangle(job->kernels, true, false, a, 1, ld, m, ld, n, work);
    ct__invert_triangle(job->kernels, true, true, a, ld, 1, v, ld, n, work);
    ct__multiply(job->kernels, CT__LEFT_UPPER | CT__RIGHT_LOWER, 'T', 'N', n, n, n, 1, v, ld, m, ld, 0, a, ld,
                 work);
    for (int64_t i = 0; i < n; i++)
        put_row(job, ct__ij(a, t, ld, i, 0), ct__at(data[1], t, order[i] * o->rs));
    return 0;
}

/* The inverse of one large matrix, by LAPACK with all threads. The inverse of the transpose is the transpose
 * of the inverse, so the layout does not matter. */
static int64_t lapack_getri_member(const ct__job *job, void *const *data)
{
    const ct__matrix *o = &job->m[1];
    const ct_dtype t = job->dtype;
    const int n = (int)o->rows, ld = (int)ct__pitch(n),
              count = ld < INT32_MAX / CT__LAPACK_PANEL ? CT__LAPACK_PANEL * ld : n;
    void *a = data[2], *work = ct__ij(a, t, ld, n, 0);
    int64_t *order = ct__ij(work, t, ld, CT__LAPACK_PANEL, 0);
    int *pivots = (int *)(order + n), info = 0;
    int64_t failed = factor(job, data[0], false, a, order, pivots, NULL);
    if (!failed) CT__ROUTINE(t, getri)(&n, a, &ld, pivots, work, &count, &info);
    if (!failed) failed = info;
    if (failed) ct__fill_nan(job, 1, data);
    for (int64_t i = 0; i < n && !failed; i++)
        if (ct__is_diagonal(o))
            ct__set(t, data[1], i * o->rs, ct__get(t, a, i * (ld + 1)));
        else
            put_row(job, ct__ij(a, t, ld, i, 0), ct__at(data[1], t, i * o->rs));
    return failed;
}

ct_status ct__cpu_getri(ct_device *dev, const ct_view *a, ct_view *out, ct_failure *failure)
{
    const ct__routine routine = { 2, 3, dev->tuning->general_alone, getri_member, lapack_getri_member };
    return run(dev, &routine, 2, (const ct_view *[]){ a, out }, NULL, failure);
}

/* -- det A ----------------------------------------------------------------------------------------------- */

/* The sign of a permutation: each cycle of even length changes it. Visited places are marked by their
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

/* Writes the sign to data[1] and log |det| to data[2]. The transpose has the same determinant. */
static int64_t det_member(const ct__job *job, void *const *data)
{
    const ct_dtype t = job->dtype;
    const int64_t n = job->m[0].rows, ld = ct__pitch(n);
    void *work = data[3], *a = (char *)work + ct__product_work(t, n);
    int64_t *order = ct__ij(a, t, ld, n, 0), failed = factor(job, data[0], false, a, order, order + n, work);
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

/* Each element of x as a matrix of one element */
static ct_view as_matrices(ct_view x)
{
    for (int d = 0; d < 2; d++) x.dim[x.ndim + d] = x.stride[x.ndim + d] = 1;
    x.ndim += 2;
    return x;
}

ct_status ct__cpu_lu_det(ct_device *dev, const ct_view *a, ct_view *log_abs, ct_view *sign,
                         ct_failure *failure)
{
    const ct__routine routine = { 2.0 / 3, 1, dev->tuning->lu_alone, det_member, det_member };
    const ct_view s = as_matrices(*sign), l = as_matrices(*log_abs);
    if (a->dim[a->ndim - 1]) return run(dev, &routine, 3, (const ct_view *[]){ a, &s, &l }, NULL, failure);
    const ct_status status = ct__cpu_fill(dev, log_abs, 0);
    return status ? status : ct__cpu_fill(dev, sign, 1);
}
