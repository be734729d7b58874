/* unsqueeze:  inserts a dimension of extent 1, which is dimension `dim` of the result: a view
 * adjoint:    x̄ = squeeze(ȳ)                                         [a permutation's transpose] */
#include "support.h"

#include "jvp/jvp.h"

static void forward(ct_call *c)
{
    const int *dim = ct__need_attr(c);
    if (dim) ct_set_result(c, 0, ct_view_unsqueeze(ct_arg(c, 0), *dim));
}

static void vjp(ct_rule *g) { ct_in_bar(g, 0, ct_squeeze(ct_out_bar(g), *(const int *)ct_rule_attr(g))); }

static void jvp(ct_rule *g)
{
    const int dim = *(const int *)ct_rule_attr(g);
    ct_give_out_dot(g, 0, ct_unsqueeze(ct_in_dot(g, 0), dim < 0 ? dim : ct__from_end(g, dim) - 1));
}

static void sample(ct_sample *s)
{
    int dim = ct_sample_variant(s, 3) - 3;
    ct_sample_attr(s, &dim, sizeof dim);
    ct_sample_normal(s, 0, ct_shape2(ct_sample_size(s), 3));
}

const ct_op ct_op_unsqueeze = { .name = "unsqueeze",
                                .n_in = 1,
                                .shape = ct__shape_of_view,
                                .forward = forward,
                                .vjp = vjp,
                                .jvp = jvp,
                                .jvp_stacked = true,
                                .sample = sample,
                                .half = true,
                                .integers = 1 };

ct_var ct_unsqueeze(ct_var x, int dim) { return ct_apply(&ct_op_unsqueeze, &x, 1, &dim, sizeof dim); }
