#include "packed.h"

/* -- the rectangle ------------------------------------------------------------------------------------------------- */

ct_shape ct__packed_shape(int64_t n)
{
    int64_t rows = n - n / 2, ld = (n + 1 - n % 2 + 7) / 8 * 8;
    if (ld % 512 == 0) ld += 8; /* rows that are powers of two apart would meet in the cache */
    return ct_shape2(rows, n ? ld : 0);
}

ct_tensor *ct__submatrix(const ct_tensor *A, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
    ct_tensor *strip = ct_tensor_slice(A, 0, row, row + rows, 1);
    ct_tensor *view = strip ? ct_tensor_slice(strip, 1, col, col + cols, 1) : NULL;
    ct_release(strip);
    return view;
}

static ct_tensor *transposed_block(const ct_tensor *A, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
    ct_tensor *view = ct__submatrix(A, row, rows, col, cols),
              *transposed = view ? ct_tensor_transpose(view) : NULL;
    ct_release(view);
    return transposed;
}

bool ct__packed_open(const ct_tensor *rectangle, int64_t n, ct__packed *p)
{
    *p = (ct__packed){ .n1 = n - n / 2, .n2 = n / 2 };
    if (!rectangle) return false;
    int64_t odd = n % 2, even = n ? 1 - odd : 0;
    p->A11 = transposed_block(rectangle, 0, p->n1, even, p->n1);
    p->A22 = ct__submatrix(rectangle, odd, p->n2, 0, p->n2);
    p->A21t = ct__submatrix(rectangle, 0, p->n1, even + p->n1, p->n2);
    p->A21 = p->A21t ? ct_tensor_transpose(p->A21t) : NULL;
    if (p->A11 && p->A22 && p->A21) return true;
    ct__packed_close(p);
    return false;
}

bool ct__packed_open_square(const ct_tensor *square, int64_t n, ct__packed *p)
{
    *p = (ct__packed){ .n1 = n };
    p->A11 = ct__submatrix(square, 0, n, 0, n);
    p->A22 = ct__submatrix(square, 0, 0, 0, 0);
    p->A21t = ct__submatrix(square, 0, n, 0, 0);
    p->A21 = p->A21t ? ct_tensor_transpose(p->A21t) : NULL;
    if (p->A11 && p->A22 && p->A21) return true;
    ct__packed_close(p);
    return false;
}

void ct__packed_close(ct__packed *p)
{
    ct_release(p->A11);
    ct_release(p->A22);
    ct_release(p->A21);
    ct_release(p->A21t);
}

bool ct__packed_row(const ct__packed *p, int64_t i, ct_tensor *part[2])
{
    int64_t k = i - p->n1;
    part[0] = k < 0 ? ct__submatrix(p->A11, i, 1, 0, i + 1) : ct__submatrix(p->A21, k, 1, 0, p->n1);
    part[1] = k < 0 ? NULL : ct__submatrix(p->A22, k, 1, 0, k + 1);
    if (part[0] && (part[1] || k < 0)) return true;
    ct_release(part[0]);
    ct_release(part[1]);
    return false;
}
