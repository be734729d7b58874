/* slice:    y = elements start, start + step, ... < stop of x along a dimension: a view. Bounds below 0 count
 *           from the end.
 * adjoint:  x̄ = unslice(ȳ): zeros elsewhere                            [a selection's transpose]
 * unslice:  y = zeros of `extent` along a dimension, with x at start, start + step, ...
 * adjoint:  x̄ = slice(ȳ) */
#include "support.h"

#include "jvp/jvp.h"

typedef struct attr {
    int64_t dim, start, step, end; /* stop of slice, extent of unslice */
} attr;

/* The extent of x along the sliced dimension. */
static int64_t extent_of(const attr *a, ct_shape x) { return x.dim[a->dim < 0 ? a->dim + x.ndim : a->dim]; }

/* -- slice ----------------------------------------------------------------------------------------------- */

static void slice(ct_call *c)
{
    const attr *a = ct__need_attr(c);
    if (a) ct_set_result(c, 0, ct_view_slice(ct_arg(c, 0), (int)a->dim, a->start, a->end, a->step));
}

static void slice_vjp(ct_rule *g)
{
    const attr *a = ct_rule_attr(g);
    if (!ct_recording(g)) {
        ct__give_slice(g, (int)a->dim, a->start, a->end, a->step);
        return;
    }
    const int64_t extent = extent_of(a, ct_var_shape(ct_in(g, 0)));
    ct_in_bar(g, 0, ct_unslice(ct_out_bar(g), (int)a->dim, extent, ct__bound(a->start, extent), a->step));
}

static void slice_jvp(ct_rule *g)
{
    const attr *a = ct_rule_attr(g);
    ct_give_out_dot(g, 0, ct_slice(ct_in_dot(g, 0), ct__from_end(g, (int)a->dim), a->start, a->end, a->step));
}

static void slice_sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    attr variants[] = { { -2, n / 3, 1, n }, { -2, 0, 2, n },       { -1, 1, 1, 3 },
                        { -2, n, 1, n },     { -1, -2, 1, CT_END }, { -1, -3, 2, -1 } };
    ct_sample_attr(s, &variants[ct_sample_variant(s, 6)], sizeof(attr));
    ct_sample_normal(s, 0, ct_shape2(n, 3));
}

const ct_op ct_op_slice = { .name = "slice",
                            .n_in = 1,
                            .shape = ct__shape_of_view,
                            .forward = slice,
                            .vjp = slice_vjp,
                            .jvp = slice_jvp,
                            .jvp_stacked = true,
                            .sample = slice_sample,
                            .half = true,
                            .integers = 1 };

ct_var ct_slice(ct_var x, int dim, int64_t start, int64_t stop, int64_t step)
{
    return ct_apply(&ct_op_slice, &x, 1, &(attr){ dim, start, step, stop }, sizeof(attr));
}

/* Not i + 1 where that would be 0, the beginning. */
ct_var ct_row(ct_var x, int64_t i) { return ct_squeeze(ct_slice(x, 0, i, i == -1 ? CT_END : i + 1, 1), 0); }

/* -- unslice --------------------------------------------------------------------------------------------- */

static ct_shape unslice_shape(ct_call *c)
{
    const attr *a = ct__need_attr(c);
    ct_shape x = ct_arg_shape(c, 0);
    int dim = a ? ct__need_dim(c, (int)a->dim, x.ndim) : -1;
    if (dim < 0) return x;
    bool fits =
        a->start >= 0 && a->step >= 1 && a->start <= a->end &&
        (x.dim[dim] == 0 || (a->start < a->end && x.dim[dim] - 1 <= (a->end - 1 - a->start) / a->step));
    ct_require(c, fits, CT_EINDEX,
               "%lld elements from %lld in steps of %lld do not fit extent %lld: start >= 0, step >= 1, the "
               "last inside",
               (long long)x.dim[dim], (long long)a->start, (long long)a->step, (long long)a->end);
    x.dim[dim] = a->end;
    return x;
}

/* One past the last of n elements. */
static int64_t stop_of(const attr *a, int64_t n) { return n ? a->start + (n - 1) * a->step + 1 : a->start; }

static void unslice(ct_call *c)
{
    const attr *a = ct_attr(c);
    const int64_t stop = stop_of(a, extent_of(a, ct_arg_shape(c, 0)));
    ct_prim_fill(c, ct_result(c), 0);
    ct_prim_copy(c, ct_arg(c, 0), ct_view_slice(ct_result(c), (int)a->dim, a->start, stop, a->step));
}

static void unslice_vjp(ct_rule *g)
{
    const attr *a = ct_rule_attr(g);
    const int64_t stop = stop_of(a, extent_of(a, ct_var_shape(ct_in(g, 0))));
    ct_in_bar(g, 0, ct_slice(ct_out_bar(g), (int)a->dim, a->start, stop, a->step));
}

static void unslice_jvp(ct_rule *g)
{
    const attr *a = ct_rule_attr(g);
    ct_give_out_dot(g, 0,
                    ct_unslice(ct_in_dot(g, 0), ct__from_end(g, (int)a->dim), a->end, a->start, a->step));
}

static void unslice_sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    attr variants[] = { { -2, 1, 1, n + 2 }, { -2, 0, 2, 2 * n + 1 }, { -1, 0, 1, 3 } };
    ct_sample_attr(s, &variants[ct_sample_variant(s, 3)], sizeof(attr));
    ct_sample_normal(s, 0, ct_shape2(n, 3));
}

const ct_op ct_op_unslice = { .name = "unslice",
                              .n_in = 1,
                              .shape = unslice_shape,
                              .forward = unslice,
                              .vjp = unslice_vjp,
                              .jvp = unslice_jvp,
                              .jvp_stacked = true,
                              .sample = unslice_sample,
                              .half = true };

ct_var ct_unslice(ct_var x, int dim, int64_t extent, int64_t start, int64_t step)
{
    return ct_apply(&ct_op_unslice, &x, 1, &(attr){ dim, start, step, extent }, sizeof(attr));
}
