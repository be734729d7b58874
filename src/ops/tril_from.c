/* tril_from:  L_ij = v_{i (i + 1) / 2 + j} for j <= i, zero above    v (..., n (n + 1) / 2) -> L (..., n, n)
 * adjoint:    v̄ = tril_pack(L̄)                                                 [a placement's transpose]
 *             With an exponential diagonal L_ii = e^{v_ii}, and v̄_ii = L̄_ii L_ii.
 * tril_pack:  v_{i (i + 1) / 2 + j} = A_ij for j <= i                A (..., n, n) -> v (..., n (n + 1) / 2)
 * adjoint:    Ā = tril_from(v̄)
 *
 * With the exponential every v is the Cholesky factor of a positive definite L Lᵀ, and each such factor has
 * one v. */
#include "support.h"

/* -- tril_from ------------------------------------------------------------------------------------------- */

static ct_shape from_shape(ct_call *c)
{
    ct_shape v = ct_arg_shape(c, 0);
    ct__need_attr(c);
    if (!ct_require(c, v.ndim >= 1 && v.ndim < CT_MAX_DIMS, CT_ESHAPE, "wanted 1 to %d dimensions",
                    CT_MAX_DIMS - 1))
        return v;
    const int64_t m = v.dim[v.ndim - 1];
    int64_t n = 0;
    while (n * (n + 1) / 2 < m) n++;
    ct_require(c, n * (n + 1) / 2 == m, CT_ESHAPE,
               "%lld numbers fill no triangle: n rows have n (n + 1) / 2, %lld for %lld rows", (long long)m,
               (long long)(n * (n + 1) / 2), (long long)n);
    v.ndim++;
    return ct__matrix_shape(v, n, n);
}

static void from(ct_call *c)
{
    ct_view L = ct_result(c), diagonal = ct_view_diagonal(L);
    ct_prim_unpack_lower(c, ct_view_unsqueeze(ct_arg(c, 0), -1), L);
    if (*(const bool *)ct_attr(c)) ct_prim_map1(c, CT_MAP_exp, NULL, diagonal, diagonal);
}

/* The lower triangle of M times the slopes: L_ii on an exponential diagonal, else 1. */
static ct_var sloped(const ct_rule *g, ct_var M)
{
    if (!*(const bool *)ct_rule_attr(g)) return M;
    return ct_add_diag(ct_tril(M, -1), ct_mul(ct_diag(M), ct_diag(ct_out(g))));
}

static void from_vjp(ct_rule *g) { ct_in_bar(g, 0, ct_tril_pack(sloped(g, ct_out_bar(g)))); }

static void from_jvp(ct_rule *g) { ct_give_out_dot(g, 0, sloped(g, ct_tril_from(ct_in_dot(g, 0), false))); }

static void from_sample(ct_sample *s)
{
    const int64_t n = ct_sample_size(s);
    const bool exp_diagonal = ct_sample_variant(s, 2);
    ct_sample_attr(s, &exp_diagonal, sizeof exp_diagonal);
    ct_sample_normal(s, 0, ct_shape1(n * (n + 1) / 2));
}

const ct_op ct_op_tril_from = { .name = "tril_from",
                                .n_in = 1,
                                .shape = from_shape,
                                .forward = from,
                                .vjp = from_vjp,
                                .jvp = from_jvp,
                                .jvp_stacked = true,
                                .sample = from_sample };

ct_var ct_tril_from(ct_var v, bool exp_diagonal)
{
    return ct_apply(&ct_op_tril_from, &v, 1, &exp_diagonal, sizeof exp_diagonal);
}

/* -- tril_pack ------------------------------------------------------------------------------------------- */

static ct_shape pack_shape(ct_call *c)
{
    ct_shape A = ct_arg_shape(c, 0);
    if (!ct__need_square(c, 0)) return A;
    const int64_t n = A.dim[--A.ndim];
    A.dim[A.ndim - 1] = n * (n + 1) / 2;
    return A;
}

static void pack(ct_call *c) { ct_prim_pack_lower(c, ct_arg(c, 0), ct_view_unsqueeze(ct_result(c), -1)); }
static void pack_vjp(ct_rule *g) { ct_in_bar(g, 0, ct_tril_from(ct_out_bar(g), false)); }

static void pack_sample(ct_sample *s)
{
    ct_sample_normal(s, 0, ct_shape2(ct_sample_size(s), ct_sample_size(s)));
}

const ct_op ct_op_tril_pack = { .name = "tril_pack",
                                .n_in = 1,
                                .shape = pack_shape,
                                .forward = pack,
                                .vjp = pack_vjp,
                                .jvp = ct_jvp_linear,
                                .jvp_stacked = true,
                                .sample = pack_sample };

ct_var ct_tril_pack(ct_var A) { return ct_apply(&ct_op_tril_pack, &A, 1, NULL, 0); }
