/* unslice:  y = zeros of `extent` along a dimension, with x at start, start + step, ...
 * adjoint:  x̄ = slice(ȳ)                                                [the transpose of slice] */
#include "support.h"

typedef struct attr {
    int64_t dim, extent, start, step;
} attr;

static ct_shape shape(ct_call *c)
{
    const attr *a = ct__need_attr(c);
    ct_shape x = ct_arg_shape(c, 0);
    int dim = a ? ct__need_dim(c, (int)a->dim, x.ndim) : -1;
    if (dim < 0) return x;
    bool fits =
        a->start >= 0 && a->step >= 1 && a->start <= a->extent &&
        (x.dim[dim] == 0 || (a->start < a->extent && x.dim[dim] - 1 <= (a->extent - 1 - a->start) / a->step));
    ct_require(c, fits, CT_EINDEX,
               "%lld elements from %lld in steps of %lld do not fit extent %lld: start >= 0, step >= 1, the "
               "last inside",
               (long long)x.dim[dim], (long long)a->start, (long long)a->step, (long long)a->extent);
    x.dim[dim] = a->extent;
    return x;
}

static void forward(ct_call *c)
{
    const attr *a = ct_attr(c);
    ct_view y = ct_result(c);
    int64_t n = ct_arg_dim(c, 0, (int)a->dim), stop = n ? a->start + (n - 1) * a->step + 1 : a->start;
    ct_prim_fill(c, y, 0);
    ct_prim_copy(c, ct_arg(c, 0), ct_view_slice(y, (int)a->dim, a->start, stop, a->step));
}

static void vjp(ct_vjp *g)
{
    const attr *a = ct_vjp_attr(g);
    ct_shape x = ct_var_shape(ct_in(g, 0));
    int64_t n = x.dim[a->dim < 0 ? a->dim + x.ndim : a->dim];
    int64_t stop = n > 0 ? a->start + (n - 1) * a->step + 1 : a->start;
    ct_in_bar(g, 0, ct_slice(ct_out_bar(g), (int)a->dim, a->start, stop, a->step));
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    attr variants[] = { { -2, n + 2, 1, 1 }, { -2, 2 * n + 1, 0, 2 }, { -1, 3, 0, 1 } };
    ct_sample_attr(s, &variants[ct_sample_variant(s, 3)], sizeof(attr));
    ct_sample_normal(s, 0, ct_shape2(n, 3));
}

const ct_op ct_op_unslice = { .name = "unslice",
                              .n_in = 1,
                              .shape = shape,
                              .forward = forward,
                              .vjp = vjp,
                              .sample = sample,
                              .half = true };

ct_var ct_unslice(ct_var x, int dim, int64_t extent, int64_t start, int64_t step)
{
    attr a = { dim, extent, start, step };
    return ct_apply(&ct_op_unslice, &x, 1, &a, sizeof a);
}
