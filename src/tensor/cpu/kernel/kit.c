#include "kit.h"

const ct__kit *ct__kit_of(int isa, ct_dtype dtype)
{
    static const ct__kit *const kits[][CT__ISA_COUNT] = CT__EACH(ct__kit);
    return kits[dtype != CT_F64][isa];
}

/* The packed panels of B, whose rows have up to CT__PANEL_ROW bytes and of which the last is padded, and
 * CT__STRIPS strips of HIGH rows of A. A multiple of 64. */
size_t ct__product_work(ct_dtype dtype, int64_t extent)
{
    const int64_t size = (int64_t)ct_dtype_size(dtype), width = CT__PANEL_ROW / size;
    return (size_t)((ct__min(extent, CT__DEPTH) * ct__min(extent + width, CT__PANELS * width) +
                     8 * CT__STRIPS * CT__DEPTH) *
                        size +
                    63) /
           64 * 64;
}
