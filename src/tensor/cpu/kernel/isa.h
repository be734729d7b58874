/* The instruction sets that vector code is compiled for (each_isa.h), and the choice among them: a device has
 * the number of the best one that the CPU has, ct_device's `isa`. */
#ifndef CT_TENSOR_CPU_ISA_H
#define CT_TENSOR_CPU_ISA_H

#include <stdbool.h>

#if defined(__x86_64__) && defined(__GNUC__)
#    define CT__X86    1
#    define CT__AVX2   __attribute__((target("avx2,fma,f16c")))
#    define CT__AVX512 __attribute__((target("avx2,fma,f16c,avx512f,avx512dq,avx512bw,avx512vl")))
#    define CT__BF16   __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512bf16")))
#    define CT__AMX    __attribute__((target("amx-tile,amx-bf16,avx512f,avx512dq,avx512bw,avx512vl")))
#else
#    define CT__X86 0
#endif

typedef enum ct__isa { CT__ISA_BASE, CT__ISA_AVX2, CT__ISA_AVX512, CT__ISA_COUNT = CT__X86 ? 3 : 1 } ct__isa;

/* The variants of a function that each_isa.h has made of a file: a table by ct__isa of those for one type,
 * and one by ct_dtype (f64, f32) and ct__isa. */
#if CT__X86
#    define CT__EACH_ISA(function, type)                                                   \
        {                                                                                  \
            function##_##type##_base, function##_##type##_avx2, function##_##type##_avx512 \
        }
#else
#    define CT__EACH_ISA(function, type) \
        {                                \
            function##_##type##_base     \
        }
#endif
#define CT__EACH(function)                                       \
    {                                                            \
        CT__EACH_ISA(function, f64), CT__EACH_ISA(function, f32) \
    }

/* Every CPU with AVX2 and FMA has F16C. */
static inline ct__isa ct__best_isa(void)
{
#if CT__X86
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return CT__ISA_BASE;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
               ? CT__ISA_AVX512
               : CT__ISA_AVX2;
#else
    return CT__ISA_BASE;
#endif
}

/* Whether a device of that instruction set may use the dot products of bf16 (CT__BF16), too. */
static inline bool ct__has_bf16(int isa)
{
#if CT__X86
    return isa == CT__ISA_AVX512 && __builtin_cpu_supports("avx512bf16");
#else
    return isa != isa;
#endif
}

#endif
