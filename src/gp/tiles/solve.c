/* Solutions with a factor over the processes of a grid. Right-hand sides are the rows of B, which all
 * processes have, and tile columns of B follow one another:
 *
 *     B L⁻ᵀ:  V_j = (B_j - Σ_{i<j} V_i L_jiᵀ) L_jj⁻ᵀ, from the first on
 *     B L⁻¹:  U_j = (B_j - Σ_{i>j} U_i L_ij) L_jj⁻¹, from the last on
 *
 * The processes of grid row j (for L⁻¹, of grid column j) have the tiles of such a sum, each a part of it.
 * The owner of L_jj adds them up, and sends the result to all. */
#include "grid.h"

/* Tile column j of B, which begins with tile column `begin`. */
static ct_view columns(const ct__grid *g, ct_view B, int64_t j, int64_t begin)
{
    const int64_t at = (j - begin) * g->b;
    return ct_view_slice(B, 1, at, at + ct__grid_height(g, j), 1);
}

/* room (m, w) = this process's part of B_j less the sum */
static void own_part(ct_call *c, const ct__grid *g, bool trans, ct_view tiles, int64_t j, int64_t begin,
                     ct_view B, ct_view room)
{
    const bool owner = ct__grid_has_row(g, j) && ct__grid_has_column(g, j);
    if (owner)
        ct_prim_copy(c, columns(g, B, j, begin), room);
    else
        ct_prim_fill(c, room, 0);
    for (int64_t i = ct__grid_next(begin, g->col, g->cols); i < j && !trans; i += g->cols)
        ct_prim_gemm(c, -1, columns(g, B, i, begin), ct_view_transpose(ct__grid_stack(g, tiles, i, j, j + 1)),
                     1, room);
    for (int64_t i = ct__grid_next(j + 1, g->row, g->rows); i < g->tiles && trans; i += g->rows)
        ct_prim_gemm(c, -1, columns(g, B, i, begin), ct__grid_stack(g, tiles, j, i, i + 1), 1, room);
}

void ct__grid_solve(ct_call *c, const ct__grid *g, bool trans, ct_view tiles, int64_t first, ct_view B)
{
    const int64_t m = ct_view_dim(B, 0), begin = first / g->b;
    const ct__transport *t = g->group->transport;
    /* Not scratch, which the call would keep: there are many panels in one call. */
    ct_tensor *memory = ct_empty(ct_call_device(c), B.dtype, ct_shape1(m * g->b));
    ct_require(c, memory, CT_ENOMEM, "no memory for a panel of %lld rows", (long long)m);
    if (!ct__grid_meet(c, g) || !m) {
        ct_release(memory);
        return;
    }
    const ct_view whole = ct_view_of(memory);
    int error = 0;
    for (int64_t step = begin; step < g->tiles && !error; step++) {
        const int64_t j = trans ? g->tiles - 1 - step : step, w = ct__grid_height(g, j);
        const bool row = ct__grid_has_row(g, j), column = ct__grid_has_column(g, j);
        ct_view room = ct_view_reshape(ct_view_slice(whole, 0, 0, m * w, 1), ct_shape2(m, w));
        if (trans ? column : row) {
            own_part(c, g, trans, tiles, j, begin, B, room);
            error = t->sum(trans ? &g->group->col : &g->group->row, room.dtype, room.data, m * w,
                           (int)(trans ? j % g->rows : j % g->cols));
        }
        if (row && column)
            ct_prim_trsm(c, CT_LOWER | CT_RIGHT | (trans ? 0 : CT_TRANS), 1,
                         ct__grid_stack(g, tiles, j, j, j + 1), room);
        const int owner = (int)(j % g->rows) * g->cols + (int)(j % g->cols);
        if (!error)
            error =
                ct__tell(t, &g->group->all, room.data, (size_t)(m * w) * ct_dtype_size(room.dtype), owner);
        ct_prim_copy(c, room, columns(g, B, j, begin));
    }
    ct__grid_sent(c, g, error);
    ct_release(memory);
}
