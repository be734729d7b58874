/* slice:    y = elements start, start + step, ... < stop of x along a dimension: a view
 * adjoint:  x̄ = unslice(ȳ): zeros elsewhere                            [a selection's transpose] */
#include "support.h"

typedef struct attr {
    int64_t dim, start, stop, step;
} attr;

static void forward(ct_call *c)
{
    const attr *a = ct__need_attr(c);
    if (a) ct_set_result(c, 0, ct_view_slice(ct_arg(c, 0), (int)a->dim, a->start, a->stop, a->step));
}

static void vjp(ct_vjp *g)
{
    const attr *a = ct_vjp_attr(g);
    ct_shape x = ct_var_shape(ct_in(g, 0));
    int64_t extent = x.dim[a->dim < 0 ? a->dim + x.ndim : a->dim];
    ct_in_bar(g, 0, ct_unslice(ct_out_bar(g), (int)a->dim, extent, a->start, a->step));
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    attr variants[] = { { -2, n / 3, n, 1 }, { -2, 0, n, 2 }, { -1, 1, 3, 1 }, { -2, n, n, 1 } };
    ct_sample_attr(s, &variants[ct_sample_variant(s, 4)], sizeof(attr));
    ct_sample_normal(s, 0, ct_shape2(n, 3));
}

const ct_op ct_op_slice = { .name = "slice",
                            .n_in = 1,
                            .shape = ct__shape_of_view,
                            .forward = forward,
                            .vjp = vjp,
                            .sample = sample,
                            .half = true,
                            .integers = 1 };

ct_var ct_slice(ct_var x, int dim, int64_t start, int64_t stop, int64_t step)
{
    attr a = { dim, start, stop, step };
    return ct_apply(&ct_op_slice, &x, 1, &a, sizeof a);
}
