/* LU with partial pivoting, inverses from it, and rows in pivot order. */
#include "batch.h"
#include "inverse.h"
#include "tile.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void *at(const void *data, ct_dtype dtype, int64_t ld, int64_t row, int64_t col)
{
    return ct__at(data, dtype, row * ld + col);
}

/* x - x is 0 for all but NaN and infinities, which stay in the sum. */
#define FINITE(name, T)                                                           \
    static bool finite_##name(const T *a, int64_t n, int64_t ld)                  \
    {                                                                             \
        for (int64_t i = 0; i < n; i++) {                                         \
            T sum = 0;                                                            \
            for (int64_t j = 0; j < n; j++) sum += a[i * ld + j] - a[i * ld + j]; \
            if (!(sum == 0)) return false;                                        \
        }                                                                         \
        return true;                                                              \
    }
FINITE(f64, double)
FINITE(f32, float)

/* The column-major a becomes L and U; order[i] is the row that came to stand at i. Returns 0 or the first pivot that is
 * zero or not finite (from 1; n where it is another element that is not finite). */
static int64_t factor(ct_dtype t, int64_t n, void *a, int64_t ld, int *pivots, int64_t *order)
{
    int64_t failed = blas_getrf(t, (int)n, a, (int)ld, pivots);
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t i = 0; i < n && !failed; i++) {
        double d = t == CT_F64 ? *(double *)at(a, t, ld, i, i) : (double)*(float *)at(a, t, ld, i, i);
        if (!isfinite(d) || d == 0) failed = i + 1;
    }
    if (!failed && !(t == CT_F64 ? finite_f64(a, n, ld) : finite_f32(a, n, ld))) failed = n;
    for (int64_t i = 0; i < n && !failed; i++) {
        int64_t other = pivots[i] - 1, row = order[i];
        order[i] = order[other];
        order[other] = row;
    }
    return failed;
}

static ct_status run(ct__job *job, ct_failure *failure)
{
    bool failed = failure && failure->set;
    job->failure = failure;
    ct_status status = ct__job_run(job);
    if (failure && failure->set && !failed) {
        failure->what = "pivot %lld";
        failure->why = "is zero or not finite: the matrix is singular, or has NaN or infinities";
    }
    return status;
}

static ct_status check_extent(ct_device *dev, const char *name, int64_t n)
{
    return n <= INT32_MAX ? CT_OK
                          : ct__fail(dev, CT_EUNSUPPORTED,
                                     "%s: a matrix of %" PRId64 "x%" PRId64
                                     " is beyond BLAS's 32-bit extents; split it into blocks",
                                     name, n, n);
}

/* -- A[order] = L U ------------------------------------------------------------------------------------------------ */

static int64_t getrf_member(const ct__job *job, void *const *data)
{
    const ct__matrix *x = &job->m[0], *o = &job->m[1];
    const int64_t n = x->rows;
    bool direct = o->rs == 1 && o->cs >= n && o->cs <= INT32_MAX;
    void *a = direct ? data[1] : data[2];
    int64_t ld = direct ? o->cs : n;
    int *pivots = ct__at(data[2], job->dtype, n * n);
    if (x->cs == 1)
        ct__transpose(job->dtype, n, n, data[0], x->rs, a, ld);
    else
        ct__copy_matrix(job->dev, job->dtype, n, n, data[0], x->rs, x->cs, a, 1, ld);
    int64_t failed = factor(job->dtype, n, a, ld, pivots, data[3]);
    if (failed)
        ct__fill_nan(job, data[1]);
    else if (!direct)
        ct__copy_matrix(job->dev, job->dtype, n, n, a, 1, ld, data[1], o->rs, o->cs);
    return failed;
}

ct_status ct__cpu_getrf(ct_device *dev, const ct_tensor *a, ct_tensor *lu, ct_tensor *order,
                        ct_failure *failure)
{
    const ct_tensor *t[] = { a, lu };
    ct__job job;
    ct__job_init(&job, dev, 2, t);
    int64_t n = job.m[0].rows;
    ct_status status = check_extent(dev, "lu", n);
    if (status || !job.members || !n) return status;
    job.index = order->data;
    job.work = 2.0 / 3 * (double)n * (double)n * (double)n;
    job.scratch = (size_t)(n * n) * ct_dtype_size(job.dtype) + (size_t)n * sizeof(int);
    job.member = getrf_member;
    return run(&job, failure);
}

/* -- A⁻¹ ----------------------------------------------------------------------------------------------------------- */

/* m = T⁻¹ for the lower triangle T of t */
static void invert_lower(ct_dtype dtype, const void *t, int64_t n, bool unit, void *m, int64_t ld, void *work)
{
    for (int64_t i = 0; i < n; i += CT__TILE) {
        int64_t rows = n - i < CT__TILE ? n - i : CT__TILE;
        ct__tile_triangle(dtype, at(t, dtype, ld, i, i), ld, rows, unit, at(m, dtype, ld, i, i), ld);
    }
    ct__invert_lower(dtype, t, ld, n, m, ld, work);
}

static void put_row(const ct__job *job, const void *from, void *to)
{
    const ct__matrix *o = &job->m[1];
    if (o->cs == 1)
        memcpy(to, from, (size_t)o->cols * ct_dtype_size(job->dtype));
    else
        ct__copy_matrix(job->dev, job->dtype, 1, o->cols, from, 0, 1, to, 0, o->cs);
}

/* A row-major A is factored as its transpose, P L U = Aᵀ: in the same memory, row by row, A = T R Pᵀ with T = Uᵀ lower
 * and R = Lᵀ upper triangular with a unit diagonal. A⁻¹ = P R⁻¹ T⁻¹ = P Vᵀ M with M = T⁻¹, V = R⁻ᵀ, both lower. */
static int64_t getri_member(const ct__job *job, void *const *data)
{
    const ct__matrix *x = &job->m[0], *o = &job->m[1];
    const ct_dtype t = job->dtype;
    const int64_t n = x->rows, ld = ct__pitch(n);
    void *a = data[2], *m = at(a, t, ld, n, 0), *r = at(m, t, ld, n, 0), *v = at(r, t, ld, n, 0),
         *work = at(v, t, ld, n, 0);
    int64_t *order = at(work, t, ld, n / 2 + CT__TILE, 0);
    ct__copy_matrix(job->dev, t, n, n, data[0], x->rs, x->cs, a, ld, 1);
    int64_t failed = factor(t, n, a, ld, (int *)(order + n), order);
    if (failed) {
        ct__fill_nan(job, data[1]);
        return failed;
    }
    ct__transpose(t, n, n, a, ld, r, ld);
    invert_lower(t, a, n, false, m, ld, work);
    invert_lower(t, r, n, true, v, ld, work);
    for (int64_t i = 0; i < n; i += CT__TILE) { /* a = Vᵀ M: rows up to the diagonal, then columns above it */
        int64_t b = n - i < CT__TILE ? n - i : CT__TILE, k = n - i;
        ct__rows_gemm(t, 'T', 'N', b, i + b, k, 1, at(v, t, ld, i, i), ld, at(m, t, ld, i, 0), ld, 0,
                      at(a, t, ld, i, 0), ld);
        ct__rows_gemm(t, 'T', 'N', i, b, k, 1, at(v, t, ld, i, 0), ld, at(m, t, ld, i, i), ld, 0,
                      at(a, t, ld, 0, i), ld);
    }
    for (int64_t i = 0; i < n; i++) put_row(job, at(a, t, ld, i, 0), ct__at(data[1], t, order[i] * o->rs));
    return 0;
}

/* One large matrix: LAPACK with all threads; the inverse of the transpose is the transpose of the inverse. */
static int64_t lapack_getri_member(const ct__job *job, void *const *data)
{
    const ct__matrix *x = &job->m[0], *o = &job->m[1];
    const ct_dtype t = job->dtype;
    const int64_t n = x->rows, ld = ct__pitch(n);
    void *a = data[2], *work = at(a, t, ld, n, 0);
    int64_t *order = at(work, t, ld, 64, 0);
    int *pivots = (int *)(order + n);
    ct__copy_matrix(job->dev, t, n, n, data[0], x->rs, x->cs, a, ld, 1);
    int64_t failed = factor(t, n, a, ld, pivots, order);
    if (!failed)
        failed = blas_getri(t, (int)n, a, (int)ld, pivots, work, (int)(64 * ld < INT32_MAX ? 64 * ld : n));
    if (failed)
        ct__fill_nan(job, data[1]);
    else
        for (int64_t i = 0; i < n; i++) put_row(job, at(a, t, ld, i, 0), ct__at(data[1], t, i * o->rs));
    return failed;
}

ct_status ct__cpu_getri(ct_device *dev, const ct_tensor *a, ct_tensor *out, ct_failure *failure)
{
    const ct_tensor *t[] = { a, out };
    ct__job job;
    ct__job_init(&job, dev, 2, t);
    int64_t n = job.m[0].rows, ld = ct__pitch(n);
    ct_status status = check_extent(dev, "inverse", ld);
    if (status || !job.members || !n) return status;
    job.work = 2 * (double)n * (double)n * (double)n;
    job.scratch = (size_t)((4 * n + n / 2 + CT__TILE) * ld) * ct_dtype_size(job.dtype) +
                  (size_t)n * (sizeof(int64_t) + sizeof(int));
    job.serial = !ct__inverse_alone(dev, job.members, n);
    job.member = job.serial ? getri_member : lapack_getri_member;
    return run(&job, failure);
}

/* -- rows in pivot order ------------------------------------------------------------------------------------------- */

/* Offset of batch member `member` of t, whose batch dimensions are out's. */
static int64_t offset_of(const ct_tensor *t, const ct_tensor *out, int64_t member)
{
    int64_t offset = 0;
    for (int d = out->ndim - 2; d-- > 0;) {
        offset += member % out->dim[d] * t->stride[d];
        member /= out->dim[d];
    }
    return offset;
}

ct_status ct__cpu_permute_rows(ct_device *dev, const ct_tensor *x, const ct_tensor *order, bool back,
                               ct_tensor *out)
{
    const int d = out->ndim;
    const int64_t n = out->dim[d - 2], cols = out->dim[d - 1], rs = out->stride[d - 2],
                  cs = out->stride[d - 1];
    const int64_t x_rs = x->stride[d - 2], x_cs = x->stride[d - 1], step = order->stride[d - 2];
    int64_t members = 1;
    for (int k = 0; k < d - 2; k++) members *= out->dim[k];
    if (!n || !cols) return CT_OK;
    const bool plain = cs == 1 && x_cs == 1;
    for (int64_t b = 0; b < members; b++) {
        const int64_t *p = (const int64_t *)order->data + offset_of(order, out, b);
        const int64_t from = offset_of(x, out, b), to = offset_of(out, out, b);
        for (int64_t i = 0; i < n; i++) {
            int64_t k = p[i * step];
            if (k < 0 || k >= n)
                return ct__fail(dev, CT_EINDEX,
                                "pivot order: %" PRId64 " at %" PRId64 " is outside 0..%" PRId64, k, i,
                                n - 1);
            const void *row = ct__at(x->data, x->dtype, from + (back ? i : k) * x_rs);
            void *target = ct__at(out->data, x->dtype, to + (back ? k : i) * rs);
            if (plain)
                memcpy(target, row, (size_t)cols * ct_dtype_size(x->dtype));
            else
                ct__copy_matrix(dev, x->dtype, 1, cols, row, 0, x_cs, target, 0, cs);
        }
    }
    return CT_OK;
}

/* -- det A --------------------------------------------------------------------------------------------------------- */

/* The sign of a permutation: each cycle of even length turns it. Visited places are marked by their complement, and
 * restored. */
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
    for (int64_t i = 0; i < n; i++) order[i] = ~order[i];
    return sign;
}

ct_status ct__cpu_lu_det(ct_device *dev, const ct_tensor *lu, ct_tensor *order, ct_tensor *log_abs,
                         ct_tensor *sign)
{
    (void)dev;
    const int d = lu->ndim;
    const int64_t n = lu->dim[d - 1], step = lu->stride[d - 2] + lu->stride[d - 1];
    const int64_t members = ct__count(log_abs);
    for (int64_t b = 0; b < members; b++) {
        const int64_t from = offset_of(lu, lu, b);
        double sum = 0, s = n ? parity((int64_t *)order->data + b * n, n) : 1;
        for (int64_t i = 0; i < n; i++) {
            const void *at_i = ct__at(lu->data, lu->dtype, from + i * step);
            double u = lu->dtype == CT_F64 ? *(const double *)at_i : (double)*(const float *)at_i;
            sum += log(fabs(u));
            s *= isnan(u) ? NAN : u < 0 ? -1 : 1;
        }
        if (lu->dtype == CT_F64) {
            ((double *)log_abs->data)[b] = sum;
            ((double *)sign->data)[b] = s;
        } else {
            ((float *)log_abs->data)[b] = (float)sum;
            ((float *)sign->data)[b] = (float)s;
        }
    }
    return CT_OK;
}
