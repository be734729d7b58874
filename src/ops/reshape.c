/* reshape:  the same elements, row-major, in another shape; one extent may be -1.
 *           A view where the layout allows it, else a copy.
 * adjoint:  x̄ = reshape(ȳ, shape of x)                               [a permutation's transpose] */
#include "support.h"

#include "jvp/jvp.h"

static ct_shape shape(ct_call *c)
{
    const ct_shape *asked = ct__need_attr(c);
    ct_view x = ct_arg(c, 0);
    if (!asked) return ct_arg_shape(c, 0);
    ct_shape y = *asked;
    if (ct__complete_shape(&y, ct_view_count(x))) return y;
    char text[96];
    ct_require(c, false, CT_ESHAPE,
               "the %lld elements do not fill %s: the product of the extents must be the same, "
               "one may be -1",
               (long long)ct_view_count(x), ct__shape_text(*asked, text, sizeof text));
    return ct_arg_shape(c, 0);
}

static void forward(ct_call *c)
{
    const ct_shape *asked = ct_attr(c);
    ct_view x = ct_arg(c, 0), view = ct_view_reshape(x, *asked);
    if (ct_is_view(view))
        ct_set_result(c, 0, view);
    else
        ct_prim_copy(c, x, ct_view_reshape(ct_result(c), ct_view_shape(x)));
}

static void vjp(ct_rule *g) { ct_in_bar(g, 0, ct_reshape(ct_out_bar(g), ct_var_shape(ct_in(g, 0)))); }

static void jvp(ct_rule *g)
{
    ct_give_out_dot(g, 0, ct_reshape(ct_in_dot(g, 0), ct__dot_shape(g, ct_out(g))));
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    ct_shape targets[] = { ct_shape1(3 * n), ct_shape2(3, n), ct_shape3(n, 1, 3), ct_shape2(-1, 3) };
    ct_shape target = targets[ct_sample_variant(s, 4)];
    ct_sample_attr(s, &target, sizeof target);
    ct_sample_unbatched(s);
    ct_sample_normal(s, 0, ct_shape2(n, 3));
}

const ct_op ct_op_reshape = { .name = "reshape",
                              .n_in = 1,
                              .shape = shape,
                              .forward = forward,
                              .vjp = vjp,
                              .jvp = jvp,
                              .jvp_stacked = true,
                              .sample = sample,
                              .half = true,
                              .integers = 1 };

ct_var ct_reshape(ct_var x, ct_shape shape) { return ct_apply(&ct_op_reshape, &x, 1, &shape, sizeof shape); }
