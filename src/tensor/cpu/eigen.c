/* Eigenvectors of symmetric matrices by divide and conquer, each on one thread: the reduction to a
 * tridiagonal matrix makes n products with a vector, and threads would wait for each other after every one. A
 * row-major lower triangle is LAPACK's upper one, and LAPACK's columns, the eigenvectors, are our rows. */
#include "batch.h"
#include "blas.h"

#include <math.h>

#define LAPACK(p)                                                                                \
    void p##syevd_(const char *, const char *, const int *, void *, const int *, void *, void *, \
                   const int *, int *, const int *, int *);
LAPACK(d)
LAPACK(s)
#undef LAPACK

static bool finite_triangle(const ct__job *job, const void *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++)
            if (!isfinite(ct__get(job->dtype, a, i * n + j))) return false;
    return true;
}

static int64_t member(const ct__job *job, void *const *data)
{
    const int n = (int)job->m[1].rows, whole = 3 + 5 * n;
    int info = 1, *integers = ct__at(data[2], job->dtype, job->count);
    if (finite_triangle(job, data[1], n)) CT__ROUTINE(job->dtype, syevd)
    ("V", "U", &n, data[1], &n, data[0], data[2], &job->count, integers, &whole, &info);
    if (!info) return 0;
    ct__fill_nan(job, 0, data);
    ct__fill_nan(job, 1, data);
    return info;
}

ct_status ct__cpu_eigen(ct_device *dev, ct_view *a, ct_view *w, ct_failure *failure)
{
    ct__job job = { .failure = failure,
                    .reads_output = true,
                    .serial = true,
                    .member = member,
                    .what = "eigenvalue %lld",
                    .why = "is not found: the matrix has NaN or an infinity" };
    if (!ct__job_init(&job, dev, 2, (const ct_view *[]){ w, a })) return CT_OK;
    const int64_t n = job.m[1].rows;
    job.work = 9.0 * (double)n * (double)n * (double)n;
    return ct__job_run_lapack(&job, "eigen", 2 + 6 * n + 2 * n * n, 3 + 5 * n);
}
