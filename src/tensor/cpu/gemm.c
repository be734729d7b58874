/* gemm. BLAS reads a row-major matrix as its transpose in column-major order, so for a row-major C = A B it
 * computes Cᵀ = Bᵀ Aᵀ. */
#include "batch.h"
#include "blas.h"
#include "gemm_half.h"
#include "gemm_strips.h"
#include "kernel/microkernels.h"

enum { A, B, C };

/* C = alpha A B + beta C by three loops, in f64. Callers pass a constant t. */
static inline void loops(const ct_dtype t, double alpha, const ct__matrix *a, const void *x,
                         const ct__matrix *b, const void *y, double beta, const ct__matrix *c, void *z)
{
    const int64_t depth = a->cols, step_x = a->cs, step_y = b->rs;
    for (int64_t i = 0; i < c->rows && c->cols; i++)
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

static int64_t gemm_member(const ct__job *job, void *const *data)
{
    const ct__matrix *c = &job->m[C];
    const int left = c->columns ? A : B, right = c->columns ? B : A;
    const ct__matrix *l = &job->m[left], *r = &job->m[right];
    const int64_t rows = c->columns ? c->rows : c->cols, cols = c->columns ? c->cols : c->rows;
    blas_gemm(job->dtype, l->columns == c->columns ? 'N' : 'T', r->columns == c->columns ? 'N' : 'T',
              (int)rows, (int)cols, (int)job->m[A].cols, job->alpha, data[left], l->ld, data[right], r->ld,
              job->beta, data[C], c->ld);
    return 0;
}

/* The stride of a row or column vector. */
static int64_t vector_step(const ct__matrix *m)
{
    return m->packed || m->rows * m->cols <= 1 ? 1 : m->cols == 1 ? m->rs : m->cs;
}

/* C is a column, y = alpha A x + beta y, or a row, yᵀ = alpha Bᵀ xᵀ + beta yᵀ. */
static int64_t gemv_member(const ct__job *job, void *const *data)
{
    const ct__matrix *y = &job->m[C];
    const bool row = y->cols > 1;
    const int matrix = row ? B : A, vector = row ? A : B;
    const ct__matrix *m = &job->m[matrix];
    const int64_t lines = m->columns ? m->rows : m->cols, depth = m->columns ? m->cols : m->rows;
    const int64_t x_step = vector_step(&job->m[vector]), y_step = vector_step(y);
    for (int64_t i = 0; i < y->rows * y->cols && job->beta == 0; i++)
        ct__set(job->dtype, data[C], i * y_step, 0);
    blas_gemv(job->dtype, m->columns != row ? 'N' : 'T', (int)lines, (int)depth, job->alpha, data[matrix],
              m->ld, data[vector], (int)x_step, job->beta, data[C], (int)y_step);
    return 0;
}

/* gemv takes a vector with any positive stride; others are packed. */
static void choose_vector_form(ct__matrix *m)
{
    m->packed = false;
    const int64_t step = vector_step(m);
    m->packed = step < 1 || step > INT32_MAX;
}

/* A batch with a shared B is one product with more rows, if the rows of each member of A and C continue those
 * of the previous one. Likewise a shared A gives more columns. The stride of an extent of 1 may be
 * anything. */
static void collapse(ct__job *job)
{
    ct__matrix *a = &job->m[A], *b = &job->m[B], *c = &job->m[C];
    const int64_t members = job->axis[0].dim, *step = job->axis[0].stride;
    if (job->ndim != 1 || members * a->rows > INT32_MAX || members * b->cols > INT32_MAX) return;
    if (a->rows == 1 && step[A] > 0) {
        a->rs = step[A];
        c->rs = step[C];
    }
    if (b->cols == 1 && step[B] > 0) {
        b->cs = step[B];
        c->cs = step[C];
    }
    if (step[B] == 0 && step[A] == a->rows * a->rs && step[C] == c->rows * c->rs) {
        a->rows *= members;
        c->rows *= members;
    } else if (step[A] == 0 && step[B] == b->cols * b->cs && step[C] == c->cols * c->cs) {
        b->cols *= members;
        c->cols *= members;
    } else {
        return;
    }
    job->ndim = 0;
    job->members = 1;
}

/* Few rows times a large B: BLAS would spend its time packing B. The rows of A and C must be contiguous. */
static bool few_rows(const ct__job *job)
{
    const ct__matrix *a = &job->m[A], *b = &job->m[B], *c = &job->m[C];
    return c->rows >= job->dev->tuning->few_least && c->rows <= job->dev->tuning->few &&
           c->cols >= 2 * job->dev->tuning->few_least && a->cols >= 2 * job->dev->tuning->few_least &&
           a->cols <= job->dev->tuning->few_deep && a->cs == 1 && c->cs == 1 && (b->cs == 1 || b->rs == 1) &&
           job->alpha == 1 && (job->beta == 0 || job->beta == 1) &&
           job->work * (double)job->members > job->dev->tuning->few_work;
}

/* AᵀB with few rows in both, as in the gradient of a layer's weight: BLAS would spend more time packing than
 * multiplying. */
static bool few_columns(const ct__job *job)
{
    const ct__matrix *a = &job->m[A], *b = &job->m[B], *c = &job->m[C];
    return a->cols >= job->dev->tuning->thin_least && a->cols <= job->dev->tuning->thin_deep &&
           c->rows >= 2 * job->dev->tuning->thin_least && c->cols >= 3 * job->dev->tuning->thin_least &&
           c->rows * c->cols * a->cols >= job->dev->tuning->thin_work && a->rs == 1 && a->cs > 1 &&
           b->cs == 1 && c->cs == 1 && (job->alpha == 1 || job->alpha == -1) &&
           (job->beta == 0 || job->beta == 1);
}

/* A tall A times a small B, as in a layer or a low-rank update: BLAS would pack all of A. */
static bool many_rows(const ct__job *job)
{
    const ct__matrix *a = &job->m[A], *b = &job->m[B], *c = &job->m[C];
    return job->members == 1 && job->dev->isa > CT__ISA_BASE &&
           c->rows >= job->dev->tuning->tall_rows * job->dev->threads &&
           ct__min(b->rows, b->cols) >= job->dev->tuning->tall_least &&
           ct__max(b->rows, b->cols) <= job->dev->tuning->tall_most && a->cs == 1 &&
           (b->cs == 1 || b->rs == 1) && c->cs == 1 && (job->alpha == 1 || job->alpha == -1) &&
           (job->beta == 0 || job->beta == 1);
}

/* Splits C into equal parts, by its rows and those of A, or by its columns and those of B, so that the
 * threads share the batch evenly. False if no even split exists. */
static bool share(ct__job *job, bool by_rows)
{
    ct__matrix *cut = &job->m[by_rows ? A : B], *c = &job->m[C];
    const int64_t extent = by_rows ? c->rows : c->cols;
    int64_t parts = 1;
    while (job->members * parts % job->dev->threads) parts++;
    if (extent % parts || job->ndim == CT_MAX_DIMS) return false;
    if (parts == 1) return true;
    const int64_t each = extent / parts;
    ct__axis *axis = &job->axis[job->ndim++];
    *axis = (ct__axis){ parts, { 0 } };
    axis->stride[by_rows ? A : B] = each * (by_rows ? cut->rs : cut->cs);
    axis->stride[C] = each * (by_rows ? c->rs : c->cs);
    *(by_rows ? &cut->rows : &cut->cols) = *(by_rows ? &c->rows : &c->cols) = each;
    job->work /= (double)parts;
    job->members *= parts;
    return true;
}

static int64_t product_member(const ct__job *job, void *const *data)
{
    const ct__matrix *a = &job->m[A], *b = &job->m[B], *c = &job->m[C];
    job->kernels->product(&(ct__product){ .minus = job->alpha < 0,
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

static void by_product(ct__job *job)
{
    job->serial = true;
    job->scratch = ct__product_work(job->dtype, ct__max(job->m[C].cols, job->m[A].cols));
    job->member = product_member;
}

/* The grouped kernels read contiguous rows of B in place. With AVX2 they need one cache line of each at a
 * time, and lines that lie far apart share few sets of the caches: the microkernels pack them. */
static ct_status run_few_rows(ct__job *job)
{
    const ct__matrix *b = &job->m[B];
    if (job->dev->isa != CT__ISA_AVX2 || b->cs != 1 || b->rs <= CT__GROUP_NEAR) return ct__strips_run(job);
    by_product(job);
    if (job->members == 1) return ct__job_run_parts(job, 1 << B | 1 << C, true);
    share(job, false);
    return ct__job_run(job);
}

ct_status ct__cpu_affine(ct_device *dev, const ct_view *a, const ct_view *b, const ct_view *d, ct_view *c)
{
    if (!ct__is_half(c->dtype)) {
        const ct_status s = ct__cpu_copy(dev, d, c);
        return s ? s : ct__cpu_gemm(dev, 1, a, b, 1, c);
    }
    const ct_view *t[] = { a, b, c, d };
    ct__job job = { .alpha = 1, .beta = 1 };
    if (!ct__job_init(&job, dev, 4, t)) return CT_OK;
    job.work = 2.0 * (double)job.m[C].rows * (double)job.m[C].cols * (double)job.m[A].cols;
    return ct__half_gemm(&job);
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
        const ct__matrix x = ct__matrix_of(a, 0), y = ct__matrix_of(b, 0), z = ct__matrix_of(c, 0);
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
    const bool empty = k == 0 || alpha == 0;
    if (empty) {
        job.alpha = 0;
        job.m[A].cols = 0;
    }
    if (empty || (m <= CT__SMALL && n <= CT__SMALL && k <= CT__SMALL)) {
        job.member = loop_gemm_member;
        if (job.members > 1) return ct__job_run(&job);
        job.member(&job, (void *[]){ a->data, b->data, c->data });
        return CT_OK;
    }
    if (few_rows(&job)) return run_few_rows(&job);
    if (many_rows(&job)) {
        by_product(&job);
        return ct__job_run_parts(&job, 1 << A | 1 << C, false);
    }
    if (few_columns(&job) && share(&job, true)) {
        by_product(&job);
        return ct__job_run(&job);
    }
    ct_status status = ct__job_forms(&job, "gemm");
    if (status) return status;
    job.member = gemm_member;
    if (n == 1 || m == 1) {
        job.member = gemv_member;
        choose_vector_form(&job.m[n == 1 ? B : A]);
        choose_vector_form(&job.m[C]);
    }
    return ct__job_run(&job);
}
