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

/* -- rows ---------------------------------------------------------------------------------------------------------- */

/* Columns col, col + 1, ... of out = a part of `block`, or its transpose. */
static void place(ct_call *c, const ct_tensor *block, int64_t row, int64_t rows, int64_t from, int64_t count,
                  bool transposed, ct_tensor *out, int64_t col)
{
    ct_tensor *part = ct__submatrix(block, row, rows, from, count);
    ct_tensor *turned = transposed && part ? ct_tensor_transpose(part) : NULL;
    ct_tensor *source = transposed ? turned : part;
    ct_tensor *target = ct__submatrix(out, 0, ct_tensor_dim(out, 0), col, transposed ? rows : count);
    if (ct_require(c, source && target, CT_ENOMEM, "no memory for views")) ct_prim_copy(c, source, target);
    ct_release(part);
    ct_release(turned);
    ct_release(target);
}

/* Rows `row`, ... of a block on the diagonal, to columns col, ... of out: the part below from transposes, whose upper
 * triangle is right, then the lower triangle row by row. */
static void place_symmetric(ct_call *c, const ct_tensor *block, int64_t row, ct_tensor *out, int64_t col)
{
    int64_t rows = ct_tensor_dim(out, 0), size = ct_tensor_dim(block, 0);
    place(c, block, row, rows, 0, row, false, out, col);
    place(c, block, row, size - row, row, rows, true, out, col + row);
    for (int64_t i = 1; i < rows; i++) {
        ct_tensor *line = ct__submatrix(block, row + i, 1, row, i);
        ct_tensor *target = ct__submatrix(out, i, 1, col + row, i);
        if (ct_require(c, line && target, CT_ENOMEM, "no memory for views")) ct_prim_copy(c, line, target);
        ct_release(line);
        ct_release(target);
    }
}

void ct__packed_rows(ct_call *c, const ct__packed *P, int64_t first, ct_tensor *out)
{
    int64_t rows = ct_tensor_dim(out, 0);
    if (first < P->n1) {
        place_symmetric(c, P->A11, first, out, 0);
        place(c, P->A21t, first, rows, 0, P->n2, false, out, P->n1);
    } else {
        place(c, P->A21, first - P->n1, rows, 0, P->n1, false, out, 0);
        place_symmetric(c, P->A22, first - P->n1, out, P->n1);
    }
}
