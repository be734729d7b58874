#include "packed.h"

/* -- the rectangle --------------------------------------------------------------------------------------- */

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

/* -- copies ---------------------------------------------------------------------------------------------- */

enum { SMALL = 16 }; /* triangles are copied by rows from there on */

ct_tensor *ct__packed_view(const ct__packed *p, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    bool low = r0 >= p->n1, right = c0 >= p->n1;
    const ct_tensor *block = !low ? p->A11 : right ? p->A22 : p->A21;
    return ct__submatrix(block, r0 - (low ? p->n1 : 0), r1 - r0, c0 - (right ? p->n1 : 0), c1 - c0);
}

static void copy_part(ct_call *c, const ct_tensor *from, ct_tensor *to, int64_t row, int64_t rows,
                      int64_t cols)
{
    ct_tensor *a = ct__submatrix(from, row, rows, 0, cols), *b = ct__submatrix(to, row, rows, 0, cols);
    if (ct_require(c, a && b, CT_ENOMEM, "no memory for views")) ct_prim_copy(c, a, b);
    ct_release(a);
    ct_release(b);
}

void ct__copy_lower(ct_call *c, const ct_tensor *from, ct_tensor *to)
{
    int64_t n = ct_tensor_dim(to, 0), half = n / 2;
    if (n <= SMALL) {
        for (int64_t i = 0; i < n; i++) copy_part(c, from, to, i, 1, i + 1);
        return;
    }
    copy_part(c, from, to, half, n - half, half);
    for (int64_t at = 0, end = half; at < n; at = end, end = n) {
        ct_tensor *a = ct__submatrix(from, at, end - at, at, end - at);
        ct_tensor *b = ct__submatrix(to, at, end - at, at, end - at);
        if (ct_require(c, a && b, CT_ENOMEM, "no memory for views")) ct__copy_lower(c, a, b);
        ct_release(a);
        ct_release(b);
    }
}

/* How many of `count` rows or columns from `at` of one triangle and `to_at` of another come before the end of
 * a block. */
static int64_t until_cut(const ct__packed *from, int64_t at, const ct__packed *to, int64_t to_at,
                         int64_t count)
{
    int64_t a = from->n1 - at, b = to->n1 - to_at;
    if (a > 0 && a < count) count = a;
    return b > 0 && b < count ? b : count;
}

void ct__packed_copy(ct_call *c, const ct__packed *from, int64_t row, int64_t rows, int64_t col, int64_t cols,
                     const ct__packed *to, int64_t to_row, int64_t to_col)
{
    if (!rows || !cols) return;
    bool triangle = row == col;
    int64_t high = until_cut(from, row, to, to_row, rows);
    int64_t wide = triangle ? high : until_cut(from, col, to, to_col, cols);
    if (high < rows) {
        ct__packed_copy(c, from, row, high, col, triangle ? high : cols, to, to_row, to_col);
        if (triangle) ct__packed_copy(c, from, row + high, rows - high, col, high, to, to_row + high, to_col);
        int64_t right = triangle ? high : 0;
        ct__packed_copy(c, from, row + high, rows - high, col + right, cols - right, to, to_row + high,
                        to_col + right);
        return;
    }
    if (wide < cols) {
        ct__packed_copy(c, from, row, rows, col, wide, to, to_row, to_col);
        ct__packed_copy(c, from, row, rows, col + wide, cols - wide, to, to_row, to_col + wide);
        return;
    }
    ct_tensor *source = ct__packed_view(from, row, row + rows, col, col + cols);
    ct_tensor *target = ct__packed_view(to, to_row, to_row + rows, to_col, to_col + cols);
    if (ct_require(c, source && target, CT_ENOMEM, "no memory for views")) {
        if (triangle)
            ct__copy_lower(c, source, target);
        else
            ct_prim_copy(c, source, target);
    }
    ct_release(source);
    ct_release(target);
}

/* -- rows ------------------------------------------------------------------------------------------------ */

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

/* Rows `row`, ... of a block on the diagonal, to columns col, ... of out: the part below from transposes,
 * whose upper triangle is right, then the lower triangle row by row. */
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

/* -- products -------------------------------------------------------------------------------------------- */

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
