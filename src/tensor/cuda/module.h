/* The ABI between the library and the module with its CUDA backend, and the functions of that backend. This
 * is the only header that the library's C files and the CUDA files share. */
#ifndef CT_TENSOR_CUDA_MODULE_H
#define CT_TENSOR_CUDA_MODULE_H

#ifdef __cplusplus
extern "C" {
#endif

#include "tensor/internal.h"

#define CT__MODULE_FILE   "libcotangent-cuda.so"
#define CT__MODULE_SYMBOL "ct__cuda_module"

/* The version and the sizes of the structures that both use. */
enum { CT__ABI_COUNT = 12 };
#define CT__ABI                                                                                 \
    {                                                                                           \
        CT__ABI_COUNT, CT_VERSION_MAJOR, CT_VERSION_MINOR, CT_VERSION_PATCH, sizeof(ct_device), \
            sizeof(ct_backend), sizeof(ct_services), sizeof(ct_view), sizeof(ct_storage),       \
            sizeof(ct_failure), CT_MAP1_COUNT, CT_MAP2_COUNT                                    \
    }

/* The module's only symbol. */
typedef struct ct__module {
    uint32_t abi[CT__ABI_COUNT];
    const ct_backend *backend;
} ct__module;

extern const ct_backend ct__cuda_table;

/* clang-format off */
#define CT__CUDA_DEVICE(M)                                                                           \
    M(allocate) M(release) M(trim) M(upload) M(download) M(synchronize)                              \
    M(capture_begin) M(capture_status) M(capture_end) M(graph_launch) M(graph_free) M(stream) M(join)
/* clang-format on */

#define PROTOTYPE(name)         CT__ENTRY(name) ct__cuda_##name;
#define CT_PRIMITIVE(name, ...) PROTOTYPE(name)
#define CT_FLAGGING             CT_PRIMITIVE
PROTOTYPE(open)
PROTOTYPE(close)
CT__CUDA_DEVICE(PROTOTYPE)
#include <cotangent/primitives.inc>
CT__MORE_ENTRIES(PROTOTYPE)
PROTOTYPE(sweep_bytes)
#undef PROTOTYPE

#ifdef __cplusplus
}
#endif

#endif
