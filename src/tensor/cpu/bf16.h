/* What the products of bf16 share: packing, the search for subnormals, how a finished tile is written, and
 * AMX's registers. */
#ifndef CT_TENSOR_CPU_BF16_H
#define CT_TENSOR_CPU_BF16_H

#include <immintrin.h>

#include "kernel/microkernels.h"
#include "kernel/vmath.h"

#define UNROLL _Pragma("GCC unroll 8")

enum {
    LANES = 16,
    STRIP = 2 * CT__BF16_ROWS,
    PANEL = CT__BF16_VECTORS * LANES,
    AMX_VECTORS = 4,
    AMX_PANEL = AMX_VECTORS * LANES, /* for f16 it is PANEL */
    LINE = 64,                       /* bytes */
    BIAS = 127,
};

/* How a sum is written: it is stored to c, added to c, rounded to C, or added to D and rounded to C. */
typedef enum ending { STORE, ADD, ROUND, ADD_AND_ROUND } ending;

/* A tile of the result, rows x cols, of f32 at c or of the dtype at C. */
typedef struct place {
    ending end;
    int64_t rows, cols;
    float *c;
    int64_t ldc;
    ct_dtype dtype;
    uint16_t *C;
    int64_t ldC;
    const uint16_t *D;
    int64_t ldD;
} place;

/* As ct__from_half */
CT__VECTORS CT__INLINE __m512 widened(ct_dtype dtype, __m256i x)
{
    if (dtype == CT_F16) return _mm512_cvtph_ps(x);
    return (__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16);
}

/* As ct__to_half: to bf16, in the upper halves of words, whose lower halves are arbitrary; to either dtype */
CT__VECTORS CT__INLINE __m512i upper_halves(__m512 x)
{
    const __m512i u = (__m512i)x, odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1)),
                  up = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7fff)), odd),
                  quiet = _mm512_or_si512(u, _mm512_set1_epi32(0x400000));
    return _mm512_mask_mov_epi32(up, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), quiet);
}

CT__VECTORS CT__INLINE __m256i rounded(ct_dtype dtype, __m512 x)
{
    if (dtype == CT_F16) return _mm512_cvtps_ph(x, 0);
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(upper_halves(x), 16));
}

CT__VECTORS CT__INLINE void finish_as(const ending end, const int vectors, const float *sum, int64_t ld,
                                      const place *to)
{
    const __mmask16 last = (__mmask16)(0xffff >> (vectors * LANES - to->cols));
    for (int64_t r = 0; r < to->rows; r++) UNROLL for (int v = 0; v < vectors; v++)
        {
            const __mmask16 mask = v == vectors - 1 ? last : 0xffff;
            __m512 x = _mm512_load_ps(sum + r * ld + v * LANES);
            float *c = to->c + r * to->ldc + v * LANES;
            if (end == ADD) x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(mask, c));
            if (end == ADD_AND_ROUND) {
                const uint16_t *d = to->D + r * to->ldD + v * LANES;
                x = _mm512_add_ps(x, widened(to->dtype, _mm256_maskz_loadu_epi16(mask, d)));
            }
            if (end == ROUND || end == ADD_AND_ROUND)
                _mm256_mask_storeu_epi16(to->C + r * to->ldC + v * LANES, mask, rounded(to->dtype, x));
            else
                _mm512_mask_storeu_ps(c, mask, x);
        }
}

/* Finishes the sums of a tile. Callers pass a constant `vectors`. */
CT__VECTORS CT__INLINE void finish(const int vectors, const float *sum, int64_t ld, const place *to)
{
    switch (to->end) {
    case STORE: finish_as(STORE, vectors, sum, ld, to); break;
    case ADD: finish_as(ADD, vectors, sum, ld, to); break;
    case ROUND: finish_as(ROUND, vectors, sum, ld, to); break;
    case ADD_AND_ROUND: finish_as(ADD_AND_ROUND, vectors, sum, ld, to); break;
    }
}

/* Pending prefetches, spread between the products so that they delay no load: `rows` rows of `length`
 * elements, `step` elements apart. There is one for every `gap` elements, and `share` are issued at a
 * time. */
typedef struct lookahead {
    const uint16_t *x;
    int64_t rows, step, length, gap, share, at;
} lookahead;

CT__INLINE void prefetch(lookahead *f)
{
    for (int64_t i = 0; i < f->share && f->rows; i++) {
        __builtin_prefetch(f->x + f->at, 0, 2);
        f->at += f->gap;
        if (f->at < f->length) continue;
        f->at = 0;
        f->rows--;
        f->x += f->step;
    }
}

typedef uint32_t word __attribute__((may_alias, aligned(2)));
typedef uint16_t element __attribute__((may_alias));

/* The smallest |x| - 1 of elements, as bits: zeros wrap to the largest. */
CT__VECTORS CT__INLINE __m512i smallest(__m512i least, const void *x)
{
    const __m512i size = _mm512_and_si512(_mm512_loadu_si512(x), _mm512_set1_epi16(0x7fff));
    return _mm512_min_epu16(least, _mm512_sub_epi16(size, _mm512_set1_epi16(1)));
}

/* The biased exponent of that element; 0 if it is subnormal. */
CT__VECTORS CT__INLINE int exponent_of(__m512i smallest)
{
    uint16_t x[2 * LANES], least = UINT16_MAX;
    _mm512_storeu_si512(x, smallest);
    UNROLL for (int i = 0; i < 2 * LANES; i++) least = x[i] < least ? x[i] : least;
    return (least + 1) >> 7;
}

/* The smallest biased exponent of the nonzero elements; 0 if one is subnormal. */
CT__VECTORS static inline int least_exponent(int64_t words, const uint32_t *packed)
{
    __m512i least = _mm512_set1_epi16(-1);
    for (int64_t i = 0; i < words; i += LANES) least = smallest(least, packed + i);
    return exponent_of(least);
}

/* Packs x (depth x n, strides ds and xs, one of them 1) into `to` (pairs x width), one word for each pair of
 * neighbours along the depth, padded with zeros. */
CT__VECTORS static inline void pack(const ct__microkernels *f32, const uint16_t *x, int64_t ds, int64_t xs,
                                    int64_t depth, int64_t n, int64_t width, uint32_t *to)
{
    const int64_t whole = depth / 2;
    if (xs == 1)
        for (int64_t p = 0; p < whole; p++) {
            const uint16_t *low = x + 2 * p * ds, *high = low + ds;
            for (int64_t j = 0; j < n; j++) to[p * width + j] = low[j] | (uint32_t)high[j] << 16;
        }
    else if (xs % 2 == 0 && (uintptr_t)x % sizeof *to == 0)
        f32->transpose(n, whole, x, xs / 2, to, width); /* transposes 32-bit words */
    else
        for (int64_t p = 0; p < whole; p++)
            for (int64_t j = 0; j < n; j++)
                to[p * width + j] = *(const word *)(const void *)(x + j * xs + 2 * p);
    if (depth % 2)
        for (int64_t j = 0; j < n; j++) to[whole * width + j] = x[(depth - 1) * ds + j * xs];
    for (int64_t p = 0; p < (depth + 1) / 2 && n < width; p++)
        for (int64_t j = n; j < width; j++) to[p * width + j] = 0;
}

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

#endif
