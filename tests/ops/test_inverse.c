/* Inverses and solves on the tape: failing members named, gradients at high condition against 113-bit arithmetic, factors
 * reused, and that a part of an inverse costs a part of its memory. */
#include "check.h"

#include <float.h>

#include <cotangent/gradcheck.h>

typedef struct fixture {
    ct_device *dev;
    ct_tape *tape;
} fixture;

static int set_up(void **state)
{
    static fixture f;
    f.dev = ct_device_open(check_device());
    f.tape = ct_tape_new(f.dev);
    *state = &f;
    return f.tape ? 0 : 1;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    ct_tape_free(f->tape);
    bool clean = ct_memory(f->dev).bytes_now == 0;
    ct_device_close(f->dev);
    return clean ? 0 : 1;
}

static double noise(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) * 0x1p-53 - 0.5;
}

/* -- failing members ------------------------------------------------------------------------------------------------ */

enum { INVERSE, SPD, COLS, ROWS, SOLVE, SLOGDET, QUAD, WAYS };

static ct_var apply(int way, ct_var A, ct_var B, ct_var index)
{
    switch (way) {
    case INVERSE: return ct_inverse(A);
    case SPD: return ct_inverse_spd(A);
    case COLS: return ct_inverse_cols(A, index);
    case ROWS: return ct_inverse_rows(A, index);
    case SOLVE: return ct_solve(A, B);
    case SLOGDET: return ct_slogdet(A, NULL);
    default: return ct_inv_quad_logdet(A, B, NULL);
    }
}

static void a_failing_member_is_nan_and_named(void **state)
{
    fixture *f = *state;
    enum { N = 6, MEMBERS = 3 };
    double a[MEMBERS * N * N], y[MEMBERS * N * N], g[MEMBERS * N * N];
    for (int way = 0; way < WAYS; way++) {
        for (int i = 0; i < MEMBERS * N * N; i++) {
            int member = i / (N * N), row = i / N % N, col = i % N;
            a[i] = member == 1 ? 1 : row == col ? 3 + member : 0.5; /* member 1 has rank one */
        }
        ct_tape_reset(f->tape);
        ct_tensor *A = ct_from(f->dev, CT_F64, ct_shape3(MEMBERS, N, N), a),
                  *B = ct_full(f->dev, CT_F64, ct_shape2(N, 1), 1);
        ct_tensor *index = ct_from(f->dev, CT_I64, ct_shape1(2), (int64_t[]){ 4, 1 });
        ct_var v = ct_leaf(f->tape, A);
        ct_var P = ct_keep(apply(way, v, ct_constant(f->tape, B), ct_constant(f->tape, index)));
        assert_int_equal(ct_backward(ct_sum(P, CT_ALL, false)), CT_ENUMERIC);
        assert_non_null(strstr(ct_tape_message(f->tape), "2 of batch member 1"));
        assert_non_null(
            strstr(ct_tape_message(f->tape), way == SPD || way == QUAD ? "leading minor" : "singular"));
        int64_t n = ct_tensor_count(ct_value(P));
        assert_ok(ct_read(ct_value(P), y, (size_t)n * sizeof *y), "");
        assert_ok(ct_read(ct_cotangent(v), g, sizeof g), "");
        for (int64_t i = 0; i < n; i++) assert_int_equal(isnan(y[i]) != 0, i / (n / MEMBERS) == 1);
        for (int i = 0; i < MEMBERS * N * N; i++) assert_int_equal(isnan(g[i]) != 0, i / (N * N) == 1);
        ct_release(A);
        ct_release(B);
        ct_release(index);
    }
}

static void bad_indices_are_refused(void **state)
{
    fixture *f = *state;
    ct_tensor *A = ct_full(f->dev, CT_F64, ct_shape2(3, 3), 1);
    for (int way = COLS; way <= ROWS; way++)
        for (int64_t bad = -1; bad <= 3; bad += 4) {
            ct_tape_reset(f->tape);
            ct_tensor *index = ct_from(f->dev, CT_I64, ct_shape1(2), (int64_t[]){ 0, bad });
            apply(way, ct_leaf(f->tape, A), ct_leaf(f->tape, A), ct_constant(f->tape, index));
            assert_int_equal(ct_tape_status(f->tape), CT_EINDEX);
            assert_non_null(strstr(ct_tape_message(f->tape), way == COLS ? "inverse_cols" : "inverse_rows"));
            ct_release(index);
        }
    ct_release(A);
    ct_tape_reset(f->tape);
}

/* -- accuracy ------------------------------------------------------------------------------------------------------- */

#ifdef __SIZEOF_FLOAT128__
typedef __float128 wide;
#else
typedef long double wide;
#endif

/* P = A⁻¹ by Gauss and Jordan. */
static void invert(const double *A, wide *P, int n)
{
    wide *a = malloc((size_t)(n * n) * sizeof *a);
    for (int i = 0; i < n * n; i++) a[i] = A[i], P[i] = i % (n + 1) == 0;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k; i < n; i++)
            if (fabs((double)a[i * n + k]) > fabs((double)a[best * n + k])) best = i;
        for (int j = 0; j < n; j++) {
            wide x = a[k * n + j], y = P[k * n + j];
            a[k * n + j] = a[best * n + j], a[best * n + j] = x;
            P[k * n + j] = P[best * n + j], P[best * n + j] = y;
        }
        for (int i = 0; i < n; i++) {
            if (i == k) continue;
            wide factor = a[i * n + k] / a[k * n + k];
            for (int j = 0; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j], P[i * n + j] -= factor * P[k * n + j];
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) P[i * n + j] /= a[i * n + i];
    free(a);
}

/* -Pᵀ G Pᵀ, G n×n */
static void adjoint(const wide *P, const double *G, double *A_bar, int n, bool symmetric)
{
    wide *h = malloc((size_t)(n * n) * sizeof *h);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            h[i * n + j] = 0;
            for (int k = 0; k < n; k++)
                h[i * n + j] +=
                    P[k * n + i] * (symmetric ? ((wide)G[k * n + j] + G[j * n + k]) / 2 : G[k * n + j]);
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            wide sum = 0;
            for (int k = 0; k < n; k++) sum -= h[i * n + k] * P[j * n + k];
            A_bar[i * n + j] = (double)sum;
        }
    free(h);
}

static double distance(const double *a, const double *b, int n)
{
    double d = 0, size = 0;
    for (int i = 0; i < n; i++) d = fmax(d, fabs(a[i] - b[i])), size = fmax(size, fabs(b[i]));
    return d / size;
}

/* Gaussian covariance of n points in [0, 1] with noise: condition about n / noise. The general case has its rows turned. */
static void gradients_at_high_condition(void **state)
{
    fixture *f = *state;
    enum { N = 48, R = 5 };
    for (int way = INVERSE; way <= ROWS; way++)
        for (double jitter = 1e-1; jitter > 1e-7; jitter /= 100) {
            double a[N * N], g[N * N], G[N * N], wanted[N * N], got[N * N], condition = 0;
            wide *P = malloc(sizeof(wide) * N * N);
            uint64_t seed = 5;
            int64_t index[R] = { 7, 0, 47, 7, 20 };
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) {
                    double d = (i - j) / 12.0;
                    a[(way == SPD ? i : (i + 5) % N) * N + j] = exp(-d * d / 2) + (i == j ? jitter : 0);
                    g[i * N + j] = noise(&seed), G[i * N + j] = 0;
                }
            if (way <= SPD)
                memcpy(G, g, sizeof G);
            else
                for (int i = 0; i < N; i++)
                    for (int k = 0; k < R; k++)
                        *(way == COLS ? &G[i * N + index[k]] : &G[index[k] * N + i]) +=
                            g[way == COLS ? i * R + k : k * N + i];
            invert(a, P, N);
            adjoint(P, G, wanted, N, way == SPD);
            for (int i = 0; i < N * N; i++) condition = fmax(condition, fabs((double)P[i]));
            condition *= N * N; /* at least that of the infinity norm */
            ct_tape_reset(f->tape);
            ct_tensor *A = ct_from(f->dev, CT_F64, ct_shape2(N, N), a),
                      *idx = ct_from(f->dev, CT_I64, ct_shape1(R), index);
            ct_tensor *bar = ct_from(f->dev, CT_F64,
                                     way <= SPD    ? ct_shape2(N, N)
                                     : way == COLS ? ct_shape2(N, R)
                                                   : ct_shape2(R, N),
                                     g);
            ct_var v = ct_leaf(f->tape, A), v_bar;
            ct_var y = apply(way, v, v, ct_constant(f->tape, idx));
            assert_ok(ct_grad(y, ct_constant(f->tape, bar), &v, &v_bar, 1, CT_GRAD_FREE),
                      ct_tape_message(f->tape));
            assert_ok(ct_read(ct_value(v_bar), got, sizeof got), "");
            double error = distance(got, wanted, N * N);
            if (!(error <= 4 * condition * DBL_EPSILON))
                fail_msg("way %d, jitter %g: error %g at condition %g", way, jitter, error, condition);
            ct_release(A);
            ct_release(idx);
            ct_release(bar);
            free(P);
        }
    ct_tape_reset(f->tape);
}

/* -- determinants --------------------------------------------------------------------------------------------------- */

static void signs_of_determinants(void **state)
{
    fixture *f = *state;
    ct_tensor *A = tensor3(f->dev, 2, 2, 2, 0, 2, 3, 1, 4, 1, 2, 3), *B = tensor2(f->dev, 2, 1, 1, 2);
    ct_tape_reset(f->tape);
    ct_var sign, y = ct_slogdet(ct_constant(f->tape, A), &sign), z = ct_logdet(ct_constant(f->tape, A));
    assert_elements(ct_value(y), 1e-15, 0, log(6), log(10));
    assert_elements(ct_value(sign), 0, 0, -1, 1);
    assert_elements(ct_value(z), 1e-15, 0, NAN, log(10));
    ct_tensor *K = tensor2(f->dev, 2, 2, 4, 9, 1, 3); /* its upper triangle is not read */
    ct_var l, q = ct_inv_quad_logdet(ct_constant(f->tape, K), ct_constant(f->tape, B), &l);
    assert_elements(ct_value(q), 1e-14, 0, 15.0 / 11);
    assert_elements(ct_value(l), 1e-14, 0, log(11));
    assert_ok(ct_tape_status(f->tape), ct_tape_message(f->tape));
    ct_tape_reset(f->tape);
    ct_release(A);
    ct_release(B);
    ct_release(K);
}

/* -- reuse ---------------------------------------------------------------------------------------------------------- */

static ct_var solve_twice(ct_tape *tape, const ct_var *in, int n, const void *attr)
{
    (void)tape, (void)n, (void)attr;
    ct_var order, LU = ct_lu(in[0], &order);
    return ct_lu_solve(in[0], LU, order, ct_lu_solve(in[0], LU, order, in[1], CT_TRANS), 0);
}

static void sample(ct_sample *s)
{
    ct_sample_invertible(s, 0, ct_sample_size(s));
    ct_sample_normal(s, 1, ct_shape2(ct_sample_size(s), 2));
}

static void factors_serve_both_sides(void **state)
{
    fixture *f = *state;
    const ct_op op = { .name = "solve_twice", .n_in = 2, .compose = solve_twice, .sample = sample };
    char report[8192];
    if (ct_gradcheck_op(f->dev, &op, NULL, report, sizeof report) != CT_OK) fail_msg("%s", report);
    ct_tensor *A = ct_full(f->dev, CT_F64, ct_shape2(2, 2), 1),
              *small = ct_full(f->dev, CT_F64, ct_shape2(3, 3), 1);
    ct_tensor *wrong = ct_zeros(f->dev, CT_I64, ct_shape1(3));
    for (int kind = 0; kind < 3; kind++) {
        ct_tape_reset(f->tape);
        ct_var v = ct_constant(f->tape, A), w = ct_constant(f->tape, small), o = ct_constant(f->tape, wrong);
        ct_lu_solve(kind == 1 ? w : v, v, o, v, kind == 2 ? CT_UNIT : 0);
        assert_true(ct_tape_status(f->tape) == CT_ESHAPE || ct_tape_status(f->tape) == CT_EINVAL);
    }
    ct_tape_reset(f->tape);
    ct_release(A);
    ct_release(small);
    ct_release(wrong);
}

static void a_constant_factor_outlives_the_tape(void **state)
{
    fixture *f = *state;
    ct_tensor *A = tensor2(f->dev, 2, 2, 4, 1, 1, 3), *B = tensor2(f->dev, 2, 1, 1, 2);
    ct_tensor *S = ct_full(f->dev, CT_F64, ct_shape2(2, 2), 1);
    for (int symmetric = 0; symmetric <= 1; symmetric++) {
        assert_null(ct_factor_new(S, symmetric));
        assert_int_equal(ct_last_status(f->dev), CT_ENUMERIC);
        assert_non_null(strstr(ct_message(f->dev), symmetric ? "leading minor 2" : "pivot 2"));
        ct_factor *factor = ct_factor_new(A, symmetric);
        assert_non_null(factor);
        for (int step = 0; step < 2; step++) {
            ct_tape_reset(f->tape);
            ct_var b = ct_leaf(f->tape, B), x = ct_keep(ct_factor_solve(factor, b));
            if (step) ct_factor_free(factor);
            assert_ok(ct_backward(ct_sum(ct_square(x), CT_ALL, false)), ct_tape_message(f->tape));
            assert_elements(ct_value(x), 1e-14, 0, 1.0 / 11, 7.0 / 11);
            assert_elements(ct_cotangent(b), 1e-13, 0, -8.0 / 121, 54.0 / 121);
        }
    }
    ct_tape_reset(f->tape);
    assert_null(ct_factor_new(NULL, true));
    ct_factor_free(NULL);
    ct_factor_solve(NULL, ct_leaf(f->tape, B));
    assert_int_equal(ct_tape_status(f->tape), CT_EINVAL);
    assert_null(ct_factor_solve(NULL, (ct_var){ NULL, 0, 0 }).tape);
    ct_tape_reset(f->tape);
    ct_release(A);
    ct_release(B);
    ct_release(S);
}

/* Beyond A: its factors, its cotangent, and columns. */
static void columns_cost_no_inverse(void **state)
{
    fixture *f = *state;
    enum { N = 100, MEMBERS = 32, R = 3 };
    ct_tensor *R_ = ct_rand_normal(f->dev, CT_F64, ct_shape3(MEMBERS, N, N), 1, 0);
    ct_tensor *index = ct_from(f->dev, CT_I64, ct_shape1(R), (int64_t[]){ 3, 1, 4 });
    ct_tape_reset(f->tape);
    uint64_t held = ct_memory(f->dev).bytes_now, matrices = MEMBERS * N * N * sizeof(double);
    ct_memory_mark(f->dev);
    ct_var A = ct_leaf(f->tape, R_);
    assert_ok(ct_backward(ct_sum(ct_inverse_cols(A, ct_constant(f->tape, index)), CT_ALL, false)), "");
    assert_true(ct_memory(f->dev).bytes_peak - held < 2 * matrices + matrices / 2);
    ct_tape_reset(f->tape);
    ct_release(R_);
    ct_release(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failing_member_is_nan_and_named),
        cmocka_unit_test(bad_indices_are_refused),
        cmocka_unit_test(gradients_at_high_condition),
        cmocka_unit_test(signs_of_determinants),
        cmocka_unit_test(factors_serve_both_sides),
        cmocka_unit_test(a_constant_factor_outlives_the_tape),
        cmocka_unit_test(columns_cost_no_inverse),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
