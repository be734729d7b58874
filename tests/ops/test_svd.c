/* Singular vectors: residuals to LAPACK's ratio; derivatives against closed forms; values that repeat. */
#include "one_tape.h"

enum { MOST = 60 };

static uint64_t state = 1;
static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0 - 0.5;
}

static ct_var matrix(int rows, int cols, const double *data)
{
    ct_tensor *t = ct_from(device, CT_F64, ct_shape2(rows, cols), data);
    ct_var v = ct_leaf(tape, t);
    ct_release(t);
    return v;
}

static void read_var(ct_var v, double *x)
{
    ct_tensor *wide = ct_tensor_cast(ct_value(v), CT_F64);
    assert_ok(ct_read(wide, x, (size_t)ct_tensor_count(wide) * sizeof *x), ct_message(device));
    ct_release(wide);
}

/* The largest |x| */
static double largest(ct_var x) { return ct_item(ct_max(ct_abs(x), CT_ALL, false)); }

static ct_var identity_minus(ct_var x)
{
    ct_var d = ct_diag(x);
    return ct_sub(ct_diag_embed(ct_add(ct_scale(d, 0), ct_scalar(tape, ct_var_dtype(x), 1))), x);
}

static void residuals(void **unused)
{
    (void)unused;
    static double a[2 * MOST * MOST], u[2 * MOST * MOST], s[2 * MOST];
    static const int shapes[][2] = { { 1, 1 }, { 1, 4 },  { 3, 1 },   { 3, 3 },  { 5, 2 },
                                     { 2, 5 }, { 17, 9 }, { 33, 40 }, { 60, 60 } };
    for (int k = 0; k < 18; k++) {
        const int m = shapes[k / 2][0], n = shapes[k / 2][1], r = m < n ? m : n;
        const double most = (k % 2 ? 0x1p-23 : 0x1p-52) * 4 * (m + n + 4);
        for (int i = 0; i < 2 * m * n; i++) a[i] = uniform();
        ct_tensor *wide = ct_from(device, CT_F64, ct_shape3(2, m, n), a),
                  *t = ct_tensor_cast(wide, k % 2 ? CT_F32 : CT_F64);
        ct_var A = ct_constant(tape, t), U, Vt, S = ct_svd(A, &U, &Vt);
        ct_release(wide), ct_release(t);
        assert_true(largest(ct_sub(A, ct_matmul(ct_mul(U, ct_unsqueeze(S, -2)), Vt))) <= most);
        assert_true(largest(identity_minus(ct_matmul(ct_t(U), U))) <= most);
        assert_true(largest(identity_minus(ct_matmul(Vt, ct_t(Vt)))) <= most);
        read_var(U, u), read_var(S, s);
        for (int b = 0; b < 2; b++)
            for (int j = 0; j < r; j++) {
                double x = 0;
                for (int i = 0; i < m; i++)
                    if (fabs(u[(b * m + i) * r + j]) > fabs(x)) x = u[(b * m + i) * r + j];
                assert_true(x > 0 && s[b * r + j] >= 0 && (!j || s[b * r + j] <= s[b * r + j - 1]));
            }
        ct_tape_reset(tape);
    }
}

/* The gradient, recorded or not, of ⟨C, X⟩. */
static ct_var gradient(ct_var X, ct_var C, ct_var A, bool record)
{
    ct_var bar;
    ct_grad(ct_sum(ct_mul(X, C), CT_ALL, false), ct_none(), &A, &bar, 1,
            record ? CT_GRAD_RECORD : CT_GRAD_KEEP);
    return bar;
}

/* ⟨C, U S Vᵀ⟩ = ⟨C, A⟩ has the gradient C, in each shape. */
static void of_the_matrix_itself(void **unused)
{
    (void)unused;
    static const int shapes[][2] = { { 4, 4 }, { 5, 3 }, { 3, 6 }, { 1, 3 }, { 3, 1 } };
    for (int k = 0; k < 10; k++) {
        const int m = shapes[k / 2][0], n = shapes[k / 2][1];
        double a[36], c[36];
        for (int i = 0; i < m * n; i++) a[i] = uniform(), c[i] = uniform();
        ct_var A = matrix(m, n, a), C = matrix(m, n, c), U, Vt, s = ct_svd(A, &U, &Vt);
        ct_var bar = gradient(ct_matmul(ct_mul(U, ct_unsqueeze(s, 0)), Vt), C, A, k % 2);
        assert_true(largest(ct_sub(bar, C)) < 1e-12);
        assert_ok(ct_tape_status(tape), ct_tape_message(tape));
        ct_tape_reset(tape);
    }
}

/* X = U Vᵀ, also where all values are equal. A = X H, so with Y = ½ Xᵀ Ā skew: H Y + Y H = ½ (XᵀC - CᵀX), and
 * (I - X Xᵀ) Ā H = (I - X Xᵀ) C for more rows than columns. */
static void polar_factor(void **unused)
{
    (void)unused;
    for (int k = 0; k < 8; k++) {
        const int m = k / 2 % 2 ? 5 : 3, n = 3, wide = k % 2, equal = k / 4;
        double a[15], c[15];
        for (int i = 0; i < m * n; i++) a[i] = equal ? 2 * (i % (n + 1) == 0) : uniform(), c[i] = uniform();
        ct_var A = matrix(m, n, a), C = matrix(m, n, c), U, Vt;
        ct_svd(wide ? ct_t(A) : A, &U, &Vt);
        ct_var X = ct_matmul(U, Vt);
        if (wide) X = ct_t(X);
        ct_var bar = gradient(X, C, A, false), H = ct_matmul(ct_t(X), A);
        ct_var Y = ct_scale(ct_matmul(ct_t(X), bar), 0.5), B = ct_scale(ct_matmul(ct_t(X), C), 0.5);
        ct_var left = ct_add(ct_matmul(H, Y), ct_matmul(Y, H)), outside = ct_sub(ct_matmul(bar, H), C);
        assert_true(largest(ct_add(Y, ct_t(Y))) < 1e-13);
        assert_true(largest(ct_sub(left, ct_sub(B, ct_t(B)))) < 1e-13);
        assert_true(largest(ct_sub(outside, ct_matmul(X, ct_matmul(ct_t(X), outside)))) < 1e-13);
        assert_ok(ct_tape_status(tape), ct_tape_message(tape));
        ct_tape_reset(tape);
    }
}

/* The sum of the values has the gradient U Vᵀ, repeated or not. */
static void values_alone(void **unused)
{
    (void)unused;
    for (int equal = 0; equal < 2; equal++) {
        double a[8];
        for (int i = 0; i < 8; i++) a[i] = equal ? i % 3 == 0 && i < 4 : uniform();
        ct_var A = matrix(4, 2, a), U, Vt, s = ct_svd(A, &U, &Vt), bar;
        ct_grad(ct_sum(s, CT_ALL, false), ct_none(), &A, &bar, 1, CT_GRAD_KEEP);
        assert_true(largest(ct_sub(bar, ct_matmul(U, Vt))) < 1e-14);
        assert_ok(ct_tape_status(tape), ct_tape_message(tape));
        ct_tape_reset(tape);
    }
}

/* Member 0 has a value twice (kinds 0 to 3), or one that is 0 (kind 4) or two (kind 5). */
static void flagged(void **unused)
{
    (void)unused;
    const double twice[6] = { 3, 0, 0, 3, 0, 0 }, zero[6] = { 3, 0, 0, 0, 0, 0 };
    for (int kind = 0; kind < 6; kind++) {
        double a[12], c[12], got[12];
        for (int i = 0; i < 12; i++)
            a[i] = i > 5 ? uniform() : kind == 4 ? zero[i] : kind == 5 ? 0 : twice[i], c[i] = uniform();
        ct_tensor *t = ct_from(device, CT_F64, ct_shape3(2, 3, 2), a),
                  *of_C = ct_from(device, CT_F64, ct_shape3(2, 3, 2), c);
        ct_var A = ct_leaf(tape, t), C = ct_constant(tape, of_C), U, Vt, s = ct_svd(A, &U, &Vt), dot;
        ct_var reader = kind == 1  ? ct_matmul(ct_mul(U, ct_unsqueeze(s, -2)), Vt)
                        : kind > 3 ? ct_matmul(U, Vt)
                                   : U;
        if (kind == 3) {
            ct_jvp(&U, &dot, 1, &A, &C, 1, CT_GRAD_KEEP);
            read_var(dot, got);
        } else {
            read_var(gradient(reader, C, A, kind == 2), got);
        }
        assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
        assert_non_null(
            strstr(ct_tape_message(tape), kind == 4 ? "singular value 2 of" : "singular value 1 of"));
        assert_non_null(strstr(ct_tape_message(tape), "batch member 0 is repeated or 0"));
        for (int i = 0; i < 12; i++) assert_int_equal(isnan(got[i]), i < 6);
        ct_release(t), ct_release(of_C);
        ct_tape_reset(tape);
    }
}

static void not_finite(void **unused)
{
    (void)unused;
    const double a[8] = { 1, NAN, 0, 1, 0, 2, 3, 0 };
    ct_tensor *t = ct_from(device, CT_F64, ct_shape3(2, 2, 2), a);
    ct_var U, Vt, s = ct_svd(ct_constant(tape, t), &U, &Vt);
    assert_elements(ct_value(s), 1e-15, 0, NAN, NAN, 3, 2);
    assert_elements(ct_value(U), 1e-15, 1e-15, NAN, NAN, NAN, NAN, 0, 1, 1, 0);
    assert_elements(ct_value(Vt), 1e-15, 1e-15, NAN, NAN, NAN, NAN, 1, 0, 0, 1);
    assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
    assert_non_null(strstr(ct_tape_message(tape), "singular value 1 of batch member 0 is not found"));
    ct_release(t);
    ct_tape_reset(tape);
    ct_svd(ct_scalar(tape, CT_F64, 1), &U, &Vt);
    assert_status(ct_tape_status(tape), CT_ESHAPE, ct_tape_message(tape));
    ct_tape_reset(tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residuals),    cmocka_unit_test(of_the_matrix_itself),
        cmocka_unit_test(polar_factor), cmocka_unit_test(values_alone),
        cmocka_unit_test(flagged),      cmocka_unit_test(not_finite),
    };
    return cmocka_run_group_tests(tests, open_tape, close_tape);
}
