/* The tiles of gemm_bf16.c: the sums of one strip of A and one panel of B, by AVX512-BF16 or by AMX, and what
 * becomes of them. */
#ifndef CT_TENSOR_CPU_BF16_TILE_H
#define CT_TENSOR_CPU_BF16_TILE_H

#include <immintrin.h>

#include "half.h"
#include "kernel/isa.h"
#include "kernel/vmath.h"

#define UNROLL _Pragma("GCC unroll 8")
/* of what CT__BF16 and CT__AMX share */
#define VECTORS __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))

enum {
    LANES = 16,
    STRIP = 2 * CT__BF16_ROWS,
    PANEL = CT__BF16_VECTORS * LANES,
    AMX_VECTORS = 4,
    AMX_PANEL = AMX_VECTORS * LANES, /* for f16 it is PANEL */
    LINE = 64,                       /* bytes */
    BIAS = 127,
};

/* What becomes of a sum: it is stored to c, added to c, or rounded and stored to C. */
typedef enum ending { STORE, ADD, ROUND } ending;

/* A tile of the result, rows x cols, of f32 at c or of the dtype at C. */
typedef struct place {
    ending end;
    int64_t rows, cols;
    float *c;
    int64_t ldc;
    ct_dtype dtype;
    uint16_t *C;
    int64_t ldC;
} place;

/* As ct__to_half */
VECTORS CT__INLINE __m256i rounded(ct_dtype dtype, __m512 x)
{
    if (dtype == CT_F16) return _mm512_cvtps_ph(x, 0);
    const __m512i u = (__m512i)x, odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1)),
                  up = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7fff)), odd),
                  quiet = _mm512_or_si512(u, _mm512_set1_epi32(0x400000));
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_mask_mov_epi32(up, nan, quiet), 16));
}

VECTORS CT__INLINE void finish_as(const ending end, const int vectors, const float *sum, int64_t ld,
                                  const place *to)
{
    const __mmask16 last = (__mmask16)(0xffff >> (vectors * LANES - to->cols));
    for (int64_t r = 0; r < to->rows; r++) UNROLL for (int v = 0; v < vectors; v++)
        {
            const __mmask16 mask = v == vectors - 1 ? last : 0xffff;
            __m512 x = _mm512_load_ps(sum + r * ld + v * LANES);
            float *c = to->c + r * to->ldc + v * LANES;
            if (end == ADD) x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(mask, c));
            if (end == ROUND)
                _mm256_mask_storeu_epi16(to->C + r * to->ldC + v * LANES, mask, rounded(to->dtype, x));
            else
                _mm512_mask_storeu_ps(c, mask, x);
        }
}

/* Finishes the sums of a tile. Callers pass a constant `vectors`. */
VECTORS CT__INLINE void finish(const int vectors, const float *sum, int64_t ld, const place *to)
{
    switch (to->end) {
    case STORE: finish_as(STORE, vectors, sum, ld, to); break;
    case ADD: finish_as(ADD, vectors, sum, ld, to); break;
    case ROUND: finish_as(ROUND, vectors, sum, ld, to); break;
    }
}

/* What is still to be prefetched: `rows` rows of `length` elements, `step` elements apart, `share` rows at a
 * time. Few at a time, between the products, they delay no load of a product. */
typedef struct future {
    const uint16_t *x;
    int64_t step, length, rows, share;
} future;

CT__INLINE void prefetch(future *f)
{
    for (int64_t i = ct__min(f->share, f->rows); i > 0; i--, f->rows--, f->x += f->step)
        for (int64_t j = 0; j < f->length; j += LINE / (int64_t)sizeof *f->x)
            __builtin_prefetch(f->x + j, 0, 2);
}

/* The tile Σ_p a_rp b_p, with a_rp at a[STRIP p + r] and b packed. Callers pass a constant `vectors`. */
CT__BF16 CT__INLINE void tile(const int vectors, int64_t pairs, const uint32_t *a, const uint32_t *b,
                              const place *to)
{
    __m512 sum[CT__BF16_ROWS][CT__BF16_VECTORS];
    UNROLL for (int r = 0; r < CT__BF16_ROWS; r++) UNROLL for (int v = 0; v < vectors; v++) sum[r][v] =
        _mm512_setzero_ps();
    for (int64_t p = 0; p < pairs; p++, a += STRIP, b += PANEL) {
        __m512bh row[CT__BF16_VECTORS];
        UNROLL for (int v = 0; v < vectors; v++) row[v] = (__m512bh)_mm512_loadu_si512(b + v * LANES);
        UNROLL for (int r = 0; r < CT__BF16_ROWS; r++)
        {
            const __m512bh s = (__m512bh)_mm512_set1_epi32((int)a[r]);
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], s, row[v]);
        }
    }
    _Alignas(LINE) float sums[CT__BF16_ROWS][PANEL];
    UNROLL for (int r = 0; r < CT__BF16_ROWS; r++) UNROLL for (int v = 0; v < vectors; v++)
        _mm512_store_ps(sums[r] + v * LANES, sum[r][v]);
    finish(vectors, sums[0], PANEL, to);
}

typedef void run_tile(int64_t pairs, const uint32_t *a, const uint32_t *b, const place *to, future *next);

#define TILE(v)                                                                                        \
    CT__BF16 static void tile##v(int64_t pairs, const uint32_t *a, const uint32_t *b, const place *to, \
                                 future *next)                                                         \
    {                                                                                                  \
        tile(v, pairs, a, b, to);                                                                      \
        prefetch(next);                                                                                \
    }
TILE(1)
TILE(2)
TILE(3)
static run_tile *const tiles[CT__BF16_VECTORS] = { tile1, tile2, tile3 };

/* AMX. A tile register has 16 rows of 16 words. Its instruction adds A (16 rows, 16 words along the depth)
 * times B (16 words along the depth, 16 columns) to C (16 x 16 in f32). */
static const struct {
    uint8_t palette, start, zeros[14];
    uint16_t bytes_of_row[16];
    uint8_t rows[16];
} registers = { .palette = 1,
                .bytes_of_row = { LINE, LINE, LINE, LINE, LINE, LINE, LINE, LINE },
                .rows = { STRIP, STRIP, STRIP, STRIP, STRIP, STRIP, STRIP, STRIP } };

CT__AMX static void open_tiles(void) { _tile_loadconfig(&registers); }
CT__AMX static void close_tiles(void) { _tile_release(); }

enum { WORD = sizeof(uint32_t) };

/* Adds the products of bf16 to the sums in registers 0 to 3, with a_rp at a[pairs r + p]; pairs is a multiple
 * of 16. An addition to one sum overlaps those to the others. */
CT__AMX CT__INLINE void add_bf16(const int vectors, int64_t pairs, const uint32_t *a, const uint32_t *b,
                                 future *next)
{
    enum { ROW = AMX_PANEL * WORD };
    for (int64_t p = 0; p < pairs; p += LANES, b += LANES * AMX_PANEL) {
        _tile_loadd(4, a + p, pairs * WORD);
        _tile_loadd(5, b, ROW);
        _tile_dpbf16ps(0, 4, 5);
        if (vectors > 1) _tile_loadd(6, b + LANES, ROW);
        if (vectors > 1) _tile_dpbf16ps(1, 4, 6);
        if (vectors > 2) _tile_loadd(7, b + 2 * LANES, ROW);
        if (vectors > 2) _tile_dpbf16ps(2, 4, 7);
        if (vectors > 3) _tile_loadd(5, b + 3 * LANES, ROW);
        if (vectors > 3) _tile_dpbf16ps(3, 4, 5);
        prefetch(next);
    }
}

/* The same for f16 and registers 0 to 2. a and b have two parts each (high, then low), and each part of a is
 * multiplied with each part of b. */
CT__AMX CT__INLINE void add_f16(const int vectors, int64_t pairs, const uint32_t *a, const uint32_t *b,
                                future *next)
{
    enum { ROW = PANEL * WORD };
    for (int64_t p = 0; p < pairs; p += LANES) {
        _tile_loadd(6, a + p, pairs * WORD);
        _tile_loadd(7, a + STRIP * pairs + p, pairs * WORD);
        for (int64_t w = p; w < 2 * pairs; w += pairs) {
            _tile_loadd(3, b + w * PANEL, ROW);
            if (vectors > 1) _tile_loadd(4, b + w * PANEL + LANES, ROW);
            if (vectors > 2) _tile_loadd(5, b + w * PANEL + 2 * LANES, ROW);
            _tile_dpbf16ps(0, 6, 3);
            if (vectors > 1) _tile_dpbf16ps(1, 6, 4);
            if (vectors > 2) _tile_dpbf16ps(2, 6, 5);
            _tile_dpbf16ps(0, 7, 3);
            if (vectors > 1) _tile_dpbf16ps(1, 7, 4);
            if (vectors > 2) _tile_dpbf16ps(2, 7, 5);
        }
        prefetch(next);
    }
}

#define EACH_SUM(DO)            \
    do {                        \
        DO(0);                  \
        if (vectors > 1) DO(1); \
        if (vectors > 2) DO(2); \
        if (vectors > 3) DO(3); \
    } while (0)
#define CLEAR(v) _tile_zero(v)
#define KEEP(v)  _tile_stored(v, sum[0] + v * LANES, sizeof *sum)

/* The tile Σ_p a_rp b_p for a strip. Callers pass constants for parts and vectors. */
CT__AMX CT__INLINE void tile_amx(const int parts, const int vectors, int64_t pairs, const uint32_t *a,
                                 const uint32_t *b, const place *to, future *next)
{
    _Alignas(LINE) float sum[STRIP][AMX_PANEL];
    __asm__ volatile("" ::: "memory"); /* gcc does not know that _tile_loadd reads memory */
    EACH_SUM(CLEAR);
    if (parts == 1)
        add_bf16(vectors, pairs, a, b, next);
    else
        add_f16(vectors, pairs, a, b, next);
    EACH_SUM(KEEP);
    finish(vectors, sum[0], AMX_PANEL, to);
}

#define AMX(parts, v)                                                                          \
    CT__AMX static void amx_##parts##_##v(int64_t pairs, const uint32_t *a, const uint32_t *b, \
                                          const place *to, future *next)                       \
    {                                                                                          \
        tile_amx(parts, v, pairs, a, b, to, next);                                             \
    }
AMX(1, 1)
AMX(1, 2)
AMX(1, 3)
AMX(1, 4)
AMX(2, 1)
AMX(2, 2)
AMX(2, 3)
static run_tile *const amx_tiles[2][AMX_VECTORS] = { { amx_1_1, amx_1_2, amx_1_3, amx_1_4 },
                                                     { amx_2_1, amx_2_2, amx_2_3 } };

#endif
