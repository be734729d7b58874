/* Helpers of the op files: see support.h. */
#include "support.h"

#include <float.h>

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

bool ct__need_index(ct_call *c, int i)
{
    char text[96];
    const ct_view *index = ct__arg_view(c, i);
    return ct_require(c, index->dtype == CT_I64, CT_EDTYPE, "the index, input %d, must be i64, it is %s", i,
                      ct_dtype_name(index->dtype)) &&
           ct_require(c, index->ndim == 1, CT_ESHAPE, "the index, input %d, must be a vector, it is %s", i,
                      ct__shape_text(ct_arg_shape(c, i), text, sizeof text));
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

ct_shape ct__need_broadcast(ct_call *c)
{
    ct_shape shape = ct_arg_shape(c, 0);
    for (int i = 1; i < c->n_in && shape.ndim >= 0; i++)
        shape = ct_shape_broadcast(shape, ct_arg_shape(c, i));
    ct_require(c, shape.ndim >= 0, CT_ESHAPE,
               "the shapes do not broadcast: from the right, extents must be equal or 1");
    return shape;
}

bool ct__need_same_shape(ct_call *c, int i, int j)
{
    const ct_view *a = ct__arg_view(c, i), *b = ct__arg_view(c, j);
    if (ct__same_shape(a, b)) return true;
    const ct_shape both = ct_shape_broadcast(ct__shape(a), ct__shape(b));
    const bool spreads = ct_shape_equal(both, ct__shape(a)) || ct_shape_equal(both, ct__shape(b));
    return ct_require(c, false, CT_ESHAPE, "inputs %d and %d must have one shape%s", i, j,
                      ct__count(a) == ct__count(b) ? ": ct_reshape one of them"
                      : spreads                    ? ": ct_broadcast_to the smaller one to the larger"
                                                   : "");
}

ct_shape ct__shape_of_view(ct_call *c) { return ct_arg_shape(c, 0); }

ct_shape ct__matrix_shape(ct_shape batch_of, int64_t rows, int64_t cols)
{
    if (batch_of.ndim < 2) return ct_shape0(); /* of a view that could not be made */
    batch_of.dim[batch_of.ndim - 2] = rows;
    batch_of.dim[batch_of.ndim - 1] = cols;
    return batch_of;
}

ct_shape ct__square_shape(ct_call *c)
{
    ct__need_square(c, 0);
    return ct_arg_shape(c, 0);
}

ct_shape ct__batch_of_squares(ct_call *c)
{
    ct_shape shape = ct_arg_shape(c, 0);
    if (ct__need_square(c, 0)) shape.ndim -= 2;
    return shape;
}

ct_view ct__with_ones(ct_view v, int ones)
{
    for (; ones > 0; ones--) v = ct_view_unsqueeze(v, -1);
    return v;
}

ct_var ct__constant(ct_call *c, ct_view v)
{
    ct_tensor *t = ct_tensor_of(c, v);
    ct_var constant = t ? ct_constant(c->tape, t) : ct_none();
    ct_release(t);
    ct__release_scratch(c);
    return constant;
}

double ct__rounding(ct_dtype dtype) { return 16 * (dtype == CT_F64 ? DBL_EPSILON : (double)FLT_EPSILON); }

void ct__flag_minor(ct_call *c, ct_view margin, int64_t n, ct_view out)
{
    if (!ct_is_view(margin) || !n) return;
    ct_shape shape = ct_view_shape(margin);
    shape.dim[shape.ndim - 1] = n;
    ct_view minors = ct_scratch(c, margin.dtype, shape);
    ct_prim_fill(c, minors, 1);
    ct_prim_copy(c, margin, ct_view_slice(minors, -1, n - 1, n, 1));
    ct_prim_flag(
        c, CT_POSITIVE, ct_view_unsqueeze(minors, -1), "leading minor %lld",
        "is not positive to working precision: the matrix is singular, indefinite or has NaN; add to "
        "its diagonal",
        out);
}

void ct__flag_singular(ct_call *c, ct_view A, ct_view d, ct_view out)
{
    if (!ct_is_view(d) || !ct_view_count(d)) return;
    ct_shape one = ct_view_shape(d);
    one.dim[one.ndim - 1] = 1;
    ct_view left = ct_scratch(c, d.dtype, ct_view_shape(d)), margin = ct_scratch(c, d.dtype, one);
    ct_prim_map2(c, CT_MAP_mul, ct_view_diagonal(A), d, left);
    ct_prim_reduce(c, CT_REDUCE_MAX, left, margin);
    ct_prim_map1(c, CT_MAP_scale, (double[]){ -ct__rounding(d.dtype), 0 }, margin, margin);
    ct_prim_map1(c, CT_MAP_shift, (double[]){ 1, 0 }, margin, margin);
    ct__flag_minor(c, margin, ct_view_dim(d, -1), out);
}

ct_var ct__inner(ct_var A, ct_var B) { return ct_sum(ct_sum(ct_mul(A, B), -1, false), -1, false); }

ct_var ct__norm_of(ct_var x) { return ct_norm(ct_norm(x, -1, true), -2, true); }

ct_var ct__size_of(ct_var x)
{
    ct_var size = ct__norm_of(ct_stop_gradient(x));
    return ct_where(size, size, ct_scalar(x.tape, ct_var_dtype(x), 1));
}

ct_var ct__symmetric_part(ct_var A) { return ct_scale(ct_add(A, ct_t(A)), 0.5); }

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

void ct__sample_pair(ct_sample *s, int variant, void (*draw)(ct_sample *s, int i))
{
    const int first = variant == 1;
    draw(s, first);
    if (variant) ct_sample_unbatched(s);
    draw(s, 1 - first);
}
