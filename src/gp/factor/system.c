/* One packed array (packed.h) is C, then L, then C⁻¹. k and its derivatives are computed tile by tile, once
 * for C and once for the contraction. Blocks of L, then of W = L⁻¹, then of C⁻¹ = WᵀW:
 *     L11 L11ᵀ = C11,  L21 = C21 L11⁻ᵀ,  L22 L22ᵀ = C22 - L21 L21ᵀ                           n³/3 operations
 *     W11 = L11⁻¹,     W22 = L22⁻¹,      W21 = -W22 L21 W11
 *     W11ᵀW11 + W21ᵀW21,                 W22ᵀ W21,          W22ᵀW22                        2n³/3
 * [Rasmussen & Williams 2006, eq. 5.9] */
#include "system.h"

#include <float.h>

double ct__gp_rounding(ct_dtype dtype) { return 16 * (dtype == CT_F32 ? FLT_EPSILON : DBL_EPSILON); }

ct__system ct__system_of(ct_call *c, const ct_cov_program *program, const ct_view in[4], ct_view alpha,
                         bool square, ct__grid grid)
{
    const int64_t n = ct_view_dim(in[1], 0);
    const ct_dtype dtype = in[1].dtype;
    square = square && n <= CT__SQUARE && !grid.group;
    ct_view matrix = ct_scratch(c, dtype,
                                grid.group ? ct__grid_shape(&grid)
                                : square   ? ct_shape2(n, n)
                                           : ct__packed_shape(n));
    ct_prim_copy(c, in[2], ct_view_reshape(alpha, ct_view_shape(in[2])));
    return (ct__system){ .program = program,
                         .theta = in[0],
                         .X = in[1],
                         .noise = in[3],
                         .matrix = matrix,
                         .C = grid.group ? ct__packed_on(&grid, matrix)
                              : square   ? ct__packed_of_square(matrix, n)
                                         : ct__packed_of(matrix, n),
                         .alpha = alpha,
                         .diagonal = ct_scratch(c, dtype, ct_shape1(n)) };
}

/* M = the block of C at (row, col), without the noise; on the diagonal its lower triangle. */
static void covariance(ct_call *c, const ct__system *s, ct_view M, int64_t row, int64_t col)
{
    const ct_view x = ct__rows(s->X, row, row + ct_view_dim(M, 0)),
                  z = row == col ? ct_no_view() : ct__rows(s->X, col, col + ct_view_dim(M, 1));
    ct_prim_covariance(c, s->program, s->theta, x, z, row == col, M);
}

static void build(ct_call *c, const ct__system *s)
{
    const ct__packed *C = &s->C;
    const ct__grid *g = &C->grid;
    for (int64_t j = g->col; j < g->tiles; j += g->cols)
        for (int64_t i = ct__grid_next(g, CT__TILE_ROWS, j); i < g->tiles; i += g->rows) {
            const ct_view tile = ct__grid_stack(g, C->tiles, j, i, i + 1);
            if (i == j) ct_prim_fill(c, tile, 0);
            covariance(c, s, tile, i * g->b, j * g->b);
        }
    if (!g->group) covariance(c, s, C->A11, 0, 0);
    if (C->n2) covariance(c, s, C->A21t, 0, C->n1);
    if (C->n2) covariance(c, s, C->A22, C->n1, C->n1);
    ct__packed_add_diagonal(c, C, s->noise);
}

bool ct__system_solve(ct_call *c, const ct__system *s, bool inverse)
{
    const bool failed_before = ct_failure_known(c);
    const double tolerance = ct__gp_rounding(s->alpha.dtype);
    build(c, s);
    if (s->C.grid.group &&
        !ct__grid_sweep(c, &s->C.grid, inverse, tolerance, s->matrix, s->alpha, s->diagonal))
        return false;
    if (!s->C.grid.group)
        ct_prim_sweep_blocks(c, inverse, tolerance, s->C.A11, s->C.A21, s->C.A22, s->alpha, s->diagonal);
    if (!inverse) ct__packed_solve_trans(c, &s->C, ct_view_transpose(s->alpha));
    return ct_call_fine(c) && (failed_before || !ct_failure_known(c));
}

void ct__system_contract(ct_call *c, const ct__system *s, double weight, ct_view u, ct_view theta_bar,
                         ct_view X_bar)
{
    const ct__packed *C = &s->C;
    const ct__grid *g = &C->grid;
    const ct__slopes k = { .program = s->program,
                           .theta = s->theta,
                           .X = s->X,
                           .u = u,
                           .weight = weight,
                           .theta_bar = theta_bar,
                           .X_bar = X_bar };
    ct__slopes_clear(c, &k);
    for (int64_t j = g->col; j < g->tiles; j += g->cols)
        for (int64_t i = ct__grid_next(g, CT__TILE_ROWS, j); i < g->tiles; i += g->rows)
            ct__slopes_add(c, &k, ct__grid_stack(g, C->tiles, j, i, i + 1), i * g->b, j * g->b);
    if (!g->group) ct__slopes_add(c, &k, C->A11, 0, 0);
    if (C->n2) ct__slopes_add(c, &k, C->A21t, 0, C->n1);
    if (C->n2) ct__slopes_add(c, &k, C->A22, C->n1, C->n1);
    if (g->group && ct__grid_meet(c, g)) ct__grid_sum(c, g, theta_bar);
}

/* -- derivatives ----------------------------------------------------------------------------------------- */

void ct__slopes_clear(ct_call *c, const ct__slopes *s)
{
    ct_prim_fill(c, s->theta_bar, 0);
    if (ct_is_view(s->X_bar)) ct_prim_fill(c, s->X_bar, 0);
}

void ct__slopes_add(ct_call *c, const ct__slopes *s, ct_view M, int64_t row, int64_t col)
{
    const int64_t row_end = row + ct_view_dim(M, 0), col_end = col + ct_view_dim(M, 1);
    const bool beside = row != col;
    if (row == row_end || col == col_end) return;
    ct_view x = ct__rows(s->X, row, row_end), z = beside ? ct__rows(s->X, col, col_end) : ct_no_view();
    ct_cov_bar bar = { .M = M,
                       .u = ct__rows(s->u, row, row_end),
                       .v = ct__rows(s->u, col, col_end),
                       .alpha = beside ? 2 * s->weight : s->weight,
                       .lower = !beside };
    ct_prim_covariance_bar(c, s->program, s->theta, x, z, &bar, true, s->theta_bar,
                           ct__rows(s->X_bar, row, row_end));
    if (!beside || !ct_is_view(s->X_bar)) return;
    ct_cov_bar transposed = { .M = ct_view_transpose(M), .u = bar.v, .v = bar.u, .alpha = bar.alpha };
    ct_prim_covariance_bar(c, s->program, s->theta, z, x, &transposed, true, ct_no_view(),
                           ct__rows(s->X_bar, col, col_end));
}
