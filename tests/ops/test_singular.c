/* Finite inputs for which there is no answer: the op says so, the member is NaN and the others are right.
 * Where ops.h promises IEEE's answer it is no failure: infinities and NaN of elementwise ops, and the
 * logarithm of a zero determinant. */
#include "one_tape.h"

static ct_var leaf(ct_tensor *t)
{
    ct_var v = ct_leaf(tape, t);
    ct_release(t);
    return v;
}

static ct_var number(double x) { return leaf(ct_full(device, CT_F64, ct_shape0(), x)); }
static ct_var zeros(int64_t rows, int64_t cols)
{
    return leaf(ct_zeros(device, CT_F64, ct_shape2(rows, cols)));
}

/* Checks y's elements and that its failure is reported; then resets the tape. */
#define FLAGGED(y, words, ...)                               \
    do {                                                     \
        assert_elements(ct_value(y), 1e-14, 0, __VA_ARGS__); \
        flagged(y, words);                                   \
    } while (0)

static void flagged(ct_var y, const char *words)
{
    ct_var sum = ct_sum(y, CT_ALL, false);
    ct_status s = ct_backward(sum);
    assert_true(s == CT_ENUMERIC || (!check_at_once() && s == CT_OK));
    assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
    if (!strstr(ct_tape_message(tape), words)) fail_msg("\"%s\" lacks \"%s\"", ct_tape_message(tape), words);
    ct_tape_reset(tape);
}

static void gradient_is_nan(ct_var y, ct_var x, const double *nan, int64_t n)
{
    ct_var bar;
    ct_grad(ct_sum(y, CT_ALL, false), (ct_var){ NULL, 0, 0 }, &x, &bar, 1, CT_GRAD_KEEP);
    double *got = malloc((size_t)n * sizeof *got);
    assert_ok(ct_read(ct_value(bar), got, (size_t)n * sizeof *got), "");
    for (int64_t i = 0; i < n; i++) assert_int_equal(isnan(got[i]), isnan(nan[i]));
    free(got);
}

static void determinants(void **state)
{
    (void)state;
    const double data[] = { 0, 1, 1, 0, 2, 0, 0, 3, 1, 2, 2, 4 }; /* det -1, 6, 0 */
    ct_var A = leaf(ct_from(device, CT_F64, ct_shape3(2, 2, 2), data)), y = ct_logdet(A);
    gradient_is_nan(y, A, (const double[]){ NAN, NAN, NAN, NAN, 0, 0, 0, 0 }, 8);
    FLAGGED(y, "positive(2x1x1, 2): the determinant of batch member 0 is negative", NAN, log(6));
    A = leaf(tensor2(device, 2, 2, 0, 1, 1, 0));
    FLAGGED(ct_logdet(A), "ct_slogdet", NAN);
    A = leaf(ct_from(device, CT_F64, ct_shape3(2, 2, 2), data + 4)); /* -inf where it is 0 */
    y = ct_logdet(ct_stop_gradient(A));
    assert_elements(ct_value(y), 1e-14, 0, log(6), -INFINITY);
    assert_ok(ct_tape_status(tape), ct_tape_message(tape));
    ct_tape_reset(tape);
}

/* Equal rows: some pivot of one factorisation is an exact zero where rounding gives another one 1e-17. */
static void equal_rows(void **state)
{
    (void)state;
    const double row[] = { -0.434, -1.874, -0.037, 1.315 };
    double data[16];
    for (int i = 0; i < 16; i++) data[i] = row[i % 4];
    ct_var A = leaf(ct_from(device, CT_F64, ct_shape2(4, 4), data)), y = ct_slogdet(A, NULL), bar;
    if (ct_item(y) == -INFINITY) {
        for (int recorded = 0; recorded < 2; recorded++) {
            ct_grad(y, (ct_var){ NULL, 0, 0 }, &A, &bar, 1, recorded ? CT_GRAD_RECORD : CT_GRAD_KEEP);
            assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
            assert_ok(ct_read(ct_value(bar), data, sizeof data), "");
            for (int i = 0; i < 16; i++) assert_true(isnan(data[i]));
        }
    }
    ct_tape_reset(tape);
}

static void triangles(void **state)
{
    (void)state;
    const double data[] = { 2, NAN, 1, 0, 2, NAN, 0, 4 }; /* singular; [2 0; 0 4] */
    ct_var b = leaf(ct_full(device, CT_F64, ct_shape2(2, 1), 4));
    ct_var T = leaf(ct_from(device, CT_F64, ct_shape3(2, 2, 2), data));
    FLAGGED(
        ct_tri_solve(T, b, 0),
        "op #2 tri_solve(2x2x2, 2x1): diagonal element 2 of batch member 0 is zero or NaN: the triangular",
        NAN, NAN, 2, 1);
    b = leaf(ct_full(device, CT_F64, ct_shape2(1, 2), 4));
    T = leaf(tensor2(device, 2, 2, 0, 1, 0, -5));
    FLAGGED(ct_tri_solve(T, b, CT_UPPER | CT_TRANS | CT_RIGHT), "diagonal element 1 is zero", NAN, NAN);
    T = leaf(tensor2(device, 2, 2, 0, 1, 0, 0)); /* its diagonal is not read */
    b = leaf(ct_full(device, CT_F64, ct_shape2(2, 1), 4));
    ct_var x = ct_tri_solve(T, b, CT_UPPER | CT_UNIT);
    assert_elements(ct_value(x), 0, 0, 0, 4);
    assert_ok(ct_tape_status(tape), ct_tape_message(tape));
    ct_tape_reset(tape);
    b = leaf(ct_full(device, CT_F64, ct_shape2(2, 1), 4));
    T = leaf(tensor2(device, 2, 2, -1, 0, 1, -0.0));
    FLAGGED(ct_cholesky_solve(T, b),
            "cholesky_solve(2x2, 2x1): op #2 tri_solve(2x2, 2x1): diagonal element 2 is zero", NAN, NAN);
    T = leaf(tensor2(device, 2, 2, -1, NAN, 1, -2)); /* any sign will do */
    b = leaf(ct_full(device, CT_F64, ct_shape2(2, 1), 4));
    assert_elements(ct_value(ct_tri_solve(T, b, 0)), 0, 0, -4, -4);
    assert_ok(ct_tape_status(tape), ct_tape_message(tape));
    ct_tape_reset(tape);
}

static void cholesky_factors(void **state)
{
    (void)state;
    const double data[] = { 2, 9, 1, -3, 2, 0, 0, 3 };
    ct_var L = leaf(ct_from(device, CT_F64, ct_shape3(2, 2, 2), data)), y = ct_cholesky_logdet(L);
    FLAGGED(y, "cholesky_logdet(2x2x2): diagonal element 2 of batch member 0 is not positive", NAN,
            2 * log(6));
    L = leaf(tensor2(device, 1, 1, 0));
    FLAGGED(ct_cholesky_logdet(L),
            "diagonal element 1 is not positive and finite: L is not a Cholesky factor", NAN);
    L = leaf(tensor2(device, 1, 1, INFINITY));
    FLAGGED(ct_cholesky_logdet(L), "diagonal element 1 is not positive and finite", NAN);
    L = leaf(tensor2(device, 2, 2, -1, 0, 0, 2));
    ct_var one = leaf(ct_full(device, CT_F64, ct_shape2(2, 1), 1)), zero = zeros(2, 1);
    FLAGGED(ct_mvn_logpdf(one, zero, L), "diagonal element 1 is not positive", NAN);
}

static void variances(void **state)
{
    (void)state;
    ct_var m = leaf(tensor1(device, 2, 0, 0)), y = leaf(tensor1(device, 2, 1, 1)),
           v = leaf(tensor1(device, 2, 1, -1));
    FLAGGED(ct_gaussian_nll(m, v, y), "positive(2x1, scalar): variance 2 is not positive", NAN);
    m = leaf(tensor1(device, 2, 0, 0)), y = leaf(tensor1(device, 2, 0, 0));
    FLAGGED(ct_gaussian_nll(m, number(0), y), "variance 1 is not positive", NAN);
    m = leaf(tensor1(device, 2, 0, 0)), y = leaf(tensor1(device, 2, 0, 0));
    FLAGGED(ct_gaussian_nll(m, number(INFINITY), y), "variance 1 is not positive and finite", NAN);
}

static void ridge(void **state)
{
    (void)state;
    const double bad[] = { 0, -1e-3, NAN };
    for (int i = 0; i < 3; i++) {
        double B[] = { 1, 2, 3 }, D[] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };
        ct_var P = ct_ridge_solve(leaf(ct_from(device, CT_F64, ct_shape2(1, 3), B)), /* pushed through */
                                  leaf(ct_from(device, CT_F64, ct_shape2(3, 3), D)), number(bad[i]));
        FLAGGED(P, "lambda is not positive and finite: choose another", NAN, NAN, NAN);
        P = ct_ridge_solve(leaf(ct_from(device, CT_F64, ct_shape2(3, 1), B)), leaf(tensor2(device, 1, 1, 1)),
                           number(bad[i]));
        FLAGGED(P, "lambda", NAN, NAN, NAN);
        P = ct_ridge_solve(zeros(2, 0), zeros(2, 0), number(bad[i]));
        assert_int_equal(ct_tensor_count(ct_value(P)), 0);
        flagged(P, "lambda");
        P = ct_ridge_solve(zeros(0, 2), zeros(2, 2), number(bad[i]));
        assert_int_equal(ct_tensor_count(ct_value(P)), 0);
        flagged(P, "lambda");
    }
    ct_var B = leaf(tensor3(device, 2, 1, 2, 1, 0, 1, 0)), D = leaf(tensor2(device, 2, 2, 1, 0, 0, 1)), P;
    P = ct_ridge_solve(B, D, leaf(tensor1(device, 2, 1, 0)));
    FLAGGED(P, "of batch member 1", 0.5, 0, NAN, NAN);
    P = ct_ridge_solve(zeros(2, 0), zeros(2, 0), number(1));
    assert_ok(ct_tape_status(tape), ct_tape_message(tape));
    ct_tape_reset(tape);
}

/* Factorisations, and solves by them, of zero matrices; of empty ones. */
static void zero_matrices(void **state)
{
    (void)state;
    ct_tensor *first = ct_zeros(device, CT_I64, ct_shape1(1));
    for (int n = 0; n < 3; n += 2) {
        for (int op = 0; op < 15; op++) {
            ct_var A = zeros(n, n), b = leaf(ct_full(device, CT_F64, ct_shape2(n, 1), 1)), y = A, other;
            ct_var index = ct_constant(tape, first);
            if (!n && (op == 3 || op == 4 || op == 12)) continue;
            switch (op) {
            case 0: y = ct_cholesky(A); break;
            case 1: y = ct_inverse(A); break;
            case 2: y = ct_inverse_spd(A); break;
            case 3: y = ct_inverse_cols(A, index); break;
            case 4: y = ct_inverse_rows(A, index); break;
            case 5: y = ct_solve(A, b); break;
            case 6: y = ct_lu(A, &other); break;
            case 7: y = ct_inv_quad_logdet(A, b, &other); break;
            case 8: y = ct_lstsq(A, b); break;
            case 9: y = ct_tri_solve(A, b, CT_UPPER); break;
            case 10: y = ct_cholesky_solve(A, b); break;
            case 11: y = ct_ridge_solve(A, A, number(1)); break;
            case 12: y = ct_inverse_block(A, index, index); break;
            case 13: y = ct_inverse_diag(A); break;
            case 14: y = ct_inverse_diag_spd(A); break;
            }
            ct_status s = ct_tape_status(tape);
            if (s != (n ? CT_ENUMERIC : CT_OK))
                fail_msg("op %d, n = %d: %s: %s", op, n, ct_status_name(s), ct_tape_message(tape));
            double x[4] = { 0 };
            int64_t count = ct_tensor_count(ct_value(y));
            assert_true(n || count <= 1);
            assert_ok(ct_read(ct_value(y), x, (size_t)count * sizeof *x), "");
            for (int64_t i = 0; i < count; i++) assert_true(n ? isnan(x[i]) : x[i] == 0);
            ct_tape_reset(tape);
        }
    }
    ct_release(first);
}

/* -- singular matrices of small integers ----------------------------------------------------------------- */

static uint64_t drawn = 3;
static int integer(int lo, int hi)
{
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    return lo + (int)((drawn >> 33) % (uint64_t)(hi - lo + 1));
}

/* X (rows, n) of small integers, in which column `of` is the combination c of the others. */
static void draw_dependent(int rows, int n, int of, const int *c, double *X)
{
    for (int i = 0; i < rows * n; i++) X[i] = integer(-5, 5);
    for (int r = 0; r < rows; r++) {
        X[r * n + of] = 0;
        for (int j = 0; j < n; j++)
            if (j != of) X[r * n + of] += c[j] * X[r * n + j];
    }
}

static ct_var from(ct_dtype dtype, ct_shape shape, const double *x)
{
    ct_tensor *f64 = ct_from(device, CT_F64, shape, x), *t = ct_tensor_cast(f64, dtype);
    ct_release(f64);
    return leaf(t);
}

/* All of y is NaN, and the tape says that it failed. */
static void refused(ct_var y, int n, const char *op)
{
    ct_tensor *f64 = ct_tensor_cast(ct_value(y), CT_F64);
    const int64_t count = ct_tensor_count(f64);
    double x[64];
    assert_ok(ct_read(f64, x, (size_t)count * sizeof *x), "");
    for (int64_t i = 0; i < count; i++)
        if (!isnan(x[i])) fail_msg("%s of extent %d: %g", op, n, x[i]);
    assert_status(ct_tape_status(tape), CT_ENUMERIC, op);
    ct_release(f64);
    ct_tape_reset(tape);
}

/* Cholesky of a singular matrix ends with a pivot of rounding errors, which is positive every second time. */
static void small_integers(void **state)
{
    (void)state;
    enum { MOST = 6, ROWS = 5 };
    const int rounds = check_quick() ? 40 : 400;
    for (int f32 = 0; f32 < 2; f32++)
        for (int n = 2; n <= MOST; n++)
            for (int k = 0; k < rounds; k++) {
                const ct_dtype dtype = f32 ? CT_F32 : CT_F64;
                const int of = integer(0, n - 1), r = integer(1, ROWS), m = integer(1, ROWS);
                double B[ROWS * MOST], D[ROWS * MOST], A[MOST * MOST], lambda = pow(10, integer(-9, 9));
                int c[MOST];
                for (int j = 0; j < n; j++) c[j] = integer(-3, 3);
                draw_dependent(r, n, of, c, B);
                draw_dependent(m, n, of, c, D);
                for (int i = 0; i < n * n; i++) {
                    A[i] = 0;
                    for (int l = 0; l < r; l++) A[i] += B[l * n + i / n] * B[l * n + i % n];
                }
                refused(ct_inverse_spd(from(dtype, ct_shape2(n, n), A)), n, "inverse_spd");
                refused(ct_inverse_spd(ct_stop_gradient(from(dtype, ct_shape2(n, n), A))), n, "inverse_spd");
                refused(ct_inverse_diag_spd(from(dtype, ct_shape2(n, n), A)), n, "inverse_diag_spd");
                refused(ct_inverse_diag_spd(ct_stop_gradient(from(dtype, ct_shape2(n, n), A))), n,
                        "inverse_diag_spd");
                ct_var P = ct_ridge_solve(from(dtype, ct_shape2(r, n), B), from(dtype, ct_shape2(m, n), D),
                                          from(dtype, ct_shape0(), &lambda));
                refused(P, n, "ridge_solve");
            }
}

/* What is not singular is not refused, whatever the scale of its rows and columns. */
static void scales(void **state)
{
    (void)state;
    const double units[] = { 1, 1e-12, 1e9 }, one = 1;
    double A[9], D[9] = { 0 };
    for (int i = 0; i < 9; i++) A[i] = units[i / 3] * units[i % 3] * (i % 4 ? 0.5 : 1);
    ct_var P = ct_inverse_spd(from(CT_F64, ct_shape2(3, 3), A));
    double wanted[9];
    for (int i = 0; i < 9; i++) wanted[i] = (i % 4 ? -0.5 : 1.5) / (units[i / 3] * units[i % 3]);
    check_elements_at(ct_value(P), wanted, 9, 1e-14, 0, "inverse", __FILE__, __LINE__);
    for (int i = 0; i < 3; i++) D[4 * i] = units[i];
    P = ct_ridge_solve(from(CT_F64, ct_shape2(1, 3), units), from(CT_F64, ct_shape2(3, 3), D),
                       from(CT_F64, ct_shape0(), &one));
    if (check_at_once()) /* a GPU takes the push-through form and flags such a D */
        assert_elements(ct_value(P), 1e-14, 0, 0.25, 0.25e12, 0.25e-9);
    P = ct_ridge_solve(from(CT_F64, ct_shape3(1, 1, 3), units), from(CT_F64, ct_shape3(1, 3, 3), D),
                       from(CT_F64, ct_shape1(1), &one));
    if (check_at_once()) assert_ok(ct_tape_status(tape), ct_tape_message(tape));
    ct_tape_reset(tape);
}

/* An element that is out of range is flagged wherever it is in X. T is diagonal, so it is there alone. */
static void solutions_out_of_range(void **state)
{
    (void)state;
    enum { MOST = 64 };
    static const int extents[] = { 2, 3, 5, 17, MOST };
    for (int point = 0; point < 2 * 5 * 8; point++) {
        const int n = extents[point / 2 % 5], flags = point / 10 / 4 * CT_RIGHT + point / 10 % 4;
        const ct_dtype t = point % 2 ? CT_F32 : CT_F64;
        const double small = t == CT_F32 ? 1e-30 : 1e-200;
        for (int at = 0; at < n; at += n / 2) {
            double T[MOST * MOST] = { 0 }, b[MOST];
            for (int i = 0; i < n; i++) T[i * n + i] = i == at ? small : 1, b[i] = i == at ? 1 / small : 1;
            ct_tape_reset(tape);
            ct_device *d = ct_tape_device(tape);
            ct_tensor *A = assert_tensor(ct_from(d, CT_F64, ct_shape2(n, n), T), d),
                      *B = assert_tensor(ct_from(d, CT_F64, ct_shape2(n, 1), b), d);
            ct_var x = ct_cast(ct_constant(tape, B), t);
            ct_tri_solve(ct_cast(ct_constant(tape, A), t), flags & CT_RIGHT ? ct_t(x) : x, (unsigned)flags);
            assert_int_equal(ct_tape_status(tape), CT_ENUMERIC);
            ct_release(A), ct_release(B);
        }
    }
    ct_tape_reset(tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(determinants, open_tape, close_tape),
        cmocka_unit_test_setup_teardown(equal_rows, open_tape, close_tape),
        cmocka_unit_test_setup_teardown(triangles, open_tape, close_tape),
        cmocka_unit_test_setup_teardown(cholesky_factors, open_tape, close_tape),
        cmocka_unit_test_setup_teardown(variances, open_tape, close_tape),
        cmocka_unit_test_setup_teardown(ridge, open_tape, close_tape),
        cmocka_unit_test_setup_teardown(zero_matrices, open_tape, close_tape),
        cmocka_unit_test_setup_teardown(small_integers, open_tape, close_tape),
        cmocka_unit_test_setup_teardown(scales, open_tape, close_tape),
        cmocka_unit_test_setup_teardown(solutions_out_of_range, open_tape, close_tape),
    };
    return cmocka_run_group_tests_name("singular", tests, NULL, NULL);
}
