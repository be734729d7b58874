/* The kernels of grouped products in f64 and f32, and plain products of few rows by the same kernels. */
#include "grouped.h"
#include "kernel/isa.h"

#include <omp.h>

/* What to prefetch. Rows are scattered, so the hardware's prefetcher cannot predict them. */
typedef struct ahead {
    const ct__grouped *q;
    int64_t row;   /* in group order: CT__GROUP_AHEAD after the block's first row */
    const char *C; /* the next group's matrix, or NULL                            */
    int64_t C_bytes, C_rows;
} ahead;

static ahead look_ahead(const ct__grouped *q, int64_t m, int64_t at, int64_t rows)
{
    int64_t bytes = q->J * q->K * (int64_t)ct_dtype_size(q->dtype);
    ahead next = { q, q->offset[m] * q->I + at + CT__GROUP_AHEAD, NULL, bytes, rows };
    if (q->C && m + 1 < q->M && (rows >= 8 || q->G) && bytes <= CT__GROUP_FETCHED)
        next.C = (const char *)q->C + (m + 1) * bytes;
    return next;
}

static inline void fetch_bytes(const char *from, int64_t bytes)
{
    for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(from + b, 0, 2);
}

/* Prefetches for n rows from row r of a block on. */
static inline void fetch(const ahead *next, int64_t r, int64_t n)
{
    const ct__grouped *q = next->q;
    int64_t size = (int64_t)ct_dtype_size(q->dtype), J = q->J * size, K = q->K * size, row = next->row + r;
    if (next->C) {
        int64_t from = next->C_bytes / 64 * r / next->C_rows * 64;
        fetch_bytes(next->C + from, next->C_bytes / 64 * (r + n) / next->C_rows * 64 - from);
    }
    if (J + K > CT__GROUP_FETCHED / 16) return;
    for (int64_t i = row / q->I, sub = row % q->I; n > 0 && i < q->N; n--) {
        int64_t at = q->order[i] * q->I + sub;
        if (q->A) fetch_bytes((const char *)q->A + at * J, J);
        if (q->G) fetch_bytes((const char *)q->G + at * K, K);
        if (q->out && !q->stream_out) fetch_bytes((const char *)q->out + at * (q->G ? J : K), q->G ? J : K);
        if (++sub == q->I) sub = 0, i++;
    }
}

#define PANEL       ((int64_t)(CT__GROUP_PANEL / sizeof(T)))
#define VECTOR_CODE "tensor/cpu/grouped_tile.h"
#include "kernel/each_isa.h"

ct__run_rows *ct__grouped_rows(int isa, ct_dtype dtype)
{
    static ct__run_rows *const runs[][CT__ISA_COUNT] = CT__EACH(run_rows);
    return runs[dtype][isa];
}

/* -- plain products of few rows -------------------------------------------------------------------------- */

ct_status ct__strips_run(const ct__job *job)
{
    static void (*const run[][CT__ISA_COUNT])(const ct__job *, const void *, const void *, void *, int64_t,
                                              int64_t, void *) = CT__EACH(run_strip);
    ct_device *dev = job->dev;
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
            run[job->dtype][dev->isa](job, ct__member(job, 0, member), ct__member(job, 1, member),
                                      ct__member(job, 2, member), from, n,
                                      scratch + (size_t)omp_get_thread_num() * CT__GROUP_SCRATCH);
    }
    ct__pool_put(dev, scratch, bytes);
    return CT_OK;
}
