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

ct_status ct_read(const ct_tensor *t, void *data, size_t bytes)
{
    ct_status s = check_bytes(t, data, bytes);
    if (s || !bytes) return s;
    ct_device *dev = t->view.storage->device;
    if (!ct__may_wait(dev, "ct_read")) return dev->last_status;
    if (ct_tensor_is_contiguous(t)) return dev->backend->download(dev, data, t->view.data, bytes);
    ct_tensor *dense = ct_tensor_clone(t);
    if (!dense) return CT_ENOMEM;
    s = dev->backend->download(dev, data, dense->view.data, bytes);
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
    ct_tensor *dense = ct_empty(dev, t->view.dtype, ct_tensor_shape(t));
    if (!dense) return CT_ENOMEM;
    s = dev->backend->upload(dev, dense->view.data, data, bytes);
    if (!s) s = ct_copy(dense, t);
    ct_release(dense);
    return s;
}

ct_tensor *ct_from(ct_device *dev, ct_dtype dtype, ct_shape shape, const void *data)
{
    ct_tensor *t = ct_empty(dev, dtype, shape);
    if (t && ct_write(t, data, (size_t)ct_tensor_count(t) * ct__size(dtype))) {
        ct_release(t);
        return NULL;
    }
    return t;
}

double ct_tensor_item(const ct_tensor *t)
{
    double item = NAN;
    if (t) ct__item(&t->view, &item);
    return item;
}

ct_status ct__item(const ct_view *v, double *item)
{
    ct_device *dev = v->storage->device;
    if (ct__count(v) != 1) {
        char text[96];
        return ct__fail(dev, CT_ESHAPE, "an item needs a tensor of one element, this one is %s",
                        ct__shape_text(ct__shape(v), text, sizeof text));
    }
    union {
        double f64;
        float f32;
        int64_t i64;
        uint16_t half;
    } u;
    if (!ct__may_wait(dev, "ct_tensor_item")) return dev->last_status;
    const ct_status s = dev->backend->download(dev, &u, v->data, ct__size(v->dtype));
    if (s) return s;
    switch (v->dtype) {
    case CT_F64: *item = u.f64; break;
    case CT_F32: *item = (double)u.f32; break;
    case CT_I64: *item = (double)u.i64; break;
    default: *item = (double)ct__from_half(v->dtype, u.half);
    }
    return CT_OK;
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
    if (out && dev->backend->copy(dev, &t->view, &out->view)) {
        ct_release(out);
        return NULL;
    }
    return out;
}

ct_tensor *ct_tensor_clone(const ct_tensor *t) { return t ? ct_tensor_cast(t, t->view.dtype) : NULL; }

ct_tensor *ct_tensor_to(const ct_tensor *t, ct_device *to)
{
    if (!t || !to) return NULL;
    if (t->view.storage->device == to) return ct_tensor_clone(t);
    ct_device *from = t->view.storage->device;
    if (!ct__may_wait(from, "ct_tensor_to")) return NULL;
    ct_tensor *dense = ct_tensor_is_contiguous(t) ? ct_retain((ct_tensor *)(uintptr_t)t) : ct_tensor_clone(t);
    ct_tensor *out = dense ? ct_empty(to, t->view.dtype, ct_tensor_shape(t)) : NULL;
    size_t bytes = (size_t)ct_tensor_count(t) * ct_dtype_size(t->view.dtype);
    ct_status s = out ? CT_OK : CT_ENOMEM;
    if (out && bytes) {
        if (from->backend->host_memory)
            s = to->backend->upload(to, out->view.data, dense->view.data, bytes);
        else if (to->backend->host_memory)
            s = from->backend->download(from, out->view.data, dense->view.data, bytes);
        else
            s = ct__fail(to, CT_EUNSUPPORTED, "copy from %s to %s by way of the CPU", from->name, to->name);
    }
    ct_release(dense);
    if (!s) return out;
    ct_release(out);
    return NULL;
}
