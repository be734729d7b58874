/* packed_remove:  L (n, n) packed -> L' (m, m) packed, where L'L'ᵀ is L Lᵀ without the rows and columns that are gone;  without a
 * gradient, attribute ct__packed_gone
 *
 * The rows of L that stay, K = [L_s W] with the columns that stay and those that are gone, still have
 * K Kᵀ = L'L'ᵀ. Rotations of
 * pairs of columns make W zero:  K Q = [L' 0],  Q orthogonal [Golub & Van Loan 2013, §6.5.4]. L_s is a triangle, and column t of W is zero
 * above the row that has gone. So FEW columns of W at a time, for columns J of the triangle from there on:
 *
 *     [L_JJ W_J] Q = [L'_JJ 0]    b(b + k) numbers, rotated on the host, where Q is collected
 *     [L_IJ W_I] Q = [L'_IJ W'_I]   a product for all rows I below: 2(b + k)² operations a row */
#include <math.h>

#include "packed.h"

enum { BLOCK = 32, FEW = 16, MOST = BLOCK + FEW };

static ct_shape shape(ct_call *c)
{
    const ct__packed_gone *gone = ct_attr(c);
    if (!ct_require(c, gone != NULL, CT_EINVAL, "needs the rows to be removed as its attribute"))
        return ct_shape0();
    ct_require(c, ct_shape_equal(ct_arg_shape(c, 0), ct__packed_shape(gone->n)), CT_ESHAPE,
               "the packed factor does not fit %lld points", (long long)gone->n);
    return ct__packed_shape(gone->n - gone->count);
}

/* -- the rows that stay ---------------------------------------------------------------------------------- */

/* Stretch s of them, 0 <= s <= count: from which row, to which; its rows move up by s. */
static int64_t begin_of(const ct__packed_gone *g, int64_t s) { return s ? g->row[s - 1] + 1 : 0; }
static int64_t end_of(const ct__packed_gone *g, int64_t s) { return s < g->count ? g->row[s] : g->n; }

/* L_s */
static void copy_staying(ct_call *c, const ct__packed_gone *g, const ct__packed *L, const ct__packed *to)
{
    for (int64_t a = 0; a <= g->count; a++)
        for (int64_t b = 0; b <= a; b++) {
            int64_t row = begin_of(g, a), col = begin_of(g, b);
            ct__packed_copy(c, L, row, end_of(g, a) - row, col, end_of(g, b) - col, to, row - a, col - b);
        }
}

/* Column `gone` of L, number t of those that are gone, into row `line` of W; above it zeros. */
static void copy_gone(ct_call *c, const ct__packed_gone *g, const ct__packed *L, int64_t t, ct_tensor *W,
                      int64_t line)
{
    int64_t col = g->row[t];
    for (int64_t s = t + 1; s <= g->count; s++)
        for (int64_t row = begin_of(g, s), end = end_of(g, s), to; row < end; row = to) {
            to = row < L->n1 && L->n1 < end ? L->n1 : end;
            ct_tensor *from = ct__packed_view(L, row, to, col, col + 1),
                      *turned = from ? ct_tensor_transpose(from) : NULL;
            ct_tensor *target = ct__submatrix(W, line, 1, row - s, to - row);
            if (ct_require(c, turned && target, CT_ENOMEM, "no memory for views"))
                ct_prim_copy(c, turned, target);
            ct_release(from);
            ct_release(turned);
            ct_release(target);
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

/* A: k columns of W, then b of L, of one block's rows, each with b numbers; they become 0 and L'. Q (k + b, k
 * + b), likewise by columns. */
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
    ct__packed L;
    int64_t m, k;        /* columns of W at a time */
    ct_tensor *K, *next; /* (k + BLOCK, m): W, then columns of L, transposed; and what W becomes */
    ct_tensor *Q;        /* (k + BLOCK, k + BLOCK), by columns */
} work;

/* [W L_JJ]ᵀ to the host, and L'_JJ and Q back. False where there is no memory for that. */
static bool turn_diagonal(const work *w, int64_t j, int64_t b)
{
    ct_call *c = w->c;
    double A[MOST * BLOCK], Q[MOST * MOST];
    int64_t all = w->k + b;
    ct_tensor *L = ct__packed_view(&w->L, j, j + b, j, j + b), *upper = L ? ct_tensor_transpose(L) : NULL;
    ct_tensor *part = ct__submatrix(w->K, 0, all, j, b), *target = ct__submatrix(w->K, w->k, b, j, b);
    if (ct_require(c, upper && part && target, CT_ENOMEM, "no memory for views"))
        ct_prim_triangle(c, upper, true, 0, target);
    ct_tensor *wide = part && target ? ct_tensor_cast(part, CT_F64) : NULL;
    bool good = wide && !ct_read(wide, A, (size_t)(all * b) * sizeof *A);
    if (good) reduce(A, w->k, b, Q);
    ct_tensor *rotated = good ? ct_from(ct_call_device(c), CT_F64, ct_shape2(b, b), A + w->k * b) : NULL;
    ct_tensor *lower = rotated ? ct_tensor_transpose(rotated) : NULL;
    ct_tensor *square = good ? ct_from(ct_call_device(c), CT_F64, ct_shape2(all, all), Q) : NULL;
    ct_tensor *room = ct__submatrix(w->Q, 0, all, 0, all);
    good = ct_require(c, lower && square && room, CT_ENOMEM, "no memory for a block of rotations");
    if (good) {
        ct__copy_lower(c, lower, L);
        ct_prim_copy(c, square, room);
    }
    ct_tensor *all_of[] = { L, upper, part, target, wide, rotated, lower, square, room };
    for (size_t i = 0; i < sizeof all_of / sizeof *all_of; i++) ct_release(all_of[i]);
    return good;
}

/* Rows r0..r1 below, on one side of n1. */
static void turn_rows(const work *w, int64_t j, int64_t b, int64_t r0, int64_t r1)
{
    ct_call *c = w->c;
    int64_t k = w->k, rows = r1 - r0;
    ct_tensor *L = ct__packed_view(&w->L, r0, r1, j, j + b), *Lt = L ? ct_tensor_transpose(L) : NULL;
    ct_tensor *K = ct__submatrix(w->K, 0, k + b, r0, rows), *K_L = ct__submatrix(w->K, k, b, r0, rows);
    ct_tensor *W = ct__submatrix(w->next, 0, k, r0, rows);
    ct_tensor *Q_W = ct__submatrix(w->Q, 0, k, 0, k + b), *Q_L = ct__submatrix(w->Q, k, b, 0, k + b);
    if (ct_require(c, Lt && K && K_L && W && Q_W && Q_L, CT_ENOMEM, "no memory for views")) {
        ct_prim_copy(c, Lt, K_L);
        ct_prim_gemm(c, 1, Q_L, K, 0, Lt);
        ct_prim_gemm(c, 1, Q_W, K, 0, W);
    }
    ct_tensor *all[] = { L, Lt, K, K_L, W, Q_W, Q_L };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ct_release(all[i]);
}

/* From column `first` on */
static void turn(work *w, int64_t first)
{
    int64_t n1 = w->L.n1;
    for (int64_t j = first, end; j < w->m; j = end) {
        end = j + BLOCK < w->m ? j + BLOCK : w->m;
        if (j < n1 && n1 < end) end = n1;
        if (!turn_diagonal(w, j, end - j)) return;
        if (end < n1) turn_rows(w, j, end - j, end, n1);
        if (w->m > n1 && end < w->m) turn_rows(w, j, end - j, end > n1 ? end : n1, w->m);
        ct_tensor *W = w->K;
        w->K = w->next;
        w->next = W;
    }
}

static void forward(ct_call *c)
{
    const ct__packed_gone *g = ct_attr(c);
    ct_dtype dtype = ct_tensor_dtype(ct_arg(c, 0));
    work w = { .c = c, .m = g->n - g->count };
    int64_t most = g->count < FEW ? g->count : FEW;
    ct__packed L;
    ct_tensor *out = ct_result(c), *A = ct_scratch(c, dtype, ct_shape2(most + BLOCK, w.m));
    ct_tensor *B = ct_scratch(c, dtype, ct_shape2(most + BLOCK, w.m));
    w.Q = ct_scratch(c, dtype, ct_shape2(most + BLOCK, most + BLOCK));
    if (!out || !A || !B || !w.Q) return;
    w.K = A, w.next = B;
    if (!ct_require(c, ct__packed_open(ct_arg(c, 0), g->n, &L), CT_ENOMEM, "no memory for views")) return;
    if (ct_require(c, ct__packed_open(out, w.m, &w.L), CT_ENOMEM, "no memory for views")) {
        copy_staying(c, g, &L, &w.L);
        for (int64_t t = 0; t < g->count; t += w.k) {
            w.k = g->count - t < FEW ? g->count - t : FEW;
            ct_prim_fill(c, w.K, 0);
            for (int64_t i = 0; i < w.k; i++) copy_gone(c, g, &L, t + i, w.K, i);
            turn(&w, g->row[t] - t);
        }
        ct__packed_close(&w.L);
    }
    ct__packed_close(&L);
}

const ct_op ct__op_packed_remove = { .name = "packed_remove", .n_in = 1, .shape = shape, .forward = forward };
