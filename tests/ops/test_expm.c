/* The matrix exponential and its derivative against series in quadruple precision, at norms from 1e-6 to 500;
 * triangles with large elements; what is out of range. */
#include "one_tape.h"
#include "quad.h"

enum { N = 6, M = 2 * N };

static uint64_t state = 1;
static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0 - 0.5;
}

static void multiply(const quad *a, const quad *b, quad *out)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            out[i * M + j] = 0;
            for (int k = 0; k < M; k++) out[i * M + j] += a[i * M + k] * b[k * M + j];
        }
}

/* exp of a, M×M, by its series at 2⁻²⁰ a and 20 squarings; of [A E; 0 A] the upper right block is the
 * derivative of e^A along E. [Van Loan 1978] */
static void exponential(const quad *a, quad *y)
{
    quad t[M * M], u[M * M], small[M * M];
    for (int i = 0; i < M * M; i++) y[i] = t[i] = i % (M + 1) == 0, small[i] = a[i] * 0x1p-20;
    for (int k = 1; k <= 12; k++) {
        multiply(t, small, u);
        for (int i = 0; i < M * M; i++) t[i] = u[i] / k, y[i] += t[i];
    }
    for (int k = 0; k < 20; k++) {
        multiply(y, y, u);
        memcpy(y, u, sizeof u);
    }
}

static void check(double scale, double shift, bool f32)
{
    double a[N * N], c[N * N], got[N * N], grad[N * N], most = 0, most_grad = 0;
    quad block[M * M] = { 0 }, y[M * M];
    for (int i = 0; i < N * N; i++) {
        a[i] = scale * uniform() - (i % (N + 1) == 0 ? shift : 0), c[i] = uniform();
        if (f32) a[i] = (float)a[i], c[i] = (float)c[i];
    }
    for (int i = 0; i < N; i++) /* Ā = the derivative of e^(Aᵀ) along C */
        for (int j = 0; j < N; j++) {
            block[i * M + j] = block[(i + N) * M + j + N] = a[j * N + i];
            block[i * M + j + N] = c[i * N + j];
        }
    exponential(block, y);
    ct_tensor *wide = ct_from(device, CT_F64, ct_shape2(N, N), a),
              *A = ct_tensor_cast(wide, f32 ? CT_F32 : CT_F64);
    ct_tensor *C = ct_from(device, CT_F64, ct_shape2(N, N), c),
              *narrow = ct_tensor_cast(C, f32 ? CT_F32 : CT_F64);
    ct_var x = ct_leaf(tape, A), Y = ct_expm(x), bar;
    ct_grad(ct_sum(ct_mul(Y, ct_constant(tape, narrow)), CT_ALL, false), ct_none(), &x, &bar, 1,
            CT_GRAD_KEEP);
    assert_ok(ct_tape_status(tape), ct_tape_message(tape));
    ct_tensor *value = ct_tensor_cast(ct_value(Y), CT_F64),
              *cotangent = ct_tensor_cast(ct_value(bar), CT_F64);
    assert_ok(ct_read(value, got, sizeof got), "");
    assert_ok(ct_read(cotangent, grad, sizeof grad), "");
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            most = fmax(most, fabs((double)y[i * M + j]));
            most_grad = fmax(most_grad, fabs((double)y[i * M + j + N]));
        }
    const double unit = (f32 ? 0x1p-23 : 0x1p-52) * 16 * (4 + N * (scale + shift));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            assert_close(got[j * N + i] / most, (double)y[i * M + j] / most, 0, unit);
            assert_close(grad[i * N + j] / most_grad, (double)y[i * M + j + N] / most_grad, 0, unit);
        }
    ct_release(wide), ct_release(A), ct_release(C), ct_release(narrow), ct_release(value),
        ct_release(cotangent);
    ct_tape_reset(tape);
}

static void against_series(void **unused)
{
    (void)unused;
    for (double scale = 1e-6; scale < 200; scale *= check_at_once() ? 3 : 40)
        for (int kind = 0; kind < (scale < 50 ? 4 : 2); kind++)
            check(scale, kind % 2 ? fmin(5 * scale, 50) : 0, kind / 2);
}

/* e^(0 x; 0 0) = 1 + (0 x; 0 0), of any size: JAX returns NaN. Members have scales of their own. */
static void large_nilpotent(void **unused)
{
    (void)unused;
    ct_tensor *A = tensor3(device, 2, 2, 2, 0, 1e6, 0, 0, 0, 0, 1e-3, 0);
    ct_var Y = ct_expm(ct_constant(tape, A));
    assert_elements(ct_value(Y), 1e-15, 0, 1, 1e6, 0, 1, 1, 0, 1e-3, 1);
    assert_ok(ct_tape_status(tape), ct_tape_message(tape));
    ct_release(A);
    ct_tape_reset(tape);
}

static void out_of_range(void **unused)
{
    (void)unused;
    const double bad[] = { 800, 1e8, -1e8, INFINITY, NAN };
    for (int i = 0; i < 5; i++) {
        const double a[8] = { bad[i], 0, 0, 1, 0, 0, 0, 0 };
        ct_tensor *t = ct_from(device, CT_F64, ct_shape3(2, 2, 2), a);
        ct_var A = ct_leaf(tape, t), Y = ct_expm(A);
        assert_elements(ct_value(Y), 1e-15, 0, NAN, NAN, NAN, NAN, 1, 0, 0, 1);
        assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
        if (!strstr(ct_tape_message(tape), "the exponential of batch member 0 is beyond"))
            fail_msg("%g: %s", bad[i], ct_tape_message(tape));
        ct_release(t);
        ct_tape_reset(tape);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_series),
        cmocka_unit_test(large_nilpotent),
        cmocka_unit_test(out_of_range),
    };
    return cmocka_run_group_tests(tests, open_tape, close_tape);
}
