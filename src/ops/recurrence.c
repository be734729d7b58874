/* recurrence:  y_0 = b_0,  y_k = a_{k-1} y_{k-1} + b_k along a dimension of n;  a has n - 1 there
 * adjoint:     s_k = ȳ_k + a_k s_{k+1}, which is a recurrence in reverse;  b̄ = s,  ā_k = s_{k+1} y_k
 * in reverse:  y_k = a_k y_{k+1} + b_k,  s_k = ȳ_k + a_{k-1} s_{k-1},      b̄ = s,  ā_k = s_k y_{k+1}
 * forward:     ẏ_k = a_{k-1} ẏ_{k-1} + ḃ_k + ȧ_{k-1} y_{k-1}
 *
 *     cumsum   y_k = Σ_{j <= k} x_j        a = 1,              b = x
 *     cumprod  y_k = Π_{j <= k} x_j        a = x_1, x_2, ...,  b = x_0, 0, 0, ...
 *
 * Nothing is divided, so the gradient of cumprod is right where x has zeros, and so are its derivatives. */
#include "support.h"

typedef struct attr {
    int64_t dim, reverse;
} attr;

/* The shape of a for a b of that shape. */
static ct_shape links_of(ct_shape b, int dim)
{
    b.dim[dim] = ct__max(b.dim[dim] - 1, 0);
    return b;
}

static ct_shape shape(ct_call *c)
{
    const attr *at = ct__need_attr(c);
    const ct_shape b = ct_arg_shape(c, 1);
    const int dim = at ? ct__need_dim(c, (int)at->dim, b.ndim) : -1;
    if (dim < 0) return b;
    const ct_shape links = links_of(b, dim);
    char text[96];
    ct_require(c, ct_shape_equal(ct_shape_broadcast(ct_arg_shape(c, 0), links), links), CT_ESHAPE,
               "a must broadcast to %s: one less than b along dimension %d",
               ct__shape_text(links, text, sizeof text), dim);
    return b;
}

/* v with dimension `dim` as the rows of a matrix. */
static ct_view as_rows(ct_view v, int dim)
{
    int order[CT_MAX_DIMS], n = 0;
    if (v.ndim < 2) return ct_view_unsqueeze(v, -1); /* or no view, if memory is exhausted */
    for (int d = 0; d < v.ndim; d++)
        if (d != dim) order[n++] = d;
    order[n] = order[n - 1];
    order[n - 1] = dim;
    return ct_view_permute(v, order);
}

static void forward(ct_call *c)
{
    const attr *at = ct_attr(c);
    const ct_view b = ct_arg(c, 1);
    const int dim = (int)(at->dim < 0 ? at->dim + b.ndim : at->dim);
    const ct_view a = ct_view_broadcast(ct_arg(c, 0), links_of(ct_view_shape(b), dim));
    ct_prim_recurrence(c, at->reverse, as_rows(a, dim), as_rows(b, dim), as_rows(ct_result(c), dim));
}

/* All elements of v along dim but the last, or but the first. */
static ct_var without_end(ct_var v, int dim, bool first)
{
    const ct_shape shape = ct_var_shape(v);
    const int64_t n = shape.ndim < 0 ? 0 : shape.dim[dim < 0 ? dim + shape.ndim : dim], one = n > 0;
    return ct_slice(v, dim, first ? one : 0, first ? n : n - one, 1);
}

static void vjp(ct_rule *g)
{
    const attr *at = ct_rule_attr(g);
    const int dim = (int)at->dim;
    ct_var s = ct_recurrence(ct_in(g, 0), ct_out_bar(g), dim, !at->reverse);
    ct_in_bar(g, 1, s);
    ct_in_bar(g, 0, ct_mul(without_end(s, dim, !at->reverse), without_end(ct_out(g), dim, at->reverse)));
}

static void jvp(ct_rule *g)
{
    const attr *at = ct_rule_attr(g);
    const int dim = (int)(at->dim < 0 ? at->dim : at->dim - ct_var_shape(ct_out(g)).ndim);
    ct_var term = ct_in_dot(g, 1);
    if (ct_has_in_dot(g, 0)) {
        const ct_shape b = ct_var_shape(term);
        const int64_t n = b.ndim < 0 ? 0 : b.dim[dim + b.ndim];
        ct_var steps = ct_mul(ct_in_dot(g, 0), without_end(ct_out(g), dim, at->reverse));
        term = ct_add(term, ct_unslice(steps, dim, n, n > 0 && !at->reverse, 1));
    }
    ct_give_out_dot(g, 0, ct_recurrence(ct_in(g, 0), term, dim, at->reverse));
}

static void sample(ct_sample *s)
{
    static const attr variants[] = { { -2, 0 }, { -2, 1 }, { -1, 0 }, { -1, 1 }, { -2, 0 } };
    const int v = ct_sample_variant(s, 5);
    const int64_t n = ct_sample_size(s);
    ct_sample_attr(s, &variants[v], sizeof(attr));
    ct_shape b = ct_shape2(n, 3), a = links_of(b, v == 2 || v == 3 ? 1 : 0);
    if (v == 4) a = ct_shape2(1, 3);
    ct_sample_uniform(s, 0, a, -1, 1);
    ct_sample_normal(s, 1, b);
}

const ct_op ct_op_recurrence = { .name = "recurrence",
                                 .n_in = 2,
                                 .shape = shape,
                                 .forward = forward,
                                 .vjp = vjp,
                                 .jvp = jvp,
                                 .jvp_stacked = true,
                                 .sample = sample };

ct_var ct_recurrence(ct_var a, ct_var b, int dim, bool reverse)
{
    return ct_apply(&ct_op_recurrence, (ct_var[]){ a, b }, 2, &(attr){ dim, reverse }, sizeof(attr));
}

/* -- cumsum and cumprod ---------------------------------------------------------------------------------- */

static ct_var cumsum(ct_call *c)
{
    const int *asked = ct__need_attr(c);
    const int dim = asked ? ct__need_dim(c, *asked, ct_arg_ndim(c, 0)) : -1;
    if (dim < 0) return ct_none();
    ct_var x = ct_arg_var(c, 0);
    return ct_recurrence(ct_scalar(x.tape, ct_var_dtype(x), 1), x, dim, false);
}

static ct_var cumprod(ct_call *c)
{
    const int *asked = ct__need_attr(c);
    const int dim = asked ? ct__need_dim(c, *asked, ct_arg_ndim(c, 0)) : -1;
    if (dim < 0) return ct_none();
    ct_var x = ct_arg_var(c, 0);
    const int64_t n = ct_arg_dim(c, 0, dim), one = n > 0;
    ct_var start = ct_unslice(ct_slice(x, dim, 0, one, 1), dim, n, 0, 1);
    return ct_recurrence(ct_slice(x, dim, one, n, 1), start, dim, false);
}

/* Two axes, without and with zeros. */
static void cumulative_sample(ct_sample *s)
{
    const int v = ct_sample_variant(s, 4), dim = v % 2 ? -1 : -2;
    const ct_shape shape = ct_shape2(ct_sample_size(s), 3);
    ct_sample_attr(s, &dim, sizeof dim);
    if (v < 2)
        ct_sample_uniform(s, 0, shape, 0.5, 1.2);
    else
        ct_sample_among(s, 0, shape, (const double[]){ 0, -0.0, 1, -1, 0.5 }, 5);
}

const ct_op ct_op_cumsum = { .name = "cumsum", .n_in = 1, .compose = cumsum, .sample = cumulative_sample };
const ct_op ct_op_cumprod = { .name = "cumprod", .n_in = 1, .compose = cumprod, .sample = cumulative_sample };

ct_var ct_cumsum(ct_var x, int dim) { return ct_apply(&ct_op_cumsum, &x, 1, &dim, sizeof dim); }
ct_var ct_cumprod(ct_var x, int dim) { return ct_apply(&ct_op_cumprod, &x, 1, &dim, sizeof dim); }
