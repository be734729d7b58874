/* A[order] = L U with partial pivoting, by halves of the columns: nearly all of the work is in products. A
 * panel of CT__TILE columns is copied, factored by columns and put back; rows are swapped in the whole matrix
 * at once. */
#include "inverse.h"

#include <math.h>
#include <string.h>

#include "product.h"

typedef struct lu {
    ct_dtype dtype;
    void *a, *l; /* the matrix, and the inverses of L's diagonal tiles */
    int64_t ld, n, *order;
    void *columns, *work;
} lu;

static void *at(const lu *f, const void *x, int64_t row, int64_t col)
{
    return ct__at(x, f->dtype, row * f->ld + col);
}

/* Columns of the panel, as ct__tile_lu has them. */
static int64_t panel_pitch(int64_t n)
{
    return (n + CT__STRIP - 1) / CT__STRIP * CT__STRIP + 2 * CT__STRIP + 8;
}

#define SWAP(name, T)                                                \
    static void swap_##name(T *restrict x, T *restrict y, int64_t n) \
    {                                                                \
        for (int64_t i = 0; i < n; i++) {                            \
            const T t = x[i];                                        \
            x[i] = y[i];                                             \
            y[i] = t;                                                \
        }                                                            \
    }
SWAP(f64, double)
SWAP(f32, float)

static void swap(const lu *f, int64_t i, int64_t j, int64_t from, int64_t to)
{
    void *x = at(f, f->a, i, from), *y = at(f, f->a, j, from);
    if (f->dtype == CT_F64)
        swap_f64(x, y, to - from);
    else
        swap_f32(x, y, to - from);
}

static void factor_panel(const lu *f, int64_t j, int64_t cols)
{
    const int64_t rows = f->n - j, pitch = panel_pitch(rows);
    int64_t pivots[CT__TILE];
    ct__transpose(f->dtype, rows, cols, at(f, f->a, j, j), f->ld, f->columns, pitch);
    for (int64_t k = 0; k < cols; k++)
        memset(ct__at(f->columns, f->dtype, k * pitch + rows), 0,
               (size_t)(pitch - rows) * ct_dtype_size(f->dtype));
    ct__tile_lu(f->dtype, f->columns, pitch, rows, cols, pivots);
    ct__transpose(f->dtype, cols, rows, f->columns, pitch, at(f, f->a, j, j), f->ld);
    for (int64_t k = 0; k < cols; k++) {
        const int64_t row = j + k, other = j + pivots[k], held = f->order[row];
        if (other == row) continue;
        f->order[row] = f->order[other];
        f->order[other] = held;
        swap(f, row, other, 0, j);
        swap(f, row, other, j + cols, f->n);
    }
    ct__tile_triangle(f->dtype, at(f, f->a, j, j), f->ld, cols, true, at(f, f->l, j, j), f->ld);
}

/* B = L⁻¹ B in place, for the unit lower triangle of n rows at (i, i) and the columns [from, to) beside it */
static void solve_left(const lu *f, int64_t i, int64_t n, int64_t from, int64_t to)
{
    void *b = at(f, f->a, i, from);
    if (n <= CT__TILE) {
        ct__multiply(f->dtype, CT__LEFT_LOWER, 'N', 'N', n, to - from, n, 1, at(f, f->l, i, i), f->ld, b,
                     f->ld, 0, b, f->ld, f->work);
        return;
    }
    const int64_t h = ct__half(n);
    solve_left(f, i, h, from, to);
    ct__multiply(f->dtype, 0, 'N', 'N', n - h, to - from, h, -1, at(f, f->a, i + h, i), f->ld, b, f->ld, 1,
                 at(f, f->a, i + h, from), f->ld, f->work);
    solve_left(f, i + h, n - h, from, to);
}

/* Columns [j, j + cols), to which those before them have been applied. */
static void factor_columns(const lu *f, int64_t j, int64_t cols)
{
    if (cols <= CT__TILE) {
        factor_panel(f, j, cols);
        return;
    }
    const int64_t h = ct__half(cols), middle = j + h, end = j + cols;
    factor_columns(f, j, h);
    solve_left(f, j, h, middle, end);
    ct__multiply(f->dtype, 0, 'N', 'N', f->n - middle, cols - h, h, -1, at(f, f->a, middle, j), f->ld,
                 at(f, f->a, j, middle), f->ld, 1, at(f, f->a, middle, middle), f->ld, f->work);
    factor_columns(f, middle, cols - h);
}

int64_t ct__lu_columns(int64_t n) { return CT__TILE * panel_pitch(n); }

void ct__lu(ct_dtype dtype, void *a, void *l, int64_t ld, int64_t n, int64_t *order, void *columns,
            void *work)
{
    const lu f = { dtype, a, l, ld, n, order, columns, work };
    for (int64_t i = 0; i < n; i++) order[i] = i;
    factor_columns(&f, 0, n);
}
