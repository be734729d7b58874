/* Products, solutions and contractions with C in f64 and its factor in f32, a strip of rows at a time.
 *
 * A strip is `rows` rows of the packed rectangle (packed.h). In the upper part these are columns of L from
 * the diagonal on, in the lower part rows of L22 up to it: a block on the diagonal, and one beside it, whose
 * rows are contiguous. C is symmetric, so each block beside the diagonal stands for two. */
#include "mixed.h"

#include <math.h>

#include "gp/factor/packed.h"

enum { ROOM_BYTES = 8 << 20, LEAST_ROWS = 32, MOST_ROWS = 512 };

typedef struct strip {
    int64_t row, rows, col, cols; /* the block beside the diagonal one is C[row.., col..] */
    bool upper; /* it is Lᵀ[row.., col..], and of the one on the diagonal the upper triangle counts; else L */
    ct_tensor *beside, *diagonal; /* in the triangle; where it is not NULL */
} strip;

typedef struct work {
    ct_call *c;
    const ct__mixed *mixed;
    const ct_tensor *theta, *X, *noise;
    ct_tensor *room; /* (rows of a strip, n) in f64 */
    int64_t n;
} work;

typedef void (*strip_fn)(const work *w, const strip *s, const ct_tensor *V, ct_tensor *out);

static int64_t height_of(int64_t n)
{
    int64_t rows = n > 0 ? ROOM_BYTES / (int64_t)sizeof(double) / n / LEAST_ROWS * LEAST_ROWS : LEAST_ROWS;
    return rows < LEAST_ROWS ? LEAST_ROWS : rows > MOST_ROWS ? MOST_ROWS : rows;
}

uint64_t ct__mixed_room(int64_t n) { return (uint64_t)height_of(n) * (uint64_t)n * sizeof(double); }

/* -- strips ---------------------------------------------------------------------------------------------- */

/* C[first.., ...] where first < n1 lies in the upper part. */
static strip strip_at(int64_t n, int64_t first, int64_t height)
{
    int64_t n1 = n - n / 2, end = first < n1 ? n1 : n;
    strip s = { .row = first, .rows = first + height < end ? height : end - first, .upper = first < n1 };
    s.col = s.upper ? first + s.rows : n1;
    s.cols = s.upper ? n - s.col : first - n1;
    return s;
}

static bool open_views(const work *w, strip *s)
{
    ct_tensor *t = w->mixed->triangle;
    int64_t n1 = w->n - w->n / 2, odd = w->n % 2;
    int64_t row = s->upper ? s->row : s->row - n1 + odd, from = s->upper ? 1 - odd : -n1;
    s->diagonal = ct__submatrix(t, row, s->rows, from + s->row, s->rows);
    s->beside = ct__submatrix(t, row, s->rows, from + s->col, s->cols);
    return ct_require(w->c, s->diagonal && s->beside, CT_ENOMEM, "no memory for views");
}

/* `views`: into the triangle. */
static void for_strips(const work *w, bool views, strip_fn run, const ct_tensor *V, ct_tensor *out)
{
    int64_t height = height_of(w->n);
    bool ok = w->room != NULL;
    for (int64_t first = 0; first < w->n && ok;) {
        strip s = strip_at(w->n, first, height);
        ok = !views || open_views(w, &s);
        if (ok) run(w, &s, V, out);
        ct_release(s.beside);
        ct_release(s.diagonal);
        first += s.rows;
    }
}

/* -- small parts ----------------------------------------------------------------------------------------- */

/* Rows first, first + 1, ... of a matrix or vector; released by the caller. */
static ct_tensor *some(const ct_tensor *t, int64_t first, int64_t rows)
{
    return t ? ct_tensor_slice(t, 0, first, first + rows, 1) : NULL;
}

/* One triangle, diagonal included, converted. */
static void copy_triangle(ct_call *c, bool upper, const ct_tensor *from, ct_tensor *to)
{
    int64_t rows = ct_tensor_dim(from, 0);
    for (int64_t i = 0; i < rows; i++) {
        int64_t first = upper ? i : 0, count = upper ? rows - i : i + 1;
        ct_tensor *a = ct__submatrix(from, i, 1, first, count), *b = ct__submatrix(to, i, 1, first, count);
        if (ct_require(c, a && b, CT_ENOMEM, "no memory for views")) ct_prim_copy(c, a, b);
        ct_release(a);
        ct_release(b);
    }
}

/* Y_R += A V_S for rows R of Y from r and S of V from s; A or its transpose. */
static void add_product(const work *w, const ct_tensor *A, bool transposed, const ct_tensor *V, int64_t s,
                        ct_tensor *Y, int64_t r)
{
    ct_tensor *At = transposed ? ct_tensor_transpose(A) : NULL;
    const ct_tensor *left = transposed ? At : A;
    ct_tensor *v = left ? some(V, s, ct_tensor_dim(left, 1)) : NULL;
    ct_tensor *y = left ? some(Y, r, ct_tensor_dim(left, 0)) : NULL;
    if (ct_require(w->c, v && y, CT_ENOMEM, "no memory for views")) ct_prim_gemm(w->c, 1, left, v, 1, y);
    ct_release(At);
    ct_release(v);
    ct_release(y);
}

/* C of the block beside the diagonal into a view of the room; released by the caller. */
static ct_tensor *covariance_beside(const work *w, const strip *s)
{
    ct_tensor *K = ct__submatrix(w->room, 0, s->rows, 0, s->cols);
    ct_tensor *x = some(w->X, s->row, s->rows), *z = some(w->X, s->col, s->cols);
    if (ct_require(w->c, K && x && z, CT_ENOMEM, "no memory for views"))
        ct_prim_covariance(w->c, w->mixed->program, w->theta, x, z, K);
    ct_release(x);
    ct_release(z);
    return K;
}

static ct_tensor *covariance_diagonal(const work *w, const strip *s)
{
    ct_tensor *K = ct__submatrix(w->room, 0, s->rows, 0, s->rows), *x = some(w->X, s->row, s->rows);
    ct_tensor *noise = some(w->noise, s->row, s->rows), *line = K ? ct_tensor_diagonal(K) : NULL;
    ct_tensor *column = noise ? ct_tensor_unsqueeze(noise, 1) : NULL;
    ct_tensor *target = line ? ct_tensor_unsqueeze(line, 1) : NULL;
    ct_tensor *one = ct_full(ct_call_device(w->c), CT_F64, ct_shape2(1, 1), 1);
    if (ct_require(w->c, x && column && target && one, CT_ENOMEM, "no memory for views")) {
        ct_prim_covariance(w->c, w->mixed->program, w->theta, x, NULL, K);
        ct_prim_gemm(w->c, 1, column, one, 1, target);
    }
    ct_tensor *all[] = { x, noise, line, column, target, one };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ct_release(all[i]);
    return K;
}

/* The triangle's blocks in f64; of the one on the diagonal the other half is zero. */
static ct_tensor *wide_beside(const work *w, const strip *s)
{
    ct_tensor *K = ct__submatrix(w->room, 0, s->rows, 0, s->cols);
    if (ct_require(w->c, K != NULL, CT_ENOMEM, "no memory for views")) ct_prim_copy(w->c, s->beside, K);
    return K;
}

static ct_tensor *wide_diagonal(const work *w, const strip *s)
{
    ct_tensor *K = ct__submatrix(w->room, 0, s->rows, 0, s->rows);
    if (!ct_require(w->c, K != NULL, CT_ENOMEM, "no memory for views")) return NULL;
    ct_prim_fill(w->c, K, 0);
    copy_triangle(w->c, s->upper, s->diagonal, K);
    return K;
}

static work work_of(ct_call *c, int64_t n)
{
    work w = { .c = c, .mixed = ct_attr(c), .theta = ct_arg(c, 0), .n = n };
    w.X = ct_args(c) > 1 ? ct_arg(c, 1) : NULL;
    w.room = n > 0 ? ct_scratch(c, CT_F64, ct_shape2(height_of(n), n)) : NULL;
    return w;
}

static void take_noise(work *w, int input)
{
    w->noise = ct_borrow(w->c, ct_tensor_broadcast(ct_arg(w->c, input), ct_shape1(w->n)));
}

/* -- the factor ------------------------------------------------------------------------------------------ */

static ct_shape factor_shape(ct_call *c)
{
    const ct__mixed *mixed = ct_attr(c);
    ct__gp_check_inputs(c, mixed->program);
    return ct_shape1(ct_arg_dim(c, 1, 0));
}

static void build_strip(const work *w, const strip *s, const ct_tensor *V, ct_tensor *out)
{
    (void)V, (void)out;
    ct_tensor *K = covariance_beside(w, s);
    if (K) ct_prim_copy(w->c, K, s->beside);
    ct_release(K);
    K = covariance_diagonal(w, s);
    if (K) copy_triangle(w->c, s->upper, K, s->diagonal);
    ct_release(K);
}

static void factor_forward(ct_call *c)
{
    int64_t n = ct_arg_dim(c, 1, 0);
    work w = work_of(c, n);
    ct_tensor *triangle = w.mixed->triangle, *out = ct_result(c);
    ct_tensor *z = ct_scratch(c, CT_F32, ct_shape2(n, 1)), *line = ct_scratch(c, CT_F32, ct_shape1(n));
    ct__packed C;
    take_noise(&w, 3);
    if (!out || !z || !line || !w.noise) return;
    for_strips(&w, true, build_strip, NULL, NULL);
    ct_prim_fill(c, z, 0);
    bool known = ct_failure_known(c);
    if (!ct_prim_packed_sweep(c, n, false, 0, triangle, z, line)) {
        if (!ct_require(c, ct__packed_open(triangle, n, &C), CT_ENOMEM, "no memory for views")) return;
        ct__packed_factor(c, &C);
        ct__packed_diagonal(c, &C, line, NULL);
        ct__packed_close(&C);
    }
    if (!known && ct_failure_known(c))
        ct_prim_fill(c, out, NAN);
    else
        ct_prim_copy(c, line, out);
}

/* -- products -------------------------------------------------------------------------------------------- */

static ct_shape last_shape(ct_call *c) { return ct_arg_shape(c, ct_args(c) - 1); }

static void product_strip(const work *w, const strip *s, const ct_tensor *V, ct_tensor *out)
{
    ct_tensor *K = covariance_beside(w, s);
    if (K && s->cols) {
        add_product(w, K, false, V, s->col, out, s->row);
        add_product(w, K, true, V, s->row, out, s->col);
    }
    ct_release(K);
    K = covariance_diagonal(w, s);
    if (K) add_product(w, K, false, V, s->row, out, s->row);
    ct_release(K);
}

static void product_forward(ct_call *c)
{
    work w = work_of(c, ct_arg_dim(c, 1, 0));
    ct_tensor *out = ct_result(c);
    take_noise(&w, 2);
    if (!out || !w.noise) return;
    ct_prim_fill(c, out, 0);
    for_strips(&w, false, product_strip, ct_arg(c, 3), out);
}

/* out += Lᵀ V */
static void trans_strip(const work *w, const strip *s, const ct_tensor *V, ct_tensor *out)
{
    ct_tensor *L = wide_beside(w, s);
    if (L && s->upper) add_product(w, L, false, V, s->col, out, s->row);
    if (L && !s->upper) add_product(w, L, true, V, s->row, out, s->col);
    ct_release(L);
    L = wide_diagonal(w, s);
    if (L) add_product(w, L, !s->upper, V, s->row, out, s->row);
    ct_release(L);
}

/* out += L V */
static void plain_strip(const work *w, const strip *s, const ct_tensor *V, ct_tensor *out)
{
    ct_tensor *L = wide_beside(w, s);
    if (L && s->upper) add_product(w, L, true, V, s->row, out, s->col);
    if (L && !s->upper) add_product(w, L, false, V, s->col, out, s->row);
    ct_release(L);
    L = wide_diagonal(w, s);
    if (L) add_product(w, L, s->upper, V, s->row, out, s->row);
    ct_release(L);
}

static void gram_forward(ct_call *c)
{
    work w = work_of(c, ct_arg_dim(c, 0, 0));
    ct_tensor *out = ct_result(c), *half = ct_scratch(c, CT_F64, ct_arg_shape(c, 0));
    if (!out || !half) return;
    ct_prim_fill(c, half, 0);
    ct_prim_fill(c, out, 0);
    for_strips(&w, true, trans_strip, ct_arg(c, 0), half);
    for_strips(&w, true, plain_strip, half, out);
}

static void solve_forward(ct_call *c)
{
    const ct__mixed *mixed = ct_attr(c);
    int64_t n = ct_arg_dim(c, 0, 0), m = ct_arg_dim(c, 0, 1);
    ct_tensor *out = ct_result(c), *B = ct_scratch(c, CT_F32, ct_shape2(m, n));
    ct_tensor *columns = B ? ct_borrow(c, ct_tensor_transpose(B)) : NULL;
    ct__packed L;
    if (!out || !columns ||
        !ct_require(c, ct__packed_open(mixed->triangle, n, &L), CT_ENOMEM, "no memory for views"))
        return;
    ct_prim_copy(c, ct_arg(c, 0), columns);
    if (mixed->solve != CT__SOLVE_FACTOR_TRANS) ct__packed_solve(c, &L, 0, B);
    if (mixed->solve != CT__SOLVE_FACTOR) ct__packed_solve_trans(c, &L, B);
    ct_prim_copy(c, columns, out);
    ct__packed_close(&L);
}

/* -- the contraction ------------------------------------------------------------------------------------- */

static ct_shape slopes_shape(ct_call *c)
{
    const ct__mixed *mixed = ct_attr(c);
    ct_more_out(c, 1, CT_F64, ct_shape1(ct_arg_dim(c, 1, 0)));
    if (mixed->X_bar) ct_more_out(c, 2, CT_F64, ct_arg_shape(c, 1));
    return ct_arg_shape(c, 0);
}

static void contract_beside(const work *w, const strip *s, const ct_tensor *alpha, ct_tensor *theta_bar,
                            ct_tensor *X_bar)
{
    ct_call *c = w->c;
    const ct_cov_program *k = w->mixed->program;
    ct_tensor *M = wide_beside(w, s), *Mt = M ? ct_tensor_transpose(M) : NULL;
    ct_tensor *u = some(alpha, s->row, s->rows), *v = some(alpha, s->col, s->cols);
    ct_tensor *x = some(w->X, s->row, s->rows), *z = some(w->X, s->col, s->cols);
    ct_tensor *x_bar = some(X_bar, s->row, s->rows), *z_bar = some(X_bar, s->col, s->cols);
    ct_cov_bar one = { .M = M, .u = u, .v = v, .alpha = 1 }, other = { .M = Mt, .u = v, .v = u, .alpha = 1 };
    if (ct_require(c, Mt && u && v && x && z && (!X_bar || (x_bar && z_bar)), CT_ENOMEM,
                   "no memory for views")) {
        ct_prim_covariance_bar_add(c, k, w->theta, x, z, &one, theta_bar, x_bar);
        if (X_bar) ct_prim_covariance_bar_add(c, k, w->theta, z, x, &other, NULL, z_bar);
    }
    ct_tensor *all[] = { M, Mt, u, v, x, z, x_bar, z_bar };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ct_release(all[i]);
}

static void contract_diagonal(const work *w, const strip *s, const ct_tensor *alpha, ct_tensor *theta_bar,
                              ct_tensor *X_bar)
{
    ct_tensor *M = wide_diagonal(w, s), *Mt = M ? ct_tensor_transpose(M) : NULL;
    ct_tensor *u = some(alpha, s->row, s->rows), *x = some(w->X, s->row, s->rows);
    ct_tensor *x_bar = some(X_bar, s->row, s->rows);
    ct_cov_bar bar = { .M = s->upper ? Mt : M, .u = u, .v = u, .alpha = 0.5, .lower = true };
    if (ct_require(w->c, Mt && u && x && (!X_bar || x_bar), CT_ENOMEM, "no memory for views"))
        ct_prim_covariance_bar_add(w->c, w->mixed->program, w->theta, x, NULL, &bar, theta_bar, x_bar);
    ct_tensor *all[] = { M, Mt, u, x, x_bar };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ct_release(all[i]);
}

static void slopes_strip(const work *w, const strip *s, const ct_tensor *alpha, ct_tensor *theta_bar)
{
    ct_tensor *X_bar = w->mixed->X_bar ? ct_result_at(w->c, 2) : NULL;
    if (s->cols) contract_beside(w, s, alpha, theta_bar, X_bar);
    contract_diagonal(w, s, alpha, theta_bar, X_bar);
}

static void slopes_forward(ct_call *c)
{
    int64_t n = ct_arg_dim(c, 1, 0);
    work w = work_of(c, n);
    ct_tensor *theta_bar = ct_result(c), *diagonal = ct_result_at(c, 1);
    ct_tensor *alpha = ct_borrow(c, ct_tensor_squeeze(ct_arg(c, 2), 1));
    ct__packed P;
    if (!theta_bar || !diagonal || !alpha || (w.mixed->X_bar && !ct_result_at(c, 2))) return;
    if (!ct_require(c, ct__packed_open(w.mixed->triangle, n, &P), CT_ENOMEM, "no memory for views")) return;
    ct__packed_invert(c, &P);
    ct__packed_diagonal(c, &P, diagonal, NULL);
    ct__packed_close(&P);
    ct_prim_fill(c, theta_bar, 0);
    if (w.mixed->X_bar) ct_prim_fill(c, ct_result_at(c, 2), 0);
    for_strips(&w, true, slopes_strip, alpha, theta_bar);
}

const ct_op ct__op_mixed_factor = {
    .name = "gp_mixed_factor", .n_in = 4, .shape = factor_shape, .forward = factor_forward
};
const ct_op ct__op_mixed_product = {
    .name = "gp_mixed_product", .n_in = 4, .shape = last_shape, .forward = product_forward
};
const ct_op ct__op_mixed_gram = {
    .name = "gp_mixed_gram", .n_in = 1, .shape = last_shape, .forward = gram_forward
};
const ct_op ct__op_mixed_solve = {
    .name = "gp_mixed_solve", .n_in = 1, .shape = last_shape, .forward = solve_forward
};
const ct_op ct__op_mixed_slopes = {
    .name = "gp_mixed_slopes", .n_in = 3, .shape = slopes_shape, .forward = slopes_forward
};
