/* Helpers of the op files: see support.h. */
#include "support.h"

bool ct__need_matrices(ct_call *c, int first)
{
    for (int i = first; i < c->n_in; i++)
        if (ct__arg_view(c, i)->ndim < 2)
            return ct_require(c, false, CT_ESHAPE,
                              "input %d has %d dimension%s, wanted a matrix: ct_unsqueeze a vector first", i,
                              ct_arg_ndim(c, i), ct_arg_ndim(c, i) == 1 ? "" : "s");
    return true;
}

bool ct__need_square(ct_call *c, int i)
{
    if (ct_arg_ndim(c, i) >= 2 && ct_arg_dim(c, i, -1) == ct_arg_dim(c, i, -2)) return true;
    return ct_require(c, false, CT_ESHAPE, "input %d must be a square matrix or a batch of them", i);
}

const void *ct__need_attr(ct_call *c)
{
    if (!c->attr) ct_require(c, false, CT_EINVAL, "the attributes are missing: call the function of ops.h");
    return c->attr;
}

int ct__need_dim(ct_call *c, int dim, int ndim)
{
    if (dim >= -ndim && dim < ndim) return dim < 0 ? dim + ndim : dim;
    if (ndim == 0)
        ct_require(c, false, CT_EINVAL, "no dimension %d: the input is a scalar", dim);
    else
        ct_require(c, false, CT_EINVAL, "no dimension %d: use %d to %d, or %d to -1", dim, 0, ndim - 1,
                   -ndim);
    return -1;
}

ct_shape ct__need_batch(ct_call *c, int i, int j, int64_t rows, int64_t cols)
{
    const ct_view *a = ct__arg_view(c, i), *b = ct__arg_view(c, j);
    ct_shape shape = ct_shape2(rows, cols);
    if (a->ndim == 2 && b->ndim == 2) return shape;
    shape = ct_shape_broadcast(ct_shape_of(a->ndim - 2, a->dim), ct_shape_of(b->ndim - 2, b->dim));
    if (!ct_require(
            c, shape.ndim >= 0, CT_ESHAPE,
            "the batch dimensions (all but the last two) do not broadcast: from the right, extents must be "
            "equal or 1"))
        return shape;
    shape.dim[shape.ndim++] = rows;
    shape.dim[shape.ndim++] = cols;
    return shape;
}

bool ct__need_same_shape(ct_call *c, int i, int j)
{
    return ct_require(c, ct__same_shape(ct__arg_view(c, i), ct__arg_view(c, j)), CT_ESHAPE,
                      "inputs %d and %d must have one shape: ct_reshape one of them", i, j);
}

ct_shape ct__shape_of_view(ct_call *c) { return ct_arg_shape(c, 0); }

ct_shape ct__matrix_shape(ct_shape batch_of, int64_t rows, int64_t cols)
{
    batch_of.dim[batch_of.ndim - 2] = rows;
    batch_of.dim[batch_of.ndim - 1] = cols;
    return batch_of;
}

ct_view ct__with_ones(ct_view v, int ones)
{
    for (; ones > 0; ones--) v = ct_view_unsqueeze(v, -1);
    return v;
}

ct_var ct__one_by_one(ct_var x) { return ct_unsqueeze(ct_unsqueeze(x, -1), -1); }

void ct__add_transpose(ct_call *c, ct_view A)
{
    int64_t n = ct_view_dim(A, -1), panel = n < 256 ? n : 256;
    if (!ct_is_view(A)) return;
    ct_view scratch = ct_scratch(c, A.dtype, ct__matrix_shape(ct_view_shape(A), panel, n));
    for (int64_t i = 0; i < n; i += panel) {
        int64_t end = i + panel < n ? i + panel : n;
        ct_view low = ct_view_block(A, i, end, 0, end), right = ct_view_block(A, 0, end, i, end),
                up = ct_view_transpose(right), sum = ct_view_block(scratch, 0, end - i, 0, end);
        ct_prim_map2(c, CT_MAP_add, low, up, sum);
        ct_prim_copy(c, sum, low);
        ct_prim_copy(c, sum, up);
    }
}

ct_var ct__apply_axis(const ct_op *op, ct_var x, int dim, bool keep)
{
    ct__axis axis = { .dim = dim, .keep = keep };
    return ct_apply(op, &x, 1, &axis, sizeof axis);
}

ct_shape ct__axis_shape(ct_call *c, bool of_nothing)
{
    ct_shape shape = ct_arg_shape(c, 0);
    const ct__axis *axis = ct__need_attr(c);
    if (!axis) return shape;
    bool empty = false;
    if (axis->dim == CT_ALL) {
        for (int i = 0; i < shape.ndim; i++) empty |= shape.dim[i] == 0, shape.dim[i] = 1;
        if (!axis->keep) shape.ndim = 0;
    } else {
        int dim = ct__need_dim(c, axis->dim, shape.ndim);
        if (dim < 0) return shape;
        empty = shape.dim[dim] == 0;
        shape.dim[dim] = 1;
        if (!axis->keep) {
            shape.ndim--;
            for (int i = dim; i < shape.ndim; i++) shape.dim[i] = shape.dim[i + 1];
        }
    }
    if (empty && !of_nothing)
        ct_require(c, false, CT_EINVAL, "nothing to reduce: the input is empty there; it has no value");
    return shape;
}

void ct__axis_forward(ct_call *c, ct_reduction f)
{
    const ct__axis *axis = ct_attr(c);
    ct_shape kept = ct_arg_shape(c, 0);
    for (int i = 0; i < kept.ndim; i++)
        if (axis->dim == CT_ALL || i == axis->dim || i == axis->dim + kept.ndim) kept.dim[i] = 1;
    ct_prim_reduce(c, f, ct_arg(c, 0), ct_view_reshape(ct_result(c), kept));
}

ct_var ct__axis_restore(ct_var y, const ct__axis *axis, ct_var x)
{
    if (axis->keep || axis->dim == CT_ALL) return y;
    return ct_unsqueeze(y, axis->dim < 0 ? axis->dim + ct_var_shape(x).ndim : axis->dim);
}

bool ct__axis_sample(ct_sample *s, int64_t at_least)
{
    static const ct__axis axes[] = { { -1, 0 },     { -1, 1 },     { -2, 0 }, { -2, 1 },    { 0, 0 },
                                     { CT_ALL, 0 }, { CT_ALL, 1 }, { -1, 0 }, { CT_ALL, 0 } };
    enum { AXES = sizeof axes / sizeof *axes, TIES = AXES - 2 };
    const int v = ct_sample_variant(s, AXES);
    const ct__axis *axis = &axes[v];
    int64_t n = ct_sample_size(s) > at_least ? ct_sample_size(s) : at_least;
    ct_sample_attr(s, axis, sizeof *axis);
    if (axis->dim >= 0 || axis->dim == CT_ALL) ct_sample_unbatched(s);
    if (v < TIES)
        ct_sample_uniform(s, 0, ct_shape2(n, 3), -2, 2);
    else
        ct_sample_among(s, 0, ct_shape2(n, 3), (const double[]){ 0, -0.0, 1, -1 }, 4);
    return v >= TIES;
}
