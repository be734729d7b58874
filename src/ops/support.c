/* What the op files share: see support.h. */
#include "support.h"

bool ct__need_floating(ct_call *c, int first)
{
    for (int i = first; i < c->n_in; i++)
        if (c->arg[i]->dtype == CT_I64)
            return ct_require(c, false, CT_EDTYPE, "input %d is i64, wanted f64 or f32: ct_cast it", i);
    return true;
}

bool ct__need_matrices(ct_call *c, int first)
{
    for (int i = first; i < c->n_in; i++)
        if (c->arg[i]->ndim < 2)
            return ct_require(c, false, CT_ESHAPE,
                              "input %d has %d dimension%s, wanted a matrix: ct_unsqueeze a vector first", i,
                              c->arg[i]->ndim, c->arg[i]->ndim == 1 ? "" : "s");
    return true;
}

bool ct__need_square(ct_call *c, int i)
{
    const ct_tensor *A = ct_arg(c, i);
    if (A->ndim >= 2 && A->dim[A->ndim - 1] == A->dim[A->ndim - 2]) return true;
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
    const ct_tensor *a = ct_arg(c, i), *b = ct_arg(c, j);
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

bool ct__need_same_shape(const char *op, const char *a_name, ct_var a, const char *b_name, ct_var b)
{
    char a_text[96], b_text[96];
    ct_shape a_shape = ct_var_shape(a), b_shape = ct_var_shape(b);
    if (ct_shape_equal(a_shape, b_shape)) return true;
    ct_tape_fail(a.tape, CT_ESHAPE,
                 "op #%lld %s: %s is %s and %s is %s, they must have one shape: ct_reshape one of them",
                 (long long)ct_tape_length(a.tape), op, a_name,
                 ct__shape_text(a_shape, a_text, sizeof a_text), b_name,
                 ct__shape_text(b_shape, b_text, sizeof b_text));
    return false;
}

bool ct__need_square_var(ct_tape *tape, const char *op, ct_var A)
{
    char text[96];
    ct_shape shape = ct_var_shape(A);
    if (shape.ndim >= 2 && shape.dim[shape.ndim - 1] == shape.dim[shape.ndim - 2]) return true;
    ct_tape_fail(tape, CT_ESHAPE, "op #%lld %s(%s): wanted a square matrix or a batch of them",
                 (long long)ct_tape_length(tape), op, ct__shape_text(shape, text, sizeof text));
    return false;
}

const ct_tensor *ct__spread_over(const ct_tensor *t, const ct_tensor *like, ct_tensor *view)
{
    int missing = like->ndim - t->ndim;
    *view = *t;
    view->ndim = like->ndim;
    for (int i = 0; i < like->ndim; i++) {
        bool spread = i < missing || t->dim[i - missing] != like->dim[i];
        view->dim[i] = like->dim[i];
        view->stride[i] = spread ? 0 : t->stride[i - missing];
    }
    return view;
}

ct_tensor ct__reshaped(const ct_tensor *t, ct_shape shape)
{
    ct_tensor view = *t;
    int64_t stride = 1;
    view.ndim = shape.ndim;
    for (int i = shape.ndim - 1; i >= 0; i--) {
        view.dim[i] = shape.dim[i];
        view.stride[i] = stride;
        stride *= shape.dim[i];
    }
    return view;
}

const ct_tensor *ct__turned(const ct_tensor *t, bool turn, ct_tensor *view)
{
    if (!turn) return t;
    int row = t->ndim - 2, col = t->ndim - 1;
    view->storage = t->storage;
    view->data = t->data;
    view->refs = 0;
    view->dtype = t->dtype;
    view->ndim = t->ndim;
    for (int i = 0; i < row; i++) view->dim[i] = t->dim[i], view->stride[i] = t->stride[i];
    view->dim[row] = t->dim[col], view->stride[row] = t->stride[col];
    view->dim[col] = t->dim[row], view->stride[col] = t->stride[row];
    return view;
}

ct_tensor ct__transposed(const ct_tensor *t)
{
    ct_tensor view;
    ct__turned(t, true, &view);
    return view;
}

ct_tensor ct__diagonal(const ct_tensor *t)
{
    ct_tensor view = *t;
    int row = t->ndim - 2, col = t->ndim - 1;
    view.ndim = col;
    view.dim[row] = t->dim[row] < t->dim[col] ? t->dim[row] : t->dim[col];
    view.stride[row] = t->stride[row] + t->stride[col];
    return view;
}

ct_tensor ct__column(const ct_tensor *t)
{
    ct_tensor view = *t;
    view.dim[view.ndim] = 1;
    view.stride[view.ndim++] = 1;
    return view;
}

ct_tensor ct__strided(const ct_tensor *t, int dim, int64_t start, int64_t n, int64_t step)
{
    ct_tensor view = *t;
    if (n > 0) view.data = (char *)t->data + start * t->stride[dim] * (int64_t)ct_dtype_size(t->dtype);
    view.dim[dim] = n;
    view.stride[dim] = n > 1 ? step * t->stride[dim] : t->stride[dim];
    return view;
}

ct_tensor ct__block(const ct_tensor *t, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
    ct_tensor view = ct__strided(t, t->ndim - 2, row, rows, 1);
    return ct__strided(&view, t->ndim - 1, col, cols, 1);
}

ct_shape ct__matrix_shape(ct_shape batch_of, int64_t rows, int64_t cols)
{
    batch_of.dim[batch_of.ndim - 2] = rows;
    batch_of.dim[batch_of.ndim - 1] = cols;
    return batch_of;
}

void ct__map2(ct_call *c, ct_map2 f, const ct_tensor *a, const ct_tensor *b, ct_tensor *out)
{
    ct_device *device = ct_call_device(c);
    ct_tensor a_view, b_view;
    a = ct__spread(a, out, &a_view);
    b = ct__spread(b, out, &b_view);
    ct__call_status(c, device->backend->map2(device, f, a, b, out));
}

void ct__add_transpose(ct_call *c, ct_tensor *A)
{
    int64_t n = A->dim[A->ndim - 1], panel = n < 256 ? n : 256;
    ct_tensor *scratch = ct_scratch(c, A->dtype, ct__matrix_shape(ct_tensor_shape(A), panel, n));
    if (!scratch) return;
    for (int64_t i = 0; i < n; i += panel) {
        int64_t rows = n - i < panel ? n - i : panel, cols = i + rows;
        ct_tensor low = ct__block(A, i, rows, 0, cols), right = ct__block(A, 0, cols, i, rows);
        ct_tensor up = ct__transposed(&right), sum = ct__block(scratch, 0, rows, 0, cols);
        ct__map2(c, CT_MAP_add, &low, &up, &sum);
        ct_prim_copy(c, &sum, &low);
        ct_prim_copy(c, &sum, &up);
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
    if (!axis || !ct__need_floating(c, 0)) return shape;
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

void ct__reduce(ct_call *c, ct_reduction f, const ct_tensor *x, ct_shape kept, ct_tensor *out)
{
    ct_device *device = ct_call_device(c);
    ct_tensor view, target = ct__reshaped(out, kept);
    if (ct_tensor_count(&target) == 1 && ct_tensor_is_contiguous(x)) {
        view = ct__reshaped(x, ct_shape1(ct_tensor_count(x)));
        target = ct__reshaped(out, ct_shape1(1));
        x = &view;
    }
    ct__call_status(c, device->backend->reduce(device, f, x, &target));
}

void ct__axis_forward(ct_call *c, ct_reduction f)
{
    const ct_tensor *x = ct_arg(c, 0);
    const ct__axis *axis = ct_attr(c);
    ct_tensor *y = ct_result(c);
    if (!y) return;
    ct_shape kept = ct_tensor_shape(x);
    for (int i = 0; i < kept.ndim; i++)
        if (axis->dim == CT_ALL || i == axis->dim || i == axis->dim + kept.ndim) kept.dim[i] = 1;
    ct__reduce(c, f, x, kept, y);
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
