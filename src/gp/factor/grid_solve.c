/* Right-hand sides are the rows of B, which all processes have. Tile
 * columns of B are computed one after the other:
 *
 *     B L⁻ᵀ:  V_j = (B_j - Σ_{i<j} V_i L_jiᵀ) L_jj⁻ᵀ, forwards from the first
 *     B L⁻¹:  U_j = (B_j - Σ_{i>j} U_i L_ij) L_jj⁻¹, backwards from the last
 *
 * The tiles of such a sum are on the processes of grid row j (for L⁻¹, grid column j), which compute partial
 * sums. The owner of L_jj adds them up and sends the result to all. */
#include "grid_solve.h"

/* part (m, w) = this process's partial sum of tile column j; `begin` is B's first tile column. */
static void own_part(ct_call *c, const ct__factor *L, bool trans, int64_t j, int64_t begin, ct_view B,
                     ct_view part)
{
    const ct__grid *g = &L->grid;
    ct_prim_fill(c, part, 0);
    if (ct__grid_owns(g, j)) ct_prim_copy(c, ct__grid_part(g, B, 1, j - begin), part);
    for (int64_t i = ct__grid_next(g, CT__TILE_COLS, begin); i < j && !trans; i += g->cols)
        ct_prim_gemm(c, -1, ct__grid_part(g, B, 1, i - begin),
                     ct_view_transpose(ct__grid_stack(g, L->numbers, i, j, j + 1)), 1, part);
    for (int64_t i = ct__grid_next(g, CT__TILE_ROWS, j + 1); i < g->tiles && trans; i += g->rows)
        ct_prim_gemm(c, -1, ct__grid_part(g, B, 1, i), ct__grid_stack(g, L->numbers, j, i, i + 1), 1, part);
}

void ct__grid_solve(ct_call *c, const ct__factor *L, bool trans, int64_t first, ct_view B)
{
    const ct__grid *g = &L->grid;
    const int64_t m = ct_view_dim(B, 0), begin = first / g->b;
    /* Not scratch, which the call would keep, because one call solves for many panels. */
    ct_tensor *memory = ct_empty(ct_call_device(c), B.dtype, ct_shape1(m * g->b));
    ct_require(c, memory, CT_ENOMEM, "no memory for a panel of %lld rows", (long long)m);
    const bool fine = ct__grid_agree(c, g);
    for (int64_t step = begin; step < g->tiles && m && fine; step++) {
        const int64_t j = trans ? g->tiles - 1 - step : step, count = m * ct__grid_height(g, j);
        const ct_view part = ct_view_reshape(ct_view_slice(ct_view_of(memory), 0, 0, count, 1),
                                             ct_shape2(m, ct__grid_height(g, j)));
        if (trans ? ct__grid_has_column(g, j) : ct__grid_has_row(g, j)) {
            own_part(c, L, trans, j, begin, B, part);
            ct__comm_reduce(g->comm, trans ? CT__COMM_COLUMN : CT__COMM_ROW, part.dtype, part.data, count,
                            (int)(j % (trans ? g->rows : g->cols)));
        }
        if (ct__grid_owns(g, j))
            ct_prim_trsm(c, CT_LOWER | CT_RIGHT | (trans ? 0 : CT_TRANS), 1,
                         ct__grid_stack(g, L->numbers, j, j, j + 1), part);
        ct__comm_broadcast(g->comm, part.data, (size_t)count * ct_dtype_size(part.dtype),
                           ct__grid_owner(g, j));
        ct_prim_copy(c, part, ct__grid_part(g, B, 1, j - begin));
    }
    ct__grid_sent(c, g);
    ct_release(memory);
}
