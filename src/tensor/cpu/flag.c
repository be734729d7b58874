/* Numbers that must be positive, not zero, or finite: the members that have another are flagged. */
#include "batch.h"

#include <math.h>

static bool within(ct_domain domain, double value)
{
    return domain == CT_FINITE ? isfinite(value) : (domain == CT_NONZERO ? fabs(value) : value) > 0;
}

/* The first place, from 1, of an x (rows, 1) outside the domain; 0: none */
static int64_t flag_member(const ct__job *job, void *const *data)
{
    const ct__matrix *x = &job->m[0];
    for (int64_t i = 0; i < x->rows; i++) {
        if (within((ct_domain)job->flags, ct__get(job->dtype, data[0], i * x->rs))) continue;
        if (job->n > 1) ct__fill_nan(job, 1, data);
        return i + 1;
    }
    return 0;
}

ct_status ct__cpu_flag(ct_device *dev, ct_domain domain, const ct_view *x, const char *what, const char *why,
                       ct_view *out, ct_failure *failure)
{
    ct__job job = {
        .flags = (unsigned)domain, .failure = failure, .member = flag_member, .what = what, .why = why
    };
    ct__job_init(&job, dev, out ? 2 : 1, (const ct_view *[]){ x, out });
    job.work = (double)job.m[0].rows;
    return ct__job_run(&job);
}
