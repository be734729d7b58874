/* trtri, lauum, trsm, trmm, triangle. To BLAS a row-major lower triangle is an upper one, and a
 * row-major right-hand side on the left is one on the right. */
#include "batch.h"
#include "blas.h"
#include "inverse.h"

#include <math.h>
#include <string.h>

/* -- a triangle in place --------------------------------------------------------------------------------- */

static int64_t trtri_member(const ct__job *job, void *const *data)
{
    const ct__matrix *m = &job->m[0];
    blas_trtri(job->dtype, m->columns ? 'L' : 'U', (int)m->rows, data[0], m->ld);
    return 0;
}

static int64_t lauum_member(const ct__job *job, void *const *data)
{
    const ct__matrix *m = &job->m[0];
    blas_lauum(job->dtype, m->columns ? 'L' : 'U', (int)m->rows, data[0], m->ld);
    return 0;
}

static ct_status run_lower(ct_device *dev, const char *name, ct_view *a,
                           int64_t (*member)(const ct__job *, void *const *))
{
    const ct_view *t[] = { a };
    ct__job job;
    ct__job_init(&job, dev, 1, t);
    job.reads_output = job.lower_output = true;
    double n = (double)job.m[0].rows;
    if (!job.members || !job.m[0].rows) return CT_OK;
    job.work = n * n * n / 3;
    job.member = member;
    ct_status status = ct__job_forms(&job, name);
    return status ? status : ct__job_run(&job);
}

ct_status ct__cpu_trtri(ct_device *dev, ct_view *a) { return run_lower(dev, "trtri", a, trtri_member); }
ct_status ct__cpu_lauum(ct_device *dev, ct_view *a) { return run_lower(dev, "lauum", a, lauum_member); }

/* -- products and solutions with a triangle -------------------------------------------------------------- */

/* op(T) as a small matrix M to the left of B, both transposed for CT_RIGHT. Fills the unread part with zeros
 * and the diagonal with ones where it is unit; returns whether M is lower. */
static bool load_triangle(const ct__job *job, const void *data, double *m)
{
    bool upper = job->flags & CT_UPPER, swap = !(job->flags & CT_TRANS) != !(job->flags & CT_RIGHT);
    int64_t n = job->m[0].rows;
    double t[CT__SMALL * CT__SMALL];
    ct__load(job->dtype, data, &job->m[0], t);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double x = swap ? t[j * n + i] : t[i * n + j];
            bool inside = upper != swap ? j > i : j < i;
            m[i * n + j] = inside ? x : i != j ? 0 : job->flags & CT_UNIT ? 1 : x;
        }
    return upper == swap;
}

static ct__matrix left_side(const ct__job *job)
{
    ct__matrix b = job->m[1];
    if (job->flags & CT_RIGHT)
        b = (ct__matrix){
            .rows = job->m[1].cols, .cols = job->m[1].rows, .rs = job->m[1].cs, .cs = job->m[1].rs
        };
    return b;
}

/* M X = alpha B by substitution */
static int64_t small_trsm_member(const ct__job *job, void *const *data)
{
    double m[CT__SMALL * CT__SMALL], x[CT__SMALL * CT__SMALL];
    bool lower = load_triangle(job, data[0], m);
    ct__matrix b = left_side(job);
    ct__load(job->dtype, data[1], &b, x);
    for (int64_t step = 0; step < b.rows; step++) {
        int64_t i = lower ? step : b.rows - 1 - step;
        for (int64_t j = 0; j < b.cols; j++) {
            double sum = job->alpha * x[i * b.cols + j];
            for (int64_t k = lower ? 0 : i + 1; k < (lower ? i : b.rows); k++)
                sum -= m[i * b.rows + k] * x[k * b.cols + j];
            x[i * b.cols + j] = sum / m[i * b.rows + i];
        }
    }
    ct__store(job->dtype, x, &b, data[1]);
    return 0;
}

/* B = alpha M B in place: from the last row up where M is lower */
static int64_t small_trmm_member(const ct__job *job, void *const *data)
{
    double m[CT__SMALL * CT__SMALL], x[CT__SMALL * CT__SMALL];
    bool lower = load_triangle(job, data[0], m);
    ct__matrix b = left_side(job);
    ct__load(job->dtype, data[1], &b, x);
    for (int64_t step = 0; step < b.rows; step++) {
        int64_t i = lower ? b.rows - 1 - step : step;
        for (int64_t j = 0; j < b.cols; j++) {
            double sum = 0;
            for (int64_t k = lower ? 0 : i; k < (lower ? i + 1 : b.rows); k++)
                sum += m[i * b.rows + k] * x[k * b.cols + j];
            x[i * b.cols + j] = job->alpha * sum;
        }
    }
    ct__store(job->dtype, x, &b, data[1]);
    return 0;
}

typedef void blas_triangular(ct_dtype t, char side, char uplo, char trans, char diag, int m, int n,
                             double alpha, const void *a, int lda, void *b, int ldb);

/* A row-major T is the transpose of what BLAS sees: the triangle changes and op with it. A row-major B is,
 * too: the side changes, and op again. */
static inline int64_t triangular(const ct__job *job, void *const *data, blas_triangular *routine)
{
    const ct__matrix *t = &job->m[0], *b = &job->m[1];
    bool right = job->flags & CT_RIGHT, upper = job->flags & CT_UPPER, trans = job->flags & CT_TRANS;
    right ^= !b->columns;
    upper ^= !t->columns;
    trans ^= !t->columns;
    trans ^= !b->columns;
    routine(job->dtype, right ? 'R' : 'L', upper ? 'U' : 'L', trans ? 'T' : 'N',
            job->flags & CT_UNIT ? 'U' : 'N', (int)(b->columns ? b->rows : b->cols),
            (int)(b->columns ? b->cols : b->rows), job->alpha, data[0], t->ld, data[1], b->ld);
    return 0;
}

/* One right-hand side: a row xᵀ T⁻¹ is the column T⁻ᵀ x. */
static void solve_vector(const ct__job *job, void *const *data)
{
    const ct__matrix *t = &job->m[0], *b = &job->m[1];
    bool right = job->flags & CT_RIGHT, upper = job->flags & CT_UPPER, trans = job->flags & CT_TRANS;
    upper ^= !t->columns;
    trans ^= !t->columns;
    trans ^= right;
    int64_t step = b->packed ? 1 : right ? b->cs : b->rs;
    blas_trsv(job->dtype, upper ? 'U' : 'L', trans ? 'T' : 'N', job->flags & CT_UNIT ? 'U' : 'N',
              (int)t->rows, data[0], t->ld, data[1], (int)step);
}

static int64_t trsm_member(const ct__job *job, void *const *data)
{
    const ct__matrix *b = &job->m[1];
    bool right = job->flags & CT_RIGHT;
    int64_t step = right ? b->cs : b->rs;
    bool vector = (right ? b->rows : b->cols) == 1 && (b->packed || (step >= 1 && step <= INT32_MAX));
    if (!vector || job->alpha != 1) return triangular(job, data, blas_trsm);
    solve_vector(job, data);
    return 0;
}

/* op(T) X = B in place, for CT_RIGHT its transpose. Where X lies by columns its transpose is copied. */
static bool is_copied(const ct__job *job) { return job->m[1].columns != !!(job->flags & CT_RIGHT); }

static int64_t substitute_member(const ct__job *job, void *const *data)
{
    const ct__matrix *t = &job->m[0], *b = &job->m[1];
    const bool right = job->flags & CT_RIGHT, trans = !(job->flags & CT_TRANS) == right;
    const int64_t n = t->rows, cols = right ? b->rows : b->cols, row = t->columns ? 1 : t->ld,
                  column = t->columns ? t->ld : 1;
    const bool lower = !(job->flags & CT_UPPER) != trans, copied = is_copied(job);
    void *work = data[2], *x = data[1];
    int64_t ldx = b->ld;
    if (copied) {
        x = (char *)work + ct__product_work(job->dtype, n > cols ? n : cols);
        ldx = ct__pitch(cols);
        job->kit->transpose(cols, n, data[1], b->ld, x, ldx);
    }
    ct__substitute(job->kit, lower, job->flags & CT_UNIT, n, data[0], trans ? column : row,
                   trans ? row : column, x, ldx, cols, work);
    if (copied) job->kit->transpose(n, cols, x, ldx, data[1], b->ld);
    return 0;
}

static int64_t trmm_member(const ct__job *job, void *const *data) { return triangular(job, data, blas_trmm); }

/* One right-hand side lies in memory as a column and as a row: BLAS is faster on the column. */
static void prefer_columns(ct__matrix *b, bool right)
{
    if (b->packed) return;
    if (!right && b->cols == 1 && b->rs == 1) b->columns = true, b->ld = (int)b->rows;
    if (right && b->rows == 1 && b->cs == 1) b->columns = false, b->ld = (int)b->cols;
}

/* BLAS packs the triangle at each call, which all columns of a small batch pay for. */
static void prefer_substitution(ct__job *job)
{
    const ct__matrix *b = &job->m[1];
    const int64_t n = job->m[0].rows, cols = job->flags & CT_RIGHT ? b->rows : b->cols;
    if (job->alpha != 1 || cols < CT__SUBSTITUTE_COLUMNS || job->members < 2 ||
        job->work > CT__SUBSTITUTE_WORK)
        return;
    job->member = substitute_member;
    job->serial = true;
    job->scratch = ct__product_work(job->dtype, n > cols ? n : cols);
    if (is_copied(job)) job->scratch += (size_t)(n * ct__pitch(cols)) * ct_dtype_size(job->dtype);
}

static ct_status run_triangular(ct_device *dev, const char *name, unsigned flags, double alpha,
                                const ct_view *t, ct_view *b,
                                int64_t (*small)(const ct__job *, void *const *),
                                int64_t (*large)(const ct__job *, void *const *))
{
    const ct_view *tensors[] = { t, b };
    ct__job job;
    ct__job_init(&job, dev, 2, tensors);
    job.flags = flags;
    job.alpha = alpha;
    job.reads_output = true;
    int64_t rows = job.m[1].rows, cols = job.m[1].cols;
    if (!job.members || !rows || !cols) return CT_OK;
    job.work = (double)rows * (double)cols * (double)job.m[0].rows;
    if (rows <= CT__SMALL && cols <= CT__SMALL) {
        job.member = small;
        return ct__job_run(&job);
    }
    ct_status status = ct__job_forms(&job, name);
    if (status) return status;
    prefer_columns(&job.m[1], flags & CT_RIGHT);
    job.member = large;
    if (large == trsm_member) prefer_substitution(&job);
    return ct__job_run(&job);
}

ct_status ct__cpu_trsm(ct_device *dev, unsigned flags, double alpha, const ct_view *t, ct_view *b)
{
    return run_triangular(dev, "tri_solve", flags, alpha, t, b, small_trsm_member, trsm_member);
}

ct_status ct__cpu_trmm(ct_device *dev, unsigned flags, double alpha, const ct_view *t, ct_view *b)
{
    return run_triangular(dev, "tri_matmul", flags, alpha, t, b, small_trmm_member, trmm_member);
}

/* -- triangle -------------------------------------------------------------------------------------------- */

static void copy_row(ct_dtype dtype, int64_t n, const void *x, int64_t x_step, void *out, int64_t out_step)
{
    if (x == out && x_step == out_step) return;
    if (dtype == CT_F64)
        for (int64_t i = 0; i < n; i++) ((double *)out)[i * out_step] = ((const double *)x)[i * x_step];
    else if (dtype == CT_F32)
        for (int64_t i = 0; i < n; i++) ((float *)out)[i * out_step] = ((const float *)x)[i * x_step];
    else
        for (int64_t i = 0; i < n; i++) ((int64_t *)out)[i * out_step] = ((const int64_t *)x)[i * x_step];
}

static void zero_row(ct_dtype dtype, int64_t n, void *out, int64_t step)
{
    size_t size = ct_dtype_size(dtype);
    if (n > 0 && step == 1)
        memset(out, 0, (size_t)n * size);
    else
        for (int64_t i = 0; i < n; i++) memset(ct__at(out, dtype, i * step), 0, size);
}

static int64_t clamp(int64_t x, int64_t high) { return x < 0 ? 0 : x > high ? high : x; }

static int64_t triangle_member(const ct__job *job, void *const *data)
{
    const ct__matrix *x = &job->m[0], *out = &job->m[1];
    bool upper = job->flags & CT_UPPER;
    int64_t k = (int64_t)job->alpha, cols = out->cols;
    for (int64_t i = 0; i < out->rows; i++) {
        int64_t edge =
            upper ? clamp(i + k, cols) : clamp(i + k + 1, cols); /* first column of the other part */
        int64_t from = upper ? edge : 0, to = upper ? cols : edge;
        void *row = ct__at(data[1], job->dtype, i * out->rs);
        copy_row(job->dtype, to - from, ct__at(data[0], job->dtype, i * x->rs + from * x->cs), x->cs,
                 ct__at(row, job->dtype, from * out->cs), out->cs);
        zero_row(job->dtype, from, row, out->cs);
        zero_row(job->dtype, cols - to, ct__at(row, job->dtype, to * out->cs), out->cs);
    }
    return 0;
}

ct_status ct__cpu_triangle(ct_device *dev, const ct_view *x, bool upper, int64_t k, ct_view *out)
{
    const ct_view *t[] = { x, out };
    ct__job job;
    ct__job_init(&job, dev, 2, t);
    int64_t rows = job.m[1].rows, cols = job.m[1].cols;
    if (!job.members || !rows || !cols) return CT_OK;
    job.flags = upper ? CT_UPPER : CT_LOWER;
    job.alpha = (double)(k > cols ? cols : k < -rows ? -rows : k);
    job.work = (double)rows * (double)cols;
    job.member = triangle_member;
    return ct__job_run(&job);
}
