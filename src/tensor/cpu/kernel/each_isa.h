/* Compiles vector code for each instruction set: includes the file that VECTOR_CODE names once for f64 and
 * f32 and each instruction set of isa.h, with these definitions:
 *
 *     T, F64, FN(f)   the type, whether it is double, and the name of the C library's f for it
 *     NAME(n)         n followed by the type's name and the instruction set's; CT__EACH(n): the table of all
 *     ISA             the instruction set's number: 0 any machine's 16 bytes, 1 AVX2 and FMA, 2 AVX-512
 *     TARGET          the attribute of functions that use it; CT__INLINE ones need none
 *     FUSED           whether the instruction set has fused multiply-adds
 *     LANES           numbers in a vector; NAME(vec) is the type of one, at any address
 *     ZIP(a, b, h)    the halves of a and b from number h on, interleaved
 *     MAD(a, b, c)    a b + c, fused if FUSED
 *     STREAM(to, v)   *to = v, past the caches
 *
 * and those of vector.h. */
#ifndef VECTOR_CODE
#    error "VECTOR_CODE names the file to be included"
#endif

#include "config.h"
#include "isa.h"
#include "vmath.h"

#if CT__X86
#    include <immintrin.h>
#endif

#define ZIP2(a, b, h) __builtin_shufflevector(a, b, h, 2 + h)
#define ZIP4(a, b, h) __builtin_shufflevector(a, b, h, 4 + h, h + 1, 5 + h)
#define ZIP8(a, b, h) __builtin_shufflevector(a, b, h, 8 + h, h + 1, 9 + h, h + 2, 10 + h, h + 3, 11 + h)
#define ZIP16(a, b, h)                                                                                   \
    __builtin_shufflevector(a, b, h, 16 + h, h + 1, 17 + h, h + 2, 18 + h, h + 3, 19 + h, h + 4, 20 + h, \
                            h + 5, 21 + h, h + 6, 22 + h, h + 7, 23 + h)

/* Whether code without a target attribute has fused multiply-adds. */
#ifdef FP_FAST_FMA
#    define CT__BASE_FUSED true
#else
#    define CT__BASE_FUSED false
#endif

/* Unrolls a loop with constant bounds over an array, so that the array stays in registers. */
#ifndef UNROLL
#    define UNROLL _Pragma("GCC unroll 16")
#endif

#define ISA 0
#define TARGET
#define FUSED         CT__BASE_FUSED
#define MAD(a, b, c)  ((a) * (b) + (c))
#define STREAM(to, v) (*(to) = (v))

#define T       double
#define F64     1
#define FN(n)   n
#define NAME(n) n##_f64_base
#define LANES   2
#define ZIP     ZIP2
#include "vector.h"

#define T       float
#define F64     0
#define FN(n)   n##f
#define NAME(n) n##_f32_base
#define LANES   4
#define ZIP     ZIP4
#include "vector.h"

#undef ISA
#undef TARGET
#undef FUSED
#undef MAD
#undef STREAM

#if CT__X86
#    define ISA    1
#    define TARGET CT__AVX2
#    define FUSED  true

#    define T             double
#    define F64           1
#    define FN(n)         n
#    define NAME(n)       n##_f64_avx2
#    define LANES         4
#    define ZIP           ZIP4
#    define MAD(a, b, c)  ((NAME(vec))_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#    define STREAM(to, v) _mm256_stream_pd((void *)(to), (__m256d)(v))
#    include "vector.h"
#    undef MAD
#    undef STREAM

#    define T             float
#    define F64           0
#    define FN(n)         n##f
#    define NAME(n)       n##_f32_avx2
#    define LANES         8
#    define ZIP           ZIP8
#    define MAD(a, b, c)  ((NAME(vec))_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#    define STREAM(to, v) _mm256_stream_ps((void *)(to), (__m256)(v))
#    include "vector.h"
#    undef MAD
#    undef STREAM

#    undef ISA
#    undef TARGET
#    define ISA    2
#    define TARGET CT__AVX512

#    define T             double
#    define F64           1
#    define FN(n)         n
#    define NAME(n)       n##_f64_avx512
#    define LANES         8
#    define ZIP           ZIP8
#    define MAD(a, b, c)  ((NAME(vec))_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#    define STREAM(to, v) _mm512_stream_pd((void *)(to), (__m512d)(v))
#    include "vector.h"
#    undef MAD
#    undef STREAM

#    define T             float
#    define F64           0
#    define FN(n)         n##f
#    define NAME(n)       n##_f32_avx512
#    define LANES         16
#    define ZIP           ZIP16
#    define MAD(a, b, c)  ((NAME(vec))_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#    define STREAM(to, v) _mm512_stream_ps((void *)(to), (__m512)(v))
#    include "vector.h"
#    undef MAD
#    undef STREAM

#    undef ISA
#    undef TARGET
#    undef FUSED
#endif
#undef VECTOR_CODE
