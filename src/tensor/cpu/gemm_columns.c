/* Products of bf16 by AMX that read the columns of B in place. Of its two matrices AMX takes the left one by
 * rows; only the right one must be packed, in pairs along the depth. So this computes Cᵀ = Bᵀ Aᵀ: the rows on
 * the left are the columns of B, which are contiguous. A is packed once, and every sum stays in its register
 * over the whole depth. Subnormals are treated as in gemm_bf16.c. The smallest exponent of a panel of columns
 * is found by a walk over it during the products of the panel before. */
#include "gemm_columns.h"
#include "kernel/microkernels.h"

#if CT__X86
#    include "bf16.h"

enum { STEP = CT__COLUMNS_STEP, SQUARE = STRIP * LANES }; /* columns of a panel; numbers of a register */
_Static_assert(STEP == 2 * STRIP, "two registers of rows and of columns make four of sums");

ct__columns ct__columns_of(const ct__job *job)
{
    const ct__matrix *a = &job->m[0], *b = &job->m[1], *c = &job->m[2], *d = &job->m[job->n - 1];
    const int64_t m = a->rows, n = b->cols, k = b->rows;
    if (job->dtype != CT_BF16 || m < STRIP || m > n || n < STEP || k % (2 * LANES) || k < CT__BF16_DEPTH ||
        k > CT__COLUMNS_DEPTH || (a->rs != 1 && a->cs != 1) || b->rs != 1 || c->cs != 1 ||
        (d->cs != 0 && d->cs != 1))
        return (ct__columns){ 0 };
    bool shared = true;
    for (int64_t axis = 0; axis < job->ndim; axis++) shared &= !job->axis[axis].stride[0];
    return (ct__columns){ .strips = (m + STRIP - 1) / STRIP,
                          .words = STRIP * k / 2 + LANES,
                          .members = shared ? 1 : job->members };
}

/* The words of the strip that begins with this row of a member's A. Its smallest exponent is LANES words
 * before them. */
static uint32_t *strip(const ct__columns *a, int64_t member, int64_t row)
{
    return a->packed + (member % a->members * a->strips + row / STRIP) * a->words + LANES;
}

void ct__columns_pack(const ct__job *job, const ct__columns *a, int64_t i)
{
    const ct__matrix *m = &job->m[0];
    const int64_t member = i / a->strips, row = i % a->strips * STRIP;
    const uint16_t *x = (const uint16_t *)ct__member(job, 0, member) + row * m->rs;
    uint32_t *to = strip(a, member, row);
    pack(ct__microkernels_of(job->dev->isa, CT_F32), x, m->cs, m->rs, m->cols, ct__min(m->rows - row, STRIP),
         STRIP, to);
    to[-LANES] = (uint32_t)least_exponent(a->words - LANES, to);
}

/* A walk over `cols` columns of B, `step` elements apart, of k elements each, `share` lines at a time, which
 * are prefetched. `least` is the smallest of the elements so far. */
typedef struct walk {
    const uint16_t *x;
    int64_t cols, step, k, at, share;
    __m512i least;
} walk;

CT__VECTORS static walk walk_of(const ct__matrix *b, const uint16_t *x, int64_t cols, int64_t times)
{
    const int64_t lines = cols * b->rows / (2 * LANES);
    return (walk){ .x = x,
                   .cols = cols,
                   .step = b->cs,
                   .k = b->rows,
                   .share = (lines + times - 1) / times,
                   .least = _mm512_set1_epi16(-1) };
}

CT__VECTORS CT__INLINE void walk_on(walk *w)
{
    enum { AHEAD = CT__COLUMNS_AHEAD * LINE / 2 };
    __m512i least = w->least;
    for (int64_t i = 0; i < w->share && w->cols; i++) {
        __builtin_prefetch(w->x + w->at + AHEAD, 0, 3);
        least = smallest(least, w->x + w->at);
        w->at += 2 * LANES;
        if (w->at < w->k) continue;
        w->at = 0;
        w->cols--;
        w->x += w->step;
    }
    w->least = least;
}

/* sum[2s + h] = 16 columns of B, the h-th of two in a panel, times the rows of strip s, over the whole depth.
 * Callers pass a constant for strips. */
CT__AMX CT__INLINE void square(const int strips, int64_t k, const uint16_t *b, int64_t ldb, const uint32_t *a,
                               int64_t next_strip, float (*sum)[SQUARE], walk *next)
{
    __asm__ volatile("" ::: "memory"); /* gcc does not know that _tile_loadd reads memory */
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t p = 0; p < k; p += 2 * LANES, a += SQUARE) {
        _tile_loadd(4, b + p, ldb * 2);
        _tile_loadd(6, a, LINE);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(5, b + p + STRIP * ldb, ldb * 2);
        _tile_dpbf16ps(1, 5, 6);
        if (strips > 1) _tile_loadd(7, a + next_strip, LINE);
        if (strips > 1) _tile_dpbf16ps(2, 4, 7);
        if (strips > 1) _tile_dpbf16ps(3, 5, 7);
        walk_on(next);
    }
    _tile_stored(0, sum[0], LINE);
    _tile_stored(1, sum[1], LINE);
    if (strips > 1) _tile_stored(2, sum[2], LINE);
    if (strips > 1) _tile_stored(3, sum[3], LINE);
}

/* Neighbours in a row of C are in two rows of the sums. They become the halves of a word here, so that a
 * strip's part of C is a matrix of words, which is transposed. */
typedef uint32_t transposed[LANES][STRIP];

/* The words of D (rows x cols, or broadcast). */
CT__VECTORS static void load(const ct__microkernels *f32, const ct__matrix *d, const uint16_t *D,
                             int64_t rows, __mmask32 cols, transposed to)
{
    _Alignas(LINE) uint32_t row[STRIP][LANES];
    for (int64_t r = 0; r < (d->rs ? STRIP : 1); r++, D += d->rs)
        _mm512_store_si512(row[r], r >= rows ? _mm512_setzero_si512()
                                   : d->cs   ? _mm512_maskz_loadu_epi16(cols, D)
                                             : _mm512_set1_epi16((short)*D));
    if (d->rs)
        f32->transpose(STRIP, LANES, row, LANES, to, STRIP);
    else
        for (int p = 0; p < LANES; p++) _mm512_store_si512(to[p], _mm512_set1_epi32((int)row[0][p]));
}

/* C (rows x cols) = sums + D, rounded */
CT__VECTORS static void store(const ct__microkernels *f32, float (*sum)[SQUARE], transposed d, int64_t rows,
                              __mmask32 cols, uint16_t *C, int64_t ldC)
{
    _Alignas(LINE) uint32_t row[STRIP][LANES];
    const __mmask32 upper = 0xaaaaaaaa;
    for (int p = 0; p < LANES; p++) {
        const float *first = (const float *)sum + 2 * p * STRIP, *second = first + STRIP;
        const __m512i two = _mm512_load_si512(d[p]), low = _mm512_slli_epi32(two, 16),
                      high = _mm512_maskz_mov_epi16(upper, two),
                      x = upper_halves(_mm512_add_ps(_mm512_load_ps(first), (__m512)low)),
                      y = upper_halves(_mm512_add_ps(_mm512_load_ps(second), (__m512)high));
        _mm512_store_si512(d[p], _mm512_mask_mov_epi16(_mm512_srli_epi32(x, 16), upper, y));
    }
    f32->transpose(LANES, STRIP, d, STRIP, row, LANES);
    for (int64_t r = 0; r < rows; r++) _mm512_mask_storeu_epi16(C + r * ldC, cols, _mm512_load_si512(row[r]));
}

/* One panel: columns j to j + cols of the tile. */
CT__AMX static void multiply(const ct__job *job, const ct__columns *a, const ct__tile *t, int64_t j,
                             int64_t cols, uint16_t *work, walk *next)
{
    const ct__matrix *b = &job->m[1], *c = &job->m[2], *d = &job->m[job->n - 1];
    const ct__microkernels *f32 = ct__microkernels_of(job->dev->isa, CT_F32);
    const int64_t k = b->rows;
    const uint16_t *B = (const uint16_t *)ct__member(job, 1, t->member) + j * b->cs,
                   *D = (const uint16_t *)ct__member(job, job->n - 1, t->member) + t->row * d->rs + j * d->cs;
    uint16_t *C = (uint16_t *)ct__member(job, 2, t->member) + t->row * c->rs + j;
    const __mmask32 mask = (__mmask32)(UINT32_MAX >> (STEP - cols));
    int64_t ldb = b->cs;
    if (cols < STEP) {
        for (int64_t l = 0; l < cols; l++) memcpy(work + l * k, B + l * ldb, (size_t)k * sizeof *B);
        memset(work + cols * k, 0, (size_t)((STEP - cols) * k) * sizeof *B);
        B = work;
        ldb = k;
    }
    for (int64_t i = 0; i < t->rows; i += STEP) {
        _Alignas(LINE) float sum[4][SQUARE];
        const uint32_t *x = strip(a, t->member, t->row + i);
        if (t->rows - i > STRIP)
            square(2, k, B, ldb, x, a->words, sum, next);
        else
            square(1, k, B, ldb, x, a->words, sum, next);
        for (int64_t r = i; r < ct__min(t->rows, i + STEP); r += STRIP) {
            _Alignas(LINE) transposed words;
            const int64_t rows = ct__min(t->rows - r, STRIP);
            if (job->beta != 0)
                load(f32, d, D + r * d->rs, rows, mask, words);
            else
                memset(words, 0, sizeof words);
            store(f32, sum + 2 * (r - i) / STRIP, words, rows, mask, C + r * c->rs, c->rs);
        }
    }
}

CT__AMX int64_t ct__columns_multiply(const ct__job *job, const ct__columns *a, const ct__tile *t,
                                     uint16_t *work)
{
    const ct__matrix *b = &job->m[1];
    const uint16_t *B = (const uint16_t *)ct__member(job, 1, t->member) + t->col * b->cs;
    int e = UINT16_MAX;
    for (int64_t i = 0; i < t->rows; i += STRIP) e = (int)ct__min(e, strip(a, t->member, t->row + i)[-LANES]);
    if (!e) return 0;

    open_tiles();
    const int64_t products = (t->rows + STEP - 1) / STEP * (b->rows / (2 * LANES));
    walk next = walk_of(b, B, ct__min(t->cols, STEP), 1);
    walk_on(&next);
    int64_t j = 0;
    for (; j < t->cols; j += STEP) {
        const int f = exponent_of(next.least);
        if (!f || e + f - 2 * BIAS - 14 < -126) break;
        const int64_t cols = ct__min(t->cols - j, STEP);
        next = walk_of(b, B + (j + STEP) * b->cs, ct__min(t->cols - j - cols, STEP), products);
        multiply(job, a, t, t->col + j, cols, work, &next);
    }
    close_tiles();
    return ct__min(j, t->cols);
}

#else

ct__columns ct__columns_of(const ct__job *job)
{
    (void)job;
    return (ct__columns){ 0 };
}

void ct__columns_pack(const ct__job *job, const ct__columns *a, int64_t i) { (void)job, (void)a, (void)i; }
int64_t ct__columns_multiply(const ct__job *job, const ct__columns *a, const ct__tile *t, uint16_t *work)
{
    (void)job, (void)a, (void)t, (void)work;
    return 0;
}

#endif
