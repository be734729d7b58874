/* A symmetric (n, n) matrix or a lower triangular factor, wherever its numbers lie: in the memory of one
 * process (memory.c), or over the processes of a communicator (processes.c). Only what one of these can do is
 * asked of `blocks` and `grid` directly. Over processes the functions are collective. */
#ifndef CT_GP_FACTOR_H
#define CT_GP_FACTOR_H

#include "grid.h"
#include "packed.h"

typedef struct ct__factor ct__factor;

/* M = A[row.., col..], one of the blocks that this process holds. They cover the lower triangle; a block on
 * the diagonal has row == col and counts for its lower triangle. One in memory may lie above the diagonal, in
 * place of its transpose. */
typedef struct ct__block {
    ct_view M;
    int64_t row, col, number; /* number: of the next block */
} ct__block;

typedef struct ct__storage {
    /* Moves b to the next block; the first after { 0 }. False at the end. */
    bool (*next)(const ct__factor *A, ct__block *b);
    /* out (n) = the diagonal. */
    void (*diagonal)(ct_call *c, const ct__factor *A, ct_view out);
    /* As ct_prim_sweep_blocks: A becomes L or, with `inverse`, A⁻¹; z (n, p) becomes L⁻¹z or A⁻¹z; diagonal
     * (n) that of L. False if A is known not to be positive definite. */
    bool (*sweep)(ct_call *c, const ct__factor *A, bool inverse, double tolerance, ct_view z,
                  ct_view diagonal);
    /* B (m, n - first) = B L⁻ᵀ or, with `trans`, B L⁻¹, with the rows and columns of L from `first` on. */
    void (*solve)(ct_call *c, const ct__factor *L, bool trans, int64_t first, ct_view B);
    /* Process 0's `rows` (unit, first + unit at most) = rows first, first + 1, ... up to the diagonal. */
    void (*rows)(ct_call *c, const ct__factor *A, int64_t first, ct_view rows);
    /* x = the sum of all processes' x; false if a process has failed. */
    bool (*sum)(ct_call *c, const ct__factor *A, ct_view x);
} ct__storage;

struct ct__factor {
    const ct__storage *in;
    int64_t n;
    int64_t unit;      /* solves begin, and `rows` are read, at multiples of it */
    ct_view numbers;   /* the packed rectangle, a square, or this process's tiles */
    ct__packed blocks; /* in memory */
    ct__grid grid;     /* over processes */
};

/* In the memory of one process; over the processes of a communicator. */
extern const ct__storage ct__in_memory, ct__in_processes;

static inline void ct__factor_solve(ct_call *c, const ct__factor *L, int64_t first, ct_view B)
{
    L->in->solve(c, L, false, first, B);
}
static inline void ct__factor_solve_trans(ct_call *c, const ct__factor *L, int64_t first, ct_view B)
{
    L->in->solve(c, L, true, first, B);
}
static inline void ct__factor_diagonal(ct_call *c, const ct__factor *A, ct_view out)
{
    A->in->diagonal(c, A, out);
}

#endif
