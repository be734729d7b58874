/* squeeze:  removes a dimension of extent 1: a view
 * adjoint:  x̄ = unsqueeze(ȳ)                                        [a permutation's transpose] */
#include "support.h"

static ct_shape shape(ct_call *c)
{
    const int *asked = ct__need_attr(c);
    ct_shape y = ct_arg_shape(c, 0);
    int dim = asked ? ct__need_dim(c, *asked, y.ndim) : -1;
    if (dim < 0) return y;
    ct_set_dtype(c, ct_arg(c, 0).dtype);
    ct_require(c, y.dim[dim] == 1, CT_ESHAPE,
               "dimension %d has extent %lld: only an extent of 1 can be removed", dim,
               (long long)y.dim[dim]);
    y.ndim--;
    for (int i = dim; i < y.ndim; i++) y.dim[i] = y.dim[i + 1];
    return y;
}

static void forward(ct_call *c)
{
    const int *asked = ct_attr(c);
    ct_set_result(c, 0, ct_view_squeeze(ct_arg(c, 0), *asked));
}

static void vjp(ct_vjp *g)
{
    const int *asked = ct_vjp_attr(g);
    ct_in_bar(g, 0, ct_unsqueeze(ct_out_bar(g), *asked));
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
                              .shape = shape,
                              .forward = forward,
                              .vjp = vjp,
                              .sample = sample,
                              .half = true };

ct_var ct_squeeze(ct_var x, int dim) { return ct_apply(&ct_op_squeeze, &x, 1, &dim, sizeof dim); }
