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
    const ct__factor C = ct__factor_new(c, &grid, n, dtype, square);
    ct_prim_copy(c, in[2], ct_view_reshape(alpha, ct_view_shape(in[2])));
    return (ct__system){ .of = { program, in[0], in[1], in[3] },
                         .C = C,
                         .alpha = alpha,
                         .diagonal = ct_scratch(c, dtype, ct_shape1(n)) };
}

void ct__kernel_block(ct_call *c, const ct__kernel_matrix *C, int64_t row, int64_t col, bool lower, ct_view B)
{
    const int64_t row_end = row + ct_view_dim(B, 0), col_end = col + ct_view_dim(B, 1);
    const bool beside = row != col;
    if (row == row_end || col == col_end) return;
    ct_prim_covariance(c, C->program, C->theta, ct__rows(C->X, row, row_end),
                       beside ? ct__rows(C->X, col, col_end) : ct_no_view(), lower && !beside, B);
    if (beside) return;
    const ct_view noise = ct_view_broadcast(C->noise, ct_shape1(ct_view_dim(C->X, 0))),
                  diagonal = ct_view_diagonal(B);
    ct_prim_map2(c, CT_MAP_add, diagonal, ct__rows(noise, row, row_end), diagonal);
}

static void build(ct_call *c, const ct__system *s)
{
    for (ct__block b = { .number = 0 }; s->C.in->next(&s->C, &b);) {
        if (b.row == b.col && s->C.unit > 1) ct_prim_fill(c, b.M, 0); /* whole tiles are sent */
        ct__kernel_block(c, &s->of, b.row, b.col, true, b.M);
    }
}

bool ct__system_solve(ct_call *c, const ct__system *s, bool inverse)
{
    const bool failed_before = ct_failure_known(c);
    build(c, s);
    if (!s->C.in->sweep(c, &s->C, inverse, ct__gp_rounding(s->alpha.dtype), s->alpha, s->diagonal))
        return false;
    if (!inverse) ct__factor_solve_trans(c, &s->C, 0, ct_view_transpose(s->alpha));
    return ct_call_ok(c) && (failed_before || !ct_failure_known(c));
}

void ct__system_contract(ct_call *c, const ct__system *s, double weight, ct_view u, ct_view theta_bar,
                         ct_view X_bar)
{
    const ct__slopes k = { .of = &s->of, .u = u, .weight = weight, .theta_bar = theta_bar, .X_bar = X_bar };
    ct__slopes_clear(c, &k);
    for (ct__block b = { .number = 0 }; s->C.in->next(&s->C, &b);) ct__slopes_add(c, &k, b.M, b.row, b.col);
    s->C.in->sum(c, &s->C, theta_bar);
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
    const ct__kernel_matrix *C = s->of;
    const bool beside = row != col;
    if (row == row_end || col == col_end) return;
    ct_view x = ct__rows(C->X, row, row_end), z = beside ? ct__rows(C->X, col, col_end) : ct_no_view();
    ct_cov_bar bar = { .M = M,
                       .u = ct__rows(s->u, row, row_end),
                       .v = ct__rows(s->u, col, col_end),
                       .alpha = beside ? 2 * s->weight : s->weight,
                       .lower = !beside };
    ct_prim_covariance_bar(c, C->program, C->theta, x, z, &bar, true, s->theta_bar,
                           ct__rows(s->X_bar, row, row_end));
    if (!beside || !ct_is_view(s->X_bar)) return;
    ct_cov_bar transposed = { .M = ct_view_transpose(M), .u = bar.v, .v = bar.u, .alpha = bar.alpha };
    ct_prim_covariance_bar(c, C->program, C->theta, z, x, &transposed, true, ct_no_view(),
                           ct__rows(s->X_bar, col, col_end));
}
