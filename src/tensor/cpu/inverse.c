/* The inverse of symmetric positive definite matrices: A = Rᵀ R, N = R⁻¹, A⁻¹ = N Nᵀ. This takes n³
 * operations, a third in each step, nearly all of them in products. Triangular systems are solved by
 * substitution, never by multiplication with an inverse that is at hand (docs/ops/inverse.md). For one large
 * matrix the threads share the columns of N and the rows of A⁻¹. */
#include "inverse.h"
#include "sweep.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* -- A = Rᵀ R -------------------------------------------------------------------------------------------- */

/* Replaces the upper triangle of a by R: R12 = R11⁻ᵀ A12, A22 - R12ᵀ R12 = R22ᵀ R22. Returns the failing
 * minor, or 0. */
static int64_t factor(const ct__microkernels *kernels, void *a, int64_t ld, int64_t n, void *work)
{
    const ct_dtype t = kernels->dtype;
    if (n <= CT__TILE) return kernels->cholesky(a, ld, n);
    const int64_t h = ct__half(n), r = n - h;
    int64_t failed = factor(kernels, a, ld, h, work);
    if (failed) return failed;
    void *r12 = ct__ij(a, t, ld, 0, h), *a22 = ct__ij(a, t, ld, h, h);
    ct__substitute(kernels, true, false, h, a, 1, ld, r12, ld, r, work);
    ct__multiply(kernels, CT__OUT_UPPER, 'T', 'N', r, r, h, -1, r12, ld, r12, ld, 1, a22, ld, work);
    failed = factor(kernels, a22, ld, r, work);
    return failed ? h + failed : 0;
}

/* -- A⁻¹ = N Nᵀ ------------------------------------------------------------------------------------------ */

/* Stores rows [i, i + rows) of a symmetric matrix up to the diagonal, and their mirror image, so that the
 * result is symmetric to the bit. */
static void put_rows(const ct__job *job, void *panel, int64_t ld, int64_t i, int64_t rows, void *out)
{
    const ct__matrix *o = &job->m[job->n - 1];
    for (int64_t r = 0; r < rows; r++) /* gemm may round a product and its mirror image differently */
        for (int64_t j = r + 1; j < rows; j++)
            ct__set(job->dtype, panel, r * ld + i + j, ct__get(job->dtype, panel, j * ld + i + r));
    void *across = ct__at(out, job->dtype, i * o->rs), *down = ct__at(out, job->dtype, i * o->cs);
    if (o->cs == 1) {
        for (int64_t r = 0; r < rows; r++)
            memcpy(ct__ij(across, job->dtype, o->rs, r, 0), ct__ij(panel, job->dtype, ld, r, 0),
                   (size_t)(i + rows) * ct_dtype_size(job->dtype));
        job->kernels->transpose(rows, i + rows, panel, ld, down, o->rs);
    } else {
        ct__copy_matrix(job->dev, job->dtype, rows, i + rows, panel, ld, 1, across, o->rs, o->cs);
        ct__copy_matrix(job->dev, job->dtype, rows, i + rows, panel, ld, 1, down, o->cs, o->rs);
    }
}

/* Loads the lower triangle of the input as an upper one: a_ij = x_ji, j >= i */
static void load_upper(const ct__job *job, const void *from, void *a, int64_t lda)
{
    const ct__matrix *x = &job->m[0];
    const ct_dtype t = job->dtype;
    const int64_t n = x->rows;
    if (x->rs == 1)
        for (int64_t i = 0; i < n; i++)
            memcpy(ct__ij(a, t, lda, i, i), ct__at(from, t, i * (1 + x->cs)),
                   (size_t)(n - i) * ct_dtype_size(t));
    else if (x->cs == 1)
        for (int64_t i = 0; i < n; i += CT__TILE) {
            const int64_t rows = ct__min(n - i, CT__TILE);
            job->kernels->transpose(rows, i + rows, ct__at(from, t, i * x->rs), x->rs,
                                    ct__ij(a, t, lda, 0, i), lda);
        }
    else
        ct__copy_matrix(job->dev, t, n, n, from, x->cs, x->rs, a, lda, 1);
}

void ct__put_symmetric(const ct__job *job, void *a, int64_t ld, void *out)
{
    const int64_t n = job->m[job->n - 1].rows;
    for (int64_t i = 0; i < n; i += CT__TILE)
        put_rows(job, ct__ij(a, job->dtype, ld, i, 0), ld, i, ct__min(n - i, CT__TILE), out);
}

double ct__dot(ct_dtype dtype, int64_t n, const void *x, const void *y)
{
    const int count = (int)n, one = 1;
    return dtype == CT_F64 ? ddot_(&count, x, &one, y, &one) : (double)sdot_(&count, x, &one, y, &one);
}

/* (A⁻¹)_ii = Σ_k N_ik², k >= i */
static void put_diagonal(const ct__job *job, const void *m, int64_t ld, int64_t i, void *out)
{
    const ct__matrix *o = &job->m[job->n - 1];
    const void *row = ct__ij(m, job->dtype, ld, i, i);
    ct__set(job->dtype, out, i * o->rs, ct__dot(job->dtype, o->rows - i, row, row));
}

/* Stores a lower triangle row by row, packed. */
static void put_root(ct_dtype t, const void *m, int64_t ld, int64_t n, void *root)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(ct__at(root, t, i * (i + 1) / 2), ct__ij(m, t, ld, i, 0), (size_t)(i + 1) * ct_dtype_size(t));
}

/* data: A, M = Nᵀ (the root) if there are three matrices, A⁻¹. */
static int64_t potri_member(const ct__job *job, void *const *data)
{
    const int64_t n = job->m[0].rows, ld = ct__pitch(n);
    const ct_dtype t = job->dtype;
    const ct__microkernels *kernels = job->kernels;
    const bool diagonal = ct__is_diagonal(&job->m[job->n - 1]);
    void *out = data[job->n - 1], *root = job->n == 3 ? data[1] : NULL;
    void *work = data[job->n], *a = (char *)work + ct__product_work(t, n), *m = ct__ij(a, t, ld, n, 0);
    load_upper(job, data[0], a, ld);
    const int64_t failed = factor(kernels, a, ld, n, work);
    if (failed) {
        for (int k = 1; k < job->n; k++) ct__fill_nan(job, k, data);
        return failed;
    }
    ct__invert_triangle(kernels, false, false, a, ld, 1, m, ld, n, work);
    for (int64_t i = 0; i < n && diagonal; i++) put_diagonal(job, m, ld, i, out);
    if (diagonal && !root) return 0;
    if (root && !diagonal) {
        kernels->transpose(n, n, m, ld, a, ld);
        put_root(t, a, ld, n, root);
    }
    ct__multiply(kernels, CT__LEFT_UPPER | CT__RIGHT_LOWER | CT__OUT_LOWER, 'N', 'T', n, n, n, 1, m, ld, m,
                 ld, 0, a, ld, work);
    if (diagonal)
        put_root(t, a, ld, n, root);
    else
        ct__put_symmetric(job, a, ld, out);
    return 0;
}

/* -- one large matrix, by all threads -------------------------------------------------------------------- */

static int64_t large_potri_member(const ct__job *job, void *const *data)
{
    enum { STEP = CT__INVERSE_COLUMNS };
    const int64_t n = job->m[0].rows, ld = ct__pitch(n), blocks = (n + STEP - 1) / STEP;
    const ct_dtype t = job->dtype;
    const size_t work_bytes = ct__product_work(t, n);
    const bool diagonal = ct__is_diagonal(&job->m[1]);
    void *a = data[2], *m = ct__ij(a, t, ld, n, 0); /* a: L, later the lower triangle of A⁻¹; m: N */
    char *work = ct__ij(m, t, ld, n, 0);
    ct__copy_matrix(job->dev, t, n, n, data[0], job->m[0].rs, job->m[0].cs, a, ld, 1);
    const ct__stopwatch begin = ct__pace_begin(ct__team(job->dev, job->dev->threads));
    const int64_t failed = ct__sweep_factor(job->dev, t, n, a, ld, work);
    ct__pace_end(job->dev, &begin);
    if (failed) {
        ct__fill_nan(job, 1, data);
        return failed;
    }
#pragma omp parallel num_threads(ct__team(job->dev, job->dev->threads))
    {
        void *own = work + (size_t)omp_get_thread_num() * work_bytes;
#pragma omp for schedule(dynamic)
        for (int64_t k = 0; k < blocks; k++) { /* columns of N = L⁻ᵀ, down to row `end`; the longest first */
            const int64_t i = (blocks - 1 - k) * STEP, end = ct__min(n, i + STEP);
            void *x = ct__ij(m, t, ld, 0, i);
            ct__set_identity(t, end, end - i, x, ld);
            ct__substitute(job->kernels, false, false, end, a, 1, ld, x, ld, end - i, own);
        }
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < (diagonal ? n : 0); i++) put_diagonal(job, m, ld, i, data[1]);
#pragma omp for schedule(dynamic)
        for (int64_t k = diagonal ? blocks : 0; k < blocks;
             k++) { /* rows of N Nᵀ; there N is zero before column `first` */
            const int64_t first = (blocks - 1 - k) * STEP, end = ct__min(n, first + STEP);
            ct__multiply(job->kernels, 0, 'N', 'T', end - first, end, n - first, 1,
                         ct__ij(m, t, ld, first, first), ld, ct__ij(m, t, ld, 0, first), ld, 0,
                         ct__ij(a, t, ld, first, 0), ld, own);
            for (int64_t i = first; i < end; i += CT__TILE)
                put_rows(job, ct__ij(a, t, ld, i, 0), ld, i, ct__min(CT__TILE, end - i), data[1]);
        }
    }
    return 0;
}

/* -- runs ------------------------------------------------------------------------------------------------ */

ct_status ct__routine_run(ct__job *job, const ct__routine *routine, int64_t n, size_t more_bytes)
{
    job->work = routine->cubes * (double)n * (double)n * (double)n;
    job->scratch = ct__product_work(job->dtype, n) +
                   (size_t)(routine->matrices * n * ct__pitch(n)) * ct_dtype_size(job->dtype) + more_bytes;
    job->serial = !routine->alone || !ct__inverse_alone(job->dev, job->members, n, routine->limit);
    job->member = job->serial ? routine->member : routine->alone;
    return ct__job_run(job);
}

bool ct__cpu_keeps_root(const ct_device *dev, int64_t members, int64_t n)
{
    return n <= CT__ROOT_MAX && !ct__inverse_alone(dev, members, n, dev->tuning->spd_alone);
}

/* root may be NULL */
static ct_status invert(ct_device *dev, const ct_view *a, ct_view *root, ct_view *out, ct_failure *failure)
{
    ct__job job = { .failure = failure, .what = "leading minor %lld" };
    if (!ct__job_init(&job, dev, root ? 3 : 2, (const ct_view *[]){ a, root ? root : out, out }))
        return CT_OK;
    const int64_t n = job.m[0].rows;
    const ct__routine routine = { 1, 2, dev->tuning->spd_alone, potri_member,
                                  root ? NULL : large_potri_member };
    size_t more = 0; /* for large_potri_member: the other threads' products, or the factorisation */
    if (!root && ct__inverse_alone(dev, job.members, n, dev->tuning->spd_alone))
        more = (size_t)ct__max((int64_t)ct__product_work(job.dtype, n) * (dev->threads - 1),
                               (int64_t)ct__sweep_memory(dev, job.dtype, n, ct__pitch(n)));
    return ct__routine_run(&job, &routine, n, more);
}

ct_status ct__cpu_potri(ct_device *dev, const ct_view *a, ct_view *out, ct_failure *failure)
{
    return invert(dev, a, NULL, out, failure);
}

ct_status ct__cpu_potri_root(ct_device *dev, const ct_view *a, ct_view *root, ct_view *out,
                             ct_failure *failure)
{
    return invert(dev, a, root, out, failure);
}
