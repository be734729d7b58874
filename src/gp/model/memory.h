/* The bytes that a model takes. */
#ifndef CT_GP_MEMORY_H
#define CT_GP_MEMORY_H

#include <cotangent/gp/model.h>

/* CT_ENOMEM if `bytes` more than now would exceed the device's limit. The message names the remedy, and also
 * f32 if the caller can use it (`narrower`) and half of the bytes would fit. */
ct_status ct__gp_reserve(ct_device *device, uint64_t bytes, bool narrower, const char *what,
                         const char *remedy);
/* The bytes that a process of the communicator needs for a factor or, with `fitting`, a likelihood. */
uint64_t ct__gp_bytes(const ct_device *device, struct ct_comm *comm, int64_t n, int64_t d, ct_dtype dtype,
                      bool fitting);

#endif
