/* The instruction sets that vector code is compiled for (vector.h). A device's `isa` is the best one that the
 * CPU supports. */
#ifndef CT_TENSOR_CPU_ISA_H
#define CT_TENSOR_CPU_ISA_H

#include <cotangent/tensor.h>

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

/* Calls M(isa, ...) for each of them, in that order. */
#if CT__X86
#    define CT__EACH_ISA(M, ...) M(base, __VA_ARGS__) M(avx2, __VA_ARGS__) M(avx512, __VA_ARGS__)
#else
#    define CT__EACH_ISA(M, ...) M(base, __VA_ARGS__)
#endif

/* A file of vector code exports a struct of functions, once for each type and instruction set. Declares them
 * and NAME_TYPE(isa), which returns the one for an instruction set; CT__VARIANTS also NAME_of(isa, dtype),
 * which is f32's for all dtypes but f64. */
#define CT__VARIANT_DECLARED(isa, name, type) extern const name name##_##type##_##isa;
#define CT__VARIANT_ADDRESS(isa, name, type)  &name##_##type##_##isa,
#define CT__VARIANTS_OF(name, type)                                                              \
    CT__EACH_ISA(CT__VARIANT_DECLARED, name, type)                                               \
    static inline const name *name##_##type(int isa)                                             \
    {                                                                                            \
        static const name *const variants[] = { CT__EACH_ISA(CT__VARIANT_ADDRESS, name, type) }; \
        return variants[isa];                                                                    \
    }
#define CT__VARIANTS(name)                                          \
    CT__VARIANTS_OF(name, f64)                                      \
    CT__VARIANTS_OF(name, f32)                                      \
    static inline const name *name##_of(int isa, ct_dtype dtype)    \
    {                                                               \
        return dtype == CT_F64 ? name##_f64(isa) : name##_f32(isa); \
    }

/* The best one of this CPU. */
ct__isa ct__best_isa(void);

/* Whether the CPU has AMX's products of bf16; whether the operating system grants them to this process, which
 * must ask first. */
bool ct__has_amx(void);
bool ct__ask_for_amx(void);

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
