/* The ridge solve's estimates of conditions, and the factor of a G that may be singular. */
#include "ridge.h"

#include <math.h>

double ct__ridge_rcond(ct_call *c, ct_view T)
{
    if (!ct_is_view(T)) return 0;
    ct_view rcond = ct_scratch(c, T.dtype, ct__matrix_shape(ct_view_shape(T), 1, 1));
    ct_view worst = ct_scratch(c, T.dtype, ct_shape0());
    if (ct_view_count(rcond) == 0) return 0;
    ct_prim_tri_rcond(c, T, rcond);
    ct_prim_map1(c, CT_MAP_neg, NULL, rcond, rcond);
    ct_prim_reduce(c, CT_REDUCE_MAX, rcond, worst);
    return -ct_call_item(c, worst);
}

void ct__ridge_flag(ct_call *c, ct_view L, double least)
{
    if (ct_view_count(L) == 0) return;
    ct_view rcond = ct_scratch(c, L.dtype, ct__matrix_shape(ct_view_shape(L), 1, 1));
    ct_prim_tri_rcond(c, ct_view_transpose(L), rcond);
    ct_prim_map1(c, CT_MAP_shift, (double[2]){ -least }, rcond, rcond);
    ct__flag_minor(c, ct_view_squeeze(rcond, -1), ct_view_dim(L, -1), L);
}

void ct__ridge_potrf(ct_call *c, ct_view G)
{
    const int64_t n = ct_view_dim(G, -1);
    ct_view diagonal = ct_view_diagonal(G), root = ct_scratch(c, G.dtype, ct_view_shape(diagonal)),
            rows = ct_view_unsqueeze(root, -1);
    ct_prim_map1(c, CT_MAP_sqrt, NULL, diagonal, root);
    ct_prim_map2(c, CT_MAP_div, G, rows, G);
    ct_prim_map2(c, CT_MAP_div, G, ct_view_unsqueeze(root, -2), G);
    ct_prim_potrf(c, G);
    ct__ridge_flag(c, G, sqrt(ct__rounding(G.dtype) / (double)n));
    ct_prim_map2(c, CT_MAP_mul, G, rows, G);
}
