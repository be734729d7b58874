/* Right-hand sides are the rows of B = [B1 B2]:
 *     B L⁻ᵀ:  V1 = B1 L11⁻ᵀ,  V2 = (B2 - V1 L21ᵀ) L22⁻ᵀ
 *     B L⁻¹:  V2 = B2 L22⁻¹,  V1 = (B1 - V2 L21) L11⁻¹ */
#include "packed_solve.h"

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

void ct__packed_solve(ct_call *c, const ct__packed *whole, int64_t first, ct_view B)
{
    const ct__packed L = from(whole, first);
    ct_view B1 = ct__cols(B, 0, L.n1), B2 = ct__cols(B, L.n1, L.n1 + L.n2);
    if (L.n1) {
        ct_prim_trsm(c, CT_LOWER | CT_TRANS | CT_RIGHT, 1, L.A11, B1);
        ct_prim_gemm(c, -1, B1, L.A21t, 1, B2);
    }
    ct_prim_trsm(c, CT_LOWER | CT_TRANS | CT_RIGHT, 1, L.A22, B2);
}

void ct__packed_solve_trans(ct_call *c, const ct__packed *whole, int64_t first, ct_view B)
{
    const ct__packed L = from(whole, first);
    ct_view B1 = ct__cols(B, 0, L.n1), B2 = ct__cols(B, L.n1, L.n1 + L.n2);
    ct_prim_trsm(c, CT_LOWER | CT_RIGHT, 1, L.A22, B2);
    ct_prim_gemm(c, -1, B2, L.A21, 1, B1);
    ct_prim_trsm(c, CT_LOWER | CT_RIGHT, 1, L.A11, B1);
}
