/* potrf. To BLAS a row-major lower triangle is an upper one. */
#include "batch.h"
#include "blas.h"

#include <math.h>
#include <string.h>

/* The lower triangle, or with the zeros of the strict upper one the whole. */
static void fill_nan(const ct__job *job, int64_t rs, int64_t cs, void *data)
{
    int64_t n = job->m[0].rows;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < (job->lower_output ? i + 1 : n); j++)
            ct__set(job->dtype, data, i * rs + j * cs, NAN);
}

/* L row by row: L_ij = (A_ij - Σ_{k<j} L_ik L_jk) / L_jj. The diagonal's test is false for NaN. */
static int64_t small_potrf_member(const ct__job *job, void *const *data)
{
    double a[CT__POTRF_SMALL * CT__POTRF_SMALL];
    const ct__matrix *m = &job->m[0];
    int64_t n = m->rows;
    ct__load(job->dtype, data[0], m, a);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            if (j > i && job->lower_output) break;
            double sum = j <= i ? a[i * n + j] : 0;
            for (int64_t k = 0; k < j && j <= i; k++) sum -= a[i * n + k] * a[j * n + k];
            if (j < i) {
                a[i * n + j] = sum / a[j * n + j];
            } else if (j > i) {
                a[i * n + j] = 0;
            } else if (sum > 0 && sum < INFINITY) {
                a[i * n + i] = sqrt(sum);
            } else {
                fill_nan(job, m->rs, m->cs, data[0]);
                return i + 1;
            }
        }
    ct__store(job->dtype, a, m, data[0]);
    return 0;
}

/* A NaN or infinity anywhere in the lower triangle reaches the diagonal of L, where it is caught: L_ij enters
 * L_ii² = A_ii - Σ_j L_ij². */
static int64_t potrf_member(const ct__job *job, void *const *data)
{
    const ct__matrix *m = &job->m[0];
    int64_t n = m->rows, ld = m->ld;
    int64_t detail = blas_potrf(job->dtype, m->columns ? 'L' : 'U', (int)n, data[0], m->ld);
    for (int64_t i = 0; i < n && !detail; i++) {
        double d = ct__get(job->dtype, data[0], i * ld + i);
        if (!(d > 0 && d < INFINITY)) detail = i + 1;
    }
    int64_t rs = m->columns ? 1 : ld, cs = m->columns ? ld : 1;
    if (detail) {
        fill_nan(job, rs, cs, data[0]);
        return detail;
    }
    if (job->lower_output) return 0;
    if (m->columns)
        for (int64_t j = 1; j < n; j++)
            memset(ct__at(data[0], job->dtype, j * ld), 0, (size_t)j * ct_dtype_size(job->dtype));
    else
        for (int64_t i = 0; i < n; i++)
            memset(ct__at(data[0], job->dtype, i * ld + i + 1), 0,
                   (size_t)(n - i - 1) * ct_dtype_size(job->dtype));
    return 0;
}

static ct_status cholesky(ct_device *dev, bool lower, int64_t first, ct_view *a, ct_failure *failure)
{
    const ct_view *t[] = { a };
    ct__job job;
    ct__job_init(&job, dev, 1, t);
    job.failure = failure;
    job.first = first;
    job.what = "leading minor %lld";
    job.reads_output = true;
    job.lower_output = lower;
    int64_t n = job.m[0].rows;
    if (!job.members || !n) return CT_OK;
    job.work = (double)n * (double)n * (double)n / 3;
    job.member = small_potrf_member;
    ct_status status = CT_OK;
    if (n > CT__POTRF_SMALL) {
        job.member = potrf_member;
        status = ct__job_forms(&job, "cholesky");
    }
    return status ? status : ct__job_run(&job);
}

ct_status ct__cpu_potrf(ct_device *dev, ct_view *a, ct_failure *failure)
{
    return cholesky(dev, false, 0, a, failure);
}

ct_status ct__cpu_potrf_lower(ct_device *dev, int64_t first, ct_view *a, ct_failure *failure)
{
    return cholesky(dev, true, first, a, failure);
}
