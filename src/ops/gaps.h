/* What eigenvectors and singular vectors share: signs, and differences of values that may be rounding. */
#ifndef CT_OPS_GAPS_H
#define CT_OPS_GAPS_H

#include "support.h"

/* ±1 for each row of the matrices, (..., n, 1): times it, the element of largest magnitude is positive. */
ct_view ct__signs(ct_call *c, ct_view rows);

/* The largest difference of values w (..., n) that counts as rounding, (..., 1, 1). */
ct_var ct__gap_rounding(ct_var w);
/* 1 / D, and in *small 1, where |D| is beyond the limit; elsewhere 0 and, in *small, 1. */
ct_var ct__inverse_beyond(ct_var D, ct_var limit, ct_var *small);
/* 1 where |X| is beyond the rounding of a product with elements like those of T, else 0. */
ct_var ct__not_rounding(ct_var X, ct_var T);
/* Not 0, (..., n, 1), where the cotangent of a value (..., n), or of its column of `vectors` (..., m, n), is
 * not. */
ct_var ct__is_read(ct_var w_bar, ct_var vectors);
/* X, but NaN and flagged in members where `bad` (..., n, 1) is not 0. `value` is "eigenvalue %lld" or the
 * like. */
ct_var ct__unless(ct_var bad, ct_var X, const char *value);

#endif
