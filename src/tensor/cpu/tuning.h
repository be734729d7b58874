/* What is tuned for a microarchitecture: thresholds and block sizes that are chosen as the program runs.
 * Those that the compiler must know are in kernel/config.h. */
#ifndef CT_TENSOR_CPU_TUNING_H
#define CT_TENSOR_CPU_TUNING_H

#include "kernel/isa.h"

/* Which processor it is: by CPUID, or by arm64's MIDR as implementer, 0 and part. 0: unknown. */
typedef struct ct__processor {
    unsigned maker, family, model;
} ct__processor;

typedef struct ct__tuning {
    const char *name;
    int isa;
    unsigned maker, family, models[4]; /* no model: all of the family; maker 0: any processor */

    /* When threads pay. Elements for each thread before another is woken, and the same for functions such as
     * exp; in operations: the cost of waking the threads, above which they take members of a batch one at a
     * time, and of a member from which BLAS's own threads are faster. Multiplications up to which one thread
     * is faster: grouped products, bf16 and f16; entries of a covariance. */
    int64_t grain, map_grain;
    double wake_work, turn_work, member_work;
    int64_t grouped_alone, half_alone, covariance_alone;

    /* Extents from which all threads compute one matrix faster than one thread does: the inverse by Cholesky,
     * LAPACK's inverse after LU, LAPACK's LU, an inverse's adjoint by gemm. */
    int64_t spd_alone, general_alone, lu_alone, bar_alone;

    /* Products without BLAS. The grouped kernels compute A B if A has few_least to few rows, B has at least 2
     * few_least rows and columns and at most few_deep rows, and the batch has at least few_work operations.
     * The microkernels compute AᵀB if A and B have thin_least to thin_deep rows, A has at least 2 thin_least
     * and B at least 3 thin_least columns, and there are at least thin_work multiplications. They also
     * compute A B if A has at least tall_rows rows for each thread, and B has tall_least to tall_most rows
     * and columns. Substitution solves for as many rows to the left of a triangle with tall_least to
     * tall_solved rows, and in a batch from substitute_columns right-hand sides and up to substitute_work
     * operations. */
    int64_t few_least, few, few_deep, thin_least, thin_deep, tall_rows, tall_least, tall_most, tall_solved,
        thin_work, substitute_columns;
    double few_work, substitute_work;
    /* Bytes of grouped results from which on they bypass the caches. Multiplications above which AMX is
     * faster if it reads B in place; bits. */
    int64_t grouped_cache;
    double columns_work;

    /* The sweep: rows up to which one thread is faster. A tile has sweep_share per cent of the rows, but
     * sweep_least to sweep_most. A step takes the rows of sweep_tasks tiles as pivots; above sweep_large
     * rows, of sweep_deep tiles. A part has at least sweep_blocks tiles' rows before tiles are doubled. Bits.
     * */
    int64_t sweep_alone, sweep_share, sweep_least, sweep_most, sweep_tasks, sweep_large, sweep_deep,
        sweep_blocks;
} ct__tuning;

ct__processor ct__this_processor(void);
/* The row of a processor, for devices of an instruction set. */
const ct__tuning *ct__tuning_of(ct__processor processor, int isa);

#endif
