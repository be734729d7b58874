/* The functions of the CUDA backend: the one header that its C and its CUDA files share. */
#ifndef CT_TENSOR_CUDA_PRIMITIVES_H
#define CT_TENSOR_CUDA_PRIMITIVES_H

#ifdef __cplusplus
extern "C" {
#endif

#include "tensor/internal.h"

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
#undef PROTOTYPE

#ifdef __cplusplus
}
#endif

#endif
