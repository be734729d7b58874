/* The CUDA backend, linked with the program instead of loaded. */
#include "module.h"

const ct_backend *ct__cuda_backend(ct_device *dev, int ordinal)
{
    (void)dev, (void)ordinal;
    return &ct__cuda_table;
}
