/* The table of the CUDA backend. */
#include "cuda.h"

/* What the library calls, with the GPU current. */
template <auto F> struct entry;
template <typename R, typename... P, R (*F)(ct_device *, P...)> struct entry<F> {
    static R call(ct_device *dev, P... p)
    {
        const ct__cuda *cuda = ct__cuda_of(dev);
        const ct__current now(cuda->driver, cuda->context);
        return F(dev, p...);
    }
};

static constexpr ct_backend table()
{
    ct_backend t = {};
    t.name = "cuda";
#define ENTRY(name)             t.name = entry<ct__cuda_##name>::call;
#define CT_PRIMITIVE(name, ...) ENTRY(name)
#define CT_FLAGGING             CT_PRIMITIVE
    CT__CUDA_DEVICE(ENTRY)
#include <cotangent/primitives.inc>
    CT__MORE_ENTRIES(ENTRY)
    t.open = ct__cuda_open; /* there is no GPU before */
    return t;
}

const ct_backend ct__cuda_table = table();
