/* Flags the members of a batch that have a number outside a domain: not positive and finite, zero, or not
 * finite. */
#include "batch.h"
#include "team.h"

#include <math.h>

static bool within(ct_domain domain, double value)
{
    return domain == CT_NONZERO ? fabs(value) > 0 : isfinite(value) && (domain == CT_FINITE || value > 0);
}

/* The place, from 1, of the first element of x (rows, 1) outside the domain; 0 if there is none. */
static int64_t outside(ct_domain domain, ct_dtype dtype, const void *x, int64_t rows, int64_t step)
{
    for (int64_t i = 0; i < rows; i++)
        if (!within(domain, ct__get(dtype, x, i * step))) return i + 1;
    return 0;
}

/* Whether n numbers are finite. Then all x - x are 0; the eight sums are vectors. */
static inline bool are_finite(ct_dtype dtype, const void *x, int64_t n)
{
    enum { LANES = 8 };
    double sum[LANES] = { 0 }, all = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) sum[k] += ct__get(dtype, x, i + k) - ct__get(dtype, x, i + k);
    for (; i < n; i++) all += ct__get(dtype, x, i) - ct__get(dtype, x, i);
    for (int k = 0; k < LANES; k++) all += sum[k];
    return all == 0;
}

/* Numbers that threads look through, each a part of them. */
typedef struct numbers {
    const void *data;
    ct_dtype dtype;
    int64_t n, each;
    atomic_bool *finite;
} numbers;

static void look_through(const void *context, int part)
{
    const numbers *x = context;
    const int64_t first = part * x->each, n = ct__min(x->each, x->n - first);
    const void *data = ct__at(x->data, x->dtype, first);
    if (n > 0 && !(x->dtype == CT_F64 ? are_finite(CT_F64, data, n) : are_finite(CT_F32, data, n)))
        atomic_store(x->finite, false);
}

/* Whether x is contiguous and finite, if that is the domain. */
static bool is_clean(ct_device *dev, ct_domain domain, const ct_view *x)
{
    if (domain != CT_FINITE || !ct__is_contiguous(x)) return false;
    atomic_bool finite = true;
    const int64_t n = ct__count(x);
    const int team = (double)n > dev->tuning->wake_work ? ct__team(dev, dev->threads) : 1;
    const numbers all = { x->data, x->dtype, n, (n + team - 1) / team, &finite };
    ct__each_part(team, look_through, &all);
    return finite;
}

static int64_t flag_member(const ct__job *job, void *const *data)
{
    const ct__matrix *x = &job->m[0];
    const int64_t place = outside((ct_domain)job->flags, job->dtype, data[0], x->rows, x->rs);
    if (place && job->n > 1) ct__fill_nan(job, 1, data);
    return place;
}

ct_status ct__cpu_flag(ct_device *dev, ct_domain domain, const ct_view *x, const char *what, const char *why,
                       ct_view *out, ct_failure *failure)
{
    if (!ct__count(x) || is_clean(dev, domain, x) ||
        (x->ndim == 2 && !outside(domain, x->dtype, x->data, x->dim[0], x->stride[0])))
        return CT_OK;
    ct__job job = {
        .flags = (unsigned)domain, .failure = failure, .member = flag_member, .what = what, .why = why
    };
    ct__job_init(&job, dev, out ? 2 : 1, (const ct_view *[]){ x, out });
    job.work = (double)job.m[0].rows;
    return ct__job_run(&job);
}
