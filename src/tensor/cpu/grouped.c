/* Products of many small groups of rows with one matrix each: rows are read and written where they lie, a group's matrix
 * stays in the cache, and the work is cut into pieces of equal cost, whatever the sizes of the groups. */
#include "cpu.h"
#include "vmath.h"

#include <inttypes.h>

#if defined(__x86_64__) && defined(__GNUC__)
#    include <immintrin.h>
/* Streamed results are in memory before another thread looks. */
#    define FENCE() _mm_sfence()
#else
#    define FENCE() ((void)0)
#endif

enum {
    TILE = 6,          /* rows of a tile                                                     */
    ROWS = 96,         /* of one group worked on together: they stay in the cache            */
    DEPTH = 256,       /* inner extent of a packed panel                                     */
    AHEAD = 32,        /* rows between the one worked on and the one asked for               */
    FETCHED = 1 << 16, /* bytes of a matrix that are asked for ahead, at most                */
    CACHE = 1 << 23,   /* bytes of results that need not pass through the caches             */
    CUTS = 4,          /* pieces of work for each thread                                     */
    GROUP = 8,         /* what a group costs beside its rows, in rows                        */
    SMALL = 1 << 15,   /* multiplications that one thread had better do alone                */
    PANEL_BYTES = DEPTH * 4 * 64,
    SCRATCH_BYTES = PANEL_BYTES + ROWS * 4 * 64,
};

/* Forward: out_i = A_i C_m. Backward, where G is given: out_i = G_i C_mᵀ (NULL: not wanted) and D_m = Σ A_iᵀ G_i. */
typedef struct problem {
    int64_t N, M, I, J, K;
    const int64_t *offset, *order;
    const void *A, *C, *G;
    void *out, *D;
    ct_dtype dtype;
    bool stream_out, stream_D; /* past the caches, straight to memory */
} problem;

/* One instruction set and type: rows [start, stop) of group m. */
typedef void run_rows(const problem *q, int64_t m, int64_t start, int64_t stop, void *D, void *panel);

/* What is wanted soon: rows lie anywhere, which the hardware does not foresee. */
typedef struct ahead {
    const problem *q;
    int64_t row;   /* of all rows in order: AHEAD behind a block's first */
    const char *C; /* of the next group, NULL: none                      */
    int64_t C_bytes, C_rows;
} ahead;

static ahead look_ahead(const problem *q, int64_t m, int64_t at, int64_t rows)
{
    int64_t bytes = q->J * q->K * (int64_t)ct_dtype_size(q->dtype);
    ahead next = { q, q->offset[m] * q->I + at + AHEAD, NULL, bytes, rows };
    if (q->C && m + 1 < q->M && (rows >= 8 || q->G) && bytes <= FETCHED)
        next.C = (const char *)q->C + (m + 1) * bytes;
    return next;
}

static inline void fetch_bytes(const char *from, int64_t bytes)
{
    for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(from + b, 0, 2);
}

/* Asks for what n rows from row r of a block will want. */
static inline void fetch(const ahead *next, int64_t r, int64_t n)
{
    const problem *q = next->q;
    int64_t size = (int64_t)ct_dtype_size(q->dtype), J = q->J * size, K = q->K * size, row = next->row + r;
    if (next->C) {
        int64_t from = next->C_bytes / 64 * r / next->C_rows * 64;
        fetch_bytes(next->C + from, next->C_bytes / 64 * (r + n) / next->C_rows * 64 - from);
    }
    if (J + K > FETCHED / 16) return;
    for (int64_t i = row / q->I, sub = row % q->I; n > 0 && i < q->N; n--) {
        int64_t at = q->order[i] * q->I + sub;
        if (q->A) fetch_bytes((const char *)q->A + at * J, J);
        if (q->G) fetch_bytes((const char *)q->G + at * K, K);
        if (q->out && !q->stream_out) fetch_bytes((const char *)q->out + at * (q->G ? J : K), q->G ? J : K);
        if (++sub == q->I) sub = 0, i++;
    }
}

#define PANEL         ((int64_t)(PANEL_BYTES / sizeof(T)))
#define ZIP2(a, b, h) __builtin_shufflevector(a, b, h, 2 + h)
#define ZIP4(a, b, h) __builtin_shufflevector(a, b, h, 4 + h, h + 1, 5 + h)
#define ZIP8(a, b, h) __builtin_shufflevector(a, b, h, 8 + h, h + 1, 9 + h, h + 2, 10 + h, h + 3, 11 + h)
#define ZIP16(a, b, h)                                                                                   \
    __builtin_shufflevector(a, b, h, 16 + h, h + 1, 17 + h, h + 2, 18 + h, h + 3, 19 + h, h + 4, 20 + h, \
                            h + 5, 21 + h, h + 6, 22 + h, h + 7, 23 + h)

/* -- any machine: 16 bytes ------------------------------------------------------------------------------------------- */

#define TARGET
#define WIDE          2
#define MAD(a, b, c)  ((a) * (b) + (c))
#define STREAM(to, v) (*(to) = (v))

#define T              double
#define NAME(n)        n##_f64_base
#define LANES          2
#define ZIP_LOW(a, b)  ZIP2(a, b, 0)
#define ZIP_HIGH(a, b) ZIP2(a, b, 1)
#include "grouped_tile.h"
#undef T
#undef NAME
#undef LANES
#undef ZIP_LOW
#undef ZIP_HIGH

#define T              float
#define NAME(n)        n##_f32_base
#define LANES          4
#define ZIP_LOW(a, b)  ZIP4(a, b, 0)
#define ZIP_HIGH(a, b) ZIP4(a, b, 2)
#include "grouped_tile.h"
#undef T
#undef NAME
#undef LANES
#undef ZIP_LOW
#undef ZIP_HIGH

#undef TARGET
#undef WIDE
#undef MAD
#undef STREAM

#if defined(__x86_64__) && defined(__GNUC__)
/* -- 32 bytes with fused multiply-adds ------------------------------------------------------------------------------- */

#    define TARGET __attribute__((target("avx2,fma")))
#    define WIDE   2

#    define T              double
#    define NAME(n)        n##_f64_avx2
#    define LANES          4
#    define ZIP_LOW(a, b)  ZIP4(a, b, 0)
#    define ZIP_HIGH(a, b) ZIP4(a, b, 2)
#    define MAD(a, b, c)   ((vec_f64_avx2)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#    define STREAM(to, v)  _mm256_stream_pd((void *)(to), (__m256d)(v))
#    include "grouped_tile.h"
#    undef T
#    undef NAME
#    undef LANES
#    undef ZIP_LOW
#    undef ZIP_HIGH
#    undef MAD
#    undef STREAM

#    define T              float
#    define NAME(n)        n##_f32_avx2
#    define LANES          8
#    define ZIP_LOW(a, b)  ZIP8(a, b, 0)
#    define ZIP_HIGH(a, b) ZIP8(a, b, 4)
#    define MAD(a, b, c)   ((vec_f32_avx2)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#    define STREAM(to, v)  _mm256_stream_ps((void *)(to), (__m256)(v))
#    include "grouped_tile.h"
#    undef T
#    undef NAME
#    undef LANES
#    undef ZIP_LOW
#    undef ZIP_HIGH
#    undef MAD
#    undef STREAM

#    undef TARGET
#    undef WIDE

/* -- 64 bytes -------------------------------------------------------------------------------------------------------- */

#    define TARGET __attribute__((target("avx2,fma,avx512f,avx512dq,avx512bw,avx512vl")))
#    define WIDE   4

#    define T              double
#    define NAME(n)        n##_f64_avx512
#    define LANES          8
#    define ZIP_LOW(a, b)  ZIP8(a, b, 0)
#    define ZIP_HIGH(a, b) ZIP8(a, b, 4)
#    define MAD(a, b, c)   ((vec_f64_avx512)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#    define STREAM(to, v)  _mm512_stream_pd((void *)(to), (__m512d)(v))
#    include "grouped_tile.h"
#    undef T
#    undef NAME
#    undef LANES
#    undef ZIP_LOW
#    undef ZIP_HIGH
#    undef MAD
#    undef STREAM

#    define T              float
#    define NAME(n)        n##_f32_avx512
#    define LANES          16
#    define ZIP_LOW(a, b)  ZIP16(a, b, 0)
#    define ZIP_HIGH(a, b) ZIP16(a, b, 8)
#    define MAD(a, b, c)   ((vec_f32_avx512)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#    define STREAM(to, v)  _mm512_stream_ps((void *)(to), (__m512)(v))
#    include "grouped_tile.h"
#    undef T
#    undef NAME
#    undef LANES
#    undef ZIP_LOW
#    undef ZIP_HIGH
#    undef MAD
#    undef STREAM

#    undef TARGET
#    undef WIDE

static run_rows *best_run(ct_dtype dtype)
{
    bool f64 = dtype == CT_F64;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return f64 ? run_rows_f64_base : run_rows_f32_base;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return f64 ? run_rows_f64_avx512 : run_rows_f32_avx512;
    return f64 ? run_rows_f64_avx2 : run_rows_f32_avx2;
}
#else
static run_rows *best_run(ct_dtype dtype) { return dtype == CT_F64 ? run_rows_f64_base : run_rows_f32_base; }
#endif

/* -- cutting the work into pieces -------------------------------------------------------------------------------------- */

/* Row `row` of group `group`: where a piece begins. */
typedef struct place {
    int64_t group, row;
} place;

static int64_t rows_of(const problem *q, int64_t m) { return (q->offset[m + 1] - q->offset[m]) * q->I; }

/* What comes before group m: its rows, and GROUP for each group. */
static int64_t cost_before(const problem *q, int64_t m) { return q->offset[m] * q->I + m * GROUP; }

/* The place after `cost` of the work. A piece that ends behind a group's rows has all of the group. */
static place cut(const problem *q, int64_t cost)
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
    return row > 0 && row >= rows_of(q, low) ? (place){ low + 1, 0 } : (place){ low, row };
}

/* The work from one place to another. The sums of a group that began before go to `head`. */
static void run_piece(const problem *q, run_rows *run, place from, place to, char *head, char *panel)
{
    size_t bytes = (size_t)(q->J * q->K) * ct_dtype_size(q->dtype);
    for (int64_t m = from.group; m < q->M && (m < to.group || (m == to.group && to.row > 0)); m++) {
        int64_t start = m == from.group ? from.row : 0, stop = m == to.group ? to.row : rows_of(q, m);
        char *D = !q->D ? NULL : start ? head : (char *)q->D + (size_t)m * bytes;
        if (D && stop <= start) memset(D, 0, bytes);
        if (stop > start) run(q, m, start, stop, D, panel);
    }
    FENCE();
}

static void add_heads(const problem *q, const place *from, int pieces, const char *heads, size_t bytes)
{
    int64_t n = q->J * q->K;
    for (int c = 0; c < pieces; c++) {
        if (!from[c].row) continue;
        const void *head = heads + (size_t)c * bytes;
        if (q->dtype == CT_F64)
            for (int64_t k = 0; k < n; k++)
                ((double *)q->D)[from[c].group * n + k] += ((const double *)head)[k];
        else
            for (int64_t k = 0; k < n; k++)
                ((float *)q->D)[from[c].group * n + k] += ((const float *)head)[k];
    }
}

static ct_status run_all(ct_device *dev, problem *q)
{
    int64_t total = cost_before(q, q->M), row_work = q->J * q->K;
    if (!q->M || (!q->out && !row_work)) return CT_OK;
    int64_t size = (int64_t)ct_dtype_size(q->dtype);
    q->stream_out = q->N * q->I * (q->G ? q->J : q->K) * size >= CACHE;
    q->stream_D = q->M * row_work * size >= CACHE;
    bool alone = dev->threads < 2 || total <= SMALL / (row_work > 0 ? row_work : 1);
    int threads = alone ? 1 : dev->threads, pieces = alone ? 1 : threads * CUTS;
    size_t head_bytes = (size_t)row_work * ct_dtype_size(q->dtype) * (q->D && pieces > 1);
    head_bytes = (head_bytes + CT__ALIGNMENT - 1) / CT__ALIGNMENT * CT__ALIGNMENT;
    size_t place_bytes =
        ((size_t)(pieces + 1) * sizeof(place) + CT__ALIGNMENT - 1) / CT__ALIGNMENT * CT__ALIGNMENT;
    size_t bytes = place_bytes + (size_t)threads * SCRATCH_BYTES + (size_t)pieces * head_bytes;
    char *scratch = ct__pool_get(dev, &bytes);
    if (!scratch) return CT_ENOMEM;
    place *from = (place *)(void *)scratch;
    char *panels = scratch + place_bytes, *heads = panels + (size_t)threads * SCRATCH_BYTES;
    run_rows *run = best_run(q->dtype);
    for (int c = 0; c <= pieces; c++) from[c] = cut(q, total / pieces * c + total % pieces * c / pieces);
    if (alone) {
        run_piece(q, run, from[0], from[1], heads, panels);
    } else {
        int next = 0; /* the piece that nobody has taken yet */
#pragma omp parallel for schedule(static, 1) num_threads(threads)
        for (int t = 0; t < threads; t++)
            for (;;) {
                int c;
#pragma omp atomic capture
                c = next++;
                if (c >= pieces) break;
                run_piece(q, run, from[c], from[c + 1], heads + (size_t)c * head_bytes,
                          panels + (size_t)t * SCRATCH_BYTES);
            }
        if (q->D) add_heads(q, from, pieces, heads, head_bytes);
    }
    ct__pool_put(dev, scratch, bytes);
    return CT_OK;
}

/* -- groups ----------------------------------------------------------------------------------------------------------- */

ct_status ct__cpu_group_by(ct_device *dev, const ct_tensor *index, ct_tensor *groups)
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
    int64_t before = 0;
    for (int64_t m = 0; m <= M; m++) {
        int64_t n = offset[m];
        offset[m] = before;
        before += n;
    }
    for (int64_t i = 0; i < N; i++) order[offset[q[i * step]]++] = i;
    for (int64_t m = M; m > 0; m--) offset[m] = offset[m - 1];
    offset[0] = 0;
    return CT_OK;
}

/* Groups within their bounds: what is read and written lies inside. */
static ct_status take_groups(ct_device *dev, const ct_tensor *groups, problem *q)
{
    q->offset = groups->data;
    q->order = q->offset + q->M + 1;
    bool ok = q->offset[0] == 0 && q->offset[q->M] == q->N;
    for (int64_t m = 0; m < q->M; m++) ok &= q->offset[m] <= q->offset[m + 1];
    uint64_t largest = 0;
    for (int64_t i = 0; i < q->N; i++) {
        uint64_t at = (uint64_t)q->order[i];
        largest = at > largest ? at : largest;
    }
    if (ok && (!q->N || largest < (uint64_t)q->N)) return CT_OK;
    return ct__fail(dev, CT_EINDEX,
                    "the groups are not those of %" PRId64 " rows into %" PRId64 ": make them by ct_group_by",
                    q->N, q->M);
}

ct_status ct__cpu_grouped_gemm(ct_device *dev, const ct_tensor *A, const ct_tensor *C,
                               const ct_tensor *groups, ct_tensor *out)
{
    problem q = { .N = A->dim[0], .M = C->dim[0], .I = A->dim[1], .J = C->dim[1], .K = C->dim[2] };
    q.A = A->data, q.C = C->data, q.out = out->data, q.dtype = C->dtype;
    ct_status status = take_groups(dev, groups, &q);
    if (status || !q.I || !q.K) return status;
    return run_all(dev, &q);
}

ct_status ct__cpu_grouped_gemm_bar(ct_device *dev, const ct_tensor *A, const ct_tensor *C, const ct_tensor *G,
                                   const ct_tensor *groups, ct_tensor *A_bar, ct_tensor *C_bar)
{
    const ct_tensor *matrices = C ? C : C_bar;
    problem q = {
        .N = G->dim[0], .M = matrices->dim[0], .I = G->dim[1], .J = matrices->dim[1], .K = G->dim[2]
    };
    q.A = A ? A->data : NULL, q.C = C ? C->data : NULL, q.G = G->data, q.dtype = G->dtype;
    q.out = A_bar ? A_bar->data : NULL, q.D = C_bar ? C_bar->data : NULL;
    ct_status status = take_groups(dev, groups, &q);
    return status ? status : run_all(dev, &q);
}
