/* cholesky_logdet:  y = log det A = 2 Σ_i log L_ii for A = L Lᵀ, given L: (..., n, n) -> (...)
 * adjoint:          L̄_ii = 2 ȳ / L_ii, zero elsewhere                         [det L = Π_i L_ii]
 * tangent:          ẏ = 2 Σ_i L̇_ii / L_ii */
#include "support.h"

static void forward(ct_call *c)
{
    ct_view d = ct_view_unsqueeze(ct_view_diagonal(ct_arg(c, 0)), -1), y = ct__with_ones(ct_result(c), 2);
    ct_view logs = ct_scratch(c, d.dtype, ct_view_shape(d));
    ct_prim_map1(c, CT_MAP_log, NULL, d, logs);
    ct_prim_reduce(c, CT_REDUCE_SUM, logs, y);
    ct_prim_map1(c, CT_MAP_scale, (double[]){ 2, 0 }, y, y);
    ct_prim_flag(c, CT_POSITIVE, d, CT__NO_FACTOR, y);
}

/* x / L_ii, NaN where y is */
static ct_var over_diagonal(const ct_rule *g, ct_var x)
{
    ct_var number = ct_equal(ct_out(g), ct_out(g)); /* 1 or NaN */
    return ct_div(ct_mul(x, ct_scale(ct_unsqueeze(number, -1), 2)), ct_diag(ct_in(g, 0)));
}

static void vjp(ct_rule *g)
{
    const int64_t n = ct_tensor_dim(ct_value(ct_in(g, 0)), -1);
    ct_in_bar(g, 0, ct__diag_embed(over_diagonal(g, ct_unsqueeze(ct_out_bar(g), -1)), n, n));
}

static void jvp(ct_rule *g)
{
    ct_give_out_dot(g, 0, ct_sum(over_diagonal(g, ct_diag(ct_in_dot(g, 0))), -1, false));
}

static void sample(ct_sample *s) { ct_sample_lower(s, 0, ct_sample_size(s)); }

const ct_op ct_op_cholesky_logdet = { .name = "cholesky_logdet",
                                      .n_in = 1,
                                      .shape = ct__batch_of_squares,
                                      .forward = forward,
                                      .vjp = vjp,
                                      .jvp = jvp,
                                      .jvp_stacked = true,
                                      .sample = sample,
                                      .finite = true };

ct_var ct_cholesky_logdet(ct_var L) { return ct_apply(&ct_op_cholesky_logdet, &L, 1, NULL, 0); }
