/* The scale of a ridge solve. Squares of B and D may leave the dtype's range although P does not. With
 * μ = max(|B|, √λ |D|) of each member, and δ the least μ/√λ among the members that share a D,
 *     P(B, D, λ) = P(B/μ, D/δ, λ')/μ,   λ' = (√λ δ/μ)²,
 * where B/μ, D/δ and λ' are at most 1. δ and μ count as constants: the cotangents are those of B/μ, D/δ and
 * λ'. */
#include "ridge.h"

#include <float.h>

static ct_view norm_of(ct_call *c, ct_view A)
{
    ct_view norm = ct_scratch(c, A.dtype, ct__matrix_shape(ct_view_shape(A), 1, 1));
    ct_prim_reduce(c, CT_REDUCE_NORM, A, norm);
    return norm;
}

/* Whether fourth powers of all elements of x >= 0 are well inside the range. Waits for the device. */
static bool in_range(ct_call *c, ct_view x)
{
    const double limit = x.dtype == CT_F32 ? 0x1p30 : 0x1p240;
    ct_view most = ct_scratch(c, x.dtype, ct_shape0()), least = ct_scratch(c, x.dtype, ct_shape0());
    if (ct_view_count(x) == 0) return true;
    ct_prim_reduce(c, CT_REDUCE_MAX, x, most);
    ct_prim_reduce(c, CT_REDUCE_MIN, x, least);
    return ct_call_item(c, most) <= limit && ct_call_item(c, least) >= 1 / limit;
}

/* x, but y where cond is 0 */
static ct_view or_else(ct_call *c, ct_view cond, ct_view x, double y)
{
    ct_view out = ct_scratch(c, x.dtype, ct_view_shape(x)), other = ct_scratch(c, x.dtype, ct_shape0());
    ct_prim_fill(c, other, y);
    ct_prim_where(c, cond, x, other, out);
    return out;
}

void ct__ridge_measure(ct_call *c, const ct__ridge *s)
{
    const double most = s->dtype == CT_F32 ? FLT_MAX : DBL_MAX;
    ct_view b = norm_of(c, s->B), d = norm_of(c, s->D);
    if (ct_device_is_asynchronous(ct_call_device(c)) || !in_range(c, b) || !in_range(c, d) ||
        !in_range(c, s->lambda)) {
        const ct_shape ones = ct__ridge_shape(s, 1, 1);
        ct_view root = ct_scratch(c, s->dtype, ones), mu = ct_scratch(c, s->dtype, ones),
                ratio = ct_scratch(c, s->dtype, ones), finite = ct_scratch(c, s->dtype, ones),
                delta = ct_scratch(c, s->dtype, ct_view_shape(d));
        ct_prim_map1(c, CT_MAP_sqrt, NULL, ct__with_ones(s->lambda, 2), root);
        ct_prim_map2(c, CT_MAP_mul, root, d, mu);
        ct_prim_map2(c, CT_MAP_maximum, mu, b, mu);
        mu = or_else(c, mu, mu, 1);
        ct_prim_map2(c, CT_MAP_div, mu, root, ratio);
        ct_prim_tri_rcond(c, ratio, finite); /* 0 where it is not, so that NaN stays with its member */
        ct_prim_reduce(c, CT_REDUCE_MIN, or_else(c, finite, ratio, most), delta);
        ct_set_result(c, CT__RIDGE_MU, mu);
        ct_set_result(c, CT__RIDGE_DELTA, delta);
    }
    ct__release_scratch(c);
}

void ct__ridge_scale(ct_call *c, ct__ridge *s)
{
    if (ct_view_count(s->mu) == 0) return;
    ct_view B = ct_scratch(c, s->dtype, ct__ridge_shape(s, s->r, s->n)),
            D = ct_scratch(c, s->dtype, ct_view_shape(s->D)),
            lambda = ct_scratch(c, s->dtype, ct__ridge_shape(s, 1, 1));
    ct_prim_map1(c, CT_MAP_sqrt, NULL, ct__with_ones(s->lambda, 2), lambda);
    ct_prim_map2(c, CT_MAP_mul, lambda, s->delta, lambda);
    ct_prim_map2(c, CT_MAP_div, lambda, s->mu, lambda);
    ct_prim_map1(c, CT_MAP_square, NULL, lambda, lambda);
    ct_prim_map2(c, CT_MAP_div, s->B, s->mu, B);
    ct_prim_map2(c, CT_MAP_div, s->D, s->delta, D);
    s->B = B;
    s->D = D;
    s->lambda = ct_view_squeeze(ct_view_squeeze(lambda, -1), -1);
}

ct_view ct__ridge_over_mu(ct_call *c, const ct__ridge *s, bool times, ct_view X)
{
    if (ct_view_count(s->mu) == 0) return X;
    ct_view scaled = ct_scratch(c, s->dtype, ct_view_shape(X));
    ct_prim_map2(c, times ? CT_MAP_mul : CT_MAP_div, X, s->mu, scaled);
    return scaled;
}

void ct__ridge_scale_bars(ct_call *c, const ct__ridge *s, ct_view B_bar, ct_view D_bar, ct_view lambda_bar)
{
    if (ct_view_count(s->mu) == 0) return;
    if (ct_is_view(B_bar)) ct_prim_map2(c, CT_MAP_div, B_bar, s->mu, B_bar);
    if (ct_is_view(D_bar)) ct_prim_map2(c, CT_MAP_div, D_bar, s->delta, D_bar);
    if (!ct_is_view(lambda_bar)) return;
    ct_view ratio = ct_scratch(c, s->dtype, ct_view_shape(s->mu)), bar = ct__with_ones(lambda_bar, 2);
    ct_prim_map2(c, CT_MAP_div, s->delta, s->mu, ratio);
    for (int i = 0; i < 2; i++) ct_prim_map2(c, CT_MAP_mul, bar, ratio, bar); /* ∂λ'/∂λ = (δ/μ)² */
}
