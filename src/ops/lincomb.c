/* lincomb:  y = Σ_i a_i x_i        the x_i broadcast; the a_i are numbers
 * adjoint:  x̄_i = a_i ȳ            summed where x_i was broadcast; ȳ itself for a_i = 1 */
#include "support.h"

static ct_shape shape(ct_call *c)
{
    ct__need_attr(c);
    if (!ct_require(c, ct_args(c) > 0, CT_EINVAL, "nothing to combine")) return ct_shape0();
    return ct__need_broadcast(c);
}

static void forward(ct_call *c)
{
    const double *a = ct_attr(c);
    ct_view y = ct_result(c);
    if (ct_args(c) == 1)
        ct_prim_map1(c, CT_MAP_scale, (double[]){ a[0], 0 }, ct_arg(c, 0), y);
    else
        ct_prim_axpby(c, a[0], ct_arg(c, 0), a[1], ct_arg(c, 1), y);
    for (int i = 2; i < ct_args(c); i++) ct_prim_axpby(c, a[i], ct_arg(c, i), 1, y, y);
}

static void vjp(ct_rule *g)
{
    const double *a = ct_rule_attr(g);
    for (int i = 0; i < ct_rule_args(g) && !ct_recording(g); i++) ct__give_scaled(g, i, a[i]);
    if (!ct_recording(g)) return;
    ct_var y_bar = ct_out_bar(g);
    for (int i = 0; i < ct_rule_args(g); i++) ct_in_bar(g, i, a[i] == 1 ? y_bar : ct_scale(y_bar, a[i]));
}

static void sample(ct_sample *s)
{
    static const double a[] = { 1, -0.5, 2 };
    const int64_t n = ct_sample_size(s);
    const int v = ct_sample_variant(s, 4), inputs = v < 3 ? v + 1 : 3;
    ct_sample_attr(s, a, (size_t)inputs * sizeof *a);
    for (int i = 0; i < inputs; i++)
        ct_sample_normal(s, i,
                         v < 3 || i == 0 ? ct_shape2(n, 3)
                         : i == 1        ? ct_shape2(n, 1)
                                         : ct_shape2(1, 3));
}

const ct_op ct_op_lincomb = { .name = "lincomb",
                              .n_in = -1,
                              .shape = shape,
                              .forward = forward,
                              .vjp = vjp,
                              .jvp = ct_jvp_linear,
                              .jvp_stacked = true,
                              .sample = sample };

ct_var ct_lincomb(const double *a, const ct_var *x, int n)
{
    return ct_apply(&ct_op_lincomb, x, n, a, n > 0 && a ? (size_t)n * sizeof *a : 0);
}
