/* Products of bf16 or f16 matrices. Tiles of A and B are converted to f32, their products are accumulated in
 * an f32 tile of C, and the finished tile is rounded once. Each thread holds only three tiles in f32. On CPUs
 * with bf16 dot products gemm_bf16.c does the multiplication. */
#include "blas.h"
#include "half.h"

#include <omp.h>

typedef struct cutting {
    int64_t rows, cols, depth;    /* of a tile */
    int64_t down, across, pieces; /* tiles along a member's rows and columns, and in all */
    size_t bytes;                 /* of the three tiles of a thread */
} cutting;

static cutting cut(const ct__job *job, bool amx, int threads)
{
    const int64_t most = amx && job->dtype == CT_F16 ? CT__HALF_DEPTH / 2 : CT__HALF_DEPTH;
    const int64_t m = job->m[2].rows, n = job->m[2].cols, k = job->m[0].cols;
    cutting t = { .rows = m < CT__HALF_ROWS ? m : CT__HALF_ROWS,
                  .cols = n < CT__HALF_ROWS ? n : CT__HALF_ROWS,
                  .depth = k < most ? k : most };
    for (;;) {
        t.down = (m + t.rows - 1) / t.rows;
        t.across = (n + t.cols - 1) / t.cols;
        t.pieces = job->members * t.down * t.across;
        int64_t *longer = t.rows > t.cols ? &t.rows : &t.cols;
        if (threads < 2 || t.pieces >= CT__HALF_TILES * threads || *longer < 2 * CT__HALF_LEAST) break;
        *longer = (*longer + 1) / 2;
    }
    t.bytes = ct__aligned((size_t)(t.rows * t.depth + t.depth * t.cols + t.rows * t.cols) * sizeof(float));
    return t;
}

/* Converts rows x cols of a matrix, from (row, col) on, to f32 in its own memory order. Returns BLAS's flag
 * for the transposed product: 'N' if that order is row-major, else 'T'. */
static char widen(const ct__job *job, const ct__matrix *m, const uint16_t *x, int64_t row, int64_t rows,
                  int64_t col, int64_t cols, float *to)
{
    x += row * m->rs + col * m->cs;
    if (m->rs == 1 && m->cs != 1) {
        ct__widen_tile(job->dev->isa, job->dtype, cols, rows, x, m->cs, 1, to, rows);
        return 'T';
    }
    ct__widen_tile(job->dev->isa, job->dtype, rows, cols, x, m->rs, m->cs, to, cols);
    return 'N';
}

/* One tile of one member's C. */
static void multiply(const ct__job *job, const cutting *t, bool amx, int64_t piece, float *scratch)
{
    const int64_t member = piece / (t->down * t->across), at = piece % (t->down * t->across);
    const int start = job->n - 1; /* of C, or the fourth matrix of `affine` */
    const ct__matrix *a = &job->m[0], *b = &job->m[1], *c = &job->m[2], *d = &job->m[start];
    const uint16_t *A = ct__member(job, 0, member), *B = ct__member(job, 1, member);
    const int64_t row = at / t->across * t->rows, col = at % t->across * t->cols;
    const int64_t rows = c->rows - row < t->rows ? c->rows - row : t->rows;
    const int64_t cols = c->cols - col < t->cols ? c->cols - col : t->cols;
    float *sum = scratch, *a_tile = sum + t->rows * t->cols, *b_tile = a_tile + t->rows * t->depth;
    uint16_t *C = (uint16_t *)ct__member(job, 2, member) + row * c->rs + col * c->cs;

    const bool given = job->beta != 0;
    if (given)
        ct__widen_tile(job->dev->isa, job->dtype, rows, cols,
                       (const uint16_t *)ct__member(job, start, member) + row * d->rs + col * d->cs, d->rs,
                       d->cs, sum, cols);
    if (job->alpha == 0 || !a->cols)
        for (int64_t i = 0; i < rows * cols; i++) sum[i] = given ? (float)job->beta * sum[i] : 0;
    const bool dots = job->alpha == 1 && (!given || job->beta == 1);
    int64_t rounded = 0; /* columns of C that are finished */
    for (int64_t p = 0; p < a->cols && job->alpha != 0; p += t->depth) {
        const int64_t depth = a->cols - p < t->depth ? a->cols - p : t->depth;
        const bool whole = depth == a->cols && !given && c->cs == 1;
        const ct__dots q = {
            .isa = job->dev->isa,
            .amx = amx,
            .dtype = job->dtype,
            .f32 = { .add = p || given,
                     .m = rows,
                     .n = cols,
                     .k = depth,
                     .a = A + row * a->rs + p * a->cs,
                     .a_rs = a->rs,
                     .a_cs = a->cs,
                     .b = B + p * b->rs + col * b->cs,
                     .b_rs = b->rs,
                     .b_cs = b->cs,
                     .c = sum,
                     .ldc = cols },
            .more = a->cols - p - depth,
            .C = whole ? C : NULL,
            .ldC = c->rs,
            /* the strips of f16 may run past a_tile into b_tile, which is unused until later */
            .strips = (uint32_t *)(void *)a_tile
        };
        const int64_t done = dots ? ct__bf16_multiply(&q) : 0;
        if (whole) rounded = done;
        const int64_t left = cols - done;
        if (!left) continue;
        const char ta = widen(job, a, A, row, rows, p, depth, a_tile);
        const char tb = widen(job, b, B, p, depth, col + done, left, b_tile);
        blas_gemm(CT_F32, tb, ta, (int)left, (int)rows, (int)depth, job->alpha, b_tile,
                  (int)(tb == 'N' ? left : depth), a_tile, (int)(ta == 'N' ? depth : rows), p ? 1 : job->beta,
                  sum + done, (int)cols);
    }
    ct__narrow_tile(job->dev->isa, job->dtype, rows, cols - rounded, sum + rounded, cols, C + rounded * c->cs,
                    c->rs, c->cs);
}

ct_status ct__half_gemm(const ct__job *job)
{
    const bool alone = job->work * (double)job->members <= 2.0 * CT__HALF_ALONE;
    const bool amx = !alone && job->m[2].rows >= 2 * CT__BF16_ROWS &&
                     job->m[2].cols >= 16 * CT__BF16_VECTORS && job->dev->amx && ct__ask_for_amx();
    const cutting t = cut(job, amx, alone ? 1 : job->dev->threads);
    const int threads = alone || t.pieces < 2 ? 1 : ct__team(job->dev, job->dev->threads);
    size_t bytes = t.bytes * (size_t)threads;
    char *scratch = ct__pool_get(job->dev, &bytes);
    if (!scratch) return CT_ENOMEM;
    const ct__blas_team before = ct__blas_begin(1);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t i = 0; i < t.pieces; i++)
        multiply(job, &t, amx, i, (float *)(void *)(scratch + (size_t)omp_get_thread_num() * t.bytes));
    ct__blas_end(&before);
    ct__pool_put(job->dev, scratch, bytes);
    return CT_OK;
}
