#include "memory.h"

#include "packed_solve.h"

static bool next(const ct__factor *A, ct__block *b)
{
    const ct__packed *p = &A->blocks;
    const int64_t k = b->number, n1 = p->n1;
    if (k > (p->n2 ? 2 : 0)) return false;
    *b = k == 0   ? (ct__block){ p->A11, 0, 0, 1 }
         : k == 1 ? (ct__block){ p->A21t, 0, n1, 2 }
                  : (ct__block){ p->A22, n1, n1, 3 };
    return true;
}

static void diagonal(ct_call *c, const ct__factor *A, ct_view out)
{
    ct__packed_diagonal(c, &A->blocks, out);
}

static bool sweep(ct_call *c, const ct__factor *A, bool inverse, double tolerance, ct_view z,
                  ct_view diagonal_of_L)
{
    const ct__packed *p = &A->blocks;
    ct_prim_sweep_blocks(c, inverse, tolerance, p->A11, p->A21, p->A22, z, diagonal_of_L);
    return true;
}

static void solve(ct_call *c, const ct__factor *L, bool trans, int64_t first, ct_view B)
{
    (trans ? ct__packed_solve_trans : ct__packed_solve)(c, &L->blocks, first, B);
}

static void rows(ct_call *c, const ct__factor *A, int64_t first, ct_view out)
{
    ct__packed_move_row(c, &A->blocks, first, out, false);
}

static bool sum(ct_call *c, const ct__factor *A, ct_view x)
{
    (void)A, (void)x;
    return ct_call_ok(c);
}

static const ct__storage in_memory = {
    .next = next, .diagonal = diagonal, .sweep = sweep, .solve = solve, .rows = rows, .sum = sum
};

ct__factor ct__factor_packed(ct_view rectangle, int64_t n)
{
    return (ct__factor){
        .in = &in_memory, .n = n, .unit = 1, .numbers = rectangle, .blocks = ct__packed_of(rectangle, n)
    };
}

ct__factor ct__factor_square(ct_view square, int64_t n)
{
    return (ct__factor){
        .in = &in_memory, .n = n, .unit = 1, .numbers = square, .blocks = ct__packed_of_square(square, n)
    };
}
