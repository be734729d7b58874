/* A matrix or factor over the processes of a communicator. */
#include "factor.h"
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

static bool sum(ct_call *c, const ct__factor *A, ct_view x)
{
    if (!ct__grid_agree(c, &A->grid)) return false;
    ct__grid_sum(c, &A->grid, x);
    return ct_call_ok(c);
}

static void diagonal(ct_call *c, const ct__factor *A, ct_view out)
{
    const ct__grid *g = &A->grid;
    ct_prim_fill(c, out, 0);
    for (int64_t i = g->col; i < g->tiles; i += g->cols)
        if (ct__grid_owns(g, i))
            ct_prim_copy(c, ct_view_diagonal(ct__grid_stack(g, A->numbers, i, i, i + 1)),
                         ct__grid_part(g, out, 0, i));
    sum(c, A, out);
}

/* A tile row to its last column. Only the first one begins with an agreement. */
static void rows(ct_call *c, const ct__factor *A, int64_t first, ct_view out)
{
    const ct__grid *g = &A->grid;
    const int64_t i = first / g->b;
    if (!first && !ct__grid_agree(c, g)) return;
    ct_prim_fill(c, out, 0);
    for (int64_t j = g->col; j <= i && ct__grid_has_row(g, i); j += g->cols)
        ct_prim_copy(c, ct__grid_stack(g, A->numbers, j, i, i + 1), ct__grid_part(g, out, 1, j));
    ct__comm_reduce(g->comm, CT__COMM_ALL, out.dtype, out.data, ct_view_count(out), 0);
    ct__grid_sent(c, g);
}

const ct__storage ct__in_processes = { .next = next,
                                       .diagonal = diagonal,
                                       .sweep = ct__grid_sweep,
                                       .solve = ct__grid_solve,
                                       .rows = rows,
                                       .sum = sum };
