/* Least squares by QR on ill-conditioned matrices, against quadruple precision; dependent columns. */
#include "check.h"
#include "quad.h"

#include <cotangent/cotangent.h>

enum { M = 24, N = 6, K = 2 };

static uint64_t state = 1;
static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0 - 0.5;
}

/* X with G X = B in place of B (n×k), G n×n overwritten. */
static void eliminate(quad *G, quad *B, int k)
{
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            if (i == j) continue;
            quad f = G[i * N + j] / G[j * N + j];
            for (int c = j; c < N; c++) G[i * N + c] -= f * G[j * N + c];
            for (int c = 0; c < k; c++) B[i * k + c] -= f * B[j * k + c];
        }
    for (int i = 0; i < N; i++)
        for (int c = 0; c < k; c++) B[i * k + c] /= G[i * N + i];
}

typedef struct problem {
    double A[M * N], B[M * K], dA[M * N], dB[M * K];
    quad X[N * K], dX[N * K]; /* and its derivative along (dA, dB) */
} problem;

/* Columns that differ from the first by 1/condition; B is near A's range where `near` is set. */
static problem make(double condition, bool near)
{
    problem p;
    quad G[N * N], copy[N * N];
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            p.A[i * N + j] = j ? p.A[i * N] + uniform() / condition : uniform();
            p.dA[i * N + j] = uniform() / condition;
        }
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++) {
            p.B[i * K + k] = near ? p.A[i * N + k] - p.A[i * N + k + 1] : uniform();
            p.dB[i * K + k] = uniform() / condition;
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            G[i * N + j] = 0;
            for (int l = 0; l < M; l++) G[i * N + j] += (quad)p.A[l * N + i] * p.A[l * N + j];
            copy[i * N + j] = G[i * N + j];
        }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < K; k++) {
            p.X[i * K + k] = 0;
            for (int l = 0; l < M; l++) p.X[i * K + k] += (quad)p.A[l * N + i] * p.B[l * K + k];
        }
    eliminate(copy, p.X, K);
    for (int k = 0; k < K; k++) {
        quad r[M], dr[M]; /* b - A x and db - dA x */
        for (int l = 0; l < M; l++) {
            r[l] = p.B[l * K + k], dr[l] = p.dB[l * K + k];
            for (int j = 0; j < N; j++)
                r[l] -= p.A[l * N + j] * p.X[j * K + k], dr[l] -= p.dA[l * N + j] * p.X[j * K + k];
        }
        for (int i = 0; i < N; i++) {
            p.dX[i * K + k] = 0;
            for (int l = 0; l < M; l++) p.dX[i * K + k] += p.dA[l * N + i] * r[l] + p.A[l * N + i] * dr[l];
        }
    }
    eliminate(G, p.dX, K);
    return p;
}

static double inner(const ct_tensor *t, const double *d)
{
    double x[M * N], sum = 0;
    assert_int_equal(ct_read(t, x, (size_t)ct_tensor_count(t) * sizeof *x), CT_OK);
    for (int64_t i = 0; i < ct_tensor_count(t); i++) sum += x[i] * d[i];
    return sum;
}

/* QR loses κ(A) units of rounding where the residual is small, and κ(A)² where it is not, as the problem
 * itself does. */
static void up_to_condition_1e8(void **unused)
{
    (void)unused;
    ct_device *device = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(device);
    for (double condition = 10; condition < 2e8; condition *= 10)
        for (int near = 0; near < 2; near++) {
            problem p = make(condition, near);
            double X[N * K], X_bar[N * K], worst = 0, norm = 0, size = 0;
            quad exact = 0;
            for (int i = 0; i < N * K; i++) X_bar[i] = uniform();
            ct_tape_reset(tape);
            ct_tensor *A = ct_from(device, CT_F64, ct_shape2(M, N), p.A),
                      *B = ct_from(device, CT_F64, ct_shape2(M, K), p.B);
            ct_tensor *w = ct_from(device, CT_F64, ct_shape2(N, K), X_bar);
            ct_var a = ct_leaf(tape, A), b = ct_leaf(tape, B), x = ct_keep(ct_lstsq(a, b));
            assert_ok(ct_backward(ct_sum(ct_mul(x, ct_constant(tape, w)), CT_ALL, false)),
                      ct_tape_message(tape));
            assert_int_equal(ct_read(ct_value(x), X, sizeof X), CT_OK);
            for (int i = 0; i < N * K; i++) {
                worst = fmax(worst, fabs((double)(X[i] - p.X[i])));
                norm = fmax(norm, fabs((double)p.X[i]));
                exact += p.dX[i] * X_bar[i];
                size += fabs((double)p.dX[i] * X_bar[i]);
            }
            double slope = inner(ct_cotangent(a), p.dA) + inner(ct_cotangent(b), p.dB);
            assert_close(worst / norm, 0, 0, 0x1p-52 * 500 * condition);
            assert_close(fabs((double)(slope - exact)) / size, 0, 0, 0x1p-52 * 500 * condition);
            ct_release(A), ct_release(B), ct_release(w);
        }
    ct_tape_free(tape);
    ct_device_close(device);
}

static void dependent_columns_fail_alone(void **unused)
{
    (void)unused;
    ct_device *device = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(device);
    for (int kind = 0; kind < 4; kind++) { /* a column twice, a zero one, NaNs, one NaN among zeros */
        double a[3][4][2] = { { { 1, 0 }, { 0, 1 }, { 0, 0 }, { 0, 0 } },
                              { { 1, 1 }, { 2, 2 }, { 3, 3 }, { 4, 4 } },
                              { { 2, 0 }, { 0, 2 }, { 0, 0 }, { 0, 0 } } };
        for (int i = 0; i < 4 && kind; i++) a[1][i][1] = kind == 2 ? NAN : 0;
        if (kind == 3)
            a[1][0][0] = 1, a[1][1][0] = a[1][2][0] = a[1][3][0] = 0, a[1][1][1] = 1, a[1][3][1] = NAN;
        ct_tape_reset(tape);
        ct_tensor *A = ct_from(device, CT_F64, ct_shape3(3, 4, 2), a), *B = tensor2(device, 4, 1, 2, 4, 7, 8);
        ct_var X = ct_lstsq(ct_constant(tape, A), ct_constant(tape, B));
        assert_elements(ct_value(X), 1e-15, 0, 2, 4, NAN, NAN, 1, 2);
        assert_int_equal(ct_tape_status(tape), CT_ENUMERIC);
        assert_non_null(strstr(ct_tape_message(tape), "column 2 of batch member 1"));
        ct_release(A), ct_release(B);
    }
    ct_tape_free(tape);
    ct_device_close(device);
}

static void too_few_rows(void **unused)
{
    (void)unused;
    ct_device *device = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *A = ct_zeros(device, CT_F64, ct_shape2(2, 3)), *B = ct_zeros(device, CT_F64, ct_shape2(2, 1));
    ct_lstsq(ct_constant(tape, A), ct_constant(tape, B));
    assert_int_equal(ct_tape_status(tape), CT_ESHAPE);
    assert_non_null(strstr(ct_tape_message(tape), "ct_ridge_solve"));
    ct_release(A), ct_release(B);
    ct_tape_free(tape);
    ct_device_close(device);
}

/* X does not depend on a scale of A and B. Their gradients are divided by it, where A'A is out of range. */
static void scales(void **unused)
{
    (void)unused;
    static const double a[6] = { 2, 0, 1, -1, 1, 3 }, b[3] = { 1, 2, -4 }, units[] = { 1, 1e200, 1e-200 };
    ct_device *device = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(device);
    double wanted[9], got[9], in[9];
    for (int i = 0; i < 3; i++)
        for (int record = 0; record < 2; record++) {
            ct_tape_reset(tape);
            for (int e = 0; e < 9; e++) in[e] = units[i] * (e < 6 ? a[e] : b[e - 6]);
            ct_tensor *A = ct_from(device, CT_F64, ct_shape2(3, 2), in),
                      *B = ct_from(device, CT_F64, ct_shape2(3, 1), in + 6);
            ct_var x[2] = { ct_leaf(tape, A), ct_leaf(tape, B) }, bar[2], X = ct_lstsq(x[0], x[1]);
            assert_ok(ct_grad(ct_sum(ct_square(X), CT_ALL, false), ct_none(), x, bar, 2,
                              record ? CT_GRAD_RECORD : CT_GRAD_KEEP),
                      ct_tape_message(tape));
            assert_ok(ct_read(ct_value(bar[0]), got, 6 * sizeof *got), "");
            assert_ok(ct_read(ct_value(bar[1]), got + 6, 3 * sizeof *got), "");
            for (int e = 0; e < 9; e++) {
                if (i == 0 && !record) wanted[e] = got[e];
                assert_close(got[e] * units[i], wanted[e], 1e-13, 1e-13);
            }
            ct_release(A), ct_release(B);
        }
    ct_tape_free(tape);
    ct_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(up_to_condition_1e8),
        cmocka_unit_test(dependent_columns_fail_alone),
        cmocka_unit_test(too_few_rows),
        cmocka_unit_test(scales),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
