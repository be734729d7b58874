#include "isa.h"

/* Every CPU with AVX2 and FMA has F16C. */
ct__isa ct__best_isa(void)
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
