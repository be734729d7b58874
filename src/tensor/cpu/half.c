/* Rows of bf16 and f16 to f32 and back. The integer arithmetic of tensor/half.h makes vectors of any width;
 * for f16 the instructions of F16C, which every CPU with AVX2 and FMA has, do the same. Those of AVX-512 BF16
 * are not used: they make subnormals zero. */
#include "half.h"
#include "isa.h"

#define WIDEN(name, target, convert)                                                  \
    target static void name(int64_t n, const uint16_t *restrict x, float *restrict y) \
    {                                                                                 \
        for (int64_t i = 0; i < n; i++) y[i] = convert(x[i]);                         \
    }
#define NARROW(name, target, convert)                                                 \
    target static void name(int64_t n, const float *restrict x, uint16_t *restrict y) \
    {                                                                                 \
        for (int64_t i = 0; i < n; i++) y[i] = convert(x[i]);                         \
    }

WIDEN(widen_bf16_base, , ct__from_bf16)
WIDEN(widen_f16_base, , ct__from_f16)
NARROW(narrow_bf16_base, , ct__to_bf16)
NARROW(narrow_f16_base, , ct__to_f16)

#if CT__X86
#    include <immintrin.h>
#    define AVX2   __attribute__((target("avx2,f16c")))
#    define AVX512 __attribute__((target("avx2,f16c,avx512f,avx512dq,avx512bw,avx512vl")))

WIDEN(widen_bf16_avx2, AVX2, ct__from_bf16)
NARROW(narrow_bf16_avx2, AVX2, ct__to_bf16)
WIDEN(widen_bf16_avx512, AVX512, ct__from_bf16)
NARROW(narrow_bf16_avx512, AVX512, ct__to_bf16)

AVX2 static void widen_f16_avx2(int64_t n, const uint16_t *x, float *y)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(x + i))));
    widen_f16_base(n - i, x + i, y + i);
}

AVX2 static void narrow_f16_avx2(int64_t n, const float *x, uint16_t *y)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((void *)(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
    narrow_f16_base(n - i, x + i, y + i);
}

AVX512 static void widen_f16_avx512(int64_t n, const uint16_t *x, float *y)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(y + i, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(x + i))));
    widen_f16_base(n - i, x + i, y + i);
}

AVX512 static void narrow_f16_avx512(int64_t n, const float *x, uint16_t *y)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((void *)(y + i),
                            _mm512_cvtps_ph(_mm512_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
    narrow_f16_base(n - i, x + i, y + i);
}

#    define BY_ISA(name)                            \
        {                                           \
            name##_base, name##_avx2, name##_avx512 \
        }
#else
#    define BY_ISA(name) \
        {                \
            name##_base  \
        }
#endif

static void (*const widen[][CT__ISA_COUNT])(int64_t, const uint16_t *, float *) = { BY_ISA(widen_bf16),
                                                                                    BY_ISA(widen_f16) };
static void (*const narrow[][CT__ISA_COUNT])(int64_t, const float *, uint16_t *) = { BY_ISA(narrow_bf16),
                                                                                     BY_ISA(narrow_f16) };

void ct__widen(ct_dtype from, int64_t n, const uint16_t *x, float *y)
{
    widen[from == CT_F16][ct__best_isa()](n, x, y);
}

void ct__narrow(ct_dtype to, int64_t n, const float *x, uint16_t *y)
{
    narrow[to == CT_F16][ct__best_isa()](n, x, y);
}

void ct__widen_tile(ct_dtype from, int64_t rows, int64_t cols, const uint16_t *x, int64_t rs, int64_t cs,
                    float *y, int64_t ld)
{
    for (int64_t i = 0; i < rows; i++, x += rs, y += ld) {
        if (cs == 1)
            ct__widen(from, cols, x, y);
        else
            for (int64_t j = 0; j < cols; j++) y[j] = ct__from_half(from, x[j * cs]);
    }
}

void ct__narrow_tile(ct_dtype to, int64_t rows, int64_t cols, const float *x, int64_t ld, uint16_t *y,
                     int64_t rs, int64_t cs)
{
    for (int64_t i = 0; i < rows; i++, x += ld, y += rs) {
        if (cs == 1)
            ct__narrow(to, cols, x, y);
        else
            for (int64_t j = 0; j < cols; j++) y[j * cs] = ct__to_half(to, x[j]);
    }
}
