/* Views: another shape and other strides over the same storage, never a copy. */
#include "internal.h"

/* A negative dim counts from the end; -1 and a message where there is no such dimension. */
static int check_dim(const ct_tensor *t, int dim, int ndim)
{
    int d = dim < 0 ? dim + ndim : dim;
    if (d >= 0 && d < ndim) return d;
    ct__fail(t->storage->device, CT_EINVAL, "there is no dimension %d: the tensor has %d", dim, t->ndim);
    return -1;
}

/* Can the elements be walked in row-major order with `shape`'s strides? Greedy: match runs of old dimensions
 * that lie in memory as one against runs of new ones of the same product. */
static bool reshape_strides(const ct_tensor *t, ct_shape shape, int64_t *stride)
{
    int64_t dim[CT_MAX_DIMS], old[CT_MAX_DIMS];
    int n = 0;
    for (int i = 0; i < t->ndim; i++)
        if (t->dim[i] != 1) {
            dim[n] = t->dim[i];
            old[n++] = t->stride[i];
        }
    int a = 0, b = 0;
    while (a < n || b < shape.ndim) {
        int a1 = a, b1 = b;
        int64_t pa = a < n ? dim[a1++] : 1, pb = b < shape.ndim ? shape.dim[b1++] : 1;
        while (pa != pb) {
            if (pa < pb) {
                if (a1 == n) return false;
                pa *= dim[a1++];
            } else {
                if (b1 == shape.ndim) return false;
                pb *= shape.dim[b1++];
            }
        }
        for (int i = a; i + 1 < a1; i++)
            if (old[i] != old[i + 1] * dim[i + 1]) return false;
        int64_t s = a1 > a ? old[a1 - 1] : 1;
        for (int i = b1 - 1; i >= b; i--) {
            stride[i] = s;
            s *= shape.dim[i];
        }
        a = a1, b = b1;
    }
    return true;
}

ct_tensor *ct_tensor_reshape(const ct_tensor *t, ct_shape shape)
{
    if (!t) return NULL;
    char from[96], to[96];
    ct_shape asked = shape;
    int64_t known = 1, count = ct_tensor_count(t);
    int unknown = -1;
    for (int i = 0; i < shape.ndim && shape.ndim <= CT_MAX_DIMS; i++) {
        if (shape.dim[i] == -1 && unknown < 0)
            unknown = i;
        else if (shape.dim[i] < 0 || __builtin_mul_overflow(known, shape.dim[i], &known))
            known = -1;
        if (known < 0) break;
    }
    if (unknown >= 0 && known > 0) {
        shape.dim[unknown] = count / known;
        known *= shape.dim[unknown];
        unknown = -1;
    }
    if (shape.ndim < 0 || shape.ndim > CT_MAX_DIMS || unknown >= 0 || known != count) {
        ct__fail(t->storage->device, CT_ESHAPE, "%s cannot be reshaped to %s: the number of elements differs",
                 ct__shape_text(ct_tensor_shape(t), from, sizeof from), ct__shape_text(asked, to, sizeof to));
        return NULL;
    }
    int64_t stride[CT_MAX_DIMS] = { 0 };
    if (ct_tensor_is_contiguous(t)) {
        int64_t s = 1;
        for (int i = shape.ndim - 1; i >= 0; i--) {
            stride[i] = s;
            if (shape.dim[i] > 1) s *= shape.dim[i];
        }
    } else if (!reshape_strides(t, shape, stride)) {
        ct__fail(t->storage->device, CT_ESHAPE,
                 "%s cannot be viewed as %s in its present layout: clone it first",
                 ct__shape_text(ct_tensor_shape(t), from, sizeof from), ct__shape_text(asked, to, sizeof to));
        return NULL;
    }
    ct_tensor *v = ct__view(t);
    if (!v) return NULL;
    v->ndim = shape.ndim;
    for (int i = 0; i < shape.ndim; i++) {
        v->dim[i] = shape.dim[i];
        v->stride[i] = stride[i];
    }
    return v;
}

ct_tensor *ct_tensor_permute(const ct_tensor *t, const int *order)
{
    if (!t) return NULL;
    unsigned seen = 0;
    for (int i = 0; order && i < t->ndim; i++)
        if (order[i] >= 0 && order[i] < t->ndim) seen |= 1u << order[i];
    if ((!order && t->ndim) || seen != (1u << t->ndim) - 1) {
        ct__fail(t->storage->device, CT_EINVAL, "%s must name each of the %d dimensions once",
                 order ? "order" : "order is NULL, it", t->ndim);
        return NULL;
    }
    ct_tensor *v = ct__view(t);
    for (int i = 0; v && i < t->ndim; i++) {
        v->dim[i] = t->dim[order[i]];
        v->stride[i] = t->stride[order[i]];
    }
    return v;
}

ct_tensor *ct_tensor_transpose(const ct_tensor *t)
{
    if (!t) return NULL;
    int n = t->ndim;
    if (n < 2) {
        ct__fail(t->storage->device, CT_ESHAPE, "a transpose needs two dimensions, the tensor has %d", n);
        return NULL;
    }
    ct_tensor *v = ct__view(t);
    if (!v) return NULL;
    v->dim[n - 1] = t->dim[n - 2], v->dim[n - 2] = t->dim[n - 1];
    v->stride[n - 1] = t->stride[n - 2], v->stride[n - 2] = t->stride[n - 1];
    return v;
}

ct_tensor *ct_tensor_slice(const ct_tensor *t, int dim, int64_t start, int64_t stop, int64_t step)
{
    if (!t) return NULL;
    int d = check_dim(t, dim, t->ndim);
    if (d < 0) return NULL;
    if (start < 0 || stop < start || stop > t->dim[d] || step < 1) {
        ct__fail(
            t->storage->device, CT_EINDEX,
            "slice %lld:%lld:%lld does not fit extent %lld of dimension %d: 0 <= start <= stop <= extent, "
            "step >= 1",
            (long long)start, (long long)stop, (long long)step, (long long)t->dim[d], d);
        return NULL;
    }
    ct_tensor *v = ct__view(t);
    if (!v) return NULL;
    v->dim[d] = stop > start ? (stop - start - 1) / step + 1 : 0;
    if (v->dim[d] > 0) v->data = (char *)v->data + start * t->stride[d] * (int64_t)ct_dtype_size(t->dtype);
    v->stride[d] = v->dim[d] > 1 ? t->stride[d] * step : t->stride[d];
    return v;
}

ct_tensor *ct_tensor_squeeze(const ct_tensor *t, int dim)
{
    if (!t) return NULL;
    int d = check_dim(t, dim, t->ndim);
    if (d < 0) return NULL;
    if (t->dim[d] != 1) {
        ct__fail(t->storage->device, CT_ESHAPE,
                 "dimension %d has extent %lld: only an extent of 1 can be removed", d, (long long)t->dim[d]);
        return NULL;
    }
    ct_tensor *v = ct__view(t);
    if (!v) return NULL;
    v->ndim--;
    for (int i = d; i < v->ndim; i++) {
        v->dim[i] = t->dim[i + 1];
        v->stride[i] = t->stride[i + 1];
    }
    return v;
}

ct_tensor *ct_tensor_unsqueeze(const ct_tensor *t, int dim)
{
    if (!t) return NULL;
    if (t->ndim == CT_MAX_DIMS) {
        ct__fail(t->storage->device, CT_ESHAPE, "a tensor has at most %d dimensions", CT_MAX_DIMS);
        return NULL;
    }
    int d = check_dim(t, dim, t->ndim + 1);
    if (d < 0) return NULL;
    ct_tensor *v = ct__view(t);
    if (!v) return NULL;
    v->ndim++;
    for (int i = v->ndim - 1; i > d; i--) {
        v->dim[i] = t->dim[i - 1];
        v->stride[i] = t->stride[i - 1];
    }
    v->dim[d] = 1;
    v->stride[d] = d < t->ndim ? t->dim[d] * t->stride[d] : 1;
    return v;
}

bool ct__broadcast_strides(const ct_tensor *t, ct_shape shape, int64_t *stride)
{
    int64_t out[CT_MAX_DIMS];
    if (shape.ndim < t->ndim) return false;
    for (int i = 0, lead = shape.ndim - t->ndim; i < shape.ndim; i++) {
        int64_t dim = i < lead ? 1 : t->dim[i - lead];
        if (dim != shape.dim[i] && dim != 1) return false;
        out[i] = dim == shape.dim[i] && i >= lead ? t->stride[i - lead] : 0;
    }
    for (int i = 0; i < shape.ndim; i++) stride[i] = out[i];
    return true;
}

ct_tensor *ct_tensor_broadcast(const ct_tensor *t, ct_shape shape)
{
    if (!t) return NULL;
    int64_t stride[CT_MAX_DIMS];
    char from[96], to[96];
    if (ct_shape_count(shape) < 0 || !ct__broadcast_strides(t, shape, stride)) {
        ct__fail(t->storage->device, CT_ESHAPE, "%s does not broadcast to %s",
                 ct__shape_text(ct_tensor_shape(t), from, sizeof from), ct__shape_text(shape, to, sizeof to));
        return NULL;
    }
    ct_tensor *v = ct__view(t);
    if (!v) return NULL;
    v->ndim = shape.ndim;
    for (int i = 0; i < shape.ndim; i++) {
        v->dim[i] = shape.dim[i];
        v->stride[i] = stride[i];
    }
    return v;
}

ct_tensor *ct_tensor_diagonal(const ct_tensor *t)
{
    if (!t) return NULL;
    int n = t->ndim;
    if (n < 2) {
        ct__fail(t->storage->device, CT_ESHAPE, "a diagonal needs two dimensions, the tensor has %d", n);
        return NULL;
    }
    ct_tensor *v = ct__view(t);
    if (!v) return NULL;
    v->ndim--;
    v->dim[n - 2] = t->dim[n - 2] < t->dim[n - 1] ? t->dim[n - 2] : t->dim[n - 1];
    v->stride[n - 2] = t->stride[n - 2] + t->stride[n - 1];
    return v;
}
