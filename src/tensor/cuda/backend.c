/* The table of the CUDA backend. */
#include "primitives.h"

/* clang-format off */
#define ENTRY(name)             .name = ct__cuda_##name,
#define CT_PRIMITIVE(name, ...) ENTRY(name)
#define CT_FLAGGING             CT_PRIMITIVE
const ct_backend ct__cuda_table = {
    .name = "cuda",
    .host_memory = false,
    CT__CUDA_DEVICE(ENTRY)
#include <cotangent/primitives.inc>
    CT__MORE_ENTRIES(ENTRY)
};
