/* A[order] = L U with partial pivoting, recursively by halves of the columns, so that nearly all of the work
 * is in products. A panel of CT__TILE columns is copied, factorised column by column and copied back. Then
 * its row swaps are applied to the whole matrix. */
#include "lu_factor.h"

typedef struct lu {
    const ct__microkernels *kernels;
    ct_dtype dtype;
    void *a;
    int64_t ld, n, *order;
    void *columns, *work;
} lu;

static void *at(const lu *f, int64_t row, int64_t col) { return ct__at(f->a, f->dtype, row * f->ld + col); }

/* The leading dimension of the panel's columns for the microkernel. */
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
    void *x = at(f, i, from), *y = at(f, j, from);
    if (f->dtype == CT_F64)
        swap_f64(x, y, to - from);
    else
        swap_f32(x, y, to - from);
}

static void factor_panel(const lu *f, int64_t j, int64_t cols)
{
    const int64_t rows = f->n - j, pitch = panel_pitch(rows);
    int64_t pivots[CT__TILE];
    f->kernels->transpose(rows, cols, at(f, j, j), f->ld, f->columns, pitch);
    for (int64_t k = 0; k < cols; k++)
        memset(ct__at(f->columns, f->dtype, k * pitch + rows), 0,
               (size_t)(pitch - rows) * ct_dtype_size(f->dtype));
    f->kernels->lu(f->columns, pitch, rows, cols, pivots);
    f->kernels->transpose(cols, rows, f->columns, pitch, at(f, j, j), f->ld);
    for (int64_t k = 0; k < cols; k++) {
        const int64_t row = j + k, other = j + pivots[k], held = f->order[row];
        if (other == row) continue;
        f->order[row] = f->order[other];
        f->order[other] = held;
        swap(f, row, other, 0, j);
        swap(f, row, other, j + cols, f->n);
    }
}

/* Factorises columns [j, j + cols), which earlier columns have already updated. */
static void factor_columns(const lu *f, int64_t j, int64_t cols)
{
    if (cols <= CT__TILE) {
        factor_panel(f, j, cols);
        return;
    }
    const int64_t h = ct__half(cols), middle = j + h, end = j + cols;
    factor_columns(f, j, h);
    ct__substitute(f->kernels, true, true, h, at(f, j, j), f->ld, 1, at(f, j, middle), f->ld, end - middle,
                   f->work);
    ct__multiply(f->kernels, 0, 'N', 'N', f->n - middle, cols - h, h, -1, at(f, middle, j), f->ld,
                 at(f, j, middle), f->ld, 1, at(f, middle, middle), f->ld, f->work);
    factor_columns(f, middle, cols - h);
}

int64_t ct__lu_columns(int64_t n) { return CT__TILE * panel_pitch(n); }

void ct__lu(const ct__microkernels *kernels, void *a, int64_t ld, int64_t n, int64_t *order, void *columns,
            void *work)
{
    const lu f = { kernels, kernels->dtype, a, ld, n, order, columns, work };
    for (int64_t i = 0; i < n; i++) order[i] = i;
    factor_columns(&f, 0, n);
}
