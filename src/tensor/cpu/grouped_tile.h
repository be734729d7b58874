/* Grouped products, and the vector code that computes rows of one group. */
#ifndef CT_TENSOR_CPU_GROUPED_TILE_H
#define CT_TENSOR_CPU_GROUPED_TILE_H

#include "batch.h"
#include "kernel/isa.h"

/* Forward: out_i = A_i C_m. Backward, if G is not NULL: out_i = G_i C_mᵀ and D_m = Σ A_iᵀ G_i; an output that
 * is NULL is not wanted. */
typedef struct ct__grouped {
    int64_t N, M, I, J, K;
    const int64_t *offset, *order;
    const void *A, *C, *G;
    void *out, *D;
    ct_dtype dtype;
    int isa;
    bool stream_out, stream_D; /* written past the caches, straight to memory */
} ct__grouped;

static inline int64_t ct__group_rows(const ct__grouped *q, int64_t m)
{
    return (q->offset[m + 1] - q->offset[m]) * q->I;
}

/* Computes rows [start, stop) of group m; each of its positions has I rows. D (NULL: not wanted) receives the
 * sum over these rows. For bf16 and f16 it is f32 unless the rows are the whole group. */
typedef void ct__run_rows(const ct__grouped *q, int64_t m, int64_t start, int64_t stop, void *D,
                          void *scratch);

enum {
    CT__GROUP_PANEL = CT__GROUP_DEPTH * 4 * 64,                    /* bytes */
    CT__GROUP_SCRATCH = CT__GROUP_PANEL + CT__GROUP_ROWS * 4 * 64, /* bytes, of a kernel for f64 or f32 */
};

/* The vector code for f64 and f32: ct__run_rows, and C = A B (+ C) of one member for columns [from, from +
 * columns) of B and C. */
typedef struct ct__group_code {
    ct__run_rows *run_rows;
    void (*run_strip)(const ct__job *job, const void *A, const void *B, void *C, int64_t from,
                      int64_t columns, void *scratch);
} ct__group_code;
CT__VARIANTS(ct__group_code)

#endif
