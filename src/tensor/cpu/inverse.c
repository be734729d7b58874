/* The inverse of symmetric positive definite matrices: A = L Lᵀ, M = L⁻¹, A⁻¹ = Mᵀ M; n³ operations, a third in each
 * step, nearly all of them in gemm. L is solved for, block by block, against the inverses of its diagonal tiles alone:
 * no inverse of a larger block enters the factor, so its accuracy is that of a plain blocked factorisation. */
#include "inverse.h"

#include <math.h>
#include <string.h>

#include "batch.h"
#include "product.h"
#include "tile.h"

static void *at(const void *data, ct_dtype dtype, int64_t ld, int64_t row, int64_t col)
{
    return ct__at(data, dtype, row * ld + col);
}

enum { PANEL = 256 }; /* rows of a symmetric product that BLAS computes at once */

/* -- A = L Lᵀ ------------------------------------------------------------------------------------------------------ */

/* X = B L⁻ᵀ in place of B (rows x n), with the inverses of L's diagonal tiles in m. */
static void solve_right(ct_dtype t, const void *l, const void *m, int64_t n, void *b, int64_t ld,
                        int64_t rows, void *work)
{
    if (n <= CT__TILE) {
        ct__multiply(t, CT__RIGHT_UPPER, 'N', 'T', rows, n, n, 1, b, ld, m, ld, 0, b, ld, work);
        return;
    }
    int64_t h = ct__half(n);
    void *right = at(b, t, ld, 0, h);
    solve_right(t, l, m, h, b, ld, rows, work);
    ct__multiply(t, 0, 'N', 'T', rows, n - h, h, -1, b, ld, at(l, t, ld, h, 0), ld, 1, right, ld, work);
    solve_right(t, at(l, t, ld, h, h), at(m, t, ld, h, h), n - h, right, ld, rows, work);
}

/* The lower triangle of a becomes L, m the inverses of its diagonal tiles. Returns the failing minor, or 0. */
static int64_t factor(ct_dtype t, void *a, void *m, int64_t ld, int64_t n, void *work)
{
    if (n <= CT__TILE) return ct__tile_cholesky(t, a, ld, n, m, ld);
    int64_t h = ct__half(n), r = n - h;
    int64_t failed = factor(t, a, m, ld, h, work);
    if (failed) return failed;
    void *l21 = at(a, t, ld, h, 0), *a22 = at(a, t, ld, h, h);
    solve_right(t, a, m, h, l21, ld, r, work);
    ct__multiply(t, CT__OUT_LOWER, 'N', 'T', r, r, h, -1, l21, ld, l21, ld, 1, a22, ld, work);
    failed = factor(t, a22, at(m, t, ld, h, h), ld, r, work);
    return failed ? h + failed : 0;
}

/* -- M = T⁻¹ ------------------------------------------------------------------------------------------------------- */

/* M21 = -(M22 T21) M11, each product over the part of the triangle that is not zero; w holds a quarter of the matrix */
void ct__invert_lower(ct_dtype t, const void *a, void *m, int64_t ld, int64_t n, void *w, void *work)
{
    if (n <= CT__TILE) return;
    int64_t h = ct__half(n), r = n - h, ldw = ct__pitch(h);
    void *m21 = at(m, t, ld, h, 0), *m22 = at(m, t, ld, h, h);
    ct__invert_lower(t, a, m, ld, h, w, work);
    ct__invert_lower(t, at(a, t, ld, h, h), m22, ld, r, w, work);
    ct__multiply(t, CT__LEFT_LOWER, 'N', 'N', r, h, r, 1, m22, ld, at(a, t, ld, h, 0), ld, 0, w, ldw, work);
    ct__multiply(t, CT__RIGHT_LOWER, 'N', 'N', r, h, h, -1, w, ldw, m, ld, 0, m21, ld, work);
}

/* -- A⁻¹ = Mᵀ M ---------------------------------------------------------------------------------------------------- */

/* a_ij = a_ji above the diagonal */
#define MIRROR(name, T)                                                          \
    static void mirror_##name(int64_t n, T *a, int64_t lda)                      \
    {                                                                            \
        for (int64_t i = 0; i < n; i++)                                          \
            for (int64_t j = i + 1; j < n; j++) a[i * lda + j] = a[j * lda + i]; \
    }
MIRROR(f64, double)
MIRROR(f32, float)

/* Rows [i, i + rows) of a symmetric matrix up to the diagonal, and their mirror image: bitwise symmetric. */
static void put_rows(const ct__job *job, void *panel, int64_t ld, int64_t i, int64_t rows, void *out)
{
    const ct__matrix *o = &job->m[job->n - 1];
    if (job->dtype == CT_F64) /* gemm need not round a product and its mirror image alike */
        mirror_f64(rows, at(panel, job->dtype, ld, 0, i), ld);
    else
        mirror_f32(rows, at(panel, job->dtype, ld, 0, i), ld);
    void *across = ct__at(out, job->dtype, i * o->rs), *down = ct__at(out, job->dtype, i * o->cs);
    if (o->cs == 1) {
        for (int64_t r = 0; r < rows; r++)
            memcpy(at(across, job->dtype, o->rs, r, 0), at(panel, job->dtype, ld, r, 0),
                   (size_t)(i + rows) * ct_dtype_size(job->dtype));
        ct__transpose(job->dtype, rows, i + rows, panel, ld, down, o->rs);
    } else {
        ct__copy_matrix(job->dev, job->dtype, rows, i + rows, panel, ld, 1, across, o->rs, o->cs);
        ct__copy_matrix(job->dev, job->dtype, rows, i + rows, panel, ld, 1, down, o->cs, o->rs);
    }
}

void ct__fill_nan(const ct__job *job, void *out)
{
    const ct__matrix *o = &job->m[job->n - 1];
    for (int64_t i = 0; i < o->rows; i++)
        for (int64_t j = 0; j < o->cols; j++) {
            void *x = ct__at(out, job->dtype, i * o->rs + j * o->cs);
            if (job->dtype == CT_F64)
                *(double *)x = NAN;
            else
                *(float *)x = NAN;
        }
}

static void load_lower(const ct__job *job, const void *from, void *a, int64_t lda)
{
    const ct__matrix *x = &job->m[0];
    if (x->cs != 1) {
        ct__copy_matrix(job->dev, job->dtype, x->rows, x->rows, from, x->rs, x->cs, a, lda, 1);
        return;
    }
    for (int64_t i = 0; i < x->rows; i++)
        memcpy(at(a, job->dtype, lda, i, 0), ct__at(from, job->dtype, i * x->rs),
               (size_t)(i + 1) * ct_dtype_size(job->dtype));
}

/* Both triangles of a symmetric matrix from its lower one. */
static void put_symmetric(const ct__job *job, void *a, int64_t ld, void *out)
{
    const int64_t n = job->m[job->n - 1].rows;
    for (int64_t i = 0; i < n; i += CT__TILE)
        put_rows(job, at(a, job->dtype, ld, i, 0), ld, i, n - i < CT__TILE ? n - i : CT__TILE, out);
}

static int64_t potri_member(const ct__job *job, void *const *data)
{
    const int64_t n = job->m[0].rows, ld = ct__pitch(n);
    const ct_dtype t = job->dtype;
    void *work = data[2], *a = (char *)work + ct__product_work(t, n), *m = at(a, t, ld, n, 0),
         *w = at(m, t, ld, n, 0);
    load_lower(job, data[0], a, ld);
    int64_t failed = factor(t, a, m, ld, n, work);
    if (failed) {
        ct__fill_nan(job, data[1]);
        return failed;
    }
    ct__invert_lower(t, a, m, ld, n, w, work);
    ct__multiply(t, CT__LEFT_UPPER | CT__RIGHT_LOWER | CT__OUT_LOWER, 'T', 'N', n, n, n, 1, m, ld, m, ld, 0,
                 a, ld, work);
    put_symmetric(job, a, ld, data[1]);
    return 0;
}

/* One large matrix: LAPACK with all threads. To it a row-major lower triangle is an upper one. */
static int64_t lapack_potri_member(const ct__job *job, void *const *data)
{
    const int64_t n = job->m[0].rows, ld = ct__pitch(n);
    const ct_dtype t = job->dtype;
    void *a = data[2];
    load_lower(job, data[0], a, ld);
    int64_t failed = blas_potrf(t, 'U', (int)n, a, (int)ld);
    for (int64_t i = 0; i < n && !failed; i++) {
        double d = t == CT_F64 ? *(double *)at(a, t, ld, i, i) : (double)*(float *)at(a, t, ld, i, i);
        if (!(d > 0 && d < INFINITY)) failed = i + 1;
    }
    if (!failed) failed = blas_potri(t, 'U', (int)n, a, (int)ld);
    if (failed) {
        ct__fill_nan(job, data[1]);
        return failed;
    }
    put_symmetric(job, a, ld, data[1]);
    return 0;
}

ct_status ct__cpu_potri(ct_device *dev, const ct_tensor *a, ct_tensor *out, ct_failure *failure)
{
    const ct_tensor *t[] = { a, out };
    ct__job job;
    ct__job_init(&job, dev, 2, t);
    int64_t n = job.m[0].rows, ld = ct__pitch(n);
    if (!job.members || !n) return CT_OK;
    bool failed = failure && failure->set;
    job.failure = failure;
    job.work = (double)n * (double)n * (double)n;
    job.scratch =
        ct__product_work(job.dtype, n) + (size_t)((2 * n + ct__half(n)) * ld) * ct_dtype_size(job.dtype);
    job.serial = !ct__inverse_alone(dev, job.members, n);
    job.member = job.serial ? potri_member : lapack_potri_member;
    ct_status status = ct__job_run(&job);
    if (failure && failure->set && !failed) failure->what = "leading minor %lld";
    return status;
}

/* -- the adjoint of the inverse ------------------------------------------------------------------------------------ */

/* An operand as it lies in memory, or transposed. */
static void place(const ct__matrix *m, bool transposed, int64_t *rs, int64_t *cs)
{
    const int64_t row = m->columns ? 1 : m->ld, column = m->columns ? m->ld : 1;
    *rs = transposed ? column : row;
    *cs = transposed ? row : column;
}

/* -Pᵀ G Pᵀ, on one thread: H = Pᵀ G, then -H Pᵀ, or its transpose -P Hᵀ where the result lies by columns */
static int64_t general_bar_member(const ct__job *job, void *const *data)
{
    const ct__matrix *p = &job->m[0], *o = &job->m[2];
    const ct_dtype t = job->dtype;
    const int64_t n = p->rows, ld = ct__pitch(n);
    void *work = data[3], *h = (char *)work + ct__product_work(t, n);
    ct__product q = { .dtype = t, .m = n, .n = n, .k = n, .a = data[0], .b = data[1], .c = h, .ldc = ld };
    place(p, true, &q.a_rs, &q.a_cs);
    place(&job->m[1], false, &q.b_rs, &q.b_cs);
    ct__product_run(&q, work);
    q.minus = true, q.c = data[2], q.ldc = o->ld;
    if (o->columns) {
        q.a = data[0], q.b = h, q.b_rs = 1, q.b_cs = ld;
        place(p, false, &q.a_rs, &q.a_cs);
    } else {
        q.a = h, q.b = data[0], q.a_rs = ld, q.a_cs = 1;
        place(p, true, &q.b_rs, &q.b_cs);
    }
    ct__product_run(&q, work);
    return 0;
}

/* The same of one large matrix, on all threads. */
static int64_t blas_general_bar_member(const ct__job *job, void *const *data)
{
    const ct__matrix *p = &job->m[0], *g = &job->m[1], *o = &job->m[2];
    const int n = (int)p->rows, ld = (int)ct__pitch(n);
    const char p_t = p->columns ? 'T' : 'N', p_n = p->columns ? 'N' : 'T';
    void *h = data[3]; /* column-major */
    blas_gemm(job->dtype, p_t, g->columns ? 'N' : 'T', n, n, n, 1, data[0], p->ld, data[1], g->ld, 0, h, ld);
    if (o->columns)
        blas_gemm(job->dtype, 'N', p_t, n, n, n, -1, h, ld, data[0], p->ld, 0, data[2], o->ld);
    else
        blas_gemm(job->dtype, p_n, 'T', n, n, n, -1, data[0], p->ld, h, ld, 0, data[2], o->ld);
    return 0;
}

/* -P ½(G + Gᵀ) P for a symmetric P, the second product on and below the diagonal alone */
static int64_t symmetric_bar_member(const ct__job *job, void *const *data)
{
    const ct__matrix *p = &job->m[0], *g = &job->m[1];
    const int64_t n = p->rows, ld = ct__pitch(n);
    const ct_dtype t = job->dtype;
    void *work = data[3], *s = (char *)work + ct__product_work(t, n), *h = at(s, t, ld, n, 0);
    ct__symmetric_part(t, n, data[1], g->ld, s, ld);
    if (job->serial) {
        ct__multiply(t, 0, 'N', 'N', n, n, n, -1, data[0], p->ld, s, ld, 0, h, ld, work);
        ct__multiply(t, CT__OUT_LOWER, 'N', 'N', n, n, n, 1, h, ld, data[0], p->ld, 0, s, ld, work);
    } else {
        const int order = (int)n, pitch = (int)ld;
        blas_gemm(t, 'N', 'N', order, order, order, -1, s, pitch, data[0], p->ld, 0, h, pitch);
        for (int i = 0; i < order; i += PANEL) {
            const int rows = order - i < PANEL ? order - i : PANEL;
            blas_gemm(t, 'N', 'N', i + rows, rows, order, 1, data[0], p->ld, at(h, t, ld, i, 0), pitch, 0,
                      at(s, t, ld, i, 0), pitch);
        }
    }
    put_symmetric(job, s, ld, data[2]);
    return 0;
}

ct_status ct__cpu_inverse_bar(ct_device *dev, bool symmetric, const ct_tensor *p, const ct_tensor *g,
                              ct_tensor *out)
{
    const ct_tensor *t[] = { p, g, out };
    ct__job job;
    ct__job_init(&job, dev, 3, t);
    int64_t n = job.m[0].rows;
    if (!job.members || !n) return CT_OK;
    ct_status status = ct__job_forms(&job, "inverse");
    if (status) return status;
    if (symmetric) job.m[2].packed = false;
    job.work = (symmetric ? 3.0 : 4.0) * (double)n * (double)n * (double)n;
    job.scratch = ct__product_work(job.dtype, n) +
                  (size_t)((symmetric ? 2 : 1) * n * ct__pitch(n)) * ct_dtype_size(job.dtype);
    job.serial = !ct__inverse_alone(dev, job.members, n);
    job.member = symmetric ? symmetric_bar_member : job.serial ? general_bar_member : blas_general_bar_member;
    return ct__job_run(&job);
}
