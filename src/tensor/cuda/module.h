/* What the library and the module with its CUDA backend must agree on. */
#ifndef CT_TENSOR_CUDA_MODULE_H
#define CT_TENSOR_CUDA_MODULE_H

#include "tensor/internal.h"

#define CT__MODULE_FILE   "libcotangent-cuda.so"
#define CT__MODULE_SYMBOL "ct__cuda_module"

/* The version, and the sizes of what both see the inside of. */
enum { CT__ABI_COUNT = 12 };
#define CT__ABI                                                                                 \
    {                                                                                           \
        CT__ABI_COUNT, CT_VERSION_MAJOR, CT_VERSION_MINOR, CT_VERSION_PATCH, sizeof(ct_device), \
            sizeof(ct_backend), sizeof(ct_services), sizeof(ct_view), sizeof(ct_storage),       \
            sizeof(ct_failure), CT_MAP1_COUNT, CT_MAP2_COUNT                                    \
    }

/* The module's one symbol. */
typedef struct ct__module {
    uint32_t abi[CT__ABI_COUNT];
    const ct_backend *backend;
} ct__module;

#endif
