/* A module of another version. */
#include "tensor/cuda/module.h"

extern CT_API const ct__module ct__cuda_module;
const ct__module ct__cuda_module = {
    { CT__ABI_COUNT, CT_VERSION_MAJOR, CT_VERSION_MINOR, CT_VERSION_PATCH + 1 }, NULL
};
