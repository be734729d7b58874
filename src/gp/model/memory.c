#include "memory.h"

#include "gp/factor/place.h"

uint64_t ct_gp_bytes_needed(const ct_device *device, int64_t n, int64_t d, ct_dtype dtype, bool fitting)
{
    if (n < 0 || d < 0 || n > INT32_MAX || d > INT32_MAX || (unsigned)dtype > CT_F32) return UINT64_MAX;
    uint64_t size = dtype == CT_F32 ? 4 : 8, rows = (uint64_t)n, cols = (uint64_t)d;
    if (rows && (cols + 64) > UINT64_MAX / 64 / rows) return UINT64_MAX;
    /* a packed triangle, or a small square, whose largest a few more points need, too; and the larger of two
     * panels: the sweep's, and that of contraction or prediction */
    ct_shape packed = ct__packed_shape(n);
    uint64_t triangle = (uint64_t)packed.dim[0] * (uint64_t)packed.dim[1];
    uint64_t side = rows < CT__SQUARE ? rows : CT__SQUARE;
    if (fitting && triangle < side * side) triangle = side * side;
    uint64_t sweep = ct_prim_sweep_bytes(device, dtype, n);
    uint64_t panel = fitting ? 0 : size * ct__packed_panel_most(n, dtype);
    if (sweep == UINT64_MAX) return sweep;
    return size * (triangle + rows * (2 * cols + 64)) + (sweep > panel ? sweep : panel) + (1u << 20);
}

uint64_t ct__gp_bytes(const ct_device *device, struct ct_comm *comm, int64_t n, int64_t d, ct_dtype dtype,
                      bool fitting)
{
    uint64_t alone = ct_gp_bytes_needed(device, n, d, dtype, fitting);
    if (ct__comm_is_one(comm) || alone == UINT64_MAX) return alone;
    const ct__grid grid = ct__grid_of(comm, n);
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
