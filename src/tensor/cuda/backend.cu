/* The table of the CUDA backend. */
#include "cuda.h"

/* Calls F with the device's GPU current. */
template <auto F, typename R, typename... P> static R entered(ct_device *dev, P... p)
{
    const ct__current now(ct__cuda_of(dev));
    return F(dev, p...);
}

/* clang-format off */
#define ENTRY(name)             .name = entered<ct__cuda_##name>,
#define CT_PRIMITIVE(name, ...) ENTRY(name)
#define CT_FLAGGING             CT_PRIMITIVE
const ct_backend ct__cuda_table = {
    .name = "cuda",
    .host_memory = false,
    .open = ct__cuda_open,
    .close = ct__cuda_close,
    CT__CUDA_DEVICE(ENTRY)
    .spread = NULL,
#include <cotangent/primitives.inc>
    CT__MORE_ENTRIES(ENTRY)
    .sweep_bytes = ct__cuda_sweep_bytes,
    .number1 = NULL,
    .number1_bar = NULL,
    .number2 = NULL,
    .number2_bar = NULL,
    .affine = NULL,
    .packed_sweep = NULL,
    .gaussians = NULL,
    .keeps_root = NULL,
    .potri_root = NULL,
    .inverse_root_bar = NULL,
};
