/* Which process has what of a matrix; the covariance matrix and its contraction, each tile where it is. */
#include "grid.h"

/* -- the layout ------------------------------------------------------------------------------------------ */

/* Wide tiles make deep products. Narrow ones take little memory beside the triangle: half a tile for each
 * row, and a panel of W on each process. From some thousand rows on both together take a twentieth of n². */
static int64_t width_of(int64_t n, const ct_group *group)
{
    const int64_t across = group->cols + (group->rows > 1 ? group->rows : 0), most = n / (10 + 20 * across);
    const int64_t least = n < 1500 ? 24 : 48, b = most / 24 * 24;
    return b < least ? least : b > 240 ? 240 : b;
}

/* Whether a second panel takes no more than a thirtieth of n². */
static bool has_room(int64_t n, int64_t b, const ct_group *group)
{
    return group->ahead || n / 30 > 2 * b * (group->cols + group->rows);
}

ct__grid ct__grid_of(ct_group *group, int64_t n)
{
    if (ct__group_is_one(group)) return (ct__grid){ .n = n };
    const int64_t b = width_of(n, group);
    return (ct__grid){ .group = group,
                       .n = n,
                       .b = b,
                       .tiles = (n + b - 1) / b,
                       .rows = group->rows,
                       .cols = group->cols,
                       .row = group->all.rank / group->cols,
                       .col = group->all.rank % group->cols,
                       .ahead = has_room(n, b, group) };
}

/* The tiles in this process's columns before column j. */
static int64_t tiles_before(const ct__grid *g, int64_t j)
{
    const int64_t rows = ct__grid_before(g->tiles, g->row, g->rows);
    int64_t count = 0;
    for (int64_t k = g->col; k < j; k += g->cols) count += rows - ct__grid_before(k, g->row, g->rows);
    return count;
}

ct_shape ct__grid_shape(const ct__grid *g) { return ct_shape2(tiles_before(g, g->tiles) * g->b, g->b); }

uint64_t ct__grid_bytes(const ct__grid *g, ct_dtype dtype)
{
    const ct_shape own = ct__grid_shape(g);
    const int64_t rows = ct__grid_before(g->tiles, g->row, g->rows),
                  cols = g->rows > 1 ? g->tiles / g->cols + 1 : 0;
    const int64_t panel = (1 + g->ahead) * (rows + cols);
    return ct_dtype_size(dtype) * (uint64_t)((own.dim[0] + (panel + 4) * g->b) * g->b);
}

/* Rows `first` on of tiles that begin with tile row i0 and end before i1. */
static ct_view rows_of(const ct__grid *g, ct_view array, int64_t first, int64_t i0, int64_t i1)
{
    const int64_t count = ct__grid_before(i1, g->row, g->rows) - ct__grid_before(i0, g->row, g->rows);
    const bool last = count > 0 && i1 >= g->tiles && ct__grid_has_row(g, g->tiles - 1);
    const int64_t missing = last ? g->b - ct__grid_height(g, g->tiles - 1) : 0;
    return ct_view_slice(array, 0, first, first + (count > 0 ? count : 0) * g->b - missing, 1);
}

ct_view ct__grid_stack(const ct__grid *g, ct_view tiles, int64_t j, int64_t i0, int64_t i1)
{
    if (i0 < j) i0 = j;
    const int64_t above = ct__grid_before(i0, g->row, g->rows) - ct__grid_before(j, g->row, g->rows);
    const ct_view rows = rows_of(g, tiles, (tiles_before(g, j) + above) * g->b, i0, i1);
    return ct_view_slice(rows, 1, 0, ct__grid_height(g, j), 1);
}

ct_view ct__grid_strip(const ct__grid *g, ct_view array, int64_t i0, int64_t i1)
{
    return rows_of(g, array, ct__grid_before(i0, g->row, g->rows) * g->b, i0, i1);
}

/* -- together -------------------------------------------------------------------------------------------- */

bool ct__grid_meet(ct_call *c, const ct__grid *g)
{
    ct_device *device = ct_call_device(c);
    const ct_status last = ct_last_status(device), own = ct_call_fine(c) ? CT_OK : last ? last : CT_ENOMEM;
    const ct_status s = ct__group_meet(g->group, device, own, NULL);
    return ct_require(c, !s, s, "%.400s", ct_message(device));
}

void ct__grid_sent(ct_call *c, const ct__grid *g, int error)
{
    ct_require(c, ct__group_sent(g->group, error), CT_EIO, "%.400s", ct_group_message(g->group));
}

void ct__grid_sum(ct_call *c, const ct__grid *g, ct_view x)
{
    const ct__transport *t = g->group->transport;
    const int64_t count = ct_view_count(x);
    const int error = t->sum(&g->group->all, x.dtype, x.data, count, 0);
    ct__grid_sent(
        c, g, error ? error : ct__tell(t, &g->group->all, x.data, (size_t)count * ct_dtype_size(x.dtype), 0));
}

void ct__grid_row(ct_call *c, const ct__grid *g, ct_view tiles, int64_t i, ct_view rows)
{
    ct_prim_fill(c, rows, 0);
    for (int64_t j = g->col; j <= i && ct__grid_has_row(g, i); j += g->cols)
        ct_prim_copy(c, ct__grid_stack(g, tiles, j, i, i + 1),
                     ct_view_slice(rows, 1, j * g->b, j * g->b + ct__grid_height(g, j), 1));
    ct__grid_sent(c, g,
                  g->group->transport->sum(&g->group->all, rows.dtype, rows.data, ct_view_count(rows), 0));
}

/* -- the covariance matrix ------------------------------------------------------------------------------- */

/* The largest stretch of this process's tile rows from i on whose rows of X lie together, up to its end. */
static int64_t stretch_end(const ct__grid *g, int64_t i) { return g->rows == 1 ? g->tiles : i + 1; }

static ct_view points_of(const ct__grid *g, ct_view X, int64_t i0, int64_t i1)
{
    return ct_view_slice(X, 0, i0 * g->b, i1 < g->tiles ? i1 * g->b : g->n, 1);
}

void ct__grid_build(ct_call *c, const ct__grid *g, const ct_cov_program *program, ct_view theta, ct_view X,
                    ct_view noise, ct_view tiles)
{
    for (int64_t j = g->col; j < g->tiles; j += g->cols) {
        const ct_view Z = points_of(g, X, j, j + 1);
        for (int64_t i = ct__grid_next(j, g->row, g->rows), end; i < g->tiles;
             i = ct__grid_next(end, g->row, g->rows)) {
            end = i == j ? i + 1 : stretch_end(g, i);
            const ct_view tile = ct__grid_stack(g, tiles, j, i, end);
            if (i != j) {
                ct_prim_covariance(c, program, theta, points_of(g, X, i, end), Z, false, tile);
                continue;
            }
            ct_prim_fill(c, tile, 0);
            ct_prim_covariance(c, program, theta, Z, ct_no_view(), true, tile);
            const ct_view diagonal = ct_view_diagonal(tile);
            const bool each = ct_view_dim(noise, 0) == g->n && g->n > 1;
            ct_prim_map2(c, CT_MAP_add, diagonal, each ? points_of(g, noise, i, i + 1) : noise, diagonal);
        }
    }
}

void ct__grid_diagonal(ct_call *c, const ct__grid *g, ct_view tiles, ct_view out)
{
    ct_prim_fill(c, out, 0);
    if (!ct__grid_meet(c, g)) return;
    for (int64_t i = g->col; i < g->tiles; i += g->cols)
        if (ct__grid_has_row(g, i))
            ct_prim_copy(c, ct_view_diagonal(ct__grid_stack(g, tiles, i, i, i + 1)),
                         points_of(g, out, i, i + 1));
    ct__grid_sum(c, g, out);
}

/* C̄ and ∂k are symmetric: a tile beside the diagonal counts twice. */
void ct__grid_contract(ct_call *c, const ct__grid *g, const ct_cov_program *program, ct_view theta, ct_view X,
                       ct_view tiles, ct_view alpha, ct_view theta_bar)
{
    ct_prim_fill(c, theta_bar, 0);
    if (!ct__grid_meet(c, g)) return;
    for (int64_t j = g->col; j < g->tiles; j += g->cols)
        for (int64_t i = ct__grid_next(j, g->row, g->rows), end; i < g->tiles;
             i = ct__grid_next(end, g->row, g->rows)) {
            end = i == j ? i + 1 : stretch_end(g, i);
            const ct_cov_bar bar = { .M = ct__grid_stack(g, tiles, j, i, end),
                                     .u = points_of(g, alpha, i, end),
                                     .v = points_of(g, alpha, j, j + 1),
                                     .alpha = i == j ? 0.5 : 1,
                                     .lower = i == j };
            ct_prim_covariance_bar(c, program, theta, points_of(g, X, i, end),
                                   i == j ? ct_no_view() : points_of(g, X, j, j + 1), &bar, true, theta_bar,
                                   ct_no_view());
        }
    if (ct__grid_meet(c, g)) ct__grid_sum(c, g, theta_bar);
}
