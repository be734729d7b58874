/* trtri, lauum, trsm, trmm, triangle. BLAS reads a row-major lower triangle as an upper one, and a row-major
 * problem op(T) X = B as one with the triangle on the right. */
#include "batch.h"
#include "blas.h"
#include "inverse.h"

#include <math.h>
#include <string.h>

/* -- a triangle in place --------------------------------------------------------------------------------- */

/* More flags of a job. SOLVE: solve, do not multiply. INVERSE: invert L, do not form LᵀL. */
enum { SOLVE = 1 << 16, INVERSE = 1 << 17 };

static int64_t lower_member(const ct__job *job, void *const *data)
{
    const ct__matrix *m = &job->m[0];
    const int n = (int)m->rows;
    const char *uplo = m->columns ? "L" : "U";
    int info; /* the diagonal has no zeros */
    if (job->flags & INVERSE)
        CT__ROUTINE(job->dtype, trtri)(uplo, "N", &n, data[0], &m->ld, &info);
    else
        CT__ROUTINE(job->dtype, lauum)(uplo, &n, data[0], &m->ld, &info);
    return 0;
}

static ct_status run_lower(ct_device *dev, const char *name, unsigned flags, ct_view *a)
{
    ct__job job = { .flags = flags, .reads_output = true, .lower_output = true, .member = lower_member };
    if (!ct__job_init(&job, dev, 1, (const ct_view *[]){ a })) return CT_OK;
    const double n = (double)job.m[0].rows;
    job.work = n * n * n / 3;
    return ct__job_forms(&job, name) ? CT_EUNSUPPORTED : ct__job_run(&job);
}

ct_status ct__cpu_trtri(ct_device *dev, ct_view *a) { return run_lower(dev, "trtri", INVERSE, a); }
ct_status ct__cpu_lauum(ct_device *dev, ct_view *a) { return run_lower(dev, "lauum", 0, a); }

/* -- products and solutions with a triangle -------------------------------------------------------------- */

/* Loads op(T) into a small matrix M that acts on B from the left; with CT_RIGHT both are transposed. Fills
 * the unread part with zeros, and a unit diagonal with ones. Returns whether M is lower. */
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
    const ct__matrix *b = &job->m[1];
    return job->flags & CT_RIGHT ? (ct__matrix){ .rows = b->cols, .cols = b->rows, .rs = b->cs, .cs = b->rs }
                                 : *b;
}

/* Solves M X = alpha B by substitution, or computes B = alpha M B, in place. For a lower M a solution begins
 * at the first row, a product at the last. */
static int64_t small_member(const ct__job *job, void *const *data)
{
    double m[CT__SMALL * CT__SMALL], x[CT__SMALL * CT__SMALL];
    const bool solve = job->flags & SOLVE, lower = load_triangle(job, data[0], m);
    const double sign = solve ? -1 : 1;
    ct__matrix b = left_side(job);
    ct__load(job->dtype, data[1], &b, x);
    for (int64_t step = 0; step < b.rows; step++) {
        const int64_t i = lower == solve ? step : b.rows - 1 - step;
        const int64_t from = lower ? 0 : i + solve, to = lower ? i + !solve : b.rows;
        for (int64_t j = 0; j < b.cols; j++) {
            double sum = solve ? job->alpha * x[i * b.cols + j] : 0;
            for (int64_t k = from; k < to; k++) sum += sign * m[i * b.rows + k] * x[k * b.cols + j];
            x[i * b.cols + j] = solve ? sum / m[i * b.rows + i] : job->alpha * sum;
        }
    }
    ct__store(job->dtype, x, &b, data[1]);
    return 0;
}

/* BLAS reads a row-major T as its transpose, which swaps the triangle and op. It reads a row-major B as its
 * transpose, which swaps the side and op. One right-hand side is solved by trsv; a row xᵀ T⁻¹ is the column
 * T⁻ᵀ x. */
static int64_t blas_member(const ct__job *job, void *const *data)
{
    const ct__matrix *t = &job->m[0], *b = &job->m[1];
    const bool solve = job->flags & SOLVE, right = job->flags & CT_RIGHT;
    const bool upper = !!(job->flags & CT_UPPER) == t->columns,
               trans = !!(job->flags & CT_TRANS) == t->columns;
    const char *uplo = upper ? "U" : "L", *diag = job->flags & CT_UNIT ? "U" : "N";
    const int64_t apart = b->packed ? 1 : right ? b->cs : b->rs;
    const int n = (int)t->rows, step = (int)apart, rows = (int)(b->columns ? b->rows : b->cols),
              cols = (int)(b->columns ? b->cols : b->rows);
    const ct__number alpha = ct__number_of(job->dtype, job->alpha);
    if (solve && job->alpha == 1 && (right ? b->rows : b->cols) == 1 && apart >= 1 && apart <= INT32_MAX) {
        const char *op = trans != right ? "T" : "N";
        CT__ROUTINE(job->dtype, trsv)(uplo, op, diag, &n, data[0], &t->ld, data[1], &step);
        return 0;
    }
    (solve ? CT__ROUTINE(job->dtype, trsm) : CT__ROUTINE(job->dtype, trmm))(
        right == b->columns ? "R" : "L", uplo, trans == b->columns ? "T" : "N", diag, &rows, &cols, &alpha,
        data[0], &t->ld, data[1], &b->ld);
    return 0;
}

/* Substitution solves op(T) X = B in place, or with CT_RIGHT the transposed system. It needs rows of X that
 * are contiguous. If the columns are, it works on transposed copies of some columns at a time. */
static bool is_copied(const ct__job *job) { return job->m[1].columns != !!(job->flags & CT_RIGHT); }

/* The number of columns of X worked on at a time */
static int64_t columns_at_once(const ct__job *job)
{
    const int64_t cols = job->flags & CT_RIGHT ? job->m[1].rows : job->m[1].cols;
    return is_copied(job) ? ct__min(cols, CT__SUBSTITUTE_COPIED) : cols;
}

static int64_t substitute_member(const ct__job *job, void *const *data)
{
    const ct__matrix *t = &job->m[0], *b = &job->m[1];
    const bool right = job->flags & CT_RIGHT, trans = !(job->flags & CT_TRANS) == right,
               lower = !(job->flags & CT_UPPER) != trans, copied = is_copied(job);
    const int64_t n = t->rows, cols = right ? b->rows : b->cols, most = columns_at_once(job);
    const int64_t ldx = copied ? ct__pitch(most) : b->ld;
    void *work = data[2], *copy = (char *)work + ct__product_work(job->dtype, ct__max(n, most));
    for (int64_t j = 0; j < cols; j += most) {
        const int64_t some = ct__min(most, cols - j);
        void *from = ct__at(data[1], job->dtype, j * b->ld), *x = copied ? copy : data[1];
        if (copied) job->kernels->transpose(some, n, from, b->ld, x, ldx);
        ct__substitute(job->kernels, lower, job->flags & CT_UNIT, n, data[0], trans == t->columns ? t->ld : 1,
                       trans == t->columns ? 1 : t->ld, x, ldx, some, work);
        if (copied) job->kernels->transpose(n, some, x, ldx, from, b->ld);
    }
    return 0;
}

/* A single contiguous right-hand side is both row-major and column-major. BLAS is faster if it counts as a
 * column. */
static void prefer_columns(ct__matrix *b, bool right)
{
    if (b->packed) return;
    if (!right && b->cols == 1 && b->rs == 1) b->columns = true, b->ld = (int)b->rows;
    if (right && b->rows == 1 && b->cs == 1) b->columns = false, b->ld = (int)b->cols;
}

/* BLAS packs the triangle at each call, which dominates in a batch of small systems. It is also slow for many
 * rows to the left of a small triangle. */
static bool prefers_substitution(const ct__job *job)
{
    const ct__matrix *b = &job->m[1];
    const int64_t n = job->m[0].rows, cols = job->flags & CT_RIGHT ? b->rows : b->cols;
    if (!(job->flags & SOLVE) || job->alpha != 1) return false;
    if (job->members > 1)
        return cols >= job->dev->tuning->substitute_columns && job->work <= job->dev->tuning->substitute_work;
    return job->flags & CT_RIGHT && !b->packed &&
           b->rows >= job->dev->tuning->tall_rows * job->dev->threads && n >= job->dev->tuning->tall_least &&
           n <= job->dev->tuning->tall_solved;
}

static ct_status run_substitution(ct__job *job)
{
    const int64_t n = job->m[0].rows, most = columns_at_once(job);
    job->member = substitute_member;
    job->serial = true;
    job->scratch = ct__product_work(job->dtype, ct__max(n, most));
    if (is_copied(job)) job->scratch += (size_t)(n * ct__pitch(most)) * ct_dtype_size(job->dtype);
    return job->members > 1 ? ct__job_run(job) : ct__job_run_parts(job, 1 << 1, false);
}

static ct_status run_triangular(ct_device *dev, const char *name, unsigned flags, double alpha,
                                const ct_view *t, ct_view *b)
{
    ct__job job = { .flags = flags, .alpha = alpha, .reads_output = true };
    if (!ct__job_init(&job, dev, 2, (const ct_view *[]){ t, b })) return CT_OK;
    const int64_t rows = job.m[1].rows, cols = job.m[1].cols;
    job.work = (double)rows * (double)cols * (double)job.m[0].rows;
    job.member = small_member;
    if (rows > CT__SMALL || cols > CT__SMALL) {
        if (ct__job_forms(&job, name)) return CT_EUNSUPPORTED;
        prefer_columns(&job.m[1], flags & CT_RIGHT);
        job.member = blas_member;
        if (prefers_substitution(&job)) return run_substitution(&job);
    }
    return ct__job_run(&job);
}

ct_status ct__cpu_trsm(ct_device *dev, unsigned flags, double alpha, const ct_view *t, ct_view *b)
{
    return run_triangular(dev, "tri_solve", flags | SOLVE, alpha, t, b);
}

ct_status ct__cpu_trmm(ct_device *dev, unsigned flags, double alpha, const ct_view *t, ct_view *b)
{
    return run_triangular(dev, "tri_matmul", flags, alpha, t, b);
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
            upper ? clamp(i + k, cols) : clamp(i + k + 1, cols); /* where the kept and the zero part meet */
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
    ct__job job = { .flags = upper ? CT_UPPER : CT_LOWER, .member = triangle_member };
    if (!ct__job_init(&job, dev, 2, (const ct_view *[]){ x, out })) return CT_OK;
    const int64_t rows = job.m[1].rows, cols = job.m[1].cols;
    job.alpha = (double)ct__min(ct__max(k, -rows), cols);
    job.work = (double)rows * (double)cols;
    return ct__job_run(&job);
}
