/* Views by value: other shapes and strides of the same storage, without a copy. */
#include "internal.h"

/* -- making ---------------------------------------------------------------------------------------------- */

/* The result if a view cannot be made; the device's message says why. */
static ct_view unmade(void) { return (ct_view){ .ndim = -1 }; }

#define REFUSE(v, status, ...) (ct__fail((v).storage->device, status, __VA_ARGS__), unmade())

/* dim as 0..ndim-1; a negative dim counts from the end. -1 with a message if there is no such dimension. */
static int check_dim(const ct_view *v, int dim, int ndim)
{
    int d = dim < 0 ? dim + ndim : dim;
    if (d >= 0 && d < ndim) return d;
    ct__fail(v->storage->device, CT_EINVAL,
             ndim ? "there is no dimension %d: use 0 to %d, or %d to -1"
                  : "there is no dimension %d in a scalar",
             dim, ndim - 1, -ndim);
    return -1;
}

/* Whether the non-contiguous v can be viewed with `shape`'s extents in row-major order; sets the strides.
 * From the last dimension backward, each run of v's dimensions that is contiguous in itself must have as many
 * elements as a run of the new dimensions. `step` is the run's last stride. */
static bool reshape_strides(const ct_view *v, const ct_shape *shape, int64_t *stride)
{
    int to = shape->ndim - 1;
    int64_t step = v->stride[v->ndim - 1], held = 1, made = 1;
    for (int i = v->ndim - 1; i >= 0; i--) {
        held *= v->dim[i];
        if (i > 0 && (v->dim[i - 1] == 1 || v->stride[i - 1] == held * step)) continue;
        for (; to >= 0 && (made < held || shape->dim[to] == 1); to--) {
            stride[to] = made * step;
            made *= shape->dim[to];
        }
        if (made != held) return false;
        if (i > 0) step = v->stride[i - 1];
        held = made = 1;
    }
    return true;
}

bool ct__complete_shape(ct_shape *shape, int64_t count)
{
    int64_t *unknown = NULL;
    for (int i = 0; i < shape->ndim && i < CT_MAX_DIMS && !unknown; i++)
        if (shape->dim[i] == -1) unknown = &shape->dim[i];
    if (unknown) *unknown = 1;
    const int64_t known = ct__shape_count(shape);
    if (unknown && known > 0) *unknown = count / known;
    return (known > 0 || (known == 0 && !unknown)) && ct__shape_count(shape) == count;
}

ct_view ct_view_reshape(ct_view v, ct_shape shape)
{
    if (!v.storage) return v;
    char from[96], to[96];
    ct_shape asked = shape;
    if (!ct__complete_shape(&shape, ct__count(&v)))
        return REFUSE(v, CT_ESHAPE, "%s cannot be reshaped to %s: the number of elements differs",
                      ct__shape_text(ct__shape(&v), from, sizeof from), ct__shape_text(asked, to, sizeof to));
    ct_view out = v;
    out.ndim = shape.ndim;
    if (ct__is_contiguous(&v))
        ct__lay_out(&out, shape.dim);
    else if (reshape_strides(&v, &shape, out.stride))
        memcpy(out.dim, shape.dim, sizeof out.dim);
    else
        return REFUSE(v, CT_ESHAPE, "%s cannot be viewed as %s in its present layout: clone it first",
                      ct__shape_text(ct__shape(&v), from, sizeof from), ct__shape_text(asked, to, sizeof to));
    return out;
}

ct_view ct_view_permute(ct_view v, const int *order)
{
    if (!v.storage) return v;
    unsigned seen = 0;
    ct_view out = v;
    for (int i = 0; order && i < v.ndim; i++)
        if (order[i] >= 0 && order[i] < v.ndim) {
            seen |= 1u << order[i];
            out.dim[i] = v.dim[order[i]];
            out.stride[i] = v.stride[order[i]];
        }
    if (seen == (1u << v.ndim) - 1) return out;
    return REFUSE(v, CT_EINVAL, "%s must name each of the %d dimensions once",
                  order ? "order" : "order is NULL, it", v.ndim);
}

ct_view ct_view_transpose(ct_view v)
{
    if (!v.storage) return v;
    int row = v.ndim - 2, col = v.ndim - 1;
    if (row < 0)
        return REFUSE(v, CT_ESHAPE, "a transpose needs two dimensions, the tensor has %d: unsqueeze it",
                      v.ndim);
    int64_t dim = v.dim[row], stride = v.stride[row];
    v.dim[row] = v.dim[col], v.dim[col] = dim;
    v.stride[row] = v.stride[col], v.stride[col] = stride;
    return v;
}

ct_view ct_view_diagonal(ct_view v)
{
    if (!v.storage) return v;
    int row = v.ndim - 2, col = v.ndim - 1;
    if (row < 0)
        return REFUSE(v, CT_ESHAPE, "a diagonal needs two dimensions, the tensor has %d: unsqueeze it",
                      v.ndim);
    if (v.dim[col] < v.dim[row]) v.dim[row] = v.dim[col];
    v.stride[row] += v.stride[col];
    v.ndim--;
    return v;
}

ct_view ct_view_slice(ct_view v, int dim, int64_t start, int64_t stop, int64_t step)
{
    if (!v.storage) return v;
    int d = check_dim(&v, dim, v.ndim);
    if (d < 0) return unmade();
    const int64_t first = ct__bound(start, v.dim[d]), end = ct__bound(stop, v.dim[d]);
    if (first < 0 || end < first || end > v.dim[d] || step < 1)
        return REFUSE(v, CT_EINDEX,
                      "slice %lld:%lld:%lld does not fit extent %lld of dimension %d: "
                      "0 <= start <= stop <= extent, negative ones from the end, step >= 1",
                      (long long)start, (long long)stop, (long long)step, (long long)v.dim[d], d);
    start = first, stop = end;
    v.dim[d] = stop > start ? (stop - start - 1) / step + 1 : 0;
    if (v.dim[d] > 0) v.data = (char *)v.data + start * v.stride[d] * (int64_t)ct__size(v.dtype);
    if (v.dim[d] > 1) v.stride[d] *= step;
    return v;
}

ct_view ct_view_block(ct_view v, int64_t row0, int64_t row1, int64_t col0, int64_t col1)
{
    return ct_view_slice(ct_view_slice(v, -2, row0, row1, 1), -1, col0, col1, 1);
}

ct_view ct_view_squeeze(ct_view v, int dim)
{
    if (!v.storage) return v;
    int d = check_dim(&v, dim, v.ndim);
    if (d < 0) return unmade();
    if (v.dim[d] != 1)
        return REFUSE(v, CT_ESHAPE, "dimension %d has extent %lld: only an extent of 1 can be removed", d,
                      (long long)v.dim[d]);
    v.ndim--;
    for (int i = d; i < v.ndim; i++) {
        v.dim[i] = v.dim[i + 1];
        v.stride[i] = v.stride[i + 1];
    }
    return v;
}

ct_view ct_view_unsqueeze(ct_view v, int dim)
{
    if (!v.storage) return v;
    if (v.ndim == CT_MAX_DIMS) return REFUSE(v, CT_ESHAPE, "a tensor has at most %d dimensions", CT_MAX_DIMS);
    int d = check_dim(&v, dim, v.ndim + 1);
    if (d < 0) return unmade();
    int64_t stride = d < v.ndim ? v.dim[d] * v.stride[d] : 1;
    for (int i = v.ndim++; i > d; i--) {
        v.dim[i] = v.dim[i - 1];
        v.stride[i] = v.stride[i - 1];
    }
    v.dim[d] = 1;
    v.stride[d] = stride;
    return v;
}

bool ct__broadcast(ct_view *v, const ct_shape *shape)
{
    int lead = shape->ndim - v->ndim;
    int64_t stride[CT_MAX_DIMS];
    if (lead < 0) return false;
    for (int i = 0; i < shape->ndim; i++) {
        int64_t dim = i < lead ? 1 : v->dim[i - lead];
        if (dim != shape->dim[i] && dim != 1) return false;
        stride[i] = dim == shape->dim[i] && i >= lead ? v->stride[i - lead] : 0;
    }
    v->ndim = shape->ndim;
    for (int i = 0; i < shape->ndim; i++) {
        v->dim[i] = shape->dim[i];
        v->stride[i] = stride[i];
    }
    return true;
}

ct_view ct_view_broadcast(ct_view v, ct_shape shape)
{
    if (!v.storage) return v;
    char from[96], to[96];
    if (ct__shape_count(&shape) >= 0 && ct__broadcast(&v, &shape)) return v;
    return REFUSE(v, CT_ESHAPE, "%s does not broadcast to %s: from the right, extents must be equal or 1",
                  ct__shape_text(ct__shape(&v), from, sizeof from), ct__shape_text(shape, to, sizeof to));
}

/* -- what a view is -------------------------------------------------------------------------------------- */

bool ct__is_contiguous(const ct_view *v)
{
    int64_t expected = 1;
    bool dense = true;
    for (int i = v->ndim - 1; i >= 0; i--) {
        if (v->dim[i] == 0) return true;
        if (v->dim[i] == 1) continue;
        if (v->stride[i] != expected) dense = false;
        expected *= v->dim[i];
    }
    return dense;
}

ct_view ct_view_of(const ct_tensor *t) { return t ? t->view : ct_no_view(); }
ct_shape ct_view_shape(ct_view v) { return v.storage ? ct__shape(&v) : (ct_shape){ .ndim = -1 }; }
int64_t ct_view_count(ct_view v) { return v.storage ? ct__count(&v) : 0; }
bool ct_view_is_contiguous(ct_view v) { return v.storage && ct__is_contiguous(&v); }

int64_t ct_view_dim(ct_view v, int dim) { return v.storage ? ct__dim(&v, dim) : 0; }
