/* tril, triu:  Y = the lower (upper) triangle of X: zero where col - row > k (< k)
 * adjoint:     X̄ = the same triangle of Ȳ                         [a mask is its own transpose] */
#include "support.h"

static ct_shape shape(ct_call *c)
{
    ct__need_attr(c);
    ct__need_matrices(c, 0);
    return ct_arg_shape(c, 0);
}

static void mask(ct_call *c, bool upper)
{
    const int64_t *k = ct_attr(c);
    ct_prim_triangle(c, ct_arg(c, 0), upper, *k, ct_result(c));
}

static void lower(ct_call *c) { mask(c, false); }
static void upper(ct_call *c) { mask(c, true); }

static int64_t diagonal(const ct_rule *g) { return *(const int64_t *)ct_rule_attr(g); }

static void lower_vjp(ct_rule *g) { ct_in_bar(g, 0, ct_tril(ct_out_bar(g), diagonal(g))); }
static void upper_vjp(ct_rule *g) { ct_in_bar(g, 0, ct_triu(ct_out_bar(g), diagonal(g))); }

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s), k = ct_sample_variant(s, 3) - 1;
    ct_sample_attr(s, &k, sizeof k);
    ct_sample_normal(s, 0, k == 0 ? ct_shape2(n, n) : ct_shape2(n, 3));
}

const ct_op ct_op_tril = { .name = "tril",
                           .n_in = 1,
                           .shape = shape,
                           .forward = lower,
                           .vjp = lower_vjp,
                           .jvp = ct_jvp_linear,
                           .jvp_stacked = true,
                           .sample = sample };
const ct_op ct_op_triu = { .name = "triu",
                           .n_in = 1,
                           .shape = shape,
                           .forward = upper,
                           .vjp = upper_vjp,
                           .jvp = ct_jvp_linear,
                           .jvp_stacked = true,
                           .sample = sample };

ct_var ct_tril(ct_var A, int64_t k) { return ct_apply(&ct_op_tril, &A, 1, &k, sizeof k); }
ct_var ct_triu(ct_var A, int64_t k) { return ct_apply(&ct_op_triu, &A, 1, &k, sizeof k); }
