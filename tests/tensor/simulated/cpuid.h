/* What the simulated CPU (immintrin.h) says of itself, and that the operating system grants AMX. */
#ifndef CT_TEST_SIMULATED_CPUID_H
#define CT_TEST_SIMULATED_CPUID_H

#include <unistd.h>

static inline int __get_cpuid_count(unsigned leaf, unsigned part, unsigned *a, unsigned *b, unsigned *c,
                                    unsigned *d)
{
    *a = *b = *c = 0;
    *d = leaf == 7 && part == 0 ? 1u << 22 | 1u << 24 : 0; /* AMX-BF16 and AMX-TILE */
    return 1;
}
#define syscall(number, request, feature) 0

#endif
