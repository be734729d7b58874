/* The instruction sets that vectorised code is compiled for, and the choice among them at run time. */
#ifndef CT_TENSOR_CPU_ISA_H
#define CT_TENSOR_CPU_ISA_H

#define CT__AVX2   __attribute__((target("avx2,fma")))
#define CT__AVX512 __attribute__((target("avx2,fma,avx512f,avx512dq,avx512bw,avx512vl")))

/* Whether code without a target attribute has fused multiply-adds. */
#ifdef FP_FAST_FMA
#    define CT__BASE_FUSED true
#else
#    define CT__BASE_FUSED false
#endif

/* M(name, attribute, whether it has fused multiply-adds); the best last. A table made with it is indexed by
 * ct__isa. */
#if defined(__x86_64__) && defined(__GNUC__)
#    define CT__X86 1
#    define CT__ISAS(M)           \
        M(base, , CT__BASE_FUSED) \
        M(avx2, CT__AVX2, true)   \
        M(avx512, CT__AVX512, true)
#else
#    define CT__X86     0
#    define CT__ISAS(M) M(base, , CT__BASE_FUSED)
#endif

/* The variants of a function that each_vector.h has made of a file, as an array's elements. */
#if CT__X86
#    define CT__EACH_ISA(function, type) \
        function##_##type##_base, function##_##type##_avx2, function##_##type##_avx512
#else
#    define CT__EACH_ISA(function, type) function##_##type##_base
#endif

#define CT__ISA_NAME(name, attribute, fused) CT__ISA_##name,
typedef enum ct__isa { CT__ISAS(CT__ISA_NAME) CT__ISA_COUNT } ct__isa;
#undef CT__ISA_NAME

static inline ct__isa ct__best_isa(void)
{
#if CT__X86
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return CT__ISA_base;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
               ? CT__ISA_avx512
               : CT__ISA_avx2;
#else
    return CT__ISA_base;
#endif
}

#endif
