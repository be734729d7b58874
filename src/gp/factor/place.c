#include "place.h"

#include "memory.h"
#include "processes.h"

ct__factor ct__factor_of(const ct__grid *grid, ct_view numbers, int64_t n)
{
    return grid->comm ? ct__factor_on(grid, numbers) : ct__factor_packed(numbers, n);
}

ct__factor ct__factor_new(ct_call *c, const ct__grid *grid, int64_t n, ct_dtype dtype, bool square)
{
    if (square && n <= CT__SQUARE && !grid->comm)
        return ct__factor_square(ct_scratch(c, dtype, ct_shape2(n, n)), n);
    const ct_shape shape = grid->comm ? ct__grid_shape(grid) : ct__packed_shape(n);
    return ct__factor_of(grid, ct_scratch(c, dtype, shape), n);
}
