#include "packed.h"

int64_t ct__rows_within(int64_t bytes, int64_t n, ct_dtype dtype, int64_t least, int64_t most)
{
    const int64_t rows = bytes / (int64_t)ct_dtype_size(dtype) / (n > 0 ? n : 1);
    return rows < least ? least : rows > most ? most : rows;
}

enum { PANEL_BYTES = 32 << 20, LEAST = 16, WIDE = 512 };

static int64_t widest(int64_t n) { return n > 2 * WIDE ? n / 2 : WIDE; }

int64_t ct__packed_panel(int64_t n, ct_dtype dtype)
{
    return ct__rows_within(PANEL_BYTES, n, dtype, LEAST, widest(n));
}

uint64_t ct__packed_panel_most(int64_t n, ct_dtype dtype)
{
    const uint64_t rows = (uint64_t)n, least = LEAST * rows, all = rows * (uint64_t)widest(n),
                   limit = PANEL_BYTES / ct_dtype_size(dtype), most = all < limit ? all : limit;
    return most > least ? most : least;
}

/* -- the rectangle --------------------------------------------------------------------------------------- */

ct_shape ct__packed_shape(int64_t n)
{
    int64_t rows = n - n / 2, ld = (n + 1 - n % 2 + 7) / 8 * 8;
    if (ld % 512 == 0) ld += 8; /* rows that are powers of two apart would meet in the cache */
    return ct_shape2(rows, n ? ld : 0);
}

ct__packed ct__packed_of(ct_view rectangle, int64_t n)
{
    const int64_t n1 = n - n / 2, odd = n % 2, even = n ? 1 - odd : 0;
    ct_view A21t = ct_view_block(rectangle, 0, n1, even + n1, even + n);
    return (ct__packed){ .n1 = n1,
                         .n2 = n / 2,
                         .A11 = ct_view_transpose(ct_view_block(rectangle, 0, n1, even, even + n1)),
                         .A22 = ct_view_block(rectangle, odd, odd + n / 2, 0, n / 2),
                         .A21 = ct_view_transpose(A21t),
                         .A21t = A21t };
}

ct__packed ct__packed_of_square(ct_view square, int64_t n)
{
    ct_view A21t = ct__cols(square, 0, 0);
    return (ct__packed){
        .n1 = n, .A11 = square, .A22 = ct__rows(A21t, 0, 0), .A21 = ct_view_transpose(A21t), .A21t = A21t
    };
}

void ct__packed_move_row(ct_call *c, const ct__packed *p, int64_t i, ct_view row, bool back)
{
    const int64_t k = i - p->n1, left = k < 0 ? i + 1 : p->n1;
    const ct_view part[] = { k < 0 ? ct_view_block(p->A11, i, i + 1, 0, i + 1) : ct__rows(p->A21, k, k + 1),
                             k < 0 ? ct_no_view() : ct_view_block(p->A22, k, k + 1, 0, k + 1) };
    for (int half = 0; half < (k < 0 ? 1 : 2); half++) {
        const ct_view piece = ct__cols(row, half ? left : 0, half ? i + 1 : left);
        ct_prim_copy(c, back ? piece : part[half], back ? part[half] : piece);
    }
}

ct_view ct__packed_block(const ct__packed *p, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    bool low = r0 >= p->n1, right = c0 >= p->n1;
    int64_t down = low ? p->n1 : 0, over = right ? p->n1 : 0;
    return ct_view_block(!low ? p->A11 : right ? p->A22 : p->A21, r0 - down, r1 - down, c0 - over, c1 - over);
}

/* -- copies ---------------------------------------------------------------------------------------------- */

enum { SMALL = 16 }; /* triangles of so many rows or fewer are copied row by row */

static void copy_part(ct_call *c, ct_view from, ct_view to, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    ct_prim_copy(c, ct_view_block(from, r0, r1, c0, c1), ct_view_block(to, r0, r1, c0, c1));
}

void ct__copy_lower(ct_call *c, ct_view from, ct_view to)
{
    int64_t n = ct_view_dim(to, 0), half = n / 2;
    if (n <= SMALL) {
        for (int64_t i = 0; i < n; i++) copy_part(c, from, to, i, i + 1, 0, i + 1);
        return;
    }
    copy_part(c, from, to, half, n, 0, half);
    ct__copy_lower(c, ct_view_block(from, 0, half, 0, half), ct_view_block(to, 0, half, 0, half));
    ct__copy_lower(c, ct_view_block(from, half, n, half, n), ct_view_block(to, half, n, half, n));
}

/* How many of `count` rows or columns, from `at` in one triangle and `to_at` in another, lie within one block
 * of each. */
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
    const bool triangle = row == col;
    for (int64_t i = 0, i_end; i < rows; i = i_end) {
        i_end = i + until_cut(from, row + i, to, to_row + i, rows - i);
        const int64_t width = triangle ? i_end : cols;
        for (int64_t j = 0, j_end; j < width; j = j_end) {
            j_end = j + until_cut(from, col + j, to, to_col + j, width - j);
            ct_view source = ct__packed_block(from, row + i, row + i_end, col + j, col + j_end);
            ct_view target = ct__packed_block(to, to_row + i, to_row + i_end, to_col + j, to_col + j_end);
            if (triangle && i == j)
                ct__copy_lower(c, source, target);
            else
                ct_prim_copy(c, source, target);
        }
    }
}

void ct__packed_add_product(ct_call *c, const ct__packed *C, double weight, ct_view G)
{
    ct_view G1 = ct_view_transpose(ct__cols(G, 0, C->n1)),
            G2 = ct_view_transpose(ct__cols(G, C->n1, C->n1 + C->n2));
    ct_prim_syrk(c, weight, G1, 1, C->A11);
    if (!C->n2) return;
    ct_prim_gemm(c, weight, G1, ct_view_transpose(G2), 1, C->A21t);
    ct_prim_syrk(c, weight, G2, 1, C->A22);
}

/* -- rows ------------------------------------------------------------------------------------------------ */

/* Columns col, col + 1, ... of out = part */
static void place(ct_call *c, ct_view part, ct_view out, int64_t col)
{
    ct_prim_copy(c, part, ct_view_slice(out, 1, col, col + ct_view_dim(part, 1), 1));
}

/* Copies rows `row`, ... of a symmetric block, which has its lower triangle, to columns col, ... of out. The
 * columns from `row` on come from the transpose, whose wrong triangle is then overwritten row by row. */
static void place_symmetric(ct_call *c, ct_view block, int64_t row, ct_view out, int64_t col)
{
    int64_t end = row + ct_view_dim(out, 0), size = ct_view_dim(block, 0);
    place(c, ct_view_block(block, row, end, 0, row), out, col);
    place(c, ct_view_transpose(ct_view_block(block, row, size, row, end)), out, col + row);
    for (int64_t i = row + 1; i < end; i++)
        place(c, ct_view_block(block, i, i + 1, row, i), ct__rows(out, i - row, i - row + 1), col + row);
}

void ct__packed_rows(ct_call *c, const ct__packed *P, int64_t first, ct_view out)
{
    int64_t n1 = P->n1, end = first + ct_view_dim(out, 0), cut = n1 < first ? first : n1 < end ? n1 : end;
    ct_view top = ct__rows(out, 0, cut - first);
    ct_view rest = ct__rows(out, cut - first, end - first);
    if (first < cut) {
        place_symmetric(c, P->A11, first, top, 0);
        place(c, ct__rows(P->A21t, first, cut), top, n1);
    }
    if (cut < end) {
        place(c, ct__rows(P->A21, cut - n1, end - n1), rest, 0);
        place_symmetric(c, P->A22, cut - n1, rest, n1);
    }
}
