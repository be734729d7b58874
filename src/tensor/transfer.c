/* Copies of tensors: in and out, and to another tensor, dtype or device. */
#include "half.h"
#include "internal.h"

#include <math.h>

static ct_status check_bytes(const ct_tensor *t, const void *data, size_t bytes)
{
    if (!t) return CT_EINVAL;
    size_t expected = (size_t)ct_tensor_count(t) * ct_dtype_size(t->view.dtype);
    if (bytes != expected)
        return ct__fail(t->view.storage->device, CT_ESHAPE, "the tensor holds %zu bytes, the buffer %zu",
                        expected, bytes);
    if (!data && bytes) return ct__fail(t->view.storage->device, CT_EINVAL, "the buffer is NULL");
    return CT_OK;
}

ct_tensor *ct__dense_of(const ct_tensor *t)
{
    return ct_tensor_is_contiguous(t) ? ct_retain((ct_tensor *)(uintptr_t)t) : ct_tensor_clone(t);
}

ct_status ct_read(const ct_tensor *t, void *data, size_t bytes)
{
    ct_status s = check_bytes(t, data, bytes);
    if (s || !bytes) return s;
    ct_device *dev = t->view.storage->device;
    if (!ct__may_wait(dev, "ct_read")) return dev->last_status;
    ct_tensor *dense = ct__dense_of(t);
    s = dense ? dev->backend->download(dev, data, dense->view.data, bytes) : dev->last_status;
    ct_release(dense);
    return s;
}

ct_status ct_write(ct_tensor *t, const void *data, size_t bytes)
{
    ct_status s = check_bytes(t, data, bytes);
    if (s || !bytes) return s;
    ct_device *dev = t->view.storage->device;
    t->view.storage->version++;
    if (ct_tensor_is_contiguous(t)) return dev->backend->upload(dev, t->view.data, data, bytes);
    ct_tensor *dense = ct__empty_like(&t->view);
    if (!dense) return CT_ENOMEM;
    s = dev->backend->upload(dev, dense->view.data, data, bytes);
    if (!s) s = ct_copy(dense, t);
    ct_release(dense);
    return s;
}

ct_tensor *ct_from(ct_device *dev, ct_dtype dtype, ct_shape shape, const void *data)
{
    ct_tensor *t = ct_empty(dev, dtype, shape);
    return t ? ct__tensor_if(ct_write(t, data, (size_t)ct_tensor_count(t) * ct__size(dtype)), t) : NULL;
}

double ct_tensor_item(const ct_tensor *t)
{
    double item = NAN;
    if (t && ct__may_wait(t->view.storage->device, "ct_tensor_item")) ct__item(&t->view, &item);
    return item;
}

double ct__as_number(ct_dtype dtype, const void *element)
{
    union {
        double f64;
        float f32;
        int64_t i64;
        uint16_t half;
    } u;
    memcpy(&u, element, ct__size(dtype));
    switch (dtype) {
    case CT_F64: return u.f64;
    case CT_F32: return (double)u.f32;
    case CT_I64: return (double)u.i64;
    default: return (double)ct__from_half(dtype, u.half);
    }
}

ct_status ct__item(const ct_view *v, double *item)
{
    ct_device *dev = v->storage->device;
    char text[96], element[sizeof(double)];
    if (ct__count(v) != 1)
        return ct__fail(dev, CT_ESHAPE, "an item needs a tensor of one element, this one is %s",
                        ct__shape_text(ct__shape(v), text, sizeof text));
    ct_status s = dev->backend->download(dev, element, v->data, ct__size(v->dtype));
    if (!s) *item = ct__as_number(v->dtype, element);
    return s;
}

ct_status ct__copy(const ct_view *src, const ct_view *dst)
{
    ct_device *dev = dst->storage->device;
    if (src->storage->device != dev)
        return ct__fail(dev, CT_EDEVICE, "the tensors live on different devices: use ct_tensor_to");
    for (int i = 0; i < dst->ndim; i++)
        if (dst->stride[i] == 0 && dst->dim[i] > 1)
            return ct__fail(dev, CT_EINVAL,
                            "dimension %d of the destination is broadcast: it cannot be written", i);
    ct_view spread = *src, to = *dst;
    const ct_shape shape = ct__shape(dst);
    if (!ct__broadcast(&spread, &shape)) {
        char from_text[96], to_text[96];
        return ct__fail(dev, CT_ESHAPE, "%s does not broadcast to %s",
                        ct__shape_text(ct__shape(src), from_text, sizeof from_text),
                        ct__shape_text(shape, to_text, sizeof to_text));
    }
    if (ct__count(dst)) dst->storage->version++;
    return dev->backend->copy(dev, &spread, &to);
}

ct_status ct_copy(const ct_tensor *src, ct_tensor *dst)
{
    if (src && dst) return ct__copy(&src->view, &dst->view);
    return ct__fail(ct_tensor_device(src ? src : dst), CT_EINVAL, "ct_copy: %s is NULL", src ? "dst" : "src");
}

ct_tensor *ct_tensor_cast(const ct_tensor *t, ct_dtype dtype)
{
    if (!t) return NULL;
    ct_device *dev = t->view.storage->device;
    ct_tensor *out = ct_empty(dev, dtype, ct_tensor_shape(t));
    return out ? ct__tensor_if(dev->backend->copy(dev, &t->view, &out->view), out) : NULL;
}

ct_tensor *ct_tensor_clone(const ct_tensor *t) { return t ? ct_tensor_cast(t, t->view.dtype) : NULL; }

ct_tensor *ct_tensor_to(const ct_tensor *t, ct_device *to)
{
    if (!t || !to) return NULL;
    ct_device *from = t->view.storage->device;
    if (from == to) return ct_tensor_clone(t);
    if (!ct__may_wait(from, "ct_tensor_to")) return NULL;
    ct_tensor *dense = ct__dense_of(t), *out = dense ? ct_empty(to, t->view.dtype, ct_tensor_shape(t)) : NULL;
    const size_t bytes = (size_t)ct_tensor_count(t) * ct__size(t->view.dtype);
    ct_status s = CT_OK;
    if (out && bytes)
        s = from->backend->host_memory ? to->backend->upload(to, out->view.data, dense->view.data, bytes)
            : to->backend->host_memory
                ? from->backend->download(from, out->view.data, dense->view.data, bytes)
                : ct__fail(to, CT_EUNSUPPORTED, "no direct copy from %s to %s: copy to the CPU first",
                           from->name, to->name);
    ct_release(dense);
    return ct__tensor_if(s, out);
}
