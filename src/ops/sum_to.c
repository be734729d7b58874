/* sum_to:   y = Bᵀ x, where B broadcasts `shape` to x's shape: sums what broadcasting would repeat
 * adjoint:  x̄ = B ȳ = broadcast_to(ȳ)                                         [y is linear in x] */
#include "support.h"

#include "jvp/jvp.h"

static ct_shape shape(ct_call *c)
{
    const ct_shape *target = ct__need_attr(c);
    ct_shape x = ct_arg_shape(c, 0);
    if (!target || ct_shape_equal(ct_shape_broadcast(*target, x), x)) return target ? *target : x;
    char text[96];
    ct_require(c, false, CT_ESHAPE,
               "%s does not broadcast to the input's shape, so the input cannot be summed to it",
               ct__shape_text(*target, text, sizeof text));
    return x;
}

static void forward(ct_call *c)
{
    ct_view x = ct_arg(c, 0);
    if (ct_shape_equal(ct_view_shape(x), *(const ct_shape *)ct_attr(c)))
        ct_set_result(c, 0, x);
    else
        ct_prim_reduce(c, CT_REDUCE_SUM, x, ct_result(c));
}

static void vjp(ct_rule *g) { ct_in_bar(g, 0, ct_broadcast_to(ct_out_bar(g), ct_var_shape(ct_in(g, 0)))); }

static void jvp(ct_rule *g)
{
    const ct_var dot = ct_in_dot(g, 0), y = ct_out(g);
    const ct_shape target = ct_var_shape(y);
    ct_shape shape = ct_var_shape(dot);
    for (int i = shape.ndim, k = target.ndim; i-- > (ct__tangents(g) > 0);)
        shape.dim[i] = k > 0 ? target.dim[--k] : 1;
    ct_give_out_dot(g, 0, ct_reshape(ct_sum_to(dot, shape), ct__dot_shape(g, y)));
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    ct_shape shapes[] = { ct_shape1(3), ct_shape2(1, 3), ct_shape2(n, 1), ct_shape0(), ct_shape2(n, 3) };
    ct_shape target = shapes[ct_sample_variant(s, 5)];
    ct_sample_attr(s, &target, sizeof target);
    if (target.ndim == 2) ct_sample_unbatched(s);
    ct_sample_normal(s, 0, ct_shape2(n, 3));
}

const ct_op ct_op_sum_to = { .name = "sum_to",
                             .n_in = 1,
                             .shape = shape,
                             .forward = forward,
                             .vjp = vjp,
                             .jvp = jvp,
                             .jvp_stacked = true,
                             .sample = sample,
                             .half = true };

ct_var ct_sum_to(ct_var x, ct_shape shape) { return ct_apply(&ct_op_sum_to, &x, 1, &shape, sizeof shape); }
