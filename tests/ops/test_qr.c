/* Q and R: residuals to LAPACK's ratio; derivatives against closed forms; columns that depend on others. */
#include "one_tape.h"

static uint64_t state = 1;
static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0 - 0.5;
}

static const int shapes[][2] = { { 1, 1 }, { 4, 4 }, { 6, 2 },   { 3, 7 },
                                 { 1, 3 }, { 3, 1 }, { 40, 33 }, { 20, 60 } };
enum { SHAPES = 8, ROOM = 40 * 60 };

static ct_var random_matrix(int m, int n, ct_dtype dtype)
{
    static double x[2 * ROOM];
    for (int i = 0; i < 2 * m * n; i++) x[i] = uniform();
    ct_tensor *wide = ct_from(device, CT_F64, ct_shape3(2, m, n), x), *t = ct_tensor_cast(wide, dtype);
    ct_var v = ct_leaf(tape, t);
    ct_release(wide), ct_release(t);
    return v;
}

static double largest(ct_var x) { return ct_item(ct_max(ct_abs(x), CT_ALL, false)); }

static ct_var gradient(ct_var loss, ct_var A, bool record)
{
    ct_var bar;
    ct_grad(loss, ct_none(), &A, &bar, 1, record ? CT_GRAD_RECORD : CT_GRAD_KEEP);
    return bar;
}

static void residuals(void **unused)
{
    (void)unused;
    for (int k = 0; k < 2 * SHAPES; k++) {
        const int m = shapes[k / 2][0], n = shapes[k / 2][1];
        const double most = (k % 2 ? 0x1p-23 : 0x1p-52) * 2 * (m + n + 4);
        ct_var A = random_matrix(m, n, k % 2 ? CT_F32 : CT_F64), R, Q = ct_qr(A, &R),
               QtQ = ct_matmul(ct_t(Q), Q);
        ct_var ones = ct_add(ct_scale(ct_diag(QtQ), 0), ct_scalar(tape, ct_var_dtype(A), 1));
        assert_true(largest(ct_sub(A, ct_matmul(Q, R))) <= most);
        assert_true(largest(ct_sub(QtQ, ct_diag_embed(ones))) <= most);
        assert_true(largest(ct_sub(R, ct_triu(R, 0))) == 0);
        assert_true(ct_item(ct_min(ct_diag(R), CT_ALL, false)) > 0);
        assert_ok(ct_tape_status(tape), ct_tape_message(tape));
        ct_tape_reset(tape);
    }
}

/* ⟨C, Q R⟩ = ⟨C, A⟩, and |R|² = |A|². */
static void of_the_matrix_itself(void **unused)
{
    (void)unused;
    for (int k = 0; k < 2 * 6; k++) {
        const int m = shapes[k / 2][0], n = shapes[k / 2][1];
        ct_var A = random_matrix(m, n, CT_F64), C = random_matrix(m, n, CT_F64), R, Q = ct_qr(A, &R);
        ct_var bar = gradient(ct_sum(ct_mul(ct_matmul(Q, R), C), CT_ALL, false), A, k % 2);
        assert_true(largest(ct_sub(bar, C)) < 1e-12);
        bar = gradient(ct_sum(ct_square(R), CT_ALL, false), A, k % 2);
        assert_true(largest(ct_sub(bar, ct_scale(A, 2))) < 1e-12);
        assert_ok(ct_tape_status(tape), ct_tape_message(tape));
        ct_tape_reset(tape);
    }
}

/* Σ log R_ii = ½ log det AᵀA has the gradient A (AᵀA)⁻¹. */
static void volume(void **unused)
{
    (void)unused;
    ct_var A = random_matrix(7, 3, CT_F64), R;
    ct_qr(A, &R);
    ct_var bar = gradient(ct_sum(ct_log(ct_diag(R)), CT_ALL, false), A, false);
    assert_true(largest(ct_sub(bar, ct_matmul(A, ct_inverse(ct_matmul(ct_t(A), A))))) < 1e-12);
    ct_tape_reset(tape);
}

static void dependent_columns(void **unused)
{
    (void)unused;
    for (int kind = 0; kind < 3; kind++) { /* a column twice, zeros, NaN */
        double a[2][3][2] = { { { 1, 0 }, { 0, 2 }, { 0, 0 } }, { { 1, 1 }, { 2, 2 }, { 3, 3 } } };
        for (int i = 0; i < 3 && kind; i++) a[1][i][1] = kind == 2 ? NAN : 0;
        ct_tensor *t = ct_from(device, CT_F64, ct_shape3(2, 3, 2), a);
        ct_var R, Q = ct_qr(ct_constant(tape, t), &R);
        assert_elements(ct_value(R), 1e-15, 1e-15, 1, 0, 0, 2, NAN, NAN, NAN, NAN);
        assert_elements(ct_value(Q), 1e-15, 1e-15, 1, 0, 0, 1, 0, 0, NAN, NAN, NAN, NAN, NAN, NAN);
        assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
        assert_non_null(strstr(ct_tape_message(tape), "column 2 of batch member 1"));
        ct_release(t);
        ct_tape_reset(tape);
    }
    ct_qr(ct_scalar(tape, CT_F64, 1), NULL);
    assert_status(ct_tape_status(tape), CT_ESHAPE, ct_tape_message(tape));
    ct_tape_reset(tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residuals),
        cmocka_unit_test(of_the_matrix_itself),
        cmocka_unit_test(volume),
        cmocka_unit_test(dependent_columns),
    };
    return cmocka_run_group_tests(tests, open_tape, close_tape);
}
