/* A symmetric or lower triangular (n, n) matrix, distributed over the processes of a communicator. Its lower
 * triangle is cut into tiles of b rows and columns. Tile (i, j), i >= j, is on process (i mod rows, j mod
 * cols) of the communicator's grid: block-cyclic, as in ScaLAPACK. A process stores its tiles in one array of
 * b columns: the tiles of its first column, one below the other, then those of its next column. Only the last
 * tile may have fewer rows.
 *
 * What computes with it (factor.h) is collective, and begins with an agreement (comm.h), which shows whether
 * every process had enough memory. [Choi et al. 1996, "ScaLAPACK: a portable linear algebra library for
 * distributed memory computers"] */
#ifndef CT_GP_GRID_H
#define CT_GP_GRID_H

#include <cotangent/op.h>

#include "gp/comm/comm.h"

typedef struct ct__grid {
    ct_comm *comm; /* NULL: no grid; one process has the matrix */
    int64_t n, b, tiles;
    int rows, cols, row, col; /* of the grid; this process's position in it */
    bool ahead;               /* a sweep has memory for two panels; the second takes a thirtieth of n² */
} ct__grid;

/* A NULL communicator, or one of one process, gives no grid. */
ct__grid ct__grid_of(ct_comm *comm, int64_t n);
/* The shape of this process's tiles. */
ct_shape ct__grid_shape(const ct__grid *g);
/* The most bytes this process holds at once for a matrix and its sweep, in `dtype`. */
uint64_t ct__grid_bytes(const ct__grid *g, ct_dtype dtype);

/* -- a process's own tiles ------------------------------------------------------------------------------- */

/* Tile rows, each on one row of the grid; tile columns, each on one column. */
enum { CT__TILE_ROWS, CT__TILE_COLS };

/* The number of this process's tile rows or columns before i; the next one from i on. */
static inline int64_t ct__grid_before(const ct__grid *g, int side, int64_t i)
{
    const int first = side ? g->col : g->row, every = side ? g->cols : g->rows;
    return i > first ? (i - first + every - 1) / every : 0;
}
static inline int64_t ct__grid_next(const ct__grid *g, int side, int64_t i)
{
    return (side ? g->col : g->row) + ct__grid_before(g, side, i) * (side ? g->cols : g->rows);
}

/* The number of rows of tile row i. */
static inline int64_t ct__grid_height(const ct__grid *g, int64_t i)
{
    return i < g->tiles - 1 ? g->b : g->n - (g->tiles - 1) * g->b;
}

static inline bool ct__grid_has_row(const ct__grid *g, int64_t i) { return i % g->rows == g->row; }
static inline bool ct__grid_has_column(const ct__grid *g, int64_t j) { return j % g->cols == g->col; }
/* Whether tile (k, k) is this process's; the rank of its owner. */
static inline bool ct__grid_owns(const ct__grid *g, int64_t k)
{
    return ct__grid_has_row(g, k) && ct__grid_has_column(g, k);
}
static inline int ct__grid_owner(const ct__grid *g, int64_t k)
{
    return (int)(k % g->rows) * g->cols + (int)(k % g->cols);
}

/* This process's tiles of its column j with i0 <= i < i1, j <= i, one below the other. */
ct_view ct__grid_stack(const ct__grid *g, ct_view tiles, int64_t j, int64_t i0, int64_t i1);
/* The rows of tiles i0 <= i < i1 in an array with b rows for each of this process's tile rows (columns). */
ct_view ct__grid_strip(const ct__grid *g, int side, ct_view array, int64_t i0, int64_t i1);
/* The part of tile row i in an array with all n rows (dim = 0) or columns (dim = 1). */
ct_view ct__grid_part(const ct__grid *g, ct_view array, int dim, int64_t i);

/* -- collective operations ------------------------------------------------------------------------------- */

/* On every process x = the sum of all processes' x. No agreement. */
void ct__grid_sum(ct_call *c, const ct__grid *g, ct_view x);
/* Fails the call after an error of MPI. */
void ct__grid_sent(ct_call *c, const ct__grid *g);
/* An agreement inside a call; false if a process has failed. */
bool ct__grid_agree(ct_call *c, const ct__grid *g);

#endif
