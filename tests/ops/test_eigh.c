/* Eigenvectors: residuals to LAPACK's ratio; derivatives against closed forms that need no eigenvectors; what
 * happens where eigenvalues repeat. */
#include "one_tape.h"

enum { MOST = 80 };

static uint64_t state = 1;
static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0 - 0.5;
}

static ct_var leaf(ct_dtype dtype, ct_shape shape, const double *data)
{
    ct_tensor *wide = ct_from(device, CT_F64, shape, data), *t = ct_tensor_cast(wide, dtype);
    ct_var v = ct_leaf(tape, t);
    ct_release(wide);
    ct_release(t);
    return v;
}

static ct_var square(int64_t n, const double *data) { return leaf(CT_F64, ct_shape2(n, n), data); }

static void read_var(ct_var v, double *x)
{
    ct_tensor *wide = ct_tensor_cast(ct_value(v), CT_F64);
    assert_ok(ct_read(wide, x, (size_t)ct_tensor_count(wide) * sizeof *x), ct_message(device));
    ct_release(wide);
}

/* ∂loss/∂x, recorded or not */
static void gradient(ct_var loss, ct_var x, bool record, double *bar)
{
    ct_var x_bar;
    ct_grad(loss, ct_none(), &x, &x_bar, 1, record ? CT_GRAD_RECORD : CT_GRAD_KEEP);
    read_var(x_bar, bar);
}

/* out = x y for n×n */
static void multiply(int n, const double *x, const double *y, double *out)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++) sum += x[i * n + k] * y[k * n + j];
            out[i * n + j] = sum;
        }
}

static void near(const double *x, const double *y, int n, double most)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(x[i] - y[i]) <= most)) fail_msg("element %d is %.17g, not %.17g", i, x[i], y[i]);
}

static void draw_symmetric(double *a, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) a[i * n + j] = a[j * n + i] = uniform();
}

/* |A V - V W| and |VᵀV - I|, the order of w, and the sign of each vector. */
static void residuals(void **unused)
{
    (void)unused;
    static double a[2 * MOST * MOST], v[2 * MOST * MOST], w[2 * MOST];
    for (int n = 1; n <= MOST; n = n < 4 ? n + 1 : 4 * n / 3)
        for (int f32 = 0; f32 < 2; f32++) {
            const double most = (f32 ? 0x1p-23 : 0x1p-52) * 4 * (n + 4);
            for (int b = 0; b < 2; b++) draw_symmetric(a + b * n * n, n);
            ct_var V, A = leaf(f32 ? CT_F32 : CT_F64, ct_shape3(2, n, n), a), W = ct_eigh(A, &V);
            read_var(A, a), read_var(V, v), read_var(W, w);
            for (int b = 0; b < 2; b++)
                for (int j = 0; j < n; j++) {
                    double largest = 0;
                    assert_true(j == 0 || w[b * n + j - 1] <= w[b * n + j]);
                    for (int i = 0; i < n; i++) {
                        double of_A = 0, of_I = 0;
                        for (int k = 0; k < n; k++) {
                            const double *row = v + b * n * n + k * n;
                            of_A += a[b * n * n + i * n + k] * row[j];
                            of_I += row[i] * row[j];
                        }
                        const double x = v[b * n * n + i * n + j];
                        assert_true(fabs(of_A - w[b * n + j] * x) <= most);
                        assert_true(fabs(of_I - (i == j)) <= most);
                        if (fabs(x) > fabs(largest)) largest = x;
                    }
                    assert_true(largest > 0);
                }
            ct_tape_reset(tape);
        }
}

/* X = A^½ from w and V. G = ∂⟨C, X⟩/∂A solves X G + G X = C: from X X = A, X dX + dX X = dA. */
static void square_root(void **unused)
{
    (void)unused;
    enum { N = 7 };
    double a[N * N], r[N * N], c[N * N], x[N * N], g[N * N], xg[N * N], gx[N * N];
    for (int i = 0; i < N * N; i++) r[i] = uniform();
    draw_symmetric(c, N);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i * N + j] = i == j;
            for (int k = 0; k < N; k++) a[i * N + j] += r[i * N + k] * r[j * N + k];
        }
    for (int record = 0; record < 2; record++) {
        ct_var V, A = square(N, a), w = ct_eigh(A, &V);
        ct_var X = ct_matmul(ct_mul(V, ct_unsqueeze(ct_sqrt(w), 0)), ct_t(V));
        read_var(X, x);
        gradient(ct_sum(ct_mul(X, square(N, c)), CT_ALL, false), A, record, g);
        multiply(N, x, g, xg), multiply(N, g, x, gx);
        for (int i = 0; i < N * N; i++) xg[i] += gx[i];
        near(xg, c, N * N, 1e-13);
        assert_ok(ct_tape_status(tape), ct_tape_message(tape));
        ct_tape_reset(tape);
    }
}

/* A = I + 3 u uᵀ has the eigenvalues 1, 1, 1, 4; P = I - u uᵀ projects on the vectors of 1. */
enum { N = 4 };
static const double u[N] = { 0.1, 0.7, -0.5, 0.5 };

static void repeated(double *a, double *p)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            p[i * N + j] = (i == j) - u[i] * u[j];
            a[i * N + j] = (i == j) + 3 * u[i] * u[j];
        }
}

static ct_var first_three(ct_var V) { return ct_slice(V, -1, 0, 3, 1); }

/* A loss of P alone: dP = -(Q dA P + P dA Q) / 3 with Q = I - P, so Ā = -(Q C P + P C Q) / 3 for ⟨C, P⟩. */
static void a_span_of_repeated_eigenvalues(void **unused)
{
    (void)unused;
    double a[N * N], p[N * N], q[N * N], c[N * N], t[N * N], s[N * N], g[N * N];
    repeated(a, p);
    draw_symmetric(c, N);
    for (int i = 0; i < N * N; i++) q[i] = (i % (N + 1) == 0) - p[i];
    multiply(N, q, c, t), multiply(N, t, p, s);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) t[i * N + j] = -(s[i * N + j] + s[j * N + i]) / 3;
    for (int record = 0; record < 2; record++) {
        ct_var V, A = square(N, a);
        ct_eigh(A, &V);
        ct_var P = ct_matmul(first_three(V), ct_t(first_three(V)));
        gradient(ct_sum(ct_mul(P, square(N, c)), CT_ALL, false), A, record, g);
        near(g, t, N * N, 1e-14);
        assert_ok(ct_tape_status(tape), ct_tape_message(tape));
        ct_tape_reset(tape);
    }
}

/* A loss of w alone: Σ w² = |A|², whose gradient is 2 A. */
static void values_that_repeat(void **unused)
{
    (void)unused;
    double a[N * N], p[N * N], g[N * N];
    repeated(a, p);
    ct_var A = square(N, a);
    gradient(ct_sum(ct_square(ct_eigh(A, NULL)), CT_ALL, false), A, false, g);
    for (int i = 0; i < N * N; i++) a[i] *= 2;
    near(g, a, N * N, 1e-14);
    assert_ok(ct_tape_status(tape), ct_tape_message(tape));
    ct_tape_reset(tape);
}

/* Member 0 has repeated eigenvalues, member 1 has not: the loss depends on the single vectors, or on w and V,
 * or the tangent of V is asked for. */
static void flagged_where_they_repeat(void **unused)
{
    (void)unused;
    double a[2 * N * N], p[N * N], c[2 * N * N], got[2 * N * N];
    repeated(a, p);
    draw_symmetric(a + N * N, N);
    for (int i = 0; i < 2 * N * N; i++) c[i] = uniform();
    for (int kind = 0; kind < 4; kind++) {
        ct_var V, A = leaf(CT_F64, ct_shape3(2, N, N), a), w = ct_eigh(A, &V), y = V, dot;
        const ct_var C = ct_stop_gradient(leaf(CT_F64, ct_shape3(2, N, N), c));
        if (kind == 1) y = ct_matmul(ct_mul(V, ct_unsqueeze(w, -2)), ct_t(V));
        if (kind < 3) {
            gradient(ct_sum(ct_mul(y, C), CT_ALL, false), A, kind == 2, got);
        } else {
            ct_jvp(&V, &dot, 1, &A, &C, 1, CT_GRAD_KEEP);
            read_var(dot, got);
        }
        assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
        assert_non_null(strstr(ct_tape_message(tape), "eigenvalue 1 of batch member 0 is repeated"));
        for (int i = 0; i < 2 * N * N; i++) assert_int_equal(isnan(got[i]), i < N * N);
        ct_tape_reset(tape);
    }
}

/* Of the zero matrix and of the identity, where every difference of eigenvalues is 0. */
static void multiples_of_the_identity(void **unused)
{
    (void)unused;
    for (int scale = 0; scale < 2; scale++) {
        const double a[4] = { scale, 0, 0, scale }, c[4] = { 1, 2, 2, 5 };
        double g[4];
        ct_var V, A = square(2, a), w = ct_eigh(A, &V);
        assert_elements(ct_value(w), 0, 0, scale, scale);
        gradient(ct_sum(ct_mul(ct_matmul(V, ct_t(V)), square(2, c)), CT_ALL, false), A, false, g);
        near(g, (double[4]){ 0 }, 4, 1e-15);
        assert_ok(ct_tape_status(tape), ct_tape_message(tape));
        gradient(ct_sum(ct_mul(V, square(2, (double[]){ 1, 2, 3, 4 })), CT_ALL, false), A, false, g);
        assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
        ct_tape_reset(tape);
    }
}

/* Element (0, 1) of A² by its eigenvalues at A = diag(1, 1, 4): its gradient has two elements, but w̄ is 0.
 * That of the vector whose value does not repeat is known. */
static void an_element_of_a_function(void **unused)
{
    (void)unused;
    double a[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 4 }, c[9] = { 0, 1 }, g[9];
    for (int apart = 0; apart < 2; apart++) {
        ct_var V, A = square(3, a), w = ct_eigh(A, &V);
        ct_var B = ct_matmul(ct_mul(V, ct_unsqueeze(ct_square(w), -2)), ct_t(V));
        ct_var v = ct_slice(V, -1, 2, 3, 1),
               b = ct_mul(ct_square(ct_slice(w, -1, 2, 3, 1)), ct_matmul(v, ct_t(v)));
        if (apart) c[1] = 0, c[2] = 1;
        gradient(ct_sum(ct_mul(apart ? b : B, square(3, c)), CT_ALL, false), A, false, g);
        assert_status(ct_tape_status(tape), apart ? CT_OK : CT_ENUMERIC, ct_tape_message(tape));
        if (apart) near(g, (double[9]){ [2] = 8. / 3, [6] = 8. / 3 }, 9, 1e-14);
        ct_tape_reset(tape);
    }
}

/* Differences whose inverse is infinite count as rounding. */
static void near_underflow(void **unused)
{
    (void)unused;
    for (double scale = 1e-300; scale > 0; scale /= 1e4) {
        double g[4];
        ct_var V, A = square(2, (double[]){ scale, scale / 2, scale / 2, -scale });
        ct_eigh(A, &V);
        gradient(ct_sum(ct_mul(V, square(2, (double[]){ 1, 2, 3, 4 })), CT_ALL, false), A, false, g);
        const bool fine = ct_tape_status(tape) == CT_OK;
        assert_int_equal(fine, scale > 1e-306);
        for (int i = 0; i < 4; i++) assert_int_equal(fine, isfinite(g[i]) != 0);
        ct_tape_reset(tape);
    }
}

/* Near eigenvalues lose digits in proportion to 1 / gap, and are flagged before none is left. */
static void close_eigenvalues(void **unused)
{
    (void)unused;
    for (double gap = 1; gap > 1e-17; gap /= 4) {
        /* A = Q diag(1, 1 + gap) Qᵀ at 0.3 rad; the loss is V_00 + ½ V_10; dV = V P, P_10 = -K_10 / gap */
        const double s = sin(0.3), k = cos(0.3);
        const double a[4] = { 1 + s * s * gap, -s * k * gap, -s * k * gap, 1 + k * k * gap };
        double g[4];
        ct_var V, A = square(2, a);
        ct_eigh(A, &V);
        gradient(ct_sum(ct_mul(V, square(2, (double[]){ 1, 0, 0.5, 0 })), CT_ALL, false), A, false, g);
        if (ct_tape_status(tape) == CT_OK) {
            double v[4];
            read_var(V, v);
            const double wanted = -(v[1] + 0.5 * v[3]) * v[0] * v[1] / gap;
            assert_true(gap > 0x1p-49);
            assert_close(g[0], wanted, 8 * 0x1p-52 / gap, 0);
        } else {
            assert_true(gap < 0x1p-46);
            assert_true(isnan(g[0]));
        }
        ct_tape_reset(tape);
    }
}

static void bad_inputs(void **unused)
{
    (void)unused;
    const double bad[] = { NAN, INFINITY, -INFINITY };
    for (int i = 0; i < 3; i++) {
        const double a[8] = { 2, 0, bad[i], 3, 2, NAN, 0, 3 }; /* the NaN of member 1 is not read */
        ct_var V, w = ct_eigh(leaf(CT_F64, ct_shape3(2, 2, 2), a), &V);
        assert_elements(ct_value(w), 0, 0, NAN, NAN, 2, 3);
        assert_elements(ct_value(V), 0, 0, NAN, NAN, NAN, NAN, 1, 0, 0, 1);
        assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
        assert_non_null(strstr(ct_tape_message(tape), "of batch member 0 is not found"));
        ct_tape_reset(tape);
    }
    ct_eigh(leaf(CT_F64, ct_shape2(2, 3), (double[6]){ 0 }), NULL);
    assert_status(ct_tape_status(tape), CT_ESHAPE, ct_tape_message(tape));
    ct_tape_reset(tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residuals),
        cmocka_unit_test(square_root),
        cmocka_unit_test(a_span_of_repeated_eigenvalues),
        cmocka_unit_test(values_that_repeat),
        cmocka_unit_test(flagged_where_they_repeat),
        cmocka_unit_test(multiples_of_the_identity),
        cmocka_unit_test(close_eigenvalues),
        cmocka_unit_test(an_element_of_a_function),
        cmocka_unit_test(near_underflow),
        cmocka_unit_test(bad_inputs),
    };
    return cmocka_run_group_tests(tests, open_tape, close_tape);
}
