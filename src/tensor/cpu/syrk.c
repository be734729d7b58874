/* syrk. BLAS reads a row-major lower triangle as an upper one. */
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
    ct__job job = {
        .alpha = alpha, .beta = beta, .reads_output = beta != 0, .lower_output = true, .member = syrk_member
    };
    if (!ct__job_init(&job, dev, 2, (const ct_view *[]){ a, c })) return CT_OK;
    int64_t n = job.m[0].rows, k = job.m[0].cols;
    job.work = (double)n * (double)n * (double)k;
    if (n <= CT__SMALL && k <= CT__SMALL)
        job.member = loop_syrk_member;
    else if (ct__job_forms(&job, "syrk"))
        return CT_EUNSUPPORTED;
    return ct__job_run(&job);
}
