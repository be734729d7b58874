/* Products of bf16 tiles by the dot products of AVX512-BF16: two products, exact, join a sum in f32 at a time. A word holds the two
 * neighbours along the depth that meet in one.
 *
 * The instruction reads subnormals as zeros and writes zeros for them. Where the least elements of two tiles have the exponents e and
 * f, all their products, and sums of those, are multiples of 2^(e + f - 14): from 2^-126 on there is nothing that it could lose. Other
 * tiles are left to f32. */
#include "half.h"
#include "isa.h"
#include "product.h"

#if CT__X86
#    include <immintrin.h>

#    define BF16   __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512bf16")))
#    define UNROLL _Pragma("GCC unroll 8")

enum {
    ROWS = 8, /* of a tile in registers */
    VECTORS = 3,
    LANES = 16,
    WIDTH = VECTORS * LANES,
    PAIRS = 128, /* at most      */
    DEPTH = 64,  /* at least     */
    BIAS = 127,
};

typedef uint32_t word __attribute__((may_alias, aligned(2)));

/* The biased exponent of the least element that is not zero; 0: a subnormal. One stride is 1. */
BF16 static int least_exponent(int64_t rows, int64_t cols, const uint16_t *x, int64_t rs, int64_t cs)
{
    const bool across = cs == 1;
    const int64_t lines = across ? rows : cols, n = across ? cols : rows, step = across ? rs : cs;
    uint16_t least = UINT16_MAX; /* of |x| - 1 in bits: zero is the largest */
    for (int64_t i = 0; i < lines; i++)
        for (int64_t j = 0; j < n; j++) {
            const uint16_t bits = (uint16_t)((x[i * step + j] & 0x7fff) - 1);
            least = bits < least ? bits : least;
        }
    return (least + 1) >> 7;
}

/* to (pairs x width) = words of x (depth x n; ds along the depth, xs across), zeros behind. One stride is 1. */
BF16 static void pack(const uint16_t *x, int64_t ds, int64_t xs, int64_t depth, int64_t n, int64_t width,
                      uint32_t *to)
{
    const int64_t whole = depth / 2;
    if (xs == 1)
        for (int64_t p = 0; p < whole; p++) {
            const uint16_t *low = x + 2 * p * ds, *high = low + ds;
            for (int64_t j = 0; j < n; j++) to[p * width + j] = low[j] | (uint32_t)high[j] << 16;
        }
    else if (xs % 2 == 0 && (uintptr_t)x % sizeof *to == 0)
        ct__transpose(CT_F32, n, whole, x, xs / 2, to, width); /* words are words */
    else
        for (int64_t p = 0; p < whole; p++)
            for (int64_t j = 0; j < n; j++)
                to[p * width + j] = *(const word *)(const void *)(x + j * xs + 2 * p);
    if (depth % 2)
        for (int64_t j = 0; j < n; j++) to[whole * width + j] = x[(depth - 1) * ds + j * xs];
    for (int64_t p = 0; p < (depth + 1) / 2 && n < width; p++)
        for (int64_t j = n; j < width; j++) to[p * width + j] = 0;
}

/* c (rows x cols) = or += Σ_p a_rp b_p, a_rp at a[r][p step], b packed */
BF16 static void tile(int64_t pairs, const word *const *a, int64_t step, const uint32_t *b, int64_t rows,
                      int64_t cols, bool add, float *c, int64_t ld)
{
    __m512 sum[ROWS][VECTORS];
    UNROLL for (int r = 0; r < ROWS; r++) UNROLL for (int v = 0; v < VECTORS; v++) sum[r][v] =
        _mm512_setzero_ps();
    for (int64_t p = 0; p < pairs; p++, b += WIDTH) {
        __m512bh row[VECTORS];
        UNROLL for (int v = 0; v < VECTORS; v++) row[v] = (__m512bh)_mm512_loadu_si512(b + v * LANES);
        UNROLL for (int r = 0; r < ROWS; r++)
        {
            const __m512bh s = (__m512bh)_mm512_set1_epi32((int)a[r][p * step]);
            UNROLL for (int v = 0; v < VECTORS; v++) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], s, row[v]);
        }
    }
    UNROLL for (int r = 0; r < ROWS; r++) UNROLL for (int v = 0; v < VECTORS; v++)
    {
        const int64_t left = cols - v * LANES;
        if (r >= rows || left <= 0) continue;
        const __mmask16 mask = (__mmask16)(left < LANES ? (1 << left) - 1 : 0xffff);
        float *to = c + r * ld + v * LANES;
        if (add) sum[r][v] = _mm512_add_ps(sum[r][v], _mm512_maskz_loadu_ps(mask, to));
        _mm512_mask_storeu_ps(to, mask, sum[r][v]);
    }
}

static bool has_dots(void)
{
    return ct__best_isa() == CT__ISA_avx512 && __builtin_cpu_supports("avx512bf16");
}

bool ct__bf16_multiply(int64_t rows, int64_t cols, int64_t depth, const uint16_t *a, int64_t a_rs,
                       int64_t a_cs, const uint16_t *b, int64_t b_rs, int64_t b_cs, uint32_t *panels,
                       bool add, float *c)
{
    if (rows < 2 * ROWS || cols < WIDTH || depth < DEPTH || depth > 2 * PAIRS || !has_dots()) return false;
    if ((a_rs != 1 && a_cs != 1) || (b_rs != 1 && b_cs != 1)) return false;
    const int e = least_exponent(rows, depth, a, a_rs, a_cs), f = least_exponent(depth, cols, b, b_rs, b_cs);
    if (!e || !f || e + f - 2 * BIAS - 14 < -126) return false;

    uint32_t strip[ROWS * PAIRS];
    const int64_t pairs = (depth + 1) / 2;
    for (int64_t j = 0; j < cols; j += WIDTH)
        pack(b + j * b_cs, b_rs, b_cs, depth, cols - j < WIDTH ? cols - j : WIDTH, WIDTH, panels + j * pairs);
    const bool direct = a_cs == 1 && depth % 2 == 0;
    for (int64_t i = 0; i < rows; i += ROWS) {
        const int64_t n = rows - i < ROWS ? rows - i : ROWS;
        const word *x[ROWS];
        if (!direct) pack(a + i * a_rs, a_cs, a_rs, depth, n, ROWS, strip);
        for (int r = 0; r < ROWS; r++)
            x[r] = direct ? (const word *)(const void *)(a + (i + (r < n ? r : 0)) * a_rs)
                          : (const word *)(strip + r);
        for (int64_t j = 0; j < cols; j += WIDTH)
            tile(pairs, x, direct ? 1 : ROWS, panels + j * pairs, n, cols - j, add, c + i * cols + j, cols);
    }
    return true;
}

#else

bool ct__bf16_multiply(int64_t rows, int64_t cols, int64_t depth, const uint16_t *a, int64_t a_rs,
                       int64_t a_cs, const uint16_t *b, int64_t b_rs, int64_t b_cs, uint32_t *panels,
                       bool add, float *c)
{
    (void)rows, (void)cols, (void)depth, (void)a, (void)a_rs, (void)a_cs;
    (void)b, (void)b_rs, (void)b_cs, (void)panels, (void)add, (void)c;
    return false;
}

#endif
