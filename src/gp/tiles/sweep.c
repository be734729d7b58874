/* The sweep of tensor/cpu/sweep.c over the processes of a grid: the Cholesky factor, or the inverse, in
 * place. Step k takes tile column k as pivots. With L Lᵀ = A_kk:
 *
 *     W_i = A_ik L⁻ᵀ for all other i (for i < k from A_ki, which is stored: W_iᵀ = L⁻¹ A_ki)
 *     A_ij -= W_i W_jᵀ, but += where i and j are both swept
 *     A_ik = -W_i L⁻¹ (i > k),  A_ki = L⁻ᵀ W_iᵀ (i < k),  A_kk = L⁻ᵀL⁻¹
 *
 * The owner of A_kk sends L to all. The processes of grid column k have the W_i with i > k, those of grid row
 * k the others. Process (p, q) needs W_i for its tile rows and W_j for its tile columns, so a panel travels
 * twice:
 *
 *     1. W_i, i > k, along each grid row; W_j, j < k, along each grid column
 *     2. W_j, j > k, from the process of its row along each grid column; W_i, i < k, from the process of its
 *        column along each grid row
 *
 * Where there is room for two panels, the tiles of the next pivots are updated first. The next panel then
 * travels while the others are updated.
 *
 * Each process receives n²/rows + n²/cols numbers in all. Without the inverse the swept rows are left out,
 * W_i takes A_ik's place, and the result is L. */
#include <math.h>

#include "grid.h"

/* One step's panel on this process. */
typedef struct step {
    int64_t k, w;       /* the step; its pivots */
    ct_view pivot;      /* (b + 2, b): L; then y = L⁻¹z; then whether it failed */
    ct_view L, y;       /* (w, w) and (w), in `pivot` */
    ct_view minus;      /* (b, b): room for -L */
    ct_view rows, cols; /* W of this process's tile rows; of its tile columns, or no view if rows has all */
    ct_view requests;   /* of messages on their way */
    int messages;
} step;

typedef struct sweep {
    ct_call *c;
    const ct__grid *g;
    bool inverse;
    double tolerance;
    ct_view tiles, diagonal; /* of this process; (n), its own numbers */
    ct_view z;               /* (n), right on this process's tile rows */
    int error;
} sweep;

/* -- messages -------------------------------------------------------------------------------------------- */

static void send(sweep *s, step *at, const ct__line *line, ct_view v, int root)
{
    ct__request *request = (ct__request *)at->requests.data + at->messages;
    const size_t bytes = (size_t)ct_view_dim(v, 0) * (size_t)s->g->b * ct_dtype_size(v.dtype);
    if (s->error || !bytes || line->size == 1) return;
    s->error = s->g->group->transport->broadcast(line, v.data, bytes, root, request);
    at->messages += !s->error;
}

static void arrive(sweep *s, step *at)
{
    const int error = s->g->group->transport->wait(at->requests.data, at->messages);
    if (!s->error) s->error = error;
    at->messages = 0;
}

/* W_j for a tile column of this process, or room for it. */
static ct_view column_panel(const sweep *s, const step *at, int64_t j)
{
    const ct__grid *g = s->g;
    if (!ct_is_view(at->cols)) return ct__grid_strip(g, at->rows, j, j + 1);
    const int64_t first = ct__grid_before(j, g->col, g->cols) * g->b;
    return ct_view_slice(at->cols, 0, first, first + ct__grid_height(g, j), 1);
}

/* The panel's first journey begins. */
static void first_journey(sweep *s, step *at)
{
    const ct__grid *g = s->g;
    send(s, at, &g->group->row, ct__grid_strip(g, at->rows, at->k + 1, g->tiles), (int)(at->k % g->cols));
    for (int64_t j = g->col; j < at->k && s->inverse && ct_is_view(at->cols); j += g->cols)
        send(s, at, &g->group->col, column_panel(s, at, j), (int)(at->k % g->rows));
}

/* The first journey ends; the second one. */
static void second_journey(sweep *s, step *at)
{
    const ct__grid *g = s->g;
    arrive(s, at);
    for (int64_t i = g->row; i < at->k && s->inverse; i += g->rows) {
        const ct_view to = ct__grid_strip(g, at->rows, i, i + 1);
        if (ct_is_view(at->cols) && ct__grid_has_column(g, i)) ct_prim_copy(s->c, column_panel(s, at, i), to);
        send(s, at, &g->group->row, to, (int)(i % g->cols));
    }
    for (int64_t j = ct__grid_next(at->k + 1, g->col, g->cols); j < g->tiles && ct_is_view(at->cols);
         j += g->cols) {
        const ct_view to = column_panel(s, at, j);
        if (ct__grid_has_row(g, j)) ct_prim_copy(s->c, ct__grid_strip(g, at->rows, j, j + 1), to);
        send(s, at, &g->group->col, to, (int)(j % g->rows));
    }
    arrive(s, at);
}

/* -- one step -------------------------------------------------------------------------------------------- */

static ct_view part(const ct__grid *g, ct_view vector, int64_t i)
{
    return ct_view_slice(vector, 0, i * g->b, i * g->b + ct__grid_height(g, i), 1);
}

static double element(ct_view v, int64_t i)
{
    const size_t at = (size_t)(i * v.stride[0]);
    return v.dtype == CT_F32 ? (double)((const float *)v.data)[at] : ((const double *)v.data)[at];
}

/* L in place of the pivots' tile, and in `pivot`, with y. */
static void factorise(sweep *s, const step *at, ct_view failed)
{
    const ct__grid *g = s->g;
    const int64_t k = at->k;
    const ct_view tile = ct__grid_stack(g, s->tiles, k, k, k + 1), diagonal = part(g, s->diagonal, k);
    const ct_view before = at->y;
    bool bad = ct_failure_known(s->c);
    ct_prim_copy(s->c, ct_view_diagonal(tile), before);
    ct_prim_potrf_lower(s->c, k * g->b, tile);
    ct_prim_copy(s->c, ct_view_diagonal(tile), diagonal);
    bad = bad != ct_failure_known(s->c);
    for (int64_t i = 0; i < at->w && !bad; i++) {
        const double l = element(diagonal, i);
        bad = !(l * l > s->tolerance * element(before, i));
        if (bad && !ct_failure_known(s->c)) ct_flag_failure(s->c, 0, k * g->b + i + 1, "leading minor %lld");
    }
    ct_prim_triangle(s->c, tile, false, 0, at->L);
    ct_prim_copy(s->c, part(g, s->z, k), at->y);
    ct_prim_trsm(s->c, CT_LOWER, 1, at->L, ct_view_unsqueeze(at->y, 1));
    ct_prim_fill(s->c, failed, bad);
}

/* L and y of step k for all; false if the pivots are not positive. */
static bool pivots(sweep *s, step *at, int64_t k)
{
    const ct__grid *g = s->g;
    const int owner = (int)(k % g->rows) * g->cols + (int)(k % g->cols);
    const ct_view failed = ct_view_slice(at->pivot, 0, g->b + 1, g->b + 2, 1);
    at->k = k;
    at->w = ct__grid_height(g, k);
    at->L = ct_view_block(at->pivot, 0, at->w, 0, at->w);
    at->y = ct_view_squeeze(ct_view_block(at->pivot, g->b, g->b + 1, 0, at->w), 0);
    if (ct__grid_has_row(g, k) && ct__grid_has_column(g, k)) factorise(s, at, failed);
    send(s, at, &g->group->all, at->pivot, owner);
    arrive(s, at);
    if (s->error || element(ct_view_squeeze(ct_view_slice(failed, 1, 0, 1, 1), 0), 0) == 0) return !s->error;
    if (!ct_failure_known(s->c)) ct_flag_failure(s->c, 0, k * g->b + 1, "a leading minor from %lld on");
    return false;
}

/* This process's share of the panel, and what takes its place in A. */
static void panel(sweep *s, const step *at)
{
    ct_call *c = s->c;
    const ct__grid *g = s->g;
    const int64_t k = at->k, w = at->w;
    const bool row = ct__grid_has_row(g, k), column = ct__grid_has_column(g, k);
    if (column) {
        const ct_view below = ct__grid_stack(g, s->tiles, k, k + 1, g->tiles);
        ct_prim_trsm(c, CT_LOWER | CT_TRANS | CT_RIGHT, 1, at->L, below);
        ct_prim_copy(c, below, ct_view_slice(ct__grid_strip(g, at->rows, k + 1, g->tiles), 1, 0, w, 1));
        if (s->inverse) {
            const ct_view minus = ct_view_block(at->minus, 0, w, 0, w);
            ct_prim_map1(c, CT_MAP_neg, NULL, at->L, minus);
            ct_prim_trsm(c, CT_LOWER | CT_RIGHT, 1, minus, below);
        }
    }
    for (int64_t j = g->col; j < k && s->inverse && row; j += g->cols) {
        const ct_view left = ct__grid_stack(g, s->tiles, j, k, k + 1);
        ct_prim_trsm(c, CT_LOWER, 1, at->L, left);
        ct_prim_copy(c, ct_view_transpose(left), ct_view_slice(column_panel(s, at, j), 1, 0, w, 1));
        ct_prim_trsm(c, CT_LOWER | CT_TRANS, 1, at->L, left);
    }
    if (s->inverse && row && column) {
        const ct_view tile = ct__grid_stack(g, s->tiles, k, k, k + 1);
        ct_prim_trtri(c, tile);
        ct_prim_lauum(c, tile);
    }
}

/* z_i -= W_i y, += where swept; z_k = L⁻ᵀy, or y without the inverse. */
static void update_z(sweep *s, const step *at)
{
    const ct__grid *g = s->g;
    const int64_t k = at->k;
    const ct_view column = ct_view_unsqueeze(at->y, 1);
    for (int64_t i = g->row; i < g->tiles; i += g->rows) {
        const ct_view W = ct_view_slice(ct__grid_strip(g, at->rows, i, i + 1), 1, 0, at->w, 1);
        if (i > k || (i < k && s->inverse))
            ct_prim_gemm(s->c, i > k ? -1 : 1, W, column, 1, ct_view_unsqueeze(part(g, s->z, i), 1));
    }
    if (s->inverse) ct_prim_trsm(s->c, CT_LOWER | CT_TRANS, 1, at->L, column);
    ct_prim_copy(s->c, at->y, part(g, s->z, k));
}

/* A_ij -= W_i W_jᵀ for i0 <= i < i1, += where i and j are swept. The rows lie on one side of k. */
static void update_stack(sweep *s, const step *at, int64_t j, int64_t i0, int64_t i1)
{
    const ct__grid *g = s->g;
    const ct_view W = ct_view_slice(column_panel(s, at, j), 1, 0, at->w, 1);
    const ct_view rows = ct_view_slice(at->rows, 1, 0, at->w, 1);
    if (i0 < j) i0 = j;
    if (i0 < i1)
        ct_prim_gemm(s->c, i0 < at->k ? 1 : -1, ct__grid_strip(g, rows, i0, i1), ct_view_transpose(W), 1,
                     ct__grid_stack(g, s->tiles, j, i0, i1));
}

/* The tiles of the next pivots: their column, and with the inverse their row. */
static void update_next(sweep *s, const step *at)
{
    const ct__grid *g = s->g;
    const int64_t next = at->k + 1;
    for (int64_t j = g->col; j < at->k && s->inverse; j += g->cols) update_stack(s, at, j, next, next + 1);
    if (ct__grid_has_column(g, next)) update_stack(s, at, next, next, g->tiles);
}

static void update_others(sweep *s, const step *at)
{
    const ct__grid *g = s->g;
    const int64_t k = at->k;
    for (int64_t j = ct__grid_next(s->inverse ? 0 : k + 2, g->col, g->cols); j < g->tiles; j += g->cols) {
        if (j == k || j == k + 1) continue;
        update_stack(s, at, j, j, j < k ? k : g->tiles);
        if (j < k) update_stack(s, at, j, k + 2, g->tiles);
    }
}

/* -- all of them ----------------------------------------------------------------------------------------- */

/* Each process's numbers of z and the diagonal to all: those of its own tile rows, once. */
static void gather(sweep *s)
{
    const ct__grid *g = s->g;
    for (int64_t i = 0; i < g->tiles; i++) {
        const bool own = ct__grid_has_row(g, i) && ct__grid_has_column(g, i);
        if (own) continue;
        ct_prim_fill(s->c, part(g, s->z, i), 0);
        ct_prim_fill(s->c, part(g, s->diagonal, i), 0);
    }
    ct__grid_sum(s->c, g, s->z);
    ct__grid_sum(s->c, g, s->diagonal);
}

/* Room for one panel. */
static step room_for(ct_call *c, const ct__grid *g, ct_dtype dtype)
{
    const int64_t rows = ct__grid_before(g->tiles, g->row, g->rows),
                  cols = ct__grid_before(g->tiles, g->col, g->cols), b = g->b;
    step at = { .pivot = ct_scratch(c, dtype, ct_shape2(b + 2, b)),
                .minus = ct_scratch(c, dtype, ct_shape2(b, b)),
                .rows = ct_scratch(c, dtype, ct_shape2(rows * b, b)),
                .requests = ct_scratch(c, CT_I64, ct_shape1(rows + cols + 2)) };
    if (g->rows > 1) at.cols = ct_scratch(c, dtype, ct_shape2(cols * b, b));
    ct_prim_fill(c, at.pivot, 0);
    ct_prim_fill(c, at.rows, 0);
    if (ct_is_view(at.cols)) ct_prim_fill(c, at.cols, 0);
    return at;
}

/* The steps. With room for a second panel, the next one is made and sent before the other tiles are updated.
 * False if C is not positive definite, or after an error. */
static bool run(sweep *s, step *const panels[2])
{
    const int64_t tiles = s->g->tiles;
    const bool ahead = panels[0] != panels[1];
    bool positive = pivots(s, panels[0], 0);
    for (int64_t k = 0; k < tiles && positive; k++) {
        step *at = panels[k % 2], *next = panels[(k + 1) % 2];
        const bool last = k + 1 == tiles;
        if (!k || !ahead) panel(s, at);
        if (!k || !ahead) first_journey(s, at);
        second_journey(s, at);
        update_z(s, at);
        if (!last) update_next(s, at);
        if (!ahead) update_others(s, at);
        if (!last) positive = pivots(s, next, k + 1);
        if (!ahead || !positive) continue;
        if (!last) panel(s, next);
        if (!last) first_journey(s, next);
        update_others(s, at);
    }
    return positive;
}

bool ct__grid_sweep(ct_call *c, const ct__grid *g, bool inverse, double tolerance, ct_view tiles, ct_view z,
                    ct_view diagonal)
{
    sweep s = { c, g, inverse, tolerance, tiles, diagonal, z, 0 };
    step panels[2] = { room_for(c, g, z.dtype) };
    if (g->ahead) panels[1] = room_for(c, g, z.dtype);
    if (!ct__grid_meet(c, g)) return false;
    const bool positive = run(&s, (step *[]){ &panels[0], &panels[g->ahead] });
    ct__grid_sent(c, g, s.error);
    if (!ct__grid_meet(c, g) || !positive) return false;
    gather(&s);
    return ct_call_fine(c);
}
