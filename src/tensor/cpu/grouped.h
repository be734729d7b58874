/* Grouped products: what is to be done, and the kernels that do it for rows of one group. */
#ifndef CT_TENSOR_CPU_GROUPED_H
#define CT_TENSOR_CPU_GROUPED_H

#include "batch.h"

/* Forward: out_i = A_i C_m. Backward, where G is given: out_i = G_i C_mᵀ (NULL: not wanted) and D_m = Σ A_iᵀ
 * G_i. */
typedef struct ct__grouped {
    int64_t N, M, I, J, K;
    const int64_t *offset, *order;
    const void *A, *C, *G;
    void *out, *D;
    ct_dtype dtype;
    int isa;
    bool stream_out, stream_D; /* past the caches, straight to memory */
} ct__grouped;

static inline int64_t ct__group_rows(const ct__grouped *q, int64_t m)
{
    return (q->offset[m + 1] - q->offset[m]) * q->I;
}

/* Rows [start, stop) of group m, counted over its positions and their I rows each; D (NULL: not
 * wanted) = their sums, in f32 where those of bf16 or f16 are not all of the group. */
typedef void ct__run_rows(const ct__grouped *q, int64_t m, int64_t start, int64_t stop, void *D,
                          void *scratch);

enum {
    CT__GROUP_PANEL = CT__GROUP_DEPTH * 4 * 64,                    /* bytes */
    CT__GROUP_SCRATCH = CT__GROUP_PANEL + CT__GROUP_ROWS * 4 * 64, /* of a kernel for f64 or f32 */
};

/* grouped_rows.c: the kernel for f64 or f32 and an instruction set. */
ct__run_rows *ct__grouped_rows(int isa, ct_dtype dtype);

/* The kernel for a dtype and an instruction set, and the bytes of scratch that it needs. */
ct__run_rows *ct__grouped_kernel(int isa, ct_dtype dtype);
size_t ct__grouped_scratch(const ct__grouped *q);

/* C = A B, or + C, for all members by the same kernels: alpha is 1, and beta 0 or 1; rows of A and C lie side
 * by side, B has a unit stride in either direction. f64 or f32. */
ct_status ct__strips_run(const ct__job *job);

/* grouped_half.c: the same for bf16 and f16. */
ct__run_rows ct__grouped_half;
size_t ct__grouped_half_scratch(const ct__grouped *q);

#endif
