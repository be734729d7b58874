/* potrf. BLAS reads a row-major lower triangle as an upper one. */
#include "batch.h"
#include "blas.h"

#include <math.h>
#include <string.h>

/* Computes L row by row: L_ij = (A_ij - Σ_{k<j} L_ik L_jk) / L_jj. The test of the diagonal fails for NaN. */
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
                ct__fill_nan(job, 0, data);
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
    const int n = (int)m->rows;
    const int64_t ld = m->ld;
    int failed = 0;
    CT__ROUTINE(job->dtype, potrf)(m->columns ? "L" : "U", &n, data[0], &m->ld, &failed);
    for (int i = 0; i < n && !failed; i++) {
        const double d = ct__get(job->dtype, data[0], i * (ld + 1));
        if (!(d > 0 && d < INFINITY)) failed = i + 1;
    }
    if (failed) ct__fill_nan(job, 0, data);
    for (int i = 0; i < n && !failed && !job->lower_output;
         i++) /* zeros above the diagonal, row (or column) i */
        memset(ct__at(data[0], job->dtype, m->columns ? i * ld : i * (ld + 1) + 1), 0,
               (size_t)(m->columns ? i : n - 1 - i) * ct_dtype_size(job->dtype));
    return failed;
}

static ct_status cholesky(ct_device *dev, bool lower, int64_t first, ct_view *a, ct_failure *failure)
{
    ct__job job = { .failure = failure,
                    .first = first,
                    .what = "leading minor %lld",
                    .reads_output = true,
                    .lower_output = lower,
                    .member = potrf_member };
    if (!ct__job_init(&job, dev, 1, (const ct_view *[]){ a })) return CT_OK;
    const double n = (double)job.m[0].rows;
    job.work = n * n * n / 3;
    if (n <= CT__POTRF_SMALL)
        job.member = small_potrf_member;
    else if (ct__job_forms(&job, "cholesky"))
        return CT_EUNSUPPORTED;
    return ct__job_run(&job);
}

ct_status ct__cpu_potrf(ct_device *dev, ct_view *a, ct_failure *failure)
{
    return cholesky(dev, false, 0, a, failure);
}

ct_status ct__cpu_potrf_lower(ct_device *dev, int64_t first, ct_view *a, ct_failure *failure)
{
    return cholesky(dev, true, first, a, failure);
}
