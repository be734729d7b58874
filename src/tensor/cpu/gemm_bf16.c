/* Products of bf16 and f16 tiles by the bf16 dot products of AMX or AVX512-BF16. One instruction adds two
 * exact products to a sum in f32; a 32-bit word holds the two neighbours along the inner dimension that it
 * multiplies. A is packed whole, in strips of rows. B is packed one panel of columns at a time. The panel
 * stays in the first-level cache while all strips are multiplied with it, and the next panel is prefetched
 * meanwhile.
 *
 * A finite f16 is the sum of two bf16, its high and its low part, so a product of f16 is four products of
 * bf16. AMX computes the four in less time than f32 takes; AVX512-BF16 does not, and is used for bf16 only.
 *
 * The instructions flush subnormals to zero, on input and output. If the smallest nonzero elements of A and
 * of a panel have the exponents e and f, all products and their sums are multiples of 2^(e + f - 14). If that
 * is at least 2^-126, no subnormal can occur and nothing is lost. Other panels are left to f32. So are f16
 * panels with a number that is not finite, because an infinity times a low part of 0 would be NaN. */
#include "gemm_bf16.h"

#if CT__X86
#    include "bf16_tile.h"

/* Replaces words of f16 by words of their high parts (the upper 8 bits of each significand), followed by as
 * many words of their low parts (the remaining 3 bits). Returns the biased exponent of the smallest f16,
 * 2^-24; 0 if a number is not finite. */
CT__BF16 static int split(int64_t words, uint32_t *packed)
{
    const __m512i upper = _mm512_set1_epi32((int)0xffff0000);
    unsigned infinite = 0;
    for (int64_t i = 0; i < words; i += LANES) {
        const __m512i two = _mm512_loadu_si512(packed + i);
        __m512i high[2];
        __m512 low[2];
        UNROLL for (int h = 0; h < 2; h++)
        {
            const __m512 x = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(two, 16 * h)));
            high[h] = _mm512_and_si512((__m512i)x, upper);
            low[h] = _mm512_sub_ps(x, (__m512)high[h]);
        }
        infinite |= _mm512_cmp_ps_mask(low[0], low[1], _CMP_UNORD_Q);
        _mm512_storeu_si512(packed + i, _mm512_or_si512(_mm512_srli_epi32(high[0], 16), high[1]));
        _mm512_storeu_si512(packed + words + i,
                            _mm512_or_si512(_mm512_srli_epi32((__m512i)low[0], 16), (__m512i)low[1]));
    }
    return infinite ? 0 : BIAS - 24;
}

/* Packs the strip of A at row i, with a_rp at r pairs + p for AMX, else at STRIP p + r. Returns its smallest
 * exponent. */
static int pack_strip(const ct__microkernels *f32, bool amx, int parts, const ct__product *q, int64_t i,
                      uint32_t *to)
{
    const int64_t rows = ct__min(q->m - i, STRIP), pairs = (q->k + 1) / 2;
    const uint16_t *a = (const uint16_t *)q->a + i * q->a_rs;
    _Alignas(LINE) uint32_t packed[CT__BF16_PAIRS * STRIP];
    if (amx && q->a_cs == 1) {
        for (int64_t r = 0; r < rows; r++)
            memcpy(to + r * pairs, a + r * q->a_rs, (size_t)pairs * sizeof *to);
        memset(to + rows * pairs, 0, (size_t)((STRIP - rows) * pairs) * sizeof *to);
    } else {
        pack(f32, a, q->a_cs, q->a_rs, q->k, rows, STRIP, amx ? packed : to);
        if (amx) f32->transpose(pairs, STRIP, packed, STRIP, to, pairs);
    }
    return parts > 1 ? split(STRIP * pairs, to) : least_exponent(STRIP * pairs, to);
}

/* The panel of B from column j on, or the first of the next call's rows, for `times` calls of prefetch. */
static lookahead next_panel(const ct__dots *dots, int64_t j, int64_t width, int64_t times)
{
    const ct__product *q = &dots->f32;
    const bool same = j < q->n;
    const uint16_t *x = (const uint16_t *)q->b + (same ? j * q->b_cs : q->k * q->b_rs);
    const int64_t cols = ct__min(same ? q->n - j : q->n, width),
                  depth = same ? q->k : ct__min(dots->more, q->k);
    lookahead f = { .x = x, .rows = depth, .step = q->b_rs, .length = cols, .gap = LINE / 2 };
    if (q->b_cs != 1)
        f = (lookahead){ .x = x, .rows = cols, .step = q->b_cs, .length = depth, .gap = LINE / 2 };
    if (!depth) f.rows = 0;
    f.share = (f.rows * (f.length + f.gap - 1) / f.gap + times - 1) / times;
    return f;
}

int64_t ct__bf16_multiply(const ct__dots *dots)
{
    const ct__product *q = &dots->f32;
    const int64_t m = q->m, n = q->n, k = q->k, pairs = (k + 1) / 2;
    const int parts = dots->dtype == CT_F16 ? 2 : 1;
    const bool amx = dots->amx && k % (2 * LANES) == 0;
    if (m < STRIP || n < PANEL || k < CT__BF16_DEPTH || k * parts > 2 * CT__BF16_PAIRS ||
        !ct__has_bf16(dots->isa) || (parts > 1 && (!amx || m * k <= STRIP * CT__BF16_DEPTH)) ||
        (q->a_rs != 1 && q->a_cs != 1) || (q->b_rs != 1 && q->b_cs != 1))
        return 0;
    const uint16_t *b = q->b;
    const ct__microkernels *f32 = ct__microkernels_of(dots->isa, CT_F32);
    _Alignas(LINE) uint32_t panel[CT__BF16_PAIRS * AMX_PANEL];
    int e = UINT16_MAX;
    for (int64_t i = 0; i < m; i += STRIP)
        e = (int)ct__min(e, pack_strip(f32, amx, parts, q, i, dots->strips + parts * i * pairs));
    if (!e) return 0;

    if (amx) open_tiles();
    const int64_t step = amx ? STRIP : CT__BF16_ROWS, width = amx && parts == 1 ? AMX_PANEL : PANEL;
    const ending end = dots->D ? ADD_AND_ROUND : dots->C ? ROUND : q->add ? ADD : STORE;
    run_tile *const *run = amx ? amx_tiles[parts - 1] : tiles;
    int64_t j = 0;
    for (; j < n; j += width) {
        const int64_t cols = ct__min(n - j, width);
        pack(f32, b + j * q->b_cs, q->b_rs, q->b_cs, k, cols, width, panel);
        const int f = parts > 1 ? split(width * pairs, panel) : least_exponent(width * pairs, panel);
        if (!f || e + f - 2 * BIAS - 14 < -126) break;
        lookahead next =
            next_panel(dots, j + width, width, (m + step - 1) / step * (amx ? pairs / LANES : 1));
        for (int64_t i = 0; i < m; i += step) {
            for (int64_t r = i + step; r < ct__min(m, i + 2 * step) && dots->C; r++)
                for (int64_t l = 0; l < cols; l += LINE / 2) /* the tile below is written next */
                    __builtin_prefetch(dots->C + r * dots->ldC + j + l, 1, 3);
            const place to = { .end = end,
                               .rows = ct__min(m - i, step),
                               .cols = cols,
                               .c = (float *)q->c + i * q->ldc + j,
                               .ldc = q->ldc,
                               .dtype = dots->dtype,
                               .C = dots->C ? dots->C + i * dots->ldC + j : NULL,
                               .ldC = dots->ldC,
                               .D = dots->D ? dots->D + i * dots->ldD + j : NULL,
                               .ldD = dots->ldD };
            run[(cols - 1) / LANES](pairs, dots->strips + parts * (i / STRIP) * STRIP * pairs + i % STRIP,
                                    panel, &to, &next);
        }
    }
    if (amx) close_tiles();
    return ct__min(j, n);
}

#else

int64_t ct__bf16_multiply(const ct__dots *dots)
{
    (void)dots;
    return 0;
}

#endif
