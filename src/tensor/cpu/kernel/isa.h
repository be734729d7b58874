/* The instruction sets that vector code is compiled for (each_isa.h). A device's `isa` is the best one that
 * the CPU supports. */
#ifndef CT_TENSOR_CPU_ISA_H
#define CT_TENSOR_CPU_ISA_H

#include <stdbool.h>

#if defined(__x86_64__) && defined(__GNUC__)
#    define CT__X86    1
#    define CT__AVX2   __attribute__((target("avx2,fma,f16c")))
#    define CT__AVX512 __attribute__((target("avx2,fma,f16c,avx512f,avx512dq,avx512bw,avx512vl")))
/* What the next two share. */
#    define CT__VECTORS __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#    define CT__BF16    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512bf16")))
#    define CT__AMX     __attribute__((target("amx-tile,amx-bf16,avx512f,avx512dq,avx512bw,avx512vl")))
#else
#    define CT__X86 0
#endif

typedef enum ct__isa { CT__ISA_BASE, CT__ISA_AVX2, CT__ISA_AVX512, CT__ISA_COUNT = CT__X86 ? 3 : 1 } ct__isa;

/* Tables of a function's variants that each_isa.h has compiled: for one type, indexed by ct__isa; for f64 and
 * f32, indexed by ct_dtype and ct__isa. */
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

/* The best one of this CPU. */
ct__isa ct__best_isa(void);

/* Whether a device of that instruction set may also use bf16 dot products (CT__BF16). */
static inline bool ct__has_bf16(int isa)
{
#if CT__X86
    return isa == CT__ISA_AVX512 && __builtin_cpu_supports("avx512bf16");
#else
    (void)isa;
    return false;
#endif
}

#endif
