/* Products of bf16 or f16 matrices. Tiles of A and B are converted to f32, their products are accumulated in
 * an f32 tile of C, and the finished tile is rounded once. Each thread holds only three tiles in f32. The
 * microkernels' product adds an element's terms in the same order wherever the element lies in its tile, so
 * the bits do not depend on how C is cut into tiles; BLAS does not promise that. On CPUs with bf16 dot
 * products gemm_bf16.c multiplies the tiles, or gemm_columns.c computes those of C from the columns of B;
 * which of them computes an element depends on its tile. */
#include "gemm_half.h"
#include "gemm_bf16.h"
#include "gemm_columns.h"
#include "half.h"
#include "kernel/microkernels.h"

#include <omp.h>

typedef struct tiling {
    bool amx, dots;            /* AMX, or any bf16 dot products, may be used */
    ct__columns columns;       /* for gemm_columns.c, or no strips */
    int64_t rows, cols, depth; /* of a tile */
    int64_t part;              /* columns of a tile that are summed up in f32 at a time */
    int64_t down, across;      /* tiles along a member's rows and columns */
    int64_t together;          /* members computed before the next ones are packed */
    size_t work;               /* bytes of a thread: three tiles in f32, or a panel of B in bf16, */
    size_t bytes;              /* and a product's workspace after them */
} tiling;

static void cut(const ct__job *job, int threads, tiling *t)
{
    const bool columns = t->columns.strips, f16 = job->dtype == CT_F16;
    const int64_t m = job->m[2].rows, n = job->m[2].cols, k = job->m[0].cols,
                  step = columns ? CT__COLUMNS_STEP : 1; /* that divides rows and columns */
    t->rows = ct__min(m, columns ? ct__min(CT__COLUMNS_A / k, CT__HALF_ROWS) : CT__HALF_ROWS);
    t->cols = ct__min(n, CT__HALF_ROWS);
    t->depth = ct__min(k, t->amx && f16 ? CT__HALF_DEPTH / 2 : CT__HALF_DEPTH);
    for (;;) {
        t->rows = (t->rows + step - 1) / step * step;
        t->cols = (t->cols + step - 1) / step * step;
        t->down = (m + t->rows - 1) / t->rows;
        t->across = (n + t->cols - 1) / t->cols;
        int64_t *longer = t->rows > t->cols ? &t->rows : &t->cols;
        if (threads < 2 || job->members * t->down * t->across >= CT__HALF_TILES * threads ||
            *longer < 2 * CT__HALF_LEAST)
            break;
        *longer = (*longer + 1) / 2;
    }
    const int64_t few = ct__min(t->cols, CT__HALF_PART);
    t->part = columns ? few : t->cols;
    const int64_t numbers = t->rows * t->depth + t->depth * few + t->rows * t->part;
    t->work = ct__aligned((size_t)ct__max(numbers, step / 2 * k) * sizeof(float));
    t->bytes = t->work + ct__product_work(CT_F32, ct__max(few, t->depth));
    t->together = job->members;
    if (!columns || t->columns.members < 2) return;
    const int64_t tiles = t->down * t->across, bytes = t->columns.strips * t->columns.words * 4,
                  least = (CT__HALF_TILES * threads + tiles - 1) / tiles,
                  most = ct__max(CT__COLUMNS_KEPT * (int64_t)threads / bytes, least);
    t->together = t->columns.members = ct__min(job->members, most);
}

/* Converts rows x cols of a matrix, from x on, to f32 in its own memory order: with contiguous columns if it
 * has them, else with contiguous rows. Sets the strides of the result. */
static void widen(const ct__job *job, const ct__matrix *m, const uint16_t *x, int64_t rows, int64_t cols,
                  float *to, int64_t *rs, int64_t *cs)
{
    const bool columns = m->rs == 1 && m->cs != 1;
    *rs = columns ? 1 : cols, *cs = columns ? rows : 1;
    if (columns)
        ct__widen_tile(job->dev->isa, job->dtype, cols, rows, x, m->cs, 1, to, rows);
    else
        ct__widen_tile(job->dev->isa, job->dtype, rows, cols, x, m->rs, m->cs, to, cols);
}

/* Element (row, col) of a member's matrix i: A, B, C or, if i is the last, what C starts from. */
static uint16_t *element(const ct__job *job, int i, int64_t member, int64_t row, int64_t col)
{
    return (uint16_t *)ct__member(job, i, member) + row * job->m[i].rs + col * job->m[i].cs;
}

/* The rows p to p + depth of the sum for a tile, by bf16 dot products, with its f32 tiles in scratch. */
static ct__dots dots(const ct__job *job, const tiling *plan, const ct__tile *t, int64_t p, int64_t depth,
                     float *scratch)
{
    const ct__matrix *a = &job->m[0], *b = &job->m[1];
    return (ct__dots){ .isa = job->dev->isa,
                       .amx = plan->amx,
                       .dtype = job->dtype,
                       .f32 = { .add = p > 0,
                                .m = t->rows,
                                .n = t->cols,
                                .k = depth,
                                .a = element(job, 0, t->member, t->row, p),
                                .a_rs = a->rs,
                                .a_cs = a->cs,
                                .b = element(job, 1, t->member, p, t->col),
                                .b_rs = b->rs,
                                .b_cs = b->cs,
                                .c = scratch,
                                .ldc = t->cols },
                       .more = a->cols - p - depth,
                       /* the strips of f16 may run past A's tile into B's, which is unused until later */
                       .strips = (uint32_t *)(void *)(scratch + plan->rows * plan->part) };
}

/* Computes leading columns of a tile without a tile of C in f32, and returns their number. */
static int64_t round_at_once(const ct__job *job, const tiling *plan, const ct__tile *t, float *scratch)
{
    const int start = job->n - 1;
    const ct__matrix *c = &job->m[2], *d = &job->m[start];
    if (plan->columns.strips)
        return ct__columns_multiply(job, &plan->columns, t, (uint16_t *)(void *)scratch);
    if (!plan->dots || job->m[0].cols > plan->depth || c->cs != 1 || (job->beta != 0 && d->cs != 1)) return 0;
    ct__dots q = dots(job, plan, t, 0, plan->depth, scratch);
    q.C = element(job, 2, t->member, t->row, t->col);
    q.ldC = c->rs;
    if (job->beta != 0) q.D = element(job, start, t->member, t->row, t->col);
    q.ldD = d->rs;
    return ct__bf16_multiply(&q);
}

/* C = alpha S + beta D for a tile, rounded; row: workspace for one of D. */
static void finish(const ct__job *job, const ct__tile *t, float *S, float *row)
{
    const int start = job->n - 1, isa = job->dev->isa;
    const ct__matrix *c = &job->m[2], *d = &job->m[start];
    const float alpha = (float)job->alpha, beta = (float)job->beta;
    for (int64_t i = 0; i < t->rows * t->cols && alpha != 1; i++) S[i] *= alpha;
    for (int64_t i = 0; i < t->rows && beta != 0; i++) {
        ct__widen_tile(isa, job->dtype, 1, t->cols, element(job, start, t->member, t->row + i, t->col), d->rs,
                       d->cs, row, t->cols);
        for (int64_t j = 0; j < t->cols; j++) S[i * t->cols + j] += beta * row[j];
    }
    ct__narrow_tile(isa, job->dtype, t->rows, t->cols, S, t->cols, element(job, 2, t->member, t->row, t->col),
                    c->rs, c->cs);
}

/* S = or += A B in f32 for the columns of a tile from `done` on, and depth rows of the sum from p on. */
static void add_up(const ct__job *job, const tiling *plan, const ct__tile *t, int64_t p, int64_t depth,
                   int64_t done, float *S)
{
    const ct__microkernels *f32 = ct__microkernels_of(job->dev->isa, CT_F32);
    float *x = S + plan->rows * plan->part, *y = x + plan->rows * plan->depth;
    ct__product q = { .add = p > 0, .m = t->rows, .k = depth, .a = x, .b = y, .ldc = t->cols };
    widen(job, &job->m[0], element(job, 0, t->member, t->row, p), q.m, depth, x, &q.a_rs, &q.a_cs);
    for (int64_t j = done; j < t->cols; j += q.n) {
        q.n = ct__min(t->cols - j, CT__HALF_PART);
        q.c = S + j;
        widen(job, &job->m[1], element(job, 1, t->member, p, t->col + j), depth, q.n, y, &q.b_rs, &q.b_cs);
        f32->product(&q, (char *)S + plan->work);
    }
}

/* Sums up a tile of A B in f32, in S, and finishes it. */
static void sum_up(const ct__job *job, const tiling *plan, const ct__tile *t, float *S)
{
    const int64_t k = job->alpha == 0 ? 0 : job->m[0].cols;
    if (!k) memset(S, 0, (size_t)(t->rows * t->cols) * sizeof *S);
    for (int64_t p = 0; p < k; p += plan->depth) {
        const int64_t depth = ct__min(k - p, plan->depth);
        const ct__dots q = dots(job, plan, t, p, depth, S);
        const int64_t done = plan->dots ? ct__bf16_multiply(&q) : 0;
        if (done < t->cols) add_up(job, plan, t, p, depth, done, S);
    }
    finish(job, t, S, (float *)(void *)((char *)S + plan->work));
}

static void multiply(const ct__job *job, const tiling *plan, int64_t i, float *scratch)
{
    const int64_t at = i % (plan->down * plan->across);
    ct__tile t = { .member = i / (plan->down * plan->across),
                   .row = at / plan->across * plan->rows,
                   .col = at % plan->across * plan->cols };
    t.rows = ct__min(job->m[2].rows - t.row, plan->rows);
    t.cols = ct__min(job->m[2].cols - t.col, plan->cols);
    int64_t left = t.cols - round_at_once(job, plan, &t, scratch);
    for (t.col += t.cols - left; left; t.col += t.cols, left -= t.cols) {
        t.cols = ct__min(left, plan->part);
        sum_up(job, plan, &t, scratch);
    }
}

ct_status ct__half_gemm(const ct__job *job)
{
    const double work = job->work * (double)job->members;
    const bool alone = work <= 2.0 * job->dev->tuning->half_alone;
    tiling t = { .dots = job->alpha == 1 && (job->beta == 0 || job->beta == 1),
                 .amx = !alone && job->m[2].rows >= 2 * CT__BF16_ROWS &&
                        job->m[2].cols >= 16 * CT__BF16_VECTORS && job->dev->amx && ct__ask_for_amx() };
    if (t.amx && t.dots && work > 2.0 * job->dev->tuning->columns_work) t.columns = ct__columns_of(job);
    cut(job, alone ? 1 : job->dev->threads, &t);
    const int64_t tiles = t.down * t.across, strips = t.columns.strips;
    const int threads = alone || job->members * tiles < 2 ? 1 : ct__team(job->dev, job->dev->threads);
    const size_t own = t.bytes * (size_t)threads,
                 kept = (size_t)(t.columns.members * strips * t.columns.words) * sizeof *t.columns.packed;
    size_t bytes = own + kept;
    char *scratch = ct__pool_get(job->dev, &bytes);
    if (!scratch) return CT_ENOMEM;
    t.columns.packed = (uint32_t *)(void *)(scratch + own);
#pragma omp parallel num_threads(threads)
    for (int64_t first = 0; first < job->members; first += t.together) {
        const int64_t last = ct__min(first + t.together, job->members),
                      packed = ct__min(first + t.columns.members, last);
        if (strips) {
#pragma omp for
            for (int64_t i = first * strips; i < packed * strips; i++) ct__columns_pack(job, &t.columns, i);
        }
#pragma omp for schedule(dynamic, 1)
        for (int64_t i = first * tiles; i < last * tiles; i++)
            multiply(job, &t, i, (float *)(void *)(scratch + (size_t)omp_get_thread_num() * t.bytes));
    }
    ct__pool_put(job->dev, scratch, bytes);
    return CT_OK;
}
