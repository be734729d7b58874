/* Complete files as bytes: the public functions over file.h. */
#include <cotangent/io.h>

#include "internal.h"
#include "tensor/io/file.h"

ct_status ct_bytes_save(ct_device *device, const char *path, const void *data, size_t bytes)
{
    if (bytes && !data) return ct__fail(device, CT_EINVAL, "ct_bytes_save: the data are NULL");
    ct__output out;
    ct_status s = ct__file_begin(&out, device, path);
    if (!s) s = ct__file_write(&out, data, bytes);
    return s ? s : ct__file_commit(&out);
}

ct_status ct_bytes_load(ct_device *device, const char *path, ct_bytes *bytes)
{
    if (!bytes) return ct__fail(device, CT_EINVAL, "ct_bytes_load: the destination is NULL");
    ct__bytes all;
    ct_status s = ct__file_read(device, path, 0, &all);
    *bytes = (ct_bytes){ .data = all.data, .size = all.size, .capacity = all.capacity };
    return s;
}

void ct_bytes_free(ct_device *device, ct_bytes *bytes)
{
    if (!bytes || !bytes->data) return;
    ct__bytes all = { .data = bytes->data, .size = bytes->size, .capacity = bytes->capacity };
    ct__bytes_free(device, &all);
    *bytes = (ct_bytes){ 0 };
}
