#include "batch.h"
#include "kernel/microkernels.h"

#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <string.h>

bool ct__job_init(ct__job *job, ct_device *dev, int n, const ct_view *const *t)
{
    job->dev = dev;
    job->dtype = t[0]->dtype;
    job->n = n;
    job->members = 1;
    job->kernels = ct__microkernels_of(dev->isa, job->dtype);
    for (int k = 0; k < n; k++) {
        job->m[k] = ct__matrix_of(t[k], t[k]->ndim - 2);
        job->data[k] = t[k]->data;
    }
    job->ndim = ct__axis_list(n, t, 0, t[0]->ndim - 2, false, job->axis);
    for (int64_t d = 0; d < job->ndim; d++) job->members *= job->axis[d].dim;
    return job->members && job->m[n - 1].rows && job->m[n - 1].cols;
}

/* Chooses row-major with a leading dimension, or column-major, or packed. The stride of an extent of 1 may be
 * anything. */
static void choose_form(ct__matrix *m)
{
    int64_t row_ld = m->rows > 1 ? m->rs : m->cols, column_ld = m->cols > 1 ? m->cs : m->rows;
    bool row = (m->cs == 1 || m->cols <= 1) && row_ld >= m->cols && row_ld <= INT32_MAX;
    bool column = (m->rs == 1 || m->rows <= 1) && column_ld >= m->rows && column_ld <= INT32_MAX;
    m->packed = !row && !column;
    m->columns = !row && column;
    int64_t ld = row ? row_ld : column ? column_ld : m->cols;
    m->ld = ld > 1 ? (int)ld : 1;
}

ct_status ct__job_forms(ct__job *job, const char *name)
{
    for (int k = 0; k < job->n; k++) {
        ct__matrix *m = &job->m[k];
        if (m->rows > INT32_MAX || m->cols > INT32_MAX)
            return ct__fail(job->dev, CT_EUNSUPPORTED,
                            "%s: a matrix of %" PRId64 "x%" PRId64
                            " is beyond BLAS's 32-bit extents; split it into blocks",
                            name, m->rows, m->cols);
        choose_form(m);
    }
    return CT_OK;
}

static void copy_part(const ct__job *job, const ct__matrix *m, bool lower, const void *from, int64_t from_rs,
                      int64_t from_cs, void *to, int64_t to_rs, int64_t to_cs)
{
    if (!lower) {
        ct__copy_matrix(job->dev, job->dtype, m->rows, m->cols, from, from_rs, from_cs, to, to_rs, to_cs);
        return;
    }
    for (int64_t i = 0; i < m->rows; i++)
        ct__copy_matrix(job->dev, job->dtype, 1, i + 1, ct__at(from, job->dtype, i * from_rs), 0, from_cs,
                        ct__at(to, job->dtype, i * to_rs), 0, to_cs);
}

/* Keeps the failure of the lowest-numbered member, whichever thread reports first. */
static void note_failure(const ct__job *job, int64_t member, int64_t detail)
{
    ct_failure *first = job->failure;
    while (atomic_flag_test_and_set_explicit(job->failing, memory_order_acquire)) {
    }
    if (!first->set || member < first->member) ct__failure_set(first, member, detail, job->what, job->why);
    atomic_flag_clear_explicit(job->failing, memory_order_release);
}

static void run_member(const ct__job *job, int64_t member, char *scratch)
{
    void *given[CT__MATRICES], *data[CT__MATRICES + 2];
    data[job->n] = scratch;
    data[job->n + 1] = job->index ? job->index + member * job->m[0].rows : NULL;
    if (job->scratch) scratch += job->scratch;
    for (int k = 0; k < job->n; k++) {
        const ct__matrix *m = &job->m[k];
        given[k] = data[k] = ct__member(job, k, member);
        if (!m->packed) continue;
        data[k] = scratch;
        scratch = ct__at(scratch, job->dtype, m->rows * m->cols);
        if (k < job->n - 1 || job->reads_output)
            copy_part(job, m, k == job->n - 1 && job->lower_output, given[k], m->rs, m->cs, data[k], m->cols,
                      1);
    }
    int64_t detail = job->member(job, data);
    const ct__matrix *out = &job->m[job->n - 1];
    if (out->packed)
        copy_part(job, out, job->lower_output, data[job->n - 1], out->cols, 1, given[job->n - 1], out->rs,
                  out->cs);
    if (detail && job->failure) note_failure(job, member, job->first + detail);
}

/* Threads take expensive members one at a time; cheap members are divided evenly in advance. */
static void run_batch(const ct__job *job, int threads, char *scratch, size_t member_bytes)
{
    const int64_t n = job->members,
                  turn = job->work > job->dev->tuning->turn_work ? 1 : (n + threads - 1) / threads;
#pragma omp parallel for schedule(dynamic, turn) num_threads(threads)
    for (int64_t i = 0; i < n; i++)
        run_member(job, i, scratch ? scratch + (size_t)omp_get_thread_num() * member_bytes : NULL);
}

ct_status ct__job_run(ct__job *job)
{
    const int most = job->dev->threads;
    const bool many =
        job->serial ? job->members > 1 : job->members >= most && job->work < job->dev->tuning->member_work;
    const bool shared = most > 1 && many && job->work * (double)job->members > job->dev->tuning->wake_work;
    const int threads = shared ? ct__team(job->dev, job->members < most ? (int)job->members : most) : 1;
    size_t member_bytes = job->scratch = ct__aligned(job->scratch);
    for (int k = 0; k < job->n; k++)
        if (job->m[k].packed)
            member_bytes += (size_t)(job->m[k].rows * job->m[k].cols) * ct__size(job->dtype);
    member_bytes = ct__aligned(member_bytes);
    size_t bytes = member_bytes * (size_t)threads;
    char *scratch = NULL;
    if (bytes && !(scratch = ct__pool_get(job->dev, &bytes))) return CT_ENOMEM;
    ct_failure *failure = job->failure, first = { .set = false };
    atomic_flag failing = ATOMIC_FLAG_INIT;
    job->failure = failure && !failure->set ? &first : NULL;
    job->failing = &failing;

    const ct__blas_team before =
        ct__blas_begin(shared || job->serial || job->work <= job->dev->tuning->wake_work ? 1 : most);
    if (threads > 1)
        run_batch(job, threads, scratch, member_bytes);
    else
        for (int64_t i = 0; i < job->members; i++) run_member(job, i, scratch);
    ct__blas_end(&before);

    if (first.set) ct__failure_set(failure, first.member, first.detail, job->what, job->why);
    if (scratch) ct__pool_put(job->dev, scratch, bytes);
    return CT_OK;
}

ct_status ct__job_run_lapack(ct__job *job, const char *name, int64_t count, int64_t whole)
{
    if (ct__job_forms(job, name)) return CT_EUNSUPPORTED;
    if (count > INT32_MAX)
        return ct__fail(job->dev, CT_EUNSUPPORTED, "%s: such matrices are beyond LAPACK's 32-bit work array",
                        name);
    job->count = (int)count;
    job->scratch = (size_t)count * ct__size(job->dtype) + (size_t)whole * sizeof(int);
    return ct__job_run(job);
}

void ct__load(ct_dtype dtype, const void *data, const ct__matrix *m, double *to)
{
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t j = 0; j < m->cols; j++) *to++ = ct__get(dtype, data, i * m->rs + j * m->cs);
}

void ct__store(ct_dtype dtype, const double *from, const ct__matrix *m, void *data)
{
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t j = 0; j < m->cols; j++) ct__set(dtype, data, i * m->rs + j * m->cs, *from++);
}

void ct__fill_nan(const ct__job *job, int k, void *const *data)
{
    const ct__matrix *m = &job->m[k];
    const int64_t rs = m->packed ? m->cols : m->rs, cs = m->packed ? 1 : m->cs;
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t j = 0; j < (job->lower_output ? ct__min(i + 1, m->cols) : m->cols); j++)
            ct__set(job->dtype, data[k], i * rs + j * cs, NAN);
}

/* -- parts ----------------------------------------------------------------------------------------------- */

/* Runs rows or columns [first, first + parts * each) of the matrices in the bit mask `cut` as a batch of
 * `parts` members. */
static ct_status run_range(ct__job job, unsigned cut, bool columns, int64_t first, int64_t parts,
                           int64_t each)
{
    if (!each) return CT_OK;
    const ct__matrix *out = &job.m[job.n - 1];
    job.work *= (double)each / (double)(columns ? out->cols : out->rows);
    job.ndim = 1;
    job.members = parts;
    job.axis[0] = (ct__axis){ .dim = parts };
    for (int k = 0; k < job.n; k++) {
        if (!(cut >> k & 1)) continue;
        ct__matrix *m = &job.m[k];
        const int64_t step = columns ? m->cs : m->rs;
        job.data[k] = ct__at(job.data[k], job.dtype, first * step);
        job.axis[0].stride[k] = each * step;
        *(columns ? &m->cols : &m->rows) = each;
    }
    return ct__job_run(&job);
}

ct_status ct__job_run_parts(ct__job *job, unsigned cut, bool columns)
{
    const ct__matrix *out = &job->m[job->n - 1];
    const int64_t extent = columns ? out->cols : out->rows, threads = job->dev->threads,
                  each = extent / threads;
    const ct_status status = run_range(*job, cut, columns, 0, threads, each);
    return status ? status : run_range(*job, cut, columns, threads * each, 1, extent % threads);
}
