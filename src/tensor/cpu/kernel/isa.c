#include "isa.h"

#if CT__X86
#    include <cpuid.h>
#    ifdef __linux__
#        include <sys/syscall.h>
#        include <unistd.h>
#    endif
#endif

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

bool ct__has_amx(void)
{
#if CT__X86
    enum { BF16 = 1 << 22, TILE = 1 << 24 };
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && d & BF16 && d & TILE;
#else
    return false;
#endif
}

bool ct__ask_for_amx(void)
{
#if CT__X86 && defined(__linux__)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILE_DATA = 18 };
    return !syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA);
#else
    return false;
#endif
}
