/* QR factorisations, products with their Q, and how well a triangle is conditioned.
 *
 * A column-major A = Q R is geqrf. A row-major one is to LAPACK the column-major Aᵀ = Rᵀ Qᵀ: gelqf, in place,
 * with the same reflectors in the same elements. So a factor may be read in either layout. */
#include "batch.h"

#include <math.h>

#define LAPACK(p, T)                                                                                        \
    void p##geqrf_(const int *, const int *, T *, const int *, T *, T *, const int *, int *);               \
    void p##gelqf_(const int *, const int *, T *, const int *, T *, T *, const int *, int *);               \
    void p##ormqr_(const char *, const char *, const int *, const int *, const int *, const T *,            \
                   const int *, const T *, T *, const int *, T *, const int *, int *);                      \
    void p##ormlq_(const char *, const char *, const int *, const int *, const int *, const T *,            \
                   const int *, const T *, T *, const int *, T *, const int *, int *);                      \
    void p##trcon_(const char *, const char *, const char *, const int *, const T *, const int *, T *, T *, \
                   int *, int *);
LAPACK(d, double)
LAPACK(s, float)
#undef LAPACK

/* A job with what its members want beside the matrices. */
typedef struct qr_job {
    ct__job job;
    int count; /* elements of LAPACK's work array, at data[n] */
    bool trans;
    double rank_tolerance;
} qr_job;

static ct_status run_with_work(qr_job *w, int64_t count, size_t more_bytes)
{
    if (count > INT32_MAX)
        return ct__fail(w->job.dev, CT_EUNSUPPORTED, "qr: %lld columns are beyond LAPACK's 32-bit work array",
                        (long long)(count / CT__LAPACK_PANEL));
    w->count = (int)count;
    w->job.scratch = (size_t)count * ct_dtype_size(w->job.dtype) + more_bytes;
    return ct__job_run(&w->job);
}

/* The first column, from 1, whose part beyond those before it is nothing next to the largest; NaN is, too. */
static int64_t dependent_column(const qr_job *w, const ct__matrix *a, const void *data)
{
    double largest = 0;
    int64_t n = a->rows < a->cols ? a->rows : a->cols;
    for (int64_t i = 0; i < n; i++) {
        const double size = fabs(ct__get(w->job.dtype, data, i * (a->ld + 1)));
        if (size > largest) largest = size; /* gcc 12 for arm64 fails on fmax here */
    }
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(ct__get(w->job.dtype, data, i * (a->ld + 1))) > w->rank_tolerance * largest)) return i + 1;
    return 0;
}

static int64_t qr_member(const ct__job *job, void *const *data)
{
    const qr_job *w = (const qr_job *)job;
    const ct__matrix *a = &job->m[1];
    int rows = (int)a->rows, cols = (int)a->cols, info = 0;
    void *work = data[2];
    if (job->dtype == CT_F64 && a->columns)
        dgeqrf_(&rows, &cols, data[1], &a->ld, data[0], work, &w->count, &info);
    else if (job->dtype == CT_F64)
        dgelqf_(&cols, &rows, data[1], &a->ld, data[0], work, &w->count, &info);
    else if (a->columns)
        sgeqrf_(&rows, &cols, data[1], &a->ld, data[0], work, &w->count, &info);
    else
        sgelqf_(&cols, &rows, data[1], &a->ld, data[0], work, &w->count, &info);
    int64_t detail = w->rank_tolerance >= 0 ? dependent_column(w, a, data[1]) : 0;
    if (detail) ct__fill_nan(&job->m[1], job->dtype, data[1]);
    return detail;
}

ct_status ct__cpu_qr(ct_device *dev, double rank_tolerance, ct_view *a, ct_view *tau, ct_failure *failure)
{
    const ct_view *t[] = { tau, a };
    qr_job w = { .rank_tolerance = rank_tolerance };
    ct__job *job = &w.job;
    ct__job_init(job, dev, 2, t);
    double m = (double)job->m[1].rows, n = (double)job->m[1].cols;
    if (!job->members || m == 0 || n == 0) return CT_OK;
    ct_status status = ct__job_forms(job, "qr");
    if (status) return status;
    job->failure = failure;
    job->reads_output = true;
    job->work = 2 * m * n * (m < n ? m : n);
    job->member = qr_member;
    job->what = "column %lld";
    job->why = "depends on those before it to working precision, or has NaN: leave it out, or solve with "
               "ct_ridge_solve";
    return run_with_work(&w, job->m[1].cols * CT__LAPACK_PANEL, 0);
}

/* op(Q) C with Q = H₁ … H_k. Of a row-major factor LAPACK's Q is ours transposed; a row-major C is Cᵀ to
 * LAPACK, which Q meets from the right, transposed once more. */
static int64_t qr_mul_member(const ct__job *job, void *const *data)
{
    const qr_job *w = (const qr_job *)job;
    const ct__matrix *a = &job->m[1], *c = &job->m[2];
    int m = (int)(c->columns ? c->rows : c->cols), n = (int)(c->columns ? c->cols : c->rows), info = 0;
    int k = (int)(a->rows < a->cols ? a->rows : a->cols);
    char side = c->columns ? 'L' : 'R', trans = w->trans ^ !a->columns ^ !c->columns ? 'T' : 'N';
    void *work = data[3];
    if (job->dtype == CT_F64)
        (a->columns ? dormqr_ : dormlq_)(&side, &trans, &m, &n, &k, data[1], &a->ld, data[0], data[2], &c->ld,
                                         work, &w->count, &info);
    else
        (a->columns ? sormqr_ : sormlq_)(&side, &trans, &m, &n, &k, data[1], &a->ld, data[0], data[2], &c->ld,
                                         work, &w->count, &info);
    return 0;
}

ct_status ct__cpu_qr_mul(ct_device *dev, bool trans, const ct_view *a, const ct_view *tau, ct_view *c)
{
    const ct_view *t[] = { tau, a, c };
    qr_job w = { .trans = trans };
    ct__job *job = &w.job;
    ct__job_init(job, dev, 3, t);
    double m = (double)job->m[1].rows, n = (double)job->m[1].cols, k = (double)job->m[2].cols;
    if (!job->members || m == 0 || n == 0 || k == 0) return CT_OK;
    ct_status status = ct__job_forms(job, "qr");
    if (status) return status;
    job->reads_output = true;
    job->work = 4 * m * n * k;
    job->member = qr_mul_member;
    return run_with_work(&w, job->m[2].cols * CT__LAPACK_PANEL + 65 * CT__LAPACK_PANEL, 0);
}

static int64_t rcond_member(const ct__job *job, void *const *data)
{
    const ct__matrix *r = &job->m[0];
    int n = (int)r->cols, info = 0;
    bool finite = true;
    char uplo = r->columns ? 'U' : 'L';
    char *work = data[2];
    int *more = (int *)(work + (size_t)3 * (size_t)n * ct_dtype_size(job->dtype));
    for (int64_t i = 0; i < n && finite; i++)
        finite = isfinite(ct__get(job->dtype, data[0], i * (r->ld + 1)));
    if (job->dtype == CT_F64) {
        double *out = data[1];
        *out = 0;
        if (finite) dtrcon_("1", &uplo, "N", &n, data[0], &r->ld, out, (double *)work, more, &info);
    } else {
        float *out = data[1];
        *out = 0;
        if (finite) strcon_("1", &uplo, "N", &n, data[0], &r->ld, out, (float *)work, more, &info);
    }
    return 0;
}

ct_status ct__cpu_tri_rcond(ct_device *dev, const ct_view *r, ct_view *out)
{
    const ct_view *t[] = { r, out };
    qr_job w = { .trans = false };
    ct__job *job = &w.job;
    ct__job_init(job, dev, 2, t);
    int64_t n = job->m[0].cols;
    if (!job->members) return CT_OK;
    if (n == 0) return ct__cpu_fill(dev, 1, out);
    ct_status status = ct__job_forms(job, "tri_rcond");
    if (status) return status;
    job->work = 10.0 * (double)n * (double)n;
    job->member = rcond_member;
    return run_with_work(&w, 3 * n, (size_t)n * sizeof(int));
}
