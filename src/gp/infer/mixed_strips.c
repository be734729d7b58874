/* Products, solutions and contractions with C in f64 and its factor in f32, a strip of rows at a time.
 *
 * A strip is `rows` rows of the packed rectangle (packed.h). In the upper part these are columns of L from
 * the diagonal on, in the lower part rows of L22 up to it: a block on the diagonal, and one beside it, whose
 * rows are contiguous. C is symmetric, so each block beside the diagonal stands for two. */
#include "mixed.h"

#include <math.h>

#include "gp/factor/packed.h"

enum { ROOM_BYTES = 8 << 20, LEAST_ROWS = 32, MOST_ROWS = 512 };

static int64_t height_of(int64_t n)
{
    int64_t rows = n > 0 ? ROOM_BYTES / (int64_t)sizeof(double) / n / LEAST_ROWS * LEAST_ROWS : LEAST_ROWS;
    return rows < LEAST_ROWS ? LEAST_ROWS : rows > MOST_ROWS ? MOST_ROWS : rows;
}

uint64_t ct__mixed_room(int64_t n) { return (uint64_t)height_of(n) * (uint64_t)n * sizeof(double); }

ct__mixed ct__mixed_of(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X, ct_view noise,
                       int64_t m)
{
    int64_t n = ct_view_dim(X, 0);
    ct__mixed all = { .c = c, .program = program, .n = n, .theta = theta, .X = X };
    all.noise = ct_view_broadcast(noise, ct_shape1(n));
    all.triangle = ct_scratch(c, CT_F32, ct__packed_shape(n));
    all.room = ct_scratch(c, CT_F64, ct_shape2(height_of(n), n));
    all.narrow = ct_scratch(c, CT_F32, ct_shape2(m, n));
    return all;
}

/* -- strips ---------------------------------------------------------------------------------------------- */

typedef struct strip {
    int64_t row, rows, col, cols; /* the block beside the diagonal one is C[row.., col..] */
    bool upper; /* it is Lᵀ[row.., col..], and of the one on the diagonal the upper triangle counts; else L */
    ct_view beside, diagonal; /* in the triangle */
} strip;

/* The strip behind s, at first that of row 0; false at the end, or where the call has failed. */
static bool next_strip(const ct__mixed *m, strip *s)
{
    int64_t n = m->n, n1 = n - n / 2, odd = n % 2, first = s->row + s->rows, height = height_of(n);
    if (first >= n || !ct_call_fine(m->c)) return false;
    bool upper = first < n1;
    int64_t end = upper ? n1 : n, rows = first + height < end ? height : end - first;
    int64_t col = upper ? first + rows : n1, cols = upper ? n - col : first - n1;
    *s = (strip){ .row = first, .rows = rows, .col = col, .cols = cols, .upper = upper };
    int64_t at = upper ? first : first - n1 + odd, shift = upper ? 1 - odd : -n1;
    ct_view rectangle_rows = ct__rows(m->triangle, at, at + rows);
    s->diagonal = ct__cols(rectangle_rows, shift + first, shift + first + rows);
    s->beside = ct__cols(rectangle_rows, shift + col, shift + col + cols);
    return true;
}

/* Rows first, first + 1, ... of a matrix or vector. */
static ct_view rows_from(ct_view v, int64_t first, int64_t rows) { return ct__rows(v, first, first + rows); }

static ct_view room_of(const ct__mixed *m, int64_t rows, int64_t cols)
{
    return ct_view_block(m->room, 0, rows, 0, cols);
}

/* C of the block beside the diagonal, and of the one on it. */
static ct_view covariance_beside(const ct__mixed *m, const strip *s)
{
    ct_view K = room_of(m, s->rows, s->cols), z = rows_from(m->X, s->col, s->cols);
    ct_prim_covariance(m->c, m->program, m->theta, rows_from(m->X, s->row, s->rows), z, K);
    return K;
}

static ct_view covariance_diagonal(const ct__mixed *m, const strip *s)
{
    ct_view K = room_of(m, s->rows, s->rows), line = ct_view_diagonal(K);
    ct_prim_covariance(m->c, m->program, m->theta, rows_from(m->X, s->row, s->rows), ct_no_view(), K);
    ct_prim_map2(m->c, CT_MAP_add, line, rows_from(m->noise, s->row, s->rows), line);
    return K;
}

/* The triangle that counts of a block on the diagonal, converted. */
static void copy_triangle(ct_call *c, bool upper, ct_view from, ct_view to)
{
    int64_t rows = ct_view_dim(from, 0);
    for (int64_t i = 0; i < rows; i++) {
        int64_t first = upper ? i : 0, end = upper ? rows : i + 1;
        ct_prim_copy(c, ct_view_block(from, i, i + 1, first, end), ct_view_block(to, i, i + 1, first, end));
    }
}

/* The factor's blocks in f64; of the one on the diagonal the other half is zero. */
static ct_view wide_beside(const ct__mixed *m, const strip *s)
{
    ct_view L = room_of(m, s->rows, s->cols);
    ct_prim_copy(m->c, s->beside, L);
    return L;
}

static ct_view wide_diagonal(const ct__mixed *m, const strip *s)
{
    ct_view L = room_of(m, s->rows, s->rows);
    ct_prim_fill(m->c, L, 0);
    copy_triangle(m->c, s->upper, s->diagonal, L);
    return L;
}

static ct_view turned(ct_view v, bool turn) { return turn ? ct_view_transpose(v) : v; }

/* Rows of out from `row` += A times the rows of V from `col`. */
static void add_product(const ct__mixed *m, ct_view A, ct_view V, int64_t col, ct_view out, int64_t row)
{
    ct_view part = rows_from(out, row, ct_view_dim(A, 0));
    ct_prim_gemm(m->c, 1, A, rows_from(V, col, ct_view_dim(A, 1)), 1, part);
}

/* -- the factor ------------------------------------------------------------------------------------------ */

void ct__mixed_factor(const ct__mixed *m, ct_view diagonal)
{
    ct_call *c = m->c;
    ct_view z = ct_scratch(c, CT_F32, ct_shape2(m->n, 1)), line = ct_scratch(c, CT_F32, ct_shape1(m->n));
    for (strip s = { 0 }; next_strip(m, &s);) {
        ct_prim_copy(c, covariance_beside(m, &s), s.beside);
        copy_triangle(c, s.upper, covariance_diagonal(m, &s), s.diagonal);
    }
    ct_prim_fill(c, z, 0);
    bool known = ct_failure_known(c);
    if (!ct_prim_packed_sweep(c, m->n, false, 0, m->triangle, z, line)) {
        ct__packed C = ct__packed_of(m->triangle, m->n);
        ct__packed_factor(c, &C);
        ct__packed_diagonal(c, &C, line);
    }
    if (!known && ct_failure_known(c))
        ct_prim_fill(c, diagonal, NAN);
    else
        ct_prim_copy(c, line, diagonal);
}

/* -- products and solutions ------------------------------------------------------------------------------ */

void ct__mixed_product(const ct__mixed *m, ct_view V, ct_view out)
{
    ct_prim_fill(m->c, out, 0);
    for (strip s = { 0 }; next_strip(m, &s);) {
        ct_view K = covariance_beside(m, &s);
        add_product(m, K, V, s.col, out, s.row);
        add_product(m, ct_view_transpose(K), V, s.row, out, s.col);
        add_product(m, covariance_diagonal(m, &s), V, s.row, out, s.row);
    }
}

/* out = Lᵀ V, or with `plain` L V */
static void multiply_factor(const ct__mixed *m, bool plain, ct_view V, ct_view out)
{
    ct_prim_fill(m->c, out, 0);
    for (strip s = { 0 }; next_strip(m, &s);) {
        bool turn = s.upper == plain; /* the strip is not the factor that is wanted, but its transpose */
        ct_view L = wide_beside(m, &s);
        add_product(m, turned(L, turn), V, turn ? s.row : s.col, out, turn ? s.col : s.row);
        add_product(m, turned(wide_diagonal(m, &s), turn), V, s.row, out, s.row);
    }
}

void ct__mixed_gram(const ct__mixed *m, ct_view V, ct_view half, ct_view out)
{
    multiply_factor(m, false, V, half);
    multiply_factor(m, true, half, out);
}

void ct__mixed_solve_in_place(const ct__mixed *m, ct__mixed_solve kind, ct_view V)
{
    ct__packed L = ct__packed_of(m->triangle, m->n);
    ct_view B = rows_from(m->narrow, 0, ct_view_dim(V, 1)), columns = ct_view_transpose(B);
    ct_prim_copy(m->c, V, columns);
    if (kind != CT__SOLVE_FACTOR_TRANS) ct__packed_solve(m->c, &L, 0, B);
    if (kind != CT__SOLVE_FACTOR) ct__packed_solve_trans(m->c, &L, B);
    ct_prim_copy(m->c, columns, V);
}

/* -- the contraction ------------------------------------------------------------------------------------- */

static void contract_beside(const ct__mixed *m, const strip *s, ct_view alpha, ct_view theta_bar,
                            ct_view X_bar)
{
    ct_view M = wide_beside(m, s), u = rows_from(alpha, s->row, s->rows),
            v = rows_from(alpha, s->col, s->cols);
    ct_view x = rows_from(m->X, s->row, s->rows), z = rows_from(m->X, s->col, s->cols);
    ct_cov_bar one = { .M = M, .u = u, .v = v, .alpha = 1 };
    ct_cov_bar other = { .M = ct_view_transpose(M), .u = v, .v = u, .alpha = 1 };
    ct_prim_covariance_bar_add(m->c, m->program, m->theta, x, z, &one, theta_bar,
                               rows_from(X_bar, s->row, s->rows));
    if (ct_is_view(X_bar))
        ct_prim_covariance_bar_add(m->c, m->program, m->theta, z, x, &other, ct_no_view(),
                                   rows_from(X_bar, s->col, s->cols));
}

static void contract_diagonal(const ct__mixed *m, const strip *s, ct_view alpha, ct_view theta_bar,
                              ct_view X_bar)
{
    ct_view M = turned(wide_diagonal(m, s), s->upper), u = rows_from(alpha, s->row, s->rows);
    ct_cov_bar bar = { .M = M, .u = u, .v = u, .alpha = 0.5, .lower = true };
    ct_prim_covariance_bar_add(m->c, m->program, m->theta, rows_from(m->X, s->row, s->rows), ct_no_view(),
                               &bar, theta_bar, rows_from(X_bar, s->row, s->rows));
}

void ct__mixed_slopes(const ct__mixed *m, ct_view alpha, ct_view diagonal, ct_view theta_bar, ct_view X_bar)
{
    ct__packed P = ct__packed_of(m->triangle, m->n);
    ct__packed_invert(m->c, &P);
    ct__packed_diagonal(m->c, &P, diagonal);
    ct_prim_fill(m->c, theta_bar, 0);
    if (ct_is_view(X_bar)) ct_prim_fill(m->c, X_bar, 0);
    for (strip s = { 0 }; next_strip(m, &s);) {
        if (s.cols) contract_beside(m, &s, alpha, theta_bar, X_bar);
        contract_diagonal(m, &s, alpha, theta_bar, X_bar);
    }
}
