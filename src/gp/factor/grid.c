/* The distribution of a matrix over a grid of processes, and collective operations on it. */
#include "grid.h"

/* -- the layout ------------------------------------------------------------------------------------------ */

/* Wide tiles make products of large inner dimension. Narrow tiles save memory beside the triangle: half a
 * tile per row and a panel of W per process, together a twentieth of n² from some thousand rows on. */
static int64_t width_of(int64_t n, int rows, int cols)
{
    const int64_t across = cols + (rows > 1 ? rows : 0), most = n / (10 + 20 * across);
    const int64_t least = n < 1500 ? 24 : 48, b = most / 24 * 24;
    return b < least ? least : b > 240 ? 240 : b;
}

ct__grid ct__grid_of(ct_comm *comm, int64_t n)
{
    if (ct__comm_is_one(comm)) return (ct__grid){ .n = n };
    const ct__subcomm *row = &comm->sub[CT__COMM_ROW], *column = &comm->sub[CT__COMM_COLUMN];
    const int64_t b = width_of(n, column->size, row->size);
    return (ct__grid){ .comm = comm,
                       .n = n,
                       .b = b,
                       .tiles = (n + b - 1) / b,
                       .rows = column->size,
                       .cols = row->size,
                       .row = column->rank,
                       .col = row->rank,
                       .ahead = comm->ahead || n / 30 > 2 * b * (row->size + column->size) };
}

/* The number of tiles in this process's columns before column j. */
static int64_t tiles_before(const ct__grid *g, int64_t j)
{
    const int64_t rows = ct__grid_before(g, CT__TILE_ROWS, g->tiles);
    int64_t count = 0;
    for (int64_t k = g->col; k < j; k += g->cols) count += rows - ct__grid_before(g, CT__TILE_ROWS, k);
    return count;
}

ct_shape ct__grid_shape(const ct__grid *g) { return ct_shape2(tiles_before(g, g->tiles) * g->b, g->b); }

uint64_t ct__grid_bytes(const ct__grid *g, ct_dtype dtype)
{
    const int64_t rows = ct__grid_before(g, CT__TILE_ROWS, g->tiles),
                  cols = g->rows > 1 ? ct__grid_before(g, CT__TILE_COLS, g->tiles) : 0;
    const int64_t panels = (1 + g->ahead) * (rows + cols + 2);
    return ct_dtype_size(dtype) * (uint64_t)((tiles_before(g, g->tiles) + panels) * g->b * g->b);
}

/* The number of rows (columns) in this process's tile rows (columns) before tile i. */
static int64_t rows_before(const ct__grid *g, int side, int64_t i)
{
    const int64_t before = ct__grid_before(g, side, i);
    const bool last = i >= g->tiles && before > ct__grid_before(g, side, g->tiles - 1);
    return before * g->b - (last ? g->tiles * g->b - g->n : 0);
}

ct_view ct__grid_stack(const ct__grid *g, ct_view tiles, int64_t j, int64_t i0, int64_t i1)
{
    const int64_t first = (tiles_before(g, j) - ct__grid_before(g, CT__TILE_ROWS, j)) * g->b;
    return ct_view_block(tiles, first + rows_before(g, CT__TILE_ROWS, i0 < j ? j : i0),
                         first + rows_before(g, CT__TILE_ROWS, i1), 0, ct__grid_height(g, j));
}

ct_view ct__grid_strip(const ct__grid *g, int side, ct_view array, int64_t i0, int64_t i1)
{
    return ct_view_slice(array, 0, rows_before(g, side, i0), rows_before(g, side, i1), 1);
}

ct_view ct__grid_part(const ct__grid *g, ct_view array, int dim, int64_t i)
{
    const int64_t begin = i * g->b, end = begin + g->b, whole = ct_view_dim(array, dim);
    return ct_view_slice(array, dim, begin, end < whole ? end : whole, 1);
}

/* -- collective operations ------------------------------------------------------------------------------- */

bool ct__grid_agree(ct_call *c, const ct__grid *g)
{
    ct_device *device = ct_call_device(c);
    const ct_status last = ct_last_status(device), own = ct_call_ok(c) ? CT_OK : last ? last : CT_ENOMEM;
    const ct_status s = ct__comm_agree(g->comm, device, own, NULL);
    return ct_require(c, !s, s, "%.400s", ct_message(device));
}

void ct__grid_sent(ct_call *c, const ct__grid *g)
{
    ct_require(c, !g->comm->status, CT_EIO, "%.400s", ct_comm_message(g->comm));
}

void ct__grid_sum(ct_call *c, const ct__grid *g, ct_view x)
{
    ct__comm_allreduce(g->comm, x.dtype, x.data, ct_view_count(x));
    ct__grid_sent(c, g);
}
