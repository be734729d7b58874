/* Vector code: converts rows of bf16 and f16 to f32 and back. The compiler vectorises the
 * integer arithmetic of tensor/half.h at any width; F16C's instructions do the same for f16. Those of AVX-512
 * BF16 are not used, because they flush subnormals to zero. */
#include "half_rows.h"
#include "kernel/vector.h"
#include "tensor/half.h"

#define ROW(name, I, O, convert)                                    \
    static void name(int64_t n, const I *restrict x, O *restrict y) \
    {                                                               \
        for (int64_t i = 0; i < n; i++) y[i] = convert(x[i]);       \
    }

ROW(widen_bf16, uint16_t, float, ct__from_bf16)
ROW(narrow_bf16, float, uint16_t, ct__to_bf16)
#if ISA == 0
ROW(widen_f16, uint16_t, float, ct__from_f16)
ROW(narrow_f16, float, uint16_t, ct__to_f16)
#else
#    if ISA == 1
#        define WIDEN(x, y)  _mm256_storeu_ps(y, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(x))))
#        define NARROW(x, y) _mm_storeu_si128((void *)(y), _mm256_cvtps_ph(_mm256_loadu_ps(x), 0))
#    else
#        define WIDEN(x, y)  _mm512_storeu_ps(y, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(x))))
#        define NARROW(x, y) _mm256_storeu_si256((void *)(y), _mm512_cvtps_ph(_mm512_loadu_ps(x), 0))
#    endif
static void widen_f16(int64_t n, const uint16_t *x, float *y)
{
    int64_t i = 0;
    for (; i + L <= n; i += L) WIDEN(x + i, y + i);
    for (; i < n; i++) y[i] = ct__from_f16(x[i]);
}

static void narrow_f16(int64_t n, const float *x, uint16_t *y)
{
    int64_t i = 0;
    for (; i + L <= n; i += L) NARROW(x + i, y + i);
    for (; i < n; i++) y[i] = ct__to_f16(x[i]);
}
#endif

const ct__half_rows NAME(ct__half_rows) = { widen_bf16, widen_f16, narrow_bf16, narrow_f16 };
