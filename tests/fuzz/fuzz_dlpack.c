/* libFuzzer: any bytes as a DLPack descriptor, of both ABIs. It points into a buffer that ends with the last
 * of its elements, so that a read beyond is seen. A descriptor that makes no sense is refused with a line
 * that says why, and stays the caller's. One that is accepted has its elements, is exported and imported
 * again, and is released once. */
#include <cotangent/io.h>

#include "bytes.h"
#include "tensor/io/dlpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LONGEST = 1 << 16, DIMS = 10 };

typedef struct descriptor {
    union {
        ct__dl_managed managed;
        ct__dl_versioned versioned;
    } as;
    bool versioned;
    int deleted;
    int64_t shape[DIMS], strides[DIMS];
    unsigned char *buffer;
} descriptor;

static void delete_managed(ct__dl_managed *m) { ((descriptor *)m->context)->deleted++; }
static void delete_versioned(ct__dl_versioned *m) { ((descriptor *)m->context)->deleted++; }

/* Mostly small, sometimes anything. */
static int64_t extent(bytes *b)
{
    uint8_t how = byte(b);
    return how < 240 ? how % 7 : how < 250 ? INT64_MAX >> (how - 240) * 7 : (int64_t)word(b);
}

static void decode(bytes *b, ct__dl_tensor *t, descriptor *d)
{
    static const uint8_t kinds[][2] = { { 2, 64 }, { 2, 32 }, { 2, 16 }, { 4, 16 }, { 0, 64 } };
    uint8_t kind = byte(b);
    t->code = kind < 240 ? kinds[kind % 5][0] : byte(b);
    t->bits = kind < 240 ? kinds[kind % 5][1] : byte(b);
    t->lanes = kind < 250 ? 1 : byte(b);
    uint8_t place = byte(b);
    t->device_type = place < 245 ? CT__DL_CPU : byte(b);
    t->device_id = place < 250 ? 0 : (int32_t)word(b);
    uint8_t ndim = byte(b);
    t->ndim = ndim < 245 ? ndim % DIMS : (int32_t)word(b);
    for (int i = 0; i < DIMS; i++) d->shape[i] = extent(b), d->strides[i] = extent(b);
    uint8_t parts = byte(b);
    t->shape = parts & 15 ? d->shape : NULL;
    t->strides = parts & 16 ? d->strides : NULL;
    uint8_t offset = byte(b);
    t->byte_offset = offset < 240 ? 8u * (offset % 5) : offset < 250 ? offset % 16 : word(b);
}

/* The number of bytes that the descriptor reaches, in 128-bit arithmetic; -1 where it makes no sense or they
 * are more than LONGEST. */
static int64_t reach(const ct__dl_tensor *t)
{
    bool known = t->lanes == 1 &&
                 ((t->code == CT__DL_FLOAT && (t->bits == 16 || t->bits == 32 || t->bits == 64)) ||
                  (t->code == CT__DL_BFLOAT && t->bits == 16) || (t->code == CT__DL_INT && t->bits == 64));
    if (!known || t->device_type != CT__DL_CPU || t->device_id || t->ndim < 0 || t->ndim > CT_MAX_DIMS ||
        (t->ndim && !t->shape))
        return -1;
    __int128 last = 0, dense = 1;
    bool empty = false;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->shape[i] < 0) return -1;
        empty |= t->shape[i] == 0;
    }
    for (int i = t->ndim - 1; i >= 0 && !empty; i--) {
        int64_t stride = t->strides ? t->strides[i] : 0;
        if (t->shape[i] > 1 && stride < 0) return -1;
        last += (t->shape[i] - (__int128)1) * (t->strides ? stride : dense);
        dense *= t->shape[i];
        if (last > LONGEST || dense > LONGEST) return -1;
    }
    if (t->byte_offset > LONGEST) return -1;
    return (int64_t)t->byte_offset + (empty ? 0 : ((int64_t)last + 1) * (t->bits / 8));
}

static void use(ct_device *dev, ct_tensor *x)
{
    size_t bytes = (size_t)ct_tensor_count(x) * ct_dtype_size(ct_tensor_dtype(x));
    void *values = malloc(bytes + 1), *again = malloc(bytes + 1);
    MUST(values && again && !ct_read(x, values, bytes));
    struct DLManagedTensor *out = ct_to_dlpack(x);
    ct_tensor *back = ct_from_dlpack(dev, out);
    MUST(back && ct_shape_equal(ct_tensor_shape(back), ct_tensor_shape(x)));
    ct_tensor *twice = ct_tensor_transpose(back);
    ct_tensor *copy = twice ? ct_tensor_clone(twice) : NULL;
    MUST(!ct_read(back, again, bytes) && !memcmp(values, again, bytes));
    ct_release(copy);
    ct_release(twice);
    ct_release(back);
    free(values);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static ct_device *dev;
    if (!dev) dev = ct_device_open("cpu");
    bytes b = { data, data + size };
    descriptor d = { .versioned = byte(&b) & 1 };
    ct__dl_tensor *t = d.versioned ? &d.as.versioned.tensor : &d.as.managed.tensor;
    if (d.versioned) {
        uint8_t version = byte(&b);
        d.as.versioned.major = version < 245 ? CT__DL_MAJOR : byte(&b);
        d.as.versioned.minor = version;
        d.as.versioned.flags = version < 240 ? 0 : byte(&b);
        d.as.versioned.context = &d, d.as.versioned.deleter = delete_versioned;
    } else
        d.as.managed.context = &d, d.as.managed.deleter = delete_managed;
    decode(&b, t, &d);
    int64_t bytes = reach(t);
    d.buffer = malloc(bytes < 0 ? 1 : (size_t)bytes);
    MUST(d.buffer || bytes == 0);
    if (bytes > 0) memset(d.buffer, 1, (size_t)bytes);
    t->data = byte(&b) < 250 ? d.buffer : NULL;

    ct_tensor *x = d.versioned
                       ? ct_from_dlpack_versioned(dev, (struct DLManagedTensorVersioned *)&d.as.versioned)
                       : ct_from_dlpack(dev, (struct DLManagedTensor *)&d.as.managed);
    if (x) {
        if (bytes >= 0) use(dev, x);
        MUST(!d.deleted);
        ct_release(x);
        MUST(d.deleted == 1);
    } else
        MUST(!d.deleted && ct_last_status(dev) && *ct_message(dev) && !strchr(ct_message(dev), '\n'));
    MUST(ct_memory(dev).bytes_now == 0);
    free(d.buffer);
    return 0;
}
