#include "gemm_strips.h"
#include "grouped_tile.h"

#include <omp.h>

ct_status ct__strips_run(const ct__job *job)
{
    ct_device *dev = job->dev;
    const ct__group_code *code = ct__group_code_of(dev->isa, job->dtype);
    const int64_t all = job->m[2].cols, most = (all + CT__GROUP_STRIP - 1) / CT__GROUP_STRIP;
    const int64_t strips = job->members % dev->threads ? ct__min(most, dev->threads) : 1;
    const int64_t columns = (most + strips - 1) / strips * CT__GROUP_STRIP, work = job->members * strips;
    const int threads = (int)ct__min(work, dev->threads);
    size_t bytes = (size_t)threads * CT__GROUP_SCRATCH;
    char *scratch = ct__pool_get(dev, &bytes);
    if (!scratch) return CT_ENOMEM;
#pragma omp parallel for schedule(static) num_threads(ct__team(dev, threads))
    for (int64_t i = 0; i < work; i++) {
        const int64_t member = i / strips, from = i % strips * columns, n = ct__min(all - from, columns);
        if (n > 0)
            code->run_strip(job, ct__member(job, 0, member), ct__member(job, 1, member),
                            ct__member(job, 2, member), from, n,
                            scratch + (size_t)omp_get_thread_num() * CT__GROUP_SCRATCH);
    }
    ct__pool_put(dev, scratch, bytes);
    return CT_OK;
}
