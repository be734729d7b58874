/* DLPack: exchanges tensors with other libraries in the same process, without a copy. */
#include <cotangent/io.h>

#include "dlpack.h"
#include "tensor/internal.h"

#include <stdlib.h>
#include <string.h>

/* The dtypes that both the library and DLPack have. */
static const struct {
    uint8_t code, bits;
} dtypes[] = {
    [CT_F64] = { CT__DL_FLOAT, 64 },   [CT_F32] = { CT__DL_FLOAT, 32 }, [CT_I64] = { CT__DL_INT, 64 },
    [CT_BF16] = { CT__DL_BFLOAT, 16 }, [CT_F16] = { CT__DL_FLOAT, 16 },
};

/* DLPack's type and id of the device; type 0 if DLPack has none. "cuda:1" has the id 1. */
static void device_place(const ct_device *device, int32_t *type, int32_t *id)
{
    const char *backend = device->backend->name, *colon = strchr(device->name, ':');
    *type = !strcmp(backend, "cpu") ? CT__DL_CPU : !strcmp(backend, "cuda") ? CT__DL_CUDA : 0;
    *id = colon ? (int32_t)strtol(colon + 1, NULL, 10) : 0;
}

/* -- export ---------------------------------------------------------------------------------------------- */

/* The deleter of an exported struct, whose context is our tensor with a reference. */
static void take_back(ct_tensor *t, void *managed, size_t bytes)
{
    ct__host_free(ct_tensor_device(t), managed, bytes);
    ct_release(t);
}

static void managed_deleter(ct__dl_managed *self) { take_back(self->context, self, sizeof *self); }
static void versioned_deleter(ct__dl_versioned *self) { take_back(self->context, self, sizeof *self); }

/* Allocates the struct of that many bytes, and describes t in *out. */
static void *hand_out(ct_tensor *t, size_t bytes, ct__dl_tensor *out)
{
    if (!t) return NULL;
    ct_device *device = ct_tensor_device(t);
    *out = (ct__dl_tensor){ .data = ct_tensor_count(t) ? t->view.data : NULL,
                            .ndim = t->view.ndim,
                            .code = dtypes[t->view.dtype].code,
                            .bits = dtypes[t->view.dtype].bits,
                            .lanes = 1,
                            .shape = t->view.dim,
                            .strides = t->view.stride };
    device_place(device, &out->device_type, &out->device_id);
    if (out->device_type) return ct__host_alloc(device, bytes);
    ct__fail(device, CT_EDEVICE, "DLPack has no name for the device %s", device->name);
    return NULL;
}

struct DLManagedTensor *ct_to_dlpack(ct_tensor *t)
{
    ct__dl_tensor tensor;
    ct__dl_managed *m = hand_out(t, sizeof *m, &tensor);
    if (m) *m = (ct__dl_managed){ .tensor = tensor, .context = ct_retain(t), .deleter = managed_deleter };
    return (struct DLManagedTensor *)m;
}

struct DLManagedTensorVersioned *ct_to_dlpack_versioned(ct_tensor *t)
{
    ct__dl_tensor tensor;
    ct__dl_versioned *m = hand_out(t, sizeof *m, &tensor);
    if (m)
        *m = (ct__dl_versioned){ .major = CT__DL_MAJOR,
                                 .minor = CT__DL_MINOR,
                                 .context = ct_retain(t),
                                 .deleter = versioned_deleter,
                                 .tensor = tensor };
    return (struct DLManagedTensorVersioned *)m;
}

/* -- streams --------------------------------------------------------------------------------------------- */

void *ct_device_stream(ct_device *device)
{
    return device && !device->status && device->backend->stream ? device->backend->stream(device) : NULL;
}

static ct_status join(ct_device *device, void *stream, bool ours)
{
    if (!device || device->status) return ct_device_status(device);
    return device->backend->join ? device->backend->join(device, stream, ours) : CT_OK;
}

ct_status ct_device_wait_stream(ct_device *device, void *stream) { return join(device, stream, true); }
ct_status ct_stream_wait_device(void *stream, ct_device *device) { return join(device, stream, false); }

/* -- import ---------------------------------------------------------------------------------------------- */

static void release_managed(void *context, void *data)
{
    (void)data;
    ct__dl_managed *m = context;
    if (m->deleter) m->deleter(m);
}

static void release_versioned(void *context, void *data)
{
    (void)data;
    ct__dl_versioned *m = context;
    if (m->deleter) m->deleter(m);
}

/* Reads shape and strides of d. Dimensions of extent 1, or of an empty tensor, may have any stride; it is
 * replaced by the row-major one. */
static ct_status read_layout(ct_device *device, const ct__dl_tensor *d, ct_shape *shape, int64_t *stride)
{
    if (d->ndim < 0 || d->ndim > CT_MAX_DIMS || (d->ndim && !d->shape))
        return ct__fail(device, CT_ESHAPE, "DLPack: %d dimensions%s: at most %d can be taken", (int)d->ndim,
                        d->ndim > 0 && !d->shape ? " without a shape" : "", CT_MAX_DIMS);
    *shape = ct_shape_of(d->ndim, d->shape);
    int64_t count = ct_shape_count(*shape), dense = 1, last = 0;
    for (int i = d->ndim - 1; i >= 0 && count >= 0; i--) {
        int64_t n = d->shape[i], span;
        stride[i] = d->strides && n > 1 && count ? d->strides[i] : dense;
        if (stride[i] < 0)
            return ct__fail(device, CT_EINVAL,
                            "DLPack: dimension %d has the stride %lld: hand over a copy with strides >= 0", i,
                            (long long)stride[i]);
        if (n > 1) dense *= n;
        if (count &&
            (__builtin_mul_overflow(n - 1, stride[i], &span) || __builtin_add_overflow(last, span, &last)))
            count = -1;
    }
    if (count < 0 || last > INT64_MAX / 16) {
        char text[96];
        return ct__fail(device, CT_ESHAPE, "DLPack: the shape %s is no shape of elements in memory",
                        ct__shape_text(*shape, text, sizeof text));
    }
    return CT_OK;
}

/* Checks that the device can take the tensor. Sets its dtype and the address of its first element. */
static ct_status inspect(ct_device *device, const ct__dl_tensor *d, ct_dtype *dtype, uintptr_t *first)
{
    int32_t type, id;
    device_place(device, &type, &id);
    if (d->device_type != type || d->device_id != id)
        return ct__fail(
            device, CT_EDEVICE,
            "DLPack: the memory is on device type %d, id %d, not on %s (type %d, id %d): move it first",
            (int)d->device_type, (int)d->device_id, device->name, (int)type, (int)id);
    size_t i = 0, known = sizeof dtypes / sizeof *dtypes;
    while (i < known && (d->lanes != 1 || d->code != dtypes[i].code || d->bits != dtypes[i].bits)) i++;
    if (i == known)
        return ct__fail(
            device, CT_EDTYPE,
            "DLPack: elements of code %d, %d bits, %d lanes: only f64, f32, bf16, f16 and i64 can be taken",
            d->code, d->bits, d->lanes);
    *dtype = (ct_dtype)i;
    *first = 0;
    if (d->data && __builtin_add_overflow((uintptr_t)d->data, d->byte_offset, first))
        return ct__fail(device, CT_EINVAL, "DLPack: the byte offset %llu leads outside of memory",
                        (unsigned long long)d->byte_offset);
    return CT_OK;
}

static ct_tensor *import(ct_device *device, const ct__dl_tensor *d, void (*release)(void *, void *),
                         void *managed)
{
    ct_dtype dtype;
    uintptr_t first;
    ct_shape shape;
    int64_t stride[CT_MAX_DIMS];
    ct_status s = inspect(device, d, &dtype, &first);
    if (!s) s = read_layout(device, d, &shape, stride);
    if (!s && !d->data && ct_shape_count(shape)) s = ct__fail(device, CT_EINVAL, "DLPack: the data is NULL");
    return s ? NULL : ct__wrap(device, dtype, shape, stride, (void *)first, release, managed);
}

static bool can_import(ct_device *device, const void *managed)
{
    if (!device || device->status) return false;
    if (!managed) ct__fail(device, CT_EINVAL, "DLPack: the tensor is NULL");
    return managed;
}

ct_tensor *ct_from_dlpack(ct_device *device, struct DLManagedTensor *managed)
{
    ct__dl_managed *m = (ct__dl_managed *)managed;
    return can_import(device, m) ? import(device, &m->tensor, release_managed, m) : NULL;
}

ct_tensor *ct_from_dlpack_versioned(ct_device *device, struct DLManagedTensorVersioned *managed)
{
    ct__dl_versioned *m = (ct__dl_versioned *)managed;
    if (!can_import(device, m)) return NULL;
    ct_status s = CT_OK;
    if (m->major != CT__DL_MAJOR)
        s = ct__fail(device, CT_EUNSUPPORTED, "DLPack: version %u.%u, only %d.x can be taken",
                     (unsigned)m->major, (unsigned)m->minor, CT__DL_MAJOR);
    else if (m->flags & CT__DL_READ_ONLY)
        s = ct__fail(device, CT_EUNSUPPORTED, "DLPack: the tensor is read-only: hand over a writable copy");
    return s ? NULL : import(device, &m->tensor, release_versioned, m);
}
