/* unsqueeze:  inserts a dimension of extent 1, which is dimension `dim` of the result: a view
 * adjoint:    x̄ = squeeze(ȳ)                                         [a permutation's transpose] */
#include "support.h"

static ct_shape shape(ct_call *c)
{
    const int *asked = ct__need_attr(c);
    ct_shape y = ct_arg_shape(c, 0);
    if (!asked ||
        !ct_require(c, y.ndim < CT_MAX_DIMS, CT_ESHAPE, "a tensor has at most %d dimensions", CT_MAX_DIMS))
        return y;
    int dim = ct__need_dim(c, *asked, y.ndim + 1);
    if (dim < 0) return y;
    ct_set_dtype(c, ct_arg(c, 0).dtype);
    for (int i = y.ndim++; i > dim; i--) y.dim[i] = y.dim[i - 1];
    y.dim[dim] = 1;
    return y;
}

static void forward(ct_call *c)
{
    const int *asked = ct_attr(c);
    ct_set_result(c, 0, ct_view_unsqueeze(ct_arg(c, 0), *asked));
}

static void vjp(ct_vjp *g)
{
    const int *asked = ct_vjp_attr(g);
    ct_in_bar(g, 0, ct_squeeze(ct_out_bar(g), *asked));
}

static void sample(ct_sample *s)
{
    int dim = ct_sample_variant(s, 3) - 3;
    ct_sample_attr(s, &dim, sizeof dim);
    ct_sample_normal(s, 0, ct_shape2(ct_sample_size(s), 3));
}

const ct_op ct_op_unsqueeze = { .name = "unsqueeze",
                                .n_in = 1,
                                .shape = shape,
                                .forward = forward,
                                .vjp = vjp,
                                .sample = sample,
                                .half = true };

ct_var ct_unsqueeze(ct_var x, int dim) { return ct_apply(&ct_op_unsqueeze, &x, 1, &dim, sizeof dim); }
