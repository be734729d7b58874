/* Host memory for the library's own structs, from the device's allocator. */
#include "internal.h"

/* In whole cache lines, at least one. */
static size_t rounded(size_t bytes)
{
    return ((bytes ? bytes : 1) + CT__ALIGNMENT - 1) / CT__ALIGNMENT * CT__ALIGNMENT;
}

void *ct__host_alloc(ct_device *dev, size_t bytes)
{
    const bool sane = bytes <= SIZE_MAX / 2;
    void *p = sane ? dev->allocator.alloc(dev->allocator.context, rounded(bytes), CT__ALIGNMENT) : NULL;
    if (!p) ct__fail(dev, CT_ENOMEM, "out of memory: %zu bytes of host memory were asked for", bytes);
    return p;
}

void ct__host_free(ct_device *dev, void *p, size_t bytes)
{
    if (p) dev->allocator.release(dev->allocator.context, p, rounded(bytes));
}

void *ct__host_grow(ct_device *dev, void *block, size_t *capacity, size_t used, size_t wanted, size_t size)
{
    void *grown = ct__host_alloc(dev, wanted * size);
    if (!grown) return NULL;
    if (used) memcpy(grown, block, used * size);
    ct__host_free(dev, block, *capacity * size);
    *capacity = wanted;
    return grown;
}
