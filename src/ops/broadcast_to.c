/* broadcast_to:  y = B x, NumPy's broadcasting to `shape`: a view, repeated dimensions have stride 0
 * adjoint:       x̄ = Bᵀ ȳ = sum_to(ȳ): the cotangents of all copies of an element are summed
 *                                                                             [y is linear in x] */
#include "support.h"

#include "jvp/jvp.h"

static void forward(ct_call *c)
{
    const ct_shape *target = ct__need_attr(c);
    if (target) ct_set_result(c, 0, ct_view_broadcast(ct_arg(c, 0), *target));
}

static void vjp(ct_rule *g) { ct_in_bar(g, 0, ct_sum_to(ct_out_bar(g), ct_var_shape(ct_in(g, 0)))); }

static void jvp(ct_rule *g) { ct_give_out_dot(g, 0, ct_in_dot(g, 0)); } /* which broadcasts it */

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    ct_shape target = ct_shape3(2, n, 3),
             shapes[] = { ct_shape2(n, 1), ct_shape2(1, 3), ct_shape1(3), ct_shape0(), target };
    ct_sample_attr(s, &target, sizeof target);
    ct_sample_unbatched(s);
    ct_sample_normal(s, 0, shapes[ct_sample_variant(s, 5)]);
}

const ct_op ct_op_broadcast_to = { .name = "broadcast_to",
                                   .n_in = 1,
                                   .shape = ct__shape_of_view,
                                   .forward = forward,
                                   .vjp = vjp,
                                   .jvp = jvp,
                                   .jvp_stacked = true,
                                   .sample = sample,
                                   .half = true,
                                   .integers = 1 };

ct_var ct_broadcast_to(ct_var x, ct_shape shape)
{
    return ct_apply(&ct_op_broadcast_to, &x, 1, &shape, sizeof shape);
}
