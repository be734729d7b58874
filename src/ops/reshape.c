/* reshape:  the same elements, row-major, in another shape; one extent may be -1.
 *           A view where the layout allows it, else a copy.
 * adjoint:  x̄ = reshape(ȳ, shape of x)                               [a permutation's transpose] */
#include "support.h"

/* The asked shape with its -1 filled in; ndim = -1 where the counts do not fit. */
static ct_shape resolved(const ct_tensor *x, ct_shape y)
{
    int64_t count = ct_tensor_count(x), known = 1;
    int unknown = -1;
    if (y.ndim < 0 || y.ndim > CT_MAX_DIMS) return (ct_shape){ .ndim = -1 };
    for (int i = 0; i < y.ndim; i++)
        if (y.dim[i] == -1 && unknown < 0)
            unknown = i;
        else if (y.dim[i] < 0 || __builtin_mul_overflow(known, y.dim[i], &known))
            return (ct_shape){ .ndim = -1 };
    if (unknown >= 0 && known > 0) y.dim[unknown] = count / known;
    bool fits = unknown >= 0 ? known > 0 && count % known == 0 : known == count;
    return fits ? y : (ct_shape){ .ndim = -1 };
}

static ct_shape shape(ct_call *c)
{
    const ct_shape *asked = ct__need_attr(c);
    const ct_tensor *x = ct_arg(c, 0);
    if (!asked) return ct_arg_shape(c, 0);
    ct_shape y = resolved(x, *asked);
    ct_set_dtype(c, ct_tensor_dtype(x));
    if (y.ndim >= 0) return y;
    char text[96];
    ct_require(c, false, CT_ESHAPE,
               "the %lld elements do not fill %s: the product of the extents must be the same, "
               "one may be -1",
               (long long)ct_tensor_count(x), ct__shape_text(*asked, text, sizeof text));
    return ct_arg_shape(c, 0);
}

static void forward(ct_call *c)
{
    const ct_shape *asked = ct_attr(c);
    const ct_tensor *x = ct_arg(c, 0);
    ct_tensor *view = ct_tensor_reshape(x, *asked);
    if (view || ct_last_status(ct_call_device(c)) != CT_ESHAPE) {
        ct_set_result(c, 0, view);
        return;
    }
    ct_tensor *y = ct_result(c);
    if (!y) return;
    ct_tensor y_as_x = ct__reshaped(y, ct_tensor_shape(x));
    ct_prim_copy(c, x, &y_as_x);
}

static void vjp(ct_vjp *g) { ct_in_bar(g, 0, ct_reshape(ct_out_bar(g), ct_var_shape(ct_in(g, 0)))); }

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
                              .sample = sample,
                              .half = true };

ct_var ct_reshape(ct_var x, ct_shape shape) { return ct_apply(&ct_op_reshape, &x, 1, &shape, sizeof shape); }
