/* What a GPU does by other routines than usual, or counts in other numbers: matrices of 1024 rows and more,
 * answers by their residuals, and the members that have none; ill-conditioned ones of such an extent; batches
 * of more matrices, and tensors of more elements, than 16 and 31 bits count. */
#include "one_tape.h"

#include <float.h>

enum { MEMBERS = 2 };
static const char *const last = "of batch member 1";

static ct_var constant(ct_tensor *t)
{
    ct_var v = ct_constant(tape, t);
    ct_release(t);
    return v;
}

static ct_var eye(ct_dtype dtype, int64_t n)
{
    return ct_diag_embed(constant(ct_full(device, dtype, ct_shape1(n), 1)));
}

/* 2 I + 0.3 R/√n, or 2 I + 0.17 (R + Rᵀ)/√n: eigenvalues within 0.7 of 2 */
static ct_var well_conditioned(ct_dtype dtype, int64_t n, bool symmetric)
{
    ct_var R = constant(ct_rand_normal(device, dtype, ct_shape3(MEMBERS, n, n), 1, 0));
    R = ct_scale(symmetric ? ct_add(R, ct_t(R)) : R, (symmetric ? 0.17 : 0.3) / sqrt((double)n));
    return ct_add(R, ct_scale(eye(dtype, n), 2));
}

static void small(ct_var x, double most)
{
    const double found = ct_item(ct_max(ct_abs(x), CT_ALL, false));
    if (!(found <= most)) fail_msg("%g is above %g", found, most);
}

static void answers(void **state)
{
    (void)state;
    for (int64_t n = 1024; n <= 1025; n++)
        for (int dtype = CT_F64; dtype <= CT_F32; dtype++) {
            const double most = dtype == CT_F64 ? 1e-13 : 1e-5;
            ct_var S = well_conditioned(dtype, n, true), A = well_conditioned(dtype, n, false), sign,
                   I = eye(dtype, n), L = ct_cholesky(S),
                   B = constant(ct_rand_normal(device, dtype, ct_shape3(MEMBERS, n, 3), 2, 0));
            small(ct_sub(ct_matmul(L, ct_t(L)), S), most);
            small(ct_sub(ct_matmul(S, ct_inverse_spd(S)), I), most);
            small(ct_sub(ct_matmul(A, ct_inverse(A)), I), most);
            small(ct_sub(ct_matmul(A, ct_lstsq(A, B)), B), 10 * most);
            small(ct_scale(ct_sub(ct_slogdet(S, &sign), ct_cholesky_logdet(L)), 1 / (double)n), most);
            small(ct_shift(sign, -1), 0);
            assert_ok(ct_tape_status(tape), ct_tape_message(tape));
            ct_tape_reset(tape);
        }
}

/* The op on a batch of identities whose last member has x at (row, row): member 0 has its answer, the last is
 * NaN on and below its diagonal, and the failure is told by name. */
static void flagged(ct_var (*op)(ct_var A), const char *where, int64_t n, int64_t row, double x)
{
    double *values = malloc((size_t)(MEMBERS * n * n) * sizeof *values), *got = values + n * n;
    for (int dtype = CT_F64; dtype <= CT_F32; dtype++) {
        for (int64_t e = 0; e < MEMBERS * n * n; e++) values[e] = e % (n * n) % (n + 1) == 0;
        values[n * n + row * n + row] = x;
        ct_var y = op(ct_cast(constant(ct_from(device, CT_F64, ct_shape3(MEMBERS, n, n), values)), dtype));
        small(ct_sub(ct_slice(y, 0, 0, 1, 1), eye(dtype, n)), 0);
        ct_var rest = ct_cast(ct_slice(y, 0, 1, 2, 1), CT_F64);
        assert_ok(ct_read(ct_value(rest), got, (size_t)(n * n) * sizeof *got), "");
        for (int64_t e = 0; e < n * n; e++) assert_true(e % n > e / n || isnan(got[e]));
        assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
        const char *message = ct_tape_message(tape);
        if (!strstr(message, where) || !strstr(message, last))
            fail_msg("\"%s\" lacks \"%s\" or \"%s\"", message, where, last);
        ct_tape_reset(tape);
    }
    free(values);
}

static void failures(void **state)
{
    (void)state;
    flagged(ct_cholesky, "leading minor 1025 of", 1025, 1024, -1);
    flagged(ct_inverse_spd, "leading minor 7 of", 1025, 6, 0);
    flagged(ct_inverse_spd, "leading minor 1000 of", 1025, 999, NAN);
    flagged(ct_inverse, "pivot 1001 of", 1025, 1000, 0);
    flagged(ct_inverse, "pivot", 1024, 3, NAN);
}

/* Rows nearly equal to their neighbours, so that every diagonal block is ill-conditioned, too: by an inverse
 * of a block the residual would be that of its condition number. [Higham, "Accuracy and Stability of
 * Numerical Algorithms", 8.2, 14.2] */
static void ill_conditioned(void **state)
{
    (void)state;
    enum { N = 1100 };
    double *values = malloc((size_t)(N * N) * sizeof *values);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++)
            values[i * N + j] = exp(-(double)((i - j) * (i - j)) / 800) + (i == j ? 1e-9 : 0);
    ct_var S = constant(ct_from(device, CT_F64, ct_shape2(N, N), values)), X = ct_inverse_spd(S),
           most = ct_mul(ct_max(ct_abs(S), CT_ALL, false), ct_max(ct_abs(X), CT_ALL, false));
    small(ct_div(ct_sub(ct_matmul(S, X), eye(CT_F64, N)), most), N * DBL_EPSILON);
    assert_ok(ct_tape_status(tape), ct_tape_message(tape));
    ct_tape_reset(tape);
    free(values);
}

static void many_members(void **state)
{
    (void)state;
    enum { N = 3 };
    const int64_t members = check_quick() > 1 ? 300 : 70000;
    ct_var R = constant(ct_rand_normal(device, CT_F64, ct_shape3(members, N, N), 3, 0)),
           B = constant(ct_rand_normal(device, CT_F64, ct_shape3(members, N, 1), 4, 0)), I = eye(CT_F64, N),
           A = ct_add(ct_scale(ct_tanh(R), 0.2), I), S = ct_matmul(A, ct_t(A)), L = ct_cholesky(S), sign,
           least = ct_slice(ct_matmul(R, B), 0, members - 1, members, 1);
    small(ct_sub(ct_matmul(L, ct_t(L)), S), 1e-14);
    small(ct_sub(ct_matmul(S, ct_inverse_spd(S)), I), 1e-12);
    small(ct_sub(ct_matmul(A, ct_inverse(A)), I), 1e-12);
    small(ct_sub(ct_matmul(A, ct_lstsq(A, B)), B), 1e-12);
    small(ct_sub(ct_slogdet(S, &sign), ct_cholesky_logdet(L)), 1e-12);
    /* a product of each with its own, seen by the last member's */
    small(ct_sub(least,
                 ct_matmul(ct_slice(R, 0, members - 1, members, 1), ct_slice(B, 0, members - 1, members, 1))),
          1e-14);
    assert_ok(ct_tape_status(tape), ct_tape_message(tape));
    ct_tape_reset(tape);
}

/* f32 of 2^31 elements and some where a device has memory of its own for them, else few. The sum is of ones,
 * which f32 has exactly. */
static void many_elements(void **state)
{
    (void)state;
    const bool there = !check_at_once() && ct_memory(device).limit >= (uint64_t)40 << 30;
    const int64_t half = there ? ((int64_t)1 << 30) + ((int64_t)1 << 23) : 1 << 9;
    const ct_shape shape = ct_shape2(2, half);
    ct_var ones = constant(ct_full(device, CT_F32, shape, 1)),
           sum = ct_scale(ct_sum(ones, CT_ALL, false), 1 / (double)(2 * half));
    small(ct_shift(sum, -1), 0);
    ct_tape_reset(tape);
    ct_var x = constant(ct_rand_normal(device, CT_F32, shape, 5, 0)), y = ct_scale(ct_t(x), 2);
    for (int64_t j = half - 1; j >= 0; j -= half / 2) {
        ct_var from = ct_slice(x, 1, j, j + 1, 1), to = ct_slice(y, 0, j, j + 1, 1);
        small(ct_sub(to, ct_t(ct_scale(from, 2))), 0);
    }
    small(ct_shift(ct_sign(ct_max(y, CT_ALL, false)), -1), 0);
    assert_ok(ct_tape_status(tape), ct_tape_message(tape));
    ct_tape_reset(tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(answers), cmocka_unit_test(failures),
                                        cmocka_unit_test(ill_conditioned), cmocka_unit_test(many_members),
                                        cmocka_unit_test(many_elements) };
    return cmocka_run_group_tests(tests, open_tape, close_tape);
}
