/* where:    y_i = a_i where c_i ≠ 0, else b_i        all three broadcast; c i64 or as a; no gradient
 * adjoint:  ā_i = ȳ_i where c_i ≠ 0, else 0;  b̄_i = 0 where c_i ≠ 0, else ȳ_i
 *
 * The branch that is not taken gets an exact zero, even if its value is infinite or NaN. */
#include "support.h"

static void forward(ct_call *c) { ct_prim_where(c, ct_arg(c, 0), ct_arg(c, 1), ct_arg(c, 2), ct_result(c)); }

static void vjp(ct_rule *g)
{
    ct_var cond = ct_in(g, 0), y_bar = ct_out_bar(g),
           zero = ct_scalar(ct_rule_tape(g), ct_var_dtype(y_bar), 0);
    ct_in_bar(g, 1, ct_where(cond, y_bar, zero));
    ct_in_bar(g, 2, ct_where(cond, zero, y_bar));
}

static void jvp(ct_rule *g)
{
    ct_give_out_dot(g, 0, ct_where(ct_in(g, 0), ct_in_dot(g, 1), ct_in_dot(g, 2)));
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    bool broadcast = ct_sample_variant(s, 2);
    ct_sample_index(s, 0, broadcast ? ct_shape2(n, 1) : ct_shape2(n, 3), 2);
    ct_sample_normal(s, 1, ct_shape2(n, 3));
    ct_sample_normal(s, 2, broadcast ? ct_shape2(1, 3) : ct_shape2(n, 3));
}

const ct_op ct_op_where = { .name = "where",
                            .n_in = 3,
                            .shape = ct__need_broadcast,
                            .forward = forward,
                            .vjp = vjp,
                            .jvp = jvp,
                            .jvp_stacked = true,
                            .sample = sample,
                            .integers = 1 };

ct_var ct_where(ct_var cond, ct_var a, ct_var b)
{
    return ct_apply(&ct_op_where, (ct_var[]){ cond, a, b }, 3, NULL, 0);
}
