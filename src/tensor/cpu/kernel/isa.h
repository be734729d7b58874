/* The instruction sets that vector code is compiled for (vector.h). A device's `isa` is the best one that the
 * CPU supports. */
#ifndef CT_TENSOR_CPU_ISA_H
#define CT_TENSOR_CPU_ISA_H

#include <stdbool.h>

#if defined(__x86_64__) && defined(__GNUC__)
#    define CT__X86 1
/* What the next two share. */
#    define CT__VECTORS __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#    define CT__BF16    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512bf16")))
#    define CT__AMX     __attribute__((target("amx-tile,amx-bf16,avx512f,avx512dq,avx512bw,avx512vl")))
#else
#    define CT__X86 0
#endif

typedef enum ct__isa { CT__ISA_BASE, CT__ISA_AVX2, CT__ISA_AVX512, CT__ISA_COUNT = CT__X86 ? 3 : 1 } ct__isa;

/* The variants of a struct of functions that a file of vector code exports: their declarations, and tables of
 * them, for one type by ct__isa and for f64 and f32 by ct_dtype and ct__isa. */
#if CT__X86
#    define CT__VARIANTS(type, name)                                                            \
        extern const type name##_f64_base, name##_f64_avx2, name##_f64_avx512, name##_f32_base, \
            name##_f32_avx2, name##_f32_avx512
#    define CT__EACH_ISA(name, type)                                              \
        {                                                                         \
            &name##_##type##_base, &name##_##type##_avx2, &name##_##type##_avx512 \
        }
#else
#    define CT__VARIANTS(type, name) extern const type name##_f64_base, name##_f32_base
#    define CT__EACH_ISA(name, type) \
        {                            \
            &name##_##type##_base    \
        }
#endif
#define CT__EACH(name)                                   \
    {                                                    \
        CT__EACH_ISA(name, f64), CT__EACH_ISA(name, f32) \
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
