/* The table of the CUDA backend. */
#include "primitives.h"

/* clang-format off */
#define ENTRY(name) .name = ct__cuda_##name,
const ct_backend ct__cuda_table = {
    .name = "cuda",
    .host_memory = false,
    CT__CUDA_DEVICE(ENTRY)
    CT_PRIMITIVES(ENTRY)
};
