#include "file.h"
#include "tensor/internal.h"

static ct_status save(ct__output *out, const ct_tensor *t, const ct__format *format)
{
    enum { ELEMENTS = 1 << 15 };
    ct_device *device = out->device;
    const size_t size = ct__size(t->view.dtype);
    const int64_t count = ct_tensor_count(t);
    char *chunk = ct__host_alloc(device, ELEMENTS * size);
    ct_status s = chunk ? format->head(out, t, format->context) : CT_ENOMEM;
    for (int64_t at = 0; at < count && !s; at += ELEMENTS) {
        const int64_t n = count - at < ELEMENTS ? count - at : ELEMENTS;
        const char *from = (const char *)t->view.data + (size_t)at * size;
        s = device->backend->download(device, chunk, from, (size_t)n * size);
        if (!s)
            s = format->elements ? format->elements(out, t, chunk, at, n)
                                 : ct__file_write(out, chunk, (size_t)n * size);
    }
    ct__host_free(device, chunk, ELEMENTS * size);
    return s;
}

ct_status ct__file_save(const ct_tensor *t, ct_dtype dtype, const char *path, const ct__format *format)
{
    ct_device *device = ct_tensor_device(t);
    const bool as_is = t->view.dtype == dtype && ct_tensor_is_contiguous(t);
    ct_tensor *copy = as_is ? NULL : ct_tensor_cast(t, dtype);
    if (!as_is && !copy) return ct_last_status(device);
    ct__output out;
    ct_status s = ct__file_begin(&out, device, path);
    if (!s) s = ct__file_end(&out, save(&out, copy ? copy : t, format));
    ct_release(copy);
    return s;
}
