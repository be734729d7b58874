/* The sweep of tensor/cpu/sweep.c over the processes of a grid: the Cholesky factor or the inverse, in place.
 * Step k takes tile column k as pivots. With L Lᵀ = A_kk:
 *
 *     W_i = A_ik L⁻ᵀ for all other i; for i < k A_ik is the transpose of the stored A_ki
 *     A_ik = -W_i L⁻¹, but + for i < k;  A_kk = L⁻ᵀL⁻¹
 *     A_ij -= W_i W_jᵀ, but += if i and j are both swept
 *
 * The owner of A_kk sends L to all. The processes of grid column k hold the W_i with i > k, those of grid row
 * k the others. Process (p, q) needs W_i for its tile rows and W_j for its tile columns, so a panel is sent
 * twice:
 *
 *     1. W_i, i > k, along each grid row; W_j, j < k, along each grid column
 *     2. W_j, j > k, from the process of its row along each grid column; W_i, i < k, from the process of its
 *        column along each grid row
 *
 * If memory allows two panels, the tiles of the next pivots are updated first, and the next panel is sent
 * while the other tiles are updated.
 *
 * Each process receives n²/rows + n²/cols numbers in all. Without the inverse swept rows are skipped, W_i
 * replaces A_ik, and the result is L. */
#include "grid_sweep.h"

#include <math.h>

/* One step's panel on this process. */
typedef struct step {
    int64_t k, w;  /* the step; its number of pivots */
    ct_view pivot; /* (b + 1, b): L, then y = L⁻¹z */
    ct_view L, y;  /* (w, w) and (w, 1), in `pivot` */
    ct_view W[2];  /* for this process's tile rows; for its tile columns, or no view if the rows have all */
} step;

typedef struct sweep {
    ct_call *c;
    const ct__grid *g;
    bool inverse;
    ct_view tiles, diagonal; /* of this process; (n) */
    ct_view z;               /* (n, 1), valid on this process's tile rows */
} sweep;

/* W of this process's tile rows or columns i0 <= i < i1. */
static ct_view panel_of(const sweep *s, const step *at, int side, int64_t i0, int64_t i1)
{
    const int kept = ct_is_view(at->W[side]) ? side : CT__TILE_ROWS;
    return ct_view_slice(ct__grid_strip(s->g, kept, at->W[kept], i0, i1), 1, 0, at->w, 1);
}

/* Begins to send W_i, i0 <= i < i1, to all processes with its tile row, or its tile column: from the
 * processes that solved for it or, `onward`, from those that have received it. */
static void send_panel(const sweep *s, const step *at, int side, bool onward, int64_t i0, int64_t i1)
{
    const ct__grid *g = s->g;
    if (!ct_is_view(at->W[side])) return;
    for (int64_t i = ct__grid_next(g, side, i0), end; i < i1; i = ct__grid_next(g, side, end)) {
        end = onward ? i + 1 : i1;
        const ct_view W = panel_of(s, at, side, i, end);
        const size_t bytes = (size_t)ct_view_dim(W, 0) * (size_t)g->b * ct_dtype_size(W.dtype);
        if (onward && ct__grid_owns(g, i) && g->rows > 1)
            ct_prim_copy(s->c, panel_of(s, at, !side, i, end), W);
        ct__comm_begin(g->comm, side == CT__TILE_ROWS ? CT__COMM_ROW : CT__COMM_COLUMN, W.data, bytes,
                       (int)((onward ? i : at->k) % (side == CT__TILE_ROWS ? g->cols : g->rows)));
    }
}

/* -- one step -------------------------------------------------------------------------------------------- */

/* The owner factorises the pivots' tile and sends L and y = L⁻¹z to all. False if they are NaN, as for pivots
 * that are not positive. */
static bool pivots(const sweep *s, step *at, int64_t k)
{
    const ct__grid *g = s->g;
    const ct_view z = ct__grid_part(g, s->z, 0, k);
    at->k = k;
    at->w = ct__grid_height(g, k);
    at->L = ct_view_block(at->pivot, 0, at->w, 0, at->w);
    at->y = ct_view_transpose(ct_view_block(at->pivot, g->b, g->b + 1, 0, at->w));
    if (ct__grid_owns(g, k)) {
        const ct_view tile = ct__grid_stack(g, s->tiles, k, k, k + 1);
        ct_prim_potrf_lower(s->c, k * g->b, tile);
        ct_prim_triangle(s->c, tile, false, 0, at->L);
        ct_prim_copy(s->c, z, at->y);
        ct_prim_trsm(s->c, CT_LOWER, 1, at->L, at->y);
    }
    const size_t bytes = (size_t)ct_view_count(at->pivot) * ct_dtype_size(z.dtype);
    const bool sent = ct__comm_broadcast(g->comm, at->pivot.data, bytes, ct__grid_owner(g, k));
    ct_prim_copy(s->c, ct_view_diagonal(at->L), ct__grid_part(g, s->diagonal, 0, k));
    ct_prim_copy(s->c, at->y, z);
    if (s->inverse) ct_prim_trsm(s->c, CT_LOWER | CT_TRANS, 1, at->L, z);
    const void *first = at->pivot.data;
    return sent && !isnan(z.dtype == CT_F32 ? *(const float *)first : *(const double *)first);
}

/* Processes with tiles of the panel solve for W_i = A_ik L⁻ᵀ, in place and in the panel. If `swept`, W_i L⁻¹
 * replaces W_i in A for i < k; then L is negated, so that -W_i L⁻¹ replaces W_i for i > k. */
static void solve(const sweep *s, const step *at, bool swept)
{
    const ct__grid *g = s->g;
    const int64_t k = at->k;
    const unsigned flags = CT_LOWER | CT_RIGHT | (swept ? 0 : CT_TRANS);
    for (int64_t i = g->col; i < k && s->inverse && ct__grid_has_row(g, k); i += g->cols) {
        const ct_view A = ct_view_transpose(ct__grid_stack(g, s->tiles, i, k, k + 1));
        ct_prim_trsm(s->c, flags, 1, at->L, A);
        if (!swept) ct_prim_copy(s->c, A, panel_of(s, at, CT__TILE_COLS, i, i + 1));
    }
    if (swept) ct_prim_map1(s->c, CT_MAP_neg, NULL, at->L, at->L);
    if (ct__grid_has_column(g, k)) {
        const ct_view A = ct__grid_stack(g, s->tiles, k, k + 1, g->tiles);
        ct_prim_trsm(s->c, flags, 1, at->L, A);
        if (!swept) ct_prim_copy(s->c, A, panel_of(s, at, CT__TILE_ROWS, k + 1, g->tiles));
    }
}

/* Solves for this process's part of the panel and begins to send it. */
static void panel(const sweep *s, const step *at)
{
    solve(s, at, false);
    send_panel(s, at, CT__TILE_ROWS, false, at->k + 1, s->g->tiles);
    if (s->inverse) send_panel(s, at, CT__TILE_COLS, false, 0, at->k);
}

/* Replaces panel and pivots by the inverse's tiles. */
static void replace(const sweep *s, const step *at)
{
    if (!s->inverse) return;
    solve(s, at, true);
    if (!ct__grid_owns(s->g, at->k)) return;
    const ct_view tile = ct__grid_stack(s->g, s->tiles, at->k, at->k, at->k + 1);
    ct_prim_trtri(s->c, tile);
    ct_prim_lauum(s->c, tile);
}

/* z_i -= W_i y, or += if i is swept */
static void update_z(const sweep *s, const step *at)
{
    const ct__grid *g = s->g;
    for (int64_t i = ct__grid_next(g, CT__TILE_ROWS, s->inverse ? 0 : at->k); i < g->tiles; i += g->rows)
        if (i != at->k)
            ct_prim_gemm(s->c, i > at->k ? -1 : 1, panel_of(s, at, CT__TILE_ROWS, i, i + 1), at->y, 1,
                         ct__grid_part(g, s->z, 0, i));
}

/* A_ij -= W_i W_jᵀ for j and i0 <= i < i1, or += if i and j are swept. All rows are on one side of k. */
static void update_stack(const sweep *s, const step *at, int64_t j, int64_t i0, int64_t i1)
{
    if (i0 < i1)
        ct_prim_gemm(s->c, i0 < at->k ? 1 : -1, panel_of(s, at, CT__TILE_ROWS, i0, i1),
                     ct_view_transpose(panel_of(s, at, CT__TILE_COLS, j, j + 1)), 1,
                     ct__grid_stack(s->g, s->tiles, j, i0, i1));
}

/* Updates the tiles in the next pivots' row and column (`next`), and the others. */
static void update(const sweep *s, const step *at, bool next, bool others)
{
    const ct__grid *g = s->g;
    const int64_t k = at->k, tiles = g->tiles, far = k + 2 < tiles ? k + 2 : tiles;
    for (int64_t j = ct__grid_next(g, CT__TILE_COLS, s->inverse ? 0 : k + 1); j < tiles; j += g->cols) {
        if (j < k && others) update_stack(s, at, j, j, k);
        if (j < k) update_stack(s, at, j, next ? k + 1 : far, others ? tiles : far);
        if (j > k && (j == k + 1 ? next : others)) update_stack(s, at, j, j, tiles);
    }
}

/* -- all steps ------------------------------------------------------------------------------------------- */

/* Allocates one panel. */
static step panel_for(ct_call *c, const ct__grid *g, ct_dtype dtype)
{
    step at = { .pivot = ct_scratch(c, dtype, ct_shape2(g->b + 1, g->b)) };
    ct_prim_fill(c, at.pivot, 0);
    for (int side = 0; side < (g->rows > 1 ? 2 : 1); side++) {
        at.W[side] = ct_scratch(c, dtype, ct_shape2(ct__grid_before(g, side, g->tiles) * g->b, g->b));
        ct_prim_fill(c, at.W[side], 0);
    }
    return at;
}

/* Runs the steps. False if C is not positive definite, or after an error. */
static bool run(const sweep *s, step *const panels[2])
{
    const ct__grid *g = s->g;
    const bool ahead = panels[0] != panels[1];
    bool positive = pivots(s, panels[0], 0);
    for (int64_t k = 0; k < g->tiles && positive; k++) {
        step *at = panels[k % 2], *next = panels[(k + 1) % 2];
        const bool last = k + 1 == g->tiles;
        if (!k || !ahead) panel(s, at);
        ct__comm_wait(g->comm);
        if (s->inverse) send_panel(s, at, CT__TILE_ROWS, true, 0, k);
        send_panel(s, at, CT__TILE_COLS, true, k + 1, g->tiles);
        ct__comm_wait(g->comm);
        if (!k || !ahead) replace(s, at);
        update_z(s, at);
        update(s, at, true, !ahead);
        positive = last || pivots(s, next, k + 1);
        if (ahead && positive && !last) panel(s, next), replace(s, next);
        if (ahead && positive) update(s, at, false, true);
    }
    return positive;
}

bool ct__grid_sweep(ct_call *c, const ct__factor *A, bool inverse, double tolerance, ct_view z,
                    ct_view diagonal)
{
    const ct__grid *g = &A->grid;
    const sweep s = { c, g, inverse, A->numbers, diagonal, z };
    step panels[2] = { panel_for(c, g, z.dtype) };
    const ct_view before = ct_scratch(c, z.dtype, ct_shape1(g->n));
    if (g->ahead) panels[1] = panel_for(c, g, z.dtype);
    ct__factor_diagonal(c, A, before);
    if (!ct_call_ok(c)) return false;
    const bool positive = run(&s, (step *[]){ &panels[0], &panels[g->ahead] });
    ct_prim_flag_pivots(c, tolerance, before, diagonal, z);
    if (!ct__grid_agree(c, g) || !positive) return false;
    for (int64_t i = 0; i < g->tiles && inverse; i++)
        if (!ct__grid_owns(g, i)) ct_prim_fill(c, ct__grid_part(g, z, 0, i), 0);
    if (inverse) ct__grid_sum(c, g, z);
    return ct_call_ok(c);
}
