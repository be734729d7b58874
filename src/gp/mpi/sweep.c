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
 * Each process receives n²/rows + n²/cols numbers in all. Without the inverse the swept rows are left out,
 * W_i takes A_ik's place, and the result is L. */
#include <math.h>

#include "grid.h"

typedef struct sweep {
    ct_call *c;
    const ct__grid *g;
    bool inverse;
    double tolerance;
    ct_view tiles, diagonal; /* of this process; (n), its own numbers */
    ct_view z;               /* (n), right on this process's tile rows */
    ct_view pivot;           /* (b + 2, b): L; then y = L⁻¹z; then whether it failed */
    ct_view rows, cols; /* W of this process's tile rows; of its tile columns, or no view if rows has all */
    ct_view requests;   /* of messages on their way */
    int messages, error;
} sweep;

/* -- messages -------------------------------------------------------------------------------------------- */

static void send(sweep *s, const ct__line *line, ct_view v, int root)
{
    ct__request *request = (ct__request *)s->requests.data + s->messages;
    const size_t bytes = (size_t)ct_view_dim(v, 0) * (size_t)s->g->b * ct_dtype_size(v.dtype);
    if (s->error || !bytes || line->size == 1) return;
    s->error = s->g->group->transport->broadcast(line, v.data, bytes, root, request);
    s->messages += !s->error;
}

static void arrive(sweep *s)
{
    const int error = s->g->group->transport->wait(s->requests.data, s->messages);
    if (!s->error) s->error = error;
    s->messages = 0;
}

/* W_j for a tile column of this process, or room for it. */
static ct_view column_panel(const sweep *s, int64_t j)
{
    const ct__grid *g = s->g;
    if (!ct_is_view(s->cols)) return ct__grid_strip(g, s->rows, j, j + 1);
    const int64_t at = ct__grid_before(j, g->col, g->cols) * g->b;
    return ct_view_slice(s->cols, 0, at, at + ct__grid_height(g, j), 1);
}

/* The panel of step k to all who need it, by 1 and 2 above. */
static void exchange(sweep *s, int64_t k)
{
    const ct__grid *g = s->g;
    const ct_group *all = g->group;
    send(s, &all->row, ct__grid_strip(g, s->rows, k + 1, g->tiles), (int)(k % g->cols));
    for (int64_t j = g->col; j < k && s->inverse && ct_is_view(s->cols); j += g->cols)
        send(s, &all->col, column_panel(s, j), (int)(k % g->rows));
    arrive(s);
    for (int64_t i = g->row; i < k && s->inverse; i += g->rows) {
        const ct_view to = ct__grid_strip(g, s->rows, i, i + 1);
        if (ct_is_view(s->cols) && ct__grid_has_column(g, i)) ct_prim_copy(s->c, column_panel(s, i), to);
        send(s, &all->row, to, (int)(i % g->cols));
    }
    for (int64_t j = ct__grid_next(k + 1, g->col, g->cols); j < g->tiles && ct_is_view(s->cols);
         j += g->cols) {
        const ct_view to = column_panel(s, j);
        if (ct__grid_has_row(g, j)) ct_prim_copy(s->c, ct__grid_strip(g, s->rows, j, j + 1), to);
        send(s, &all->col, to, (int)(j % g->rows));
    }
    arrive(s);
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
static void factorise(sweep *s, int64_t k, ct_view L, ct_view y, ct_view failed)
{
    const ct__grid *g = s->g;
    const int64_t w = ct__grid_height(g, k);
    const ct_view tile = ct__grid_stack(g, s->tiles, k, k, k + 1), diagonal = part(g, s->diagonal, k);
    const ct_view before = ct_view_slice(ct_view_slice(s->pivot, 0, g->b, g->b + 1, 1), 1, 0, w, 1);
    bool bad = ct_failure_known(s->c);
    ct_prim_copy(s->c, ct_view_diagonal(tile), ct_view_squeeze(before, 0));
    ct_prim_potrf_lower(s->c, k * g->b, tile);
    ct_prim_copy(s->c, ct_view_diagonal(tile), diagonal);
    bad = bad != ct_failure_known(s->c);
    for (int64_t i = 0; i < w && !bad; i++) {
        const double l = element(diagonal, i);
        bad = !(l * l > s->tolerance * element(ct_view_squeeze(before, 0), i));
        if (bad && !ct_failure_known(s->c)) ct_flag_failure(s->c, 0, k * g->b + i + 1, "leading minor %lld");
    }
    ct_prim_triangle(s->c, tile, false, 0, L);
    ct_prim_copy(s->c, part(g, s->z, k), y);
    ct_prim_trsm(s->c, CT_LOWER, 1, L, ct_view_unsqueeze(y, 1));
    ct_prim_fill(s->c, failed, bad);
}

/* L and y of step k for all; false if the pivots are not positive. */
static bool pivots(sweep *s, int64_t k, ct_view L, ct_view y)
{
    const ct__grid *g = s->g;
    const int owner = (int)(k % g->rows) * g->cols + (int)(k % g->cols);
    const ct_view failed = ct_view_slice(s->pivot, 0, g->b + 1, g->b + 2, 1);
    if (ct__grid_has_row(g, k) && ct__grid_has_column(g, k)) factorise(s, k, L, y, failed);
    send(s, &g->group->all, s->pivot, owner);
    arrive(s);
    if (s->error || element(ct_view_squeeze(failed, 0), 0) == 0) return !s->error;
    if (!ct_failure_known(s->c)) ct_flag_failure(s->c, 0, k * g->b + 1, "a leading minor from %lld on");
    return false;
}

/* B = alpha B op(L)⁻¹, some rows at a time, so that the scratch of a solve is small. */
static void solve(sweep *s, unsigned flags, double alpha, ct_view L, ct_view B)
{
    enum { ROWS = 1024 };
    const int64_t rows = ct_view_dim(B, 0);
    for (int64_t i = 0; i < rows; i += ROWS)
        ct_prim_trsm(s->c, flags, alpha, L, ct_view_slice(B, 0, i, i + ROWS < rows ? i + ROWS : rows, 1));
}

/* This process's share of the panel, and what takes its place in A. */
static void panel(sweep *s, int64_t k, ct_view L)
{
    ct_call *c = s->c;
    const ct__grid *g = s->g;
    const int64_t w = ct__grid_height(g, k);
    if (ct__grid_has_column(g, k)) {
        const ct_view below = ct__grid_stack(g, s->tiles, k, k + 1, g->tiles);
        solve(s, CT_LOWER | CT_TRANS | CT_RIGHT, 1, L, below);
        ct_prim_copy(c, below, ct_view_slice(ct__grid_strip(g, s->rows, k + 1, g->tiles), 1, 0, w, 1));
        if (s->inverse) solve(s, CT_LOWER | CT_RIGHT, -1, L, below);
    }
    for (int64_t j = g->col; j < k && s->inverse && ct__grid_has_row(g, k); j += g->cols) {
        const ct_view left = ct__grid_stack(g, s->tiles, j, k, k + 1);
        ct_prim_trsm(c, CT_LOWER, 1, L, left);
        ct_prim_copy(c, ct_view_transpose(left), ct_view_slice(column_panel(s, j), 1, 0, w, 1));
        ct_prim_trsm(c, CT_LOWER | CT_TRANS, 1, L, left);
    }
    if (s->inverse && ct__grid_has_row(g, k) && ct__grid_has_column(g, k)) {
        const ct_view tile = ct__grid_stack(g, s->tiles, k, k, k + 1);
        ct_prim_trtri(c, tile);
        ct_prim_lauum(c, tile);
    }
}

/* z_i -= W_i y, += where swept; z_k = L⁻ᵀy, or y without the inverse. */
static void update_z(sweep *s, int64_t k, ct_view L, ct_view y)
{
    const ct__grid *g = s->g;
    const int64_t w = ct__grid_height(g, k);
    const ct_view column = ct_view_unsqueeze(y, 1);
    for (int64_t i = g->row; i < g->tiles; i += g->rows) {
        const ct_view W = ct_view_slice(ct__grid_strip(g, s->rows, i, i + 1), 1, 0, w, 1);
        if (i > k || (i < k && s->inverse))
            ct_prim_gemm(s->c, i > k ? -1 : 1, W, column, 1, ct_view_unsqueeze(part(g, s->z, i), 1));
    }
    if (s->inverse) ct_prim_trsm(s->c, CT_LOWER | CT_TRANS, 1, L, column);
    ct_prim_copy(s->c, y, part(g, s->z, k));
}

/* A_ij -= W_i W_jᵀ, += where i and j are both swept. */
static void update(sweep *s, int64_t k)
{
    const ct__grid *g = s->g;
    const int64_t w = ct__grid_height(g, k);
    for (int64_t j = ct__grid_next(s->inverse ? 0 : k + 1, g->col, g->cols); j < g->tiles; j += g->cols) {
        if (j == k) continue;
        const ct_view W = ct_view_transpose(ct_view_slice(column_panel(s, j), 1, 0, w, 1));
        const ct_view rows = ct_view_slice(s->rows, 1, 0, w, 1);
        if (j < k)
            ct_prim_gemm(s->c, 1, ct__grid_strip(g, rows, j, k), W, 1, ct__grid_stack(g, s->tiles, j, j, k));
        const int64_t from = j < k ? k + 1 : j;
        ct_prim_gemm(s->c, -1, ct__grid_strip(g, rows, from, g->tiles), W, 1,
                     ct__grid_stack(g, s->tiles, j, from, g->tiles));
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

bool ct__grid_sweep(ct_call *c, const ct__grid *g, bool inverse, double tolerance, ct_view tiles, ct_view z,
                    ct_view diagonal)
{
    const int64_t own_rows = ct__grid_before(g->tiles, g->row, g->rows);
    const int64_t own_cols = ct__grid_before(g->tiles, g->col, g->cols);
    sweep s = { .c = c,
                .g = g,
                .inverse = inverse,
                .tolerance = tolerance,
                .tiles = tiles,
                .diagonal = diagonal,
                .z = z,
                .pivot = ct_scratch(c, z.dtype, ct_shape2(g->b + 2, g->b)),
                .rows = ct_scratch(c, z.dtype, ct_shape2(own_rows * g->b, g->b)),
                .requests = ct_scratch(c, CT_I64, ct_shape1(own_rows + own_cols + 2)) };
    if (g->rows > 1) s.cols = ct_scratch(c, z.dtype, ct_shape2(own_cols * g->b, g->b));
    if (!ct__grid_meet(c, g)) return false;
    ct_prim_fill(c, s.pivot, 0);
    ct_prim_fill(c, s.rows, 0);
    if (ct_is_view(s.cols)) ct_prim_fill(c, s.cols, 0);
    bool positive = true;
    for (int64_t k = 0; k < g->tiles && positive; k++) {
        const int64_t w = ct__grid_height(g, k);
        const ct_view L = ct_view_block(s.pivot, 0, w, 0, w);
        const ct_view y = ct_view_squeeze(ct_view_block(s.pivot, g->b, g->b + 1, 0, w), 0);
        positive = pivots(&s, k, L, y);
        if (!positive) break;
        panel(&s, k, L);
        exchange(&s, k);
        update_z(&s, k, L, y);
        update(&s, k);
    }
    ct__grid_sent(c, s.error);
    if (!ct__grid_meet(c, g) || !positive) return false;
    gather(&s);
    return ct_call_fine(c);
}
