/* Inverses and solves on the tape: failing members are named, determinants of singular matrices, factors are
 * reused, and part of an inverse needs part of its memory. test_accuracy.c tests their accuracy. */
#include "check.h"

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

/* -- failing members ------------------------------------------------------------------------------------- */

enum { INVERSE, SPD, COLS, ROWS, BLOCK, TALL, DIAG, DIAG_SPD, SOLVE, QUAD, WAYS };

static ct_var apply(int way, ct_var A, ct_var B, ct_var index)
{
    switch (way) {
    case INVERSE: return ct_inverse(A);
    case SPD: return ct_inverse_spd(A);
    case COLS: return ct_inverse_cols(A, index);
    case ROWS: return ct_inverse_rows(A, index);
    case BLOCK: return ct_inverse_block(A, ct_slice(index, 0, 0, 1, 1), index);
    case TALL: return ct_inverse_block(A, index, ct_slice(index, 0, 0, 1, 1));
    case DIAG: return ct_inverse_diag(A);
    case DIAG_SPD: return ct_inverse_diag_spd(A);
    case SOLVE: return ct_solve(A, B);
    default: return ct_inv_quad_logdet(A, B, NULL);
    }
}

static void a_failing_member_is_nan_and_named(void **state)
{
    static const char *const names[] = { "inverse(3x",        "inverse_spd(3x",      "inverse_cols(3x",
                                         "inverse_rows(3x",   "inverse_block(3x",    "inverse_block(3x",
                                         "inverse_diag(3x",   "inverse_diag_spd(3x", "solve(3x",
                                         "inv_quad_logdet(3x" };
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
        ct_backward(ct_sum(P, CT_ALL, false));
        assert_int_equal(ct_tape_status(f->tape), CT_ENUMERIC);
        assert_non_null(strstr(ct_tape_message(f->tape), "2 of batch member 1"));
        const char *named = strchr(ct_tape_message(f->tape) + 3, ' ') + 1; /* "op #1 name(" */
        assert_int_equal(strncmp(named, names[way], strlen(names[way])), 0);
        assert_non_null(strstr(ct_tape_message(f->tape),
                               way == SPD || way == DIAG_SPD || way == QUAD ? "leading minor" : "singular"));
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
    for (int way = COLS; way <= TALL; way++)
        for (int64_t bad = -1; bad <= 3; bad += 4) {
            ct_tape_reset(f->tape);
            ct_tensor *index = ct_from(f->dev, CT_I64, ct_shape1(2), (int64_t[]){ 0, bad });
            apply(way, ct_leaf(f->tape, A), ct_leaf(f->tape, A), ct_constant(f->tape, index));
            assert_int_equal(ct_tape_status(f->tape), CT_EINDEX);
            const char *words = !check_at_once() ? "is outside [0, 3)"
                                : way == COLS    ? "inverse_cols"
                                : way == ROWS    ? "inverse_rows"
                                                 : "inverse_block";
            assert_non_null(strstr(ct_tape_message(f->tape), words));
            ct_release(index);
        }
    ct_release(A);
    ct_tape_reset(f->tape);
}

static void an_order_is_a_permutation(void **state)
{
    fixture *f = *state;
    static const int64_t orders[][3] = { { 0, 3, 1 }, { 0, -1, 1 }, { 1, 1, 0 }, { 2, 0, 2 } };
    ct_tensor *A = tensor2(f->dev, 3, 3, 1, 0, 0, 0, 1, 0, 0, 0, 1),
              *B = ct_full(f->dev, CT_F64, ct_shape3(2, 3, 2), 1);
    for (int k = 0; k < 8; k++) {
        ct_tape_reset(f->tape);
        ct_tensor *order = ct_from(f->dev, CT_I64, ct_shape1(3), orders[k / 2]);
        ct_var a = ct_constant(f->tape, A);
        ct_lu_solve(a, a, ct_constant(f->tape, order), ct_constant(f->tape, B), k % 2 ? CT_TRANS : 0);
        assert_int_equal(ct_tape_status(f->tape), CT_EINDEX);
        const char *words = k < 4 ? "is outside [0, 3)" : "is there twice";
        assert_non_null(strstr(ct_tape_message(f->tape), words));
        assert_non_null(strstr(ct_tape_message(f->tape), "pivot order"));
        ct_release(order);
    }
    ct_tape_reset(f->tape);
    ct_release(A);
    ct_release(B);
}

/* -- determinants ---------------------------------------------------------------------------------------- */

static void signs_of_determinants(void **state)
{
    fixture *f = *state;
    ct_tensor *A = tensor3(f->dev, 2, 2, 2, 0, 2, 3, 1, 4, 1, 2, 3), *B = tensor2(f->dev, 2, 1, 1, 2);
    ct_tape_reset(f->tape);
    ct_var sign, y = ct_slogdet(ct_constant(f->tape, A), &sign);
    assert_elements(ct_value(y), 1e-15, 0, log(6), log(10));
    assert_elements(ct_value(sign), 0, 0, -1, 1);
    ct_tensor *K = tensor2(f->dev, 2, 2, 4, 9, 1, 3); /* its upper triangle is not read */
    ct_var l, q = ct_inv_quad_logdet(ct_constant(f->tape, K), ct_constant(f->tape, B), &l);
    assert_elements(ct_value(q), 1e-14, 0, 15.0 / 11);
    assert_elements(ct_value(l), 1e-14, 0, log(11));
    assert_ok(ct_tape_status(f->tape), ct_tape_message(f->tape));
    assert_elements(ct_value(ct_logdet(ct_constant(f->tape, A))), 1e-15, 0, NAN, log(10));
    assert_status(ct_tape_status(f->tape), CT_ENUMERIC, "");
    ct_tape_reset(f->tape);
    ct_release(A);
    ct_release(B);
    ct_release(K);
}

/* -2 times a cyclic permutation. In member 1 one row is twice another, so that the first pivot is zero or,
 * for its transpose, the last. Member 3 may have an infinity or NaN. */
static void a_singular_matrix_has_a_determinant(void **state)
{
    fixture *f = *state;
    enum { MEMBERS = 4 };
    static const int64_t extents[] = { 1, 2, 3, 17, 70, 300 };
    for (int kind = 0; kind < 8 * 6; kind++) {
        const int64_t n = extents[kind / 8];
        const ct_dtype dtype = kind & 1 ? CT_F32 : CT_F64;
        const bool spoiled = kind & 2, turned = kind & 4;
        double *a = calloc((size_t)(MEMBERS * n * n), sizeof *a), *g = calloc((size_t)(n * n), sizeof *g);
        for (int64_t b = 0; b < MEMBERS; b++)
            for (int64_t i = 0; i < n; i++) a[(b * n + i) * n + (i + 1) % n] = b == 1 && i == n - 1 ? 0 : -2;
        for (int64_t j = 0; j < n && n > 1; j++) a[(n + n - 1) * n + j] = 2 * a[(n + n / 2 - 1) * n + j];
        if (spoiled) a[(3 * n + n - 1) * n] = n % 2 ? (double)NAN : (double)INFINITY;
        ct_tape_reset(f->tape);
        ct_tensor *wide = ct_from(f->dev, CT_F64, ct_shape3(MEMBERS, n, n), a),
                  *plain = ct_tensor_cast(wide, dtype);
        ct_tensor *A = turned ? ct_tensor_transpose(plain) : ct_retain(plain);
        ct_var v = ct_leaf(f->tape, A), sign, y = ct_keep(ct_slogdet(v, &sign));
        /* det = (-2)ⁿ (-1)ⁿ⁻¹ = -2ⁿ */
        const double log_abs = (double)n * log(2), bad = spoiled ? (double)NAN : log_abs;
        assert_elements(ct_value(y), dtype == CT_F64 ? 1e-14 : 1e-6, 0, log_abs, -INFINITY, log_abs, bad);
        assert_elements(ct_value(sign), 0, 0, -1, 0, -1, spoiled ? NAN : -1);
        assert_int_equal(ct_tape_status(f->tape), spoiled ? CT_ENUMERIC : CT_OK);
        if (spoiled) assert_non_null(strstr(ct_tape_message(f->tape), "of batch member 3"));
        ct_backward(ct_sum(y, CT_ALL, false));
        assert_int_equal(ct_tape_status(f->tape), CT_ENUMERIC);
        if (!spoiled) assert_non_null(strstr(ct_tape_message(f->tape), "backward of op #1 slogdet"));
        if (!spoiled) assert_non_null(strstr(ct_tape_message(f->tape), "of batch member 1"));
        assert_elements(ct_value(ct_logdet(v)), 0, 0, NAN, -INFINITY, NAN, NAN);
        for (int64_t b = 0; b < MEMBERS; b++) {
            ct_tensor *slice = ct_tensor_slice(ct_cotangent(v), 0, b, b + 1, 1),
                      *bar = ct_tensor_cast(slice, CT_F64);
            assert_ok(ct_read(bar, g, (size_t)(n * n) * sizeof *g), "");
            for (int64_t e = 0; e < n * n; e++)
                if (b == 1 || (b == 3 && spoiled))
                    assert_true(isnan(g[e]));
                else
                    assert_close(g[e], a[b * n * n + (turned ? e % n * n + e / n : e)] / 4, 1e-6, 0);
            ct_release(slice);
            ct_release(bar);
        }
        ct_release(wide);
        ct_release(plain);
        ct_release(A);
        free(a);
        free(g);
    }
    ct_tape_reset(f->tape);
}

/* -- reuse ----------------------------------------------------------------------------------------------- */

static ct_var solve_twice(ct_call *c)
{
    ct_var A = ct_arg_var(c, 0), order, LU = ct_lu(A, &order);
    return ct_lu_solve(A, LU, order, ct_lu_solve(A, LU, order, ct_arg_var(c, 1), CT_TRANS), 0);
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

/* Memory beyond A, in matrices of the batch: for columns and blocks, its factors and its cotangent; for a
 * diagonal, its inverse, or half of it, and its cotangent; without a gradient nothing. */
static void parts_cost_no_more_than_said(void **state)
{
    fixture *f = *state;
    enum { N = 100, MEMBERS = 32, R = 3 };
    static const struct {
        int way;
        bool training;
        double matrices;
    } cases[] = { { COLS, true, 2.5 }, { BLOCK, true, 2.5 },     { DIAG, false, 0.5 },
                  { DIAG, true, 2.4 }, { DIAG_SPD, false, 0.5 }, { DIAG_SPD, true, 2.2 } };
    double *a = calloc(MEMBERS * N * N, sizeof *a);
    assert_non_null(a);
    for (int i = 0; i < MEMBERS * N * N; i++) a[i] = i / N % N == i % N ? N : 1.0 / (1 + i % N + i / N % N);
    ct_tensor *A = ct_from(f->dev, CT_F64, ct_shape3(MEMBERS, N, N), a);
    ct_tensor *index = ct_from(f->dev, CT_I64, ct_shape1(R), (int64_t[]){ 3, 1, 4 });
    free(a);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        ct_tape_reset(f->tape);
        const uint64_t held = ct_memory(f->dev).bytes_now;
        ct_memory_mark(f->dev);
        ct_var v = cases[k].training ? ct_leaf(f->tape, A) : ct_constant(f->tape, A);
        ct_var P = apply(cases[k].way, v, v, ct_constant(f->tape, index));
        if (cases[k].training) ct_backward(ct_sum(P, CT_ALL, false));
        assert_ok(ct_tape_status(f->tape), ct_tape_message(f->tape));
        const double matrices = (double)(ct_memory(f->dev).bytes_peak - held) / (MEMBERS * N * N * 8);
        if (check_at_once() || cases[k].way <= BLOCK) assert_true(matrices < cases[k].matrices);
    }
    ct_tape_reset(f->tape);
    ct_release(A);
    ct_release(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failing_member_is_nan_and_named),   cmocka_unit_test(bad_indices_are_refused),
        cmocka_unit_test(an_order_is_a_permutation),           cmocka_unit_test(signs_of_determinants),
        cmocka_unit_test(a_singular_matrix_has_a_determinant), cmocka_unit_test(factors_serve_both_sides),
        cmocka_unit_test(a_constant_factor_outlives_the_tape), cmocka_unit_test(parts_cost_no_more_than_said),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
