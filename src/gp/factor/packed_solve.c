/* Solutions with a packed factor L, panel by panel. Right-hand sides are the rows of B = [B1 B2]:
 *     B L⁻ᵀ:  V1 = B1 L11⁻ᵀ,  V2 = (B2 - V1 L21ᵀ) L22⁻ᵀ
 *     B L⁻¹:  V2 = B2 L22⁻¹,  V1 = (B1 - V2 L21) L11⁻¹ */
#include "packed.h"

enum { PANEL_BYTES = 32 << 20, LEAST = 16, WIDE = 512 };

static int64_t widest(int64_t n) { return n > 2 * WIDE ? n / 2 : WIDE; }

int64_t ct__packed_panel(int64_t n, ct_dtype dtype)
{
    return ct__rows_within(PANEL_BYTES, n, dtype, LEAST, widest(n));
}

uint64_t ct__packed_panel_most(int64_t n, ct_dtype dtype)
{
    const uint64_t rows = (uint64_t)n, least = LEAST * rows, all = rows * (uint64_t)widest(n),
                   room = PANEL_BYTES / ct_dtype_size(dtype), most = all < room ? all : room;
    return most > least ? most : least;
}

void ct__packed_solve(ct_call *c, const ct__packed *L, int64_t first, ct_view B)
{
    if (L->grid.group) {
        ct__grid_solve(c, &L->grid, false, L->tiles, first, B);
        return;
    }
    int64_t n1 = L->n1, n2 = L->n2, skip = first < n1 ? first : n1, skip2 = first - skip, left = n1 - skip;
    ct_view B2 = ct__cols(B, left, left + n2 - skip2);
    if (left) {
        ct_view B1 = ct__cols(B, 0, left);
        ct_prim_trsm(c, CT_LOWER | CT_TRANS | CT_RIGHT, 1, ct_view_block(L->A11, skip, n1, skip, n1), B1);
        ct_prim_gemm(c, -1, B1, ct__rows(L->A21t, skip, n1), 1, B2);
    }
    ct_prim_trsm(c, CT_LOWER | CT_TRANS | CT_RIGHT, 1, ct_view_block(L->A22, skip2, n2, skip2, n2), B2);
}

void ct__packed_solve_trans(ct_call *c, const ct__packed *L, ct_view B)
{
    if (L->grid.group) {
        ct__grid_solve(c, &L->grid, true, L->tiles, 0, B);
        return;
    }
    ct_view B1 = ct__cols(B, 0, L->n1), B2 = ct__cols(B, L->n1, L->n1 + L->n2);
    ct_prim_trsm(c, CT_LOWER | CT_RIGHT, 1, L->A22, B2);
    ct_prim_gemm(c, -1, B2, L->A21, 1, B1);
    ct_prim_trsm(c, CT_LOWER | CT_RIGHT, 1, L->A11, B1);
}

/* -- the diagonal of the inverse ------------------------------------------------------------------------- */

void ct__row_squares(ct_call *c, ct_view V, ct_view out)
{
    ct_view each = ct_view_unsqueeze(ct_view_unsqueeze(out, 1), 2);
    ct_prim_gemm(c, 1, ct_view_unsqueeze(V, 1), ct_view_unsqueeze(V, 2), 0, each);
}

/* (C⁻¹)_jj = |L⁻¹ e_j|², and L⁻¹ e_j is zero before j: the identity's rows i, i + 1, ... from column i on. */
void ct__packed_inverse_diagonal(ct_call *c, const ct__packed *L, ct_view out)
{
    int64_t n = L->n1 + L->n2, most = ct__packed_panel(n, out.dtype), b = L->grid.group ? L->grid.b : 1;
    most = (most + b - 1) / b * b; /* panels of whole tiles */
    if (most > n) most = n;
    ct_view panel = ct_scratch(c, out.dtype, ct_shape2(most, n));
    for (int64_t i = 0, end; i < n; i = end) {
        end = i + most < n ? i + most : n;
        ct_view E = ct_view_block(panel, 0, end - i, 0, n - i);
        ct_prim_fill(c, E, 0);
        ct_prim_fill(c, ct_view_diagonal(E), 1);
        ct__packed_solve(c, L, i, E);
        ct__row_squares(c, E, ct__rows(out, i, end));
    }
}
