/* A CPU with bf16 dot products and AMX, in plain C: the types, instructions and registers that gemm_bf16.c
 * and gemm_columns.c use, for their tests on a CPU that lacks them. A masked lane is not touched. What would
 * fault traps: a misaligned access of aligned memory, and AMX before its registers are configured. */
#ifndef CT_TEST_SIMULATED_IMMINTRIN_H
#define CT_TEST_SIMULATED_IMMINTRIN_H

#include "tensor/cpu/kernel/isa.h"
#include "tensor/half.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Their functions are compiled for any CPU, and every device has bf16 dot products. */
#undef CT__VECTORS
#undef CT__BF16
#undef CT__AMX
#define CT__VECTORS
#define CT__BF16
#define CT__AMX
#define ct__has_bf16(isa) ((void)(isa), true)

typedef float __m512 __attribute__((vector_size(64), may_alias));
typedef long long __m512i __attribute__((vector_size(64), may_alias));
typedef short __m512bh __attribute__((vector_size(64), may_alias));
typedef long long __m256i __attribute__((vector_size(32), may_alias));
typedef uint16_t __mmask16;
typedef uint32_t __mmask32;

typedef uint32_t ct__words __attribute__((vector_size(64), may_alias));
typedef uint16_t ct__halves __attribute__((vector_size(64), may_alias));
typedef uint16_t ct__short_halves __attribute__((vector_size(32), may_alias));

#define EMULATED       static inline __attribute__((unused))
#define EACH(i, lanes) for (int i = 0; i < (lanes); i++)

/* -- memory ---------------------------------------------------------------------------------------------- */

EMULATED void ct__need_alignment(const void *p)
{
    if ((uintptr_t)p % 64) __builtin_trap();
}
EMULATED __m512i _mm512_loadu_si512(const void *p)
{
    __m512i x;
    memcpy(&x, p, sizeof x);
    return x;
}
EMULATED void _mm512_storeu_si512(void *p, __m512i x) { memcpy(p, &x, sizeof x); }
EMULATED __m512i _mm512_load_si512(const void *p)
{
    ct__need_alignment(p);
    return _mm512_loadu_si512(p);
}
EMULATED void _mm512_store_si512(void *p, __m512i x)
{
    ct__need_alignment(p);
    _mm512_storeu_si512(p, x);
}
EMULATED __m512 _mm512_load_ps(const void *p) { return (__m512)_mm512_load_si512(p); }
EMULATED void _mm512_store_ps(void *p, __m512 x) { _mm512_store_si512(p, (__m512i)x); }

#define MASKED_LOAD(name, vector, lanes, type, mask)                    \
    EMULATED vector name(mask k, const void *p)                         \
    {                                                                   \
        type x[lanes] = { 0 };                                          \
        vector v;                                                       \
        const char *from = p;                                           \
        EACH(i, lanes)                                                  \
        if (k >> i & 1) memcpy(x + i, from + i * sizeof *x, sizeof *x); \
        memcpy(&v, x, sizeof v);                                        \
        return v;                                                       \
    }
#define MASKED_STORE(name, vector, lanes, type, mask)                 \
    EMULATED void name(void *p, mask k, vector v)                     \
    {                                                                 \
        type x[lanes];                                                \
        char *to = p;                                                 \
        memcpy(x, &v, sizeof x);                                      \
        EACH(i, lanes)                                                \
        if (k >> i & 1) memcpy(to + i * sizeof *x, x + i, sizeof *x); \
    }
MASKED_LOAD(_mm512_maskz_loadu_ps, __m512, 16, float, __mmask16)
MASKED_LOAD(_mm512_maskz_loadu_epi16, __m512i, 32, uint16_t, __mmask32)
MASKED_LOAD(_mm256_maskz_loadu_epi16, __m256i, 16, uint16_t, __mmask16)
MASKED_STORE(_mm512_mask_storeu_ps, __m512, 16, float, __mmask16)
MASKED_STORE(_mm512_mask_storeu_epi16, __m512i, 32, uint16_t, __mmask32)
MASKED_STORE(_mm256_mask_storeu_epi16, __m256i, 16, uint16_t, __mmask16)

/* -- arithmetic ------------------------------------------------------------------------------------------ */

EMULATED __m512 _mm512_setzero_ps(void) { return (__m512){ 0 }; }
EMULATED __m512i _mm512_setzero_si512(void) { return (__m512i){ 0 }; }
EMULATED __m512i _mm512_set1_epi32(int x) { return (__m512i)((ct__words){ 0 } + (uint32_t)x); }
EMULATED __m512i _mm512_set1_epi16(short x) { return (__m512i)((ct__halves){ 0 } + (uint16_t)x); }
EMULATED __m512 _mm512_add_ps(__m512 a, __m512 b) { return a + b; }
EMULATED __m512 _mm512_sub_ps(__m512 a, __m512 b) { return a - b; }
EMULATED __m512i _mm512_and_si512(__m512i a, __m512i b) { return a & b; }
EMULATED __m512i _mm512_or_si512(__m512i a, __m512i b) { return a | b; }
EMULATED __m512i _mm512_add_epi32(__m512i a, __m512i b) { return (__m512i)((ct__words)a + (ct__words)b); }
EMULATED __m512i _mm512_sub_epi16(__m512i a, __m512i b) { return (__m512i)((ct__halves)a - (ct__halves)b); }
EMULATED __m512i _mm512_slli_epi32(__m512i a, unsigned n) { return (__m512i)((ct__words)a << n); }
EMULATED __m512i _mm512_srli_epi32(__m512i a, unsigned n) { return (__m512i)((ct__words)a >> n); }
EMULATED __m512i _mm512_min_epu16(__m512i a, __m512i b)
{
    const ct__halves less = (ct__halves)((ct__halves)a < (ct__halves)b);
    return (__m512i)(((ct__halves)a & less) | ((ct__halves)b & ~less));
}

enum { _CMP_UNORD_Q = 3 };
EMULATED __mmask16 _mm512_cmp_ps_mask(__m512 a, __m512 b, int unordered)
{
    unsigned mask = 0;
    if (unordered != _CMP_UNORD_Q) __builtin_trap();
    EACH(i, 16) mask |= (unsigned)(isnan(a[i]) || isnan(b[i])) << i;
    return (__mmask16)mask;
}
EMULATED __m512i _mm512_mask_mov_epi32(__m512i from, __mmask16 k, __m512i a)
{
    ct__words x = (ct__words)from;
    EACH(i, 16) x[i] = k >> i & 1 ? ((ct__words)a)[i] : x[i];
    return (__m512i)x;
}
EMULATED __m512i _mm512_mask_mov_epi16(__m512i from, __mmask32 k, __m512i a)
{
    ct__halves x = (ct__halves)from;
    EACH(i, 32) x[i] = k >> i & 1 ? ((ct__halves)a)[i] : x[i];
    return (__m512i)x;
}
EMULATED __m512i _mm512_maskz_mov_epi16(__mmask32 k, __m512i a)
{
    return _mm512_mask_mov_epi16(_mm512_setzero_si512(), k, a);
}

/* -- conversions ----------------------------------------------------------------------------------------- */

EMULATED __m256i _mm512_cvtepi32_epi16(__m512i a)
{
    ct__short_halves y;
    EACH(i, 16) y[i] = (uint16_t)((ct__words)a)[i];
    return (__m256i)y;
}
EMULATED __m512i _mm512_cvtepu16_epi32(__m256i a)
{
    ct__words y;
    EACH(i, 16) y[i] = ((ct__short_halves)a)[i];
    return (__m512i)y;
}
EMULATED __m512 _mm512_cvtph_ps(__m256i a)
{
    __m512 y;
    EACH(i, 16) y[i] = ct__from_f16(((ct__short_halves)a)[i]);
    return y;
}
EMULATED __m256i _mm512_cvtps_ph(__m512 a, int to_nearest)
{
    ct__short_halves y;
    if (to_nearest) __builtin_trap();
    EACH(i, 16) y[i] = ct__to_f16(a[i]);
    return (__m256i)y;
}

/* -- dot products of bf16, which flush subnormals on input and output ----------------------------------- */

#pragma GCC push_options
#pragma GCC optimize("O3")
#define FLUSHED(x) (fabsf(x) < FLT_MIN ? 0 : (x))
/* sum_j += a_0j b_0j + a_1j b_1j for the halves of 16 words of a, `step` apart, and of b. A product of two
 * bf16 is exact in f32. */
EMULATED void ct__dot(float *restrict sum, const uint32_t *a, int step, const uint32_t *restrict b)
{
    for (int shift = 16; shift >= 0; shift -= 16) {
        uint32_t u[16], v[16];
        float x[16], y[16];
        EACH(j, 16) u[j] = a[j * step] << shift & 0xffff0000;
        EACH(j, 16) v[j] = b[j] << shift & 0xffff0000;
        memcpy(x, u, sizeof x), memcpy(y, v, sizeof y);
        EACH(j, 16) sum[j] = FLUSHED(sum[j]) + FLUSHED(x[j]) * FLUSHED(y[j]);
        EACH(j, 16) sum[j] = FLUSHED(sum[j]);
    }
}
#undef FLUSHED
#pragma GCC pop_options

EMULATED __m512 _mm512_dpbf16_ps(__m512 sum, __m512bh a, __m512bh b)
{
    float y[16];
    uint32_t u[16], v[16];
    memcpy(y, &sum, sizeof y), memcpy(u, &a, sizeof u), memcpy(v, &b, sizeof v);
    ct__dot(y, u, 1, v);
    memcpy(&sum, y, sizeof y);
    return sum;
}

/* AMX's registers, which are there from _tile_loadconfig to _tile_release. */
static __attribute__((unused)) _Thread_local struct ct__amx {
    bool open;
    uint32_t tile[8][16][16];
} ct__amx;

EMULATED uint32_t (*ct__tile_of(int t))[16]
{
    if (!ct__amx.open) __builtin_trap();
    return ct__amx.tile[t];
}
EMULATED void _tile_loadconfig(const void *config)
{
    const unsigned char *palette = config;
    if (*palette != 1) __builtin_trap();
    ct__amx.open = true;
}
EMULATED void _tile_release(void) { ct__amx.open = false; }
EMULATED void _tile_zero(int t) { memset(ct__tile_of(t), 0, sizeof ct__amx.tile[t]); }
EMULATED void _tile_loadd(int t, const void *p, int64_t step)
{
    EACH(r, 16) memcpy(ct__tile_of(t)[r], (const char *)p + r * step, 64);
}
EMULATED void _tile_stored(int t, void *p, int64_t step)
{
    EACH(r, 16) memcpy((char *)p + r * step, ct__tile_of(t)[r], 64);
}
EMULATED void _tile_dpbf16ps(int c, int a, int b)
{
    uint32_t(*C)[16] = ct__tile_of(c), (*A)[16] = ct__tile_of(a), (*B)[16] = ct__tile_of(b);
    EACH(r, 16)
    {
        float sum[16];
        memcpy(sum, C[r], sizeof sum);
        EACH(p, 16) ct__dot(sum, &A[r][p], 0, B[p]);
        memcpy(C[r], sum, sizeof sum);
    }
}

#undef EMULATED
#undef EACH
#undef MASKED_LOAD
#undef MASKED_STORE

#endif
