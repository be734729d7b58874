#include "gaps.h"

#include <float.h>

ct_view ct__signs(ct_call *c, ct_view rows)
{
    const ct_shape one = ct__matrix_shape(ct_view_shape(rows), ct_view_dim(rows, -2), 1);
    ct_view most = ct_scratch(c, rows.dtype, one), least = ct_scratch(c, rows.dtype, one);
    ct_prim_reduce(c, CT_REDUCE_MAX, rows, most);
    ct_prim_reduce(c, CT_REDUCE_MIN, rows, least);
    ct_prim_map1(c, CT_MAP_neg, NULL, least, least);
    ct_prim_map2(c, CT_MAP_less, most, least, most); /* 1 where the sign changes */
    ct_prim_map1(c, CT_MAP_scale, (double[]){ -2, 0 }, most, most);
    ct_prim_map1(c, CT_MAP_shift, (double[]){ 1, 0 }, most, most);
    return most;
}

/* No less than what has a finite inverse. */
ct_var ct__gap_rounding(ct_var w)
{
    const ct_dtype t = ct_var_dtype(w);
    ct_var most = ct_unsqueeze(ct_max(ct_abs(w), -1, true), -1);
    return ct_shift(ct_scale(most, ct__rounding(t)), t == CT_F32 ? 4 * FLT_MIN : 4 * DBL_MIN);
}

ct_var ct__inverse_beyond(ct_var D, ct_var limit, ct_var *small)
{
    ct_var beyond = ct_less(limit, ct_abs(D));
    *small = ct_shift(ct_neg(beyond), 1);
    return ct_div(beyond, ct_add(ct_mul(beyond, D), *small));
}

ct_var ct__not_rounding(ct_var X, ct_var T)
{
    const double n = (double)ct_tensor_dim(ct_value(T), -1);
    ct_var most = ct_max(ct_max(ct_abs(T), -1, true), -2, true);
    return ct_less(ct_scale(most, n * ct__rounding(ct_var_dtype(T))), ct_abs(X));
}

ct_var ct__is_read(ct_var w_bar, ct_var vectors)
{
    ct_var of_vectors = ct_sum(ct_abs(ct_sign(vectors)), -2, false);
    return ct_unsqueeze(ct_add(ct_abs(ct_sign(w_bar)), of_vectors), -1);
}

ct_var ct__unless(ct_var bad, ct_var X, const char *value)
{
    return ct__where_positive(
        X, ct_shift(ct_neg(bad), 1), value,
        "is repeated or 0 to working precision: the derivative by its vectors does not exist or is not "
        "known; "
        "let the loss depend on their span alone, or take values and vectors from a call each");
}
