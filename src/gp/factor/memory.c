/* A matrix or factor in the memory of one process. Right-hand sides are the rows of B = [B1 B2]:
 *     B L⁻ᵀ:  V1 = B1 L11⁻ᵀ,  V2 = (B2 - V1 L21ᵀ) L22⁻ᵀ
 *     B L⁻¹:  V2 = B2 L22⁻¹,  V1 = (B1 - V2 L21) L11⁻¹ */
#include "factor.h"

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
    const int64_t n1 = A->blocks.n1;
    ct_prim_copy(c, ct_view_diagonal(A->blocks.A11), ct__rows(out, 0, n1));
    if (n1 < A->n) ct_prim_copy(c, ct_view_diagonal(A->blocks.A22), ct__rows(out, n1, A->n));
}

static bool sweep(ct_call *c, const ct__factor *A, bool inverse, double tolerance, ct_view z,
                  ct_view diagonal_of_L)
{
    const ct__packed *p = &A->blocks;
    ct_prim_sweep_blocks(c, inverse, tolerance, p->A11, p->A21, p->A22, z, diagonal_of_L);
    return true;
}

/* The rows and columns of L from `first` on. */
static ct__packed from(const ct__packed *L, int64_t first)
{
    const int64_t n1 = L->n1, n2 = L->n2, skip = first < n1 ? first : n1, skip2 = first - skip;
    if (!first) return *L;
    return (ct__packed){ .n1 = n1 - skip,
                         .n2 = n2 - skip2,
                         .A11 = ct_view_block(L->A11, skip, n1, skip, n1),
                         .A22 = ct_view_block(L->A22, skip2, n2, skip2, n2),
                         .A21 = ct_view_block(L->A21, skip2, n2, skip, n1),
                         .A21t = ct_view_block(L->A21t, skip, n1, skip2, n2) };
}

static void solve(ct_call *c, const ct__factor *whole, bool trans, int64_t first, ct_view B)
{
    const ct__packed L = from(&whole->blocks, first);
    const unsigned flags = CT_LOWER | CT_RIGHT | (trans ? 0 : CT_TRANS);
    ct_view B1 = ct__cols(B, 0, L.n1), B2 = ct__cols(B, L.n1, L.n1 + L.n2);
    if (L.n1 && !trans) {
        ct_prim_trsm(c, flags, 1, L.A11, B1);
        ct_prim_gemm(c, -1, B1, L.A21t, 1, B2);
    }
    ct_prim_trsm(c, flags, 1, L.A22, B2);
    if (L.n1 && trans) {
        ct_prim_gemm(c, -1, B2, L.A21, 1, B1);
        ct_prim_trsm(c, flags, 1, L.A11, B1);
    }
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

const ct__storage ct__in_memory = {
    .next = next, .diagonal = diagonal, .sweep = sweep, .solve = solve, .rows = rows, .sum = sum
};
