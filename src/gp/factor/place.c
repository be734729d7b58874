#include "place.h"

ct__factor ct__factor_of(const ct__grid *grid, ct_view numbers, int64_t n)
{
    ct__factor A = { .in = &ct__in_processes, .n = n, .unit = grid->b, .numbers = numbers, .grid = *grid };
    if (grid->comm) return A;
    A.in = &ct__in_memory;
    A.unit = 1;
    A.blocks = ct__packed_of(numbers, n);
    return A;
}

ct__factor ct__factor_new(ct_call *c, const ct__grid *grid, int64_t n, ct_dtype dtype, bool square)
{
    if (!square || n > CT__SQUARE || grid->comm)
        return ct__factor_of(
            grid, ct_scratch(c, dtype, grid->comm ? ct__grid_shape(grid) : ct__packed_shape(n)), n);
    const ct_view all = ct_scratch(c, dtype, ct_shape2(n, n));
    return (ct__factor){
        .in = &ct__in_memory, .n = n, .unit = 1, .numbers = all, .blocks = ct__packed_of_square(all, n)
    };
}
