/* The CUDA backend of a build without CUDA: it opens nothing, and says what to do instead. */
#include "../internal.h"

static ct_status open(ct_device *dev, int ordinal)
{
    return ct__fail(dev, CT_EUNSUPPORTED, "cuda:%d: this build has no CUDA backend; open \"cpu\" instead",
                    ordinal);
}

static void close(ct_device *dev) { (void)dev; }

const ct_backend ct__cuda_backend = { .name = "cuda", .open = open, .close = close };
