#include "inverse_diagonal.h"

void ct__row_squares(ct_call *c, ct_view V, ct_view out)
{
    ct_view each = ct_view_unsqueeze(ct_view_unsqueeze(out, 1), 2);
    ct_prim_gemm(c, 1, ct_view_unsqueeze(V, 1), ct_view_unsqueeze(V, 2), 0, each);
}

/* (C⁻¹)_jj = |L⁻¹ e_j|², and L⁻¹ e_j is zero before j: the identity's rows i, i + 1, ... from column i on. */
void ct__inverse_diagonal(ct_call *c, const ct__factor *L, ct_view out)
{
    int64_t n = L->n, most = ct__packed_panel(n, out.dtype), b = L->unit;
    most = (most + b - 1) / b * b; /* panels of whole units */
    if (most > n) most = n;
    ct_view panel = ct_scratch(c, out.dtype, ct_shape2(most, n));
    for (int64_t i = 0, end; i < n; i = end) {
        end = i + most < n ? i + most : n;
        ct_view E = ct_view_block(panel, 0, end - i, 0, n - i);
        ct_prim_fill(c, E, 0);
        ct_prim_fill(c, ct_view_diagonal(E), 1);
        ct__factor_solve(c, L, i, E);
        ct__row_squares(c, E, ct__rows(out, i, end));
    }
}
