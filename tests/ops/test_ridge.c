/* The ridge solve on ill-conditioned problems: both forms, value and gradients, against quadruple precision;
 * which form is chosen; failing members. */
#include "ridge_problem.h"

#include "ops/ridge/ridge.h"

enum { MEMBERS = 3 };

/* -- the library ----------------------------------------------------------------------------------------- */

typedef struct answer {
    double P[N * R], slope; /* ⟨B̄, dB⟩ + ⟨D̄, dD⟩ + λ̄ dλ */
    ct_ridge_form form;
    ct_status status;
    char message[512];
} answer;

static double inner(ct_var v, const double *d)
{
    ct_tensor *bar = ct_tensor_cast(ct_cotangent(v), CT_F64);
    int64_t n = ct_tensor_count(bar);
    double *x = malloc((size_t)n * sizeof *x), sum = 0;
    assert_non_null(x);
    assert_int_equal(ct_read(bar, x, (size_t)n * sizeof *x), CT_OK);
    for (int64_t i = 0; i < n; i++) sum += x[i] * d[i];
    free(x);
    ct_release(bar);
    return sum;
}

static answer ask(const problem *p, ct_dtype dtype, ct_ridge_form form)
{
    answer a = { .slope = 0 };
    ct_device *device = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *B = tensor(device, dtype, ct_shape2(R, N), p->B),
              *D = tensor(device, dtype, ct_shape2(p->m, N), p->D);
    ct_tensor *lambda = tensor(device, dtype, ct_shape0(), &p->lambda);
    ct_tensor *P_bar = tensor(device, dtype, ct_shape2(N, R), p->P_bar);
    ct_var b = ct_leaf(tape, B), d = ct_leaf(tape, D), l = ct_leaf(tape, lambda);
    ct_var P = ct_keep(ct__ridge_solve_as(b, d, l, form));
    a.form = ct_ridge_form_of(P);
    ct_tensor *value = ct_tensor_cast(ct_value(P), CT_F64);
    ct_read(value, a.P, sizeof a.P);
    ct_backward(ct_sum(ct_mul(P, ct_constant(tape, P_bar)), CT_ALL, false));
    a.slope = inner(b, p->dB) + inner(d, p->dD) + inner(l, &p->d_lambda);
    a.status = ct_tape_status(tape);
    snprintf(a.message, sizeof a.message, "%s", ct_tape_message(tape));
    ct_release(value), ct_release(B), ct_release(D), ct_release(lambda), ct_release(P_bar);
    ct_tape_free(tape);
    ct_device_close(device);
    return a;
}

/* |P - reference| / |reference| */
static double error_of(const problem *p, const double *P)
{
    double difference = 0, norm = 0;
    for (int i = 0; i < N * R; i++) {
        difference += pow((double)((quad)P[i] - p->P[i]), 2);
        norm += pow((double)p->P[i], 2);
    }
    return sqrt(difference / norm);
}

/* The slope's error relative to the size of the terms that it is a sum of. */
static double slope_error(const problem *p, double slope)
{
    quad exact = 0;
    double size = 0;
    for (int i = 0; i < N * R; i++) {
        exact += p->dP[i] * p->P_bar[i];
        size += fabs((double)p->dP[i] * p->P_bar[i]);
    }
    return fabs((double)((quad)slope - exact)) / size;
}

/* -- accuracy -------------------------------------------------------------------------------------------- */

static const double sizes[] = { 0.01, 1, 100 };

/* Where B measures all directions alike the push-through form loses κ(D) units of rounding in value and
 * gradient, however large B is. The chosen form loses no more. */
static void push_through_loses_the_condition_of_D(void **unused)
{
    (void)unused;
    for (int f32 = 0; f32 < 2; f32++)
        for (int b = 0; b < 3; b++)
            for (double condition = 1; condition < (f32 ? 1e6 : 1e13); condition *= 10)
                for (int m = N; m <= 2 * N; m += N) {
                    problem p;
                    make_problem(&p, m, condition, 1e-2, sizes[b], f32 ? CT_F32 : CT_F64);
                    double limit = (f32 ? 0x1p-23 : 0x1p-52) * (50 + 10 * condition);
                    for (int chosen = 0; chosen < 2; chosen++) {
                        answer a =
                            ask(&p, f32 ? CT_F32 : CT_F64, chosen ? CT_RIDGE_AUTO : CT_RIDGE_PUSH_THROUGH);
                        /* Where there is no other form to choose, a result with less than half of its digits
                         * is an error. */
                        if (chosen && !check_at_once() && condition > 1e8 && a.status == CT_ENUMERIC)
                            continue;
                        assert_int_equal(a.status, CT_OK);
                        if (condition < 100) assert_int_equal(a.form, CT_RIDGE_PUSH_THROUGH);
                        assert_close(error_of(&p, a.P), 0, 0, limit);
                        assert_close(slope_error(&p, a.slope), 0, 0, limit);
                    }
                    free(p.D);
                }
}

static void the_forms_agree(void **unused)
{
    (void)unused;
    for (int round = 0; round < 20; round++) {
        problem p;
        make_problem(&p, N, 1e4, 1e-2, sizes[round % 2], CT_F64);
        answer primal = ask(&p, CT_F64, CT_RIDGE_PRIMAL), push = ask(&p, CT_F64, CT_RIDGE_PUSH_THROUGH);
        assert_int_equal(primal.form, CT_RIDGE_PRIMAL);
        assert_int_equal(push.form, CT_RIDGE_PUSH_THROUGH);
        double difference = 0, norm = 0;
        for (int i = 0; i < N * R; i++)
            difference += pow(primal.P[i] - push.P[i], 2), norm += pow(push.P[i], 2);
        assert_close(sqrt(difference / norm), 0, 0, 1e-10);
        free(p.D);
    }
}

/* G has a condition of up to 1e8, D its root. Rounding G costs the condition of G, and refinement gives most
 * of it back. */
static void primal_is_refined(void **unused)
{
    (void)unused;
    for (double condition = 1; condition < 2e4; condition *= 10)
        for (int round = 0; round < 5; round++) {
            problem p;
            make_problem(&p, N, condition, 1e-2, 0.1, CT_F64);
            answer a = ask(&p, CT_F64, CT_RIDGE_PRIMAL);
            assert_int_equal(a.status, CT_OK);
            assert_close(error_of(&p, a.P), 0, 0, 1e-10);
            assert_close(slope_error(&p, a.slope), 0, 0, 1e-10);
            free(p.D);
        }
}

/* D is nearly singular along a direction that B covers: G is well-conditioned and R is not. */
static void a_bad_D_falls_back(void **unused)
{
    (void)unused;
    for (int singular = 0; singular < 2; singular++) {
        problem p;
        make_problem(&p, N, 1, 1, 1, CT_F64);
        for (int i = 0; i < N; i++)
            p.D[i] *= singular ? 0 : 1e-12; /* D = diag(tiny, 1, ...) H, H orthogonal */
        solve(&p);
        answer a = ask(&p, CT_F64, CT_RIDGE_AUTO);
        if (check_at_once()) {
            assert_int_equal(a.status, CT_OK);
            assert_int_equal(a.form, CT_RIDGE_PRIMAL);
            assert_close(error_of(&p, a.P), 0, 0, 1e-11);
            assert_close(slope_error(&p, a.slope), 0, 0, 1e-11);
        } else { /* the other form is not tried, as the estimate would wait for the device */
            assert_int_equal(a.form, CT_RIDGE_PUSH_THROUGH);
            assert_status(a.status, CT_ENUMERIC, a.message);
            assert_non_null(strstr(
                a.message,
                "D's columns depend on one another, or are weak where B is not, and a GPU does not try"));
        }
        free(p.D);
    }
}

/* D has second differences and two weak rows, like a smoothing penalty that pins down two directions. V = B
 * R⁻¹ lies nearly in those two, so that S is much worse conditioned than D, while B covers them and G is
 * well-conditioned. */
static void a_penalty_that_B_completes(void **unused)
{
    (void)unused;
    for (int f32 = 0; f32 < 2; f32++)
        for (double weak = 1; weak > (f32 ? 1e-3 : 1e-9); weak /= 10) {
            const ct_dtype dtype = f32 ? CT_F32 : CT_F64;
            problem p;
            make_problem(&p, N, 1, 1e-3, 1, dtype);
            memset(p.D, 0, N * N * sizeof *p.D);
            for (int i = 0; i < N - 2; i++)
                for (int k = 0; k < 3; k++) p.D[i * N + i + k] = k == 1 ? -2 : 1;
            for (int i = N - 2; i < N; i++) p.D[i * N + i - (N - 2)] = rounded(weak, dtype);
            solve(&p);
            answer a = ask(&p, dtype, CT_RIDGE_AUTO);
            const double limit = f32 ? 5e-4 : 1e-10;
            /* A device that computes late does not try the other form: f32 is computed in f64, and a result
             * that still has too few digits is flagged. */
            if (!check_at_once()) assert_int_equal(a.form, CT_RIDGE_PUSH_THROUGH);
            if (check_at_once() || f32 || weak > 1e-2) assert_int_equal(a.status, CT_OK);
            if (!check_at_once() && weak < 1e-5) {
                assert_status(a.status, CT_ENUMERIC, a.message);
                assert_non_null(strstr(a.message, "are weak where B is not, and a GPU does not try"));
                assert_true(isnan(a.P[0]));
            }
            if (a.status == CT_OK) {
                assert_close(error_of(&p, a.P), 0, 0, check_at_once() || f32 ? limit : 1e-7);
                assert_close(slope_error(&p, a.slope), 0, 0, check_at_once() || f32 ? limit : 1e-7);
            }
            free(p.D);
        }
}

static void forms_by_shape(void **unused)
{
    (void)unused;
    static const struct {
        ct_shape B, D;
        ct_ridge_form form;
    } cases[] = {
        { { { 2, 5 }, 2 }, { { 5, 5 }, 2 }, CT_RIDGE_PUSH_THROUGH },
        { { { 2, 5 }, 2 }, { { 9, 5 }, 2 }, CT_RIDGE_PUSH_THROUGH },
        { { { 3, 2, 5 }, 3 }, { { 1, 5, 5 }, 3 }, CT_RIDGE_PUSH_THROUGH },
        { { { 5, 5 }, 2 }, { { 5, 5 }, 2 }, CT_RIDGE_PRIMAL },
        { { { 4, 5 }, 2 }, { { 4, 5 }, 2 }, CT_RIDGE_PRIMAL },
        { { { 3, 2, 5 }, 3 }, { { 3, 5, 5 }, 3 }, CT_RIDGE_PRIMAL },
    };
    ct_device *device = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(device);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ct_tape_reset(tape);
        ct_tensor *B = ct_rand_normal(device, CT_F64, cases[i].B, 1, 0),
                  *D = ct_rand_normal(device, CT_F64, cases[i].D, 1, 1);
        ct_var P = ct_ridge_solve(ct_leaf(tape, B), ct_constant(tape, D), ct_scalar(tape, CT_F64, 0.5));
        assert_ok(ct_check(P), ct_tape_message(tape));
        assert_int_equal(ct_ridge_form_of(P), cases[i].form);
        assert_int_equal(ct_ridge_form_of(ct_neg(P)), CT_RIDGE_AUTO);
        ct_release(B), ct_release(D);
    }
    ct_tape_reset(tape);
    ct_tensor *B = ct_zeros(device, CT_F64, ct_shape2(4, 5)), *D = ct_zeros(device, CT_F64, ct_shape2(4, 5));
    ct__ridge_solve_as(ct_constant(tape, B), ct_constant(tape, D), ct_scalar(tape, CT_F64, 1),
                       CT_RIDGE_PUSH_THROUGH);
    assert_int_equal(ct_tape_status(tape), CT_EINVAL);
    assert_non_null(strstr(ct_tape_message(tape), "CT_RIDGE_AUTO"));
    ct_release(B), ct_release(D);
    ct_tape_free(tape);
    ct_device_close(device);
}

/* -- failing members, and memory ------------------------------------------------------------------------- */

static void a_bad_lambda_fails_alone(void **unused)
{
    (void)unused;
    static const double bad[] = { 0, -1, NAN };
    ct_device *device = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *B = ct_rand_normal(device, CT_F64, ct_shape3(MEMBERS, R, N), 1, 0);
    ct_tensor *D = ct_rand_normal(device, CT_F64, ct_shape2(N, N), 1, 1);
    for (int form = CT_RIDGE_PRIMAL; form <= CT_RIDGE_PUSH_THROUGH; form++)
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            double wanted[MEMBERS * N * R], got[MEMBERS * N * R];
            for (int round = 0; round < 2; round++) {
                ct_tape_reset(tape);
                ct_tensor *lambda = tensor1(device, MEMBERS, 0.5, round ? bad[k] : 1, 2);
                ct_var P = ct__ridge_solve_as(ct_constant(tape, B), ct_constant(tape, D),
                                              ct_constant(tape, lambda), (ct_ridge_form)form);
                assert_int_equal(ct_read(ct_value(P), round ? got : wanted, sizeof got), CT_OK);
                assert_int_equal(ct_tape_status(tape), round ? CT_ENUMERIC : CT_OK);
                const char *message = ct_tape_message(tape);
                if (round) assert_non_null(strstr(message, "ridge_solve(3x6x20"));
                if (round) assert_non_null(strstr(message, "batch member 1 is not positive"));
                if (round) assert_non_null(strstr(message, "lambda"));
                ct_release(lambda);
            }
            for (int i = 0; i < MEMBERS * N * R; i++)
                if (i / (N * R) == 1)
                    assert_true(isnan(got[i]));
                else
                    assert_close(got[i], wanted[i], 1e-13, 1e-13);
        }
    ct_release(B), ct_release(D);
    ct_tape_free(tape);
    ct_device_close(device);
}

/* Where only lambda or D has a batch, a member that fails is named as well. */
static void a_member_is_named_whoever_brings_the_batch(void **unused)
{
    (void)unused;
    ct_device *device = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *B = ct_rand_normal(device, CT_F64, ct_shape2(R, N), 1, 0);
    ct_tensor *one = ct_rand_normal(device, CT_F64, ct_shape2(N, N), 1, 1);
    ct_tensor *many = ct_rand_normal(device, CT_F64, ct_shape3(MEMBERS, N, N), 1, 1);
    ct_tensor *lambdas = tensor1(device, MEMBERS, 0.5, 1, -2), *lambda = tensor0(device, -1);
    ct_ridge_solve(ct_constant(tape, B), ct_constant(tape, one), ct_constant(tape, lambdas));
    assert_int_equal(ct_tape_status(tape), CT_ENUMERIC);
    assert_non_null(strstr(ct_tape_message(tape), "of batch member 2"));
    ct_tape_reset(tape);
    ct_ridge_solve(ct_constant(tape, B), ct_constant(tape, many), ct_constant(tape, lambda));
    assert_int_equal(ct_tape_status(tape), CT_ENUMERIC);
    assert_non_null(strstr(ct_tape_message(tape), "of batch member 0"));
    ct_tape_reset(tape);
    ct_ridge_solve(ct_constant(tape, B), ct_constant(tape, one), ct_constant(tape, lambda));
    assert_int_equal(ct_tape_status(tape), CT_ENUMERIC);
    assert_null(strstr(ct_tape_message(tape), "batch member"));
    ct_release(B), ct_release(one), ct_release(many), ct_release(lambdas), ct_release(lambda);
    ct_tape_free(tape);
    ct_device_close(device);
}

/* Forward and backward with one D hold no n×n array for a sample. */
static void pushed_through_without_squares(void **unused)
{
    (void)unused;
    enum { SAMPLES = 200, WIDE = 64 };
    ct_device *device = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *B = ct_rand_normal(device, CT_F64, ct_shape3(SAMPLES, 2, WIDE), 1, 0);
    ct_tensor *D = ct_rand_normal(device, CT_F64, ct_shape2(WIDE, WIDE), 1, 1);
    ct_tensor *lambda = ct_full(device, CT_F64, ct_shape1(SAMPLES), 0.1);
    ct_var P = ct_ridge_solve(ct_leaf(tape, B), ct_leaf(tape, D), ct_leaf(tape, lambda));
    assert_ok(ct_backward(ct_sum(ct_square(P), CT_ALL, false)), ct_tape_message(tape));
    assert_true(ct_memory(device).bytes_peak < (uint64_t)SAMPLES * WIDE * WIDE * sizeof(double) / 2);
    ct_release(B), ct_release(D), ct_release(lambda);
    ct_tape_free(tape);
    ct_device_close(device);
}

/* In a rule, a value that nothing recorded has no form either. */
static ct_shape copied_shape(ct_call *c) { return ct_arg_shape(c, 0); }
static void copied(ct_call *c) { ct_prim_copy(c, ct_arg(c, 0), ct_result(c)); }
static void asking(ct_rule *g)
{
    assert_int_equal(ct_ridge_form_of(ct_cast(ct_in(g, 0), CT_F32)), CT_RIDGE_AUTO);
    ct_in_bar(g, 0, ct_out_bar(g));
}

static void no_form_in_a_rule(void **unused)
{
    (void)unused;
    const ct_op op = { .name = "asking", .n_in = 1, .shape = copied_shape, .forward = copied, .vjp = asking };
    ct_device *device = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *one = tensor0(device, 1);
    ct_var x = ct_leaf(tape, one);
    assert_ok(ct_backward(ct_apply(&op, &x, 1, NULL, 0)), ct_tape_message(tape));
    ct_release(one);
    ct_tape_free(tape);
    ct_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(push_through_loses_the_condition_of_D),
        cmocka_unit_test(the_forms_agree),
        cmocka_unit_test(primal_is_refined),
        cmocka_unit_test(a_bad_D_falls_back),
        cmocka_unit_test(a_penalty_that_B_completes),
        cmocka_unit_test(forms_by_shape),
        cmocka_unit_test(a_bad_lambda_fails_alone),
        cmocka_unit_test(a_member_is_named_whoever_brings_the_batch),
        cmocka_unit_test(pushed_through_without_squares),
        cmocka_unit_test(no_form_in_a_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
