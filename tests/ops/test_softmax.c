/* softmax, log_softmax, logsumexp and cross entropy where digits are lost: large shifts, entries that are
 * nearly certain, -∞. Values, gradients and second derivatives against long double. */
#include "one_tape.h"

#include <float.h>

typedef long double wide;

enum { N = 5 };
static const ct_var none = { NULL, 0, 0 };

static ct_var leaf(ct_dtype dtype, const double *x, int64_t n)
{
    ct_tensor *f64 = ct_from(device, CT_F64, ct_shape1(n), x), *t = ct_tensor_cast(f64, dtype);
    ct_var v = ct_leaf(tape, t);
    ct_release(f64), ct_release(t);
    return v;
}

/* The elements of y are `wanted`, to `units` of the dtype's precision relative to each, or are smaller than
 * any normal number. */
static void elements_are(ct_var y, const wide *wanted, int n, double units, const char *what)
{
    double exact[N * N];
    for (int i = 0; i < n; i++) exact[i] = (double)wanted[i];
    const bool f64 = ct_var_dtype(y) == CT_F64;
    const double eps = f64 ? DBL_EPSILON : (double)FLT_EPSILON, least = f64 ? DBL_MIN : (double)FLT_MIN;
    assert_ok(ct_check(y), ct_tape_message(tape));
    check_elements_at(ct_value(y), exact, n, units * eps, least, what, __FILE__, __LINE__);
}

/* s_k, log s_k, and ∂s_k/∂x_i */
static void exact(const double *x, wide *s, wide *log_s, wide (*J)[N])
{
    wide m = -INFINITY, others[N] = { 0 };
    for (int k = 0; k < N; k++) m = fmaxl(m, x[k]);
    for (int k = 0; k < N; k++) {
        wide sum = 0, rest = 0;
        for (int j = 0; j < N; j++) sum += expl(x[j] - m);
        s[k] = expl(x[k] - m) / sum;
        for (int j = 0; j < N; j++) rest += j == k ? 0 : expl(x[j] - m);
        others[k] = rest / sum;
        log_s[k] = s[k] > 0.5L ? log1pl(-others[k]) : x[k] - m - logl(sum);
    }
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++) J[k][i] = k == i ? s[k] * others[k] : -s[k] * s[i];
}

static const double rows[][N] = { { 0, -0.5, -1, -40, -80 },
                                  { -40, 0, -41, -42, -43 },
                                  { 0, 0, -1, -30, 0 },
                                  { -70, -71, -72, 0, -73 },
                                  { 1, 2, 3, 4, 5 } };
static const double shifts[] = { 0, 1024, -1024, 1e8, -1e30 };
enum { ROWS = sizeof rows / sizeof *rows, SHIFTS = sizeof shifts / sizeof *shifts };

/* The rows plus a shift, rounded to the dtype. */
static void shifted(ct_dtype dtype, int case_, double *x)
{
    for (int k = 0; k < N; k++) {
        x[k] = rows[case_ % ROWS][k] + shifts[case_ / ROWS];
        if (dtype == CT_F32) x[k] = (double)(float)x[k];
    }
}

static void values(void **state)
{
    (void)state;
    for (int f32 = 0; f32 < 2; f32++)
        for (int i = 0; i < ROWS * SHIFTS; i++) {
            const ct_dtype dtype = f32 ? CT_F32 : CT_F64;
            double x[N];
            wide s[N], log_s[N], J[N][N];
            shifted(dtype, i, x);
            exact(x, s, log_s, J);
            ct_var v = leaf(dtype, x, N);
            elements_are(ct_softmax(v, -1), s, N, 4, "softmax");
            elements_are(ct_softmax(v, CT_ALL), s, N, 4, "softmax of all");
            elements_are(ct_log_softmax(v, -1), log_s, N, 4, "log_softmax");
            ct_tape_reset(tape);
        }
}

/* ∂y_k/∂x for each k, recorded or not. */
static void derivatives_are(ct_var y, ct_var x, wide (*J)[N], double units, const char *what)
{
    for (int record = 0; record < 2; record++)
        for (int k = 0; k < N; k++) {
            ct_var bar;
            assert_ok(ct_grad(ct_sum(ct_slice(y, 0, k, k + 1, 1), CT_ALL, false), none, &x, &bar, 1,
                              record ? CT_GRAD_RECORD : CT_GRAD_KEEP),
                      ct_tape_message(tape));
            elements_are(bar, J[k], N, units, what);
        }
}

static void derivatives(void **state)
{
    (void)state;
    for (int f32 = 0; f32 < 2; f32++)
        for (int i = 0; i < ROWS * SHIFTS; i++) {
            const ct_dtype dtype = f32 ? CT_F32 : CT_F64;
            double x[N];
            wide s[N], log_s[N], J[N][N], log_J[N][N];
            shifted(dtype, i, x);
            exact(x, s, log_s, J);
            ct_var v = leaf(dtype, x, N), bar;
            for (int k = 0; k < N; k++)
                for (int j = 0; j < N; j++) log_J[k][j] = k == j ? J[k][k] / s[k] : -s[j];
            derivatives_are(ct_softmax(v, 0), v, J, 8, "gradient of softmax");
            derivatives_are(ct_log_softmax(v, 0), v, log_J, 100, "gradient of log_softmax");
            assert_ok(ct_grad(ct_logsumexp(v, 0, false), none, &v, &bar, 1, CT_GRAD_RECORD),
                      ct_tape_message(tape));
            elements_are(bar, s, N, 4, "gradient of logsumexp");
            derivatives_are(bar, v, J, 8, "second derivative of logsumexp");
            ct_tape_reset(tape);
        }
}

static ct_var label(int64_t k)
{
    ct_tensor *t = ct_from(device, CT_I64, ct_shape1(1), &k);
    ct_var v = ct_constant(tape, t);
    ct_release(t);
    return v;
}

static void cross_entropy(void **state)
{
    (void)state;
    for (int f32 = 0; f32 < 2; f32++)
        for (int i = 0; i < ROWS * SHIFTS; i++)
            for (int k = 0; k < N; k++) {
                const ct_dtype dtype = f32 ? CT_F32 : CT_F64;
                double x[N];
                wide s[N], log_s[N], J[N][N], z_bar[N];
                shifted(dtype, i, x);
                exact(x, s, log_s, J);
                ct_var v = leaf(dtype, x, N), bar;
                ct_var loss = ct_softmax_cross_entropy(ct_unsqueeze(v, 0), label(k));
                for (int j = 0; j < N; j++) z_bar[j] = j == k ? -J[k][k] / s[k] : s[j];
                elements_are(ct_neg(loss), &log_s[k], 1, 4, "cross entropy");
                assert_ok(ct_grad(loss, none, &v, &bar, 1, CT_GRAD_RECORD), ct_tape_message(tape));
                elements_are(bar, z_bar, N, 100, "gradient of cross entropy");
                derivatives_are(bar, v, J, 200, "second derivative of cross entropy");
                ct_tape_reset(tape);
            }
}

/* An entry of -∞ has weight 0. If all are -∞, so are the sum and the logarithms; the softmax and the gradient
 * of logsumexp are 0. */
static void of_nothing(void **state)
{
    (void)state;
    for (int f32 = 0; f32 < 2; f32++) {
        const ct_dtype dtype = f32 ? CT_F32 : CT_F64;
        ct_var v = leaf(dtype, (double[]){ -INFINITY, -INFINITY }, 2), bar;
        assert_elements(ct_value(ct_logsumexp(v, 0, false)), 0, 0, -INFINITY);
        assert_elements(ct_value(ct_softmax(v, 0)), 0, 0, 0, 0);
        assert_elements(ct_value(ct_log_softmax(v, 0)), 0, 0, -INFINITY, -INFINITY);
        assert_ok(ct_grad(ct_logsumexp(v, 0, false), none, &v, &bar, 1, CT_GRAD_RECORD),
                  ct_tape_message(tape));
        assert_elements(ct_value(bar), 0, 0, 0, 0);
        assert_ok(ct_grad(ct_sum(bar, 0, false), none, &v, &bar, 1, CT_GRAD_KEEP), ct_tape_message(tape));
        assert_elements(ct_value(bar), 0, 0, 0, 0);
        v = leaf(dtype, (double[]){ 3, -INFINITY, 3 }, 3);
        assert_elements(ct_value(ct_softmax(v, 0)), 1e-7, 0, 0.5, 0, 0.5);
        ct_var loss = ct_softmax_cross_entropy(ct_unsqueeze(v, 0), label(2));
        assert_ok(ct_grad(loss, none, &v, &bar, 1, CT_GRAD_KEEP), ct_tape_message(tape));
        assert_elements(ct_value(bar), 1e-7, 0, 0.5, 0, -0.5);
        assert_close(ct_item(loss), log(2), 1e-7, 0);
        ct_tape_reset(tape);
    }
}

/* log(1 + e^-40) and the like: the largest x, which is near 0, hides the others' digits. */
static void near_zero(void **state)
{
    (void)state;
    enum { M = 3 };
    static const double x[][M] = { { 0, -40, -INFINITY },  { -42, -41, 0 },     { 0x1p-60, -40, -41 },
                                   { -0x1p-62, -40, -45 }, { 0, 0, -40 },       { 0.25, -1.5, -9 },
                                   { 700, 0, -1 },         { -600, -640, -700 } };
    for (int f32 = 0; f32 < 2; f32++)
        for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
            wide m = fmaxl(x[i][0], fmaxl(x[i][1], x[i][2])), rest = -1, wanted[2];
            for (int k = 0; k < M; k++) rest += x[i][k] == m ? 1 : 0;
            for (int k = 0; k < M; k++) rest += x[i][k] == m ? 0 : expl(x[i][k] - m);
            wanted[0] = m + log1pl(rest), wanted[1] = m + logl(3);
            ct_var row = leaf(f32 ? CT_F32 : CT_F64, x[i], M), most = ct_max(row, 0, true);
            elements_are(ct_logsumexp(row, 0, true), wanted, 1, 1, "logsumexp of a row");
            ct_var columns = ct_stack((ct_var[]){ row, ct_broadcast_to(most, ct_shape1(M)) }, 2, 1);
            elements_are(ct_logsumexp(columns, 0, false), wanted, 2, 1, "logsumexp of columns");
            ct_tape_reset(tape);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(values), cmocka_unit_test(derivatives),
                                        cmocka_unit_test(cross_entropy), cmocka_unit_test(of_nothing),
                                        cmocka_unit_test(near_zero) };
    return cmocka_run_group_tests_name("softmax", tests, open_tape, close_tape);
}
