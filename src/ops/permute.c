/* permute:  dimension i of y is dimension order[i] of x: a view
 * adjoint:  dimension order[i] of x̄ is dimension i of ȳ                [the inverse permutation] */
#include "support.h"

#include "jvp/jvp.h"

typedef struct attr {
    int order[CT_MAX_DIMS];
} attr;

static void forward(ct_call *c)
{
    const attr *a = ct__need_attr(c);
    if (a) ct_set_result(c, 0, ct_view_permute(ct_arg(c, 0), a->order));
}

static void vjp(ct_rule *g)
{
    const attr *a = ct_rule_attr(g);
    int inverse[CT_MAX_DIMS] = { 0 };
    for (int i = 0, n = ct_var_shape(ct_in(g, 0)).ndim; i < n; i++) inverse[a->order[i]] = i;
    ct_in_bar(g, 0, ct_permute(ct_out_bar(g), inverse));
}

static void jvp(ct_rule *g)
{
    const attr *a = ct_rule_attr(g);
    const int first = ct__tangents(g) > 0;
    int order[CT_MAX_DIMS] = { 0 };
    for (int i = 0, n = ct_var_shape(ct_in(g, 0)).ndim; i < n; i++) order[first + i] = first + a->order[i];
    ct_give_out_dot(g, 0, ct_permute(ct_in_dot(g, 0), order));
}

static void sample(ct_sample *s)
{
    static const attr orders[] = { { { 2, 0, 1 } }, { { 0, 2, 1 } }, { { 2, 1, 0 } } };
    ct_sample_attr(s, &orders[ct_sample_variant(s, 3)], sizeof(attr));
    ct_sample_unbatched(s);
    ct_sample_normal(s, 0, ct_shape3(ct_sample_size(s), 3, 2));
}

const ct_op ct_op_permute = { .name = "permute",
                              .n_in = 1,
                              .shape = ct__shape_of_view,
                              .forward = forward,
                              .vjp = vjp,
                              .jvp = jvp,
                              .jvp_stacked = true,
                              .sample = sample,
                              .half = true,
                              .integers = 1 };

ct_var ct_permute(ct_var x, const int *order)
{
    attr a = { { 0 } };
    if (!order) ct_tape_fail(x.tape, CT_EINVAL, "ct_permute: order is NULL, it names each dimension once");
    for (int i = 0, n = ct_var_shape(x).ndim; order && i < n; i++) a.order[i] = order[i];
    return ct_apply(&ct_op_permute, &x, 1, &a, sizeof a);
}
