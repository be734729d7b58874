/* QR factorisations, products with their Q, and the condition of a triangle.
 *
 * A column-major A = Q R is geqrf. LAPACK reads a row-major A as the column-major Aᵀ = Rᵀ Qᵀ, which is gelqf:
 * in place, with the same reflectors in the same elements. So a factor may be read in either layout. */
#include "batch.h"
#include "blas.h"

#include <math.h>

#define LAPACK(p)                                                                                            \
    void p##geqrf_(const int *, const int *, void *, const int *, void *, void *, const int *, int *);       \
    void p##gelqf_(const int *, const int *, void *, const int *, void *, void *, const int *, int *);       \
    void p##ormqr_(const char *, const char *, const int *, const int *, const int *, const void *,          \
                   const int *, const void *, void *, const int *, void *, const int *, int *);              \
    void p##ormlq_(const char *, const char *, const int *, const int *, const int *, const void *,          \
                   const int *, const void *, void *, const int *, void *, const int *, int *);              \
    void p##trcon_(const char *, const char *, const char *, const int *, const void *, const int *, void *, \
                   void *, int *, int *);
LAPACK(d)
LAPACK(s)
#undef LAPACK

/* The first column, from 1, with |R_jj| <= alpha max_i |R_ii|, or with NaN; else 0. */
static int64_t dependent_column(const ct__job *job, const ct__matrix *a, const void *data)
{
    double largest = 0;
    const int64_t n = ct__min(a->rows, a->cols);
    for (int64_t i = 0; i < n; i++) {
        const double size = fabs(ct__get(job->dtype, data, i * (a->ld + 1)));
        if (size > largest) largest = size; /* gcc 12 for arm64 fails on fmax here */
    }
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(ct__get(job->dtype, data, i * (a->ld + 1))) > job->alpha * largest)) return i + 1;
    return 0;
}

static int64_t qr_member(const ct__job *job, void *const *data)
{
    const ct__matrix *a = &job->m[1];
    const int rows = (int)a->rows, cols = (int)a->cols;
    int info = 0;
    if (a->columns)
        CT__ROUTINE(job->dtype, geqrf)(&rows, &cols, data[1], &a->ld, data[0], data[2], &job->count, &info);
    else
        CT__ROUTINE(job->dtype, gelqf)(&cols, &rows, data[1], &a->ld, data[0], data[2], &job->count, &info);
    const int64_t detail = job->alpha >= 0 ? dependent_column(job, a, data[1]) : 0;
    if (detail) ct__fill_nan(job, 1, data);
    return detail;
}

ct_status ct__cpu_qr(ct_device *dev, double rank_tolerance, ct_view *a, ct_view *tau, ct_failure *failure)
{
    ct__job job = { .alpha = rank_tolerance,
                    .failure = failure,
                    .reads_output = true,
                    .member = qr_member,
                    .what = "column %lld",
                    .why =
                        "depends on those before it to working precision, or has NaN: leave it out, or solve "
                        "with ct_ridge_solve" };
    if (!ct__job_init(&job, dev, 2, (const ct_view *[]){ tau, a })) return CT_OK;
    const double m = (double)job.m[1].rows, n = (double)job.m[1].cols;
    job.work = 2 * m * n * (m < n ? m : n);
    return ct__job_run_lapack(&job, "qr", job.m[1].cols * CT__LAPACK_PANEL, 0);
}

/* op(Q) C with Q = H₁ … H_k. For a row-major factor LAPACK's Q is our Qᵀ. LAPACK reads a row-major C as Cᵀ,
 * which is multiplied from the right by the transpose. Each case toggles `trans`. */
static int64_t qr_mul_member(const ct__job *job, void *const *data)
{
    const ct__matrix *a = &job->m[1], *c = &job->m[2];
    const int m = (int)(c->columns ? c->rows : c->cols), n = (int)(c->columns ? c->cols : c->rows);
    const int k = (int)ct__min(a->rows, a->cols);
    int info = 0;
    (a->columns ? CT__ROUTINE(job->dtype, ormqr) : CT__ROUTINE(job->dtype, ormlq))(
        c->columns ? "L" : "R", (job->flags != 0) ^ !a->columns ^ !c->columns ? "T" : "N", &m, &n, &k,
        data[1], &a->ld, data[0], data[2], &c->ld, data[3], &job->count, &info);
    return 0;
}

ct_status ct__cpu_qr_mul(ct_device *dev, bool trans, const ct_view *a, const ct_view *tau, ct_view *c)
{
    ct__job job = { .reads_output = true, .member = qr_mul_member, .flags = trans };
    if (!ct__job_init(&job, dev, 3, (const ct_view *[]){ tau, a, c }) || !job.m[1].cols) return CT_OK;
    const ct__matrix *m = job.m;
    job.work = 4 * (double)m[1].rows * (double)m[1].cols * (double)m[2].cols;
    return ct__job_run_lapack(&job, "qr", m[2].cols * CT__LAPACK_PANEL + 65 * CT__LAPACK_PANEL, 0);
}

static int64_t rcond_member(const ct__job *job, void *const *data)
{
    const ct__matrix *r = &job->m[0];
    const int n = (int)r->cols;
    int info = 0, *more = ct__at(data[2], job->dtype, 3 * (int64_t)n);
    ct__set(job->dtype, data[1], 0, 0);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(ct__get(job->dtype, data[0], i * (r->ld + 1)))) return 0;
    const char *uplo = r->columns ? "U" : "L";
    CT__ROUTINE(job->dtype, trcon)("1", uplo, "N", &n, data[0], &r->ld, data[1], data[2], more, &info);
    return 0;
}

ct_status ct__cpu_tri_rcond(ct_device *dev, const ct_view *r, ct_view *out)
{
    ct__job job = { .member = rcond_member };
    if (!ct__job_init(&job, dev, 2, (const ct_view *[]){ r, out })) return CT_OK;
    const int64_t n = job.m[0].cols;
    if (n == 0) return ct__cpu_fill(dev, out, 1);
    job.work = 10.0 * (double)n * (double)n;
    return ct__job_run_lapack(&job, "tri_rcond", 3 * n, n);
}
