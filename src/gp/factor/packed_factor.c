/* Cholesky factor and inverse of a packed matrix by calls on its three blocks, for devices without a sweep of
 * their own and for a factor that is kept until it is inverted. */
#include "packed.h"

#include <float.h>

void ct__packed_factor(ct_call *c, const ct__packed *C)
{
    ct_prim_potrf_lower(c, 0, C->A11);
    ct_prim_trsm(c, CT_LOWER | CT_TRANS | CT_RIGHT, 1, C->A11, C->A21);
    ct_prim_syrk(c, -1, C->A21, 1, C->A22);
    ct_prim_potrf_lower(c, C->n1, C->A22);
}

void ct__packed_invert(ct_call *c, const ct__packed *L)
{
    ct_prim_trtri(c, L->A11);
    ct_prim_trtri(c, L->A22);
    ct_prim_trmm(c, CT_LOWER | CT_RIGHT, -1, L->A11, L->A21);
    ct_prim_trmm(c, CT_LOWER, 1, L->A22, L->A21);
    ct_prim_lauum(c, L->A11);
    ct_prim_syrk(c, 1, L->A21t, 1, L->A11);
    ct_prim_trmm(c, CT_LOWER | CT_TRANS, 1, L->A22, L->A21);
    ct_prim_lauum(c, L->A22);
}

/* -- pivots ---------------------------------------------------------------------------------------------- */

double ct__gp_rounding(ct_dtype dtype) { return 16 * (dtype == CT_F32 ? FLT_EPSILON : DBL_EPSILON); }

void ct__judge_pivots(ct_call *c, ct_view C_diagonal, ct_view L_diagonal, ct_view alpha)
{
    ct_view pivot = ct_scratch(c, L_diagonal.dtype, ct_view_shape(L_diagonal)), excess = C_diagonal;
    ct_prim_map1(c, CT_MAP_square, NULL, L_diagonal, pivot);
    ct_prim_map1(c, CT_MAP_scale, (double[]){ ct__gp_rounding(C_diagonal.dtype), 0 }, C_diagonal, excess);
    ct_prim_map2(c, CT_MAP_sub, pivot, excess, excess);
    ct_prim_flag(c, CT_POSITIVE, ct_view_unsqueeze(excess, 1), "leading minor %lld",
                 "is not positive to working precision: add to the diagonal", alpha);
}

void ct__packed_sweep(ct_call *c, ct_view matrix, const ct__packed *C, bool inverse, double tolerance,
                      ct_view z, ct_view diagonal)
{
    const int64_t n = C->n1 + C->n2;
    if (ct_prim_packed_sweep(c, n, inverse, tolerance, matrix, z, diagonal)) return;
    ct_view before = ct_scratch(c, matrix.dtype, ct_shape1(n)), row = ct_view_transpose(z);
    ct__packed_diagonal(c, C, before);
    ct__packed_factor(c, C);
    ct__packed_diagonal(c, C, diagonal);
    ct__packed_solve(c, C, 0, row);
    if (inverse) ct__packed_solve_trans(c, C, row);
    if (tolerance > 0) ct__judge_pivots(c, before, diagonal, z);
    if (inverse) ct__packed_invert(c, C);
}
