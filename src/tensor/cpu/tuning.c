#include "tuning.h"

#if CT__X86
#    include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#    include <sys/auxv.h>
#endif

enum { AMD = 1, INTEL = 2, ARM = 0x41 };

ct__processor ct__this_processor(void)
{
#if CT__X86
    unsigned most, version, maker, b, c, d;
    if (!__get_cpuid(0, &most, &maker, &c, &d) || !__get_cpuid(1, &version, &b, &c, &d))
        return (ct__processor){ 0 };
    return (ct__processor){ maker == signature_AMD_ebx     ? AMD
                            : maker == signature_INTEL_ebx ? INTEL
                                                           : 0,
                            (version >> 8 & 15) + (version >> 20 & 255),
                            (version >> 4 & 15) | (version >> 12 & 0xf0) };
#elif defined(__aarch64__) && defined(__linux__)
    enum { HAS_CPUID = 1 << 11 }; /* the kernel emulates reads of MIDR */
    uint64_t midr = 0;
    if (getauxval(AT_HWCAP) & HAS_CPUID) __asm__("mrs %0, MIDR_EL1" : "=r"(midr));
    return (ct__processor){ .maker = midr >> 24 & 255, .model = midr >> 4 & 0xfff };
#else
    return (ct__processor){ 0 };
#endif
}

/* Groups of constants. A row in which a group was not measured has the group as it stands here. Headings are
 * those of docs/notebook.md, measured on two cores of a Zen 4 unless it says otherwise. */

/* bench/overhead; "One matrix: one thread or two?"; "Gathered products"; bench/blockdiag; bench/mll */
#define THREADS                                                                                \
    .grain = 32768, .map_grain = 8192, .wake_work = 1e5, .turn_work = 1e6, .member_work = 1e9, \
    .grouped_alone = 1 << 15, .half_alone = 1 << 16, .covariance_alone = 25600
/* "One matrix: one thread or two?" */
#define ONE_MATRIX .spd_alone = 224, .general_alone = 384, .lu_alone = 768, .bar_alone = 128
/* "Block-diagonal layers"; "Triangular solves of a batch"; "Gathered products"; tall_most: "Many processes"
 * of docs/results.md; columns_work: on a Sapphire Rapids */
#define PRODUCTS(most)                                                                                  \
    .few_least = 16, .few = 256, .few_deep = 4096, .few_work = 2e5, .thin_least = 32, .thin_deep = 256, \
    .thin_work = 1 << 20, .tall_rows = 64, .tall_least = 16, .tall_most = (most), .tall_solved = 256,   \
    .substitute_columns = 2, .substitute_work = 1 << 30, .grouped_cache = 1 << 23, .columns_work = 5 << 22
/* "Where the likelihood's time goes"; bench/mll */
#define SWEEP                                                                                     \
    .sweep_alone = 160, .sweep_share = 16, .sweep_least = 48, .sweep_most = 96, .sweep_tasks = 2, \
    .sweep_large = 1500, .sweep_deep = 4, .sweep_blocks = 12

#define AS_UNKNOWN(most) THREADS, ONE_MATRIX, PRODUCTS(most), SWEEP

static const ct__tuning rows[] = {
    /* not measured; as unknown */
    { "Zen 3", CT__ISA_AVX2, AMD, 0x19, { 0 }, AS_UNKNOWN(128) },
    /* measured, but for columns_work */
    { "Zen 4", CT__ISA_AVX512, AMD, 0x19, { 0 }, AS_UNKNOWN(256) },
    /* not measured; as unknown */
    { "Zen 5", CT__ISA_AVX512, AMD, 0x1a, { 0 }, AS_UNKNOWN(256) },
    /* not measured; as unknown */
    { "Ice Lake", CT__ISA_AVX512, INTEL, 6, { 0x6a, 0x6c, 0x7d, 0x7e }, AS_UNKNOWN(256) },
    /* columns_work measured; else as unknown */
    { "Sapphire Rapids", CT__ISA_AVX512, INTEL, 6, { 0x8f, 0xcf }, AS_UNKNOWN(256) },
    /* N1, V1, N2, V2; not measured; as unknown */
    { "Neoverse", CT__ISA_BASE, ARM, 0, { 0xd0c, 0xd40, 0xd49, 0xd4f }, AS_UNKNOWN(128) },
    /* unknown: what was measured elsewhere */
    { "any CPU with AVX-512", CT__ISA_AVX512, 0, 0, { 0 }, AS_UNKNOWN(256) },
    { "any CPU with AVX2", CT__ISA_AVX2, 0, 0, { 0 }, AS_UNKNOWN(128) },
    { "any CPU", CT__ISA_BASE, 0, 0, { 0 }, AS_UNKNOWN(128) },
};

static bool is_of(const ct__tuning *row, ct__processor p)
{
    bool same = !row->models[0];
    for (int i = 0; i < 4; i++) same = same || (row->models[i] && row->models[i] == p.model);
    return !row->maker || (same && row->maker == p.maker && row->family == p.family);
}

const ct__tuning *ct__tuning_of(ct__processor processor, int isa)
{
    const ct__tuning *row = rows;
    while (row->isa != isa || !is_of(row, processor)) row++;
    return row;
}
