/* Flushes subnormal numbers to zero on the calling thread. An x86 processor takes a hundred times as long for
 * a product with a subnormal factor or result. */
#ifndef CT_TENSOR_CPU_SUBNORMALS_H
#define CT_TENSOR_CPU_SUBNORMALS_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__GNUC__)
enum { CT__FLUSH = 0x8040 }; /* MXCSR: flush results, and operands */
static inline uint64_t ct__float_state(void) { return __builtin_ia32_stmxcsr(); }
static inline void ct__set_float_state(uint64_t state) { __builtin_ia32_ldmxcsr((unsigned)state); }
#elif defined(__aarch64__) && defined(__GNUC__)
enum { CT__FLUSH = 1 << 24 }; /* FPCR: flush both */
static inline uint64_t ct__float_state(void)
{
    uint64_t state;
    __asm__ volatile("mrs %0, fpcr" : "=r"(state));
    return state;
}
static inline void ct__set_float_state(uint64_t state)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(state) : "memory");
}
#else
enum { CT__FLUSH = 0 };
static inline uint64_t ct__float_state(void) { return 0; }
static inline void ct__set_float_state(uint64_t state) { (void)state; }
#endif

/* Starts flushing if `wanted`. Returns the state before, from which ct__flush_end restores the flush bits
 * alone. */
static inline uint64_t ct__flush_begin(bool wanted)
{
    const uint64_t before = ct__float_state();
    if (wanted) ct__set_float_state(before | CT__FLUSH);
    return before;
}

static inline void ct__flush_end(uint64_t before)
{
    const uint64_t keep = ~(uint64_t)CT__FLUSH;
    ct__set_float_state((ct__float_state() & keep) | (before & CT__FLUSH));
}

#endif
