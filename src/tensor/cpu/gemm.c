/* gemm. A row-major matrix is to BLAS the transpose of a column-major one, so C = A B is asked for
 * as Cᵀ = Bᵀ Aᵀ where C is row-major. */
#include "batch.h"
#include "blas.h"
#include "grouped.h"
#include "half.h"
#include "kernel/kit.h"

enum { A, B, C };

/* C = alpha A B + beta C by three loops, in f64. t is a constant where it is called. */
static inline void loops(const ct_dtype t, double alpha, const ct__matrix *a, const void *x,
                         const ct__matrix *b, const void *y, double beta, const ct__matrix *c, void *z)
{
    const int64_t depth = a->cols, step_x = a->cs, step_y = b->rs;
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t j = 0; j < c->cols; j++) {
            int64_t at_x = i * a->rs, at_y = j * b->cs;
            double sum = 0;
            for (int64_t l = 0; l < depth; l++, at_x += step_x, at_y += step_y)
                sum += ct__get(t, x, at_x) * ct__get(t, y, at_y);
            ct__blend(t, alpha, sum, beta, z, i * c->rs + j * c->cs);
        }
}

static void loop_gemm(ct_dtype t, double alpha, const ct__matrix *a, const void *x, const ct__matrix *b,
                      const void *y, double beta, const ct__matrix *c, void *z)
{
    if (t == CT_F64)
        loops(CT_F64, alpha, a, x, b, y, beta, c, z);
    else
        loops(CT_F32, alpha, a, x, b, y, beta, c, z);
}

static int64_t loop_gemm_member(const ct__job *job, void *const *data)
{
    loop_gemm(job->dtype, job->alpha, &job->m[A], data[A], &job->m[B], data[B], job->beta, &job->m[C],
              data[C]);
    return 0;
}

/* C = beta C */
static int64_t scale_member(const ct__job *job, void *const *data)
{
    const ct__matrix *c = &job->m[C];
    const int64_t rs = c->packed ? c->cols : c->rs, cs = c->packed ? 1 : c->cs;
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t j = 0; j < c->cols; j++)
            ct__blend(job->dtype, 0, 0, job->beta, data[C], i * rs + j * cs);
    return 0;
}

static int64_t gemm_member(const ct__job *job, void *const *data)
{
    const ct__matrix *a = &job->m[A], *b = &job->m[B], *c = &job->m[C];
    int m = (int)c->rows, n = (int)c->cols, k = (int)a->cols;
    if (c->columns)
        blas_gemm(job->dtype, a->columns ? 'N' : 'T', b->columns ? 'N' : 'T', m, n, k, job->alpha, data[A],
                  a->ld, data[B], b->ld, job->beta, data[C], c->ld);
    else
        blas_gemm(job->dtype, b->columns ? 'T' : 'N', a->columns ? 'T' : 'N', n, m, k, job->alpha, data[B],
                  b->ld, data[A], a->ld, job->beta, data[C], c->ld);
    return 0;
}

/* y = alpha op(M) x + beta y, M of rows x cols, or its transpose */
static void gemv(const ct__job *job, const ct__matrix *m, bool transposed, const void *data, const void *x,
                 int64_t incx, void *y, int64_t incy)
{
    bool n = m->columns != transposed;
    int rows = (int)(m->columns ? m->rows : m->cols), cols = (int)(m->columns ? m->cols : m->rows);
    blas_gemv(job->dtype, n ? 'N' : 'T', rows, cols, job->alpha, data, m->ld, x, (int)incx, job->beta, y,
              (int)incy);
}

/* The step of a row or column vector, packed or not. */
static int64_t vector_step(const ct__matrix *m, int64_t extent, int64_t stride)
{
    return m->packed || extent <= 1 ? 1 : stride;
}

static int64_t gemv_member(const ct__job *job, void *const *data)
{
    const ct__matrix *a = &job->m[A], *b = &job->m[B], *c = &job->m[C];
    if (job->beta == 0) scale_member(job, data);
    if (c->cols == 1)
        gemv(job, a, false, data[A], data[B], vector_step(b, b->rows, b->rs), data[C],
             vector_step(c, c->rows, c->rs));
    else
        gemv(job, b, true, data[B], data[A], vector_step(a, a->cols, a->cs), data[C],
             vector_step(c, c->cols, c->cs));
    return 0;
}

/* Whether a vector needs no packing for gemv: any positive step will do. */
static bool steps(int64_t extent, int64_t stride)
{
    return extent <= 1 || (stride >= 1 && stride <= INT32_MAX);
}

/* A batch whose B is shared, and whose A and C continue from one member's rows to the next's, is one product
 * of more rows; likewise with the parts exchanged, and columns. */
static void collapse(ct__job *job)
{
    ct__matrix *a = &job->m[A], *b = &job->m[B], *c = &job->m[C];
    if (job->ndim != 1) return;
    int64_t members = job->dim[0];
    if (members * a->rows > INT32_MAX || members * b->cols > INT32_MAX) return;
    if (b->stride[0] == 0 && a->stride[0] == a->rows * a->rs && c->stride[0] == c->rows * c->rs) {
        a->rows *= members;
        c->rows *= members;
    } else if (a->stride[0] == 0 && b->stride[0] == b->cols * b->cs && c->stride[0] == c->cols * c->cs) {
        b->cols *= members;
        c->cols *= members;
    } else if (b->stride[0] == 0 && a->rows == 1 && a->stride[0] > 0) {
        a->rs = a->stride[0];
        c->rs = c->stride[0];
        a->rows = c->rows = members;
    } else if (a->stride[0] == 0 && b->cols == 1 && b->stride[0] > 0) {
        b->cs = b->stride[0];
        c->cs = c->stride[0];
        b->cols = c->cols = members;
    } else {
        return;
    }
    job->ndim = 0;
    job->members = 1;
}

/* Few rows against a large B: BLAS would spend its time packing B. Rows of A and C must lie side by side. */
static bool few_rows(const ct__job *job)
{
    const ct__matrix *a = &job->m[A], *b = &job->m[B], *c = &job->m[C];
    return job->ndim <= 1 && c->rows >= CT__FEW_LEAST && c->rows <= CT__FEW && c->cols >= 2 * CT__FEW_LEAST &&
           a->cols >= 2 * CT__FEW_LEAST && a->cols <= CT__FEW_DEEP && a->cs == 1 && c->cs == 1 &&
           (b->cs == 1 || b->rs == 1) && job->alpha == 1 && (job->beta == 0 || job->beta == 1) &&
           job->work * (double)job->members > CT__FEW_WORK;
}

static ct_status run_few_rows(const ct__job *job)
{
    const ct__matrix *a = &job->m[A], *b = &job->m[B], *c = &job->m[C];
    const ct__strips g = { .dev = job->dev,
                           .dtype = job->dtype,
                           .members = job->members,
                           .rows = c->rows,
                           .depth = a->cols,
                           .columns = c->cols,
                           .A = job->data[A],
                           .B = job->data[B],
                           .C = (void *)(uintptr_t)job->data[C],
                           .a_step = job->ndim ? a->stride[0] : 0,
                           .b_step = job->ndim ? b->stride[0] : 0,
                           .c_step = job->ndim ? c->stride[0] : 0,
                           .a_rs = a->rs,
                           .b_rs = b->rs,
                           .b_cs = b->cs,
                           .c_rs = c->rs,
                           .add = job->beta != 0 };
    return ct__strips_run(&g);
}

/* AᵀB, both of few rows, as in the gradient of a layer's weight: BLAS packs more than it multiplies. */
static bool few_columns(const ct__job *job)
{
    const ct__matrix *a = &job->m[A], *b = &job->m[B], *c = &job->m[C];
    return a->cols >= CT__THIN_LEAST && a->cols <= CT__THIN_DEEP && c->rows >= 2 * CT__THIN_LEAST &&
           c->cols >= 3 * CT__THIN_LEAST && c->rows * c->cols * a->cols >= CT__THIN_WORK && a->rs == 1 &&
           a->cs > 1 && b->cs == 1 && c->cs == 1 && (job->alpha == 1 || job->alpha == -1) &&
           (job->beta == 0 || job->beta == 1);
}

/* Cuts the rows of A and C in parts, each with all of B, until every thread has one: a batch. False where
 * that is not even. */
static bool share_rows(ct__job *job)
{
    ct__matrix *a = &job->m[A], *b = &job->m[B], *c = &job->m[C];
    int64_t parts = 1;
    while (job->members * parts % job->dev->threads) parts++;
    if (c->rows % parts || job->ndim == CT_MAX_DIMS) return false;
    if (parts == 1) return true;
    job->work /= (double)parts;
    a->rows /= parts, c->rows /= parts;
    a->stride[job->ndim] = a->rows * a->rs;
    b->stride[job->ndim] = 0;
    c->stride[job->ndim] = c->rows * c->rs;
    job->dim[job->ndim++] = parts;
    job->members *= parts;
    return true;
}

static int64_t product_member(const ct__job *job, void *const *data)
{
    const ct__matrix *a = &job->m[A], *b = &job->m[B], *c = &job->m[C];
    job->kit->product(&(ct__product){ .minus = job->alpha < 0,
                                      .add = job->beta != 0,
                                      .m = c->rows,
                                      .n = c->cols,
                                      .k = a->cols,
                                      .a = data[A],
                                      .a_rs = a->rs,
                                      .a_cs = a->cs,
                                      .b = data[B],
                                      .b_rs = b->rs,
                                      .b_cs = b->cs,
                                      .c = data[C],
                                      .ldc = c->rs },
                      data[C + 1]);
    return 0;
}

static ct_status run_few_columns(ct__job *job)
{
    const int64_t columns = job->m[C].cols, depth = job->m[A].cols;
    job->serial = true;
    job->scratch = ct__product_work(job->dtype, columns > depth ? columns : depth);
    job->member = product_member;
    return ct__job_run(job);
}

static ct__matrix matrix_of(const ct_view *x)
{
    return (ct__matrix){ .rows = x->dim[0], .cols = x->dim[1], .rs = x->stride[0], .cs = x->stride[1] };
}

ct_status ct__cpu_gemm(ct_device *dev, double alpha, const ct_view *a, const ct_view *b, double beta,
                       ct_view *c)
{
    const bool half = ct__is_half(c->dtype);
    if (c->dtype == CT_F64 && c->ndim == 2 &&
        c->dim[0] * c->dim[1] * a->dim[1] == 1) { /* a chain of scalars */
        ct__blend(CT_F64, alpha, *(const double *)a->data * *(const double *)b->data, beta, c->data, 0);
        return CT_OK;
    }
    if (!half && c->ndim == 2 && c->dim[0] * c->dim[1] * ct__max(a->dim[1], 1) <= CT__TINY) {
        const ct__matrix x = matrix_of(a), y = matrix_of(b), z = matrix_of(c);
        loop_gemm(c->dtype, alpha, &x, a->data, &y, b->data, beta, &z, c->data);
        return CT_OK;
    }
    const ct_view *t[] = { a, b, c };
    ct__job job = { .alpha = alpha, .beta = beta, .reads_output = beta != 0 };
    if (!ct__job_init(&job, dev, 3, t)) return CT_OK;
    collapse(&job);
    int64_t m = job.m[C].rows, n = job.m[C].cols, k = job.m[A].cols;
    job.work = 2.0 * (double)m * (double)n * (double)k;
    if (half) return ct__half_gemm(&job);
    if (k == 0 || alpha == 0) {
        job.member = scale_member;
        return ct__job_run(&job);
    }
    if (m <= CT__SMALL && n <= CT__SMALL && k <= CT__SMALL) {
        if (job.members == 1) return loop_gemm_member(&job, (void *[]){ a->data, b->data, c->data }), CT_OK;
        job.member = loop_gemm_member;
        return ct__job_run(&job);
    }
    if (few_rows(&job)) return run_few_rows(&job);
    if (few_columns(&job) && share_rows(&job)) return run_few_columns(&job);
    ct_status status = ct__job_forms(&job, "gemm");
    if (status) return status;
    job.member = gemm_member;
    if (n == 1 || m == 1) {
        job.member = gemv_member;
        ct__matrix *x = n == 1 ? &job.m[B] : &job.m[A], *y = &job.m[C];
        x->packed = n == 1 ? !steps(x->rows, x->rs) : !steps(x->cols, x->cs);
        y->packed = n == 1 ? !steps(y->rows, y->rs) : !steps(y->cols, y->cs);
    }
    return ct__job_run(&job);
}
