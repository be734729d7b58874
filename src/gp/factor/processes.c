#include "processes.h"

#include "grid_solve.h"
#include "grid_sweep.h"

/* Tile column by tile column. `number` counts tiles: i + j tiles. */
static bool next(const ct__factor *A, ct__block *b)
{
    const ct__grid *g = &A->grid;
    int64_t j = b->number / g->tiles, i = b->number % g->tiles;
    if (!b->number) j = g->col;
    for (; j < g->tiles; j += g->cols, i = 0) {
        i = ct__grid_next(g, CT__TILE_ROWS, i > j ? i : j);
        if (i >= g->tiles) continue;
        *b = (ct__block){ ct__grid_stack(g, A->numbers, j, i, i + 1), i * g->b, j * g->b, 0 };
        b->number = i + 1 < g->tiles ? j * g->tiles + i + 1 : (j + g->cols) * g->tiles;
        return true;
    }
    return false;
}

static void diagonal(ct_call *c, const ct__factor *A, ct_view out)
{
    ct__grid_diagonal(c, &A->grid, A->numbers, out);
}

static bool sweep(ct_call *c, const ct__factor *A, bool inverse, double tolerance, ct_view z,
                  ct_view diagonal_of_L)
{
    return ct__grid_sweep(c, &A->grid, inverse, tolerance, A->numbers, z, diagonal_of_L);
}

static void solve(ct_call *c, const ct__factor *L, bool trans, int64_t first, ct_view B)
{
    ct__grid_solve(c, &L->grid, trans, L->numbers, first, B);
}

static void rows(ct_call *c, const ct__factor *A, int64_t first, ct_view out)
{
    if (first || ct__grid_meet(c, &A->grid)) ct__grid_row(c, &A->grid, A->numbers, first / A->grid.b, out);
}

static bool sum(ct_call *c, const ct__factor *A, ct_view x)
{
    if (!ct__grid_meet(c, &A->grid)) return false;
    ct__grid_sum(c, &A->grid, x);
    return ct_call_ok(c);
}

static const ct__storage over_processes = {
    .next = next, .diagonal = diagonal, .sweep = sweep, .solve = solve, .rows = rows, .sum = sum
};

ct__factor ct__factor_on(const ct__grid *grid, ct_view tiles)
{
    return (
        ct__factor){ .in = &over_processes, .n = grid->n, .unit = grid->b, .numbers = tiles, .grid = *grid };
}
