/* Singular values and vectors by divide and conquer. LAPACK reads the row-major A (m, n) as the column-major
 * Aᵀ = V S Uᵀ: its left vectors, by columns, are the rows of Vᵀ, and its right ones, by rows, those of U. */
#include "batch.h"
#include "blas.h"

#include <math.h>

#define LAPACK(p)                                                                                            \
    void p##gesdd_(const char *, const int *, const int *, void *, const int *, void *, void *, const int *, \
                   void *, const int *, void *, const int *, int *, int *);
LAPACK(d)
LAPACK(s)
#undef LAPACK

enum { S, U, VT, A };

static bool all_finite(const ct__job *job, const void *a)
{
    const int64_t n = job->m[A].rows * job->m[A].cols;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(ct__get(job->dtype, a, i))) return false;
    return true;
}

static int64_t member(const ct__job *job, void *const *data)
{
    const int m = (int)job->m[A].rows, n = (int)job->m[A].cols, r = m < n ? m : n;
    int info = 1, *whole = ct__at(data[job->n], job->dtype, job->count);
    if (all_finite(job, data[A])) CT__ROUTINE(job->dtype, gesdd)
    ("S", &n, &m, data[A], &n, data[S], data[VT], &n, data[U], &r, data[job->n], &job->count, whole, &info);
    if (!info) return 0;
    for (int k = S; k <= VT; k++) ct__fill_nan(job, k, data);
    return 1;
}

ct_status ct__cpu_svd(ct_device *dev, ct_view *a, ct_view *s, ct_view *u, ct_view *vt, ct_failure *failure)
{
    ct__job job = { .failure = failure,
                    .reads_output = true,
                    .serial = true,
                    .member = member,
                    .what = "singular value %lld",
                    .why = "is not found: the matrix has NaN or an infinity" };
    if (!ct__job_init(&job, dev, 4, (const ct_view *[]){ s, u, vt, a })) return CT_OK;
    const int64_t m = job.m[A].rows, n = job.m[A].cols, r = m < n ? m : n, most = m < n ? n : m;
    job.work = 20.0 * (double)most * (double)r * (double)r;
    return ct__job_run_lapack(&job, "svd", (4 * r + 8) * r + (CT__LAPACK_PANEL + 1) * (r + most), 8 * r);
}
