/* Removes rows. Let K = [L_s W] be the rows of L that stay, L_s their columns that stay, and W those that go.
 * The new factor L' satisfies L'L'ᵀ = K Kᵀ, and an orthogonal Q makes W zero:
 *
 *     K Q = [L' 0]                                                     [Golub & Van Loan 2013, §6.5.4]
 *
 * L_s is a triangle, and column t of W is zero above removed row t. FEW columns of W are eliminated at a
 * time, with blocks J of the triangle's columns from that row on, by a QR decomposition:
 *
 *     [L_JJ W_J]ᵀ = Q [R; 0],  L'_JJ = (S R)ᵀ   with signs S that make the diagonal positive
 *     [L_IJ W_I]ᵀ = Q [S L'_IJᵀ; W'_Iᵀ]         for all rows I below: 4 b (b + k) operations per row */
#include "packed_remove.h"

enum { BLOCK = 32, FEW = 16 };

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

/* Column row[t] of L into row i of W; zeros stay above it. */
static void copy_gone(ct_call *c, const removal *g, const ct__packed *L, int64_t t, ct_view W, int64_t i)
{
    const ct__packed to = { .n1 = ct_view_dim(W, 1), .A11 = ct_view_transpose(ct__rows(W, i, i + 1)) };
    for (int64_t s = t + 1; s <= g->count; s++) {
        int64_t row = begin_of(g, s);
        ct__packed_copy(c, L, row, end_of(g, s) - row, g->row[t], 1, &to, row - s, 0);
    }
}

/* -- the triangle ---------------------------------------------------------------------------------------- */

typedef struct work {
    ct_call *c;
    const ct__packed *L;
    int64_t m, k;         /* rows of L; columns of W at a time */
    ct_view K;            /* (BLOCK + k, m): columns of L, transposed, end at row BLOCK; then W */
    ct_view A, tau, sign; /* of a block: reflectors and R; (1, BLOCK); (BLOCK, 1) */
} work;

/* to = S times the first rows of `stack`, transposed: rows of L' */
static ct_view signed_rows(const work *w, ct_view stack, int64_t b)
{
    ct_view top = ct__rows(stack, 0, b);
    ct_prim_map2(w->c, CT_MAP_mul, top, ct__rows(w->sign, 0, b), top);
    return ct_view_transpose(top);
}

/* Decomposes [L_JJ W_J]ᵀ for J = j, ..., j + b - 1. */
static void decompose(const work *w, int64_t j, int64_t b, ct_view A, ct_view tau)
{
    ct_call *c = w->c;
    ct_view L = ct__packed_block(w->L, j, j + b, j, j + b), sign = ct__rows(w->sign, 0, b),
            R = ct__rows(A, 0, b), W = ct__rows(w->K, BLOCK, BLOCK + w->k);
    ct_prim_triangle(c, ct_view_transpose(L), true, 0, R);
    ct_prim_copy(c, ct__cols(W, j, j + b), ct__rows(A, b, b + w->k));
    ct_prim_qr(c, -1, A, tau);
    ct_prim_map1(c, CT_MAP_sign, NULL, ct_view_unsqueeze(ct_view_diagonal(R), 1), sign);
    ct_view rows = ct_view_block(w->K, BLOCK - b, BLOCK, j, j + b);
    ct_prim_copy(c, R, rows);
    ct__copy_lower(c, signed_rows(w, rows, b), L);
}

/* Multiplies the rows r0..r1 below, on one side of n1, by Q. */
static void multiply(const work *w, int64_t j, int64_t b, ct_view A, ct_view tau, int64_t r0, int64_t r1)
{
    if (r0 >= r1) return;
    ct_view L = ct__packed_block(w->L, r0, r1, j, j + b),
            stack = ct_view_block(w->K, BLOCK - b, BLOCK + w->k, r0, r1);
    ct_prim_copy(w->c, ct_view_transpose(L), ct__rows(stack, 0, b));
    ct_prim_qr_mul(w->c, true, A, tau, stack);
    ct_prim_copy(w->c, signed_rows(w, stack, b), L);
}

/* Eliminates W with the columns from `first` on. */
static void eliminate(const work *w, int64_t first)
{
    const int64_t n1 = w->L->n1;
    for (int64_t j = first, end; j < w->m && ct_call_ok(w->c); j = end) {
        end = j + BLOCK < w->m ? j + BLOCK : w->m;
        if (j < n1 && n1 < end) end = n1;
        const int64_t b = end - j;
        ct_view A = ct_view_block(w->A, 0, b + w->k, 0, b), tau = ct__cols(w->tau, 0, b);
        decompose(w, j, b, A, tau);
        multiply(w, j, b, A, tau, end, n1);
        multiply(w, j, b, A, tau, end > n1 ? end : n1, w->m);
    }
}

void ct__packed_remove(ct_call *c, const ct__packed *L, const int64_t *row, int64_t count,
                       const ct__packed *to)
{
    removal g = { .n = L->n1 + L->n2, .count = count, .row = row };
    const int64_t m = g.n - count, most = BLOCK + (count < FEW ? count : FEW);
    const ct_dtype dtype = L->A11.dtype;
    work w = { .c = c,
               .L = to,
               .m = m,
               .K = ct_scratch(c, dtype, ct_shape2(most, m)),
               .A = ct_scratch(c, dtype, ct_shape2(most, BLOCK)),
               .tau = ct_scratch(c, dtype, ct_shape2(1, BLOCK)),
               .sign = ct_scratch(c, dtype, ct_shape2(BLOCK, 1)) };
    copy_staying(c, &g, L, to);
    for (int64_t t = 0; t < count && ct_call_ok(c); t += w.k) {
        w.k = count - t < FEW ? count - t : FEW;
        ct_prim_fill(c, w.K, 0);
        for (int64_t i = 0; i < w.k; i++) copy_gone(c, &g, L, t + i, w.K, BLOCK + i);
        eliminate(&w, row[t] - t);
    }
}
