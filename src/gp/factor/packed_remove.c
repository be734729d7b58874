/* Removes rows. Let K = [L_s W] be the rows of L that stay, L_s their columns that stay, and W those that go.
 * The new factor L' satisfies L'L'ᵀ = K Kᵀ, and rotations of pairs of columns make W zero:
 *
 *     K Q = [L' 0],  Q orthogonal                                     [Golub & Van Loan 2013, §6.5.4]
 *
 * L_s is a triangle, and column t of W is zero above removed row t. FEW columns of W are eliminated at a
 * time, with blocks J of the triangle's columns from that row on:
 *
 *     [L_JJ W_J] Q = [L'_JJ 0]      b(b + k) numbers, rotated on the host, where Q is collected
 *     [L_IJ W_I] Q = [L'_IJ W'_I]   a product for all rows I below: 2(b + k)² operations per row */
#include "packed_remove.h"

#include <math.h>

enum { BLOCK = 32, FEW = 16, MOST = BLOCK + FEW };

/* -- the rows that stay ---------------------------------------------------------------------------------- */

typedef struct removal {
    int64_t n, count;
    const int64_t *row; /* [count], ascending: the rows to remove */
} removal;

/* First row, and end, of range s of the rows that stay, 0 <= s <= count. Its rows move up by s. */
static int64_t begin_of(const removal *g, int64_t s) { return s ? g->row[s - 1] + 1 : 0; }
static int64_t end_of(const removal *g, int64_t s) { return s < g->count ? g->row[s] : g->n; }

/* to = L_s */
static void copy_staying(ct_call *c, const removal *g, const ct__packed *L, const ct__packed *to)
{
    for (int64_t a = 0; a <= g->count; a++)
        for (int64_t b = 0; b <= a; b++) {
            int64_t row = begin_of(g, a), col = begin_of(g, b);
            ct__packed_copy(c, L, row, end_of(g, a) - row, col, end_of(g, b) - col, to, row - a, col - b);
        }
}

/* Column row[t] of L into row `line` of W; zeros stay above it. */
static void copy_gone(ct_call *c, const removal *g, const ct__packed *L, int64_t t, ct_view W, int64_t line)
{
    const ct__packed to = { .n1 = ct_view_dim(W, 1), .A11 = ct_view_transpose(ct__rows(W, line, line + 1)) };
    for (int64_t s = t + 1; s <= g->count; s++) {
        int64_t row = begin_of(g, s);
        ct__packed_copy(c, L, row, end_of(g, s) - row, g->row[t], 1, &to, row - s, 0);
    }
}

/* -- rotations ------------------------------------------------------------------------------------------- */

/* x = c x + s y,  y = c y - s x */
static void rotate(double *restrict x, double *restrict y, int64_t count, double c, double s)
{
    for (int64_t i = 0; i < count; i++) {
        double a = x[i], b = y[i];
        x[i] = c * a + s * b;
        y[i] = c * b - s * a;
    }
}

/* A: k columns of W, then b of L, in a block's b rows. They become 0 and L'. A and Q (k + b, k + b) are
 * stored by columns. */
static void reduce(double *A, int64_t k, int64_t b, double *Q)
{
    int64_t all = k + b;
    for (int64_t i = 0; i < all * all; i++) Q[i] = i % (all + 1) == 0;
    for (int64_t j = 0; j < b; j++)
        for (int64_t t = 0; t < k; t++) {
            double *x = A + (k + j) * b + j, *y = A + t * b + j, size = hypot(*x, *y);
            if (*y == 0) continue;
            double cosine = *x / size, sine = *y / size;
            rotate(x, y, b - j, cosine, sine);
            rotate(Q + (k + j) * all, Q + t * all, all, cosine, sine);
        }
}

/* -- the triangle ---------------------------------------------------------------------------------------- */

typedef struct work {
    ct_call *c;
    const ct__packed *L;
    int64_t m, k;         /* rows of L; columns of W at a time */
    ct_view K, next;      /* (k + BLOCK, m): W, then columns of L, transposed; the new W */
    ct_view Q;            /* (k + BLOCK, k + BLOCK), by columns */
    ct_view wide, wide_Q; /* f64: copies for the host */
} work;

/* Reads [W L_JJ]ᵀ to the host, and writes L'_JJ and Q back. */
static void rotate_diagonal(const work *w, int64_t j, int64_t b)
{
    ct_call *c = w->c;
    double A[MOST * BLOCK], Q[MOST * MOST];
    int64_t k = w->k, all = k + b;
    ct_view L = ct__packed_block(w->L, j, j + b, j, j + b), part = ct_view_block(w->K, 0, all, j, j + b);
    ct_prim_triangle(c, ct_view_transpose(L), true, 0, ct__rows(part, k, all));
    ct_view wide = ct_view_block(w->wide, 0, all, 0, b), wide_Q = ct_view_block(w->wide_Q, 0, all, 0, all);
    ct_prim_copy(c, part, wide);
    ct_tensor *rows = ct_tensor_of(c, wide), *rotation = ct_tensor_of(c, wide_Q);
    bool good = ct_call_ok(c) && !ct_read(rows, A, (size_t)(all * b) * sizeof *A);
    if (good) {
        reduce(A, k, b, Q);
        good = !ct_write(rows, A, (size_t)(all * b) * sizeof *A) &&
               !ct_write(rotation, Q, (size_t)(all * all) * sizeof *Q);
    }
    if (ct_require(c, good, CT_ENOMEM, "no memory for a block of rotations")) {
        ct__copy_lower(c, ct_view_transpose(ct__rows(wide, k, all)), L);
        ct_prim_copy(c, wide_Q, ct_view_block(w->Q, 0, all, 0, all));
    }
    ct_release(rows);
    ct_release(rotation);
}

/* Multiplies the rows r0..r1 below, on one side of n1, by Q. */
static void rotate_rows(const work *w, int64_t j, int64_t b, int64_t r0, int64_t r1)
{
    int64_t k = w->k, all = k + b;
    ct_view Lt = ct_view_transpose(ct__packed_block(w->L, r0, r1, j, j + b));
    ct_view K = ct_view_block(w->K, 0, all, r0, r1);
    ct_prim_copy(w->c, Lt, ct__rows(K, k, all));
    ct_prim_gemm(w->c, 1, ct_view_block(w->Q, k, all, 0, all), K, 0, Lt);
    ct_prim_gemm(w->c, 1, ct_view_block(w->Q, 0, k, 0, all), K, 0, ct_view_block(w->next, 0, k, r0, r1));
}

/* Eliminates W with the columns from `first` on. */
static void eliminate(work *w, int64_t first)
{
    int64_t n1 = w->L->n1;
    for (int64_t j = first, end; j < w->m && ct_call_ok(w->c); j = end) {
        end = j + BLOCK < w->m ? j + BLOCK : w->m;
        if (j < n1 && n1 < end) end = n1;
        rotate_diagonal(w, j, end - j);
        if (end < n1) rotate_rows(w, j, end - j, end, n1);
        if (w->m > n1 && end < w->m) rotate_rows(w, j, end - j, end > n1 ? end : n1, w->m);
        ct_view W = w->K;
        w->K = w->next;
        w->next = W;
    }
}

void ct__packed_remove(ct_call *c, const ct__packed *L, const int64_t *row, int64_t count,
                       const ct__packed *to)
{
    removal g = { .n = L->n1 + L->n2, .count = count, .row = row };
    int64_t m = g.n - count, most = (count < FEW ? count : FEW) + BLOCK;
    ct_dtype dtype = L->A11.dtype;
    work w = { .c = c,
               .L = to,
               .m = m,
               .K = ct_scratch(c, dtype, ct_shape2(most, m)),
               .next = ct_scratch(c, dtype, ct_shape2(most, m)),
               .Q = ct_scratch(c, dtype, ct_shape2(most, most)),
               .wide = ct_scratch(c, CT_F64, ct_shape2(most, BLOCK)),
               .wide_Q = ct_scratch(c, CT_F64, ct_shape2(most, most)) };
    copy_staying(c, &g, L, to);
    for (int64_t t = 0; t < count && ct_call_ok(c); t += w.k) {
        w.k = count - t < FEW ? count - t : FEW;
        ct_prim_fill(c, w.K, 0);
        for (int64_t i = 0; i < w.k; i++) copy_gone(c, &g, L, t + i, w.K, i);
        eliminate(&w, row[t] - t);
    }
}
