/* Determinants of matrices of any rank: cofactors by minors, in integers; what is out of range. */
#include "one_tape.h"

enum { MOST = 5 };

static uint64_t state = 7;
static int integer(int lo, int hi)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return lo + (int)((state >> 33) % (uint64_t)(hi - lo + 1));
}

/* Along the first row. */
static double by_minors(const double *a, int n)
{
    double sum = n ? 0 : 1, minor[MOST * MOST];
    for (int j = 0; j < n; j++) {
        for (int i = 1, at = 0; i < n; i++)
            for (int k = 0; k < n; k++)
                if (k != j) minor[at++] = a[i * n + k];
        sum += (j % 2 ? -1 : 1) * a[j] * by_minors(minor, n - 1);
    }
    return sum;
}

/* ∂det/∂a_ij; det is linear in each element. */
static double cofactor(const double *a, int n, int at)
{
    double b[MOST * MOST];
    memcpy(b, a, (size_t)(n * n) * sizeof *b);
    b[at] = 0;
    const double without = by_minors(b, n);
    b[at] = 1;
    return by_minors(b, n) - without;
}

/* n×n of the given rank: a product of integers, with zero rows and columns now and then. */
static void draw(double *a, int n, int rank)
{
    double left[MOST * MOST], right[MOST * MOST];
    for (int i = 0; i < n * n; i++) left[i] = integer(-3, 3), right[i] = integer(-3, 3);
    for (int i = 0, zero = integer(-n, n - 1); i < n && zero >= 0 && rank < n; i++) right[i * n + zero] = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i * n + j] = 0;
            for (int k = 0; k < rank; k++) a[i * n + j] += left[i * n + k] * right[k * n + j];
        }
}

static void check(const double *a, int n, bool f32)
{
    double largest = 1, got[MOST * MOST];
    for (int i = 0; i < n * n; i++) largest = fmax(largest, fabs(a[i]));
    const double unit = (f32 ? 0x1p-23 : 0x1p-52) * 40 * n * pow(2 * largest, n - 1);
    ct_tensor *wide = ct_from(device, CT_F64, ct_shape2(n, n), a),
              *A = ct_tensor_cast(wide, f32 ? CT_F32 : 0);
    ct_var x = ct_leaf(tape, A), y = ct_keep(ct_det(x)), dot, one = ct_constant(tape, A);
    assert_close(ct_item(y), by_minors(a, n), 0, unit * largest);
    assert_ok(ct_jvp(&y, &dot, 1, &x, &one, 1, CT_GRAD_KEEP), ct_tape_message(tape));
    assert_close(ct_item(dot), n * by_minors(a, n), 0, unit * largest * n * n); /* det is homogeneous */
    assert_ok(ct_backward(y), ct_tape_message(tape));
    ct_tensor *bar = ct_tensor_cast(ct_cotangent(x), CT_F64);
    assert_ok(ct_read(bar, got, (size_t)(n * n) * sizeof *got), "");
    for (int i = 0; i < n * n; i++) assert_close(got[i], cofactor(a, n, i), 0, unit);
    assert_ok(ct_tape_status(tape), ct_tape_message(tape));
    ct_release(bar), ct_release(A), ct_release(wide);
    ct_tape_reset(tape);
}

static void cofactors_of_every_rank(void **unused)
{
    (void)unused;
    double a[MOST * MOST];
    for (int n = 1; n <= MOST; n++)
        for (int rank = 0; rank <= n; rank++)
            for (int round = 0; round < (check_at_once() ? 40 : 3); round++) {
                draw(a, n, rank);
                for (int i = 0; i < n * n && round % 4 == 2; i++) a[i] += 1e-9 * integer(-3, 3); /* nearly */
                check(a, n, round % 2);
            }
}

/* Rank n - 1 with the zero pivot in the middle: other libraries return zeros. */
static void a_zero_in_the_middle(void **unused)
{
    (void)unused;
    ct_tensor *A = tensor2(device, 4, 4, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3);
    ct_var x = ct_leaf(tape, A);
    assert_ok(ct_backward(ct_det(x)), ct_tape_message(tape));
    assert_elements(ct_cotangent(x), 1e-15, 1e-14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0);
    assert_ok(ct_tape_status(tape), ct_tape_message(tape));
    ct_release(A);
    ct_tape_reset(tape);
}

/* x_bar and, for the direction d, Σ_ij h_ij: derivatives of det of order 1 to 3, from recorded sweeps. */
static ct_var derivative(ct_var y, ct_var x, ct_var d, bool record)
{
    ct_var x_bar;
    ct_grad(y, ct_none(), &x, &x_bar, 1, record ? CT_GRAD_RECORD : CT_GRAD_KEEP);
    return d.tape ? ct_sum(ct_mul(x_bar, d), CT_ALL, false) : x_bar;
}

/* The Hessian by differences of cofactors, which are exact: det has degree 1 in each element. */
static void second_derivatives_of_every_rank(void **unused)
{
    (void)unused;
    double a[MOST * MOST], b[MOST * MOST], d[MOST * MOST], h[MOST * MOST];
    for (int n = 1; n <= MOST; n++)
        for (int rank = 0; rank <= n; rank++)
            for (int way = 0; way < 3; way++) { /* reverse over reverse, over forward, forward over reverse */
                draw(a, n, rank);
                double largest = 1, by_a[MOST * MOST], by_b[MOST * MOST];
                for (int i = 0; i < n * n; i++) d[i] = integer(-2, 2), largest = fmax(largest, fabs(a[i]));
                for (int i = 0; i < n * n; i++) h[i] = 0;
                for (int k = 0; k < n * n; k++) {
                    memcpy(b, a, sizeof b);
                    b[k] += 1;
                    for (int i = 0; i < n * n; i++) by_b[i] = cofactor(b, n, i), by_a[i] = cofactor(a, n, i);
                    for (int i = 0; i < n * n; i++) h[i] += (by_b[i] - by_a[i]) * d[k];
                }
                ct_tensor *A = ct_from(device, CT_F64, ct_shape2(n, n), a),
                          *X = ct_from(device, CT_F64, ct_shape2(n, n), d);
                ct_var x = ct_leaf(tape, A), D = ct_constant(tape, X), y = ct_det(x), got;
                if (way == 1) ct_jvp(&y, &y, 1, &x, &D, 1, CT_GRAD_RECORD);
                got = way == 1 ? derivative(y, x, ct_none(), false)
                               : derivative(y, x, way ? ct_none() : D, true);
                if (way == 0) got = derivative(got, x, ct_none(), false);
                if (way == 2) ct_jvp(&got, &got, 1, &x, &D, 1, CT_GRAD_KEEP);
                assert_ok(ct_tape_status(tape), ct_tape_message(tape));
                double x_[MOST * MOST], unit = 0x1p-52 * 400 * n * n * pow(2 * largest, n - 1);
                assert_ok(ct_read(ct_value(got), x_, (size_t)(n * n) * sizeof *x_), "");
                for (int i = 0; i < n * n; i++) assert_close(x_[i], h[i], 0, unit);
                ct_release(A), ct_release(X);
                ct_tape_reset(tape);
            }
}

/* Member 0 is singular; its third derivative is flagged, and that of member 1 is right: of 3×3, along the
 * identity, ∂/∂x_00 of 2 (x_00 + x_11 + x_22) = 2. */
static void third_derivatives(void **unused)
{
    (void)unused;
    const double data[18] = { 1, 2, 3, 2, 4, 6, 1, 1, 1, 2, 0, 1, 1, 3, 0, 0, 1, 2 };
    ct_tensor *A = ct_from(device, CT_F64, ct_shape3(2, 3, 3), data),
              *I = tensor2(device, 3, 3, 1, 0, 0, 0, 1, 0, 0, 0, 1);
    ct_var x = ct_leaf(tape, A), D = ct_constant(tape, I), y = ct_sum(ct_det(x), CT_ALL, false);
    ct_var h = derivative(derivative(derivative(y, x, D, true), x, D, true), x, ct_none(), false);
    assert_elements(ct_value(h), 1e-13, 1e-13, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 2, 0, 0, 0, 2, 0,
                    0, 0, 2);
    assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
    assert_non_null(strstr(ct_tape_message(tape), "of batch member 0 is"));
    ct_release(A), ct_release(I);
    ct_tape_reset(tape);
}

/* H[X] of s A is s^(n-2) H[X] of A, also where det (s A) and its cofactors are out of range. */
static void scaled_second_derivatives(void **unused)
{
    (void)unused;
    static const double a[16] = { 2, 0, 1, 0, -1, 1, 3, 1, 0, 2, 1, 0, 1, 0, 0, 2 },
                        x[16] = { 1, 0, 2, 0, 0, -1, 1, 3, 1, 1, 0, 2, 0, 2, 1, 1 };
    static const struct {
        bool f32;
        int n;
        double s;
    } cases[] = { { false, 3, 1e-155 }, { false, 4, 1e-120 }, { true, 3, 1e-20 }, { true, 4, 1e-14 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int n = cases[i].n;
        double hv[2][16];
        for (int is_scaled = 0; is_scaled < 2; is_scaled++) {
            double b[16];
            for (int e = 0; e < n * n; e++) b[e] = a[e] * (is_scaled ? cases[i].s : 1);
            ct_tensor *wide[2] = { ct_from(device, CT_F64, ct_shape2(n, n), b),
                                   ct_from(device, CT_F64, ct_shape2(n, n), x) };
            ct_var v[2], Hx;
            for (int k = 0; k < 2; k++) {
                ct_tensor *t = ct_tensor_cast(wide[k], cases[i].f32 ? CT_F32 : CT_F64);
                v[k] = ct_leaf(tape, t);
                ct_release(t), ct_release(wide[k]);
            }
            assert_ok(ct_hvp(ct_det(v[0]), &v[0], &v[1], &Hx, 1), ct_tape_message(tape));
            ct_tensor *f64 = ct_tensor_cast(ct_value(Hx), CT_F64);
            assert_ok(ct_read(f64, hv[is_scaled], (size_t)(n * n) * sizeof(double)), "");
            ct_release(f64);
            ct_tape_reset(tape);
        }
        for (int e = 0; e < n * n; e++)
            assert_close(hv[1][e] / pow(cases[i].s, n - 2), hv[0][e], 0, cases[i].f32 ? 1e-4 : 1e-12);
    }
}

static void beyond_the_range(void **unused)
{
    (void)unused;
    const double a[3][3] = { { 1e200, 1e200, 1 }, { 1e200, 1e200, 1e-200 }, { NAN, 1, 1 } };
    for (int k = 0; k < 3; k++) { /* the determinant, a cofactor, an element */
        ct_tensor *A = tensor2(device, 3, 3, a[k][0], 0, 0, 0, a[k][1], 0, 0, 0, a[k][2]);
        ct_var x = ct_leaf(tape, A), y = ct_det(x);
        assert_int_equal(ct_check(y), k == 1 ? CT_OK : CT_ENUMERIC);
        ct_backward(y);
        assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
        const char *words = k == 0   ? "the determinant is not finite: ct_slogdet"
                            : k == 1 ? "cofactor"
                                     : "det(3x3)";
        if (!strstr(ct_tape_message(tape), words)) fail_msg("%d: %s", k, ct_tape_message(tape));
        ct_release(A);
        ct_tape_reset(tape);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cofactors_of_every_rank),          cmocka_unit_test(a_zero_in_the_middle),
        cmocka_unit_test(second_derivatives_of_every_rank), cmocka_unit_test(third_derivatives),
        cmocka_unit_test(scaled_second_derivatives),        cmocka_unit_test(beyond_the_range),
    };
    return cmocka_run_group_tests(tests, open_tape, close_tape);
}
