/* A model's memory on host and device, its tape's failures, its factor. */
#include <stdlib.h>

#include "gp/data/trend.h"
#include "gp/factor/system.h"

void *ct__gp_alloc(ct_device *device, uint64_t count, size_t size)
{
    void *p = count < SIZE_MAX / 2 / size ? calloc(count ? (size_t)count : 1, size) : NULL;
    if (!p) ct_device_fail(device, CT_ENOMEM, "out of memory: %llu numbers", (unsigned long long)count);
    return p;
}

ct_status ct__gp_arrays(ct_device *device, uint64_t n, double **const array[], int count)
{
    double *all = ct__gp_alloc(device, n * (uint64_t)count, sizeof *all);
    for (int k = 0; k < count && all; k++) *array[k] = all + (uint64_t)k * n;
    return all ? CT_OK : CT_ENOMEM;
}

uint64_t ct_gp_bytes_needed(int64_t n, int64_t d, ct_dtype dtype, bool fitting)
{
    if (n < 0 || d < 0 || n > INT32_MAX || d > INT32_MAX || (unsigned)dtype > CT_F32) return UINT64_MAX;
    uint64_t size = dtype == CT_F32 ? 4 : 8, rows = (uint64_t)n, cols = (uint64_t)d;
    if (rows && (cols + 64) > UINT64_MAX / 64 / rows) return UINT64_MAX;
    /* a packed triangle or a small square, and the larger of two panels: the sweep's, and that of contraction
     * or prediction */
    ct_shape matrix = fitting && n <= CT__SQUARE ? ct_shape2(n, n) : ct__packed_shape(n);
    uint64_t triangle = (uint64_t)matrix.dim[0] * (uint64_t)matrix.dim[1];
    uint64_t pivots = rows <= 300 ? 128 : rows <= 1500 ? 192 : 384, sweep = (rows + 4 * pivots) * pivots;
    uint64_t panel = fitting ? 0 : rows * (uint64_t)ct__packed_panel(n, dtype);
    return size * (triangle + (sweep > panel ? sweep : panel) + rows * (2 * cols + 64)) + (1u << 20);
}

ct__grid ct__gp_grid(const ct_gp *gp) { return ct__grid_of(gp->options.group, gp->n); }

ct__packed ct__gp_factor_of(const ct_gp *gp)
{
    const ct__grid grid = ct__gp_grid(gp);
    const ct_view L = ct_view_of(gp->factor.L);
    return grid.group ? ct__packed_on(&grid, L) : ct__packed_of(L, gp->n);
}

uint64_t ct__gp_bytes(struct ct_group *group, int64_t n, int64_t d, ct_dtype dtype, bool fitting)
{
    uint64_t alone = ct_gp_bytes_needed(n, d, dtype, fitting);
    if (ct__group_is_one(group) || alone == UINT64_MAX) return alone;
    const ct__grid grid = ct__grid_of(group, n);
    const uint64_t rows = (uint64_t)ct__packed_panel(n, dtype),
                   panel = fitting ? 0 : 2 * rows + (uint64_t)grid.b;
    return ct__grid_bytes(&grid, dtype) +
           ct_dtype_size(dtype) * (uint64_t)n * (panel + 2 * (uint64_t)d + 64) + (1u << 20);
}

ct_status ct__gp_reserve(ct_device *device, uint64_t bytes, bool narrower, const char *what,
                         const char *remedy)
{
    ct_memory_info memory = ct_memory(device);
    uint64_t room = memory.limit > memory.bytes_now ? memory.limit - memory.bytes_now : 0;
    if (bytes <= room) return CT_OK;
    narrower = narrower && bytes / 2 + (1u << 20) <= room;
    return ct_device_fail(device, CT_ENOMEM,
                          "%s needs %llu bytes (%.3g GB), the device may hold %llu more: %s%s", what,
                          (unsigned long long)bytes, (double)bytes * 1e-9, (unsigned long long)room, remedy,
                          narrower ? ", or f32" : "");
}

ct_status ct__gp_tape_failed(ct_gp *gp, const char *what)
{
    ct_status status = ct_tape_status(gp->tape);
    if (!status)
        ct_device_fail(gp->device, status = CT_ENUMERIC,
                       "%s is not finite: look for a y far from all others, or bring the parameters nearer "
                       "to the data's scale",
                       what);
    else if (status == CT_ENUMERIC)
        ct_device_fail(
            gp->device, status,
            "%s is not positive definite (%.200s): learn a noise, raise it, or drop duplicate rows", what,
            ct_tape_reason(gp->tape));
    else
        ct_device_fail(gp->device, status, "%s: %.400s", what, ct_tape_reason(gp->tape));
    ct_tape_reset(gp->tape);
    return status;
}

void ct__gp_drop_factor(ct_gp *gp)
{
    ct_release(gp->factor.L);
    ct_release(gp->factor.alpha);
    ct_release(gp->factor.trend);
    gp->factor = (ct__gp_factor){ 0 };
}

void ct__gp_drop_rows(ct_gp *gp)
{
    ct__gp_drop_factor(gp);
    ct_release(gp->X);
    ct_release(gp->y);
    ct_release(gp->given);
    ct_release(gp->shared);
    ct__trend_drop(gp);
}
