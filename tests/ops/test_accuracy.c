/* Dense linear algebra at condition numbers 1, 1e4 and 1e8, and of matrices like those of smooth kernels.
 * Values are judged by residual ratios in the manner of LAPACK's own tests, gradients by differences in
 * quadruple precision. docs/accuracy.md states the bounds; test_lstsq.c and test_ridge.c do the same for
 * least squares. CT_SHOW=1 prints the ratios. */
#include "check.h"
#include "quad.h"

#include <float.h>

#include <cotangent/cotangent.h>

typedef long double wide;

static ct_device *device;
static ct_tape *tape;

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0 - 0.5;
}

static void *numbers(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    assert_non_null(p);
    return p;
}

/* -- matrices of a given condition ----------------------------------------------------------------------- */

typedef enum matrix { GENERAL, SPD, LOWER } matrix;

/* A (I - 2 vvᵀ / vᵀv), or with `left` the same from the left, n×n. */
static void reflect(wide *A, int n, const wide *v, bool left)
{
    const int row = left ? 1 : n, col = left ? n : 1;
    wide square = 0;
    for (int i = 0; i < n; i++) square += v[i] * v[i];
    for (int i = 0; i < n; i++) {
        wide sum = 0;
        for (int k = 0; k < n; k++) sum += A[i * row + k * col] * v[k];
        for (int k = 0; k < n; k++) A[i * row + k * col] -= 2 * sum / square * v[k];
    }
}

/* L of A = L Lᵀ in place, zero above. */
static void factorise(wide *A, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            wide s = A[i * n + j];
            for (int k = 0; k < j; k++) s -= A[i * n + k] * A[j * n + k];
            A[i * n + j] = j > i ? 0 : i == j ? sqrtl(s) : s / A[j * n + j];
        }
}

/* Where the condition of a matrix comes from: singular values in equal ratios between random directions, or
 * rows nearly equal to their neighbours, exp(-(i - j)²/800) with a constant added to the diagonal, whose
 * diagonal blocks are ill-conditioned, too. */
typedef enum cause { RANDOM, SMOOTH } cause;

static double condition_of(cause why, matrix kind, ct_dtype dtype, int round)
{
    const double smooth = dtype == CT_F64 ? 1e10 : 1e4;
    return why == RANDOM ? pow(10, 4 * round) : kind == LOWER ? sqrt(smooth) : smooth;
}

/* The upper triangle of SPD is NaN, as it must not be read. The rows of a smooth GENERAL matrix are permuted.
 */
static void make(matrix kind, int n, cause why, double condition, ct_dtype dtype, double *A)
{
    uint64_t state = (uint64_t)n + 1;
    wide *a = numbers((size_t)(n * n + n), sizeof *a), *v = a + n * n;
    if (kind == LOWER) condition *= condition; /* of L Lᵀ */
    for (int i = 0; i < n; i++) a[i * n + i] = powl(condition, n > 1 ? -(wide)i / (n - 1) : 0);
    for (int round = 0; round < 3 && why == RANDOM; round++) {
        for (int i = 0; i < n; i++) v[i] = uniform(&state);
        reflect(a, n, v, true);
        for (int i = 0; i < n && kind == GENERAL; i++) v[i] = uniform(&state);
        reflect(a, n, v, false);
    }
    for (int i = 0; i < n && why == SMOOTH; i++)
        for (int j = 0; j < n; j++)
            a[(kind == GENERAL ? (i + 1) % n : i) * n + j] =
                i == j ? 1 : expl(-(wide)((i - j) * (i - j)) / 800) / (1 + 50 / condition);
    if (kind == LOWER) factorise(a, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double x = kind == SPD && j > i ? (double)NAN : (double)a[i * n + j];
            A[i * n + j] = dtype == CT_F32 ? (double)(float)x : x;
        }
    free(a);
}

static ct_tensor *tensor(ct_dtype dtype, ct_shape shape, const double *x)
{
    ct_tensor *f64 = assert_tensor(ct_from(device, CT_F64, shape, x), device);
    ct_tensor *t = assert_tensor(ct_tensor_cast(f64, dtype), device);
    ct_release(f64);
    return t;
}

static double *host(const ct_tensor *t)
{
    ct_tensor *f64 = assert_tensor(ct_tensor_cast(t, CT_F64), device);
    double *x = numbers((size_t)ct_tensor_count(t), sizeof *x);
    assert_ok(ct_read(f64, x, (size_t)ct_tensor_count(t) * sizeof *x), ct_message(device));
    ct_release(f64);
    return x;
}

/* -- the ops --------------------------------------------------------------------------------------------- */

enum { COLUMNS = 5 }; /* of right-hand sides, and of parts of an inverse */

/* in[0] the matrix, in[1] right-hand sides */
typedef ct_var apply_fn(const ct_var *in);

static ct_var indices(ct_var A, int64_t *index)
{
    ct_shape shape = ct_var_shape(A);
    const int64_t n = shape.dim[shape.ndim - 1];
    for (int k = 0; k < COLUMNS; k++) index[k] = (7 * k + 3) % n;
    ct_tensor *t = assert_tensor(ct_from(device, CT_I64, ct_shape1(COLUMNS), index), device);
    ct_var v = ct_constant(tape, t);
    ct_release(t);
    return v;
}

static ct_var inverse_cols(const ct_var *in)
{
    int64_t index[COLUMNS];
    return ct_inverse_cols(in[0], indices(in[0], index));
}

static ct_var inverse_rows(const ct_var *in)
{
    int64_t index[COLUMNS];
    return ct_inverse_rows(in[0], indices(in[0], index));
}

static ct_var lu_solve(const ct_var *in)
{
    ct_var order, LU = ct_lu(in[0], &order);
    return ct_lu_solve(in[0], LU, order, in[1], CT_TRANS);
}

static ct_var quadratic(const ct_var *in)
{
    return ct_inv_quad_logdet(in[0], ct_slice(in[1], -1, 0, 1, 1), NULL);
}

static ct_var determinant(const ct_var *in)
{
    ct_var l;
    ct_inv_quad_logdet(in[0], ct_slice(in[1], -1, 0, 1, 1), &l);
    return l;
}

static ct_var inverse(const ct_var *in) { return ct_inverse(in[0]); }
static ct_var inverse_spd(const ct_var *in) { return ct_inverse_spd(in[0]); }
static ct_var inverse_diag(const ct_var *in) { return ct_inverse_diag(in[0]); }
static ct_var inverse_diag_spd(const ct_var *in) { return ct_inverse_diag_spd(in[0]); }
static ct_var solve(const ct_var *in) { return ct_solve(in[0], in[1]); }
static ct_var slogdet(const ct_var *in) { return ct_slogdet(in[0], NULL); }
static ct_var cholesky(const ct_var *in) { return ct_cholesky(in[0]); }
static ct_var cholesky_solve(const ct_var *in) { return ct_cholesky_solve(in[0], in[1]); }
static ct_var cholesky_logdet(const ct_var *in) { return ct_cholesky_logdet(in[0]); }
static ct_var tri_solve(const ct_var *in) { return ct_tri_solve(in[0], in[1], CT_LOWER); }
static ct_var tri_solve_trans(const ct_var *in) { return ct_tri_solve(in[0], in[1], CT_TRANS); }

/* What defines y: an equation, with M = A, Aᵀ or L Lᵀ for a given L and E columns (rows) of the identity; or
 * a number. */
typedef enum equation {
    M_Y_IS_I,  /* M Y = I             */
    M_Y_IS_E,  /* M Y = E             */
    Y_M_IS_E,  /* Y M = Eᵀ            */
    M_Y_IS_B,  /* M Y = B             */
    Y_Yt_IS_M, /* Y Yᵀ = M            */
    LOG_DET,   /* y = log |det M|     */
    QUADRATIC, /* y = bᵀ M⁻¹ b        */
    DIAGONAL,  /* y = diag M⁻¹        */
} equation;

typedef struct subject {
    const char *name;
    apply_fn *apply;
    matrix kind;
    equation is;
    bool trans, factored; /* M = Aᵀ; M = A Aᵀ */
} subject;

static const subject subjects[] = {
    { "inverse", inverse, GENERAL, M_Y_IS_I, false, false },
    { "inverse_spd", inverse_spd, SPD, M_Y_IS_I, false, false },
    { "inverse_cols", inverse_cols, GENERAL, M_Y_IS_E, false, false },
    { "inverse_rows", inverse_rows, GENERAL, Y_M_IS_E, false, false },
    { "inverse_diag", inverse_diag, GENERAL, DIAGONAL, false, false },
    { "inverse_diag_spd", inverse_diag_spd, SPD, DIAGONAL, false, false },
    { "solve", solve, GENERAL, M_Y_IS_B, false, false },
    { "lu_solve, transposed", lu_solve, GENERAL, M_Y_IS_B, true, false },
    { "slogdet", slogdet, GENERAL, LOG_DET, false, false },
    { "inv_quad", quadratic, SPD, QUADRATIC, false, false },
    { "inv_quad's logdet", determinant, SPD, LOG_DET, false, false },
    { "cholesky", cholesky, SPD, Y_Yt_IS_M, false, false },
    { "cholesky_solve", cholesky_solve, LOWER, M_Y_IS_B, false, true },
    { "cholesky_logdet", cholesky_logdet, LOWER, LOG_DET, false, true },
    { "tri_solve", tri_solve, LOWER, M_Y_IS_B, false, false },
    { "tri_solve, transposed", tri_solve_trans, LOWER, M_Y_IS_B, true, false },
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

/* in[0] n×n and in[1] n×COLUMNS as leaves, y in the dtype. */
static ct_var evaluate(const subject *s, ct_dtype dtype, int n, const double *A, const double *B, ct_var *in)
{
    ct_tape_reset(tape);
    ct_tensor *a = tensor(dtype, ct_shape2(n, n), A), *b = tensor(dtype, ct_shape2(n, COLUMNS), B);
    in[0] = ct_leaf(tape, a), in[1] = ct_leaf(tape, b);
    ct_release(a);
    ct_release(b);
    ct_var y = ct_keep(s->apply(in));
    assert_ok(ct_tape_status(tape), ct_tape_message(tape));
    return y;
}

/* -- values ---------------------------------------------------------------------------------------------- */

/* C = X op(Y): X m×k, Y k×n, or n×k with `trans`. */
static void product(wide *C, const wide *X, const wide *Y, int m, int k, int n, bool trans)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            wide sum = 0;
            for (int l = 0; l < k; l++) sum += X[i * k + l] * (trans ? Y[j * k + l] : Y[l * n + j]);
            C[i * n + j] = sum;
        }
}

/* The 1-norm of an m×n matrix. */
static double norm(const wide *A, int m, int n)
{
    wide largest = 0;
    for (int j = 0; j < n; j++) {
        wide sum = 0;
        for (int i = 0; i < m; i++) sum += fabsl(A[i * n + j]);
        if (!(sum <= largest)) largest = sum;
    }
    return (double)largest;
}

/* M as the op sees it, from the part of A that it reads. */
static void complete(const subject *s, const double *A, int n, wide *M)
{
    wide *a = numbers((size_t)(n * n), sizeof *a);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            bool mirror = s->kind == SPD && j > i;
            a[(s->trans ? j * n + i : i * n + j)] = A[mirror ? j * n + i : i * n + j];
        }
    if (s->factored)
        product(M, a, a, n, n, n, true);
    else
        memcpy(M, a, (size_t)(n * n) * sizeof *a);
    free(a);
}

/* Solves M X = B in place of B (n×m) by Gaussian elimination, which destroys M. Returns log |det M|. */
static wide eliminate(wide *M, wide *B, int n, int m)
{
    wide log_det = 0;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k; i < n; i++)
            if (fabsl(M[i * n + k]) > fabsl(M[best * n + k])) best = i;
        for (int j = 0; j < n; j++) {
            wide x = M[k * n + j];
            M[k * n + j] = M[best * n + j], M[best * n + j] = x;
        }
        for (int j = 0; j < m; j++) {
            wide x = B[k * m + j];
            B[k * m + j] = B[best * m + j], B[best * m + j] = x;
        }
        log_det += logl(fabsl(M[k * n + k]));
        for (int i = 0; i < n; i++) {
            if (i == k) continue;
            wide f = M[i * n + k] / M[k * n + k];
            for (int j = k; j < n; j++) M[i * n + j] -= f * M[k * n + j];
            for (int j = 0; j < m; j++) B[i * m + j] -= f * B[k * m + j];
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) B[i * m + j] /= M[i * n + i];
    return log_det;
}

/* |C - X Y| over n |X| |Y| eps */
static double ratio(const wide *C, const wide *X, const wide *Y, int m, int k, int n, bool trans, double eps)
{
    wide *R = numbers((size_t)(m * n), sizeof *R);
    product(R, X, Y, m, k, n, trans);
    for (int i = 0; i < m * n; i++) R[i] -= C[i];
    double size = trans ? norm(C, m, n) : norm(X, m, k) * norm(Y, k, n), r = norm(R, m, n) / (k * size * eps);
    free(R);
    return r;
}

static double residual_ratio(const subject *s, const double *A, const double *B, const double *y, int n,
                             double condition, double eps)
{
    const int room = n * (n > COLUMNS ? n : COLUMNS);
    wide *M = numbers(3 * (size_t)room, sizeof *M), *Y = M + room, *C = Y + room;
    complete(s, A, n, M);
    const bool whole = s->is == M_Y_IS_I || s->is == Y_Yt_IS_M;
    const int columns = whole ? n : COLUMNS;
    double r = NAN;
    if (s->is == DIAGONAL) { /* backward errors of n |M| eps move M⁻¹ by condition |M⁻¹| times that */
        double worst = 0;
        for (int i = 0; i < n * n; i++) C[i] = i % (n + 1) == 0;
        eliminate(M, C, n, n);
        for (int i = 0; i < n; i++) worst = fmax(worst, (double)fabsl(y[i] - C[i * (n + 1)]));
        r = worst / (n * condition * norm(C, n, n) * eps);
    } else if (s->is >= LOG_DET) { /* backward errors of n |M| eps move both by condition times that */
        wide *x = C, exact = 0, size = condition;
        for (int i = 0; i < n; i++) x[i] = B[i * COLUMNS];
        if (s->factored) { /* no factorisation, but a sum */
            for (int i = 0; i < n; i++) exact += 2 * logl(A[i * (n + 1)]);
            size = 1;
            for (int i = 0; i < n; i++) size += 2 * fabsl(logl(A[i * (n + 1)]));
        } else {
            exact = eliminate(M, x, n, 1);
        }
        if (s->is == QUADRATIC) {
            exact = 0;
            for (int i = 0; i < n; i++) exact += x[i] * B[i * COLUMNS];
            size *= fabsl(exact);
        }
        r = (double)(fabsl(y[0] - exact) / (n * size * eps));
    } else {
        for (int i = 0; i < n * columns; i++) Y[i] = y[i];
        for (int k = 0; k < n * columns; k++) C[k] = 0;
        if (s->is == M_Y_IS_I)
            for (int i = 0; i < n; i++) C[i * n + i] = 1;
        if (s->is == M_Y_IS_B)
            for (int i = 0; i < n * columns; i++) C[i] = B[i];
        for (int k = 0; k < COLUMNS; k++) {
            const int at = (7 * k + 3) % n;
            if (s->is == M_Y_IS_E) C[at * COLUMNS + k] = 1;
            if (s->is == Y_M_IS_E) C[k * n + at] = 1;
        }
        if (s->is == Y_Yt_IS_M)
            r = ratio(M, Y, Y, n, n, n, true, eps);
        else if (s->is == Y_M_IS_E)
            r = ratio(C, Y, M, columns, n, n, false, eps);
        else
            r = ratio(C, M, Y, n, n, columns, false, eps);
    }
    free(M);
    return r;
}

static void values_have_small_residuals(void **state)
{
    (void)state;
    enum { EXTENTS = 5 };
    static const int extents[EXTENTS] = { 1, 5, 33, 100, 200 };
    for (int k = 0; k < SUBJECTS; k++)
        for (int round = 0; round < 2 * EXTENTS * 4; round++) {
            const subject *s = &subjects[k];
            const ct_dtype dtype = round % 2 ? CT_F32 : CT_F64;
            const int n = extents[round / 2 % EXTENTS], nth = round / 2 / EXTENTS;
            const cause why = nth < 3 ? RANDOM : SMOOTH;
            const double condition = n > 1 ? condition_of(why, s->kind, dtype, nth) : 1,
                         eps = dtype == CT_F64 ? DBL_EPSILON : FLT_EPSILON;
            if (dtype == CT_F32 && condition > 1e4) continue;
            uint64_t seed = 3;
            double *A = numbers((size_t)(n * n + n * COLUMNS), sizeof *A), *B = A + n * n;
            make(s->kind, n, why, condition, dtype, A);
            for (int i = 0; i < n * COLUMNS; i++)
                B[i] = dtype == CT_F32 ? (double)(float)uniform(&seed) : uniform(&seed);
            ct_var in[2];
            double *y = host(ct_value(evaluate(s, dtype, n, A, B, in)));
            double r = residual_ratio(s, A, B, y, n, condition, eps);
            if (getenv("CT_SHOW"))
                print_message("%-22s %s n %3d condition %g%s: residual ratio %.2g\n", s->name,
                              ct_dtype_name(dtype), n, condition, why == SMOOTH ? " (smooth)" : "", r);
            if (!(r <= 1))
                fail_msg("%s %s n %d condition %g: residual ratio %g", s->name, ct_dtype_name(dtype), n,
                         condition, r);
            free(y);
            free(A);
        }
    ct_tape_reset(tape);
}

/* -- gradients ------------------------------------------------------------------------------------------- */

#ifdef QUAD

enum { N = 33, PLACES = 24 };

/* As `eliminate`. */
static quad quad_eliminate(quad *M, quad *B, int m)
{
    quad log_det = 0;
    for (int k = 0; k < N; k++) {
        int best = k;
        for (int i = k; i < N; i++)
            if (fabs((double)M[i * N + k]) > fabs((double)M[best * N + k])) best = i;
        for (int j = 0; j < N; j++) {
            quad x = M[k * N + j];
            M[k * N + j] = M[best * N + j], M[best * N + j] = x;
        }
        for (int j = 0; j < m; j++) {
            quad x = B[k * m + j];
            B[k * m + j] = B[best * m + j], B[best * m + j] = x;
        }
        quad pivot = M[k * N + k];
        log_det += quad_log(pivot < 0 ? -pivot : pivot);
        for (int i = 0; i < N; i++) {
            if (i == k) continue;
            quad f = M[i * N + k] / pivot;
            for (int j = k; j < N; j++) M[i * N + j] -= f * M[k * N + j];
            for (int j = 0; j < m; j++) B[i * m + j] -= f * B[k * m + j];
        }
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < m; j++) B[i * m + j] /= M[i * N + i];
    return log_det;
}

/* ⟨y_bar, y(A, B)⟩; of SPD both triangles of A are given. */
static quad objective(const subject *s, const quad *A, const quad *B, const double *y_bar)
{
    static quad M[N * N], X[N * N];
    quad sum = 0;
    if (s->factored && s->is == LOG_DET) {
        for (int i = 0; i < N; i++) sum += 2 * quad_log(A[i * (N + 1)]);
        return y_bar[0] * sum;
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            quad x = 0;
            if (s->factored)
                for (int k = 0; k < N; k++) x += A[i * N + k] * A[j * N + k];
            else
                x = s->trans ? A[j * N + i] : A[i * N + j];
            M[i * N + j] = x;
        }
    if (s->is == Y_Yt_IS_M) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j <= i; j++) {
                quad x = M[i * N + j];
                for (int k = 0; k < j; k++) x -= X[i * N + k] * X[j * N + k];
                X[i * N + j] = i == j ? quad_sqrt(x) : x / X[j * N + j];
                sum += y_bar[i * N + j] * X[i * N + j];
            }
        return sum;
    }
    const bool whole = s->is == M_Y_IS_I || s->is == DIAGONAL;
    const int columns = whole ? N : s->is >= LOG_DET ? 1 : COLUMNS;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < columns; j++) {
            const bool unit = i == (whole ? j : (7 * j + 3) % N);
            X[i * columns + j] = s->is >= M_Y_IS_B && !whole ? B[i * COLUMNS + j] : (quad)unit;
        }
    if (s->is == Y_M_IS_E) /* of Mᵀ Yᵀ = E */
        for (int i = 0; i < N; i++)
            for (int j = 0; j < i; j++) {
                quad x = M[i * N + j];
                M[i * N + j] = M[j * N + i], M[j * N + i] = x;
            }
    quad log_det = quad_eliminate(M, X, columns);
    if (s->is == LOG_DET) return y_bar[0] * log_det;
    for (int i = 0; i < N && s->is == DIAGONAL; i++) sum += y_bar[i] * X[i * (N + 1)];
    if (s->is == DIAGONAL) return sum;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < columns; j++)
            sum += X[i * columns + j] * (s->is == QUADRATIC  ? y_bar[0] * B[i * COLUMNS]
                                         : s->is == Y_M_IS_E ? (quad)y_bar[j * N + i]
                                                             : (quad)y_bar[i * columns + j]);
    return sum;
}

/* The largest error of x_bar at some places, divided by the largest element there. part 0: A, 1: B. */
static double gradient_error(const subject *s, const double *A, const double *B, const double *y_bar,
                             int part, const double *x_bar, double condition)
{
    quad *a = numbers(N * N + N * COLUMNS, sizeof *a), *b = a + N * N;
    const quad step = pow(1e-34 / condition, 1.0 / 3); /* error h² condition², rounding 1e-34 condition / h */
    const int columns = part ? COLUMNS : N;
    double worst = 0, size = 0;
    uint64_t seed = 11;
    for (int k = 0; k < PLACES; k++) {
        int i = (int)((uniform(&seed) + 0.5) * N), j = (int)((uniform(&seed) + 0.5) * columns);
        if (part && s->is == QUADRATIC) j = 0;
        if (!part && k % 4 == 0) j = i;
        if (!part && s->kind != GENERAL && j > i) {
            int swap = i;
            i = j, j = swap;
        }
        quad y[2];
        for (int side = 0; side < 2; side++) {
            for (int e = 0; e < N * N; e++) {
                bool mirror = s->kind == SPD && e % N > e / N;
                a[e] = A[mirror ? e % N * N + e / N : e];
            }
            for (int e = 0; e < N * COLUMNS; e++) b[e] = B[e];
            quad h = side ? -step : step;
            if (part)
                b[i * columns + j] += h;
            else
                a[i * N + j] += h;
            if (!part && s->kind == SPD && i != j) a[j * N + i] += h;
            y[side] = objective(s, a, b, y_bar);
        }
        quad slope = (y[0] - y[1]) / (2 * step);
        if (!part && s->kind == SPD && i != j) slope /= 2;
        worst = fmax(worst, fabs((double)(x_bar[i * columns + j] - slope)));
        size = fmax(size, fabs((double)slope));
    }
    free(a);
    return worst / size;
}

/* Normwise, as the problem itself is conditioned: a backward stable rule can do no better than about
 * condition * eps. */
static void gradients_lose_the_condition_number(void **state)
{
    (void)state;
    for (int k = 0; k < SUBJECTS; k++)
        for (int round = 0; round < 4; round++) {
            const subject *s = &subjects[k];
            const cause why = round < 3 ? RANDOM : SMOOTH;
            const double condition = condition_of(why, s->kind, CT_F64, round);
            uint64_t seed = 5;
            double A[N * N], B[N * COLUMNS], y_bar[N * N];
            make(s->kind, N, why, condition, CT_F64, A);
            for (int i = 0; i < N * COLUMNS; i++) B[i] = uniform(&seed);
            for (int i = 0; i < N * N; i++) y_bar[i] = uniform(&seed);
            ct_var in[2], bar[2], y = evaluate(s, CT_F64, N, A, B, in);
            ct_tensor *g = tensor(CT_F64, ct_var_shape(y), y_bar);
            assert_ok(ct_grad(y, ct_constant(tape, g), in, bar, 2, CT_GRAD_FREE), ct_tape_message(tape));
            const bool has_B = s->is == M_Y_IS_B || s->is == QUADRATIC;
            for (int part = 0; part <= has_B; part++) {
                double *x_bar = host(ct_value(bar[part]));
                double error = gradient_error(s, A, B, y_bar, part, x_bar,
                                              s->factored ? condition * condition : condition);
                double units = error / (condition * DBL_EPSILON);
                if (getenv("CT_SHOW"))
                    print_message("%-22s d/d%s condition %g: error %.2g, %.2g units\n", s->name,
                                  part ? "B" : "A", condition, error, units);
                if (!(units <= N))
                    fail_msg("%s d/d%s condition %g: error %g", s->name, part ? "B" : "A", condition, error);
                free(x_bar);
            }
            ct_release(g);
        }
    ct_tape_reset(tape);
}

#endif

static int open_device(void **state)
{
    (void)state;
    device = ct_device_open(check_device());
    tape = ct_tape_new(device);
    return tape ? 0 : 1;
}

static int close_device(void **state)
{
    (void)state;
    ct_tape_free(tape);
    bool clean = ct_memory(device).bytes_now == 0;
    ct_device_close(device);
    return clean ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_have_small_residuals),
#ifdef QUAD
        cmocka_unit_test(gradients_lose_the_condition_number),
#endif
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
