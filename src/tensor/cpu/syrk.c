/* syrk. To BLAS a row-major lower triangle is an upper one. */
#include "batch.h"
#include "blas.h"

static int64_t syrk_member(const ct__job *job, void *const *data)
{
    const ct__matrix *a = &job->m[0], *c = &job->m[1];
    blas_syrk(job->dtype, c->columns ? 'L' : 'U', a->columns ? 'N' : 'T', (int)a->rows, (int)a->cols,
              job->alpha, data[0], a->ld, job->beta, data[1], c->ld);
    return 0;
}

static int64_t loop_syrk_member(const ct__job *job, void *const *data)
{
    const ct__matrix *a = &job->m[0], *c = &job->m[1];
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0;
            for (int64_t l = 0; l < a->cols; l++)
                sum += ct__get(job->dtype, data[0], i * a->rs + l * a->cs) *
                       ct__get(job->dtype, data[0], j * a->rs + l * a->cs);
            ct__blend(job->dtype, job->alpha, sum, job->beta, data[1], i * c->rs + j * c->cs);
        }
    return 0;
}

ct_status ct__cpu_syrk(ct_device *dev, double alpha, const ct_view *a, double beta, ct_view *c)
{
    const ct_view *t[] = { a, c };
    ct__job job;
    ct__job_init(&job, dev, 2, t);
    job.alpha = alpha;
    job.beta = beta;
    job.reads_output = beta != 0;
    job.lower_output = true;
    int64_t n = job.m[0].rows, k = job.m[0].cols;
    if (!job.members || !n) return CT_OK;
    job.work = (double)n * (double)n * (double)k;
    if (n <= CT__SMALL && k <= CT__SMALL) {
        job.member = loop_syrk_member;
        return ct__job_run(&job);
    }
    ct_status status = ct__job_forms(&job, "syrk");
    if (status) return status;
    job.member = syrk_member;
    return ct__job_run(&job);
}
