/* concat:   y = x_0, x_1, ... one after the other along a dimension
 * adjoint:  x̄_i = the part of ȳ that came from x_i: a view          [a permutation's transpose] */
#include "support.h"

#include "jvp/jvp.h"

static ct_shape shape(ct_call *c)
{
    const int *dim_asked = ct__need_attr(c);
    if (!dim_asked || !ct_require(c, ct_args(c) > 0, CT_EINVAL, "nothing to concatenate")) return ct_shape0();
    ct_shape y = ct_arg_shape(c, 0);
    const ct_dtype dtype = ct_arg(c, 0).dtype;
    int dim = ct__need_dim(c, *dim_asked, y.ndim);
    for (int i = 1; dim >= 0 && i < ct_args(c); i++) {
        ct_shape x = ct_arg_shape(c, i);
        ct_require(c, ct_arg(c, i).dtype == dtype, CT_EDTYPE, "input %d is %s, input 0 is %s: ct_cast one", i,
                   ct_dtype_name(ct_arg(c, i).dtype), ct_dtype_name(dtype));
        int64_t total = y.dim[dim], extent = x.ndim == y.ndim ? x.dim[dim] : 0;
        x.dim[dim] = total;
        if (!ct_require(c, ct_shape_equal(x, y), CT_ESHAPE,
                        "input %d differs from input 0 in more than dimension %d", i, dim) ||
            !ct_require(c, !__builtin_add_overflow(total, extent, &y.dim[dim]), CT_ESHAPE,
                        "the extents overflow"))
            break;
    }
    return y;
}

static void forward(ct_call *c)
{
    const int *dim = ct_attr(c);
    ct_view y = ct_result(c);
    int64_t at = 0;
    for (int i = 0; i < ct_args(c); i++) {
        int64_t next = at + ct_arg_dim(c, i, *dim);
        ct_prim_copy(c, ct_arg(c, i), ct_view_slice(y, *dim, at, next, 1));
        at = next;
    }
}

static void vjp(ct_rule *g)
{
    const int *asked = ct_rule_attr(g);
    ct_var y_bar = ct_out_bar(g);
    int64_t at = 0;
    for (int i = 0; i < ct_rule_args(g); i++) {
        ct_shape x = ct_var_shape(ct_in(g, i));
        int64_t next = at + x.dim[*asked < 0 ? *asked + x.ndim : *asked];
        ct_in_bar(g, i, ct_slice(y_bar, *asked, at, next, 1));
        at = next;
    }
}

static void jvp(ct_rule *g)
{
    ct_var dot[CT_MAX_INPUTS];
    for (int i = 0; i < ct_rule_args(g); i++) dot[i] = ct_in_dot(g, i);
    ct_give_out_dot(g, 0, ct_concat(dot, ct_rule_args(g), ct__from_end(g, *(const int *)ct_rule_attr(g))));
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    int v = ct_sample_variant(s, 3), dim = v == 1 ? -1 : -2, parts = v == 2 ? 1 : 3;
    ct_sample_attr(s, &dim, sizeof dim);
    for (int i = 0; i < parts; i++)
        ct_sample_normal(s, i, dim == -1 ? ct_shape2(n, i + 1) : ct_shape2(n + i, 3));
}

const ct_op ct_op_concat = { .name = "concat",
                             .n_in = -1,
                             .shape = shape,
                             .forward = forward,
                             .vjp = vjp,
                             .jvp = jvp,
                             .jvp_stacked = true,
                             .sample = sample,
                             .half = true,
                             .integers = UINT64_MAX };

ct_var ct_concat(const ct_var *x, int n, int dim)
{
    if (!x || n <= CT_MAX_INPUTS) return ct_apply(&ct_op_concat, x, n, &dim, sizeof dim);
    ct_var part[CT_MAX_INPUTS];
    int parts = 0, size = (n - 1) / CT_MAX_INPUTS + 1;
    for (int i = 0; i < n; i += size) part[parts++] = ct_concat(x + i, n - i < size ? n - i : size, dim);
    return ct_concat(part, parts, dim);
}

ct_var ct_stack(const ct_var *x, int n, int dim)
{
    ct_var part[CT_MAX_INPUTS];
    int parts = 0, size = x && n > 0 ? (n - 1) / CT_MAX_INPUTS + 1 : 1;
    for (int i = 0; x && i < n; i += size)
        part[parts++] =
            size == 1 ? ct_unsqueeze(x[i], dim) : ct_stack(x + i, n - i < size ? n - i : size, dim);
    return ct_concat(part, parts, dim);
}
