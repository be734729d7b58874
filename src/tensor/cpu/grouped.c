/* Products of many groups of rows, each group with a matrix of its own. Rows are read and written in place,
 * and a group's matrix stays in the cache. The work is divided into pieces of equal cost, whatever the sizes
 * of the groups. */
#include "grouped_half.h"
#include "half.h"

#include <inttypes.h>
#include <omp.h>

#if CT__X86
#    include <immintrin.h>
/* Makes streamed results visible to other threads. */
#    define FENCE() _mm_sfence()
#else
#    define FENCE() ((void)0)
#endif

static ct__run_rows *kernel_of(int isa, ct_dtype dtype)
{
    return ct__is_half(dtype) ? ct__grouped_half : ct__group_code_of(isa, dtype)->run_rows;
}

/* Its bytes of scratch. */
static size_t scratch_of(const ct__grouped *q)
{
    return CT__GROUP_SCRATCH + (ct__is_half(q->dtype) ? ct__grouped_half_scratch(q) : 0);
}

/* -- dividing the work into pieces ----------------------------------------------------------------------- */

/* Where a piece begins: row `row` of group `group`. */
typedef struct place {
    int64_t group, row;
} place;

/* The cost of all groups before m: their rows, and CT__GROUP_COST for each group. */
static int64_t cost_before(const ct__grouped *q, int64_t m)
{
    return q->offset[m] * q->I + m * CT__GROUP_COST;
}

/* The place at which `cost` of the work is done. A cut between a group's last row and its end moves to the
 * next group. */
static place cut(const ct__grouped *q, int64_t cost)
{
    int64_t low = 0, high = q->M; /* cost_before(low) <= cost */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (cost_before(q, middle) <= cost)
            low = middle;
        else
            high = middle;
    }
    if (cost >= cost_before(q, q->M)) return (place){ q->M, 0 };
    int64_t row = cost - cost_before(q, low);
    return row > 0 && row >= ct__group_rows(q, low) ? (place){ low + 1, 0 } : (place){ low, row };
}

/* Partial sums of D_m for groups that are split between pieces, `bytes` each, two for a piece. The head
 * belongs to a group that began in an earlier piece; the tail to a group that continues in the next. bf16 and
 * f16 need tails, because their sums stay f32 until the group is complete. f64 and f32 write the tail to D
 * itself, and the heads are added there. */
typedef struct sums {
    char *data;
    size_t bytes;
} sums;

static void *head_of(const sums *s, int piece) { return s->data + 2 * (size_t)piece * s->bytes; }
static void *tail_of(const sums *s, int piece) { return s->data + (2 * (size_t)piece + 1) * s->bytes; }

/* Runs piece `piece`, from its place to the next one's. */
static void run_piece(const ct__grouped *q, ct__run_rows *run, const place *from, int piece, const sums *s,
                      void *scratch)
{
    const place begin = from[piece], end = from[piece + 1];
    const size_t bytes = (size_t)(q->J * q->K) * ct__size(q->dtype);
    for (int64_t m = begin.group; m < q->M && (m < end.group || (m == end.group && end.row > 0)); m++) {
        const int64_t rows = ct__group_rows(q, m), start = m == begin.group ? begin.row : 0,
                      stop = m == end.group ? end.row : rows;
        void *D = NULL;
        if (q->D)
            D = start                                  ? head_of(s, piece)
                : stop < rows && ct__is_half(q->dtype) ? tail_of(s, piece)
                                                       : (char *)q->D + (size_t)m * bytes;
        if (D && stop <= start) memset(D, 0, start ? s->bytes : bytes);
        if (stop > start) run(q, m, start, stop, D, scratch);
    }
    FENCE();
}

/* Adds up D of the groups that were split, in the order of the pieces. */
static void add_heads(const ct__grouped *q, const place *from, int pieces, const sums *s)
{
    const int64_t n = q->J * q->K;
    for (int c = 1; c < pieces; c++) {
        if (!from[c].row) continue;
        void *head = head_of(s, c), *D = ct__at(q->D, q->dtype, from[c].group * n);
        if (q->dtype == CT_F64) {
            for (int64_t k = 0; k < n; k++) ((double *)D)[k] += ((const double *)head)[k];
        } else if (q->dtype == CT_F32) {
            for (int64_t k = 0; k < n; k++) ((float *)D)[k] += ((const float *)head)[k];
        } else {
            const bool second = from[c - 1].group < from[c].group || !from[c - 1].row;
            const float *before = second ? tail_of(s, c - 1) : head_of(s, c - 1);
            for (int64_t k = 0; k < n; k++) ((float *)head)[k] += before[k];
            if (from[c + 1].group != from[c].group) ct__narrow(q->isa, q->dtype, n, head, D);
        }
    }
}

static ct_status run_all(ct_device *dev, ct__grouped *q)
{
    const int64_t total = cost_before(q, q->M), row_work = q->J * q->K, size = (int64_t)ct__size(q->dtype);
    if (!q->M || (!q->out && !row_work)) return CT_OK;
    q->isa = dev->isa;
    q->stream_out = q->N * q->I * (q->G ? q->J : q->K) * size >= dev->tuning->grouped_cache;
    q->stream_D = q->M * row_work * size >= dev->tuning->grouped_cache;
    bool alone = dev->threads < 2 || total <= dev->tuning->grouped_alone / (row_work > 0 ? row_work : 1);
    int threads = alone ? 1 : dev->threads, pieces = alone ? 1 : threads * CT__GROUP_CUTS;
    const size_t place_bytes = ct__aligned((size_t)(pieces + 1) * sizeof(place)),
                 thread_bytes = ct__aligned(scratch_of(q));
    sums s = { .bytes = q->D && pieces > 1 ? ct__aligned((size_t)(row_work * (size > 4 ? size : 4))) : 0 };
    size_t bytes = place_bytes + (size_t)threads * thread_bytes + 2 * (size_t)pieces * s.bytes;
    char *memory = ct__pool_get(dev, &bytes);
    if (!memory) return CT_ENOMEM;
    place *from = (place *)(void *)memory;
    char *scratch = memory + place_bytes;
    s.data = scratch + (size_t)threads * thread_bytes;
    ct__run_rows *run = kernel_of(q->isa, q->dtype);
    for (int c = 0; c <= pieces; c++) from[c] = cut(q, ct__part(total, pieces, c));
    if (alone) {
        run_piece(q, run, from, 0, &s, scratch);
    } else {
        int next = 0; /* the next piece to take */
#pragma omp parallel for schedule(static, 1) num_threads(ct__team(dev, threads))
        for (int t = 0; t < threads; t++)
            for (;;) {
                int c;
#pragma omp atomic capture
                c = next++;
                if (c >= pieces) break;
                run_piece(q, run, from, c, &s, scratch + (size_t)t * thread_bytes);
            }
        if (q->D) add_heads(q, from, pieces, &s);
    }
    ct__pool_put(dev, memory, bytes);
    return CT_OK;
}

/* -- groups ---------------------------------------------------------------------------------------------- */

ct_status ct__cpu_group_by(ct_device *dev, const ct_view *index, ct_view *groups)
{
    int64_t N = index->dim[0], M = groups->dim[0] - 1 - N, step = index->stride[0];
    const int64_t *q = index->data;
    int64_t *offset = groups->data, *order = offset + M + 1;
    memset(offset, 0, (size_t)(M + 1) * sizeof *offset);
    for (int64_t i = 0; i < N; i++) {
        int64_t m = q[i * step];
        if (m < 0 || m >= M)
            return ct__fail(dev, CT_EINDEX, "index[%" PRId64 "] = %" PRId64 " is outside [0, %" PRId64 ")", i,
                            m, M);
        offset[m]++;
    }
    for (int64_t m = 1; m <= M; m++)
        offset[m] += offset[m - 1]; /* the groups' ends; the next loop turns them into beginnings */
    for (int64_t i = N; i-- > 0;) order[--offset[q[i * step]]] = i;
    return CT_OK;
}

/* Takes the groups after checking their bounds, so that all reads and writes stay inside the arrays. */
static ct_status take_groups(ct_device *dev, const ct_view *groups, ct__grouped *q)
{
    q->offset = groups->data;
    q->order = q->offset + q->M + 1;
    bool ok = q->offset[0] == 0 && q->offset[q->M] == q->N;
    for (int64_t m = 0; m < q->M; m++) ok &= q->offset[m] <= q->offset[m + 1];
    for (int64_t i = 0; i < q->N; i++) ok &= (uint64_t)q->order[i] < (uint64_t)q->N;
    if (ok) return CT_OK;
    return ct__fail(dev, CT_EINDEX,
                    "the groups do not divide %" PRId64 " rows into %" PRId64
                    " groups: make them with ct_group_by",
                    q->N, q->M);
}

ct_status ct__cpu_grouped_gemm(ct_device *dev, const ct_view *A, const ct_view *C, const ct_view *groups,
                               ct_view *out)
{
    ct__grouped q = { .N = A->dim[0],
                      .M = C->dim[0],
                      .I = A->dim[1],
                      .J = C->dim[1],
                      .K = C->dim[2],
                      .A = A->data,
                      .C = C->data,
                      .out = out->data,
                      .dtype = C->dtype };
    ct_status status = take_groups(dev, groups, &q);
    if (status || !q.I || !q.K) return status;
    return run_all(dev, &q);
}

ct_status ct__cpu_grouped_gemm_bar(ct_device *dev, const ct_view *A, const ct_view *C, const ct_view *G,
                                   const ct_view *groups, ct_view *A_bar, ct_view *C_bar)
{
    const ct_view *matrices = C ? C : C_bar;
    ct__grouped q = { .N = G->dim[0],
                      .M = matrices->dim[0],
                      .I = G->dim[1],
                      .J = matrices->dim[1],
                      .K = G->dim[2],
                      .A = A ? A->data : NULL,
                      .C = C ? C->data : NULL,
                      .G = G->data,
                      .out = A_bar ? A_bar->data : NULL,
                      .D = C_bar ? C_bar->data : NULL,
                      .dtype = G->dtype };
    ct_status status = take_groups(dev, groups, &q);
    return status ? status : run_all(dev, &q);
}
