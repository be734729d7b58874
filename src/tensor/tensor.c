/* Tensors: lifetime and creation. */
#include "debug.h"
#include "internal.h"

/* -- lifetime -------------------------------------------------------------------------------------------- */

/* Makes the uninitialised t a tensor of all of `storage` (taken over) with row-major strides. */
static inline ct_tensor *set_up(ct_tensor *t, ct_storage *storage, ct_dtype dtype, int ndim,
                                const int64_t *dim)
{
    t->refs = 1;
    t->view.storage = storage;
    t->view.data = storage->data;
    t->view.dtype = dtype;
    t->view.ndim = ndim;
    ct__lay_out(&t->view, dim);
    return t;
}

static void release_storage(ct_storage *s)
{
    ct__assert(s->refs > 0);
    if (--s->refs) return;
    ct_device *dev = s->device;
    if (s->small) {
        dev->memory.bytes_now -= s->small;
        ct__struct_put(dev, s, sizeof(ct__small) + s->small);
    } else {
        if (s->bytes)
            ct__pool_return(dev, s->pool, s->data, s->bytes);
        else if (s->release)
            s->release(s->context, s->data);
        ct__struct_put(dev, s, sizeof *s);
    }
    if (!--dev->refs) ct__device_destroy(dev);
}

/* Whether t is the first tensor of a small storage and so part of its block. */
static inline bool is_part(const ct_tensor *t)
{
    return t->view.storage->small && t == &((const ct__small *)t->view.storage)->tensor;
}

ct_tensor *ct_retain(ct_tensor *t)
{
    if (!t) return NULL;
    ct__assert(t->refs > 0);
    t->refs++;
    return t;
}

void ct_release(ct_tensor *t)
{
    if (!t) return;
    ct__assert(t->refs > 0);
    if (--t->refs) return;
    ct_storage *storage = t->view.storage;
    if (!is_part(t)) ct__struct_put(storage->device, t, sizeof *t);
    release_storage(storage);
}

ct_tensor *ct__tensor_if(ct_status s, ct_tensor *t)
{
    if (!s) return t;
    ct_release(t);
    return NULL;
}

ct_tensor *ct__share(ct_view v)
{
    ct_tensor *t = v.storage ? ct__struct_get(v.storage->device, sizeof *t) : NULL;
    if (!t) return NULL;
    ct__assert(ct__is_laid_out(&v));
    t->view = v;
    t->refs = 1;
    v.storage->refs++;
    return t;
}

bool ct__sole_owner(const ct_tensor *t)
{
    bool wrapped = !t->view.storage->bytes && !t->view.storage->small;
    return t->refs == 1 && t->view.storage->refs == 1 && !wrapped;
}

/* -- creation -------------------------------------------------------------------------------------------- */

/* The elements that a shape's strides would span if its extents of 0 were 1. */
static int64_t spanned(ct_shape shape)
{
    for (int i = 0; i < shape.ndim; i++)
        if (!shape.dim[i]) shape.dim[i] = 1;
    return ct__shape_count(&shape);
}

/* The bytes that a shape takes in a dtype. A failure is kept on the device. */
static inline ct_status shape_bytes(ct_device *dev, ct_dtype dtype, const ct_shape *shape, size_t *bytes)
{
    char text[96];
    if (!dev) return CT_EINVAL;
    if (dev->status) return dev->status;
    if ((unsigned)dtype > CT_F16) return ct__fail(dev, CT_EDTYPE, "there is no dtype %d", (int)dtype);
    int64_t count = ct__shape_count(shape), span = count ? count : spanned(*shape);
    if (count < 0 || __builtin_mul_overflow((size_t)span, ct__size(dtype), bytes) || *bytes > INT64_MAX / 2)
        return ct__fail(dev, CT_ESHAPE,
                        "a tensor cannot have the shape %s: extents must be 0 or more, and all elements must "
                        "take less than 2^62 bytes",
                        ct__shape_text(*shape, text, sizeof text));
    if (!count) *bytes = 0;
    return CT_OK;
}

/* A tensor of all of a new storage for `data`. */
static ct_tensor *new_with(ct_device *dev, void *data, ct_dtype dtype, int ndim, const int64_t *dim)
{
    ct_storage *s = ct__struct_get(dev, sizeof *s);
    ct_tensor *t = s ? ct__struct_get(dev, sizeof *t) : NULL;
    if (t) {
        dev->refs++;
        *s = (ct_storage){ .device = dev, .data = data, .refs = 1 };
        return set_up(t, s, dtype, ndim, dim);
    }
    if (s) ct__struct_put(dev, s, sizeof *s);
    return NULL;
}

/* A tensor in a block of the pool. */
static ct_tensor *new_pooled(ct_device *dev, ct_dtype dtype, int ndim, const int64_t *dim, size_t bytes)
{
    void *data = ct__pool_get(dev, &bytes);
    ct_tensor *t = data ? new_with(dev, data, dtype, ndim, dim) : NULL;
    if (t) {
        t->view.storage->bytes = bytes;
        t->view.storage->pool = ct__pool_now(dev);
    } else {
        ct__pool_put(dev, data, bytes);
    }
    return t;
}

/* A tensor with its own uninitialised memory; `bytes` must fit dtype and extents. */
static inline ct_tensor *new_tensor(ct_device *dev, ct_dtype dtype, int ndim, const int64_t *dim,
                                    size_t bytes)
{
    ct_memory_info *m = &dev->memory;
    const size_t data = bytes ? (bytes + CT__ALIGNMENT - 1) / CT__ALIGNMENT * CT__ALIGNMENT : CT__ALIGNMENT;
    if (bytes > CT__SMALL_BYTES || !dev->backend->host_memory || m->bytes_now + data > m->limit)
        return new_pooled(dev, dtype, ndim, dim, bytes);
    m->requests++;
    void **next = &dev->structs[(sizeof(ct__small) + data - 1) / 64];
    m->from_pool += *next != NULL;
    ct__small *small = ct__struct_get(dev, sizeof *small + data);
    if (!small) return NULL;
    ct__prefetch((uintptr_t)*next, sizeof *small + data); /* for the next call */
    dev->refs++;
    small->storage = (ct_storage){ .device = dev, .data = small->data, .refs = 1, .small = (uint16_t)data };
    ct__account(dev, data);
    return set_up(&small->tensor, &small->storage, dtype, ndim, dim);
}

ct_tensor *ct__empty(ct_device *dev, ct_dtype dtype, const ct_shape *shape)
{
    size_t bytes;
    if (shape_bytes(dev, dtype, shape, &bytes)) return NULL;
    return new_tensor(dev, dtype, shape->ndim, shape->dim, bytes);
}

ct_tensor *ct__empty_like(const ct_view *like)
{
    return new_tensor(like->storage->device, like->dtype, like->ndim, like->dim,
                      (size_t)ct__count(like) * ct__size(like->dtype));
}

ct_tensor *ct_empty(ct_device *dev, ct_dtype dtype, ct_shape shape) { return ct__empty(dev, dtype, &shape); }

ct_tensor *ct_full(ct_device *dev, ct_dtype dtype, ct_shape shape, double value)
{
    ct_tensor *t = ct_empty(dev, dtype, shape);
    return t ? ct__tensor_if(dev->backend->fill(dev, &t->view, value), t) : NULL;
}

ct_tensor *ct_zeros(ct_device *dev, ct_dtype dtype, ct_shape shape) { return ct_full(dev, dtype, shape, 0); }

ct_tensor *ct__wrap(ct_device *dev, ct_dtype dtype, ct_shape shape, const int64_t *strides, void *data,
                    void (*release)(void *context, void *data), void *context)
{
    size_t bytes = 0;
    if (shape_bytes(dev, dtype, &shape, &bytes)) return NULL;
    if (!data && bytes) {
        ct__fail(dev, CT_EINVAL, "the buffer to wrap is NULL");
        return NULL;
    }
    if ((uintptr_t)data % ct_dtype_size(dtype)) {
        ct__fail(dev, CT_EINVAL, "the buffer to wrap is not aligned to its %s elements",
                 ct_dtype_name(dtype));
        return NULL;
    }
    int64_t last = 0, span; /* last: the distance of the last element from the first */
    for (int i = 0; strides && i < shape.ndim; i++)
        if (bytes && shape.dim[i] > 1 &&
            (strides[i] < 0 || __builtin_mul_overflow(shape.dim[i] - 1, strides[i], &span) ||
             __builtin_add_overflow(last, span, &last) || last > INT64_MAX / 16)) {
            ct__fail(dev, CT_EINVAL,
                     "stride %lld of dimension %d is not supported: strides must be 0 or more, and all "
                     "elements within 2^62 bytes",
                     (long long)strides[i], i);
            return NULL;
        }
    ct_tensor *t = new_with(dev, data, dtype, shape.ndim, shape.dim);
    if (!t) return NULL;
    t->view.storage->release = release;
    t->view.storage->context = context;
    for (int i = 0; strides && i < shape.ndim; i++)
        if (bytes && shape.dim[i] > 1) t->view.stride[i] = strides[i];
    return t;
}

ct_tensor *ct_wrap_strided(ct_device *dev, ct_dtype dtype, ct_shape shape, const int64_t *strides, void *data,
                           void (*release)(void *context, void *data), void *context)
{
    if (!dev || dev->status || dev->backend->host_memory)
        return ct__wrap(dev, dtype, shape, strides, data, release, context);
    ct__fail(dev, CT_EDEVICE, "host memory cannot be wrapped on %s: copy it in with ct_from", dev->name);
    return NULL;
}

ct_tensor *ct_wrap(ct_device *dev, ct_dtype dtype, ct_shape shape, void *data,
                   void (*release)(void *context, void *data), void *context)
{
    return ct_wrap_strided(dev, dtype, shape, NULL, data, release, context);
}

static ct_tensor *random_tensor(ct_device *dev, ct_dtype dtype, ct_shape shape, bool normal, uint64_t seed,
                                uint64_t stream)
{
    if (dev && dtype > CT_F32) {
        ct__fail(dev, CT_EDTYPE, "random tensors are f64 or f32, not %s: ct_tensor_cast converts one",
                 ct_dtype_name(dtype));
        return NULL;
    }
    ct_tensor *t = ct_empty(dev, dtype, shape);
    return t ? ct__tensor_if(dev->backend->random(dev, normal, seed, stream, &t->view), t) : NULL;
}

ct_tensor *ct_rand_uniform(ct_device *dev, ct_dtype dtype, ct_shape shape, uint64_t seed, uint64_t stream)
{
    return random_tensor(dev, dtype, shape, false, seed, stream);
}

ct_tensor *ct_rand_normal(ct_device *dev, ct_dtype dtype, ct_shape shape, uint64_t seed, uint64_t stream)
{
    return random_tensor(dev, dtype, shape, true, seed, stream);
}

/* -- what a tensor is ------------------------------------------------------------------------------------ */

ct_device *ct_tensor_device(const ct_tensor *t) { return t ? t->view.storage->device : NULL; }
ct_dtype ct_tensor_dtype(const ct_tensor *t) { return t ? t->view.dtype : CT_F64; }
int ct_tensor_ndim(const ct_tensor *t) { return t ? t->view.ndim : -1; }
void *ct_tensor_data(const ct_tensor *t) { return t ? t->view.data : NULL; }
ct_shape ct_tensor_shape(const ct_tensor *t) { return t ? ct__shape(&t->view) : (ct_shape){ .ndim = -1 }; }
int64_t ct_tensor_dim(const ct_tensor *t, int dim) { return t ? ct__dim(&t->view, dim) : 0; }
int64_t ct_tensor_count(const ct_tensor *t) { return t ? ct__count(&t->view) : 0; }
bool ct_tensor_is_contiguous(const ct_tensor *t) { return t && ct__is_contiguous(&t->view); }

int64_t ct_tensor_stride(const ct_tensor *t, int dim)
{
    if (!t) return 0;
    if (dim < 0) dim += t->view.ndim;
    return dim >= 0 && dim < t->view.ndim ? t->view.stride[dim] : 0;
}
