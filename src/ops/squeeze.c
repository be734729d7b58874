/* squeeze:  removes a dimension of extent 1: a view
 * adjoint:  x̄ = unsqueeze(ȳ)                                        [a permutation's transpose] */
#include "support.h"

#include "jvp/jvp.h"

static void forward(ct_call *c)
{
    const int *dim = ct__need_attr(c);
    if (dim) ct_set_result(c, 0, ct_view_squeeze(ct_arg(c, 0), *dim));
}

static void vjp(ct_rule *g) { ct_in_bar(g, 0, ct_unsqueeze(ct_out_bar(g), *(const int *)ct_rule_attr(g))); }

static void jvp(ct_rule *g)
{
    ct_give_out_dot(g, 0, ct_squeeze(ct_in_dot(g, 0), ct__from_end(g, *(const int *)ct_rule_attr(g))));
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    int v = ct_sample_variant(s, 3), dim = v - 3;
    ct_sample_attr(s, &dim, sizeof dim);
    ct_sample_normal(s, 0, ct_shape3(v == 0 ? 1 : 2, v == 1 ? 1 : n, v == 2 ? 1 : 3));
}

const ct_op ct_op_squeeze = { .name = "squeeze",
                              .n_in = 1,
                              .shape = ct__shape_of_view,
                              .forward = forward,
                              .vjp = vjp,
                              .jvp = jvp,
                              .jvp_stacked = true,
                              .sample = sample,
                              .half = true,
                              .integers = 1 };

ct_var ct_squeeze(ct_var x, int dim) { return ct_apply(&ct_op_squeeze, &x, 1, &dim, sizeof dim); }
