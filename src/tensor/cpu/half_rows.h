/* Converts rows of bf16 and f16 to f32 and back, for each instruction set (each_isa.h). The compiler
 * vectorises the integer arithmetic of tensor/half.h at any width; F16C's instructions do the same for f16.
 * Those of AVX-512 BF16 are not used, because they flush subnormals to zero. */
#if !F64
#    define ROW(name, I, O, convert)                                                 \
        TARGET static void NAME(name)(int64_t n, const I *restrict x, O *restrict y) \
        {                                                                            \
            for (int64_t i = 0; i < n; i++) y[i] = convert(x[i]);                    \
        }

ROW(widen_bf16, uint16_t, float, ct__from_bf16)
ROW(narrow_bf16, float, uint16_t, ct__to_bf16)
#    if ISA == 0
ROW(widen_f16, uint16_t, float, ct__from_f16)
ROW(narrow_f16, float, uint16_t, ct__to_f16)
#    else
#        if ISA == 1
#            define WIDEN(x, y)  _mm256_storeu_ps(y, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(x))))
#            define NARROW(x, y) _mm_storeu_si128((void *)(y), _mm256_cvtps_ph(_mm256_loadu_ps(x), 0))
#        else
#            define WIDEN(x, y)  _mm512_storeu_ps(y, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(x))))
#            define NARROW(x, y) _mm256_storeu_si256((void *)(y), _mm512_cvtps_ph(_mm512_loadu_ps(x), 0))
#        endif
TARGET static void NAME(widen_f16)(int64_t n, const uint16_t *x, float *y)
{
    int64_t i = 0;
    for (; i + L <= n; i += L) WIDEN(x + i, y + i);
    widen_f16_f32_base(n - i, x + i, y + i);
}

TARGET static void NAME(narrow_f16)(int64_t n, const float *x, uint16_t *y)
{
    int64_t i = 0;
    for (; i + L <= n; i += L) NARROW(x + i, y + i);
    narrow_f16_f32_base(n - i, x + i, y + i);
}
#        undef WIDEN
#        undef NARROW
#    endif
#    undef ROW
#endif
