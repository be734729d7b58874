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
    int64_t end = first + ct_tensor_dim(out, 0), cut = P->n1 < first ? first : P->n1 < end ? P->n1 : end;
    ct_tensor *top = ct_tensor_slice(out, 0, 0, cut - first, 1);
    ct_tensor *rest = ct_tensor_slice(out, 0, cut - first, end - first, 1);
    if (ct_require(c, top && rest, CT_ENOMEM, "no memory for views")) {
        if (first < cut) {
            place_symmetric(c, P->A11, first, top, 0);
            place(c, P->A21t, first, cut - first, 0, P->n2, false, top, P->n1);
        }
        if (cut < end) {
            place(c, P->A21, cut - P->n1, end - cut, 0, P->n1, false, rest, 0);
            place_symmetric(c, P->A22, cut - P->n1, rest, P->n1);
        }
    }
    ct_release(top);
    ct_release(rest);
}

/* -- products ------------------------------------------------------------------------------------------------------ */

/* out += columns col, ... of Y times rows `row`, ... of a block, or of its transpose */
static void add_product(ct_call *c, const ct_tensor *Y, int64_t col, const ct_tensor *block, int64_t row,
                        int64_t rows, int64_t from, int64_t count, ct_tensor *out)
{
    if (!rows || !count) return;
    ct_tensor *left = ct__submatrix(Y, 0, ct_tensor_dim(Y, 0), col, rows);
    ct_tensor *right = ct__submatrix(block, row, rows, from, count);
    if (ct_require(c, left && right, CT_ENOMEM, "no memory for views"))
        ct_prim_gemm(c, 1, left, right, 1, out);
    ct_release(left);
    ct_release(right);
}

void ct__packed_product(ct_call *c, const ct_tensor *Y, const ct__packed *P, int64_t first, ct_tensor *room,
                        ct_tensor *out)
{
    bool low = first >= P->n1;
    int64_t w = ct_tensor_dim(out, 1), at = low ? first - P->n1 : first, size = low ? P->n2 : P->n1;
    int64_t start = low ? P->n1 : 0; /* where the block on the diagonal begins */
    const ct_tensor *block = low ? P->A22 : P->A11;
    ct_tensor *turned = ct_tensor_transpose(block), *square = ct__submatrix(room, 0, w, 0, w);
    ct_tensor *within = ct__submatrix(block, at, w, at, w);
    if (ct_require(c, turned && square && within, CT_ENOMEM, "no memory for views")) {
        place_symmetric(c, within, 0, square, 0);
        add_product(c, Y, start, turned, 0, at, at, w, out);
        add_product(c, Y, first, square, 0, w, 0, w, out);
        add_product(c, Y, first + w, block, at + w, size - at - w, at, w, out);
        if (low)
            add_product(c, Y, 0, P->A21t, 0, P->n1, at, w, out);
        else
            add_product(c, Y, P->n1, P->A21, 0, P->n2, at, w, out);
    }
    ct_release(turned);
    ct_release(square);
    ct_release(within);
}
