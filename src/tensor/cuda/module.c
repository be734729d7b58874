/* The CUDA backend as a module, loaded by load.c. It shares no symbol with the library; it calls the
 * library's services through the device. */
#include "module.h"

extern CT_API const ct__module ct__cuda_module;
const ct__module ct__cuda_module = { CT__ABI, &ct__cuda_table };

void *ct__pool_get(ct_device *dev, size_t *bytes) { return dev->services->pool_get(dev, bytes); }
void ct__pool_put(ct_device *dev, void *data, size_t bytes) { dev->services->pool_put(dev, data, bytes); }
void *ct__host_alloc(ct_device *dev, size_t bytes) { return dev->services->host_alloc(dev, bytes); }
void ct__host_free(ct_device *dev, void *p, size_t bytes) { dev->services->host_free(dev, p, bytes); }
int64_t *ct__failure_note(ct_device *dev, ct_failure *f) { return dev->services->failure_note(dev, f); }

ct_status ct__fail(ct_device *dev, ct_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    ct__message(dev->message, sizeof dev->message, format, args);
    va_end(args);
    return dev->last_status = status;
}
