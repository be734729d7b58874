/* The tiles of gemm_bf16.c: the sums of one strip of A and one panel of B, by AVX512-BF16 or by AMX. */
#ifndef CT_TENSOR_CPU_BF16_TILE_H
#define CT_TENSOR_CPU_BF16_TILE_H

#include "bf16.h"

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

typedef void run_tile(int64_t pairs, const uint32_t *a, const uint32_t *b, const place *to, lookahead *next);

#define TILE(v)                                                                                        \
    CT__BF16 static void tile##v(int64_t pairs, const uint32_t *a, const uint32_t *b, const place *to, \
                                 lookahead *next)                                                      \
    {                                                                                                  \
        tile(v, pairs, a, b, to);                                                                      \
        prefetch(next);                                                                                \
    }
TILE(1)
TILE(2)
TILE(3)
static run_tile *const tiles[CT__BF16_VECTORS] = { tile1, tile2, tile3 };

/* AMX: */
enum { WORD = sizeof(uint32_t) };

/* Adds the products of bf16 to the sums in registers 0 to 3, with a_rp at a[pairs r + p]; pairs is a multiple
 * of 16. An addition to one sum overlaps those to the others. */
CT__AMX CT__INLINE void add_bf16(const int vectors, int64_t pairs, const uint32_t *a, const uint32_t *b,
                                 lookahead *next)
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
                                lookahead *next)
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
                                 const uint32_t *b, const place *to, lookahead *next)
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
                                          const place *to, lookahead *next)                    \
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
